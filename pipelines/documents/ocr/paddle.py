"""PP-OCRv6 by RapidOCR, in a process of its own: finds and reads the lines of a page that Tesseract reads badly."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cv2
import numpy as np

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import GuardedChild
from pipelines.documents.ocr.compose import is_unspaced
from pipelines.documents.ocr.line_engine_process import call_engine, catch_missing
from pipelines.documents.ocr.preprocess import to_grey
from pipelines.documents.ocr.reading import (
    EngineMissing,
    LineTranscript,
    OcrToken,
    Picture,
    PixelArea,
    TextLine,
    cut_area,
)
from pipelines.documents.ocr.reading_order import arrange_found
from pipelines.documents.ocr.survey import survey_ink
from pipelines.documents.ocr.word_edges import fit_edges

# Of the 50 languages that its one model reads, those whose words stand apart and that Tesseract's names are known of.
_LANGUAGE_TEXT = """
afr cat ces cym dan deu eng est eus fin fra gle glg hrv hun ind isl ita lat lav lit msa nld nor pol por ron slk slv spa
sqi swa swe tur
"""
# Its dictionary holds 15,900 signs of Chinese and Japanese besides; of Greek only letters without accents, and no
# Cyrillic, Arabic, Hebrew, Thai or Hangul, of which it writes Latin letters that look alike, and is sure of them.
UNSPACED = ("chi_sim", "chi_tra", "jpn")
LANGUAGES = frozenset((*_LANGUAGE_TEXT.split(), *UNSPACED))
FIX = "pip install rapidocr onnxruntime, or set OCR_STRATEGY=tesseract"
THREADS = 1
LEAST_PIXELS = 2  # of a crop's sides
# Against the package's own on 48 receipts more words are found for less: each line is read as wide as it is, not as
# the widest beside it; what tells lines that stand on their heads turned sound ones round.
_OPTIONS: Mapping[str, Any] = {
    "Global.use_cls": False,
    "Det.limit_type": "max",
    "Rec.rec_batch_num": 1,
    "Rec.rec_img_shape": [3, 48, 96],
}
# Pixels, as the detector sees letters. At 8 it took cells of tables without rules for one; at 12 it found as many words
# and cells as in the whole picture, on receipts for a third less.
LETTER_HEIGHT = 12.0
LEAST_SIDE, LONGEST_SIDE = 640, 2000  # pixels that it looks at; the package makes no page longer
# Its model has learnt Chinese and writes marks as wide as its signs.
_NARROW = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"、": ",", "。": "."})

Found = tuple[str, float, tuple[float, float, float, float]]
"""A word, its score and its rectangle."""


class PaddleEngine:
    """A page engine: the detector's boxes and the recogniser's words, in an order of our own."""

    name = "paddle"

    def __init__(self, memory_bytes: int, make: "Callable[[], PaddleReader] | None" = None) -> None:
        """Nothing is imported or loaded yet; `make` is pickled and makes the reader in the child."""
        self._guard = GuardedChild(make or PaddleReader, memory_bytes=memory_bytes, name=self.name)

    @property
    def child(self) -> int | None:
        """Process id of the child while there is one."""
        return self._guard.pid

    def read(self, image: Picture, *, seconds: float) -> tuple[TextLine, ...]:
        """Lines in reading order, empty for a blank page, at most `seconds` of the engine's CPU.

        Raises:
            Unreadable: timeout (retryable where it hung without using CPU), bomb or crashed.
            EngineMissing: not installed, or its models are not there.
        """
        found = self._call_child("read", image, seconds)
        return arrange_found([fit_edges(_as_line(line), image) for line in found])

    def recognise(self, image: Picture, areas: Sequence[PixelArea], *, seconds: float) -> tuple[LineTranscript, ...]:
        """Given lines alone, a transcript each with the mean of its letters' scores; limits and errors as `read`."""
        crops = [np.ascontiguousarray(cut_area(image, area)) for area in areas]
        found = self._call_child("recognise", crops, seconds)
        return tuple(LineTranscript(text, min(max(score, 0.0), 1.0)) for text, score in found)

    def close(self) -> None:
        """End the child."""
        self._guard.close()

    def _call_child(self, method: str, given: Any, seconds: float) -> Any:
        if seconds <= 0:  # a call would only cost the child, and the next page its start
            raise Unreadable(FailureReason.TIMEOUT, "no time left for it")
        return call_engine(self._guard, self.name, method, given, cpu_seconds=seconds)


