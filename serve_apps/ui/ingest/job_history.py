"""Jobs, newest first, by state, a page at a time."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from serve_apps.ui.ingest.job import HERE, title_of
from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, empty, link, pager, progress, table
from serve_apps.ui.kit.formats import moment, number
from serve_apps.ui.kit.html import Html, join, tag

A_PAGE: Final = 20
STATES: Final = ("", "queued", "running", "partial", "failed", "cancelled", "completed")


async def history(api: Api, query: Mapping[str, str], skip: int) -> Html:
    """One page of the list."""
    state = query.get("state", "")
    body = await api.get("/api/jobs", state=state, skip=skip, limit=A_PAGE)
    about: Mapping[str, str | None] = {}
    if body["items"]:
        asked = await api.get("/api/jobs/about", job=[one["id"] for one in body["items"]])
        about = asked["items"]
    return listed(body, about, state, skip)


def listed(body: Mapping[str, Any], about: Mapping[str, str | None], state: str, skip: int) -> Html:
    """The job list as HTML: tabs by state, a table, and a pager."""
    tabs = [
        tag(
            "a",
            (one or "all").capitalize(),
            href=f"{HERE}?{urlencode({'state': one})}" if one else HERE,
            aria_current="page" if one == state else None,
            id=f"state-{one or 'all'}",
        )
        for one in STATES
    ]
    nav = tag("nav", tabs, class_="aos-tabs", aria_label="Jobs by state")
    if not body["items"]:
        shown = (
            empty(f"No job is {state}.", link("Show all jobs", HERE))
            if state
            else empty("No job yet.", "Upload files or scan a folder above; every job is kept here.")
        )
        return card("Jobs", nav, shown)
    rows = [_row(one, about.get(one["id"])) for one in body["items"]]
    shown = table(("Job", "State", "Pages", "Documents", "Failed", "Doubtful", "Begun"), rows, numbers=(4, 5))
    address = HERE + (f"?{urlencode({'state': state})}" if state else "")
    turn = pager(address, skip, A_PAGE, body["total"]) if body["total"] > A_PAGE or skip else None
    return card("Jobs", nav, shown, turn, aside=tag("span", f"{number(body['total'])} in all", class_="quiet"))


def _row(one: Mapping[str, Any], about: str | None) -> tuple[Any, ...]:
    pages, documents = one["pages"], one["documents"]
    failed, outcome = pages["failed"] + documents["failed"], one.get("outcome") or {}
    doubtful = outcome.get("degraded", 0) + outcome.get("partial", 0)
    return (
        link(title_of(one, about), f"{HERE}?job={one['id']}"),
        tag("div", badge(one["state"]), _waits(one)),
        _bar(pages),
        _bar(documents),
        tag("b", number(failed), class_="value red") if failed else "0",
        tag("b", number(doubtful), class_="value amber") if doubtful else "0",
        moment(one["started_at"] or one["created_at"], relative=True),
    )


def _waits(one: Mapping[str, Any]) -> Html | None:
    """The most important reason why it waits."""
    found = one.get("waits") or []
    return tag("div", found[0]["reason"].replace("_", " "), title=found[0]["detail"], class_="quiet") if found else None


def _bar(counts: Mapping[str, int]) -> Html:
    settled = counts["done"] + counts["failed"] + counts["unchanged"]
    return progress(settled, counts["expected"]) if counts["expected"] else join("–")
