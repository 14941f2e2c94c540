"""Restarts: which parts wait for one and why, asking for it, and how far the latest ones are."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import Colour, data_table, progress_bar, state_badge, titled_card
from serve_apps.ui.kit.formats import format_duration, format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.system.forms import ActForm
from serve_apps.ui.system.section import Act, ActResult, Values, success_note

SHOWN: Final = 5
WAITING: Final = ActForm("restart.waiting")
CHOSEN: Final = ActForm("restart.chosen")
PARTS: Final = (
    ("gateway", "Gateway and agents"),
    ("worker", "Worker"),
    ("embedding", "Embedding"),
    ("reranker", "Reranker"),
    ("llm", "Language model"),
    ("console", "Console"),
)
WHOLE: Final = "whole"
COUNTS: Final = (
    "Saved settings count there after a restart. Replicas are replaced one by one; nothing that runs is cut off."
)


def waiting_parts(needs: Sequence[Record]) -> SafeHtml | None:
    """The parts that saved settings wait for."""
    if not needs:
        return None
    rows = [
        (tag("b", need["part"]), tag("code", ", ".join(need["keys"])), format_moment(need["since"], relative=True))
        for need in needs
    ]
    ask = WAITING.confirmed("Restart them …", "Each part is replaced replica by replica.", "Restart now")
    by_hand = "“whole” can only be started anew by hand, where it was started: ", tag("code", "aos down && aos up")
    hard = tag("p", by_hand) if any(need["part"] == WHOLE for need in needs) else None
    shown, needed = data_table(("Part", "For", "Since"), rows), state_badge("restart needed", "amber")
    return titled_card("Waiting for a restart", quiet_text(COUNTS), shown, hard, ask, aside=needed)


def by_choice() -> SafeHtml:
    """A restart of one part without a reason in the settings."""
    choice = CHOSEN.choice("part", "Part", PARTS, about="What has begun is ended by the old replica.")
    form = CHOSEN(choice, send="Restart it", colour="danger")
    return tag("details", tag("summary", "Restart a part"), form, class_="aos-card aos-fold")


async def _restart_waiting(api: SessionApi, values: Values) -> ActResult:
    return ActResult(_hint_notice(await api.post("/api/admin/restart-hint", {})))


async def _restart_chosen(api: SessionApi, values: Values) -> ActResult:
    return ActResult(_hint_notice(await api.post("/api/admin/restart-hint", {"parts": [values.get("part", "")]})))


ACTS: Final[Mapping[str, Act]] = {WAITING.act: _restart_waiting, CHOSEN.act: _restart_chosen}


def _hint_notice(hint: Record) -> SafeHtml:
    said = {
        "rolling": "The restart has begun.",
        "asked": "The restart was asked for.",
        "by_hand": "This has to be done by hand.",
        "nothing": "Nothing waits for a restart.",
    }.get(hint["state"], hint["state"])
    command = tag("p", "Run: ", tag("code", hint["command"])) if hint["command"] else None
    return success_note(tag("strong", said), tag("p", hint["detail"]), command)


async def progress_of(api: SessionApi) -> tuple[SafeHtml, bool]:
    """The latest restarts, and whether one is not over."""
    items = (await api.get("/api/admin/restarts"))["items"]
    rolls = bool(items) and items[0]["done_at"] is None and items[0]["error"] is None
    return (latest_restarts(items[:SHOWN]), rolls) if items else (SafeHtml(), False)


def latest_restarts(items: Sequence[Record]) -> SafeHtml:
    """Each with how far it is: asked for, taken up by the supervisor, done."""
    rows = []
    for one in items:
        parts, asked = ", ".join(one["parts"]), format_moment(one["asked_at"], relative=True)
        rows.append((parts, state_badge(*restart_state(one)), _restart_progress(one), asked))
    return titled_card("Restarts", data_table(("Parts", "State", "How far", "Asked for"), rows))


def restart_state(one: Record) -> tuple[str, Colour]:
    """In a word and a colour."""
    if one["error"]:
        return "failed", "red"
    if one["done_at"]:
        return "done", "green"
    return ("rolling", "blue") if one["taken_at"] else ("waiting", "amber")


def _restart_progress(one: Record) -> SafeHtml:
    if one["error"]:
        return join_html(one["error"])
    if one["done_at"]:
        took = datetime.fromisoformat(one["done_at"]) - datetime.fromisoformat(one["asked_at"])
        return join_html("took ", format_duration(took.total_seconds()))
    return progress_bar(2 if one["taken_at"] else 1, 3, "step")
