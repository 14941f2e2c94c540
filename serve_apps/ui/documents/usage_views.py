"""Figures of all documents, and the use of one in answers."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.documents.facts import document_address
from serve_apps.ui.kit.blocks import (
    Colour,
    card_columns,
    data_table,
    empty_card,
    empty_state,
    key_figure,
    key_figures,
    link_to,
    page_heading,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_count, format_moment, format_number, format_percent, format_size
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX

HERE: Final = f"{PREFIX}/documents"
FIGURES: Final = f"{HERE}?view=figures"
_PLACES: Final = ("Documents", "Completed", "Failed", "Passages", "Size", "Last 24 hours")
_ORIGINS: Final = {"upload": "Uploaded", "folder": "Scanned from a folder", "source": "From a source"}


def figures_view(body: Record, add: str | None) -> SafeHtml:
    """Figures of the documents that one sees; `add` is where documents are added, None for who may not."""
    back = tag("a", "All documents", href=HERE, class_="aos-button")
    head = page_heading("Figures of the documents", ("As far as you see them, as of ", format_moment(body["at"])), back)
    if not body["documents"] and not body["workspaces"]:
        upload = "Upload files or scan a folder on the page ", link_to("Ingest", add), "."
        wait = "Somebody who may upload adds them; then they are counted here."
        return join_html(head, tag("div", empty_state("No documents yet.", upload if add else wait), class_="aos-card"))
    cards = (
        _shares_card("By state", body["by_status"], "status"),
        _shares_card("By type", body["by_type"], "type"),
        _origins_card(body["by_origin"]),
        _most_used_card(body["usage"]),
    )
    places = (_places_card("Sources", body["sources"]), _places_card("Workspaces", body["workspaces"], _EVERYBODYS))
    return join_html(head, _totals_row(body), card_columns(*cards), places)


def usage_card(document: Record) -> SafeHtml:
    """How often answers used a document, and which passages of it last. Nobody who asked is named."""
    if not document["rag_query_count"]:
        return empty_card(
            "Use in answers", "No answer has used it yet.", "Answers that have it before them count here."
        )
    asked = format_count(document["rag_query_count"], "answer")
    said = quiet_text(
        f"{asked} had it before them, {format_number(document['cited_count'])} cite it; the last one ",
        format_moment(document["last_accessed"], relative=True),
        ".",
    )
    rows = [_use_row(document["id"], one) for one in document["context_usage"]]
    shown = data_table(("Passage", "Part in the answer", "Score", "When"), rows, numbers=(2,)) if rows else None
    return titled_card("Use in answers", said, shown)


_EVERYBODYS: Final = "All documents of each, whoever reads them."


def _totals_row(body: Record) -> SafeHtml:
    use, rate = body["usage"], body["success_rate"]
    bad: Colour | None = None if rate is None or rate >= 0.9 else "amber"
    never = f"{HERE}?sort=never_used"
    return key_figures(
        key_figure("Documents", format_number(body["documents"]), HERE, format_count(body["pages"], "page")),
        key_figure("Passages", format_number(body["chunks"]), None, "that can be found"),
        key_figure("Size", format_size(body["storage_bytes"]), None, "of their files"),
        key_figure("Added", format_number(body["uploads_24h"]), None, "last 24 hours"),
        key_figure("Read without a doubt", format_percent(rate), None, "of those that were read", bad),
        key_figure("Never used", format_number(use["never_used"]), never, "by an answer"),
    )


def _shares_card(title: str, counts: Mapping[str, int], name: str) -> SafeHtml:
    """Counts with their share; each leads to those documents."""
    total = sum(counts.values()) or 1
    rows = []
    for value, count in counts.items():
        label: Child = state_badge(value) if name == "status" else value
        share = tag("meter", value=count, max=total, aria_label=f"{value}: {format_percent(count / total)}")
        rows.append((link_to(label, f"{HERE}?{name}={value}" if value.isidentifier() else None), count, share))
    shown = data_table(
        ("", "Documents", "Share"), [(label, format_number(n), bar) for label, n, bar in rows], numbers=(1,)
    )
    return titled_card(title, shown)


def _origins_card(counts: Mapping[str, int]) -> SafeHtml:
    rows = [(_ORIGINS.get(value, value), format_number(count)) for value, count in counts.items()]
    return titled_card("By origin", data_table(("", "Documents"), rows, numbers=(1,)))


def _most_used_card(use: Record) -> SafeHtml:
    if not use["most_used"]:
        return empty_card("Most used", "No answer has used a document yet.", "Ask a question on the page Search.")
    rows = [
        (
            link_to(one["filename"], document_address(one["id"])),
            format_number(one["rag_query_count"]),
            format_number(one["cited_count"]),
            format_moment(one["last_accessed"], relative=True),
        )
        for one in use["most_used"]
    ]
    columns = ("Document", "Answers", "that cite it", "Last")
    return titled_card("Most used", data_table(columns, rows, numbers=(1, 2)))


def _places_card(title: str, places: Sequence[Record] | None, about: str = "") -> SafeHtml | None:
    """A line for each source or workspace; None where they are not for whoever asks, or there are none."""
    if not places:
        return None
    rows = [
        (
            one["name"],
            *(format_number(one[name]) for name in ("documents", "completed", "failed", "chunks")),
            format_size(one["storage_bytes"]),
            format_number(one["uploads_24h"]),
        )
        for one in places
    ]
    shown = data_table(("Name", *_PLACES), rows, numbers=range(1, len(_PLACES) + 1))
    return titled_card(title, shown, quiet_text(about) if about else None)


def _use_row(document: str, one: Record) -> tuple[Child, ...]:
    page = one["page"]
    where = document_address(document, page=page) if page else None
    place = "a table" if not one["chunk_id"] else f"Page {page:,}" if page else "a passage that is cut otherwise by now"
    part = "cited" if one["used_in_response"] else "only before it"
    return (
        link_to(place, where),
        part,
        format_number(one["relevance_score"], 3),
        format_moment(one["used_at"], relative=True),
    )
