"""A picture that comes again is read once; what was read with a remark, or is as large as a scan, is read again."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.picture_memory import MOST_KEPT, MOST_PIXELS, PictureMemory

UNREAD = Caveat(CaveatKind.LANGUAGE_MISSING, "letters of Thai, for which there is no data")


@dataclass
class CountingReader:
    """Reads the mean shade of a picture; each page that it read is counted."""

    caveats: tuple[Caveat, ...] = ()
    error: Unreadable | None = None
    asked: list[tuple[int, int | None]] = field(default_factory=list)

    def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
        self.asked.append((number, dpi))
        if self.error:
            raise self.error
        return Page(number, str(int(image.mean())), caveats=self.caveats)


def logo(shade: int = 80) -> NDArray[np.uint8]:
    return np.full((60, 90, 3), shade, np.uint8)


def test_the_same_picture_on_another_page_is_not_read_again() -> None:
    """Letterheads of a thousand letters cost one reading."""
    engine = CountingReader()
    memory = PictureMemory(engine)
    pages = [memory.read(logo(), number, 300) for number in (1, 2, 7)]
    assert [(page.number, page.text) for page in pages] == [(1, "80"), (2, "80"), (7, "80")] and len(engine.asked) == 1


@pytest.mark.parametrize(
    ("picture", "dpi"),
    [
        (logo(81), 300),
        (logo(), 150),
        (logo(), None),
        (logo().transpose(1, 0, 2), 300),
        (np.where(np.arange(60)[:, None, None] == 59, 81, logo()).astype(np.uint8), 300),
    ],
    ids=["another shade", "another resolution", "no resolution", "turned", "another last row"],
)
def test_another_picture_is_another_reading(picture: NDArray[np.uint8], dpi: int | None) -> None:
    engine = CountingReader()
    memory = PictureMemory(engine)
    memory.read(logo(), 1, 300)
    memory.read(picture, 2, dpi)
    assert len(engine.asked) == 2


def test_what_has_a_remark_failed_or_is_a_scan_is_read_again() -> None:
    """A language that was missing may be installed before the page is tried again."""
    for engine in (CountingReader(caveats=(UNREAD,)), CountingReader()):
        large = engine.caveats == ()
        picture = np.zeros((MOST_PIXELS + 1, 1), np.uint8) if large else logo()
        memory = PictureMemory(engine)
        assert [memory.read(picture, 1), memory.read(picture, 1)] and len(engine.asked) == 2
    failing = CountingReader(error=Unreadable(FailureReason.TIMEOUT, "took too long", retryable=True))
    memory = PictureMemory(failing)
    for _ in range(2):
        with pytest.raises(Unreadable):
            memory.read(logo(), 1)
    failing.error = None
    assert memory.read(logo(), 1).text == "80" and len(failing.asked) == 3


def test_the_longest_unused_picture_is_forgotten_first() -> None:
    engine = CountingReader()
    memory = PictureMemory(engine)
    for shade in range(MOST_KEPT):
        memory.read(logo(shade), 1)
    memory.read(logo(0), 1)
    memory.read(logo(200), 1)
    asked = len(engine.asked)
    memory.read(logo(0), 1)
    assert len(engine.asked) == asked == MOST_KEPT + 1
    memory.read(logo(1), 1)
    assert len(engine.asked) == asked + 1
