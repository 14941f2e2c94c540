"""Conversations that were: their list, and one of them as it was, up to the turn that still goes on."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from serve_apps.ui.chat.chat_events import TurnProgress, load_stored_turn
from serve_apps.ui.chat.turn_view import answer_section, question_section
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, list_pager
from serve_apps.ui.kit.formats import format_count, format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, tag
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem

LISTED: Final = 20
MESSAGES: Final = 40
IN_FULL: Final = 8  # answers whose events are read; older ones are shown as text
CORRECTED: Final = "A page that this answer cites was corrected since; its sources lead to what the page says now."
ALIVE: Final = frozenset({"queued", "running"})


@dataclass(slots=True)
class ChatExchange:
    """A message and what came of it; `notice` is what the console itself did about it, `files` what it was about."""

    question: str
    agent: str
    turn: TurnProgress = field(default_factory=TurnProgress)
    notice: str = ""
    files: tuple[str, ...] = ()

    @property
    def begun(self) -> bool:
        """True if the API has been asked."""
        return bool(self.turn.run) or self.turn.over


def exchanges_view(console: ConsoleContext, exchanges: Sequence[ChatExchange], *, live: bool = False) -> SafeHtml:
    """Messages and answers in order; the last one may still be written."""
    shown: list[SafeHtml | None] = []
    for n, one in enumerate(exchanges, 1):
        shown.append(question_section(one.question) if one.question else None)
        shown.append(tag("p", one.notice, class_="aos-notice") if one.notice else None)
        shown.append(answer_section(console, one.turn, one.agent, live=live and n == len(exchanges)))
    return join_html(shown)


async def load_conversation(
    api: SessionApi, session: Record, agents: Mapping[str, str], after: int
) -> list[ChatExchange]:
    """Load a conversation's messages after a message; raises Problem."""
    id_, agent = session["id"], agents.get(str(session["agent_id"]), "agent")
    body = await api.get(f"/api/sessions/{id_}/messages", after=after, limit=MESSAGES)
    exchanges = group_by_run(body["items"], agent)
    recent = in_full(exchanges)
    turns = await asyncio.gather(*(_load_full_turn(api, one.turn) for one in recent))
    for one, turn in zip(recent, turns, strict=True):
        one.turn = turn
    return exchanges


def in_full(exchanges: Sequence[ChatExchange]) -> list[ChatExchange]:
    """Turns whose events are read; one that asked something has several, and is told with the last of them."""
    last = {one.turn.run: one for one in exchanges if one.turn.run}
    return list(last.values())[-IN_FULL:]


def group_by_run(messages: Sequence[Record], agent: str) -> list[ChatExchange]:
    """Messages by the run that they belong to, in order."""
    found: list[ChatExchange] = []
    for message in messages:
        run = str(message["run_id"] or "")
        if message["role"] == "user":
            found.append(ChatExchange(str(message["text"]), agent, TurnProgress(run=run)))
            continue
        if not found or found[-1].turn.text or (run and found[-1].turn.run not in ("", run)):
            found.append(ChatExchange("", agent, TurnProgress(run=run)))
        found[-1].turn.text, found[-1].turn.state = str(message["text"]), "completed"
        if message.get("corrected_at"):
            found[-1].notice = CORRECTED
    return found


async def _load_full_turn(api: SessionApi, before: TurnProgress) -> TurnProgress:
    """The run of an answer in full; what is left of it as text where its events cannot be read any more."""
    try:
        row = await api.get(f"/api/runs/{before.run}")
        if row["state"] in ALIVE:
            return TurnProgress(run=before.run, state=row["state"])
        turn = await load_stored_turn(api, before.run)
    except ApiProblem as problem:
        before.error = None if before.text else problem.told
        return before
    turn.text = turn.text or ("" if turn.asked else before.text)  # the question itself is shown as one
    turn.state = turn.state if turn.approval or turn.asked else str(row["state"])
    return turn


def conversation_list(console: ConsoleContext, body: Record, current: str, skip: int) -> SafeHtml:
    """One's own conversations, the one used last first."""
    if not body["items"]:
        return empty_state("No conversation yet.", "What you ask here is kept, and can be gone on with later.")
    rows = []
    for one in body["items"]:
        title = tag("span", one["title"] or "Untitled", class_="title")
        used = format_moment(one["updated_at"], relative=True)
        about = quiet_span(f"{format_count(one['messages'], 'message')}, ", used)
        where, here = console.link("chat", session=one["id"], skip=skip or None), one["id"] == current
        rows.append(tag("a", title, about, href=where, aria_current="true" if here else None))
    pages = list_pager(str(console.link("chat", session=current or None)), skip, LISTED, body["total"])
    shown = tag("nav", rows, class_="aos-sessions", aria_label="Conversations")
    return join_html(shown, pages if body["total"] > LISTED else None)
