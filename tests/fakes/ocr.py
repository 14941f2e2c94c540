"""OCR engines that do as they are told: read, see nothing, crash, stall, go missing."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from configs.section import Gpu
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ocr.reading import (
    EngineMissing,
    LetterSurvey,
    LineTranscript,
    OcrToken,
    Picture,
    PixelArea,
    TextLine,
)
from pipelines.documents.ocr.tesseract_process import Raster

CRASH = Unreadable(FailureReason.CRASHED, "tesseract was killed by signal -9", retryable=True)
TIMEOUT = Unreadable(FailureReason.TIMEOUT, "tesseract took longer than 1 s")
MISSING = EngineMissing("not installed", fix="install it")

Step = tuple[TextLine, ...] | Exception


def line(text: str, confidence: float, y: float = 10, *, opens: bool = False, x: float = 10) -> TextLine:
    """Words of 8 × 10 pixel letters."""
    tokens = []
    for word in text.split():
        tokens.append(OcrToken(word, PixelArea(x, y, x + 8 * len(word), y + 10), confidence))
        x += 8 * (len(word) + 1)
    return TextLine(tuple(tokens), opens)


@dataclass
class FakeClock:
    """Stands still unless told to move."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeEngine:
    """Gives the next of its prepared readings at each call, the last one for ever; raises it if it is an error."""

    readings: list[Step]
    rotations: tuple[int, ...] | Exception = ()
    clock: FakeClock | None = None
    costs: float = 0.0
    name: str = "tesseract"
    letters: str | Exception = "Latin"
    layouts: list[int | None] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    allowed: list[float] = field(default_factory=list)
    lies: bool = False
    surveys: int = 0

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[TextLine, ...]:
        if self.clock is not None:
            self.clock.now += self.costs
        self.layouts.append(layout)
        self.pictures.append(image)
        self.allowed.append(seconds)
        step = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        if isinstance(step, Exception):
            raise step
        return step

    def turns(self, image: Picture, *, seconds: float) -> tuple[int, ...]:
        if isinstance(self.rotations, Exception):
            raise self.rotations
        return self.rotations

    def survey_letters(self, image: Picture, *, seconds: float) -> LetterSurvey:
        self.surveys += 1
        turns = self.turns(image, seconds=seconds)
        return LetterSurvey(turns, self.script(image, seconds=seconds), self.lies)

    def script(self, image: Picture, *, seconds: float) -> str:
        if isinstance(self.letters, Exception):
            raise self.letters
        return self.letters


@dataclass
class FakeLineEngine:
    """Answers every crop by `answer`; `finds` are the lines its detector sees."""

    answer: Callable[[PixelArea], LineTranscript] | Exception
    finds: tuple[PixelArea, ...] | Exception = ()
    name: str = "easyocr"
    asked: list[PixelArea] = field(default_factory=list)
    detections: int = 0

    def recognise(self, image: Picture, areas: Sequence[PixelArea]) -> tuple[LineTranscript, ...]:
        self.asked += areas
        if isinstance(self.answer, Exception):
            raise self.answer
        return tuple(self.answer(area) for area in areas)

    def detect(self, image: Picture) -> tuple[PixelArea, ...]:
        self.detections += 1
        if isinstance(self.finds, Exception):
            raise self.finds
        return self.finds


@dataclass
class FakeReader:
    """Stands for `easyocr.Reader`: gives `result` at each call, or raises it."""

    result: Any
    boxes: list[list[int]] = field(default_factory=list)

    def recognize(self, image: Picture, horizontal: list[list[int]], free: list[Any], *, reformat: bool) -> Any:
        self.boxes += horizontal
        return self._give()

    def detect(self, image: Picture, *, reformat: bool, canvas_size: int) -> Any:
        return self._give()

    def _give(self) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@dataclass
class FakeReaderFactory:
    """Hands out one reader, or fails to; remembers what it was asked for."""

    product: FakeReader | Exception
    orders: list[tuple[list[str], str | None, bool, bool]] = field(default_factory=list)
    gpus: list[Gpu] = field(default_factory=list)

    def __call__(self, languages: list[str], models: str | None, gpu: Gpu, *, recognizer: bool, detector: bool) -> Any:
        self.gpus.append(gpu)
        self.orders.append((languages, models, recognizer, detector))
        if isinstance(self.product, Exception):
            raise self.product
        return self.product


class ToldBack:
    """An engine's process that reads no picture: its table has one word, which says what it was asked with."""

    def __init__(self, languages: tuple[str, ...], data: str) -> None:
        self._facts = f"{os.getpid()};{','.join(languages)};{data};{os.environ.get('OMP_THREAD_LIMIT')}"

    def table(self, raster: Raster, layout: int, dpi: int) -> str:
        where = f"{os.environ['PATH']};{layout};{dpi};{raster.width}x{raster.height}"
        return f"5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t90\t{self._facts};{where}".replace(" ", "")

    def orientation(self, raster: Raster, data: str) -> tuple[int, float, str]:
        return 90, raster.width / 100, "Cyrillic"


class Doomed(ToldBack):
    """Behaves by the width of the picture: 9 is killed, 60 stalls, 13 raises, 30 is slow, 50 costs half a second of
    CPU, 70 all it can have; any other is read."""

    def table(self, raster: Raster, layout: int, dpi: int) -> str:
        if raster.width == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        if raster.width == 60:
            time.sleep(60)
        if raster.width == 30:
            time.sleep(1)
        end = time.process_time() + {50: 0.5, 70: 600.0}.get(raster.width, 0.0)
        while time.process_time() < end:
            pass
        if raster.width == 13:
            raise RuntimeError("Error during processing.")
        return super().table(raster, layout, dpi)


@dataclass
class FakeWholePageEngine:
    """Reads every page the same, and each line alone as `transcript`, or raises."""

    lines: tuple[TextLine, ...] | Exception
    name: str = "paddle"
    asked: int = 0
    transcript: LineTranscript | Exception = field(default_factory=lambda: LineTranscript("", 0.0))
    weak: list[PixelArea] = field(default_factory=list)

    def read(self, image: Picture, *, seconds: float) -> tuple[TextLine, ...]:
        self.asked += 1
        if isinstance(self.lines, Exception):
            raise self.lines
        return self.lines

    def recognise(self, image: Picture, areas: Sequence[PixelArea], *, seconds: float) -> tuple[LineTranscript, ...]:
        self.weak += areas
        if isinstance(self.transcript, Exception):
            raise self.transcript
        return (self.transcript,) * len(areas)
