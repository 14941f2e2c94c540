"""Restarts: which parts wait for one and why, asking for it, and how far the latest ones are."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import Colour, badge, card, progress, table
from serve_apps.ui.kit.formats import moment, span
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.system.forms import Form
from serve_apps.ui.system.section import Act, Done, Values, good

SHOWN: Final = 5
WAITING: Final = Form("restart.waiting")
CHOSEN: Final = Form("restart.chosen")
PARTS: Final = (
    ("gateway", "Gateway and agents"),
    ("worker", "Worker"),
    ("embedding", "Embedding"),
    ("reranker", "Reranker"),
    ("llm", "Language model"),
    ("console", "Console"),
)
WHOLE: Final = "whole"


def waiting(needs: Sequence[Mapping[str, Any]]) -> Html | None:
    """The parts that saved settings wait for."""
    if not needs:
        return None
    rows = [
        (tag("b", need["part"]), tag("code", ", ".join(need["keys"])), moment(need["since"], relative=True))
        for need in needs
    ]
    about = (
        "Saved settings count there after a restart. Replicas are replaced one by one; nothing that runs is cut off."
    )
    ask = WAITING.confirmed("Restart them …", "Each part is replaced replica by replica.", "Restart now")
    hard = None
    if any(need["part"] == WHOLE for need in needs):
        hard = tag(
            "p", "“whole” can only be started anew by hand, where it was started: ", tag("code", "aos down && aos up")
        )
    return card(
        "Waiting for a restart",
        tag("p", about, class_="quiet"),
        table(("Part", "For", "Since"), rows),
        hard,
        ask,
        aside=badge("restart needed", "amber"),
    )


def by_choice() -> Html:
    """A restart of one part without a reason in the settings."""
    choice = CHOSEN.choice("part", "Part", PARTS, about="What has begun is ended by the old replica.")
    return tag(
        "details",
        tag("summary", "Restart a part"),
        CHOSEN(choice, send="Restart it", colour="danger"),
        class_="aos-card aos-fold",
    )


async def restart_waiting(api: Api, values: Values) -> Done:
    """Restart what waits."""
    return Done(hinted(await api.post("/api/admin/restart-hint", {})))


async def restart_chosen(api: Api, values: Values) -> Done:
    """Restart what was chosen."""
    return Done(hinted(await api.post("/api/admin/restart-hint", {"parts": [values.get("part", "")]})))


ACTS: Final[Mapping[str, Act]] = {WAITING.act: restart_waiting, CHOSEN.act: restart_chosen}


def hinted(hint: Mapping[str, Any]) -> Html:
    """Result of a restart request: begun, queued, or the command to run by hand."""
    said = {
        "rolling": "The restart has begun.",
        "asked": "The restart was asked for.",
        "by_hand": "This has to be done by hand.",
        "nothing": "Nothing waits for a restart.",
    }.get(hint["state"], hint["state"])
    command = tag("p", "Run: ", tag("code", hint["command"])) if hint["command"] else None
    return good(tag("strong", said), tag("p", hint["detail"]), command)


async def progress_of(api: Api) -> tuple[Html, bool]:
    """The latest restarts, and whether one is not over."""
    items = (await api.get("/api/admin/restarts"))["items"]
    rolls = bool(items) and items[0]["done_at"] is None and items[0]["error"] is None
    return (latest(items[:SHOWN]), rolls) if items else (Html(), False)


def latest(items: Sequence[Mapping[str, Any]]) -> Html:
    """Each with how far it is: asked for, taken up by the supervisor, done."""
    rows = [
        (", ".join(one["parts"]), badge(*state(one)), _far(one), moment(one["asked_at"], relative=True))
        for one in items
    ]
    return card("Restarts", table(("Parts", "State", "How far", "Asked for"), rows))


def state(one: Mapping[str, Any]) -> tuple[str, Colour]:
    """In a word and a colour."""
    if one["error"]:
        return "failed", "red"
    if one["done_at"]:
        return "done", "green"
    return ("rolling", "blue") if one["taken_at"] else ("waiting", "amber")


def _far(one: Mapping[str, Any]) -> Html:
    if one["error"]:
        return join(one["error"])
    if one["done_at"]:
        took = datetime.fromisoformat(one["done_at"]) - datetime.fromisoformat(one["asked_at"])
        return join("took ", span(took.total_seconds()))
    return progress(2 if one["taken_at"] else 1, 3, "step")
