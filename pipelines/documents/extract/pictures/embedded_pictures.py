"""Pictures within documents: gathered while a document is walked, read by OCR when their page is asked for."""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from PIL import Image

from pipelines.documents.cpu_pulses import own_cpu_seconds
from pipelines.documents.document import Caveat, CaveatKind, EngineAttempt, FailureReason, Page, Unreadable
from pipelines.documents.extract.opened import (
    DocumentPart,
    ExtractionContext,
    document_parts,
    join_blocks,
    storable_text,
)
from pipelines.documents.ocr.letter_rows import seems_to_hold_text
from pipelines.documents.ocr.picture import dpi_of, to_array
from pipelines.documents.ocr.reading import EngineMissing

_MARK = re.compile("\0(\\d+)\0")  # XML cannot hold a NUL: no text of a document is taken for a picture's place
_LEAST_EDGE, _LEAST_AREA = 16, 3_000  # pixels; what is smaller holds no line of text: bullets, rules, icons
_MOST_BYTES = 256 * 2**20  # of all pictures of one document, compressed as they are
_PER_PART = 10  # each costs seconds of OCR, and a part has a limit as any page
_SURE = 0.6  # below, OCR of a photograph or a drawing is noise as often as text
_WORD = re.compile(r"[^\W\d_]{3,}|\d{2,}")
_TIME_SHARE = 0.7  # of a page's limit, in CPU, engines included; after it the pictures that are left stay unread
_DAMAGED = (OSError, EOFError, SyntaxError, ValueError, TypeError, LookupError, AttributeError)  # as Pillow raises
_HINT = "what they show is not in the text"


class PictureCollector:
    """Collects a document's pictures to read, and caveats with how often each was met."""

    def __init__(self, context: ExtractionContext) -> None:
        self.context = context
        self._pictures: list[bytes] = []
        self._seen: set[bytes] = set()
        self._bytes = 0
        self._caveats: dict[tuple[CaveatKind, str], int] = {}

    def note(self, kind: CaveatKind, detail: str, count: int = 1) -> None:
        """A caveat; the same one again is counted."""
        self._caveats[kind, detail] = self._caveats.get((kind, detail), 0) + count

    def picture(self, data: bytes) -> str:
        """The place of a picture in the text; nothing for one that is too small, was met before, or fails."""
        digest = sha256(data).digest()
        if digest in self._seen:
            return ""
        self._seen.add(digest)
        Image.MAX_IMAGE_PIXELS = None  # the limit of the settings is ours to check
        try:
            with Image.open(io.BytesIO(data)) as image:
                (width, height), drawn = image.size, image.format in ("EMF", "WMF")
        except _DAMAGED:
            self.note(CaveatKind.PICTURES_UNREAD, f"pictures in a format that cannot be opened: {_HINT}")
            return ""
        if min(width, height) < _LEAST_EDGE or width * height < _LEAST_AREA:
            return ""
        if drawn:
            self.note(CaveatKind.PICTURES_UNREAD, f"drawings in a Windows format (EMF, WMF): {_HINT}")
        elif width * height > self.context.ocr.max_pixels or self._bytes + len(data) > _MOST_BYTES:
            self.note(CaveatKind.PICTURES_UNREAD, f"pictures that are too large: {_HINT}")
        else:
            self._bytes += len(data)
            self._pictures.append(data)
            return f"\0{len(self._pictures) - 1}\0"
        return ""

    def take_caveats(self) -> tuple[Caveat, ...]:
        """Take the caveats noted since the last call: for the part that they belong to."""
        found = tuple(Caveat(kind, detail, count) for (kind, detail), count in self._caveats.items())
        self._caveats.clear()
        return found

    def document(self, parts: Iterable[str | DocumentPart]) -> "PicturedParts":
        """The parts as a document whose pictures are read with their part; what is still noted goes to the first."""
        return PicturedParts(parts, self._pictures, self.take_caveats(), self.context)


def split_blocks(blocks: Iterable[str], limit: int) -> list[str]:
    """Blocks as parts of at most `limit` characters, and of few pictures each."""
    parts = []
    for part in join_blocks(blocks, limit):
        group: list[str] = []
        count = 0
        for block in part.split("\n\n") if part.count("\0") > 2 * _PER_PART else [part]:
            marks = block.count("\0") // 2
            if group and count + marks > _PER_PART:
                parts.append("\n\n".join(group))
                group, count = [], 0
            group.append(block)
            count += marks
        parts.append("\n\n".join(group))
    return parts


@dataclass(frozen=True, slots=True)
class _Reading:
    """The OCR result of one picture; empty where no words were found."""

    text: str = ""
    engine: str = ""
    confidence: float | None = None
    attempts: tuple[EngineAttempt, ...] = ()
    caveats: tuple[Caveat, ...] = ()


