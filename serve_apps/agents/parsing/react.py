"""Thought / ACTION / ACTION_INPUT transcripts in the many ways they are written.

No source gives the original grammar; this one is authored: labels begin a line, in any case, numbered or marked up.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from cluster.models.reply_json import DecodedJson, UnreadableValue, decode_json
from serve_apps.agents.parsing import python
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import CallCandidate, ParseResult
from serve_apps.agents.parsing.quoted import is_quoted
from serve_apps.agents.parsing.shapes import find_json_calls, object_of

_BEFORE = r"^(?P<indent>[ \t]*)(?:[-*+][ \t]+|#{1,6}[ \t]+|\d{1,3}[.)][ \t]+)?[*_`\[]{0,3}"
_AFTER = r"(?:[ \t]{0,3}#?\d{1,3})?[*_`\]]{0,3}[ \t]{0,3}[:：][*_`]{0,3}"
_LABEL = re.compile(
    _BEFORE + r"(?:(?P<input>action[ _\-]?(?:input|arguments?|args|parameters?|params)"
    r"|(?:tool|function)[ _\-]?(?:input|arguments?|args|parameters?|params)|input|arguments?|args|parameters?|params)"
    r"|(?P<action>action(?:[ _]?name)?)|(?P<tool>tool(?:[ _](?:name|call|to use))?|function(?:[ _](?:name|call))?|call)"
    r"|(?P<observation>observations?|tool[ _](?:result|response|output))|(?P<final>final[ _\-]?answer)"
    r"|(?P<thought>th?o?u?ght|reasoning|reflection))" + _AFTER,
    re.IGNORECASE | re.MULTILINE,
)
_WAITING = re.compile(r"^[ \t]*wait(?:ing)?\b[^\n]{0,40}\bobservation\b", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"\s*(?:```[\w+\-]*[ \t]*\n?|`)")
_BRACKET = re.compile(rf"\s*[*_`]{{0,2}}({python.NAME})[*_`]{{0,2}}\s*\[")
_HEAD = re.compile(r"[*_`\"'\s]*(?:(?:use|call|invoke|run)\s+)?(?:the\s+)?([^\n:({\[]{1,128})")
_MOST = 400


@dataclass(frozen=True, slots=True)
class _Part:
    kind: str
    start: int
    at: int
    stop: int
    indent: int


def read_transcript(text: str, names: ToolNames) -> ParseResult:
    """Calls of a transcript up to the first observation, which the model had no business to write.

    A final answer beside an action is not one; without an action it is the answer.
    """
    reading = ParseResult()
    at = 0
    parts = _split_parts(text, 0, len(text))
    while parts:
        part = parts.pop(0)
        if part.start < at:
            continue  # a label inside of arguments that were read
        if part.kind == "observation" and (reading.calls or reading.unknown):
            reading.observed = True
            break
        if part.kind == "final" and reading.calls:
            reading.premature = True
            break
        if part.kind == "final" and reading.final is None:
            reading.final = text[part.at : _final_stop(parts, len(text))].strip()
        if part.kind in ("action", "tool") and part.indent < 4 and not is_quoted(text, part.start):
            at = max(at, _read_action(text, part, parts, names, reading))
    if reading.calls and reading.final is not None:
        reading.final, reading.premature = None, True
    return reading


def transcript_parts(text: str) -> list[tuple[str, int, int]]:
    """Parts of a transcript that holds no call: kind, and where its text begins and stops."""
    return [(part.kind, part.at, part.stop) for part in _split_parts(text, 0, len(text))]


def _split_parts(text: str, start: int, stop: int) -> list[_Part]:
    matches = []
    for match in _LABEL.finditer(text, start, stop):
        matches.append((str(match.lastgroup), match.start(), match.end(), len(match["indent"].expandtabs(4))))
        if len(matches) >= _MOST:
            break
    matches += [("observation", match.start(), match.end(), 0) for match in _WAITING.finditer(text, start, stop)]
    matches.sort(key=lambda one: one[1])
    ends = [one[1] for one in matches[1:]] + [stop][: len(matches)]
    return [_Part(kind, begin, at, end, indent) for (kind, begin, at, indent), end in zip(matches, ends, strict=True)]


def _final_stop(parts: list[_Part], end: int) -> int:
    """A final answer may have lines that look like inputs; thoughts, actions and observations end it."""
    return next((part.start for part in parts if part.kind in ("action", "observation", "thought")), end)


def _read_action(text: str, part: _Part, parts: list[_Part], names: ToolNames, reading: ParseResult) -> int:
    """Read one action with its input; returns where it ends."""
    given = next((one for one in parts[:1] if one.kind == "input"), None)
    line = text[part.at : part.stop]
    inline = _read_inline(text, part, names, reading, sure=part.kind == "action" or given is not None)
    if inline:
        name = inline[-1].name
        end = inline[-1].end
        if given and len(inline) == 1 and given.start >= end - 1:
            second = _read_input(text, given, part, name, names)
            if second.arguments is not None and _is_better_input(second.arguments, inline[0].arguments, name, names):
                inline = [second]
            end = max(end, second.end)
        _add_calls(reading, inline)
        return end
    head = _HEAD.match(line)
    written = head[1].strip().strip("*_`\"'. ") if head else ""
    resolved = names.resolve(written) or (names.within(line) if given else None)
    if resolved is None:
        if names.is_final(written):
            answer = given or part
            reading.final = text[answer.at : answer.stop].strip()
        elif written and given and part.kind == "action":
            reading.unknown.append(written)
        return part.at
    if given is None:
        return _without_input(text, part, line, resolved, names, reading)
    found = _read_input(text, given, part, resolved, names)
    if part.kind == "tool" and found.arguments is None:
        return part.at
    _add_calls(reading, [found])
    return found.end


def _read_inline(text: str, part: _Part, names: ToolNames, reading: ParseResult, *, sure: bool) -> list[CallCandidate]:
    """Arguments on the action's own line: `f(a=1)`, `f[x]`, `f {…}`, or a whole call as JSON."""
    at = part.at
    while fence := _FENCE.match(text, at, part.stop):
        at = fence.end()
    body = text[at : part.stop].lstrip(" \t\n*_")
    at = part.stop - len(body)
    if body[:1] in ("{", "["):
        try:
            decoded = decode_json(text, at)
        except UnreadableValue:
            decoded = DecodedJson(None, at)
        shape = find_json_calls(decoded.value, names)
        reading.note(shape)
        raw = text[at : decoded.end]
        if shape.calls:
            return [_make_candidate(part.start, decoded, name, given, raw) for name, given in shape.calls]
    calls, end = python.read_python_calls(text, at, names, sure=sure)
    if calls and end <= max(part.stop, calls[-1].end):
        return [replace(call, start=part.start) for call in calls]
    bracket = _BRACKET.match(text, at)
    name = names.resolve(bracket[1]) if bracket else None
    if bracket and name is not None:
        return _read_bracketed(text, part, bracket.end(), name, names)
    head = re.compile(rf"\s*[*_`]{{0,2}}({python.NAME})[*_`]{{0,2}}[ \t]*[:,]?\s*(?=\{{)").match(text, at)
    name = names.resolve(head[1]) if head else None
    if head and name is not None:
        try:
            decoded = decode_json(text, head.end())
        except UnreadableValue:
            return []
        given = object_of(decoded.value, names, name)
        return [_make_candidate(part.start, decoded, name, given, text[head.end() : decoded.end])]
    return []


