"""The Tesseract adapter where it starts nothing: its table, its pictures, and a program that is not there."""

import numpy as np
import pytest

from pipelines.documents.ocr.reading import EngineMissing
from pipelines.documents.ocr.tesseract import TesseractEngine, pack_raster, parse_tsv
from pipelines.documents.ocr.tesseract_process import Raster

HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"


def test_an_absent_engine_names_the_package_to_install() -> None:
    with pytest.raises(EngineMissing) as caught:
        TesseractEngine(binary="no-such-tesseract").read(
            np.full((20, 20), 255, np.uint8), dpi=None, layout=None, seconds=5
        )
    assert caught.value.hint == "sudo apt-get install -y tesseract-ocr"


@pytest.mark.parametrize(
    "garbage", ["", "\x00\xff", HEADER, "5\t1\t1\t1\t1\t1\tx\ty\tz\tw\tnan\tword", "5\t1", "\t" * 11]
)
def test_garbage_is_no_lines(garbage: str) -> None:
    assert parse_tsv(garbage) == ()


def test_words_lines_and_paragraphs_of_the_table() -> None:
    """IN-09: Tesseract's confidence of 0 to 100 becomes 0 to 1."""
    rows = [
        "1\t1\t0\t0\t0\t0\t0\t0\t100\t100\t-1\t",
        "5\t1\t1\t1\t1\t1\t10\t20\t30\t12\t96.5\tOne",
        '5\t1\t1\t1\t1\t2\t50\t20\t30\t12\t50\t"two',
        "5\t1\t1\t1\t2\t1\t10\t40\t30\t12\t95\t ",
        "5\t1\t1\t2\t1\t1\t10\t60\t30\t12\t-1\tthree",
    ]
    lines = parse_tsv("\n".join([HEADER, *rows]))
    assert [line.text for line in lines] == ['One "two', "three"]
    assert [line.opens for line in lines] == [False, True]
    assert [token.confidence for token in lines[0].tokens] == [0.965, 0.5]
    assert lines[1].tokens[0].confidence == 0.0
    assert lines[0].area.x1 == 80


def test_pictures_travel_uncompressed_and_black_and_white_as_bits() -> None:
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert pack_raster(grey) == Raster(grey.tobytes(), width=4, height=3, depth=1, stride=4)
    ink = np.array([[0, 255, 0, 0, 0, 0, 0, 0, 255]], np.uint8)
    assert pack_raster(ink) == Raster(bytes([0b01000000, 0b10000000]), width=9, height=1, depth=0, stride=2)
