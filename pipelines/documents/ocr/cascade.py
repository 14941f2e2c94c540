"""The OCR cascade: Tesseract, PP-OCR where a page is doubtful, EasyOCR for weak lines; the better reading is kept."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from time import monotonic
from typing import Protocol

import cv2
import numpy as np

from configs.sections import OcrSettings
from pipelines.documents import document
from pipelines.documents.cpu_pulses import own_cpu_seconds
from pipelines.documents.document import Caveat, EngineAttempt, FailureReason, Page, Unreadable
from pipelines.documents.ocr import missing_language, paddle, preprocess
from pipelines.documents.ocr.compose import as_line, compose_page
from pipelines.documents.ocr.easyocr import EasyOcr
from pipelines.documents.ocr.languages.first_languages import FirstLook, with_first_languages
from pipelines.documents.ocr.letter_rows import ENOUGH_FOR_SCRIPT, seems_to_hold_text
from pipelines.documents.ocr.line_engine_process import LineEngineProcess
from pipelines.documents.ocr.preprocess import PreparedPage
from pipelines.documents.ocr.reading import (
    EngineMissing,
    LineEngine,
    LineTranscript,
    PageEngine,
    Picture,
    PixelArea,
    TextLine,
    WholePageEngine,
    inked_lines,
    mean_confidence,
    reading_worth,
)
from pipelines.documents.ocr.tesseract import TesseractEngine, tesseract_version

REVISION = 8  # of this package's own decisions; raise it when the same page may read differently
ENGINES = ("tesseract", "paddle", "easyocr")  # as they are told of a page that several read
# Under this page mean a second look pays: cheaper than a wrong page, and clean scans are well above.
DOUBTFUL = 0.80
# Under this one PP-OCR looks at the page. Rendered pages with noise, blur and small letters that Tesseract read at 0.80
# to 0.90 gained words by it, those above lost some; what is printed well lies above.
UNEVEN = 0.90
# Capitals and digits that stand on their heads still read with some confidence, 0.63 at most where it was measured.
TURNED = 0.70
SINGLE_BLOCK = 6  # Tesseract's segmentation mode for a page it cuts up wrongly otherwise (receipts, forms)
# How sure PP-OCR has to be of a weak line: on pages of old books scraps of ornaments were under it, words over it.
SURE_LINE = 0.80
LONG_LINE = 8  # letters; what neither is sure of and has fewer is mostly no text, and EasyOCR takes seconds a line
LINE_PATIENCE = 4  # times engine_seconds: what its threads cost is added up, and the page's own limit holds
LINE_MARGIN = 0.12  # of the line's height: ascenders that the word boxes cut off


class WholePageRead(Protocol):
    """Reads a whole page with one engine."""

    def __call__(self, image: Picture, *, seconds: float) -> tuple[TextLine, ...]:
        """Lines in reading order. Raises Unreadable, EngineMissing: see the engine."""


@dataclass
class _Work:
    view: PreparedPage
    deadline: float  # by `cpu_clock`
    cpu_clock: Callable[[], float]
    lines: tuple[TextLine, ...] = ()
    attempts: list[EngineAttempt] = field(default_factory=list)
    missing: EngineMissing | None = None  # why orientation or script could not be told
    look: FirstLook | None = None

    def left(self) -> float:
        return self.deadline - self.cpu_clock()


class OcrCascade:
    """Reads pictures of pages by the configured strategy."""

    def __init__(
        self,
        settings: OcrSettings,
        tesseract: PageEngine,
        easyocr: LineEngine | None,
        cpu_clock: Callable[[], float] = own_cpu_seconds,
        clock: Callable[[], float] = monotonic,
        *,
        paddle: WholePageEngine | None = None,
    ) -> None:
        """Take the engines; without `easyocr` weak lines stay as they were read, without `paddle` doubtful pages.

        `cpu_clock` limits what a page costs, engines included; `clock` only tells how long it took.
        """
        settings = with_first_languages(settings)
        self._settings, self._tesseract, self._easyocr, self._paddle = settings, tesseract, easyocr, paddle
        self._cpu_clock, self._clock = cpu_clock, clock
        self._first_engine = settings.strategy if settings.strategy != "cascade" else "tesseract"

    def close(self) -> None:
        """End the processes of its Tesseract; they start again with the next page. Other engines may be shared."""
        if isinstance(self._tesseract, TesseractEngine):
            self._tesseract.close()

    @property
    def has_paddle(self) -> bool:
        """True where doubtful pages go to PP-OCR."""
        return self._paddle is not None

    def read(
        self,
        image: Picture,
        number: int,
        dpi: int | None = None,
        look: FirstLook | None = None,
        deadline: float = math.inf,
        view: PreparedPage | None = None,
    ) -> Page:
        """Read one page: its picture, 1-based number, and dots per inch where known.

        `deadline`, by `cpu_clock`, is that of a page which is tried in several ways; none costs more than its limit.
        `view` is the picture as an earlier try has prepared it.

        Raises:
            Unreadable: timeout, crashed (retryable) or bomb.
            EngineMissing: the engine the strategy cannot do without is not installed.
        """
        started = self._clock()
        height, width = image.shape[:2]
        if height * width > self._settings.max_pixels:
            raise Unreadable(FailureReason.BOMB, f"{width} × {height} pixels; the limit is {self._settings.max_pixels}")
        if not height or not width:
            return Page(number, "", engine=self._first_engine, confidence=0.0)
        view = view or preprocess.prepare_page(image, dpi, self._settings.max_pixels)
        deadline = min(deadline, self._cpu_clock() + self._settings.engine_seconds)
        work = _Work(view, deadline, self._cpu_clock, look=look)
        if self._settings.strategy == "easyocr":
            if self._easyocr is None:
                raise EngineMissing(
                    "ocr.strategy is easyocr, but there is no such engine", fix="Set OCR_STRATEGY=cascade."
                )
            self._detect_lines(work, self._easyocr)
        elif self._settings.strategy == "paddle":
            if self._paddle is None:
                languages = "+".join(self._settings.languages)
                raise EngineMissing(
                    f"ocr.strategy is paddle, which does not read {languages}", fix="Set OCR_STRATEGY=cascade."
                )
            self._try_page(work, work.view, self._paddle.name, self._paddle.read, "")
        else:
            self._read_page(work, image, dpi)
            if self._settings.strategy == "cascade":
                self._ask_second_engine(work)
        text, words = compose_page(work.lines, work.view, width, height)
        engines = {attempt.engine for attempt in work.attempts if attempt.kept}
        return Page(
            number,
            text,
            words,
            engine="+".join(name for name in ENGINES if name in engines) or self._first_engine,
            confidence=round(mean_confidence(work.lines), 4),
            attempts=tuple(work.attempts),
            ms=self._elapsed_ms(started),
            caveats=self._language_caveats(work, "\n".join(line.text for line in work.lines)),
        )

    def _language_caveats(self, work: _Work, text: str) -> tuple[Caveat, ...]:
        """Caveat for a page in a language that it was not read with, or that reads badly where nothing can tell why."""
        languages, sure = self._settings.languages, mean_confidence(work.lines)
        found = missing_language.missing_language(text, languages)
        weak = work.view.inked and missing_language.needs_script(text, sure, languages)
        if found is None and weak and seems_to_hold_text(work.view.image, work.view.dpi, ENOUGH_FOR_SCRIPT):
            try:
                script = self._tesseract.script(work.view.image, seconds=max(work.left(), 1.0))
            except Unreadable:
                return ()
            except EngineMissing as error:
                work.missing = error
            else:
                found = missing_language.missing_script(script, languages)
        if found is None and work.missing is not None and sure < missing_language.UNSURE:
            found = missing_language.missing_detection(work.missing)
        return () if found is None else (found,)

    def _read_page(self, work: _Work, image: Picture, dpi: int | None) -> None:
        """The first reading, and others only where it is doubtful."""
        self._try_tesseract(work, work.view, None, ", ".join(work.view.steps))
        if work.look is not None and work.view.inked:
            work.look(work.view, work.lines, seconds=max(work.left(), 1.0))
        # Bulk work in one engine asks for speed: there only a reading under the threshold is looked at again.
        fast = self._settings.strategy == "tesseract"
        doubtful = self._settings.confidence_threshold if fast else max(self._settings.confidence_threshold, DOUBTFUL)
        turned = max(self._settings.confidence_threshold, TURNED)
        if not work.view.inked:
            return
        first = work.view
        for degrees in self._possible_rotations(work) if mean_confidence(work.lines) < turned else ():
            if mean_confidence(work.lines) < turned:
                # Garbage reads as garbage either way: it must not decide how the page stands for what is tried next.
                self._try_tesseract(
                    work, preprocess.rotate_page(first, degrees), None, f"rotation {degrees}", least=0.0
                )
        if self._paddle is not None and not fast and mean_confidence(work.lines) < max(doubtful, UNEVEN):
            self._try_page(work, work.view, self._paddle.name, self._paddle.read, "")
        if mean_confidence(work.lines) < doubtful:
            self._try_tesseract(work, work.view, SINGLE_BLOCK, f"psm {SINGLE_BLOCK}")
        if mean_confidence(work.lines) < self._settings.confidence_threshold and work.view.steps:
            self._try_tesseract(work, preprocess.unrepaired_page(image, dpi), None, "untouched")

    def _try_tesseract(
        self, work: _Work, view: PreparedPage, layout: int | None, note: str, least: float = -math.inf
    ) -> None:
        read = partial(self._tesseract.read, dpi=view.dpi, layout=layout)
        self._try_page(work, view, self._tesseract.name, read, note, least)

    def _try_page(
        self, work: _Work, view: PreparedPage, engine: str, read: WholePageRead, note: str, least: float = -math.inf
    ) -> None:
        """One reading of the page; it is kept if it is the first, or worth more than `least` and what is there."""
        began, first = self._clock(), not work.attempts
        try:
            lines = inked_lines(read(view.image, seconds=work.left()), view.image)
        except (Unreadable, EngineMissing) as error:
            if first:
                raise
            self._tell(work, engine, began, f"{note}: {error}" if note else str(error))
            return
        there = reading_worth(work.lines) if work.lines else -math.inf
        better = first or (bool(lines) and reading_worth(lines) > max(there, least))
        if better:
            work.attempts = [replace(attempt, kept=False) for attempt in work.attempts]
            work.view, work.lines = view, lines
        self._tell(work, engine, began, note, mean_confidence(lines), kept=better)

    def _possible_rotations(self, work: _Work) -> tuple[int, ...]:
        began = self._clock()
        try:
            return self._tesseract.turns(work.view.image, seconds=work.left())
        except (Unreadable, EngineMissing) as error:
            work.missing = error if isinstance(error, EngineMissing) else None
            self._tell(work, self._tesseract.name, began, f"orientation: {error}")
            return ()

    def _ask_second_engine(self, work: _Work) -> None:
        """PP-OCR's recogniser for weak lines, EasyOCR's for languages that PP-OCR lacks and its detector where no line
        was found; without them the page stands."""
        weak = self._weak_lines(work.lines)
        if weak and self._paddle is not None:
            if any(attempt.kept and attempt.engine == self._paddle.name for attempt in work.attempts):
                return  # on receipts EasyOCR made its weak lines no better, for as much time again
            weak = self._reread_by_paddle(work, self._paddle, weak)
            if not weak:
                return
        nothing = not work.lines and work.view.inked
        if not weak and not nothing:
            return
        began = self._clock()
        try:
            if self._easyocr is None:
                raise EngineMissing("not configured")
            if work.left() <= 0:
                raise Unreadable(FailureReason.TIMEOUT, "no time left for it")
            if nothing:
                self._detect_lines(work, self._easyocr)
            else:
                self._reread_lines(work, self._easyocr, weak)
        except (EngineMissing, Unreadable) as error:
            note = f"{len(weak)} weak lines stay as they are: {error}" if weak else f"no line found: {error}"
            self._tell(work, "easyocr", began, note)

    def _weak_lines(self, lines: tuple[TextLine, ...]) -> list[int]:
        """Indices of lines under the threshold, those with most to gain first, as many as are allowed."""
        found = [i for i, line in enumerate(lines) if line.confidence < self._settings.confidence_threshold]
        found.sort(key=lambda i: (1 - lines[i].confidence) * len(lines[i].text), reverse=True)
        return found[: self._settings.easyocr_max_lines]

    def _reread_by_paddle(self, work: _Work, engine: WholePageEngine, weak: Sequence[int]) -> list[int]:
        """Those lines read again where it is sure; the others, that are long enough for EasyOCR to tell."""
        began, lines = self._clock(), list(work.lines)
        areas = [_widen_area(lines[index].area) for index in weak]
        try:
            read = engine.recognise(work.view.image, areas, seconds=work.left())
        except (EngineMissing, Unreadable) as error:
            self._tell(work, engine.name, began, f"{len(weak)} weak lines stay as they are: {error}")
            return list(weak)
        left = []
        for index, transcript in zip(weak, read, strict=True):
            if not self._keep_better(work, engine.name, began, lines, index, transcript, SURE_LINE):
                left.append(index)
        work.lines = tuple(lines)
        return [index for index in left if sum(map(str.isalnum, lines[index].text)) >= LONG_LINE]

    def _reread_lines(self, work: _Work, engine: LineEngine, weak: list[int]) -> None:
        lines = list(work.lines)
        for index in weak:
            if work.left() <= 0:
                work.attempts.append(EngineAttempt(engine.name, 0.0, 0, False, f"line {index + 1}: no time left"))
                continue
            began = self._clock()
            (transcript,) = engine.recognise(work.view.image, [_widen_area(lines[index].area)])
            comparable = replace(transcript, confidence=comparable_confidence(transcript))
            self._keep_better(work, engine.name, began, lines, index, comparable)
        work.lines = tuple(lines)

    def _keep_better(
        self,
        work: _Work,
        engine: str,
        began: float,
        lines: list[TextLine],
        index: int,
        read: LineTranscript,
        least: float = 0.0,
    ) -> bool:
        """A line as it was read again, where it is surer than `least` and than what was there; told in any case."""
        old = lines[index]
        new = as_line(read, old.area, read.confidence, old) if read.confidence > max(old.confidence, least) else None
        lines[index] = new or old
        note = f"line {index + 1}: {old.text[:80]}"
        self._tell(work, engine, began, note, read.confidence, kept=new is not None)
        return new is not None

    def _detect_lines(self, work: _Work, engine: LineEngine) -> None:
        """The whole page by the line engine: its own lines, then their text."""
        began = self._clock()
        areas = engine.detect(work.view.image) if work.view.inked else ()
        read = engine.recognise(work.view.image, areas) if areas else ()
        found = (as_line(t, area, comparable_confidence(t)) for t, area in zip(read, areas, strict=True))
        lines = tuple(line for line in found if line is not None)
        if lines or not work.attempts:
            work.lines = lines
            work.attempts = [replace(attempt, kept=False) for attempt in work.attempts]
        self._tell(work, engine.name, began, f"detector: {len(areas)} lines", mean_confidence(lines), kept=bool(lines))

    def _tell(self, work: _Work, engine: str, began: float, note: str, mean: float = 0.0, kept: bool = False) -> None:
        work.attempts.append(EngineAttempt(engine, round(mean, 4), self._elapsed_ms(began), kept, note))

    def _elapsed_ms(self, began: float) -> int:
        return round(1000 * (self._clock() - began))


def build_cascade(settings: OcrSettings, second: "paddle.PaddleEngine | None" = None) -> OcrCascade:
    """The cascade with the real engines; EasyOCR is loaded when a page first needs it.

    `second` is a PP-OCR that other cascades have, too; a language that is left open is read as English.
    """
    settings = with_first_languages(settings)
    tesseract = TesseractEngine(
        settings.languages, settings.psm, memory_bytes=settings.memory_bytes, data=settings.tesseract_data
    )
    if settings.strategy == "tesseract":
        return OcrCascade(settings, tesseract, None)
    known = paddle.LANGUAGES.issuperset(settings.languages) and settings.strategy != "easyocr"
    second = (second or paddle.PaddleEngine(settings.memory_bytes)) if known else None
    make = partial(EasyOcr, settings.languages, settings.easyocr_models, settings.gpu)
    easyocr = LineEngineProcess(make, settings.memory_bytes, LINE_PATIENCE * settings.engine_seconds)
    return OcrCascade(settings, tesseract, easyocr, paddle=second)


def ocr_fingerprint(settings: OcrSettings) -> str:
    """Changes when the same page may read differently: engine versions and the settings that matter."""
    parts: list[object] = [REVISION, settings.strategy, settings.dpi, settings.languages, cv2.__version__]
    if settings.strategy != "easyocr":
        parts += [tesseract_version(), settings.psm, settings.confidence_threshold]
    if settings.strategy != "tesseract":
        parts += [_package_version("easyocr"), settings.easyocr_models, settings.easyocr_max_lines]
        parts.append(_package_version("rapidocr"))
    return document.fingerprint_parts(*parts)


def comparable_confidence(transcript: LineTranscript) -> float:
    """EasyOCR's confidence in Tesseract's measure: its cube root.

    Tesseract's is that of the worst letter of each word, averaged; EasyOCR's multiplies over the line and so falls with
    its length (`custom_mean`: product ** (2 / sqrt(n))). On weak lines of receipts the cube root chose the better
    reading most often (roots from 1.4 to 4 tried).
    """
    return float(np.cbrt(max(transcript.confidence, 0.0)))


def _widen_area(area: PixelArea) -> PixelArea:
    margin = LINE_MARGIN * (area.y1 - area.y0) + 1
    return PixelArea(area.x0 - 2 * margin, area.y0 - margin, area.x1 + 2 * margin, area.y1 + margin)


def _package_version(name: str) -> str:
    try:
        return package_version(name)
    except PackageNotFoundError:
        return "absent"
