"""A turn as it is shown: plan, tools, the answer with its sources, what it took, and what went wrong."""

from collections.abc import Mapping
from typing import Any, Final

from serve_apps.ui.chat.chat_events import Call, Heard
from serve_apps.ui.kit.blocks import Colour, badge, link, problem_card
from serve_apps.ui.kit.citations import chips, marks, place
from serve_apps.ui.kit.formats import many, number, span
from serve_apps.ui.kit.html import Child, Html, join, tag
from serve_apps.ui.kit.markdown import prose
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.kit.value_tables import shown

COMMAND: Final = "/docs "
TIERS: Final = {
    1: "called by the model itself",
    2: "read from what the model wrote",
    3: "asked for again after the model had only promised it",
    4: "made for a model that did not call it by itself",
}
OUTCOMES: Final[Mapping[str, Colour]] = {"success": "green", "running": "blue", "abort": "red"}
MODES: Final = {
    "extractive": "word for word from the documents",
    "generated": "written by a model from the documents",
    "not_found": "nothing found",
}


def said(text: str) -> Html:
    """Message of the person; the command that the choice `documents` puts before it is shown as a badge."""
    only = text.startswith(COMMAND)
    mark = badge("documents only", "grey") if only else None
    return tag("article", mark, tag("p", text.removeprefix(COMMAND)), class_="aos-spoken", aria_label="You")


def answer(desk: Desk, turn: Heard, agent: str, *, live: bool = False) -> Html:
    """Everything a turn told."""
    text = turn.text + turn.piece
    writing = tag("span", class_="aos-writing", role="status", aria_label="The answer is being written")
    return tag(
        "article",
        tag("header", tag("b", agent), _badges(turn)),
        _notices(turn),
        _thoughts(turn),
        plan(turn),
        tools(turn),
        prose(text, marks(desk, turn.citations)) if text else None,
        writing if live else None,
        asks(turn),
        chips(desk, turn.citations),
        searched(desk, turn),
        problem_card(turn.error) if turn.error else None,
        _ended(turn),
        None if live else footer(desk, turn),
        class_="aos-answer" + (" live" if live else ""),
        aria_label=f"{agent} answers",
    )


def asks(turn: Heard) -> Html | None:
    """What the agent wants to know; the message box is where it is told."""
    if turn.asked is None:
        return None
    options = [tag("li", str(one)) for one in turn.asked.get("options") or ()]
    return tag(
        "div",
        prose(str(turn.asked.get("question", "")), {}),
        tag("ol", options) if options else None,
        tag("p", "Your next message answers this.", class_="quiet"),
        class_="aos-asks",
        role="status",
    )


def _badges(turn: Heard) -> list[Html]:
    found = [badge(turn.path, "grey")] if turn.path else []
    mode = next((MODES.get(str(one.get("outcome"))) for one in turn.trace if one.get("step") == "documents"), None)
    if mode:
        found.append(badge(mode, "green" if mode != MODES["not_found"] else "amber"))
    written = dict.fromkeys(str(one.get("model")) for one in [*turn.models, *turn.trace] if one.get("model"))
    return [*found, *(badge(model, "blue") for model in written)]


def _notices(turn: Heard) -> list[Html]:
    """Fallbacks: what was left, what was taken instead, and why."""
    told: list[Child] = [
        (tag("b", one.get("left", "A model")), " did not do: ", one.get("why", ""), ". ", _taken(one))
        for one in turn.fallbacks
    ]
    for what, those in (("The search went without a part of itself: ", turn.found), ("Made another way: ", turn.trace)):
        told += [(what, one["fallback"]) for one in those if one.get("fallback")]
    return list(dict.fromkeys(tag("p", one, class_="aos-notice") for one in told))


def _taken(one: Mapping[str, Any]) -> Child:
    return (tag("b", one["taken"]), " was asked instead.") if one.get("taken") else None


def _thoughts(turn: Heard) -> Html | None:
    thoughts = [one for one in turn.thoughts if one.strip()]
    if not thoughts:
        return None
    return _folded("Thoughts", None, [tag("p", one) for one in thoughts])


