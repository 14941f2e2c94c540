"""Citations as chips that lead to the place on the page, and the addresses of such places."""

from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.caveats import caveat_badges
from serve_apps.ui.kit.formats import format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, tag
from serve_apps.ui.kit.page import ConsoleContext

DOUBTFUL: Final = 0.8  # below this much confidence of the OCR a reader is told to look at the page
Cited = Record


def citation_address(console: ConsoleContext, cited: Cited) -> str | None:
    """The page of the console that shows where a quote stands; `boxes` are fractions of that page."""
    page = cited.get("page")
    boxes = [box[1:] for box in cited.get("boxes") or () if box[0] == page]
    drawn = ";".join(",".join(f"{number:g}" for number in box) for box in boxes)
    place = {"page": page, "boxes": drawn or None, "start": cited.get("start"), "end": cited.get("end")}
    return console.link("documents", id=cited["document_id"], **place)


def citation_marks(console: ConsoleContext, citations: Sequence[Cited]) -> dict[int, str | None]:
    """Address of each `[n]` of a text."""
    return {int(one["n"]): citation_address(console, one) for one in citations}


def citation_chips(console: ConsoleContext, citations: Sequence[Cited]) -> SafeHtml | None:
    """One chip a citation, with its quote."""
    chips = [tag("li", _citation_chip(console, one)) for one in citations]
    return tag("ul", chips, class_="aos-chips", aria_label="Sources") if chips else None


def _citation_chip(console: ConsoleContext, one: Cited) -> SafeHtml:
    sure = one.get("ocr_confidence")
    doubt = tag("span", f"OCR {format_percent(sure)}", class_="aos-badge amber") if sure and sure < DOUBTFUL else None
    name = tag("span", f"{one['filename']}, page {one['page']}", class_="name")
    quote = tag("q", " ".join(str(one.get("quote", "")).split()))
    inside = (tag("b", one["n"]), tag("span", name, quote), doubt, caveat_badges(one))
    address = citation_address(console, one)
    if address is None:
        return tag("div", inside, class_="aos-chip")
    return tag("a", inside, class_="aos-chip", href=address, target="_blank", rel="noopener")
