"""Files as hostile as they come, and engines that misbehave on chosen pages."""

import errno
import functools
import io
import os
import signal
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from configs.sections import OcrSettings
from pipelines.documents.document import Box, EngineAttempt, Page, Word
from pipelines.documents.extract.opened import PageImageReader


class Transcriber:
    """Reads every picture as its size; on some pages it does what `troubles` says first."""

    def __init__(self, troubles: Mapping[int, Callable[[], None]] | None = None) -> None:
        self._troubles = troubles or {}
        self.asked: list[int] = []

    def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
        self.asked.append(number)
        if number in self._troubles:
            self._troubles[number]()
        height, width = image.shape[:2]
        text = f"picture of {width} x {height} at {dpi}"
        return Page(number, text, engine="tesseract", confidence=0.9, ms=7)


class Dictated(Transcriber):
    """Reads these lines in every picture, from the top down, each word with a box and one confidence."""

    def __init__(self, *lines: str, confidence: float = 0.9) -> None:
        super().__init__()
        self._lines, self._confidence = lines, confidence

    def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
        super().read(image, number, dpi)
        words, text = [], ""
        for row, line in enumerate(self._lines):
            text += "\n" if text else ""
            for column, word in enumerate(line.split()):
                text += " " if column else ""
                x, y = 0.05 + 0.1 * column, (row + 0.5) / (len(self._lines) + 1)
                words.append(Word(word, len(text), Box(x, y, x + 0.09, y + 0.02), self._confidence))
                text += word
        tried = EngineAttempt("tesseract", self._confidence, 7, True)
        return Page(number, text, tuple(words), "tesseract", self._confidence, (tried,))


def transcriber(settings: OcrSettings) -> PageImageReader:
    """A well-behaved engine."""
    return Transcriber()


def troubled(troubles: Mapping[int, Callable[[], None]]) -> Callable[[OcrSettings], PageImageReader]:
    """A maker, which can be pickled, of an engine with trouble on these pages."""
    return functools.partial(_make_troubled, troubles)


def _make_troubled(troubles: Mapping[int, Callable[[], None]], settings: OcrSettings) -> PageImageReader:
    return Transcriber(troubles)


def hang() -> None:
    time.sleep(600)


class Polyglot:
    """Reads every picture as what it was made with."""

    def __init__(self, told: str) -> None:
        self._told = told

    def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
        return Page(number, self._told)


def polyglot(settings: OcrSettings) -> PageImageReader:
    return Polyglot("+".join(settings.languages))


def strategic(settings: OcrSettings) -> PageImageReader:
    return Polyglot(f"{settings.strategy} {'+'.join(settings.languages)}")


def spin() -> None:
    """Costs CPU until somebody ends it."""
    while True:
        pass


_KEPT: list[bytearray] = []


def keep_200_mib() -> None:
    """As a library that does not give back what it had."""
    _KEPT.append(bytearray(200 * 2**20))


def take_200_mib() -> None:
    bytearray(200 * 2**20)


def pdf_of_content(part: bytes, times: int) -> bytes:
    """A PDF of one page that draws this so often; packed, as hostile ones are, and never here as a whole."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(part) for _ in range(times)) + packer.flush()
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed) + packed + b"\nendstream",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(made))
        made += b"%d 0 obj" % number + body + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1) + table
    return made + b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start)


def segfault() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def killed_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once(note: str) -> None:
    """As from outside: the second time it goes well."""
    if not Path(note).exists():
        Path(note).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def picture(text: str = "", size: tuple[int, int] = (400, 300)) -> Image.Image:
    """White paper with a line of text and a bar, so that it is not blank."""
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    draw.text((20, 20), text, fill=0)
    draw.rectangle((20, size[1] - 30, size[0] - 20, size[1] - 20), fill=0)
    return image


def package(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    """A zipped package of these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def bent_lzma(path: Path, name: str, content: bytes) -> Path:
    """A package of one part, compressed with LZMA, whose properties no decoder takes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(name, content)
    data = bytearray(path.read_bytes())
    data[30 + len(name) + 4] = 0xFF  # behind the local header and its name: version (2), size (2), the properties
    path.write_bytes(data)
    return path


class Barred(PosixPath):
    """A path below whose folders named `barred` nothing can be looked at: listed, not entered, root or not."""

    code = errno.EACCES

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if "barred" in self.parent.parts:
            raise OSError(self.code, os.strerror(self.code), str(self))
        return super().stat(follow_symlinks=follow_symlinks)


class Sick(Barred):
    """The disk below fails."""

    code = errno.EIO


class Away(Barred):
    """The server of the mount below forgot us."""

    code = errno.ESTALE


def pdf(path: Path, *pages: Callable[..., None], **options: object) -> Path:
    """A PDF whose pages are drawn by functions of a reportlab canvas."""
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, pagesize=(400, 600), **options)
    for draw in pages:
        draw(sheet)
        sheet.showPage()
    sheet.save()
    path.write_bytes(buffer.getvalue())
    return path


def raw_pdf(path: Path, content: bytes, *objects: bytes, page: str = "") -> Path:
    """A PDF of one page (400 × 600 points, font /F1) written by hand.

    Args:
        path: of the file.
        content: what the page draws.
        objects: further objects, from number 6 on.
        page: further entries of the page's dictionary.
    """
    fonts = "/Font<</F1 5 0 R/F2 6 0 R>>" if objects else "/Font<</F1 5 0 R>>"
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 600]/Contents 4 0 R/Resources<<{fonts}>>{page}>>".encode(),
        b"<</Length %d>>\nstream\n" % len(content) + content + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        *objects,
    ]
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, len(data))
    path.write_bytes(data + b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1) + table + end)
    return path
