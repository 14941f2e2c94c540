"""Response demands of a client: `tool_choice` (a call is required) and `response_format` (JSON of a form)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cluster.basics.errors import Permanent
from cluster.models.chat.openai_requests import REQUIRED
from cluster.models.chat.response_format import ResponseForm
from cluster.models.messages import ToolSpec
from cluster.models.reply_json import UnreadableValue, decode_strict
from serve_apps.agents.intake.tool_offer import demanded_tool
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.turn_ports import Turn

ANSWER = "give_answer"  # the tool whose arguments are the answer where a provider takes no form

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)


class NotCalled(Permanent):
    """The model did not call the tool that the request demands."""

    code, status = "tool_not_called", 502
    fix = "Leave tool_choice out, or ask a model that calls tools."


class NotInForm(Permanent):
    """The model's answer does not have the form that the request demands."""

    code, status = "answer_not_in_form", 502
    fix = "Ask for less at once, say in the message what belongs into the fields, or ask another model."


@dataclass(frozen=True, slots=True)
class ResponseDemand:
    """Attributes:
    choice: `required`, or the name of the tool that has to be called; None where none has to be.
    form: what the answer has to be; None for text.
    """

    choice: str | None
    form: ResponseForm | None


def demand_of(turn: Turn) -> ResponseDemand | None:
    """The demand in a turn's options; None where they demand nothing."""
    choice, form = demanded_tool(turn), form_of(turn.options.get("response_format"))
    choice = None if choice == ANSWER else choice
    return None if choice is None and form is None else ResponseDemand(choice, form)


def form_of(response_format: str | None) -> ResponseForm | None:
    """The form that OpenAI's `response_format` asks for; None for text.

    It is JSON as text: a frozen turn sorts its keys, and models write properties in the order of the schema.
    """
    found = json.loads(response_format or "{}")
    if found.get("type", "text") == "text":
        return None
    if found["type"] == "json_object":
        return ResponseForm(tool=ANSWER)
    of = found["json_schema"]
    return ResponseForm(of["schema"], of["name"], of.get("strict"), ANSWER)


def answer_tool(form: ResponseForm) -> dict[str, Any]:
    """The tool that an answer is given by, as a client's own: its call ends the turn."""
    # Without a property to show, small models would be told to call it with nothing at all.
    parameters = {"type": "object", "minProperties": 1} if form.schema is None else dict(form.schema)
    return {
        "name": ANSWER,
        "description": "Gives the user the answer. Call it once, when you know the answer, and with all of it.",
        "parameters": parameters,
    }


def demand_prompt(demand: ResponseDemand, specs: Sequence[ToolSpec], *, react: bool) -> str:
    """For the system prompt. A provider that takes tools natively is sent the choice of them, so it is not said."""
    said = []
    if react and demand.choice is not None:
        said.append(
            "### Calls ###\n"
            f"In this turn you have to call {tool_phrase(demand.choice, specs)}; a reply that ends without "
            "this call is not accepted."
        )
    if demand.form is not None:
        schema = demand.form.schema
        fits = "" if schema is None else f" that fits this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}\n"
        said.append(
            f"### Form of the answer ###\nThe answer for the user has to be one JSON object{fits or '.'} "
            "All that you have to say stands in it: no text around it, no code fence, no citation marks."
        )
    return "\n\n".join(said)


def tool_phrase(choice: str, specs: Sequence[ToolSpec]) -> str:
    """The tools that a choice is about, in words."""
    if choice != REQUIRED:
        return f"the tool {choice}"
    return f"one of the tools {', '.join(spec.name for spec in specs)}"


def missing_call_prompt(choice: str, specs: Sequence[ToolSpec], *, react: bool) -> str:
    """The one re-prompt for a reply without the call."""
    how = " Write it as ACTION and ACTION_INPUT." if react else ""
    return f"You did not call {tool_phrase(choice, specs)}. No other reply is accepted: make the call now.{how}"


def repair_prompt(flaw: str) -> str:
    """The one chance to repair an answer."""
    return (
        f"This is not the answer in the form that was asked for: {flaw}. Give the whole answer again, as one JSON "
        "object and nothing else."
    )


def read_demanded_answer(form: ResponseForm, content: str, parsed: ParsedReply) -> tuple[str, str | None]:
    """The answer of a reply as JSON text, and what is wrong with it; None where it has the form.

    It is a call of `ANSWER`, or the text itself: bare, behind FINAL ANSWER, or in the only code block.

    Raises Invalid: the schema cannot be followed.
    """
    call = next((call for call in parsed.calls if call.name == ANSWER), None)
    if call is not None and call.problem is not None:
        return "", call.problem
    flaw = "it is not JSON"
    for value in [dict(call.arguments)] if call is not None else _json_values(content, parsed.answer or ""):
        found = form.flaw(value)
        if found is None:
            return json.dumps(value, ensure_ascii=False, allow_nan=False), None
        flaw = found
    return "", flaw


def _json_values(*texts: str) -> list[Any]:
    """The JSON values that texts are, each once."""
    values: list[Any] = []
    for text in texts:
        blocks = _FENCED.findall(text)
        for candidate in (text, *(blocks if len(blocks) == 1 else ())):
            try:
                value = decode_strict(candidate)
            except UnreadableValue:
                continue
            if value not in values:
                values.append(value)
    return values
