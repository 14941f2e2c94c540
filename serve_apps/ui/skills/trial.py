"""A skill tried from its page: a form made from its parameters, one call with one's own rights, what came of it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.agents.form_fields import literal
from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import card, empty, problem_card
from serve_apps.ui.kit.formats import span
from serve_apps.ui.kit.html import Html, tag
from serve_apps.ui.kit.html_component import part
from serve_apps.ui.kit.page import QUIET, Desk
from serve_apps.ui.kit.problem import Problem
from serve_apps.ui.kit.value_tables import shown
from serve_apps.ui.kit.waiting import waiting
from serve_apps.ui.skills.schema import YES_NO, Field, arguments, fields

NOBODY: Final = ("nobody: no documents, no credentials of an agent", "")


def why_not(skill: Mapping[str, Any]) -> str:
    """Reason that a skill cannot be tried here; empty where it can."""
    if skill["type"] == "internal":
        return "It is a text that stands in the prompt of an agent; nothing is called."
    if skill["type"] == "delegate":
        return "It belongs to a turn of an agent: try it in a chat with one that has it."
    if skill["risk"] != "read":
        word = "changes something" if skill["risk"] == "write" else "takes something away for good"
        return f"It {word}. Give it to an agent and ask for it in a chat: the call is put before a person first."
    return ""


async def agents(api: Api) -> list[tuple[str, str]]:
    """Agents as choices: (name, id)."""
    body = await api.get("/api/agents", limit=1000)
    return [(one["name"], one["id"]) for one in body["items"]]


def draw(desk: Desk, skill: gr.State, people: gr.State) -> None:
    """The form; it is drawn for the skill that is looked at. `people` are the agents as choices."""

    @gr.render(inputs=[skill, people], triggers=[skill.change])
    def form(one: dict[str, Any] | None, people: Sequence[tuple[str, str]]) -> None:
        if one is None:
            return
        part(tag("h2", "Try it", class_="aos-section"))
        if reason := why_not(one):
            part(empty("It is not called from here.", reason))
            return
        form = fields(one["parameters"])
        boxes = [_box(field) for field in form]
        agent = gr.Dropdown(
            [NOBODY, *((name, id_) for name, id_ in people)],
            value="",
            label="As if it were called by",
            info="Its documents and its credentials are used; your role is yours.",
        )
        button = gr.Button("Call it", variant="primary", elem_classes="aos-narrow")
        result = part()

        async def call(request: gr.Request, agent: str, *typed: Any) -> AsyncIterator[Html]:
            async for step in waiting(_called(desk, request, one["name"], form, agent, typed), "It is called …"):
                yield step

        button.click(call, [agent, *boxes], result, **QUIET)


async def _called(
    desk: Desk, request: gr.Request, name: str, form: Sequence[Field], agent: str, typed: Sequence[Any]
) -> Html:
    try:
        body: dict[str, Any] = {"arguments": arguments(form, typed)}
        if agent:
            body["agent_id"] = agent
        made = await desk.api(request).post(f"/api/skills/{name}:test", body)
    except Problem as problem:
        return problem_card(problem.told)
    return card("What it gave", shown(made["result"]), aside=span(made["ms"] / 1000))


def _box(field: Field) -> Any:
    label = field.name + (" (needed)" if field.required else "")
    info = literal(". ".join(part for part in (field.about.rstrip("."), field.limits) if part)) or None
    match field.sort:
        case "choice":
            return gr.Dropdown(
                [("–", ""), *((str(one), one) for one in field.choices)],
                value=field.default or "",
                label=label,
                info=info,
            )
        case "yes_no":
            told = next((word for word, value in YES_NO.items() if value is field.default), "")
            return gr.Dropdown([("–", ""), *YES_NO], value=told, label=label, info=info)
        case "whole" | "number":
            return gr.Number(field.default, label=label, info=info)
        case "lines":
            return gr.Textbox(
                "\n".join(map(str, field.default or ())), label=label, info=_and(info, "one a line"), lines=2
            )
        case "json":
            return gr.Textbox(label=label, info=_and(info, "as JSON"), lines=2)
        case "text":
            return gr.Textbox(None if field.default is None else str(field.default), label=label, info=info)


def _and(info: str | None, more: str) -> str:
    return f"{info}; {more}" if info else more.capitalize()
