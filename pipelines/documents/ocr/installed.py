"""Tesseract's installed languages on this machine, and the package that brings another."""

import re
import shutil
import subprocess
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


def installed_languages(binary: str = "tesseract") -> tuple[str, ...]:
    """Names of the languages that there is data for, in order; raises as `data_folder`."""
    found = {path.stem for path in data_folder(binary).glob("*.traineddata")}
    return tuple(sorted(found - {"osd", "equ"}))


def package_of(language: str) -> str:
    """Debian's package of a language's data."""
    return f"tesseract-ocr-{language.replace('_', '-').lower()}"
