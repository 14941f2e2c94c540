"""The queue of pages to be reviewed: filters, table and pages of the list, all of them told by the address."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, list_pager, page_heading, state_badge
from serve_apps.ui.kit.formats import format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, tag
from serve_apps.ui.kit.page import PREFIX

HERE: Final = f"{PREFIX}/review"
A_PAGE: Final = 25
REASONS: Final = {
    "confidence": "OCR was not sure",
    "caveat": "Its text may be wrong",
    "correction": "A correction lost its line",
    "field": "An extracted value is in doubt",
}
FILTERS: Final = ("search", "reason", "reviewed", "document_id")


def chosen_filters(query: Mapping[str, str]) -> dict[str, str]:
    """The filters of an address."""
    return {name: query[name] for name in FILTERS if query.get(name)}


def page_address(one: Record, at: int, filters: Mapping[str, str]) -> str:
    """Address of a page of the queue; `at` is its place there."""
    return f"{HERE}?{urlencode({**filters, 'document': one['document_id'], 'page': one['page'], 'at': at})}"


async def review_queue(api: SessionApi, query: Mapping[str, str], skip: int) -> SafeHtml:
    """One page of the queue."""
    filters = chosen_filters(query)
    body = await api.get("/api/review/pages", **filters, skip=skip, limit=A_PAGE)
    return queue_table(body, filters)


def queue_table(body: Record, filters: Mapping[str, str]) -> SafeHtml:
    """Heading, filters and table of what the API answered."""
    total = body["total"]
    about = f"{format_number(total)} {'looked at' if filters.get('reviewed') else 'to look at'}, the least sure first"
    head = page_heading("Review", about)
    if not body["items"]:
        what = "No page fits." if filters else "Every page was read well enough, or somebody has looked at it."
        todo = ("Change the filters, or ", link_to("show all", HERE), ".") if filters else "Nothing is to be done here."
        return join_html(head, queue_filters(filters), tag("div", empty_state(what, todo), class_="aos-card"))
    columns = ("Page", "Why", "Least sure line", "Sure", "Weak lines")
    rows = [_queue_row(one, body["skip"] + n, filters) for n, one in enumerate(body["items"])]
    shown = data_table(columns, rows, numbers=(3, 4))
    address = HERE + (f"?{urlencode(filters)}" if filters else "")
    turn = list_pager(address, body["skip"], body["limit"], total) if total > body["limit"] or body["skip"] else None
    return join_html(head, queue_filters(filters), tag("div", shown, turn, class_="aos-card"))


def queue_filters(filters: Mapping[str, str]) -> SafeHtml:
    """The form of the list; without a script it is one all the same."""
    named = {"name": "search", "type": "search", "id": "search", "placeholder": "File name"}
    box = tag("input", **named, value=filters.get("search", ""), maxlength=200)
    search = tag("label", tag("span", "Search"), box, class_="wide")
    find = tag("button", "Search", class_="aos-button primary", id="find")
    clear = tag("a", "Clear", href=HERE, class_="aos-button") if filters else None
    inside = (
        search,
        _choice_field("Why", "reason", {"": "All", **REASONS}, filters),
        _choice_field("State", "reviewed", {"": "To look at", "true": "Looked at"}, filters),
        tag("div", find, clear, class_="actions"),
    )
    return tag("form", inside, class_="doc-filters", method="get", action=HERE, role="search", data_at_once=True)


def field_text(one: Record) -> str:
    """A value in doubt, as one line: where it belongs, what it is, why it is in doubt."""
    value = "no value" if one["value"] is None else json.dumps(one["value"], ensure_ascii=False)
    return f"{one['path']}: {value} ({one['reason']})"


def _choice_field(label: str, name: str, choices: Mapping[str, str], filters: Mapping[str, str]) -> SafeHtml:
    chosen = filters.get(name, "")
    options = [tag("option", said, value=one, selected=one == chosen) for one, said in choices.items()]
    return tag("label", tag("span", label), tag("select", options, name=name, id=f"by-{name}"))


def _queue_row(one: Record, at: int, filters: Mapping[str, str]) -> tuple[Any, ...]:
    name = link_to(one["filename"], page_address(one, at, filters))
    where = tag("div", name, tag("div", f"page {one['page']} of {one['page_count']}", class_="quiet"))
    why = [state_badge(REASONS.get(reason, reason), "amber") for reason in one["reasons"]]
    weakest = min(one["weak"], key=lambda line: line["confidence"], default=None)
    said = [it["detail"] for it in one["caveats"]] + [field_text(it) for it in one["fields"]]
    told = weakest["text"] if weakest else next(iter(said), "")
    sure = one["weakest_line"]
    percent = quiet_span("–") if sure is None else format_percent(sure)
    return where, tag("div", why, class_="review-why"), told[:160], percent, format_number(one["weak_lines"])
