"""Calls between markers: special tokens, brackets and tags that chat templates teach models to write."""

import re

from cluster.models.reply_json import UnreadableValue, decode_json
from serve_apps.agents.parsing import elements, python
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import CallCandidate, ParseResult
from serve_apps.agents.parsing.shapes import find_json_calls, object_of

# Vendors' namespaces and token spellings that say the same: ｜DSML｜, antml:, minimax:, seed:, atem:, ▁ for _.
_NAMESPACE = re.compile(
    r"<(/?)\s*(?:[|｜]{1,2}\s*DSML\s*[|｜]{1,2}|[a-z]{2,9}:)\s*"
    r"(?=(?:invoke|parameter|function_calls?|tool_calls?|function|calls)\b)"
)
_TOKEN = re.compile(r"<[|｜]{1,2}(/?[^<>|｜\n]{1,40})[|｜]{1,2}>")

_WORDS = (
    r"tool_?calls?|tools|tool_use|tool|function_?calls?|functions?|longcat_tool_call|call|calls|action|execute_tool"
)
_OPEN = re.compile(
    rf"<\|?(?:{_WORDS})>|<(?:start_function_call|<function>)>"
    r"|<\|(?:tool_calls?(?:_section)?(?:_begin|_start)?|tool_list_start|python_tag|python_start|action_start|plugin"
    r"|START_ACTION|tools_prefix|function_calls?|message_model)\|>"
    r"|\[(?:TOOL_CALLS?|TOOL_REQUEST|FUNCTION_CALLS?)\]|(?<![\w.])functools(?=\s?\[)|✿FUNCTION✿\s*:"
    r"|\bto=(?:functions\.)?(?=[\w.\-]{1,128}[^{}<>]{0,40}<\|)",
    re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"</\|?(?:{_WORDS})>|<(?:tool_call|end_function_call)\|?>|<\|/?[A-Za-z_]*(?:_end|END_ACTION|tools_suffix|eom_id|eot_id"
    r"|im_end|tool_call|tool_calls|call|end|end_message)\|>|\[/?END_TOOL_REQUEST\]|\[/[A-Z_]+\]|✿RESULT✿|</s>"
)
_HEAD = re.compile(
    r"\s*(?:function\s*<\|tool_sep\|>|function\b|call:|<\|plugin\|>)?\s*"
    rf"({python.NAME})(?:\s*:\s*\d{{1,3}})?"
    r"(?:\s|<\|[\w ]{1,40}\|>|\[CALL_ID\]\w*|\[ARGS\]|✿ARGS✿|[:,]|json\b){0,12}"
)
_FENCE = re.compile(r"\s*```[\w+\-]*[ \t]*\n?")
_QUOTES = re.compile(r'<\|"\|>|<escape>')
_MOST = 200


def normalise_markers(text: str) -> str:
    """The text with vendors' spellings of one marker made one, so that offsets count in what this returns."""
    text = text.replace("]<]minimax[>[", "")
    text = _NAMESPACE.sub(r"<\1", text)
    return _TOKEN.sub(lambda match: f"<|{match[1].replace('▁', '_').strip()}|>", text)


def read_tagged_calls(text: str, names: ToolNames) -> ParseResult:
    """Calls behind opening markers, up to the next marker or as far as their own syntax goes."""
    reading = elements.read_elements(text, names)
    if reading.calls:
        return reading
    at, read = 0, 0
    while read < _MOST and (match := _OPEN.search(text, at)):
        read += 1
        at = match.end()
        calls, end = _read_marker(text, match.start(), at, _marker_stop(text, at), names, reading)
        if calls:
            reading.calls.extend(calls)
            at = max(end, at)
    return reading


def _marker_stop(text: str, at: int) -> int:
    ends = [one.start() for one in (_OPEN.search(text, at), _CLOSE.search(text, at)) if one and one.start() > at]
    return min(ends, default=len(text))


def _read_marker(
    text: str, begin: int, at: int, stop: int, names: ToolNames, reading: ParseResult
) -> tuple[list[CallCandidate], int]:
    """Calls of one marker: JSON, a name and JSON, Python's syntax, or a name and elements."""
    if fence := _FENCE.match(text, at):
        at = fence.end()
    calls, end = _read_json_calls(text, begin, at, names, reading)
    if not calls:
        calls, end = python.read_python_calls(text, at + len(text[at:]) - len(text[at:].lstrip()), names, sure=True)
    while not calls and (head := _HEAD.match(text, at)):
        found = _read_named_call(text, begin, head, stop, names, reading)
        if found is None:
            break
        calls, end = [found], found.end
    return calls, end


def _read_json_calls(
    text: str, begin: int, at: int, names: ToolNames, reading: ParseResult
) -> tuple[list[CallCandidate], int]:
    """One JSON value after another, with nothing but separators between them."""
    calls = list[CallCandidate]()
    while True:
        at = python.skip_pattern(text, at, r"[\s,;]*(?:<\|?/?tool_calls?\|?>[\s,;]*)*")
        if text[at : at + 1] not in ("{", "["):
            return calls, at
        try:
            decoded = decode_json(text, at)
        except UnreadableValue:
            broken = _broken_call(text, begin, at, names)
            return [*calls, *([broken] if broken else [])], at if broken is None else broken.end
        shape = find_json_calls(decoded.value, names)
        reading.note(shape)
        for name, arguments in shape.calls:
            raw = text[at : decoded.end]
            calls.append(CallCandidate(begin, decoded.end, name, arguments, raw, decoded.repaired, decoded.closed))
        at = begin = decoded.end
        if not shape.calls:
            return calls, at


_STATED = re.compile(r"[\"'](?:name|tool_name|tool|function|action)[\"']\s*:\s*[\"']([^\"'\n]{1,128})[\"']")


def _broken_call(text: str, begin: int, at: int, names: ToolNames) -> CallCandidate | None:
    """A call whose JSON cannot be read, but whose name can: the model is told, instead of the user."""
    stated = _STATED.search(text, at, at + 400)
    name = names.resolve(stated[1]) if stated else None
    return None if name is None else CallCandidate(begin, len(text), name, None, text[at:])


def _read_named_call(
    text: str, begin: int, head: re.Match[str], stop: int, names: ToolNames, reading: ParseResult
) -> CallCandidate | None:
    name = names.resolve(head[1])
    if name is None:
        if text[head.end() : head.end() + 1] == "{":
            reading.unknown.append(head[1])
        return None
    at = head.end()
    if fence := _FENCE.match(text, at):
        at = fence.end()
    region = text[at:stop]
    if text[at : at + 1] == "{":
        source, offset = (_QUOTES.sub('"', region), None) if _QUOTES.search(region) else (text, at)
        try:
            decoded = decode_json(source, 0 if offset is None else at)
        except UnreadableValue:
            return CallCandidate(begin, stop, name, None, region)
        end = stop if offset is None else decoded.end
        inner = find_json_calls(decoded.value, names).calls  # some repeat the name inside
        arguments = inner[0][1] if len(inner) == 1 else object_of(decoded.value, names, name)
        return CallCandidate(begin, end, name, arguments, region, decoded.repaired, decoded.closed)
    pairs = elements.read_pairs(region)
    if pairs or not region.strip():
        return CallCandidate(begin, stop, name, pairs, region)
    return None
