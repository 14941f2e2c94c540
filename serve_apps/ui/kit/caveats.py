"""Caveats in words, of what was not read or may be wrong: beside documents, pages, jobs, passages and sources."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.blocks import Colour, state_badge
from serve_apps.ui.kit.formats import format_number
from serve_apps.ui.kit.html import Record, SafeHtml, quiet_span, tag

Caveat = Record
TITLES: Final[Mapping[str, str]] = {
    "pictures_unread": "Pictures were not read",
    "parts_skipped": "Parts were not read",
    "attachments_unread": "Attachments were not read",
    "glyphs_unmapped": "Signs without a meaning",
    "cut_short": "Not read to the end",
    "formulas_uncalculated": "Formulas without values",
    "encoding_unsure": "The encoding is not sure",
    "ocr_layer_unsure": "The scan's own text is not sure",
    "language_missing": "A language that cannot be read",
    "reading_weak": "Hardly legible",
    "table_unsure": "A table is not sure",
    "order_unsure": "The order of the text is not sure",
    "no_text": "No text",
    "reduced_scale": "Read at a smaller scale",
    "read_as": "Read as another format",
    "hidden_content": "Hidden parts are in the text",
    "tracked_changes": "Tracked changes are read as accepted",
    "passed_over": "Left out on purpose",
}
COLOURS: Final[Mapping[str, Colour]] = {"unread": "amber", "unsure": "amber"}  # notes are grey


def caveat_title(caveat: Caveat) -> str:
    """Its kind in words."""
    kind = str(caveat["kind"])
    return TITLES.get(kind, kind.replace("_", " ").capitalize())


def serious_caveats(found: Record) -> list[Caveat]:
    """Caveats that count: no mere notes."""
    return [one for one in found.get("caveats") or () if one["weight"] != "note"]


def caveat_kinds(found: Record) -> frozenset[str]:
    """Kinds of the caveats that something has."""
    return frozenset(str(one["kind"]) for one in found.get("caveats") or ())


def in_short(found: Record) -> str | None:
    """The kinds of what counts, for a line of a list."""
    return ", ".join(dict.fromkeys(caveat_title(one) for one in serious_caveats(found))) or None


def caveat_badges(found: Record) -> list[SafeHtml]:
    """One for each kind beside a passage or a source; the detail shows when one points at it."""
    serious = serious_caveats(found)
    return [tag("span", state_badge(caveat_title(one), "amber"), title=str(one["detail"])) for one in serious]


def caveat_list(caveats: Sequence[Caveat]) -> SafeHtml | None:
    """Each with where it is and its detail."""
    shown = []
    for one in caveats or ():
        badge = state_badge(caveat_title(one), COLOURS.get(one["weight"], "grey"))
        shown.append(tag("li", badge, quiet_span(caveat_pages(one)), tag("div", one["detail"])))
    return tag("ul", shown, class_="aos-caveats") if shown else None


def caveat_note(heading: str, caveats: Sequence[Caveat]) -> SafeHtml | None:
    """A frame with all of them; nothing where there are none."""
    listed = caveat_list(caveats)
    return tag("div", tag("strong", heading), listed, class_="aos-note", role="note") if listed else None


def caveat_pages(caveat: Caveat) -> str:
    """The pages it is about, as far as they are told."""
    pages: list[int] = caveat.get("pages") or []
    if not pages:
        return ""
    more = caveat.get("page_count", 0) - len(pages)
    said = ", ".join(map(format_number, pages)) + (f" and {format_number(more)} more" if more > 0 else "")
    return f" on page {said}" if len(pages) == 1 and more <= 0 else f" on pages {said}"
