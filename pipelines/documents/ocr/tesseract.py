"""Tesseract as a child process: one call a page, the picture on its standard input, words with boxes back."""

import shutil
import subprocess
from itertools import groupby

import numpy as np

from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.ocr.reading import Area, EngineMissing, Line, Picture, Token
from pipelines.documents.ocr.survey import bilevel

# A claim below this is a screen's default (72, 96), says nothing about the paper and misleads the layout analysis.
CREDIBLE_DPI = range(150, 2401)
SURE_ORIENTATION = 2.0
INSTALL = "sudo apt-get install -y tesseract-ocr"
# One thread a process: with OpenMP's default a page costs ten to thirty times the CPU. `env` keeps the rest of the
# environment (TESSDATA_PREFIX among it) without this module having to read it.
SINGLE_THREADED = ("env", "OMP_THREAD_LIMIT=1")


class Tesseract:
    """The page engine (Smith 2007, LSTM since 4.0)."""

    name = "tesseract"

    def __init__(self, languages: tuple[str, ...] = ("eng",), layout: int = 3, binary: str = "tesseract") -> None:
        """Name the traineddata to load, the page segmentation mode and the program."""
        self._languages, self._layout, self._binary = languages, layout, binary

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[Line, ...]:
        """See `Engine.read`."""
        options = ["--psm", str(self._layout if layout is None else layout), "-l", "+".join(self._languages)]
        if dpi is not None and dpi in CREDIBLE_DPI:
            options += ["--dpi", str(dpi)]
        return parse(self._run(image, [*options, "-c", "tessedit_create_tsv=1"], seconds))

    def turn(self, image: Picture, *, seconds: float) -> int:
        """See `Engine.turn`; its orientation detection gives up on pages with few characters, which is no failure."""
        try:
            report = self._run(image, ["--psm", "0", "-l", "osd", "-c", "min_characters_to_try=10"], seconds)
        except Unreadable as error:
            if error.reason is Reason.TIMEOUT:
                raise
            return 0
        facts = dict(line.split(": ", 1) for line in report.splitlines() if ": " in line)
        sure = float(facts.get("Orientation confidence", 0)) >= SURE_ORIENTATION
        return int(facts.get("Rotate", 0)) % 360 if sure else 0

    def version(self) -> str:
        """As the program prints it, e.g. `tesseract 5.3.0`.

        Raises:
            EngineMissing: it is not installed.
        """
        done = subprocess.run([self._program(), "--version"], capture_output=True, text=True, timeout=30, check=False)
        return (done.stdout or done.stderr).partition("\n")[0].strip()

    def _program(self) -> str:
        found = shutil.which(self._binary)
        if found is None:
            raise EngineMissing(f"{self._binary} is not installed", fix=INSTALL)
        return found

    def _run(self, image: Picture, options: list[str], seconds: float) -> str:
        command = [*SINGLE_THREADED, self._program(), "stdin", "stdout", *options]
        try:
            done = subprocess.run(
                command, input=portable(image), capture_output=True, timeout=max(seconds, 0.001), check=False
            )
        except subprocess.TimeoutExpired:
            raise Unreadable(Reason.TIMEOUT, f"tesseract took longer than {seconds:.0f} s") from None
        complaint = done.stderr.decode("utf-8", "replace")
        self._check_languages(complaint)
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        last = complaint.strip().rpartition("\n")[2][:200]
        how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"ended with {done.returncode}"
        raise Unreadable(Reason.CRASHED, f"tesseract {how}: {last}".rstrip(": "), retryable=True)

    def _check_languages(self, complaint: str) -> None:
        """With one language of several missing Tesseract goes on and reports success; we don't."""
        for language in (*self._languages, "osd"):
            if f"Failed loading language '{language}'" in complaint:
                package = f"tesseract-ocr-{language.replace('_', '-').lower()}"
                raise EngineMissing(f"tesseract has no data for '{language}'", fix=f"sudo apt-get install -y {package}")


def portable(image: Picture) -> bytes:
    """The picture as PBM, PGM or PPM: no compression to pay for on either side (netpbm's own man pages, P4 to P6).

    A picture of pure black and white goes as bits: an eighth of the bytes, and Tesseract skips its own threshold.
    """
    height, width = image.shape[:2]
    if image.ndim == 3:
        return b"P6 %d %d 255\n" % (width, height) + image.tobytes()
    if bilevel(image):
        return b"P4 %d %d\n" % (width, height) + np.packbits(image == 0, axis=1).tobytes()
    return b"P5 %d %d 255\n" % (width, height) + image.tobytes()


def parse(table: str) -> tuple[Line, ...]:
    """Lines from Tesseract's TSV (level, page, block, paragraph, line, word, left, top, width, height, conf, text).

    Rows that are no word, or are damaged, are passed over.
    """
    rows = [row for row in (line.split("\t") for line in table.splitlines()) if len(row) == 12 and row[0] == "5"]
    lines: list[Line] = []
    previous: tuple[str, ...] | None = None
    for place, group in groupby(rows, key=lambda row: tuple(row[1:5])):
        tokens = tuple(token for row in group if (token := _token(row)) is not None)
        if tokens:
            lines.append(Line(tokens, opens=previous is not None and place[:3] != previous))
            previous = place[:3]
    return tuple(lines)


def _token(row: list[str]) -> Token | None:
    try:
        left, top, width, height = (float(value) for value in row[6:10])
        confidence = float(row[10]) / 100
    except ValueError:
        return None
    text = " ".join(row[11].split())
    if not text:
        return None
    return Token(text, Area(left, top, left + width, top + height), min(max(confidence, 0.0), 1.0))
