"""Tesseract's data of languages on this machine: what there is, and more by Debian's packages or from a folder."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.errors import AosError, Invalid

PROGRAM = "tesseract"
APT_SECONDS = 600.0
_NAME = re.compile(r"[A-Za-z]{3,8}(_[A-Za-z]{2,8}){0,2}")
_FOLDER = re.compile(r'languages in "(.+?)/?"')
BY_HAND = (
    "Copy its .traineddata into a folder, and set AOS_OCR_TESSERACT_DATA to that; or give --from FOLDER where one lies."
)


class NotInstallable(AosError):
    """Data of a language cannot be installed here."""

    code = "not_installable"


@dataclass(frozen=True, slots=True)
class InstalledData:
    """Languages that there is data for, and where it lies."""

    languages: tuple[str, ...]  # by Tesseract's names, in order; without `osd`, which tells how a page stands
    program: str | None  # folder of the installed program; None where there is none
    own: str | None  # folder of the setting ocr.tesseract_data, which comes before it
    orientation: bool  # whether script and orientation can be told (osd)


@dataclass(frozen=True, slots=True)
class InstallationPlan:
    """How the data of languages is brought here: by one command, or by copies of files."""

    languages: tuple[str, ...]  # those that are not here yet
    command: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()  # from, to

    @property
    def steps(self) -> list[str]:
        """What is to be done, a line each, as a shell would take it."""
        return [" ".join(self.command)] * bool(self.command) + [
            f"cp {source} {target}" for source, target in self.copies
        ]


def list_data(own: str | None, program: str = PROGRAM) -> InstalledData:
    """Data of this machine. Raises NotInstallable: there is neither the program nor a folder of its own."""
    folder = program_folder(program)
    if folder is None and own is None:
        raise NotInstallable(f"{program} is not installed", fix="sudo apt-get install -y tesseract-ocr")
    places = [Path(place) for place in (own, folder) if place is not None]
    found = {path.stem for place in places for path in place.glob("*.traineddata")}
    return InstalledData(tuple(sorted(found - {"osd", "equ"})), folder, own, "osd" in found)


def program_folder(program: str = PROGRAM) -> str | None:
    """Folder where the installed program has its data; None where there is no such program."""
    if shutil.which(program) is None:
        return None
    done = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=60, check=False)
    told = _FOLDER.search(done.stdout + done.stderr)
    return told[1] if told else None


def plan_installation(
    names: Sequence[str], source: Path | None, own: str | None, program: str = PROGRAM
) -> InstallationPlan:
    """How to bring the data of languages here, `source` a folder that has it; `own` as in `list_data`.

    Raises:
        Invalid: no names of languages.
        NotInstallable: neither the folder nor apt can bring them, with what to do instead.
    """
    if strange := [name for name in names if _NAME.fullmatch(name) is None]:
        raise Invalid(
            f"{strange[0][:40]!r} is no name of a language", fix="By Tesseract's names, such as deu or chi_sim."
        )
    there = set(list_data(own, program).languages) if own is not None or program_folder(program) else set()
    absent = tuple(dict.fromkeys(name for name in names if name not in there))
    if not absent:
        return InstallationPlan(())
    if source is not None:
        return InstallationPlan(absent, copies=_plan_copies(absent, source, own or program_folder(program)))
    if shutil.which("apt-get") is None:
        raise NotInstallable("this machine has no apt-get", fix=BY_HAND)
    packages = [f"tesseract-ocr-{name.replace('_', '-').lower()}" for name in absent]
    command = ("apt-get", "install", "-y", "--no-install-recommends", *packages)
    return InstallationPlan(absent, command if os.geteuid() == 0 else ("sudo", "-n", *command))


def _plan_copies(names: Sequence[str], source: Path, target: str | None) -> tuple[tuple[str, str], ...]:
    if target is None:
        raise NotInstallable("there is no folder to copy it into", fix="Set AOS_OCR_TESSERACT_DATA to one.")
    files = [source / f"{name}.traineddata" for name in names]
    if lost := [file.name for file in files if not file.is_file()]:
        raise NotInstallable(
            f"{source} has no {', '.join(lost)}", fix="They lie in github.com/tesseract-ocr/tessdata_fast."
        )
    return tuple((str(file), str(Path(target) / file.name)) for file in files)


def carry_out(plan: InstallationPlan) -> None:
    """Do what was planned. Raises NotInstallable: it did not work, with the line that a person may try."""
    if plan.command:
        _run_apt(plan.command)
    for source, target in plan.copies:
        part = Path(f"{target}.part")
        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, part)
            part.replace(target)  # a reader never sees half of it
        except OSError as error:
            part.unlink(missing_ok=True)
            fix = f"sudo cp {source} {target}, or set AOS_OCR_TESSERACT_DATA to a folder that you may write."
            raise NotInstallable(f"{target} cannot be written: {error.strerror}", fix=fix) from error


def _run_apt(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=APT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstallable(f"apt-get did not run: {error}"[:300], fix=BY_HAND) from error
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1][:200]
        by_hand = " ".join(part for part in command if part not in ("sudo", "-n"))
        raise NotInstallable(
            f"apt-get refused: {why}", fix=f"sudo apt-get update && sudo {by_hand}. Without apt: {BY_HAND}"
        )
