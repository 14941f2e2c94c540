"""Jobs, newest first, by state, a page at a time."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from serve_apps.ui.ingest.job import HERE, title_of
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import (
    data_table,
    empty_state,
    link_to,
    list_pager,
    progress_bar,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_moment, format_number
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, tag

A_PAGE: Final = 20
STATES: Final = ("", "queued", "running", "partial", "failed", "cancelled", "completed")


async def load_job_history(api: SessionApi, query: Mapping[str, str], skip: int) -> SafeHtml:
    """One page of the list."""
    state = query.get("state", "")
    body = await api.get("/api/jobs", state=state, skip=skip, limit=A_PAGE)
    about: Mapping[str, str | None] = {}
    if body["items"]:
        asked = await api.get("/api/jobs/about", job=[one["id"] for one in body["items"]])
        about = asked["items"]
    return job_list_view(body, about, state, skip)


def job_list_view(body: Record, about: Mapping[str, str | None], state: str, skip: int) -> SafeHtml:
    """The job list as HTML: tabs by state, a table, and a pager."""
    tabs = []
    for one in STATES:
        where, here = f"{HERE}?{urlencode({'state': one})}" if one else HERE, "page" if one == state else None
        tabs.append(tag("a", (one or "all").capitalize(), href=where, aria_current=here, id=f"state-{one or 'all'}"))
    nav = tag("nav", tabs, class_="aos-tabs", aria_label="Jobs by state")
    if not body["items"]:
        none = empty_state("No job yet.", "Upload files or scan a folder above; every job is kept here.")
        fits = empty_state(f"No job is {state}.", link_to("Show all jobs", HERE))
        return titled_card("Jobs", nav, fits if state else none)
    rows = [_job_row(one, about.get(one["id"])) for one in body["items"]]
    shown = data_table(("Job", "State", "Pages", "Documents", "Failed", "Doubtful", "Begun"), rows, numbers=(4, 5))
    address = HERE + (f"?{urlencode({'state': state})}" if state else "")
    turn = list_pager(address, skip, A_PAGE, body["total"]) if body["total"] > A_PAGE or skip else None
    return titled_card("Jobs", nav, shown, turn, aside=quiet_span(f"{format_number(body['total'])} in all"))


def _job_row(one: Record, about: str | None) -> tuple[Any, ...]:
    pages, documents = one["pages"], one["documents"]
    failed, outcome = pages["failed"] + documents["failed"], one.get("outcome") or {}
    doubtful = outcome.get("degraded", 0) + outcome.get("partial", 0)
    found = (one.get("waits") or [])[:1]  # the most important reason why it waits
    waits = [tag("div", why["reason"].replace("_", " "), title=why["detail"], class_="quiet") for why in found]
    return (
        link_to(title_of(one, about), f"{HERE}?job={one['id']}"),
        tag("div", state_badge(one["state"]), waits),
        _progress_bar(pages),
        _progress_bar(documents),
        tag("b", format_number(failed), class_="value red") if failed else "0",
        tag("b", format_number(doubtful), class_="value amber") if doubtful else "0",
        format_moment(one["started_at"] or one["created_at"], relative=True),
    )


def _progress_bar(counts: Mapping[str, int]) -> SafeHtml:
    settled = counts["done"] + counts["failed"] + counts["unchanged"]
    return progress_bar(settled, counts["expected"]) if counts["expected"] else join_html("–")
