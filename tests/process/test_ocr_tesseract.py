"""The Tesseract adapter where it starts a process: its failures by name, what it is asked with, and a real page."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from configs.sections import OcrSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import GuardedChild
from pipelines.documents.ocr.cascade import build_cascade
from pipelines.documents.ocr.reading import EngineMissing
from pipelines.documents.ocr.tesseract import TesseractEngine
from tests.fakes.ocr import Doomed, ToldBack


def blank(width: int) -> NDArray[np.uint8]:
    """How `Doomed` behaves is told by the width."""
    return np.full((20, width), 128, np.uint8)


def read(engine: TesseractEngine, width: int = 100, dpi: int | None = None, seconds: float = 20) -> list[str]:
    """What `ToldBack` says of its process and of the call."""
    (line,) = engine.read(blank(width), dpi=dpi, layout=None, seconds=seconds)
    return line.text.split(";")


class Holder:
    """Lives in a reader's process."""

    def __init__(self) -> None:
        self._engine = TesseractEngine(load=Doomed)

    def engine(self, width: int = 100, seconds: float = 20) -> str:
        return read(self._engine, width, seconds=seconds)[0]


def fails(engine: TesseractEngine, width: int, seconds: float = 20) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read(engine, width, seconds=seconds)
    return caught.value


@pytest.fixture
def doomed() -> Iterator[TesseractEngine]:
    engine = TesseractEngine(load=Doomed)
    yield engine
    engine.close()


@pytest.fixture
def told() -> Iterator[TesseractEngine]:
    engine = TesseractEngine(load=ToldBack)
    yield engine
    engine.close()


def written(text: str) -> NDArray[np.uint8]:
    picture = Image.new("L", (900, 160), 255)
    ImageDraw.Draw(picture).text((40, 50), text, fill=0, font=ImageFont.load_default(48))
    return np.array(picture)


def test_a_killed_engine_is_a_crash_worth_a_retry_and_the_next_page_is_read(doomed: TesseractEngine) -> None:
    before = read(doomed)[0]
    error = fails(doomed, 9)
    assert (error.reason, error.retryable) == (FailureReason.CRASHED, True)
    assert "signal 9" in error.detail
    assert read(doomed)[0] != before


def test_an_engine_that_ends_with_an_error_says_why(doomed: TesseractEngine) -> None:
    error = fails(doomed, 13)
    assert error.reason is FailureReason.CRASHED
    assert "Error during processing." in error.detail


@pytest.mark.parametrize(("width", "retryable"), [(60, True), (70, False)])
def test_an_engine_that_hangs_or_costs_too_much_is_ended_and_only_the_first_is_worth_a_retry(
    width: int, retryable: bool
) -> None:
    engine = TesseractEngine(load=Doomed, stall_seconds=0.5)
    pid = int(read(engine)[0])
    began = monotonic()
    error = fails(engine, width, seconds=0.3)
    assert (error.reason, error.retryable) == (FailureReason.TIMEOUT, retryable)
    assert monotonic() - began < 5
    assert not psutil.pid_exists(pid)
    engine.close()


def test_an_engine_whose_reader_is_stopped_most_of_the_time_keeps_its_limit_of_cpu() -> None:
    with GuardedChild(Holder, share=0.1) as reader:
        reader.call("engine", seconds=60)
        began = monotonic()
        reader.call("engine", 50, 2.0, seconds=60)
        assert monotonic() - began > 2.5, "by the clock it took longer than it may cost"


def test_pages_are_read_by_one_process_and_threads_by_one_each(doomed: TesseractEngine) -> None:
    """To start it anew costs a tenth of a page's time."""
    assert read(doomed)[0] == read(doomed)[0]
    with ThreadPoolExecutor(2) as threads:
        pids = {facts[0] for facts in threads.map(lambda width: read(doomed, width), (30, 30))}
    assert len(pids) == 2
    doomed.close()
    assert not any(psutil.pid_exists(int(pid)) for pid in pids)


