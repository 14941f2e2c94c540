"""The form of an agent, declared: every field with its label, what it means, and which values it takes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.agents.agent_form import TASKS

FOLLOW: Final = ("as the settings say", "")
DEFAULT: Final = ("the workspace's default", "")
# key: label, what it means, step. What is too much the API says, and it is shown at the field.
NUMBERS: Final[Mapping[str, tuple[str, str, float]]] = {
    "temperature": ("Temperature", "0 to 2; low is sober. Empty: as the settings say.", 0.1),
    "max_tokens": ("Longest answer", "In tokens. Empty: as the model has it.", 1),
    "max_iterations": ("Rounds", "How often it may ask the model in one turn, 1 to 50.", 1),
    "timeout_seconds": ("Longest turn", "Seconds, up to 3,600.", 1),
    "rag_top_k": ("Passages", "How many are put before the model, 0 to 100.", 1),
    "deep_planning_max_steps": ("Steps of a plan", "1 to 50.", 1),
    "budget_usd": ("Budget", "USD a month. Empty: none of its own.", 1),
}
INFO: Final[Mapping[str, str]] = {
    "name": "As people and other agents call it.",
    "description": "One sentence: what it is for. Other agents read it when they delegate.",
    "system_prompt": "Who it is, what it does and what not, and how it speaks.",
    "whole_workspace": "Every document that the person who asks may see; links do not count then.",
    "auto_link_uploads": "Every later upload of the workspace is linked to this agent.",
    "deep_planning_enabled": "Whether it makes a plan before it acts.",
    "deep_planning_style": "How a plan is written.",
    "tools": "Take away what this agent should not have. Skills that it was given are beside these.",
    "primary_connection_id": "Asked first for every task that has none of its own.",
    "fallback_chain": "Asked one after the other where the first fails.",
    "cost_aware": "Summaries, translations and the like go to the cheapest connection.",
    "max_fallback_attempts": "How many more are asked after the first failed.",
    **{key: about for key, (_, about, _) in NUMBERS.items()},
}
TASK_NAMES: Final[Mapping[str, str]] = {
    "chat": "Conversation",
    "rag_answer": "Answers from documents",
    "tool_call": "Tool calls",
    "planning": "Planning",
    "reasoning": "Reasoning",
    "code_gen": "Code",
    "summarize": "Summaries",
    "translate": "Translation",
    "extract": "Extraction",
    "classify": "Classification",
}
Fields = dict[str, Any]
_SIGNS: Final = str.maketrans({"`": "\u2032", "*": "\u2217"})
_LONE: Final = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def _number_field(key: str) -> Any:
    label, about, step = NUMBERS[key]
    return gr.Number(None, label=label, info=about, step=step, min_width=180)


def instruction_fields() -> Fields:
    """Fields for name, description and system prompt."""
    info = INFO["system_prompt"]
    return {
        "name": gr.Textbox(label="Name", info=INFO["name"], max_length=200),
        "description": gr.Textbox(label="Description", info=INFO["description"], max_length=20_000, lines=1),
        "system_prompt": gr.Textbox(label="Prompt", info=info, lines=12, max_lines=40, max_length=20_000),
    }


def scope_fields() -> Fields:
    """Switches for which documents the agent takes by itself: the whole workspace, new uploads."""
    with gr.Row():
        return {
            "whole_workspace": gr.Checkbox(False, label="Searches the whole workspace", info=INFO["whole_workspace"]),
            "auto_link_uploads": gr.Checkbox(False, label="Takes every new upload", info=INFO["auto_link_uploads"]),
        }


def planning_fields() -> Fields:
    """Fields for planning and for the limits of a turn: steps, iterations, seconds, budget, base tools."""
    made: Fields = {}
    with gr.Row():
        info, choices = INFO["deep_planning_enabled"], [FOLLOW, ("yes", "on"), ("no", "off")]
        made["deep_planning_enabled"] = gr.Dropdown(choices, value="", label="Plans first", info=info, min_width=180)
        info, choices = INFO["deep_planning_style"], [FOLLOW, ("structured", "structured"), ("concise", "concise")]
        made["deep_planning_style"] = gr.Dropdown(choices, value="", label="Style of plans", info=info, min_width=180)
        made["deep_planning_max_steps"] = _number_field("deep_planning_max_steps")
    with gr.Row():
        made |= {key: _number_field(key) for key in ("max_iterations", "timeout_seconds", "rag_top_k", "budget_usd")}
    made["tools"] = gr.CheckboxGroup([], label="Tools that every agent has", info=INFO["tools"])
    return made


def model_fields() -> Fields:
    """Fields for model connections, fallbacks, tasks and sampling."""
    made: Fields = {}
    with gr.Row():
        info = INFO["primary_connection_id"]
        made["primary_connection_id"] = gr.Dropdown([DEFAULT], value="", label="Connection", info=info, min_width=240)
        info = INFO["fallback_chain"]
        made["fallback_chain"] = gr.Dropdown([], value=[], multiselect=True, label="Then", info=info, min_width=240)
    with gr.Row():
        made |= {key: _number_field(key) for key in ("temperature", "max_tokens")}
        info = INFO["max_fallback_attempts"]
        made["max_fallback_attempts"] = gr.Number(3, label="Fallbacks", info=info, step=1, min_width=180)
    made["cost_aware"] = gr.Checkbox(False, label="Cheapest model for simple tasks", info=INFO["cost_aware"])
    with gr.Accordion("A connection of its own for a kind of task", open=False), gr.Row():
        for task in TASKS:
            made[f"task_{task}"] = gr.Dropdown([DEFAULT], value="", label=TASK_NAMES[task], min_width=240)
    return made


def fill_fields(
    keys: Sequence[str], values: Mapping[str, Any], connections: Sequence[tuple[str, str]], base: Sequence[str]
) -> list[Any]:
    """Updates of the fields: their values and choices, and nothing wrong with any of them."""
    chain = _with_missing(connections, values["fallback_chain"])
    choices: dict[str, Any] = {"tools": list(base), "fallback_chain": chain}
    for key in ("primary_connection_id", *(f"task_{task}" for task in TASKS)):
        first = DEFAULT if key == "primary_connection_id" else ("as for the others", "")
        choices[key] = [first, *_with_missing(connections, [values[key]])]
    listed = {key: {"choices": choices[key]} if key in choices else {} for key in keys}
    return [gr.update(value=values[key], info=INFO.get(key), elem_classes=[], **listed[key]) for key in keys]


def mark_wrong_fields(keys: Sequence[str], wrong: Mapping[str, str]) -> list[Any]:
    """Updates that write at each field what is wrong with it, and take away what was written there before."""
    told = {key: escape_hint(wrong[key]) if key in wrong else INFO.get(key) for key in keys}
    return [gr.update(info=told[key], elem_classes=["aos-wrong"] if key in wrong else []) for key in keys]


def escape_hint(text: str) -> str:
    """For Gradio's hints, which make links and emphasis of some signs: those become others that look like them."""
    return _LONE.sub("\u02cd", text.translate(_SIGNS)).replace("](", "] (")


def _with_missing(connections: Sequence[tuple[str, str]], wanted: Sequence[str]) -> list[tuple[str, str]]:
    """The connections, and what the agent names that is none any more."""
    known = {id_ for _, id_ in connections}
    return [*connections, *((f"{ref} (not there)", ref) for ref in wanted if ref and ref not in known)]
