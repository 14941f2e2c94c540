"""OCR of a PDF page's pictures, where they hold text that the page's own text does not have already."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pypdfium2 as pdfium

from pipelines.documents.cpu_pulses import own_cpu_seconds
from pipelines.documents.document import Box, Caveat, CaveatKind, EngineAttempt, Page, Unreadable
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.pdf.merge import as_tokens, insert_tokens, without_known
from pipelines.documents.extract.pdf.ocr_layer import MUCH_ODD, is_doubtful, odd_share, readings_agree
from pipelines.documents.extract.pdf.page_pictures import (
    LAYER_DPI,
    PictureArea,
    render_annotations,
    render_area,
    without_words,
)
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.ocr.letter_rows import LOOK_DPI, MANY_LETTERS, is_grained, letters_in
from pipelines.documents.ocr.reading import EngineMissing, Picture

_SCAN = 0.4  # of the page: a picture so large beside little text is a scan, whatever it looks like
_THE_PAGE = 0.5  # of the page: its lines lead, and own words are put between them
_LEAST_LETTERS = {"picture": 5, "drawing": MANY_LETTERS, "stamp": 0, "ink": 5}  # side by side: fewer are no text
_NAMES = {"picture": "a picture", "drawing": "a drawing", "stamp": "a stamp", "ink": "handwriting"}
_WORTH = 0.5  # mean confidence of what is read in a picture on a page of text; below it is grain and leaves
_FEW_CLEAR = 3  # letters and figures: fewer are no text, but what grain looks like
_SURE = 0.7
_MOST_AREAS, _MOST_SECONDS = 12, 40.0  # CPU, engines included: the page's own text must not be lost to its pictures
_MOST_IN_VAIN = 2  # layers in doubt whose pictures OCR cannot read either (handwriting): each costs its whole time

Scale = Callable[[pdfium.PdfPage, int], float]


@dataclass(frozen=True, slots=True)
class PageReading:
    """The page's words with those of its pictures; attempts and caveats as in Page, engine empty where none was asked.

    Attributes:
        hidden: words of an OCR layer that what was read replaces.
    """

    tokens: tuple[PageToken, ...]
    engine: str = ""
    confidence: float | None = None
    attempts: tuple[EngineAttempt, ...] = ()
    caveats: tuple[Caveat, ...] = ()


class PictureReading:
    """Reads the pictures of one document's pages."""

    def __init__(
        self, context: ExtractionContext, scale: Scale, cpu_clock: Callable[[], float] = own_cpu_seconds
    ) -> None:
        """`scale` gives the pixels per point at which a page may be rendered for so many dots per inch."""
        self._context, self._scale, self._cpu_clock = context, scale, cpu_clock
        self._in_vain = 0

    def read(
        self, page: pdfium.PdfPage, number: int, tokens: Sequence[PageToken], areas: Sequence[PictureArea]
    ) -> PageReading:
        """The page's own words, with what its pictures show.

        An engine that fails costs what the pictures show, not the words that are there, and the page says so.
        """
        visible = sum(len(token.text) for token in tokens if not token.hidden)
        reading = PageReading(tuple(tokens))
        unread: list[str] = []
        began = self._cpu_clock()
        for rank, area in enumerate(areas):
            layer = bool(area.behind)
            scan = area.kind == "picture" and area.share >= _SCAN
            sure = scan and not layer and visible < self._context.read.min_useful_text
            letters = MANY_LETTERS
            if not sure:
                look = _render(page, area, (LAYER_DPI if layer else LOOK_DPI) / 72)
                if layer and not is_doubtful(area.behind, look, area.box):
                    mean = round(1 - odd_share([token.text for token in area.behind]), 4)
                    kept = EngineAttempt("ocr layer", mean, 0, True, "the text that the file has behind its picture")
                    reading = replace(reading, attempts=(*reading.attempts, kept))
                    continue
                if not layer:
                    letters = letters_in(look)
                    if letters < _LEAST_LETTERS[area.kind] or is_blank(look):
                        continue
            if layer and is_grained(render_area(page, area.box, LOOK_DPI / 72)):
                reading = _with_doubt(reading, "the picture is too full of dots to be read again")
                continue
            if layer and self._in_vain >= _MOST_IN_VAIN:
                reading = _with_doubt(
                    reading, "it reads like no language, and OCR could not read other pages of this file"
                )
                continue
            if rank >= _MOST_AREAS or self._cpu_clock() - began > _MOST_SECONDS:
                unread.append("there are too many of them")
                continue
            try:
                found = self._read_area(page, number, area)
            except (Unreadable, EngineMissing) as error:
                unread.append(str(error))
                if layer:
                    reading = _with_doubt(reading, "it could not be checked")
                continue
            self._in_vain += layer and (found.confidence or 0.0) < _WORTH
            reading = _with_layer(reading, area, found) if layer else _with_text(reading, area, found, letters)
        if unread:
            detail = (
                f"pictures on this page were not read ({unread[0][:120]}); read the document again to try once more"
            )
            caveat = Caveat(CaveatKind.PICTURES_UNREAD, detail, len(unread))
            reading = replace(reading, caveats=(*reading.caveats, caveat))
        return reading

    def _read_area(self, page: pdfium.PdfPage, number: int, area: PictureArea) -> Page:
        scale = self._scale(page, self._context.ocr.dpi)
        pixels = _render(page, area, scale)
        return Page(number, "") if is_blank(pixels) else self._context.engine.read(pixels, number, round(scale * 72))


