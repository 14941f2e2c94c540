"""Pictures: every frame of a TIFF is a page, and every page goes to OCR."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from pipelines.documents.document import Page, Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened
from pipelines.documents.ocr.picture import dpi_of, to_array

_DAMAGED = (OSError, EOFError, SyntaxError, ValueError, TypeError, LookupError, AttributeError)
_LONG_EDGE_INCHES = 11.7
_NO_PAGES = ("GIF", "WEBP", "PNG")  # their further frames are an animation


class Pictures:
    """An image file that stays open between its frames."""

    def __init__(self, path: Path, context: Context) -> None:
        """Read the header and count the frames; no pixel is decoded."""
        self._context = context
        # Our own limit replaces Pillow's, which would warn below it and refuse above twice its own.
        Image.MAX_IMAGE_PIXELS = None
        try:
            self._image = Image.open(path)
            self.pages = 1 if self._image.format in _NO_PAGES else getattr(self._image, "n_frames", 1)
        except _DAMAGED as error:
            raise _classify(error) from error
        self._check_size()

    def page(self, number: int) -> Page:
        """What OCR reads in the frame."""
        pixels = self._frame(number)
        return self._context.engine.read(pixels, number, dpi_of(self._image))

    def picture(self, number: int, dpi: int) -> bytes:
        """The frame as PNG, made smaller where it has more pixels than a page of letter size at `dpi`."""
        frame = Image.fromarray(self._frame(number))
        edge = round(_LONG_EDGE_INCHES * dpi)
        frame.thumbnail((edge, edge))
        return png(frame)

    def close(self) -> None:
        """Close the file."""
        self._image.close()

    def _frame(self, number: int) -> NDArray[np.uint8]:
        try:
            if number > 1 or self.pages > 1:
                self._image.seek(number - 1)
            self._check_size()
            return to_array(self._image)
        except _DAMAGED as error:
            raise _classify(error) from error

    def _check_size(self) -> None:
        width, height = self._image.size
        if width * height > self._context.ocr.max_pixels:
            raise Unreadable(Reason.BOMB, f"{width} × {height} pixels, more than {self._context.ocr.max_pixels}")


def open_image(path: Path, context: Context) -> Opened:
    """Open an image file of any format that Pillow knows."""
    return Pictures(path, context)


def png(image: Image.Image) -> bytes:
    """The bytes of a PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _classify(error: BaseException) -> Unreadable:
    text = " ".join(str(error).split())[:200]
    if isinstance(error, UnidentifiedImageError):
        return Unreadable(Reason.CORRUPT, "not a readable image")
    return Unreadable(Reason.CORRUPT, text or type(error).__name__)
