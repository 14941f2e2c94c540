"""A turn as it is shown: plan, tools, the answer with its sources, what it took, and what went wrong."""

from collections.abc import Mapping
from typing import Final

from serve_apps.ui.chat.chat_events import ToolCallState, TurnProgress
from serve_apps.ui.kit.blocks import Colour, link_to, problem_card, state_badge
from serve_apps.ui.kit.citations import citation_address, citation_chips, citation_marks
from serve_apps.ui.kit.formats import format_count, format_duration, format_number
from serve_apps.ui.kit.html import Child, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.markdown import render_markdown
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.kit.value_tables import value_view

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


def question_section(text: str) -> SafeHtml:
    """Message of the person; the command that the choice `documents` puts before it is shown as a badge."""
    only = text.startswith(COMMAND)
    mark = state_badge("documents only", "grey") if only else None
    return tag("article", mark, tag("p", text.removeprefix(COMMAND)), class_="aos-spoken", aria_label="You")


def answer_section(console: ConsoleContext, turn: TurnProgress, agent: str, *, live: bool = False) -> SafeHtml:
    """Everything a turn told."""
    text = turn.text + turn.piece
    writing = tag("span", class_="aos-writing", role="status", aria_label="The answer is being written")
    return tag(
        "article",
        tag("header", tag("b", agent), _turn_badges(turn)),
        _fallback_notices(turn),
        _thoughts_section(turn),
        _plan_section(turn),
        _tool_sections(turn),
        render_markdown(text, citation_marks(console, turn.citations)) if text else None,
        _draft_section(turn.draft) if live and turn.draft else None,
        writing if live else None,
        asks(turn),
        citation_chips(console, turn.citations),
        searched_section(console, turn),
        problem_card(turn.error) if turn.error else None,
        _ending_notice(turn),
        None if live else _turn_footer(console, turn),
        class_="aos-answer" + (" live" if live else ""),
        aria_label=f"{agent} answers",
    )


def _draft_section(draft: str) -> SafeHtml:
    """Words that a model is writing, as plain text: nothing of them is checked, so nothing of them is drawn."""
    label = tag("span", "being written, not checked yet", class_="aside")
    return tag("div", label, tag("p", draft), class_="aos-draft", aria_live="polite")


def asks(turn: TurnProgress) -> SafeHtml | None:
    """Card of an agent's question; the message box is where it is answered."""
    if turn.asked is None:
        return None
    options = [tag("li", str(one)) for one in turn.asked.get("options") or ()]
    question = render_markdown(str(turn.asked.get("question", "")), {})
    hint = quiet_text("Your next message answers this.")
    return tag("div", question, tag("ol", options) if options else None, hint, class_="aos-asks", role="status")


def _turn_badges(turn: TurnProgress) -> list[SafeHtml]:
    found = [state_badge(turn.path, "grey")] if turn.path else []
    if turn.classification:
        found.append(state_badge(turn.classification, "amber"))
    mode = next((MODES.get(str(one.get("outcome"))) for one in turn.trace if one.get("step") == "documents"), None)
    if mode:
        found.append(state_badge(mode, "green" if mode != MODES["not_found"] else "amber"))
    written = dict.fromkeys(str(one.get("model")) for one in [*turn.models, *turn.trace] if one.get("model"))
    return [*found, *(state_badge(model, "blue") for model in written)]


def _fallback_notices(turn: TurnProgress) -> list[SafeHtml]:
    """Fallbacks: what was left, what was taken instead, and why; and what of personal data is not as it was said."""
    told: list[Child] = [
        (tag("b", one.get("left", "A model")), " did not do: ", one.get("why", ""), ". ", instead)
        for one in turn.fallbacks
        for instead in [(tag("b", one["taken"]), " was asked instead.") if one.get("taken") else None]
    ]
    for what, those in (("The search went without a part of itself: ", turn.found), ("Made another way: ", turn.trace)):
        told += [(what, one["fallback"]) for one in those if one.get("fallback")]
    for how, finds in turn.personal.items():
        counted = ", ".join(f"{count} {str(kind).replace('_', ' ')}" for kind, count in finds.items())
        told.append(f"Personal data is {how} in this answer: {counted}.")
    return list(dict.fromkeys(tag("p", one, class_="aos-notice") for one in told))


