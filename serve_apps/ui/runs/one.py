"""One run: what was asked, how it ended and why, its trace, its events, its approvals and opinions."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from serve_apps.ui.chat.chat_events import TurnProgress, fold_stream
from serve_apps.ui.chat.turn_view import answer_section, question_section
from serve_apps.ui.kit.api import SessionApi, StreamEvent
from serve_apps.ui.kit.blocks import (
    Colour,
    data_table,
    empty_card,
    key_figure,
    key_figures,
    link_to,
    page_heading,
    problem_card,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_count, format_duration, format_moment, format_number
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.kit.value_tables import value_view
from serve_apps.ui.runs.listed import run_seconds
from serve_apps.ui.runs.waterfall import waterfall_chart
from serve_apps.ui.sessions import Role

FORBIDDEN: Final = 403
COLOURS: Final[dict[str, Colour]] = {"failed": "red", "interrupted": "amber", "waiting": "amber", "completed": "green"}
ALIVE: Final = frozenset({"queued", "running"})
NOT_MINE: Final = (
    "What is said in this run is for whose turn it is, and for administrators. You see states and figures."
)
RESUME: Final = ProblemReport(
    "This run was broken off.",
    "Its process ended, or whoever read along left.",
    "Go on with it: what was done is not done again.",
    0,
    "interrupted",
)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as this person may see it; `turn` and `events` are None where they may only watch."""

    run: Record
    agent: str
    question: str
    turn: TurnProgress | None
    events: Sequence[StreamEvent]
    approvals: Sequence[Record]
    feedback: Sequence[Record]

    @property
    def readable(self) -> bool:
        """True where the user may read the run's content, not just its figures."""
        return self.turn is not None

    @property
    def pending(self) -> Record | None:
        """The pending approval request of the run, if any."""
        found = next((one for one in self.approvals if one["state"] == "pending"), None)
        return found or (self.turn.approval if self.turn and self.run["state"] == "waiting" else None)


async def load_run(api: SessionApi, id_: str) -> RunView:
    """Everything that this person may see of it; raises Problem."""
    try:
        run, readable = await api.get(f"/api/runs/{id_}", full=True), True
    except ApiProblem as problem:
        if problem.told.status != FORBIDDEN:
            raise
        run, readable = await api.get(f"/api/runs/{id_}"), False
    agents, opinions, approvals, (turn, events), question = await asyncio.gather(
        api.get("/api/agents", limit=1000),
        api.get(f"/api/runs/{id_}/feedback"),
        _load_approvals(api, id_),
        _load_turn(api, run, readable),
        _load_question(api, run, readable),
    )
    names = {str(one["id"]): str(one["name"]) for one in agents["items"]}
    agent = names.get(str(run["agent_id"]), "a deleted agent")
    return RunView(run, agent, question, turn, events, approvals, opinions["items"])


async def _load_approvals(api: SessionApi, id_: str) -> Sequence[Record]:
    if not api.session.role.reaches(Role.OPERATOR):
        return []
    items: Sequence[Record] = (await api.get("/api/approvals", run_id=id_))["items"]
    return items


async def _load_turn(api: SessionApi, run: Record, readable: bool) -> tuple[TurnProgress | None, list[StreamEvent]]:
    turn, events = TurnProgress(run=str(run["id"])), list[StreamEvent]()
    if run["state"] in ALIVE or not readable:
        return turn if readable else None, events
    stream = api.stream("GET", f"/api/runs/{run['id']}/events", params={"verbose": "debug"})
    async with aclosing(fold_stream(stream, turn)) as heard:
        async for told in heard:
            events.append(told)
    turn.state = str(run["state"])
    return turn, events


async def _load_question(api: SessionApi, run: Record, readable: bool) -> str:
    """The message that the run answers; empty where the conversation is gone or another's."""
    if not readable:
        return ""
    try:
        body = await api.get(f"/api/sessions/{run['session_id']}/messages", limit=1000)
    except ApiProblem:
        return ""
    own = (one for one in body["items"] if one["run_id"] == run["id"] and one["role"] == "user")
    return next((str(one["text"]) for one in own), "")


def run_head(console: ConsoleContext, seen: RunView) -> SafeHtml:
    """Title, key figures, and what is wrong with it."""
    run = seen.run
    back = link_to("All runs", console.link("runs"))
    chat = link_to("Open the conversation", console.link("chat", session=run["session_id"])) if seen.readable else None
    models = [step for step in run["steps"] if step["kind"] == "model"]
    took, (read, wrote) = run_seconds(run), (run[f"{kind}_tokens"] for kind in ("prompt", "completion"))
    tokens = f"{format_number(read)} tokens in, {format_number(wrote)} out"
    figured = key_figures(
        key_figure("State", str(run["state"]), None, state_badge(run["path"], "grey"), COLOURS.get(run["state"])),
        key_figure("Took", format_duration(run["ms"] / 1000 if took is None else took), None, "from start to end"),
        key_figure("Model calls", format_number(len(models)), None, tokens),
        key_figure("Tools and searches", format_number(len(run["steps"]) - len(models)), None, "other steps"),
        key_figure("Cost in USD", f"{run['cost_usd']:,.4f}", None, "as the providers count"),
    )
    about = (seen.agent, ", ", format_moment(run["created_at"]))
    return join_html(page_heading("Run", about, back, chat), figured, _failure_card(run))


