"""JSON values that are calls, in the shapes that models have learnt from their providers."""

from collections.abc import Mapping
from typing import Any

from cluster.models.reply_json import UnreadableValue, decode_whole
from serve_apps.agents.parsing import python
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import JsonCalls

_NAMES = (
    *("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name", "api_name", "api"),
    *("func", "toolName", "functionName", "call", "tool_call", "function_call", "command", "method"),
)
_ARGUMENTS = (
    *("arguments", "parameters", "args", "input", "params", "tool_input", "action_input", "tool_args"),
    *("tool_arguments", "tool_parameters", "function_args", "function_arguments", "function_parameters", "kwargs"),
    *("inputs", "toolInput", "arguments_json", "action_args", "action_arguments", "argument", "parameter"),
    "tool_params",
)
_WRAPPERS = (
    *("tool_calls", "function_calls", "tool_call", "function_call", "calls", "tool_uses", "actions", "action", "tools"),
    *("functions", "function", "tool", "call", "command", "invoke", "toolCalls", "functionCall", "tool_use"),
)
# Keys that say something about a call and are none of its arguments.
_ABOUT = frozenset(
    {"id", "type", "index", "thought", "thoughts", "reasoning", "explanation", "tool_call_id", "call_id", "status"}
)
_DEEPEST = 4


def find_json_calls(value: Any, names: ToolNames) -> JsonCalls:
    """The calls that a JSON value is; none for data, for the echo of a tool's definition, and for a mere schema."""
    result = JsonCalls()
    _collect_calls(value, names, result, 0)
    return result


def _collect_calls(value: Any, names: ToolNames, result: JsonCalls, depth: int) -> None:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
            name = names.resolve(value[0])
            if name is not None:
                result.calls.append((name, value[1]))
                return
        if written := _python_calls(value, names):
            result.calls.extend(written)
            return
        for item in value:
            _collect_calls(item, names, result, depth + 1)
    elif isinstance(value, dict) and not _read_named_call(value, names, result):
        for key in _WRAPPERS:
            inner = _decode_nested(value.get(key))
            if isinstance(inner, list | dict):
                before = len(result.calls)
                _collect_calls(_with_outer(inner, value, key), names, result, depth + 1)
                if len(result.calls) > before:
                    return
        _read_keyed_calls(value, names, result)


def _python_calls(items: list[Any], names: ToolNames) -> list[tuple[str, Mapping[str, Any] | None]]:
    """`["f(a=1)", "g()"]`: strings that are calls in Python's syntax, all of them; else none."""
    calls: list[tuple[str, Mapping[str, Any] | None]] = []
    for item in items:
        if not isinstance(item, str):
            return []
        text = item.strip()
        found, end = python.read_python_calls(text, 0, names, sure=False)
        if not found or text[end:].strip(" ;,"):
            return []
        calls += [(one.name, one.arguments) for one in found]
    return calls


def _decode_nested(value: Any) -> Any:
    """A value that is JSON inside of a JSON string, as itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decode_whole(value).value
        except UnreadableValue:
            return value
    return value


def _with_outer(inner: Any, outer: Mapping[str, Any], key: str) -> Any:
    """{"function": {"name": "f"}, "arguments": {…}}: the arguments may stand one level too high."""
    if isinstance(inner, dict) and not any(one in inner for one in _ARGUMENTS):
        return {**inner, **{one: outer[one] for one in _ARGUMENTS if one in outer and one != key}}
    return inner


def _read_named_call(value: Mapping[str, Any], names: ToolNames, result: JsonCalls) -> bool:
    """{"name": …, "arguments": …} and its relatives."""
    for key in _NAMES:
        written = value.get(key)
        if not isinstance(written, str) or not written.strip():
            continue
        given = next((one for one in _ARGUMENTS if one in value and one != key), None)
        if names.is_final(written) and given is not None:
            final = value[given]
            result.final = final if isinstance(final, str) else str(next(iter(final.values()), "")) if final else ""
            return True
        name = names.resolve(written)
        if name is None:
            if given is not None and key != "type" and len(written) <= 128:
                result.unknown.append(written.strip())
            continue
        rest = {one: item for one, item in value.items() if one != key and one not in _ABOUT}
        if given is not None:
            if not is_definition(value[given], names, name):
                result.calls.append((name, object_of(value[given], names, name)))
            return True
        if set(rest) <= set(names.properties(name)) and (rest or len(value) == 1 or "type" in value):
            result.calls.append((name, rest))
            return True
    return False


def _read_keyed_calls(value: Mapping[str, Any], names: ToolNames, result: JsonCalls) -> None:
    """{"get_weather": {"city": "Paris"}}."""
    pairs = [(names.resolve(key), _decode_nested(inner)) for key, inner in value.items()]
    if pairs and all(name is not None and isinstance(inner, dict) for name, inner in pairs):
        for name, inner in pairs:
            if name is not None and not is_definition(inner, names, name) and _fits_parameters(inner, names, name):
                result.calls.append((name, inner))


def _fits_parameters(arguments: Mapping[str, Any], names: ToolNames, name: str) -> bool:
    return not arguments or bool(set(arguments) & set(names.properties(name)))


def is_definition(value: Any, names: ToolNames, name: str) -> bool:
    """True if the "arguments" are a JSON schema: a tool's definition repeated, not called."""
    if not isinstance(value, dict) or "properties" in names.properties(name):
        return False
    return isinstance(value.get("properties"), dict) and ("type" in value or "required" in value)


def object_of(value: Any, names: ToolNames, name: str) -> Mapping[str, Any] | None:
    """Arguments as an object: encoded twice, empty, a list of pairs or one value for the only parameter; else None."""
    for _ in range(3):
        if isinstance(value, str) and value.strip():
            try:
                value = decode_whole(value).value
            except UnreadableValue:
                break
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict) and not {"name", "value"} <= set(value[0]):
            return value[0]
        if all(isinstance(item, dict) and {"name", "value"} <= set(item) for item in value):
            return {str(item["name"]): item["value"] for item in value}
        return None
    only = names.only_text(name)
    return {only: value if isinstance(value, str) else str(value)} if only is not None else None
