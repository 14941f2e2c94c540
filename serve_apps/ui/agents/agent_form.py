"""An agent's settings as one flat form, and the PATCH body that holds only what changed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

TASKS: Final = (
    *("chat", "rag_answer", "tool_call", "planning", "reasoning"),
    *("code_gen", "summarize", "translate", "extract", "classify"),
)
PLAIN: Final = ("name", "description", "system_prompt", "whole_workspace", "auto_link_uploads")
WHOLE: Final = frozenset({"max_tokens", "max_iterations", "rag_top_k", "deep_planning_max_steps"})
NUMBERS: Final = (
    *("temperature", "max_tokens", "max_iterations", "timeout_seconds"),
    *("rag_top_k", "deep_planning_max_steps", "budget_usd"),
)
PLANNING: Final = ("deep_planning_enabled", "deep_planning_style")
ROUTING: Final = ("primary_connection_id", "fallback_chain", "cost_aware", "max_fallback_attempts")
KEYS: Final = (*PLAIN, *NUMBERS, *PLANNING, "tools", *ROUTING, *(f"task_{task}" for task in TASKS))
DEFAULT_FALLBACKS: Final = 3
_PLACE: Final = re.compile(r"(?:^|; )body\.(?:config\.)?((?:\w+\.?)+): (.*?)(?=; body\.|$)", re.DOTALL)
_ON: Final = {"on": True, "off": False}


def values_of(agent: Mapping[str, Any], base: Sequence[str]) -> dict[str, Any]:
    """By key of the form; what the agent leaves to the settings is None or empty. `base` are the tools all have."""
    config = agent["config"]
    routing = config.get("llm_routing") or {}
    values: dict[str, Any] = {key: agent[key] for key in PLAIN}
    values |= {key: config.get(key) for key in NUMBERS}
    enabled = config.get("deep_planning_enabled")
    values["deep_planning_enabled"] = "" if enabled is None else "on" if enabled else "off"
    values["deep_planning_style"] = config.get("deep_planning_style") or ""
    listed = config.get("tools")
    values["tools"] = [name for name in base if listed is None or name in listed]
    values["primary_connection_id"] = routing.get("primary_connection_id") or ""
    values["fallback_chain"] = list(routing.get("fallback_chain") or ())
    values["cost_aware"] = bool(routing.get("cost_aware"))
    values["max_fallback_attempts"] = routing.get("max_fallback_attempts", DEFAULT_FALLBACKS)
    tasks = routing.get("task_routing") or {}
    return values | {f"task_{task}": tasks.get(task) or "" for task in TASKS}


def patch_body(agent: Mapping[str, Any], form: Mapping[str, Any], base: Sequence[str]) -> dict[str, Any]:
    """The body of a PATCH that makes the agent what the form says; empty where it says what the agent is."""
    before = values_of(agent, base)
    now = {key: _plain_value(key, form[key]) for key in KEYS}
    different = {key for key in KEYS if now[key] != before[key]}
    body: dict[str, Any] = {key: now[key] for key in PLAIN if key in different}
    config: dict[str, Any] = {key: now[key] for key in NUMBERS if key in different}
    if "deep_planning_enabled" in different:
        config["deep_planning_enabled"] = _ON.get(now["deep_planning_enabled"])
    if "deep_planning_style" in different:
        config["deep_planning_style"] = now["deep_planning_style"] or None
    if "tools" in different:
        config["tools"] = _tool_names(agent["config"].get("tools"), now["tools"], base)
    if different & {*ROUTING, *(f"task_{task}" for task in TASKS)}:
        config["llm_routing"] = _routing_body(now)
    return body | ({"config": config} if config else {})


def field_errors(detail: str) -> dict[str, str]:
    """Validation messages of the API by form key; a message for a field that the form lacks is left out."""
    found: dict[str, str] = {}
    for place, message in _PLACE.findall(detail):
        parts = place.rstrip(".").split(".")
        if parts[0] == "llm_routing":
            parts = [f"task_{parts[2]}"] if parts[1:2] == ["task_routing"] and len(parts) > 2 else parts[1:]
        if parts and parts[0] in KEYS:
            found.setdefault(parts[0], message)
    return found


def _plain_value(key: str, value: Any) -> Any:
    if key in NUMBERS or key == "max_fallback_attempts":
        if value is None or value == "":
            return DEFAULT_FALLBACKS if key == "max_fallback_attempts" else None
        return int(value) if key in WHOLE | {"max_fallback_attempts"} and float(value).is_integer() else value
    if key in ("tools", "fallback_chain"):
        return list(value or ())
    if key in ("whole_workspace", "auto_link_uploads", "cost_aware"):
        return bool(value)
    return value or ""


def _tool_names(listed: Sequence[str] | None, chosen: Sequence[str], base: Sequence[str]) -> list[str] | None:
    """Names that are no base tools stay as they are; all base tools and nothing else is what is not said at all."""
    others = [name for name in listed or () if name not in base]
    if not others and set(chosen) == set(base):
        return None
    return [name for name in base if name in chosen] + others


def _routing_body(now: Mapping[str, Any]) -> dict[str, Any] | None:
    tasks = {task: now[f"task_{task}"] for task in TASKS if now[f"task_{task}"]}
    made = {name: now[name] for name in ("fallback_chain", "cost_aware", "max_fallback_attempts")}
    made |= {"primary_connection_id": now["primary_connection_id"] or None, "task_routing": tasks}
    said = any((made["primary_connection_id"], made["fallback_chain"], tasks, now["cost_aware"]))
    return made if said or now["max_fallback_attempts"] != DEFAULT_FALLBACKS else None