def is_blank(pixels: Picture) -> bool:
    """True where nothing is drawn, such as in the field of a signature that was not given."""
    return pixels.size == 0 or bool(pixels.min() == pixels.max())


def _render(page: pdfium.PdfPage, area: PictureArea, scale: float) -> Picture:
    if area.kind in ("stamp", "ink"):
        return render_annotations(page, area.box, scale)
    with without_words(page, area.on_top):
        return render_area(page, area.box, scale)


def _with_text(reading: PageReading, area: PictureArea, found: Page, letters: int) -> PageReading:
    """A picture's words among the page's own."""
    own = [token for token in reading.tokens if not token.hidden]
    weak = (found.confidence or 0.0) < _WORTH or _count_clear(found) < _FEW_CLEAR
    nothing = not found.text.strip() or (weak and bool(own))
    tried = tuple(replace(attempt, kept=attempt.kept and not nothing) for attempt in found.attempts)
    attempts = (*reading.attempts, *tried)
    if nothing:
        many = area.kind in ("stamp", "ink") or (
            letters >= MANY_LETTERS and (area.kind == "drawing" or not area.on_top)
        )
        what = f"{_NAMES[area.kind]} {_describe_place(area.box)}"
        doubt = Caveat(CaveatKind.PICTURES_UNREAD, f"{what} seems to hold text that OCR cannot read")
        return replace(reading, attempts=attempts, caveats=(*reading.caveats, *([doubt] if many else [])))
    read = without_known(as_tokens(found, area.box), area.on_top)
    leading = area.share >= _THE_PAGE and len(found.text) >= sum(len(token.text) for token in own)
    return _join_reading(reading, insert_tokens(reading.tokens, read, area.box, leading), found, attempts)


def _count_clear(found: Page) -> int:
    """Count the letters and figures that were read clearly; all where the engine gives no words."""
    if not found.words:
        return len(found.text)
    return sum(sum(map(str.isalnum, word.text)) for word in found.words if word.confidence >= _WORTH)


def _with_layer(reading: PageReading, area: PictureArea, found: Page) -> PageReading:
    """A layer in doubt and a new reading of its picture: the better one stays; where none is sure, it is said."""
    layer = [token.text for token in area.behind]
    fresh = [word.text for word in found.words] or found.text.split()
    attempts = (*reading.attempts, *(replace(attempt, kept=False) for attempt in found.attempts))
    before, after = odd_share(layer), odd_share(fresh)
    note = EngineAttempt("ocr layer", round(1 - before, 4), 0, True, "the text that the file has behind its picture")
    sure = (found.confidence or 0.0) >= _SURE and after <= max(0.1, before - 0.05) and _same_script(layer, fresh)
    if fresh and readings_agree(layer, fresh) and not (sure and before > MUCH_ODD):
        return replace(reading, attempts=(*attempts, note))
    if not fresh or not sure:
        return _with_doubt(replace(reading, attempts=(*attempts, note)), "OCR reads something else, and is not sure")
    behind = set(map(id, area.behind))
    own = [token for token in reading.tokens if id(token) not in behind]
    if own and not own[0].gap:
        own[0] = replace(own[0], gap="\n")
    read = without_known(as_tokens(found, area.box), area.on_top)
    tried = (*reading.attempts, replace(note, kept=False), *found.attempts)
    return _join_reading(reading, insert_tokens(own, read, area.box, leading=True), found, tried)


def _join_reading(
    reading: PageReading, tokens: tuple[PageToken, ...], found: Page, attempts: tuple[EngineAttempt, ...]
) -> PageReading:
    means = [mean for mean in (reading.confidence, found.confidence) if mean is not None]
    sure = round(sum(means) / len(means), 4) if means else None
    return PageReading(tokens, reading.engine or found.engine, sure, attempts, (*reading.caveats, *found.caveats))


def _with_doubt(reading: PageReading, why: str) -> PageReading:
    detail = f"the invisible text behind this scan may be wrong: {why}; compare it with the picture"
    return replace(reading, caveats=(*reading.caveats, Caveat(CaveatKind.OCR_LAYER_UNSURE, detail)))


def _same_script(words: Sequence[str], others: Sequence[str]) -> bool:
    """True if both or neither are in Latin letters: OCR without a script's data reads it as Latin garbage."""

    def latin(texts: Sequence[str]) -> float:
        letters = [char for text in texts for char in text if char.isalpha()]
        return sum(char < "\u0250" for char in letters) / len(letters) if letters else 1.0

    return abs(latin(words) - latin(others)) < 0.5


def _describe_place(box: Box) -> str:
    across = "left" if box.x1 < 0.5 else "right" if box.x0 > 0.5 else "middle"
    down = "top" if box.y1 < 0.5 else "bottom" if box.y0 > 0.5 else "middle"
    return f"at the {down}, {across}" if down != across else "in the middle"