def _thoughts_section(turn: TurnProgress) -> SafeHtml | None:
    thoughts = [one for one in turn.thoughts if one.strip()]
    return _folded_section("Thoughts", None, [tag("p", one) for one in thoughts]) if thoughts else None


def _plan_section(turn: TurnProgress) -> SafeHtml | None:
    if not turn.plan:
        return None
    steps = []
    for one in turn.plan:
        label = one.get("label") or one.get("description") or one.get("id", "")
        outcome = str(one.get("outcome") or "").lower()
        badge = state_badge(outcome, OUTCOMES.get(outcome, "grey")) if outcome else None
        steps.append(tag("li", tag("span", label), badge, quiet_text(one["note"]) if one.get("note") else None))
    title, shown = f"Plan of {format_count(len(steps), 'step')}", tag("ol", steps, class_="aos-plan")
    return _folded_section(title, None, shown, is_open=not turn.over)


def _tool_sections(turn: TurnProgress) -> list[SafeHtml]:
    waits = turn.approval is not None or turn.asked is not None
    return [_call_section(one, waits=waits and n == len(turn.calls)) for n, one in enumerate(turn.calls, 1)]


def _call_section(call: ToolCallState, *, waits: bool) -> SafeHtml:
    state, colour = _call_state(call, waits=waits)
    tier = TIERS.get(call.tier or 0)
    gave = tag("h4", "What went wrong"), value_view(call.error)
    if call.error is None:
        gave = tag("h4", "Result"), value_view(call.result)
    known = quiet_text(f"Tier {call.tier}: {tier}.") if tier else None
    inside = (tag("h4", "Arguments"), value_view(call.arguments), gave if call.over else None, known)
    took = quiet_span(format_duration(call.ms / 1000)) if call.ms is not None else None
    return _folded_section(tag("code", call.name), (state_badge(state, colour), took), inside)


def _call_state(call: ToolCallState, *, waits: bool) -> tuple[str, Colour]:
    if not call.over:
        return ("waits for a person", "amber") if waits else ("under way", "blue")
    if call.approved is False:
        return "not allowed", "red"
    return ("failed", "red") if call.error is not None else ("done", "green")


def searched_section(console: ConsoleContext, turn: TurnProgress) -> SafeHtml | None:
    """Passages that were retrieved, where the answer cites only some of them or none."""
    sources = list({str(one["chunk_id"]): one for found in turn.found for one in found.get("sources", ())}.values())
    if not sources:
        return None
    generations = dict.fromkeys(str(one["generation"]) for one in turn.found if one.get("generation") is not None)
    rows = [
        tag("li", link_to(one["filename"], citation_address(console, one)), f", page {one['page']}") for one in sources
    ]
    index = f"Index generation {', '.join(generations)}" if generations else None
    count = f"{format_count(len(sources), 'passage')} looked at"
    about = quiet_text(index) if index else None
    return _folded_section(count, None, (tag("ol", rows, class_="aos-sources"), about))


def _ending_notice(turn: TurnProgress) -> SafeHtml | None:
    told = {
        "cancelled": "Stopped. What was done stays done.",
        "interrupted": "This answer was broken off. Go on with it below, or ask again.",
    }.get(turn.state)
    return tag("p", told, class_="aos-notice") if told else None


def _turn_footer(console: ConsoleContext, turn: TurnProgress) -> SafeHtml:
    used = turn.tokens_in + turn.tokens_out
    tokens = f"{format_number(turn.tokens_in)} tokens in, {format_number(turn.tokens_out)} out" if used else None
    cost = f"{turn.cost:,.4f} USD" if turn.cost else None
    run = console.link("runs", id=turn.run) if turn.run else None
    unasked = tag("span", "no model was asked") if turn.state == "completed" else None
    whole = link_to("Everything that happened", run) if run else None
    paid = tag("span", cost) if cost else None
    return tag("div", tag("span", tokens) if tokens else unasked, paid, whole, class_="foot")


def _folded_section(title: Child, aside: Child, inside: Child, *, is_open: bool = False) -> SafeHtml:
    head = tag("summary", tag("span", title), tag("span", aside, class_="aside") if aside else None)
    return tag("details", head, tag("div", join_html(inside), class_="inside"), class_="aos-more", open=is_open)
