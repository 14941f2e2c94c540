"""A skill tried from its page: a form made from its parameters, one call with one's own rights, what came of it."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.agents.form_fields import escape_hint
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, problem_card, titled_card
from serve_apps.ui.kit.formats import format_duration
from serve_apps.ui.kit.html import Record, SafeHtml, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.value_tables import value_view
from serve_apps.ui.kit.waiting import show_while_waiting
from serve_apps.ui.skills.schema import YES_NO, FormField, schema_fields, typed_arguments

NOBODY: Final = ("nobody: no documents, no credentials of an agent", "")


def why_not(skill: Record) -> str:
    """Reason that a skill cannot be tried here; empty where it can."""
    if skill["type"] == "internal":
        return "It is a text that stands in the prompt of an agent; nothing is called."
    if skill["type"] == "delegate":
        return "It belongs to a turn of an agent: try it in a chat with one that has it."
    if skill["risk"] != "read":
        word = "changes something" if skill["risk"] == "write" else "takes something away for good"
        return f"It {word}. Give it to an agent and ask for it in a chat: the call is put before a person first."
    return ""


async def agent_choices(api: SessionApi) -> list[tuple[str, str]]:
    """Agents as choices: (name, id)."""
    body = await api.get("/api/agents", limit=1000)
    return [(one["name"], one["id"]) for one in body["items"]]


def draw_trial(console: ConsoleContext, skill: gr.State, people: gr.State) -> None:
    """The form; it is drawn for the skill that is looked at. `people` are the agents as choices."""

    @gr.render(inputs=[skill, people], triggers=[skill.change])
    def form(one: dict[str, Any] | None, people: Sequence[tuple[str, str]]) -> None:
        if one is None:
            return
        html_part(tag("h2", "Try it", class_="aos-section"))
        if reason := why_not(one):
            html_part(empty_state("It is not called from here.", reason))
            return
        form = schema_fields(one["parameters"])
        boxes = [_input_component(field) for field in form]
        about = "Its documents and its credentials are used; your role is yours."
        agent = gr.Dropdown([NOBODY, *people], value="", label="As if it were called by", info=about)
        button = gr.Button("Call it", variant="primary", elem_classes="aos-narrow")
        result = html_part()

        async def call(request: gr.Request, agent: str, *typed: Any) -> AsyncIterator[SafeHtml]:
            view = _call_skill(console, request, one["name"], form, agent, typed)
            async for step in show_while_waiting(view, "It is called …"):
                yield step

        button.click(call, [agent, *boxes], result, **QUIET)


async def _call_skill(
    console: ConsoleContext, request: gr.Request, name: str, form: Sequence[FormField], agent: str, typed: Sequence[Any]
) -> SafeHtml:
    try:
        body: dict[str, Any] = {"arguments": typed_arguments(form, typed)}
        if agent:
            body["agent_id"] = agent
        made = await console.api(request).post(f"/api/skills/{name}:test", body)
    except ApiProblem as problem:
        return problem_card(problem.told)
    return titled_card("What it gave", value_view(made["result"]), aside=format_duration(made["ms"] / 1000))


def _input_component(field: FormField) -> Any:
    label = field.name + (" (needed)" if field.required else "")
    info = escape_hint(". ".join(part for part in (field.about.rstrip("."), field.limits) if part)) or None
    match field.sort:
        case "choice":
            choices = [("–", ""), *((str(one), one) for one in field.choices)]
            return gr.Dropdown(choices, value=field.default or "", label=label, info=info)
        case "yes_no":
            told = next((word for word, value in YES_NO.items() if value is field.default), "")
            return gr.Dropdown([("–", ""), *YES_NO], value=told, label=label, info=info)
        case "whole" | "number":
            return gr.Number(field.default, label=label, info=info)
        case "lines":
            text = "\n".join(map(str, field.default or ()))
            return gr.Textbox(text, label=label, info=_append_hint(info, "one a line"), lines=2)
        case "json":
            return gr.Textbox(label=label, info=_append_hint(info, "as JSON"), lines=2)
        case "text":
            return gr.Textbox(None if field.default is None else str(field.default), label=label, info=info)


def _append_hint(info: str | None, more: str) -> str:
    return f"{info}; {more}" if info else more.capitalize()
