"""ReAct instructions and stop sequences for models without native tool calls."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cluster.models.messages import ToolSpec

_GRAMMAR = """You can use tools. To use one, write exactly these lines and then stop:

THOUGHT: why you need it
ACTION: the tool's name, exactly as listed below
ACTION_INPUT: one JSON object with its arguments

You will be given the result as OBSERVATION. Never write an OBSERVATION yourself. Use one tool at a time, wait for its \
result, and never say that something was done unless an OBSERVATION says so. When you know the answer, write:

THOUGHT: why you are finished
FINAL ANSWER: the answer for the user

Tools:
"""


def stop_sequences() -> tuple[str, ...]:
    """Stop sequences of a ReAct transcript: no model may invent its call's result. At most four, as OpenAI
    allows."""
    return ("\nOBSERVATION", "\nObservation", "\nobservation:")


def react_instructions(tools: Sequence[ToolSpec]) -> str:
    """The grammar, and each tool with its arguments; empty without tools."""
    if not tools:
        return ""
    listed = [f"- {tool.name}: {tool.description.strip()}\n{_argument_lines(tool.parameters)}" for tool in tools]
    return _GRAMMAR + "\n".join(listed)


def _argument_lines(schema: Mapping[str, Any]) -> str:
    """One line an argument: small models take a schema for the arguments themselves, and send it back."""
    if set(schema) - {"type", "properties", "required", "additionalProperties", "title", "description"}:
        return f"  ACTION_INPUT is an object that fits this JSON schema, not the schema: {_compact_json(schema)}"
    properties = schema.get("properties") or {}
    if not properties:
        return "  ACTION_INPUT: {}"
    required = schema.get("required") or ()
    return "\n".join(
        [
            f"  ACTION_INPUT: {_compact_json({name: '...' for name in properties if name in required})}",
            *(f"    {_argument_line(name, of, name in required)}" for name, of in properties.items()),
        ]
    )


def _argument_line(name: str, schema: Any, required: bool) -> str:
    rest = dict(schema) if isinstance(schema, Mapping) else {"schema": schema}
    kind, said = rest.pop("type", ""), str(rest.pop("description", "")).strip()
    words = [kind if isinstance(kind, str) else _compact_json(kind), "required" if required else "optional"]
    limits = f" {_compact_json(rest)}" if rest else ""
    return f'"{name}" ({", ".join(word for word in words if word)}){limits}{f": {said}" if said else ""}'


def _compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
