"""Calls without markers: in fences, as bare JSON, as Python on lines of their own, as a name above its JSON."""

import re
from itertools import islice

from cluster.models.reply_json import UnreadableValue, decode_json
from serve_apps.agents.parsing import python
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import CallCandidate, ParseResult
from serve_apps.agents.parsing.quoted import is_quoted
from serve_apps.agents.parsing.shapes import find_json_calls, object_of

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+\-.]*)[^\n`]*$", re.MULTILINE)
_ONE_LINE = re.compile(r"```(?:json|python|tool_code|tool_call)?[ \t]*([^`\n]{2,4000})```")
_CODE = frozenset({"python", "py", "tool_code", "python3"})
# Comments, results shown, and the head of a function around a call that it returns.
_IDLE = re.compile(
    r"[ \t]{0,40}(?:#|print\(\s?[A-Za-z_]\w{0,60}\s?\)\s?$|def [A-Za-z_]\w{0,60}\(\)[^\n:]{0,60}:\s{0,9}$)"
)
_OPENER = re.compile(r"[\[{](?=\s{0,40}(?:[\[{\"'“]|\w{1,40}\s?[:=]))")
_NAME_LINE = re.compile(
    rf"^[ \t]{{0,3}}(?:>>>)?[*_`]{{0,3}}({python.NAME})[*_`]{{0,3}}[ \t]{{0,4}}:?[ \t]{{0,4}}"
    r"(?:\n{1,2}[ \t]{0,8})?(?:```(?:json)?\n[ \t]{0,8})?(?=\{)",
    re.MULTILINE,
)
_LINE = re.compile(
    r"^[ \t]{0,3}(?:(?:[-*]|\d{1,2}[.)])[ \t])?[`*]{0,2}(?=\[?(?:\w{1,60} ?= ?)?\s{0,8}"
    rf"(?:print\s?\(\s?)?{python.NAME}\s?\()",
    re.MULTILINE,
)
_RETURN = re.compile(rf"^[ \t]{{4,40}}(?=return\s{{1,8}}\[?{python.NAME}\s?\()", re.MULTILINE)
_STRINGS = re.compile(r"\s{0,40}\[\s{0,40}['\"]")  # a list of strings, of which each may be a call
_INLINE_LIST = re.compile(rf"\[(?={python.NAME}\s?\()")
_CALLING = re.compile(rf"(?:<<function>>|\b[Cc]all(?:ing)?:)\s{{0,8}}(?={python.NAME}\s?\()")
_WORK = 3  # how often the text may be read over by attempts that come to nothing
_ATTEMPT = 200  # characters' worth of work in an attempt that ends at once
_MOST = 300


def read_loose_calls(text: str, names: ToolNames) -> ParseResult:
    """Calls in fences and in bare JSON, else in Python's syntax, else JSON under a tool's name."""
    reading = ParseResult()
    for begin, at, stop, language in find_fences(text):
        if not is_quoted(text, begin):
            reading.calls.extend(_read_fence(text, begin, at, stop, language, names, reading))
    _read_bare_json(text, names, reading)
    if not reading.calls:
        _read_python_lines(text, names, reading)
    if not reading.calls:
        _under_names(text, names, reading)
    reading.calls.sort(key=lambda found: found.start)
    return reading


def find_fences(text: str) -> list[tuple[int, int, int, str]]:
    """Fenced blocks: where the fence begins, where its text begins and stops, and its language in lower case."""
    blocks, opened = list[tuple[int, int, int, str]](), None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif not match[2] and match[1].startswith(opened[1]):
            blocks.append((opened.start(), opened.end() + 1, match.start(), opened[2].lower()))
            opened = None
    if opened is not None:
        blocks.append((opened.start(), min(opened.end() + 1, len(text)), len(text), opened[2].lower()))
    blocks += [(match.start(), match.start(1), match.end(1), "") for match in _ONE_LINE.finditer(text)]
    return blocks[:_MOST]


def _read_fence(
    text: str, begin: int, at: int, stop: int, language: str, names: ToolNames, reading: ParseResult
) -> list[CallCandidate]:
    """A block counts if it is calls and nothing else: code that also calls is an example of code."""
    body = text[at:stop]
    end = min(len(text), stop + 4)
    lead = len(body) - len(body.lstrip())
    values = _STRINGS.match(body) or (body.strip()[:1] in ("{", "[") and language not in _CODE)
    if values and (calls := _read_json_values(body, lead, names, reading)):
        return [_shift_call(call, begin, end, at) for call in calls]
    if language in _CODE:
        body = "\n".join("" if _IDLE.match(line) else line for line in body.splitlines())
        lead = len(body) - len(body.lstrip())
    calls, last = python.read_python_calls(body, lead, names, sure=True)
    if calls and not body[last:].strip(" \t\r\n;)`"):
        return [_shift_call(call, begin, end, at) for call in calls]
    head = _NAME_LINE.match(body.lstrip())
    if head and (name := names.resolve(head[1])) is not None:
        found = _json_of(body, lead + head.end(), lead, name, names)
        return [_shift_call(found, begin, end, at)] if found else []
    return []


def _shift_call(call: CallCandidate, begin: int, end: int, offset: int) -> CallCandidate:
    unfinished = not call.closed and end >= offset + call.end
    return CallCandidate(begin, end, call.name, call.arguments, call.raw, call.repaired, not unfinished)


def _read_json_values(body: str, at: int, names: ToolNames, reading: ParseResult) -> list[CallCandidate]:
    calls = list[CallCandidate]()
    while body[at : at + 1] in ("{", "["):
        try:
            decoded = decode_json(body, at)
        except UnreadableValue:
            return calls or _read_doubled_braces(body, at, names, reading)
        shape = find_json_calls(decoded.value, names)
        reading.note(shape)
        raw = body[at : decoded.end]
        calls += [
            CallCandidate(at, decoded.end, name, given, raw, decoded.repaired, decoded.closed)
            for name, given in shape.calls
        ]
        at = python.skip_pattern(body, decoded.end, r"[\s,;]*")
    return calls


def _read_doubled_braces(body: str, at: int, names: ToolNames, reading: ParseResult) -> list[CallCandidate]:
    """`{{"name": …}}`, by models that copy a prompt's escaped braces."""
    return _read_json_values(body, at + 1, names, reading) if body[at : at + 2] == "{{" else []


def _read_bare_json(text: str, names: ToolNames, reading: ParseResult) -> None:
    """JSON anywhere outside of the fences, unless it is quoted."""
    taken = [(begin, stop) for begin, _, stop, _ in find_fences(text)]
    at = spent = 0
    while spent <= _WORK * len(text) + 20_000 and (match := _OPENER.search(text, at)):
        begin = match.start()
        inside = next((stop for start, stop in taken if start <= begin < stop), None)
        if inside is not None:
            at = inside
            continue
        try:
            decoded = decode_json(text, begin)
        except UnreadableValue as error:
            at, spent = begin + 1, spent + max(error.at - begin, 0) + _ATTEMPT
            continue
        shape = find_json_calls(decoded.value, names)
        if shape.calls and not is_quoted(text, begin):
            raw = text[begin : decoded.end]
            reading.calls.extend(
                CallCandidate(begin, decoded.end, name, given, raw, decoded.repaired, decoded.closed)
                for name, given in shape.calls
            )
        elif not is_quoted(text, begin):
            reading.note(shape)
        at = decoded.end if shape.calls or not decoded.repaired else begin + 1
        spent += 0 if shape.calls else decoded.end - begin


def _read_python_lines(text: str, names: ToolNames, reading: ParseResult) -> None:
    """Python's syntax that fills lines, or a list of such calls at the end of one."""
    taken = [(begin, stop) for begin, _, stop, _ in find_fences(text)]
    matches = [one for way in (_LINE, _RETURN, _INLINE_LIST, _CALLING) for one in islice(way.finditer(text), _MOST)]
    at = 0
    for match in sorted(matches, key=lambda one: one.start()):
        begin = match.start() if match[0].endswith("[") else match.end()
        whole = match[0].endswith("[") or text[match.end() : match.end() + 1] == "["
        if begin < at or any(start <= begin < stop for start, stop in taken) or is_quoted(text, begin):
            continue
        calls, end = python.read_python_calls(text, begin, names, sure=whole)
        rest = text[end : end + 200].split("\n")[0].strip("`*_ \t.;,<|")
        if calls and (whole or not rest or rest.startswith(("bot_end", "Thought"))):
            reading.calls.extend(calls)
            at = end


def _under_names(text: str, names: ToolNames, reading: ParseResult) -> None:
    """A line that is a tool's name, and its arguments behind or below it."""
    for match in list(_NAME_LINE.finditer(text))[:_MOST]:
        name = names.resolve(match[1])
        if name is None or is_quoted(text, match.start()):
            continue
        if (found := _json_of(text, match.end(), match.start(), name, names)) is not None:
            reading.calls.append(found)


def _json_of(text: str, at: int, begin: int, name: str, names: ToolNames) -> CallCandidate | None:
    try:
        decoded = decode_json(text, at)
    except UnreadableValue:
        return None
    arguments = object_of(decoded.value, names, name)
    if arguments is None or not set(arguments) <= set(names.properties(name)):
        return None
    return CallCandidate(begin, decoded.end, name, arguments, text[at : decoded.end], decoded.repaired, decoded.closed)
