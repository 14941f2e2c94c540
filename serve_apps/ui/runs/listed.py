"""The list of runs with its filters, all of it in the address, and what waits for a person."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import (
    data_table,
    empty_state,
    link_to,
    list_pager,
    page_heading,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_duration, format_moment, format_number
from serve_apps.ui.kit.html import Child, Record, SafeHtml, quiet_span, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext, query_int
from serve_apps.ui.sessions import Role

LIMIT: Final = 25
WAITING: Final = "waiting_approval"
STATES: Final = {
    "": "any state",
    WAITING: "waiting for a person",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "queued": "queued",
}
THUMBS: Final = {"": "any opinion", "down": "not good", "up": "good"}
WHOSE: Final = {"": "everybody's", "1": "only mine"}
Query = Mapping[str, str]


def filter_form(query: Query, agents: Sequence[Record], everybody: bool) -> SafeHtml:
    """A form whose answer is the same page with another address."""
    names = {"": "any agent"} | {str(one["id"]): str(one["name"]) for one in agents}
    choices = [("state", "State", STATES), ("agent", "Agent", names), ("thumb", "Feedback", THUMBS)]
    choices += [("mine", "Whose", WHOSE)] if everybody else []
    fields, where = [_choice_field(*one, query) for one in choices], f"{PREFIX}/runs"
    return tag("form", fields, tag("button", "Show"), class_="aos-runfilter", method="get", action=where, role="search")


def _choice_field(name: str, label: str, options: Mapping[str, str], query: Query) -> SafeHtml:
    chosen = query.get(name, "")
    drawn = [tag("option", text, value=value, selected=value == chosen) for value, text in options.items()]
    return tag("label", tag("span", label), tag("select", drawn, name=name))


async def runs_view(console: ConsoleContext, api: SessionApi, query: Query) -> SafeHtml:
    """A page of runs, newest first; raises Problem."""
    skip, state = query_int(query), query.get("state", "")
    chosen = {"agent_id": query.get("agent"), "thumb": query.get("thumb"), "mine": query.get("mine")}
    chosen["state"] = "waiting" if state == WAITING else state
    found = api.get("/api/runs", skip=skip, limit=LIMIT, **chosen)
    body, agents = await asyncio.gather(found, api.get("/api/agents", limit=1000))
    names = {str(one["id"]): str(one["name"]) for one in agents["items"]}
    kept = {name: query[name] for name in ("state", "agent", "thumb", "mine") if query.get(name)}
    return run_list_view(console, body, names, f"{PREFIX}/runs?{urlencode(kept)}", skip, filtered=bool(kept))


def run_list_view(
    console: ConsoleContext, body: Record, names: Mapping[str, str], address: str, skip: int, *, filtered: bool
) -> SafeHtml:
    """The runs of an answer of the API."""
    if not body["items"]:
        todo = "Choose other filters." if filtered else link_to("Ask an agent in Chat Studio.", console.link("chat"))
        return empty_state("No runs here.", todo)
    rows = [
        (
            link_to(format_moment(run["created_at"], relative=True), console.link("runs", id=run["id"])),
            state_badge(WAITING if run["state"] == "waiting" else str(run["state"])),
            names.get(str(run["agent_id"]), "a deleted agent"),
            state_badge(run["path"], "grey"),
            format_duration(run_seconds(run)),
            format_number(run["prompt_tokens"] + run["completion_tokens"]),
            f"{run['cost_usd']:.4f}" if run["cost_usd"] else "–",
            _thumbs_summary(run),
            _outcome_text(run),
        )
        for run in body["items"]
    ]
    names_of = ("When", "State", "Agent", "Path", "Took", "Tokens", "USD", "Opinion", "What came of it")
    shown = data_table(names_of, rows, numbers=(4, 5, 6))
    return tag("section", shown, list_pager(address, skip, LIMIT, body["total"]), class_="aos-card aos-runs")


def _thumbs_summary(run: Record) -> Child:
    signs = {"thumbs_up": "good", "thumbs_down": "not good"}
    told = [f"{run[name]} {sign}" for name, sign in signs.items() if run.get(name)]
    return ", ".join(told) or quiet_span("–")


def run_seconds(run: Record) -> float | None:
    """Seconds from its start to its end; None while it is not over."""
    if not run["started_at"] or not run["finished_at"]:
        return None
    return (datetime.fromisoformat(run["finished_at"]) - datetime.fromisoformat(run["started_at"])).total_seconds()


def _outcome_text(run: Record) -> Child:
    told = run["error"] or {}
    if told:
        return tag("span", told.get("title") or told.get("code") or "failed", class_="aos-cut")
    said = str((run["outcome"] or {}).get("answer") or (run["outcome"] or {}).get("text") or "")
    return tag("span", said, class_="aos-cut quiet", title=said[:400]) if said else None


async def load_pending_approvals(api: SessionApi, query: Query) -> tuple[list[Any], int]:
    """Pending approval requests, oldest first, and their count; empty for a role that may not decide."""
    if not api.session.role.reaches(Role.OPERATOR):
        return [], 0
    body = await api.get("/api/approvals", state="pending", skip=query_int(query), limit=LIMIT)
    return body["items"], int(body["total"])


def waiting_view(console: ConsoleContext, items: Sequence[Record], total: int, chosen: str, skip: int) -> SafeHtml:
    """The list of what waits; the one that the form is about is marked."""
    if not items:
        return empty_state("Nothing waits for a person.", "Actions that need a decision stand here, the oldest first.")
    rows = []
    for one in items:
        where = console.link("runs", state=WAITING, approval=one["id"], skip=skip or None)
        tool = tag("b", one["tool"]) if one["id"] == chosen else link_to(one["tool"], where)
        given = tag("span", ", ".join(f"{name}: {value}" for name, value in one["arguments"].items()), class_="aos-cut")
        times = (format_moment(one[at], relative=True) for at in ("created_at", "expires_at"))
        rows.append((tool, given, one["reason"], *times, link_to("Run", console.link("runs", id=one["run_id"]))))
    names = ("Action", "With", "Why it asks", "Asked", "Expires", "")
    pages = list_pager(f"{PREFIX}/runs?state={WAITING}", skip, LIMIT, total) if total > LIMIT else None
    return titled_card(f"{format_number(total)} waiting", data_table(names, rows), pages)


def list_heading(query: Query) -> SafeHtml:
    """The page's head for a list."""
    if query.get("state") == WAITING:
        return page_heading("Waiting for a person", "Approve, edit or reject; the run goes on by itself.")
    return page_heading("Runs", "Every message to an agent, and everything it led to. The newest stand first.")
