"""Tesseract's installed languages on this machine, and the package that brings another."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import STALL_SECONDS
from pipelines.documents.ocr.reading import EngineMissing

INSTALL = "sudo apt-get install -y tesseract-ocr"


def data_folder(binary: str = "tesseract") -> Path:
    """Folder where the installed program looks for traineddata, by its error message for an absent language.

    Raises:
        EngineMissing: the program is not installed, or does not tell.
        Unreadable: timeout, retryable: it answers in milliseconds on a machine that has any to spare.
    """
    if shutil.which(binary) is None:
        raise EngineMissing(f"{binary} is not installed", fix=INSTALL)
    line = [binary, "stdin", "stdout", "-l", "absent"]
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run(line, stdin=quiet, capture_output=True, text=True, timeout=STALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unreadable(FailureReason.TIMEOUT, f"{binary} does not answer", retryable=True) from error
    told = re.search(r"data file (.+?)/?absent\.traineddata", done.stderr)
    if told is None:
        raise EngineMissing(f"{binary} does not tell where its data are: {done.stderr[:200]}", fix=INSTALL)
    return Path(told[1])


def installed_languages(binary: str = "tesseract", own: str | None = None) -> tuple[str, ...]:
    """Names of the languages that there is data for, in order, in the folder `own` or the program's; as `data_folder`.

    Without the program those in `own` alone.
    """
    found = {path.stem for folder in _data_folders(binary, own) for path in folder.glob("*.traineddata")}
    return tuple(sorted(found - {"osd", "equ"}))


@dataclass(frozen=True, slots=True)
class LanguageData:
    """Where Tesseract finds the data of some languages: a folder, and their names as seen from there."""

    folder: str
    names: tuple[str, ...]


def find_language_data(languages: Sequence[str], binary: str = "tesseract", own: str | None = None) -> LanguageData:
    """Data of the languages, each from the folder `own` where that has it, else from the program's.

    Raises EngineMissing: one is in neither folder, with the package that brings it; or as `data_folder`. With one
    language of several missing Tesseract goes on and reports success; we don't.
    """
    folders = _data_folders(binary, own)
    names: list[str] = []
    for language in languages:
        there = next((folder for folder in folders if (folder / f"{language}.traineddata").is_file()), None)
        if there is None:
            fix = f"sudo apt-get install -y {package_of(language)}"
            raise EngineMissing(f"tesseract has no data for '{language}'", fix=fix)
        # A name may be a path from the one folder that Tesseract takes: so `script/Latin` is found, too.
        names.append(language if there == folders[0] else os.path.relpath(there.resolve() / language, folders[0]))
    return LanguageData(str(folders[0]), tuple(names))


def _data_folders(binary: str, own: str | None) -> list[Path]:
    """The folder of a setting first, then the program's; raises as `data_folder` where there is neither."""
    mine = [Path(own).resolve()] if own is not None and Path(own).is_dir() else []
    try:
        return [*mine, data_folder(binary).resolve()]
    except EngineMissing:
        if not mine:
            raise
        return mine


def package_of(language: str) -> str:
    """Debian's package of a language's data."""
    return f"tesseract-ocr-{language.replace('_', '-').lower()}"
