"""The Tesseract adapter where it starts a program: its failures by name, and a real page."""

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
from pipelines.documents.ocr.tesseract import Tesseract


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