def _make_candidate(
    start: int, decoded: DecodedJson, name: str, arguments: Mapping[str, Any] | None, raw: str
) -> CallCandidate:
    return CallCandidate(start, decoded.end, name, arguments, raw, decoded.repaired, decoded.closed)


def _read_bracketed(text: str, part: _Part, at: int, name: str, names: ToolNames) -> list[CallCandidate]:
    """`Search[some entity]`: the bracket's text is the only parameter, or several parameters in order."""
    line_end = text.find("\n", at)
    stop = min(part.stop, line_end if line_end >= 0 else len(text))
    close = text.rfind("]", at, stop)
    if close < 0:
        return []
    inside = text[at:close].strip()
    arguments = _free_text_argument(inside, name, names)
    if arguments is None:
        with suppress(UnreadableValue):
            arguments = python.read_keywords(inside, name, names)
    return [CallCandidate(part.start, close + 1, name, arguments, inside)]


def _free_text_argument(inside: str, name: str, names: ToolNames) -> dict[str, Any] | None:
    only = names.only_text(name)
    if not inside:
        return {} if not names.required(name) else None
    if only is None or re.match(rf"{re.escape(only)}\s*=", inside):
        return None
    quoted = len(inside) > 1 and inside[0] == inside[-1] and inside[0] in "\"'"
    return {only: inside[1:-1] if quoted else inside}


