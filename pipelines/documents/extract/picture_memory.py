"""Pictures that come again, such as the logo on each letter of a house: OCR reads them once."""

from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b

from numpy import uint8
from numpy.typing import NDArray

from pipelines.documents.document import Page
from pipelines.documents.extract.opened import PageImageReader

MOST_KEPT = 64
MOST_PIXELS = 2_000_000  # a fifth of a page at 300 dpi: what is larger is a scan, and hardly comes again


class PictureMemory:
    """A reader of pictures that remembers what it made of small ones, pixel by pixel the same.

    What could not be read, or not without a remark, is read again: languages may have been installed in the meantime.
    """

    def __init__(self, engine: PageImageReader) -> None:
        """Remember for one engine, and so for one setting of languages and strategy."""
        self._engine = engine
        self._kept: OrderedDict[bytes, Page] = OrderedDict()

    def read(self, image: NDArray[uint8], number: int, dpi: int | None = None) -> Page:
        """As the engine reads it. Raises as that does."""
        if image.shape[0] * image.shape[1] > MOST_PIXELS:
            return self._engine.read(image, number, dpi)
        key = blake2b(image.tobytes(), digest_size=16, key=repr((image.shape, dpi)).encode()).digest()
        if key in self._kept:
            self._kept.move_to_end(key)
            return replace(self._kept[key], number=number)
        found = self._engine.read(image, number, dpi)
        if not found.caveats:
            self._kept[key] = found
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found
