"""Pictures: every frame of a TIFF is a page, and every page goes to OCR."""

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pi_heif import register_heif_opener  # pillow-heif without the encoder x265, which is GPL
from PIL import ExifTags, Image, UnidentifiedImageError

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument
from pipelines.documents.ocr.letter_rows import seems_to_hold_text
from pipelines.documents.ocr.picture import dpi_of, reduced_array, to_array

_DAMAGED = (OSError, EOFError, SyntaxError, ValueError, TypeError, LookupError, AttributeError, RuntimeError)
_LONG_EDGE_INCHES = 11.7
_NO_PAGES = ("GIF", "WEBP", "PNG", "AVIF", "MPO")  # their further frames are an animation, or the same in small
_SUBFILE, _IN_SMALL = 254, 1  # TIFF 6.0: NewSubfileType, of which bit 0 is "another image of this file, reduced"

DECODED_BYTES: Final = 640 * 2**20
"""What one picture may take when its pixels are unpacked: an A0 sheet in colour at 300 dpi takes 532 MiB."""


class ImageDocument:
    """An image file that stays open between its frames."""

    def __init__(self, path: Path, context: ExtractionContext) -> None:
        """Read the header and count the frames; no pixel is decoded."""
        self._context = context
        # Our own limit replaces Pillow's, which would warn below it and refuse above twice its own.
        Image.MAX_IMAGE_PIXELS = None
        register_heif_opener()
        try:
            self._image = Image.open(path)
            self._frames = _page_frames(self._image)
        except _DAMAGED as error:
            raise _classify_error(error) from error
        self.pages = len(self._frames)
        self._scale_reduction()

    def page(self, number: int) -> Page:
        """The frame as OCR reads it; one of more than `max_pixels` is read at a lower scale."""
        pixels, dpi, reduction = self._frame_pixels(number)
        page = self._context.engine.read(pixels, number, dpi)
        caveats = page.caveats
        if not page.text.strip() and seems_to_hold_text(pixels, dpi):
            caveats += (Caveat(CaveatKind.PICTURES_UNREAD, "the picture seems to hold text that OCR cannot read"),)
        if reduction > 1:
            detail = (
                f"a large picture, read at 1/{reduction} of its scale: the smallest letters may be missing or wrong"
            )
            caveats += (Caveat(CaveatKind.REDUCED_SCALE, detail),)
        return replace(page, caveats=caveats)

    def picture(self, number: int, dpi: int) -> bytes:
        """The frame as PNG, made smaller where it has more pixels than a page of letter size at `dpi`."""
        frame = Image.fromarray(self._frame_pixels(number)[0])
        edge = round(_LONG_EDGE_INCHES * dpi)
        frame.thumbnail((edge, edge))
        return encode_png(frame)

    def pixels(self, number: int) -> tuple[NDArray[np.uint8], int | None]:
        """The frame as OCR reads it, upright on white paper, and its dots per inch where the file tells."""
        pixels, dpi, _ = self._frame_pixels(number)
        return pixels, dpi

    def plain_jpeg(self) -> tuple[int, int, int | None] | None:
        """Width, height and dots per inch of a JPEG that any program shows as OCR reads it; None for all others."""
        image = self._image
        upright = image.getexif().get(ExifTags.Base.Orientation, 1) in (0, 1)
        if image.format != "JPEG" or image.mode not in ("L", "RGB") or not upright:
            return None
        return (*image.size, dpi_of(image))

    def bands(self) -> int:
        """How many samples a pixel of the file has: 1 of grey, 3 of colour."""
        return len(self._image.getbands())

    def close(self) -> None:
        """Close the file."""
        self._image.close()

    def _frame_pixels(self, number: int) -> tuple[NDArray[np.uint8], int | None, int]:
        """The pixels, their dots per inch, and how many of the file's went into one of them along a side."""
        try:
            if self.pages > 1 or self._frames[0]:
                self._image.seek(self._frames[number - 1])
            reduction = self._scale_reduction()
            dpi = round((dpi_of(self._image) or 0) / reduction) or None
            if reduction == 1:
                return to_array(self._image), dpi, 1
            width, height = self._image.size
            self._image.draft(None, (width // reduction, height // reduction))  # where the format can: JPEG
            left = math.ceil(width / reduction)
            pixels = reduced_array(self._image, max(1, math.ceil(self._image.width / left)))
            return pixels, dpi, reduction
        except _DAMAGED as error:
            raise _classify_error(error) from error

    def _scale_reduction(self) -> int:
        """The smallest whole number by which both sides fit `max_pixels`.

        Raises Unreadable: BOMB, its pixels would take too much memory.
        """
        width, height = self._image.size
        pixels = width * height
        reduction = max(1, math.ceil(math.sqrt(pixels / self._context.ocr.max_pixels)))
        drafted = min(8, 1 << (reduction.bit_length() - 1)) if self._image.format == "JPEG" else 1
        size = pixels // drafted**2 * _BYTES.get(self._image.mode, 4)
        if size > DECODED_BYTES:
            raise Unreadable(
                FailureReason.BOMB, f"{width} × {height} pixels, which take more than {DECODED_BYTES} bytes"
            )
        return reduction


_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2}


def _page_frames(image: Image.Image) -> list[int]:
    """The frames that are pages of their own."""
    if image.format in _NO_PAGES:
        return [0]
    count = getattr(image, "n_frames", 1)
    if image.format != "TIFF" or count == 1:
        return list(range(count))
    pages = []
    for number in range(count):
        image.seek(number)
        if not int(image.tag_v2.get(_SUBFILE, 0)) & _IN_SMALL:  # type: ignore[attr-defined]
            pages.append(number)
    image.seek(0)
    return pages or [0]


def open_image(path: Path, context: ExtractionContext) -> OpenedDocument:
    """Open an image file of any format that Pillow knows."""
    return ImageDocument(path, context)


def encode_png(image: Image.Image) -> bytes:
    """The bytes of a PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _classify_error(error: BaseException) -> Unreadable:
    text = " ".join(str(error).split())[:200]
    if isinstance(error, UnidentifiedImageError):
        return Unreadable(FailureReason.CORRUPT, "not a readable image")
    return Unreadable(FailureReason.CORRUPT, text or type(error).__name__)