class PaddleReader:
    """In the child: the models, loaded with the first page."""

    def __init__(self) -> None:
        self._engine: Any = None

    def read(self, image: Picture) -> tuple[str, Any]:
        """("value", the words of each line that was found) or ("missing", (detail, fix))."""
        return catch_missing(lambda: self._read_words(image))

    def recognise(self, crops: Sequence[Picture]) -> tuple[str, Any]:
        """("value", text and score of each crop of a line) or ("missing", (detail, fix))."""
        return catch_missing(lambda: [self._read_line(crop) for crop in crops])

    def _read_words(self, image: Picture) -> list[list[Found]]:
        result = self._run(image, use_det=True, return_word_box=True)
        if result.txts is None:  # nothing was found, and its words are one without a place
            return []
        return [[_as_found(word) for word in line] for line in result.word_results]

    def _read_line(self, crop: Picture) -> tuple[str, float]:
        if min(crop.shape[:2]) < LEAST_PIXELS:
            return "", 0.0
        result = self._run(crop, use_det=False, return_word_box=False)
        if not result.txts:
            return "", 0.0
        text = str(result.txts[0])
        wide = any(map(is_unspaced, text))
        return " ".join((text if wide else text.translate(_NARROW)).split()), float(result.scores[0])

    def _run(self, image: Picture, *, use_det: bool, return_word_box: bool) -> Any:
        if self._engine is None:
            try:
                self._engine = load_engine()
            except ImportError as error:
                raise EngineMissing(f"rapidocr cannot be imported: {error}", fix=FIX) from error
            except (OSError, RuntimeError, ValueError) as error:
                raise EngineMissing(f"rapidocr cannot load its models: {error}", fix=FIX) from error
        colours = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR) if image.ndim == 2 else image[:, :, ::-1]
        if use_det:
            self._limit_detector(detector_side(image))
        # Its options stay as they were last given.
        return self._engine(
            np.ascontiguousarray(colours), use_det=use_det, use_cls=False, return_word_box=return_word_box
        )

    def _limit_detector(self, side: int) -> None:
        self._engine.cfg.Det.limit_side_len = side  # for the detector that is loaded with the first page
        if self._engine.text_det is not None:
            self._engine.text_det.limit_side_len = side


def detector_side(image: Picture) -> int:
    """The longest side, in pixels, of the picture in which lines are sought.

    What the detector costs grows with the pixels, and it finds lines of small letters as well as of large ones.
    """
    longest = min(max(image.shape[:2]), LONGEST_SIDE)
    seen = survey_ink(to_grey(image)).letter_height * longest / max(image.shape[:2])
    return max(round(longest * min(1.0, LETTER_HEIGHT / seen)), LEAST_SIDE) if seen else longest


def load_engine() -> Any:
    """A `rapidocr.RapidOCR` with the models inside the package; nothing is downloaded."""
    from rapidocr import RapidOCR  # costs a second and some hundred MB

    threads = {f"EngineConfig.onnxruntime.{which}_op_num_threads": THREADS for which in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "error", **threads, **_OPTIONS})


def _as_found(word: Sequence[Any]) -> Found:
    text, score, corners = word
    xs, ys = [float(x) for x, _ in corners], [float(y) for _, y in corners]
    return str(text), float(score), (min(xs), min(ys), max(xs), max(ys))


def _as_line(line: Sequence[Found]) -> TextLine:
    """A line's words; one that holds blanks or nothing to read is cut or left out."""
    wide = any(is_unspaced(char) for text, _, _ in line for char in text)
    tokens = (
        OcrToken(part, PixelArea(*area), min(max(score, 0.0), 1.0))
        for text, score, area in line
        for part in (text if wide else text.translate(_NARROW)).split()[:1] or ()
    )
    return TextLine(tuple(token for token in tokens if token.text.isprintable()))