def plan(turn: Heard) -> Html | None:
    """The steps that were planned, with what became of each."""
    if not turn.plan:
        return None
    steps = [
        tag(
            "li",
            tag("span", one.get("label") or one.get("description") or one.get("id", "")),
            badge(str(outcome).lower(), OUTCOMES.get(str(outcome).lower(), "grey")) if outcome else None,
            tag("p", one["note"], class_="quiet") if one.get("note") else None,
        )
        for one in turn.plan
        for outcome in (one.get("outcome", ""),)
    ]
    return _folded(
        f"Plan of {many(len(steps), 'step')}", None, tag("ol", steps, class_="aos-plan"), is_open=not turn.over
    )


def tools(turn: Heard) -> list[Html]:
    """Every call of a tool: its arguments as a table, what it gave, and how long it took."""
    waits = turn.approval is not None or turn.asked is not None
    return [_call(one, waits=waits and n == len(turn.calls)) for n, one in enumerate(turn.calls, 1)]


def _call(call: Call, *, waits: bool) -> Html:
    state, colour = _state(call, waits=waits)
    tier = TIERS.get(call.tier or 0)
    gave = tag("h4", "What went wrong"), shown(call.error)
    if call.error is None:
        gave = tag("h4", "Result"), shown(call.result)
    inside = (
        tag("h4", "Arguments"),
        shown(call.arguments),
        gave if call.over else None,
        tag("p", f"Tier {call.tier}: {tier}.", class_="quiet") if tier else None,
    )
    took = tag("span", span(call.ms / 1000), class_="quiet") if call.ms is not None else None
    return _folded(tag("code", call.name), (badge(state, colour), took), inside)


def _state(call: Call, *, waits: bool) -> tuple[str, Colour]:
    if not call.over:
        return ("waits for a person", "amber") if waits else ("under way", "blue")
    if call.approved is False:
        return "not allowed", "red"
    return ("failed", "red") if call.error is not None else ("done", "green")


def searched(desk: Desk, turn: Heard) -> Html | None:
    """Passages that were retrieved, where the answer cites only some of them or none."""
    sources = list({str(one["chunk_id"]): one for found in turn.found for one in found.get("sources", ())}.values())
    if not sources:
        return None
    generations = dict.fromkeys(str(one["generation"]) for one in turn.found if one.get("generation") is not None)
    rows = [tag("li", link(one["filename"], place(desk, one)), f", page {one['page']}") for one in sources]
    index = f"Index generation {', '.join(generations)}" if generations else None
    count = f"{many(len(sources), 'passage')} looked at"
    about = tag("p", index, class_="quiet") if index else None
    return _folded(count, None, (tag("ol", rows, class_="aos-sources"), about))


def _ended(turn: Heard) -> Html | None:
    told = {
        "cancelled": "Stopped. What was done stays done.",
        "interrupted": "This answer was broken off. Go on with it below, or ask again.",
    }.get(turn.state)
    return tag("p", told, class_="aos-notice") if told else None


def footer(desk: Desk, turn: Heard) -> Html:
    """Tokens and cost of the turn, and a link to its run."""
    used = turn.tokens_in + turn.tokens_out
    tokens = f"{number(turn.tokens_in)} tokens in, {number(turn.tokens_out)} out" if used else None
    cost = f"{turn.cost:,.4f} USD" if turn.cost else None
    run = desk.link("runs", id=turn.run) if turn.run else None
    return tag(
        "div",
        tag("span", tokens) if tokens else tag("span", "no model was asked") if turn.state == "completed" else None,
        tag("span", cost) if cost else None,
        link("Everything that happened", run) if run else None,
        class_="foot",
    )


def _folded(title: Child, aside: Child, inside: Child, *, is_open: bool = False) -> Html:
    head = tag("summary", tag("span", title), tag("span", aside, class_="aside") if aside else None)
    return tag("details", head, tag("div", join(inside), class_="inside"), class_="aos-more", open=is_open)
