"""One run: what was asked, how it ended and why, its trace, its events, its approvals and opinions."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from serve_apps.ui.chat.chat_events import Heard, listen
from serve_apps.ui.chat.turn_view import answer, said
from serve_apps.ui.kit.api import Api, Told
from serve_apps.ui.kit.blocks import badge, card, empty, figure, figures, heading, link, problem_card, table
from serve_apps.ui.kit.formats import many, moment, number, span
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.kit.problem import Problem, Trouble
from serve_apps.ui.kit.value_tables import shown
from serve_apps.ui.runs.listed import lasted
from serve_apps.ui.runs.waterfall import waterfall
from serve_apps.ui.sessions import Role

FORBIDDEN: Final = 403
ALIVE: Final = frozenset({"queued", "running"})
NOT_MINE: Final = (
    "What is said in this run is for whose turn it is, and for administrators. You see states and figures."
)
RESUME: Final = Trouble(
    "This run was broken off.",
    "Its process ended, or whoever read along left.",
    "Go on with it: what was done is not done again.",
    0,
    "interrupted",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as this person may see it; `turn` and `events` are None where they may only watch."""

    run: Mapping[str, Any]
    agent: str
    question: str
    turn: Heard | None
    events: Sequence[Told]
    approvals: Sequence[Mapping[str, Any]]
    feedback: Sequence[Mapping[str, Any]]

    @property
    def readable(self) -> bool:
        """True where the user may read the run's content, not just its figures."""
        return self.turn is not None

    @property
    def pending(self) -> Mapping[str, Any] | None:
        """The pending approval request of the run, if any."""
        found = next((one for one in self.approvals if one["state"] == "pending"), None)
        return found or (self.turn.approval if self.turn and self.run["state"] == "waiting" else None)


async def look(api: Api, id_: str) -> Seen:
    """Everything that this person may see of it; raises Problem."""
    try:
        run, readable = await api.get(f"/api/runs/{id_}", full=True), True
    except Problem as problem:
        if problem.told.status != FORBIDDEN:
            raise
        run, readable = await api.get(f"/api/runs/{id_}"), False
    agents, opinions, approvals, told, question = await asyncio.gather(
        api.get("/api/agents", limit=1000),
        api.get(f"/api/runs/{id_}/feedback"),
        _approvals(api, id_),
        _told(api, run) if readable else _nothing(),
        _question(api, run) if readable else _silence(),
    )
    turn, events = told
    names = {str(one["id"]): str(one["name"]) for one in agents["items"]}
    agent = names.get(str(run["agent_id"]), "a deleted agent")
    return Seen(run, agent, question, turn, events, approvals, opinions["items"])


async def _approvals(api: Api, id_: str) -> Sequence[Mapping[str, Any]]:
    if not api.session.role.reaches(Role.OPERATOR):
        return []
    items: Sequence[Mapping[str, Any]] = (await api.get("/api/approvals", run_id=id_))["items"]
    return items


async def _told(api: Api, run: Mapping[str, Any]) -> tuple[Heard | None, list[Told]]:
    turn, events = Heard(run=str(run["id"])), list[Told]()
    if run["state"] in ALIVE:
        return turn, events
    stream = api.stream("GET", f"/api/runs/{run['id']}/events", params={"verbose": "debug"})
    async with aclosing(listen(stream, turn)) as heard:
        async for told in heard:
            events.append(told)
    turn.state = str(run["state"])
    return turn, events


async def _nothing() -> tuple[Heard | None, list[Told]]:
    return None, []


async def _silence() -> str:
    return ""


async def _question(api: Api, run: Mapping[str, Any]) -> str:
    """The message that the run answers; empty where the conversation is gone or another's."""
    try:
        body = await api.get(f"/api/sessions/{run['session_id']}/messages", limit=1000)
    except Problem:
        return ""
    own = (one for one in body["items"] if one["run_id"] == run["id"] and one["role"] == "user")
    return next((str(one["text"]) for one in own), "")


def head(desk: Desk, seen: Seen) -> Html:
    """Title, key figures, and what is wrong with it."""
    run = seen.run
    back = link("All runs", desk.link("runs"))
    chat = link("Open the conversation", desk.link("chat", session=run["session_id"])) if seen.readable else None
    models = [step for step in run["steps"] if step["kind"] == "model"]
    figured = figures(
        figure("State", str(run["state"]), None, badge(run["path"], "grey"), _colour(run["state"])),
        figure("Took", span(lasted(run) if lasted(run) is not None else run["ms"] / 1000), None, "from start to end"),
        figure("Model calls", number(len(models)), None, _tokens(run)),
        figure("Tools and searches", number(len(run["steps"]) - len(models)), None, "other steps"),
        figure("Cost in USD", f"{run['cost_usd']:,.4f}", None, "as the providers count"),
    )
    about = (seen.agent, ", ", moment(run["created_at"]))
    return join(heading("Run", about, back, chat), figured, _wrong(run))


