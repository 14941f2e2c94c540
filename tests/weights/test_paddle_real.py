"""PP-OCR with the models of its package, offline, in its guarded child: lines, words, noise, and a child that dies."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ocr.paddle import FIX, PaddleEngine, PaddleReader
from pipelines.documents.ocr.reading import EngineMissing, PixelArea

MEMORY = 4 * 2**30
LINES = ("Hale and Sons, Ely", "Two teas 12.00", "Total: 24.50 EUR")


def receipt() -> NDArray[np.uint8]:
    picture = Image.new("L", (700, 320), 255)
    for row, text in enumerate(LINES):
        ImageDraw.Draw(picture).text((40, 30 + 90 * row), text, fill=40, font=ImageFont.load_default(40))
    return np.array(picture)


@pytest.fixture(scope="module")
def engine() -> Iterator[PaddleEngine]:
    made = PaddleEngine(MEMORY)
    yield made
    made.close()


def test_lines_come_in_order_with_words_where_they_stand(engine: PaddleEngine) -> None:
    """IN-07: words have boxes and scores of their own, and the boxes end where their ink does."""
    lines = engine.read(receipt(), seconds=60)
    inked = np.flatnonzero((receipt()[210:280] < 140).any(axis=0))
    assert [line.text for line in lines] == list(LINES)
    first, *_, last = lines[2].tokens
    assert first.text == "Total:" and abs(first.area.x0 - inked[0]) <= 2 and abs(last.area.x1 - inked[-1]) <= 2
    assert 130 < first.area.x1 < 150 < 220 < last.area.x0 and first.area.x1 in inked + 1 and last.area.x0 in inked
    assert all(210 < word.area.y0 + 15 < word.area.y1 < 280 and 0.5 < word.confidence <= 1 for word in lines[2].tokens)


def test_given_lines_are_read_alone_and_what_is_no_line_is_empty(engine: PaddleEngine) -> None:
    areas = [PixelArea(30, 25 + 90 * row, 500, 85 + 90 * row) for row in range(3)]
    beside = [PixelArea(640, 0, 699, 40), PixelArea(900, 900, 950, 920), PixelArea(10, 10, 10, 11)]
    read = engine.recognise(receipt(), [*areas, *beside], seconds=60)
    assert [one.text for one in read] == [*LINES, "", "", ""]
    assert all(0.8 < one.confidence <= 1 for one in read[:3]) and {one.confidence for one in read[3:]} == {0.0}
    assert [line.text for line in engine.read(receipt(), seconds=60)] == list(LINES), "pages are read as before"


def test_blank_and_noisy_pages_have_no_lines(engine: PaddleEngine) -> None:
    noise = np.random.default_rng(4).integers(0, 255, (300, 300), dtype=np.uint8)
    for picture in (np.full((200, 300), 255, np.uint8), noise, np.full((3, 3), 0, np.uint8)):
        assert sum(len(line.text) for line in engine.read(picture, seconds=60)) <= 3


def test_a_child_that_dies_or_takes_too_long_is_one_failed_reading_and_the_next_one_works(engine: PaddleEngine) -> None:
    engine.read(receipt(), seconds=60)
    assert engine.child is not None
    os.kill(engine.child, signal.SIGKILL)
    with pytest.raises(Unreadable) as died:
        engine.read(receipt(), seconds=60)
    assert died.value.reason is FailureReason.CRASHED and died.value.retryable
    with pytest.raises(Unreadable) as slow:
        engine.read(receipt(), seconds=0.01)
    assert slow.value.reason is FailureReason.TIMEOUT
    assert len(engine.read(receipt(), seconds=60)) == 3


class AbsentReader(PaddleReader):
    def read(self, image: Any) -> tuple[str, Any]:
        return "missing", ("rapidocr cannot be imported: No module named 'rapidocr'", FIX)


def test_without_the_package_the_engine_is_missing_with_a_fix() -> None:
    engine = PaddleEngine(MEMORY, AbsentReader)
    with pytest.raises(EngineMissing, match="cannot be imported") as missing:
        engine.read(receipt(), seconds=60)
    assert "pip install rapidocr" in missing.value.hint
    engine.close()
