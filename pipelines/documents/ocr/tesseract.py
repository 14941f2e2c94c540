"""Tesseract in a process of its own that stays: pictures go in, words with boxes come back, a crash costs one page."""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import (
    MEMORY_BYTES,
    STALL_SECONDS,
    CallTimeout,
    ChildDied,
    GuardedChild,
    TookTooMuch,
)
from pipelines.documents.ocr.languages.installed import LanguageData, find_language_data
from pipelines.documents.ocr.reading import LetterSurvey, OcrToken, Picture, PixelArea, TextLine
from pipelines.documents.ocr.survey import is_bilevel
from pipelines.documents.ocr.tesseract_process import Raster, ResidentEngine, TesserocrEngine

# A claim below this is a screen's default (72, 96), says nothing about the paper and misleads the layout analysis.
CREDIBLE_DPI = range(150, 2401)
SURE_ORIENTATION = 2.0
# One thread a process: where Tesseract is built with OpenMP, its default costs a page ten to thirty times the CPU.
# `env` keeps the rest of the environment without this module having to read it.
SINGLE_THREADED = ("env", "OMP_THREAD_LIMIT=1")

Load = Callable[[tuple[str, ...], str], ResidentEngine]


class TesseractEngine:
    """The page engine (Smith 2007, LSTM since 4.0).

    Starting the program anew for each page would cost a tenth of the page's time (process, model). Threads may share
    it: each call takes an idle process or starts one.
    """

    name = "tesseract"

    def __init__(
        self,
        languages: tuple[str, ...] = ("eng",),
        layout: int = 3,
        binary: str = "tesseract",
        load: Load = TesserocrEngine,
        memory_bytes: int = MEMORY_BYTES,
        stall_seconds: float = STALL_SECONDS,
        data: str | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            layout: the page segmentation mode.
            binary: the installed program, which knows where its data lie; it reads no page.
            load: a top-level function that loads the languages from a folder, in the child.
            stall_seconds: by the clock, after which a call that uses no CPU is given up.
            data: a folder of traineddata that comes before the program's.
        """
        self._memory, self._stall = memory_bytes, stall_seconds
        self._languages, self._layout, self._binary, self._load = languages, layout, binary, load
        self._data = data
        self._idle: list[GuardedChild] = []

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[TextLine, ...]:
        """See `Engine.read`."""
        believed = dpi if dpi in CREDIBLE_DPI else 0
        mode = self._layout if layout is None else layout
        return parse_tsv(self._call_process("table", pack_raster(image), mode, believed, seconds=seconds))

    def turns(self, image: Picture, *, seconds: float) -> tuple[int, ...]:
        """See `Engine.turns`; where its orientation detection is not sure, its guess and upside down are worth a try.

        On receipts it never is. Lines that run upwards are read by Tesseract itself, those that run downwards it reads
        upside down: so half a turn mends what the guess misses.
        """
        return self.survey_letters(image, seconds=seconds).turns

    def script(self, image: Picture, *, seconds: float) -> str:
        """See `Engine.script`."""
        return self.survey_letters(image, seconds=seconds).script

    def survey_letters(self, image: Picture, *, seconds: float) -> LetterSurvey:
        """Both in one look, which costs as much as either. Raises as `read`."""
        guess, confidence, script = self._look_at_letters(image, seconds)
        sure = confidence >= SURE_ORIENTATION
        tries = (guess,) if sure else (guess, 180)
        turns = tuple(dict.fromkeys(degrees for degrees in tries if degrees))
        return LetterSurvey(turns, str(script), sure and guess != 0)

    def close(self) -> None:
        """End the processes that wait for work."""
        while self._idle:
            self._idle.pop().close()

    def _look_at_letters(self, image: Picture, seconds: float) -> tuple[int, float, str]:
        (name,) = self._find_data("osd").names
        found: tuple[int, float, str] = self._call_process("orientation", pack_raster(image), name, seconds=seconds)
        return found

    def _call_process(self, method: str, *arguments: object, seconds: float) -> Any:
        guard = self._idle.pop() if self._idle else self._start_process()
        try:
            return guard.call(method, *arguments, seconds=self._stall, cpu_seconds=max(seconds, 0.001))
        except TookTooMuch:
            raise Unreadable(FailureReason.TIMEOUT, f"tesseract took more than {seconds:.0f} s of CPU") from None
        except CallTimeout as error:
            raise Unreadable(FailureReason.TIMEOUT, f"tesseract: {error}", retryable=True) from None
        except ChildDied as death:
            if death.starved:
                raise Unreadable(FailureReason.BOMB, "OCR needs more memory than ocr.memory_bytes allows") from None
            how = death.cause or (f"was killed by signal {-death.code}" if death.code < 0 else f"ended: {death.code}")
            raise Unreadable(FailureReason.CRASHED, f"tesseract {how}"[:250], retryable=True) from None
        finally:
            self._idle.append(guard)

    def _start_process(self) -> GuardedChild:
        found = self._find_data(*self._languages)
        make = partial(self._load, found.names, found.folder)
        return GuardedChild(make, memory_bytes=self._memory, name=self.name, before=SINGLE_THREADED)

    def _find_data(self, *languages: str) -> LanguageData:
        return find_language_data(languages, self._binary, self._data)


def tesseract_version() -> str:
    """Of the Tesseract that the library brings, e.g. `tesseract 5.5.4`."""
    import tesserocr

    return str(tesserocr.tesseract_version()).partition("\n")[0].strip()


def pack_raster(image: Picture) -> Raster:
    """A grey picture for the library.

    A picture of pure black and white goes as bits: an eighth of the bytes, and Tesseract skips its own threshold.
    """
    height, width = image.shape
    if is_bilevel(image):
        return Raster(np.packbits(image != 0, axis=1).tobytes(), width, height, 0, (width + 7) // 8)
    return Raster(image.tobytes(), width, height, 1, width)


def parse_tsv(table: str) -> tuple[TextLine, ...]:
    """Lines from Tesseract's TSV (level, page, block, paragraph, line, word, left, top, width, height, conf, text).

    Rows that are no word, or are damaged, are passed over.
    """
    rows = [row for row in (line.split("\t") for line in table.splitlines()) if len(row) == 12 and row[0] == "5"]
    lines: list[TextLine] = []
    previous: tuple[str, ...] | None = None
    for place, group in groupby(rows, key=lambda row: tuple(row[1:5])):
        tokens = tuple(token for row in group if (token := _parse_token(row)) is not None)
        if tokens:
            lines.append(TextLine(tokens, opens=previous is not None and place[:3] != previous))
            previous = place[:3]
    return tuple(lines)


def _parse_token(row: list[str]) -> OcrToken | None:
    try:
        left, top, width, height = (float(value) for value in row[6:10])
        confidence = float(row[10]) / 100
    except ValueError:
        return None
    text, area = " ".join(row[11].split()), PixelArea(left, top, left + width, top + height)
    return OcrToken(text, area, min(max(confidence, 0.0), 1.0)) if text else None
