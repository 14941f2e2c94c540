"""Conversations that were: their list, and one of them as it was, up to the turn that still goes on."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from serve_apps.ui.chat.chat_events import Heard, remembered
from serve_apps.ui.chat.turn_view import answer, said
from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import empty, pager
from serve_apps.ui.kit.formats import many, moment
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.kit.problem import Problem

LISTED: Final = 20
MESSAGES: Final = 40
IN_FULL: Final = 8  # answers whose events are read; older ones are shown as text
ALIVE: Final = frozenset({"queued", "running"})


@dataclass(slots=True)
class Exchange:
    """A message and what came of it; `notice` is what the console itself did about it, `files` what it was about."""

    question: str
    agent: str
    turn: Heard = field(default_factory=Heard)
    notice: str = ""
    files: tuple[str, ...] = ()

    @property
    def begun(self) -> bool:
        """True if the API has been asked."""
        return bool(self.turn.run) or self.turn.over


def drawn(desk: Desk, exchanges: Sequence[Exchange], *, live: bool = False) -> Html:
    """Messages and answers in order; the last one may still be written."""
    last = len(exchanges) - 1
    return join([_exchange(desk, one, live=live and n == last) for n, one in enumerate(exchanges)])


def _exchange(desk: Desk, one: Exchange, *, live: bool) -> Html:
    notice = tag("p", one.notice, class_="aos-notice") if one.notice else None
    return join(said(one.question) if one.question else None, notice, answer(desk, one.turn, one.agent, live=live))


async def opened(api: Api, session: Mapping[str, Any], agents: Mapping[str, str], after: int) -> list[Exchange]:
    """Load a conversation's messages after a message; raises Problem."""
    id_, agent = session["id"], agents.get(str(session["agent_id"]), "agent")
    body = await api.get(f"/api/sessions/{id_}/messages", after=after, limit=MESSAGES)
    exchanges = grouped(body["items"], agent)
    recent = in_full(exchanges)
    for one, turn in zip(recent, await asyncio.gather(*(_told(api, one.turn) for one in recent)), strict=True):
        one.turn = turn
    return exchanges


def in_full(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Those whose events are read; a turn that asked something has several, and is told with the last of them."""
    last = {one.turn.run: one for one in exchanges if one.turn.run}
    return list(last.values())[-IN_FULL:]


def grouped(messages: Sequence[Mapping[str, Any]], agent: str) -> list[Exchange]:
    """Messages by the run that they belong to, in order."""
    found: list[Exchange] = []
    for message in messages:
        run = str(message["run_id"] or "")
        if message["role"] == "user":
            found.append(Exchange(str(message["text"]), agent, Heard(run=run)))
            continue
        if not found or found[-1].turn.text or (run and found[-1].turn.run not in ("", run)):
            found.append(Exchange("", agent, Heard(run=run)))
        found[-1].turn.text, found[-1].turn.state = str(message["text"]), "completed"
    return found


async def _told(api: Api, before: Heard) -> Heard:
    """The run of an answer in full; what is left of it as text where its events cannot be read any more."""
    try:
        row = await api.get(f"/api/runs/{before.run}")
        if row["state"] in ALIVE:
            return Heard(run=before.run, state=row["state"])
        turn = await remembered(api, before.run)
    except Problem as problem:
        before.error = None if before.text else problem.told
        return before
    turn.text = turn.text or ("" if turn.asked else before.text)  # the question itself is shown as one
    turn.state = turn.state if turn.approval or turn.asked else str(row["state"])
    return turn


def listed(desk: Desk, body: Mapping[str, Any], current: str, skip: int) -> Html:
    """One's own conversations, the one used last first."""
    if not body["items"]:
        return empty("No conversation yet.", "What you ask here is kept, and can be gone on with later.")
    rows = [
        tag(
            "a",
            tag("span", one["title"] or "Untitled", class_="title"),
            tag("span", _count(one["messages"]), _used(one), class_="quiet"),
            href=desk.link("chat", session=one["id"], skip=skip or None),
            aria_current="true" if one["id"] == current else None,
        )
        for one in body["items"]
    ]
    pages = pager(str(desk.link("chat", session=current or None)), skip, LISTED, body["total"])
    return join(
        tag("nav", rows, class_="aos-sessions", aria_label="Conversations"), pages if body["total"] > LISTED else None
    )


def _used(one: Mapping[str, Any]) -> Html:
    return moment(one["updated_at"], relative=True)


def _count(messages: int) -> str:
    return f"{many(messages, 'message')}, "
