"""Read-only views of agents: the list, one agent's head, skills and rules, and an agent that may not be edited."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from serve_apps.ui.kit.blocks import (
    Colour,
    data_table,
    empty_state,
    link_to,
    list_pager,
    page_heading,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_count, format_moment, format_number
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext

HERE: Final = f"{PREFIX}/agents"
RISKS: Final[Mapping[str, tuple[str, Colour]]] = {
    "read": ("reads", "green"),
    "write": ("writes", "amber"),
    "destructive": ("takes away", "red"),
}
RULES: Final[Mapping[str, tuple[str, Colour]]] = {
    "auto": ("runs", "green"),
    "ask": ("asks a person", "amber"),
    "refuse": ("refused", "red"),
}
MANY: Final[Mapping[str, str]] = {"auto": "run", "ask": "ask a person", "refuse": "are refused"}


def risk_badge(risk: str | None) -> SafeHtml:
    """A skill's risk as a badge."""
    said, colour = RISKS.get(risk or "", ("gone", "grey"))
    return state_badge(said, colour)


def spaced_category(category: str) -> str:
    """A category with room to break a line in."""
    return category.replace("/", " / ") or "Other"


def _button_link(text: str, address: str | None, main: bool = False) -> SafeHtml | None:
    class_ = "aos-button primary" if main else "aos-button"
    return None if address is None else tag("a", text, href=address, class_=class_)


def status_line(text: str) -> SafeHtml:
    """Result of an act, beside what it was about."""
    return tag("p", text, class_="aos-said", role="status")


def named_skill(console: ConsoleContext, name: str, about: Child) -> SafeHtml:
    """A skill's name, which leads to its page, above what there is to know."""
    return join_html(link_to(name, console.link("skills", skill=name)), tag("div", about, class_="quiet"))


def address_of(agent: str, **query: object) -> str:
    """The link to the edit page of one agent."""
    return f"{HERE}?{urlencode({'id': agent, **query})}"


def agents_view(console: ConsoleContext, body: Record, skip: int, limit: int, *, may_make: bool) -> SafeHtml:
    """The list."""
    make = _button_link("New agent", f"{HERE}?new=1", main=True) if may_make else None
    title = page_heading("Agents", "Who answers here: with which prompt, which skills, and which documents.", make)
    if not body["items"]:
        todo = "Make the first one: it needs a name and documents to search." if may_make else "An operator makes them."
        return join_html(title, empty_state("There is no agent yet.", todo))
    rows = []
    for one in body["items"]:
        text, where = one["description"], console.link("chat", agent=one["id"])
        about = tag("div", text if len(text) <= 140 else text[:139] + "…", class_="quiet")
        name = tag("a", one["name"], href=address_of(one["id"]), class_="aos-strong"), about
        documents = "whole workspace" if one["whole_workspace"] else format_number(one["documents"])
        changed, try_ = format_moment(one["updated_at"], relative=True), link_to("Try it", where) if where else None
        rows.append((name, documents, _academy_badge(console, one), changed, try_))
    shown = data_table(("Agent", "Documents", "Academy", "Changed", ""), rows)
    turn = list_pager(HERE, skip, limit, body["total"]) if body["total"] > limit else None
    return join_html(title, titled_card("All agents", shown, turn, aside=quiet_span(format_number(body["total"]))))


def head_view(console: ConsoleContext, agent: Record) -> SafeHtml:
    """The head of one agent's page."""
    about = ("Changed ", format_moment(agent["updated_at"], relative=True), " · ", link_to("all agents", HERE))
    try_ = _button_link("Try it", console.link("chat", agent=agent["id"]))
    return page_heading(agent["name"], about, _academy_badge(console, agent), try_)


def read_only_view(agent: Record) -> SafeHtml:
    """One agent, to who may not change it."""
    config = agent["config"]
    some = format_count(agent["documents"], "document")
    facts: list[tuple[str, Child]] = [
        ("Description", agent["description"] or "–"),
        ("Searches", "the whole workspace" if agent["whole_workspace"] else some),
        ("New uploads", "are linked to it" if agent["auto_link_uploads"] else "are not linked by themselves"),
        ("Temperature", format_number(config.get("temperature"), 1)),
        ("Rounds", format_number(config.get("max_iterations"))),
    ]
    prompt = tag("pre", agent["system_prompt"] or "No prompt of its own.", class_="aos-text")
    return join_html(titled_card("What it is", data_table(("", ""), facts)), titled_card("Prompt", prompt))


def skills_view(console: ConsoleContext, held: Record, categories: Mapping[str, str]) -> SafeHtml:
    """Table of the skills attached to an agent."""
    if not held["items"]:
        return empty_state("It was given no skill.", "It has the tools that every agent has. Choose more below.")
    rows = [
        (
            named_skill(console, one["name"], one["description"] or "It is gone: take it away."),
            spaced_category(categories.get(one["name"], "")),
            risk_badge(one["risk"]),
            f"{one['version']} (kept)" if one["pinned"] else "newest",
        )
        for one in sorted(held["items"], key=lambda one: (categories.get(one["name"], ""), one["name"]))
    ]
    return data_table(("Skill", "Category", "Risk", "Version"), rows)


def rules_view(console: ConsoleContext, rules: Sequence[Record]) -> SafeHtml:
    """Table of the approval rule of each tool; a refusal or an approval request has its reason beside it."""
    counts = {name: sum(one["decision"] == name for one in rules) for name in RULES}
    told = [(state_badge(f"{count} {MANY[name]}", RULES[name][1]), " ") for name, count in counts.items() if count]
    rows = [
        (
            named_skill(console, one["tool"], "every agent has it" if one["source"] == "base" else "given to it"),
            risk_badge(one["risk"]),
            state_badge(*RULES[one["decision"]]),
            join_html(one["reason"], [tag("div", _condition_text(case), class_="quiet") for case in one["conditions"]]),
        )
        for one in rules
    ]
    about = (
        "The approval list (configs/approvals.yaml) is read from top to bottom; the first entry that fits decides, and"
        " what none fits is refused. A call that the model only claimed to make is always put before a person."
    )
    columns = ("Tool", "Risk", "A call", "Why")
    shown = data_table(columns, rows) if rows else empty_state("It has no tools.", "Give it skills.")
    return titled_card("What becomes of its calls", quiet_text(about), shown, aside=tag("span", told))


def _condition_text(case: Record) -> str:
    when = " and ".join(f"{path} is {' or '.join(map(str, values))}" for path, values in case["when"].items())
    return f"If {when}: {RULES[case['decision']][0]}." + (f" {case['reason']}" if case["reason"] else "")


def _academy_badge(console: ConsoleContext, agent: Record) -> Child:
    status = agent["metadata"].get("academy_status")
    if not status:
        return None
    colour: Colour = {"graduated": "green", "demoted": "red"}.get(str(status), "blue")  # type: ignore[assignment]
    return link_to(state_badge(str(status), colour), console.link("skills", tab="academy", agent=agent["id"]))
