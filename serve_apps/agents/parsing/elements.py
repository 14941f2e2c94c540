"""Calls written as XML-like elements: `<function=f>`, `<invoke name="f">`, `<f><city>Paris</city></f>`."""

import contextlib
import re
from typing import Any

from cluster.models.reply_json import UnreadableValue, decode_json
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import CallCandidate, ParseResult
from serve_apps.agents.parsing.shapes import object_of

_CALL = re.compile(
    r"<(function|tool|invoke|tool_call|function_call|call|tool_use)"
    r"(?:\s*=\s*|\s+(?:name|tool|function)\s*=\s*)([\"']?)([^\"'<>\n]{1,128}?)\2(?:\s[^<>]{0,80})?(/?)>",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"<(?:tool_name|function_name|function|name|tool)>\s*([^<>\n]{1,128}?)\s*"
    r"</(?:tool_name|function_name|function|name|tool)>",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<(parameter|param|arg|argument)(?:\s*=\s*|\s+(?:name|key)\s*=\s*)([\"']?)([^\"'<>\n]{1,128}?)\2(\s[^<>]{0,80})?>",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(r"<(arguments|parameters|args|input|tool_input|params)>\s*", re.IGNORECASE)
_PAIR = re.compile(r"<arg_key>([^<>]{1,128})</arg_key>\s*<arg_value>", re.IGNORECASE)
_TAG = re.compile(r"<([A-Za-z_][\w.\-]{0,127})>")
_MOST = 200


def read_elements(text: str, names: ToolNames) -> ParseResult:
    """Calls whose tag names the tool, whose attribute does, or whose first child does."""
    reading = ParseResult()
    at = 0
    for _ in range(_MOST):
        if (match := _CALL.search(text, at)) is None:
            break
        name, at = names.resolve(match[3]), match.end()
        if name is None:
            reading.unknown.append(match[3])
            continue
        if match[4]:
            reading.calls.append(CallCandidate(match.start(), at, name, {}))
            continue
        stop, end = _body_end(text, at, match[1])
        reading.calls.append(_read_call(text, match.start(), at, stop, end, name, names))
        at = end
    if not reading.calls:
        _read_child_calls(text, names, reading)
    if not reading.calls:
        _read_tool_tags(text, names, reading)
    return reading


def _body_end(text: str, at: int, tag: str) -> tuple[int, int]:
    """End of an element's body and of the element; without an end tag, the next call or the text's end."""
    closing = re.compile(rf"</{re.escape(tag)}\s*>", re.IGNORECASE).search(text, at)
    following = _CALL.search(text, at)
    if closing and (following is None or closing.start() < following.start()):
        return closing.start(), closing.end()
    if following:
        return following.start(), following.start()
    return len(text), len(text)


def _read_call(text: str, begin: int, at: int, stop: int, end: int, name: str, names: ToolNames) -> CallCandidate:
    body = text[at:stop]
    given = read_parameters(body)
    if given:
        return CallCandidate(begin, end, name, given, body)
    inner = _ARGUMENTS.match(body.lstrip())
    source = body.lstrip()[inner.end() :] if inner else body
    if source.lstrip()[:1] == "{":
        try:
            decoded = decode_json(source)
        except UnreadableValue:
            return CallCandidate(begin, end, name, None, body)
        found = object_of(decoded.value, names, name)
        return CallCandidate(begin, end, name, found, body, decoded.repaired, decoded.closed)
    given = read_pairs(body) or _read_properties(body, name, names)
    return CallCandidate(begin, end, name, given if given or not body.strip() else None, body)


def read_parameters(body: str) -> dict[str, Any]:
    """`<parameter=k>v</parameter>` and `<parameter name="k">v</parameter>`; values are text unless they say not."""
    opened = list(_PARAMETER.finditer(body))
    result = dict[str, Any]()
    for match, limit in zip(opened, _stop_limits(opened, body), strict=True):
        closing = body.find(f"</{match[1]}", match.end(), limit)
        value: Any = _trim_value(body[match.end() : closing if closing >= 0 else limit])
        if 'string="false"' in (match[4] or ""):
            with contextlib.suppress(UnreadableValue):  # else it stays text, and the schema's check names it
                value = decode_json(value).value
        result[match[3]] = value
    return result


def read_pairs(body: str) -> dict[str, Any]:
    """`<arg_key>k</arg_key><arg_value>v</arg_value>`, as GLM writes arguments."""
    opened = list(_PAIR.finditer(body))
    result = dict[str, Any]()
    for match, limit in zip(opened, _stop_limits(opened, body), strict=True):
        closing = body.find("</arg_value>", match.end(), limit)
        result[match[1].strip()] = _trim_value(body[match.end() : closing if closing >= 0 else limit])
    return result


def _stop_limits(opened: list[re.Match[str]], text: str) -> list[int]:
    """Latest end of each of these: the start of the next, or the text's end."""
    return [match.start() for match in opened[1:]] + [len(text)] if opened else []


def _trim_value(value: str) -> str:
    """Templates put one line break on either side of a value; what else is there belongs to it."""
    return value.removeprefix("\n").removesuffix("\n") if "\n" in value.strip() else value.strip()


def _read_child_calls(text: str, names: ToolNames, reading: ParseResult) -> None:
    """`<name>f</name><arguments>{…}</arguments>`."""
    opened = list(_NAME.finditer(text))[:_MOST]
    for match, limit in zip(opened, _stop_limits(opened, text), strict=True):
        name = names.resolve(match[1])
        inner = _ARGUMENTS.search(text, match.end(), limit)
        if name is None or inner is None:
            continue
        closing = text.find("</" + inner[1], inner.end(), limit)
        stop = closing if closing >= 0 else limit
        end = text.find(">", stop) + 1 or limit
        reading.calls.append(_read_call(text, match.start(), inner.end(), stop, end, name, names))


def _read_tool_tags(text: str, names: ToolNames, reading: ParseResult) -> None:
    """`<f><city>Paris</city></f>`: the tag is the tool, its children are its parameters."""
    at = 0
    for _ in range(_MOST):
        if (match := _TAG.search(text, at)) is None:
            return
        at = match.end()
        name = names.resolve(match[1])
        closing = text.find(f"</{match[1]}>", at) if name is not None else -1
        if name is None or closing < 0:
            continue
        found = _read_call(text, match.start(), at, closing, closing + len(match[1]) + 3, name, names)
        if found.arguments is not None:
            reading.calls.append(found)
            at = found.end


def _read_properties(body: str, name: str, names: ToolNames) -> dict[str, Any]:
    result = dict[str, Any]()
    for key in names.properties(name):
        opening = body.find(f"<{key}>")
        closing = body.find(f"</{key}>", opening) if opening >= 0 else -1
        if closing >= 0:
            result[key] = _trim_value(body[opening + len(key) + 2 : closing])
    return result
