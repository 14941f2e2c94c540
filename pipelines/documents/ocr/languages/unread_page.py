"""Pages in letters that nothing here reads, or reads in part: which words stay, and what would have to be installed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from pipelines.documents.document import Caveat, CaveatKind, Page
from pipelines.documents.ocr.compose import compose_page
from pipelines.documents.ocr.languages.installed import package_of
from pipelines.documents.ocr.missing_language import SCRIPTS
from pipelines.documents.ocr.preprocess import PreparedPage
from pipelines.documents.ocr.reading import Picture, TextLine, mean_confidence

SURE_WORD: Final = 0.8  # words of such a page that stay, such as names in Latin letters


def unread_page(page: Page, image: Picture, view: PreparedPage, lines: Sequence[TextLine], script: str) -> Page:
    """The page in letters that nothing here reads: what stands on it in others stays, and what would help is said.

    `lines` are its first reading, of the prepared `view` of its `image`.
    """
    kept = tuple(
        replace(line, tokens=tokens)
        for line in lines
        if (tokens := tuple(token for token in line.tokens if token.confidence >= SURE_WORD))
    )
    text, words = compose_page(kept, view, image.shape[1], image.shape[0])
    names = SCRIPTS.get(script, ())
    caveat = unread_caveat(f"the letters look {script}", names[0] if names else "")
    sure = round(mean_confidence(lines), 4)  # of the whole page: what was left out counts
    tried = tuple(replace(one, kept=False) for one in page.attempts)
    return Page(page.number, text, words, "tesseract", sure, tried, ms=page.ms, caveats=(caveat,))


def with_unread_caveat(page: Page) -> Page:
    """A page that reads badly where nothing tells its letters: its words stay, with the doubt."""
    if any(one.kind is CaveatKind.LANGUAGE_MISSING for one in page.caveats):
        return page
    caveat = unread_caveat("it reads badly, and its script could not be told", "")
    return replace(page, caveats=(*page.caveats, caveat))


def unread_caveat(seen: str, name: str) -> Caveat:
    """Caveat with what would read what was `seen`: the data of the language of that name; "" where nobody knows."""
    fix = f"Install {package_of(name)} (aos languages install {name})" if name else "See `aos languages list`"
    return Caveat(
        CaveatKind.LANGUAGE_MISSING,
        f"{seen}: nothing that is installed reads that, so words are missing or wrong. {fix} on each machine that "
        "reads, and have it read again (aos jobs retry JOB --degraded).",
    )


def with_column_doubt(page: Page) -> Page:
    """A page of columns that run downwards says so where PP-OCR read it alone: it misses half of them, and is sure."""
    steps = [(abs(b.box.x0 - a.box.x0), b.box.y0 - a.box.y0) for a, b in pairwise(page.words)]
    downwards = sum(down > 0 and 4 * across < down for across, down in steps)
    if page.engine != "paddle" or 2 * downwards <= len(steps) or not steps:
        return page
    name = next(one.languages for one in page.attempts if one.kept).partition("+")[0]
    seen = "its lines run downwards"
    return replace(page, caveats=(*page.caveats, unread_caveat(seen, f"{name}_vert")))
