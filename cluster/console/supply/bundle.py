"""`make bundle`: a folder from which AOS installs without a network: wheels with hashes, models, a list for apt."""

import argparse
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from cluster.console.supply.lock_files import FOLDER, ROOT, Group, LockedPackage, locked_packages

PLACE = ROOT / "build" / "bundle"
INSTALLER = Path(__file__).with_name("install.sh")
GROUPS: tuple[Group, ...] = ("runtime", "cuda")
# Program, and Debian's package that has it. The models for MiniLM, EasyOCR and PP-OCR lie inside the wheels.
APT = (
    ("tesseract", "tesseract-ocr"),
    ("bwrap", "bubblewrap libseccomp2"),
    ("python3.11", "python3.11 python3.11-venv"),
    ("soffice", "libreoffice-core libreoffice-writer libreoffice-impress"),
)


def remove_unlocked(wheels: Path, locked: Iterable[LockedPackage]) -> int:
    """Remove wheels that no lock names, from before a pin was changed: pip refuses two versions of one package."""
    named = {file.name for package in locked for file in package.files}
    others = [one for one in wheels.glob("*.whl") if one.name not in named]
    for one in others:
        one.unlink()
    return len(others)


def lay_bundle(place: Path, models: Path | None = None) -> int:
    """Write all but the wheels, which lie in `place`/wheels already, and sum it up; the count of wheels."""
    wheels = sorted((place / "wheels").glob("*.whl"))
    hashes: dict[str, list[str]] = {}  # one pin may have several files, of other architectures: pip takes what fits
    for one in wheels:
        hashes.setdefault(_pin(one), []).append(f"--hash=sha256:{_sha256(one)}")
    rows = [" ".join([pin, *found]) for pin, found in hashes.items()]
    (place / "requirements.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (place / "apt-packages.txt").write_text("".join(f"{name} {package}\n" for name, package in APT), encoding="utf-8")
    shutil.copy(INSTALLER, place / "install.sh")
    (place / "install.sh").chmod(0o755)
    if models is not None:
        shutil.copytree(models, place / "models", dirs_exist_ok=True)
    files = sorted(one for one in place.rglob("*") if one.is_file() and one.name != "SHA256SUMS")
    sums = "".join(f"{_sha256(one)}  {one.relative_to(place)}\n" for one in files)
    (place / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return len(wheels)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the wheels by their hashes, build the product's own, and lay the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m cluster.console.supply.bundle",
        description=__doc__,
        epilog="example: make bundle MODELS=/srv/models; there: ./install.sh --dry-run && ./install.sh /opt/aos",
    )
    parser.add_argument("-o", "--output", type=Path, default=PLACE, help="the folder; wheels in it are used again")
    parser.add_argument("--models", type=Path, help="a folder of more models to take along")
    asked = parser.parse_args(arguments)
    wheels = asked.output / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    for old in wheels.glob("aos-*.whl"):
        old.unlink()
    if gone := remove_unlocked(wheels, locked_packages(GROUPS)):
        print(f"{gone} wheels that no lock names any more were removed")
    pip = [sys.executable, "-m", "pip"]
    locks = [part for group in GROUPS for part in ("-r", str(FOLDER / f"{group}.txt"))]
    fetch = ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", *locks]
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(ROOT)]
    for step in ([*fetch, "--dest", str(wheels)], build):
        done = subprocess.run([*pip, *step], check=False)
        if done.returncode:
            return 1
    print(f"{lay_bundle(asked.output, asked.models)} wheels in {asked.output}")
    return 0


def _pin(wheel: Path) -> str:
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
