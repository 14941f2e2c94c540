"""The Tesseract adapter: its table, its failures by name, and a real page."""

import os
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from configs.sections import OcrSettings
from pipelines.documents.document import Reason, Unreadable
from pipelines.documents.ocr.cascade import build
from pipelines.documents.ocr.reading import EngineMissing
from pipelines.documents.ocr.tesseract import Tesseract, parse, portable

HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"


def program(folder: Path, body: str) -> str:
    path = folder / "engine"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def fails(folder: Path, body: str, seconds: float = 20) -> Unreadable:
    engine = Tesseract(binary=program(folder, body))
    with pytest.raises(Unreadable) as caught:
        engine.read(np.full((2000, 2000), 128, np.uint8), dpi=None, layout=None, seconds=seconds)
    return caught.value


def written(text: str) -> NDArray[np.uint8]:
    picture = Image.new("L", (900, 160), 255)
    ImageDraw.Draw(picture).text((40, 50), text, fill=0, font=ImageFont.load_default(48))
    return np.array(picture)


def test_a_killed_engine_is_a_crash_worth_a_retry(tmp_path: Path) -> None:
    error = fails(tmp_path, "kill -9 $$")
    assert (error.reason, error.retryable) == (Reason.CRASHED, True)
    assert "signal 9" in error.detail


def test_an_engine_that_ends_with_an_error_says_why(tmp_path: Path) -> None:
    error = fails(tmp_path, "cat > /dev/null; echo 'Error during processing.' >&2; exit 1")
    assert error.reason is Reason.CRASHED
    assert "Error during processing." in error.detail


def test_a_stalled_engine_is_ended_at_its_limit(tmp_path: Path) -> None:
    began = monotonic()
    error = fails(tmp_path, "exec sleep 60", seconds=0.3)
    assert error.reason is Reason.TIMEOUT
    assert monotonic() - began < 5


def test_an_absent_engine_names_the_package_to_install() -> None:
    with pytest.raises(EngineMissing) as caught:
        Tesseract(binary="no-such-tesseract").read(written("x"), dpi=None, layout=None, seconds=5)
    assert caught.value.hint == "sudo apt-get install -y tesseract-ocr"


def test_an_absent_language_names_the_package_to_install() -> None:
    with pytest.raises(EngineMissing) as caught:
        Tesseract(languages=("eng", "xyz")).read(written("x"), dpi=None, layout=None, seconds=20)
    assert caught.value.hint == "sudo apt-get install -y tesseract-ocr-xyz"


def test_the_engine_runs_with_one_thread_and_keeps_its_environment(tmp_path: Path) -> None:
    """Without it a page costs ten to thirty times the CPU."""
    seen = tmp_path / "seen"
    Tesseract(binary=program(tmp_path, f"cat > /dev/null; env > {seen}")).read(
        written("x"), dpi=None, layout=None, seconds=20
    )
    lines = seen.read_text().splitlines()
    assert "OMP_THREAD_LIMIT=1" in lines
    assert f"PATH={os.environ['PATH']}" in lines


@pytest.mark.parametrize(("dpi", "told"), [(300, True), (72, False), (None, False), (96, False), (1000000, False)])
def test_only_a_credible_resolution_is_passed_on(tmp_path: Path, dpi: int | None, told: bool) -> None:
    """IN-08: scans say 150 and more; 72 and 96 are a screen's defaults."""
    seen = tmp_path / "seen"
    Tesseract(binary=program(tmp_path, f'cat > /dev/null; echo "$@" > {seen}')).read(
        written("x"), dpi=dpi, layout=None, seconds=20
    )
    assert ("--dpi" in seen.read_text()) is told


@pytest.mark.parametrize(
    "garbage", ["", "\x00\xff", HEADER, "5\t1\t1\t1\t1\t1\tx\ty\tz\tw\tnan\tword", "5\t1", "\t" * 11]
)
def test_garbage_is_no_lines(garbage: str) -> None:
    assert parse(garbage) == ()


def test_words_lines_and_paragraphs_of_the_table() -> None:
    """IN-09: Tesseract's confidence of 0 to 100 becomes 0 to 1."""
    rows = [
        "1\t1\t0\t0\t0\t0\t0\t0\t100\t100\t-1\t",
        "5\t1\t1\t1\t1\t1\t10\t20\t30\t12\t96.5\tOne",
        '5\t1\t1\t1\t1\t2\t50\t20\t30\t12\t50\t"two',
        "5\t1\t1\t1\t2\t1\t10\t40\t30\t12\t95\t ",
        "5\t1\t1\t2\t1\t1\t10\t60\t30\t12\t-1\tthree",
    ]
    lines = parse("\n".join([HEADER, *rows]))
    assert [line.text for line in lines] == ['One "two', "three"]
    assert [line.opens for line in lines] == [False, True]
    assert [token.confidence for token in lines[0].tokens] == [0.965, 0.5]
    assert lines[1].tokens[0].confidence == 0.0
    assert lines[0].area.x1 == 80


def test_pictures_travel_uncompressed_and_black_and_white_as_bits() -> None:
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert portable(grey) == b"P5 4 3 255\n" + grey.tobytes()
    assert portable(np.zeros((3, 4, 3), np.uint8)).startswith(b"P6 4 3 255\n")
    assert portable(np.array([[0, 255, 0]], np.uint8)) == b"P4 3 1\n" + bytes([0b10100000])


def test_a_real_page_with_boxes_on_the_words() -> None:
    """IN-07: the real engine, end to end."""
    page = build(OcrSettings(strategy="tesseract")).read(written("Invoice total 42"), 1, 300)
    assert page.text == "Invoice total 42"
    assert page.confidence is not None
    assert page.confidence > 0.7
    assert all(page.text[w.start : w.start + len(w.text)] == w.text for w in page.words)
    box = page.words[0].box
    assert 0.03 < box.x0 < box.x1 < 0.4
    assert 0.2 < box.y0 < box.y1 < 0.8


def test_a_real_page_upside_down() -> None:
    """IN-11: found by Tesseract's orientation detection, boxes on the picture as it came."""
    lines = ["The quick brown fox jumps over", "the lazy dog and runs away into", "the dark forest behind the hill"]
    picture = Image.new("L", (900, 300), 255)
    for row, text in enumerate(lines):
        ImageDraw.Draw(picture).text((40, 50 + 70 * row), text, fill=0, font=ImageFont.load_default(40))
    page = build(OcrSettings(strategy="tesseract")).read(np.rot90(np.array(picture), 2).copy(), 1, 300)
    assert page.text.splitlines() == lines
    assert page.words[0].box.x1 > 0.9
    assert page.words[0].box.y0 > 0.6