def _tokens(run: Mapping[str, Any]) -> str:
    return f"{number(run['prompt_tokens'])} tokens in, {number(run['completion_tokens'])} out"


def _colour(state: str) -> Any:
    return {"failed": "red", "interrupted": "amber", "waiting": "amber", "completed": "green"}.get(state)


def _wrong(run: Mapping[str, Any]) -> Html | None:
    if run["state"] == "interrupted":
        return problem_card(RESUME)
    told = run["error"]
    if not told:
        return None
    words = [str(told.get(name) or "") for name in ("title", "detail", "fix")]
    words[2] = words[2] or "Look at the last step of the trace; asking again often helps where a service was busy."
    return problem_card(
        Trouble(words[0] or "The run failed.", words[1], words[2], 0, str(told.get("code") or "failed"))
    )


def body(desk: Desk, seen: Seen) -> Html:
    """Trace, conversation, approvals, opinions and events."""
    trace = card("Trace", waterfall(seen.run["steps"], seen.run["started_at"]))
    if seen.turn is None:
        return join(tag("p", NOT_MINE, class_="aos-notice"), trace, approvals(seen), opinions(seen))
    talked = card("What was said", said(seen.question) if seen.question else None, answer(desk, seen.turn, seen.agent))
    return join(trace, talked, approvals(seen), opinions(seen), events(seen))


def approvals(seen: Seen) -> Html | None:
    """Table of the run's approval requests and decisions."""
    if not seen.approvals:
        return None
    rows = [
        (
            tag("code", one["tool"]),
            badge(one["state"]),
            shown(one["decided_arguments"] or one["arguments"]),
            one["notes"] or "–",
            moment(one["decided_at"] or one["created_at"]),
            badge(one["execution"]),
        )
        for one in seen.approvals
    ]
    return card("Approvals", table(("Action", "Decision", "Arguments", "Remark", "When", "Carried out"), rows))


def opinions(seen: Seen) -> Html | None:
    """Table of user feedback on the answer."""
    if not seen.feedback:
        return None
    rows = [
        ("good" if one["thumb"] == "up" else "not good", one["word"] or "–", moment(one["at"])) for one in seen.feedback
    ]
    return card("Feedback", table(("Opinion", "Word", "When"), rows))


def events(seen: Seen) -> Html:
    """Every event in its own words; it opens to all that it holds."""
    if not seen.events:
        return card("Events", empty("They are shown when the run rests.", "It goes on just now."))
    rows = [_event(one) for one in seen.events if isinstance(one.data, dict)]
    return card("Events", tag("div", rows, class_="aos-events"), aside=f"{len(rows)} of them")


def _event(told: Told) -> Html:
    data = {name: value for name, value in (told.data.get("data") or {}).items() if name != "kind"}
    kind = str((told.data.get("data") or {}).get("kind", told.name)).replace("_", " ")
    content = str(told.data.get("content") or "")
    plain = {name: value for name, value in data.items() if isinstance(value, str | int | float)}
    short = content or ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items())
    summary = tag(
        "summary", tag("span", tag("b", told.id or "–"), " ", kind), tag("span", short[:160], class_="aos-cut quiet")
    )
    full = shown({**({"said": content} if content else {}), **data})
    return tag("details", summary, tag("div", full, class_="inside"), class_="aos-more")


def replayed(report: Mapping[str, Any], changed: bool) -> Html:
    """Report of a replay: identical, or the first step or event that diverged from the record."""
    count = f"{many(report['events'], 'event')} and {many(report['steps'], 'step')}"
    if report["same"]:
        told = "Nothing that the model decided is different." if changed else "It came out the same, byte for byte."
        return card(
            "Replay", tag("p", told), tag("p", f"{count} were walked again."), aside=badge("identical", "green")
        )
    other = report["diverged"]
    where = f"step {other['step']}" if other["step"] is not None else f"event {other['event']}"
    sides = tag(
        "div",
        tag("div", tag("h4", "Recorded"), shown(other["recorded"])),
        tag("div", tag("h4", "Now"), shown(other["now"])),
        class_="aos-columns",
    )
    first = tag("p", f"The first difference is at {where}, {other['name']}, after {count}.")
    return card("Replay", first, sides, aside=badge("differs", "amber"))