def _read_input(text: str, given: _Part, part: _Part, name: str, names: ToolNames) -> CallCandidate:
    """The input after its label: JSON, keywords, `key: value` lines, or free text for the only parameter."""
    at = given.at
    while fence := _FENCE.match(text, at, given.stop):
        at = fence.end()
    body = text[at : given.stop]
    if body.lstrip()[:1] in ("{", "[") or (body.lstrip()[:1] == '"' and names.only_text(name) is not None):
        try:
            decoded = decode_json(text, at)
        except UnreadableValue:
            return CallCandidate(part.start, given.stop, name, None, body.strip())
        arguments = object_of(decoded.value, names, name)
        shape = find_json_calls(decoded.value, names)
        if len(shape.calls) == 1 and shape.calls[0][0] == name:
            arguments = shape.calls[0][1]
        if arguments is not None or body.lstrip()[:1] == "{":
            return _make_candidate(part.start, decoded, name, arguments, text[at : decoded.end])
    plain = body.split("```")[0].strip().strip("`").strip()
    return CallCandidate(part.start, given.stop, name, _read_plain_input(plain, name, names), plain)


def _read_plain_input(text: str, name: str, names: ToolNames) -> dict[str, Any] | None:
    properties = names.properties(name)
    if not text or text.lower() in ("none", "n/a", "null", "()", "{}", "-"):
        return {} if not names.required(name) else None
    lines = [line.strip("-* \t").partition(":") for line in text.splitlines() if line.strip()]
    if all(separator and key.strip("\"'` ") in properties for key, separator, _ in lines):
        return {key.strip("\"'` "): value.strip().strip("\"'") for key, _, value in lines}
    try:
        return (
            python.read_keywords(text, name, names)
            if re.match(r"\w+\s*=", text)
            else _free_text_argument(text, name, names)
        )
    except UnreadableValue:
        return _free_text_argument(text, name, names)


def _without_input(text: str, part: _Part, line: str, name: str, names: ToolNames, reading: ParseResult) -> int:
    """`ACTION: f` alone: a call if it needs no arguments, or one with a problem if it is the last word."""
    rest = line.strip().strip("*_`\"'. ")
    if part.kind != "action" or names.resolve(rest) != name:
        return part.at
    if not names.required(name):
        reading.calls.append(CallCandidate(part.start, part.stop, name, {}, ""))
    elif not text[part.stop :].strip():
        reading.calls.append(CallCandidate(part.start, part.stop, name, None, ""))
    return part.stop


def _is_better_input(second: Mapping[str, Any], first: Mapping[str, Any] | None, name: str, names: ToolNames) -> bool:
    """Two inputs for one action: the one that fits the schema counts, and the labelled one of two that do."""
    if first is None:
        return True
    required, known = set(names.required(name)), set(names.properties(name))
    return (required <= set(second), set(second) <= known) >= (required <= set(first), set(first) <= known)


def _add_calls(reading: ParseResult, calls: list[CallCandidate]) -> None:
    """Small models repeat an action until they are stopped: the same one again is not another."""
    seen = {(call.name, repr(call.arguments)) for call in reading.calls}
    reading.calls.extend(call for call in calls if (call.name, repr(call.arguments)) not in seen)
