"""PP-OCRv6 by RapidOCR, in a process of its own: finds and reads the lines of a page that Tesseract reads badly."""

from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import STALL_SECONDS, CallTimeout, ChildDied, GuardedChild, TookTooMuch
from pipelines.documents.ocr.reading import EngineMissing, OcrToken, Picture, PixelArea, TextLine
from pipelines.documents.ocr.reading_order import Piece, arrange_lines

# Of the 50 languages that its one model reads, those whose words stand apart and that Tesseract's names are known of.
_LANGUAGE_TEXT = """
afr cat ces cym dan deu eng est eus fin fra gle glg hrv hun ind isl ita lat lav lit msa nld nor pol por ron slk slv spa
sqi swa swe tur
"""
LANGUAGES = frozenset(_LANGUAGE_TEXT.split())
FIX = "pip install rapidocr onnxruntime, or set OCR_STRATEGY=tesseract"
THREADS = 1
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
        try:
            found = self._guard.call("read", image, seconds=STALL_SECONDS, cpu_seconds=max(seconds, 0.001))
        except CallTimeout as error:
            again = not isinstance(error, TookTooMuch)
            raise Unreadable(FailureReason.TIMEOUT, f"{self.name}: {error}", retryable=again) from None
        except ChildDied as death:
            if death.starved:
                raise Unreadable(FailureReason.BOMB, "OCR needs more memory than ocr.memory_bytes allows") from None
            raise Unreadable(FailureReason.CRASHED, f"{self.name} {death}"[:250], retryable=True) from None
        if isinstance(found, str):
            raise EngineMissing(found, fix=FIX)
        return arrange_lines([_as_piece(line) for line in found])

    def close(self) -> None:
        """End the child."""
        self._guard.close()


class PaddleReader:
    """In the child: the models, loaded with the first page."""

    def __init__(self) -> None:
        self._engine: Any = None

    def read(self, image: Picture) -> list[list[Found]] | str:
        """The words of each line that was found; why there is no engine, where there is none."""
        if self._engine is None:
            try:
                self._engine = load_engine()
            except ImportError as error:
                return f"rapidocr cannot be imported: {error}"
            except (OSError, RuntimeError, ValueError) as error:
                return f"rapidocr cannot load its models: {error}"
        colours = cv2.cvtColor(image, cv2.COLOR_GRAY2BGR) if image.ndim == 2 else image[:, :, ::-1]
        result = self._engine(np.ascontiguousarray(colours), return_word_box=True)
        if result.txts is None:  # nothing was found, and its words are one without a place
            return []
        return [[_as_found(word) for word in line] for line in result.word_results]


def load_engine() -> Any:
    """A `rapidocr.RapidOCR` with the models inside the package; nothing is downloaded."""
    from rapidocr import RapidOCR  # costs a second and some hundred MB

    threads = {f"EngineConfig.onnxruntime.{which}_op_num_threads": THREADS for which in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "error", **threads})


def _as_found(word: Sequence[Any]) -> Found:
    text, score, corners = word
    xs, ys = [float(x) for x, _ in corners], [float(y) for _, y in corners]
    return str(text), float(score), (min(xs), min(ys), max(xs), max(ys))


def _as_piece(line: Sequence[Found]) -> Piece:
    """A line's words; one that holds blanks or nothing to read is cut or left out."""
    tokens = (
        OcrToken(part, PixelArea(*area), min(max(score, 0.0), 1.0))
        for text, score, area in line
        for part in text.translate(_NARROW).split()[:1] or ()
    )
    return tuple(token for token in tokens if token.text.isprintable())