def _failure_card(run: Record) -> SafeHtml | None:
    if run["state"] == "interrupted":
        return problem_card(RESUME)
    told = run["error"]
    if not told:
        return None
    words = [str(told.get(name) or "") for name in ("title", "detail", "fix")]
    words[2] = words[2] or "Look at the last step of the trace; asking again often helps where a service was busy."
    title, code = words[0] or "The run failed.", str(told.get("code") or "failed")
    return problem_card(ProblemReport(title, words[1], words[2], 0, code))


def run_body(console: ConsoleContext, seen: RunView) -> SafeHtml:
    """Trace, conversation, approvals, opinions and events."""
    trace = titled_card("Trace", waterfall_chart(seen.run["steps"], seen.run["started_at"]))
    if seen.turn is None:
        return join_html(tag("p", NOT_MINE, class_="aos-notice"), trace, _approvals_card(seen), _feedback_card(seen))
    asked = question_section(seen.question) if seen.question else None
    talked = titled_card("What was said", asked, answer_section(console, seen.turn, seen.agent))
    return join_html(trace, talked, _approvals_card(seen), _feedback_card(seen), _events_card(seen))


def _approvals_card(seen: RunView) -> SafeHtml | None:
    if not seen.approvals:
        return None
    rows = []
    for one in seen.approvals:
        arguments, at = value_view(one["decided_arguments"] or one["arguments"]), one["decided_at"] or one["created_at"]
        what, state = tag("code", one["tool"]), state_badge(one["state"])
        rows.append((what, state, arguments, one["notes"] or "–", format_moment(at), state_badge(one["execution"])))
    columns = ("Action", "Decision", "Arguments", "Remark", "When", "Carried out")
    return titled_card("Approvals", data_table(columns, rows))


def _feedback_card(seen: RunView) -> SafeHtml | None:
    if not seen.feedback:
        return None
    rows = [
        ("good" if one["thumb"] == "up" else "not good", one["word"] or "–", format_moment(one["at"]))
        for one in seen.feedback
    ]
    return titled_card("Feedback", data_table(("Opinion", "Word", "When"), rows))


def _events_card(seen: RunView) -> SafeHtml:
    if not seen.events:
        return empty_card("Events", "They are shown when the run rests.", "It goes on just now.")
    rows = [_event_row(one) for one in seen.events if isinstance(one.data, dict)]
    return titled_card("Events", tag("div", rows, class_="aos-events"), aside=f"{len(rows)} of them")


def _event_row(told: StreamEvent) -> SafeHtml:
    data = {name: value for name, value in (told.data.get("data") or {}).items() if name != "kind"}
    kind = str((told.data.get("data") or {}).get("kind", told.name)).replace("_", " ")
    content = str(told.data.get("content") or "")
    plain = {name: value for name, value in data.items() if isinstance(value, str | int | float)}
    short = content or ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items())
    head = tag("span", tag("b", told.id or "–"), " ", kind)
    summary = tag("summary", head, tag("span", short[:160], class_="aos-cut quiet"))
    full = value_view({**({"said": content} if content else {}), **data})
    return tag("details", summary, tag("div", full, class_="inside"), class_="aos-more")


def replay_report_card(report: Record, changed: bool) -> SafeHtml:
    """Report of a replay: identical, or the first step or event that diverged from the record."""
    count = f"{format_count(report['events'], 'event')} and {format_count(report['steps'], 'step')}"
    if report["same"]:
        told = "Nothing that the model decided is different." if changed else "It came out the same, byte for byte."
        walked = tag("p", f"{count} were walked again.")
        return titled_card("Replay", tag("p", told), walked, aside=state_badge("identical", "green"))
    other = report["diverged"]
    where = f"step {other['step']}" if other["step"] is not None else f"event {other['event']}"
    pair = (("Recorded", other["recorded"]), ("Now", other["now"]))
    sides = tag("div", [tag("div", tag("h4", title), value_view(one)) for title, one in pair], class_="aos-columns")
    first = tag("p", f"The first difference is at {where}, {other['name']}, after {count}.")
    return titled_card("Replay", first, sides, aside=state_badge("differs", "amber"))
