"""The list of documents: search, filters and pages, all of them done by the API and told by the address."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, Final
from urllib.parse import urlencode

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, list_pager, page_heading, state_badge
from serve_apps.ui.kit.caveats import in_short
from serve_apps.ui.kit.formats import format_moment, format_number, format_size
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext
from serve_apps.ui.sessions import Role

HERE: Final = f"{PREFIX}/documents"
A_PAGE: Final = 50
STATUSES: Final = ("pending", "processing", "completed", "degraded", "partial", "embedding_pending", "failed")
TYPES: Final = (
    *("pdf", "image", "docx", "xlsx", "pptx", "odt", "ods", "odp", "rtf"),
    *("html", "markdown", "text", "csv", "xls", "email", "msg", "epub", "code"),
    *("doc", "ppt", "zip", "tar"),
)
FILTERS: Final = ("search", "status", "type", "from", "to", "zone", "parent", "sort")
ORDERS: Final = {"": "Newest first", "most_used": "Most used", "never_used": "Never used"}


async def document_catalogue(console: ConsoleContext, api: SessionApi, query: Mapping[str, str], skip: int) -> SafeHtml:
    """One page of the list."""
    wanted = {name: query[name] for name in FILTERS if query.get(name)}
    if not wanted.keys() & {"from", "to"}:
        wanted.pop("zone", None)
    chosen = {"search": wanted.get("search"), "status": wanted.get("status"), "file_type": wanted.get("type")}
    chosen |= {"parent": wanted.get("parent"), "sort": wanted.get("sort")}
    chosen |= {"since": day_start(wanted, "from", 0), "before": day_start(wanted, "to", 1)}
    body = await api.get("/api/documents/", skip=skip, limit=A_PAGE, **chosen)
    return document_table(console, body, wanted, api.session.role)


def document_table(console: ConsoleContext, body: Record, wanted: Mapping[str, str], role: Role) -> SafeHtml:
    """Heading, filters and table of the documents that the API answered."""
    total, address = body["total"], HERE + (f"?{urlencode(wanted)}" if wanted else "")
    add = console.link("ingest") if role.reaches(Role.DEVELOPER) else None
    actions = [tag("a", "Figures", href=f"{HERE}?view=figures", class_="aos-button")]
    actions += [tag("a", "Add documents", href=add, class_="aos-button primary")] if add else []
    narrowed = {name: value for name, value in wanted.items() if name != "sort"}
    count = f"{format_number(total)} {'found' if narrowed else 'in this workspace'}"
    head = page_heading("Documents", count, *actions)
    if not body["items"]:
        shown = _empty_list(narrowed, add)
    else:
        columns = ("Name", "Type", "State", "Pages", "Size", "Used", "Added")
        shown = data_table(columns, [_document_row(one) for one in body["items"]], numbers=(3, 4, 5))
    turn = list_pager(address, body["skip"], body["limit"], total) if total > body["limit"] or body["skip"] else None
    return join_html(head, document_filters(wanted), tag("div", shown, turn, class_="aos-card"))


def document_filters(wanted: Mapping[str, str]) -> SafeHtml:
    """The form of the list; without a script it is one all the same."""
    named = {"name": "search", "type": "search", "id": "search", "placeholder": "Name or description"}
    search = tag("input", **named, value=wanted.get("search", ""), maxlength=200)
    find = tag("button", "Search", class_="aos-button primary", id="find")
    clear = tag("a", "Clear", href=HERE, class_="aos-button") if wanted else None
    inside = (
        tag("label", tag("span", "Search"), search, class_="wide"),
        _choice_field("State", "status", STATUSES, wanted),
        _choice_field("Type", "type", TYPES, wanted),
        _day_field("Added from", "from", wanted),
        _day_field("Added until", "to", wanted),
        _order_field(wanted),
        tag("input", type="hidden", name="zone", value=wanted.get("zone", ""), data_zone=True),
        tag("div", find, clear, class_="actions"),
    )
    sent = {"method": "get", "action": HERE, "role": "search"}
    return tag("form", inside, class_="doc-filters", **sent, data_at_once=True)


def _choice_field(label: str, name: str, values: tuple[str, ...], wanted: Mapping[str, str]) -> SafeHtml:
    chosen = wanted.get(name, "")
    options = [tag("option", "All", value="")]
    options += [tag("option", one.replace("_", " "), value=one, selected=one == chosen) for one in values]
    if chosen and chosen not in values:
        options.append(tag("option", chosen, value=chosen, selected=True))
    return tag("label", tag("span", label), tag("select", options, name=name, id=f"by-{name}"))


def _order_field(wanted: Mapping[str, str]) -> SafeHtml:
    chosen = wanted.get("sort", "")
    options = [tag("option", label, value=value, selected=value == chosen) for value, label in ORDERS.items()]
    return tag("label", tag("span", "Order"), tag("select", options, name="sort", id="by-sort"))


def _day_field(label: str, name: str, wanted: Mapping[str, str]) -> SafeHtml:
    box = tag("input", name=name, type="date", value=wanted.get(name, ""), id=f"by-{name}")
    return tag("label", tag("span", label), box)


def _document_row(one: Record) -> tuple[Any, ...]:
    name = link_to(one["filename"], f"{HERE}?id={one['id']}")
    why = one["failure"]["reason"].replace("_", " ") if one["failure"] else in_short(one)
    state = tag("div", state_badge(one["status"]), tag("div", why, class_="quiet") if why else None)
    pages, size = format_number(one["page_count"]), format_size(one["file_size"])
    used = format_number(one.get("rag_query_count"))
    return name, one["file_type"], state, pages, size, used, format_moment(one["upload_date"], relative=True)


def _empty_list(wanted: Mapping[str, str], add: str | None) -> SafeHtml:
    if wanted:
        return empty_state("No document fits.", ("Change the filters, or ", link_to("show all documents", HERE), "."))
    upload = "Upload files or scan a folder on the page ", link_to("Ingest", add), "."
    wait = "Somebody who may upload adds them; then they can be searched here."
    return empty_state("No documents yet.", upload if add else wait)


def day_start(wanted: Mapping[str, str], name: str, later: int) -> str | None:
    """The beginning of a day in the reader's zone (minutes east of UTC), so many days later; None where it is none."""
    try:
        found = date.fromisoformat(wanted.get(name, ""))
        zone = timezone(timedelta(minutes=int(wanted.get("zone", "0"))))
        return datetime.combine(found + timedelta(days=later), time(), zone).isoformat()
    except (ValueError, OverflowError):
        return None