def test_the_engine_goes_with_whoever_holds_it() -> None:
    """A reader that is killed leaves no engine behind, although that leads a process group of its own."""
    with GuardedChild(Holder) as reader:
        pid = int(reader.call("engine", seconds=20))
        assert psutil.pid_exists(pid)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    assert not psutil.pid_exists(pid)


def test_an_absent_language_names_the_package_to_install() -> None:
    with pytest.raises(EngineMissing) as caught:
        TesseractEngine(languages=("eng", "xyz")).read(written("x"), dpi=None, layout=None, seconds=20)
    assert caught.value.hint == "sudo apt-get install -y tesseract-ocr-xyz"


def test_absent_data_for_orientation_names_the_package(tmp_path: Path) -> None:
    (tmp_path / "eng.traineddata").touch()
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\necho 'Error opening data file {tmp_path}/absent.traineddata' >&2; exit 1\n")
    program.chmod(0o755)
    engine = TesseractEngine(binary=str(program), load=ToldBack)
    assert read(engine)[2] == str(tmp_path)
    with pytest.raises(EngineMissing) as caught:
        engine.turns(blank(500), seconds=20)
    assert caught.value.hint == "sudo apt-get install -y tesseract-ocr-osd"
    engine.close()


@pytest.mark.parametrize(("width", "degrees"), [(500, (90,)), (100, (90, 180))])
def test_a_sure_orientation_is_the_only_try_and_a_guess_is_not(
    told: TesseractEngine, width: int, degrees: tuple[int, ...]
) -> None:
    """IN-11: `ToldBack` is the surer the wider the picture."""
    assert told.turns(blank(width), seconds=20) == degrees


def test_the_engine_runs_with_one_thread_and_keeps_its_environment(told: TesseractEngine) -> None:
    """Without it a page costs ten to thirty times the CPU."""
    facts = read(told)
    assert facts[3:5] == ["1", os.environ["PATH"].replace(" ", "")]


@pytest.mark.parametrize(("dpi", "told_as"), [(300, 300), (72, 0), (None, 0), (96, 0), (1000000, 0)])
def test_only_a_credible_resolution_is_passed_on(told: TesseractEngine, dpi: int | None, told_as: int) -> None:
    """IN-08: scans say 150 and more; 72 and 96 are a screen's defaults."""
    assert read(told, dpi=dpi)[5:7] == ["3", str(told_as)]


def test_a_real_page_with_boxes_on_the_words() -> None:
    """IN-07: the real engine, end to end."""
    page = build_cascade(OcrSettings(strategy="tesseract")).read(written("Invoice total 42"), 1, 300)
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
    page = build_cascade(OcrSettings(strategy="tesseract")).read(np.rot90(np.array(picture), 2).copy(), 1, 300)
    assert page.text.splitlines() == lines
    assert page.words[0].box.x1 > 0.9
    assert page.words[0].box.y0 > 0.6


SLIPS = (
    ["Grand Hotel", "Two nights and breakfast", "Paid in full, thank you"],
    ["PEN SHOP HARBOUR LANE", "TWO FOUNTAIN PENS", "THANK YOU COME AGAIN"],
)


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
@pytest.mark.parametrize("lines", SLIPS)
def test_a_turned_slip_of_few_letters_is_read(lines: list[str], quarters: int) -> None:
    """IN-11: too few letters for the orientation detection to be sure, and capitals read well upside down."""
    picture = Image.new("L", (700, 480), 255)
    for row, text in enumerate(lines):
        ImageDraw.Draw(picture).text((40, 40 + 80 * row), text, fill=0, font=ImageFont.load_default(44))
    page = build_cascade(OcrSettings(strategy="tesseract")).read(np.rot90(np.array(picture), quarters).copy(), 1)
    assert page.text.split() == " ".join(lines).split()