class PicturedParts:
    """A document without pages, cut into parts that may hold pictures."""

    def __init__(
        self,
        parts: Iterable[str | DocumentPart],
        pictures: Sequence[bytes],
        caveats: Iterable[Caveat],
        context: ExtractionContext,
        cpu_clock: Callable[[], float] = own_cpu_seconds,
    ) -> None:
        """Keep the parts; no picture is decoded before its part is asked for."""
        self._parts = document_parts(parts)
        self._pictures, self._caveats = pictures, tuple(caveats)
        self._context, self._cpu_clock = context, cpu_clock
        self.pages = len(self._parts)

    def page(self, number: int) -> Page:
        """The part with the text of its pictures where they stand."""
        part = self._parts[number - 1]
        caveats = (*(self._caveats if number == 1 else ()), *part.caveats)
        if "\0" not in part.text:
            return Page(number, storable_text(part.text), caveats=caveats)
        until = self._cpu_clock() + self._context.read.page_seconds * _TIME_SHARE
        readings: list[_Reading] = []

        def read(mark: re.Match[str]) -> str:
            readings.append(self._read_picture(int(mark[1]), until))
            return _picture_text(readings[-1].text, mark)

        text = storable_text("\n".join(_tidy_lines(_MARK.sub(read, part.text))))
        caveats += _merge_caveats(caveat for one in readings for caveat in one.caveats)
        return _build_page(number, text, bool(_MARK.sub("", part.text).strip()), readings, caveats)

    def picture(self, number: int, dpi: int) -> bytes:
        """Always refused."""
        raise Unreadable(FailureReason.UNSUPPORTED, "this format has no picture of its pages")

    def close(self) -> None:
        """Nothing to let go of: the pictures are in memory."""

    def _read_picture(self, index: int, until: float) -> _Reading:
        if index >= len(self._pictures) or self._cpu_clock() > until:
            return _unread_picture(f"pictures for which the time of their page was too short: {_HINT}")
        try:
            with Image.open(io.BytesIO(self._pictures[index])) as image:
                pixels, dpi = to_array(image), dpi_of(image)
            page = self._context.engine.read(pixels, 1, dpi)
        except _DAMAGED:
            return _unread_picture(f"damaged pictures: {_HINT}")
        except EngineMissing:
            return _unread_picture(f"pictures, as no OCR engine is installed: {_HINT}")
        except Unreadable as error:
            return _unread_picture(f"pictures that OCR gave up ({error.reason}): {_HINT}")
        words = bool(_WORD.search(page.text))
        if not words and not seems_to_hold_text(pixels, dpi):
            return _Reading(attempts=page.attempts)
        if not words or (page.confidence or 0) < _SURE:
            unread = _unread_picture(f"pictures with words that OCR could not make out: {_HINT}")
            return _Reading(attempts=page.attempts, caveats=unread.caveats)
        return _Reading(page.text.strip(), page.engine, page.confidence, page.attempts, page.caveats)


def _build_page(number: int, text: str, written: bool, readings: list[_Reading], caveats: tuple[Caveat, ...]) -> Page:
    sure = [one.confidence for one in readings if one.text and one.confidence is not None]
    engine = "native" if written else next((one.engine for one in readings if one.engine), "native")
    confidence = round(sum(sure) / len(sure), 4) if sure else None
    attempts = tuple(attempt for one in readings for attempt in one.attempts)
    return Page(number, text, engine=engine, confidence=confidence, attempts=attempts, caveats=caveats)


def _unread_picture(detail: str) -> _Reading:
    return _Reading(caveats=(Caveat(CaveatKind.PICTURES_UNREAD, detail),))


def _merge_caveats(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """Equal ones as one that is counted."""
    counts: dict[tuple[CaveatKind, str], int] = {}
    for one in caveats:
        counts[one.kind, one.detail] = counts.get((one.kind, one.detail), 0) + one.count
    return tuple(Caveat(kind, detail, count) for (kind, detail), count in counts.items())


def _picture_text(text: str, mark: re.Match[str]) -> str:
    """Lines of its own where the picture stands alone; within a table's row or a sentence, one line."""
    if not text:
        return ""
    before, after = mark.string[: mark.start()], mark.string[mark.end() :]
    if (not before or before[-1] in "\n\0") and (not after or after[0] in "\n\0"):
        return f"[picture]\n{text}\n" if after[:1] == "\0" else f"[picture]\n{text}"
    return " [picture] " + " ".join(text.replace("|", "\\|").split()) + " "


def _tidy_lines(text: str) -> list[str]:
    """Without the blank lines that pictures without words leave."""
    lines: list[str] = []
    for line in text.strip("\n").split("\n"):
        if line.strip() or (lines and lines[-1].strip()):
            lines.append(line)
    return lines
