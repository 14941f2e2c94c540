"""A reply becomes calls or an answer."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from cluster.models.messages import ModelReply, ToolCall, ToolSpec
from cluster.models.reply_json import UnreadableValue, decode_strict, decode_whole
from serve_apps.agents.parsing import reasoning
from serve_apps.agents.parsing.coerce import coerce_arguments, schema_types
from serve_apps.agents.parsing.loose import read_loose_calls
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import CallCandidate, ParsedCall, ParsedReply, ParseResult
from serve_apps.agents.parsing.quoted import is_quoted
from serve_apps.agents.parsing.react import read_transcript, transcript_parts
from serve_apps.agents.parsing.shapes import object_of
from serve_apps.agents.parsing.tagged import normalise_markers, read_tagged_calls

_LONGEST = 400_000  # characters that are read for calls; replies are far shorter


def parse_reply(reply: ModelReply, tools: Sequence[ToolSpec], run_key: str) -> ParsedReply:
    """Calls of a reply, native ones first, else those in its text; without any, its text is the answer.

    Never raises: what cannot be read becomes a call with a `problem`, which the model is told. Names other than those
    of the offered `tools` are no calls (a native call of one has a `problem`). `run_key` is the same for this reply
    whenever it is read, another for other replies: ids are derived from it.
    """
    names = ToolNames(tools)
    thought, said = reasoning.split_reasoning(reply.content)
    thought = "\n".join(part for part in (reply.reasoning.strip(), thought) if part)
    if reply.tool_calls:
        calls = _drop_repeats(_native_calls(reply.tool_calls, names, run_key))
        repaired = any(call.problem is None and not _is_strict_json(call.raw) for call in calls)
        return ParsedReply(calls, _join_parts(thought, reasoning.strip_tokens(said)), repaired=repaired)
    text = normalise_markers(said)
    reading = _best_result(text[:_LONGEST], names)
    if reading.calls:
        found = reading.calls
        cut = reply.finish_reason == "length"
        return ParsedReply(
            _drop_repeats(tuple(_text_call(one, number, names, run_key, cut) for number, one in enumerate(found))),
            _join_parts(thought, _text_around(text, found, reading)),
            unknown=tuple(dict.fromkeys(reading.unknown)),
            observed=reading.observed,
            premature=reading.premature,
            repaired=any(one.repaired for one in found),
        )
    return _answer_reply(said, thought, reading)


def _best_result(text: str, names: ToolNames) -> ParseResult:
    """The way of reading whose first call begins first; markers before transcripts before loose calls."""
    if not names.mentioned(text):
        return read_transcript(text, names)
    tagged = read_tagged_calls(text, names)
    tagged.calls = [found for found in tagged.calls if not is_quoted(text, found.start)]  # an example is none
    readings = [tagged, read_transcript(text, names), read_loose_calls(text, names)]
    if calling := [reading for reading in readings if reading.calls]:
        best = min(calling, key=lambda reading: reading.start)
        best.calls.sort(key=lambda found: found.start)
        return best
    unknown = [name for reading in readings for name in reading.unknown]
    final = next((reading.final for reading in readings if reading.final), None)
    return ParseResult(unknown=unknown, final=final)


def _drop_repeats(calls: tuple[ParsedCall, ...]) -> tuple[ParsedCall, ...]:
    """Without calls that are the same as an earlier one of this reply: small models repeat a call many times over."""
    kept: dict[str, ParsedCall] = {}
    for number, call in enumerate(calls):
        same = json.dumps([call.name, call.arguments], sort_keys=True) if call.problem is None else f"{number}"
        kept.setdefault(same, call)
    return tuple(kept.values())


def _native_calls(calls: tuple[ToolCall, ...], names: ToolNames, run_key: str) -> tuple[ParsedCall, ...]:
    seen, result = set[str](), list[ParsedCall]()
    for number, call in enumerate(calls):
        name = names.resolve(call.name)
        if name is None:
            made = _problem_call(call.name, f"There is no tool named {call.name[:100]!r}.", call.arguments, 1)
        else:
            made = _checked_call(name, _native_arguments(call.arguments, name, names), call.arguments, names, 1)
        identity = call.id if call.id and call.id not in seen else _derived_id(run_key, number, made)
        seen.add(identity)
        result.append(replace(made, id=identity))
    return tuple(result)


def _native_arguments(raw: str, name: str, names: ToolNames) -> Mapping[str, Any] | None:
    """Arguments of a native call, from JSON, broken JSON, JSON in a JSON string, or nothing."""
    if not raw.strip():
        return {}
    try:
        decoded = decode_whole(raw)
    except UnreadableValue:
        return None
    if not decoded.closed:
        return None
    if isinstance(decoded.value, dict | list | str) or decoded.value is None:
        given = object_of(decoded.value, names, name)
        only = names.only_text(name)
        # Bare text is an argument in a transcript, where people write so; in a native call it is a flaw.
        return None if given and isinstance(decoded.value, str) and given == {only: decoded.value} else given
    return None


def _is_strict_json(raw: str) -> bool:
    try:
        return isinstance(decode_strict(raw or "{}"), dict)
    except UnreadableValue:
        return False


def _text_call(found: CallCandidate, number: int, names: ToolNames, run_key: str, cut: bool) -> ParsedCall:
    if cut and not found.closed:
        why = "The call was cut off at the length limit. Write it again, shorter."
        made = _problem_call(found.name, why, found.raw, 2)
    else:
        made = _checked_call(found.name, found.arguments, found.raw, names, 2)
    return replace(made, id=_derived_id(run_key, number, made))


def _checked_call(
    name: str, arguments: Mapping[str, Any] | None, raw: str, names: ToolNames, tier: Literal[1, 2]
) -> ParsedCall:
    if arguments is None:
        return _problem_call(name, _unreadable_message(name, names), raw, tier)
    schema = names.spec(name).parameters
    try:
        given = coerce_arguments(arguments, schema)
    except UnreadableValue:
        return _problem_call(name, _unreadable_message(name, names), raw, tier)
    if empty := _left_empty(given, schema):
        told = f"{name} needs a value for {', '.join(empty)}; null was given. Find it out, or ask for it."
        return _problem_call(name, told, raw, tier)
    return ParsedCall("", name, given, tier, None, raw)


def _left_empty(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Required parameters that were given as null although they cannot be null."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return []
    null = [name for name in required if name in arguments and arguments[name] is None]
    return [name for name in null if (allowed := schema_types(properties.get(name))) and "null" not in allowed]


def _unreadable_message(name: str, names: ToolNames) -> str:
    listed = ", ".join(names.properties(name)) or "none"
    return f"The arguments of {name} could not be read. Give one JSON object with these keys: {listed}."


def _problem_call(name: str, problem: str, raw: str, tier: Literal[1, 2]) -> ParsedCall:
    return ParsedCall("", name, {}, tier, problem, raw)


def _derived_id(run_key: str, number: int, call: ParsedCall) -> str:
    told = json.dumps([run_key, number, call.name, call.arguments, call.raw], sort_keys=True)
    return "call_" + hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _join_parts(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


_LABELS = re.compile(
    r"^[ \t]{0,3}[*_#]{0,3}[ \t]?th?o?u?ght[ \t]?\d{0,3}[*_]{0,3}[ \t]?:[*_]{0,3}[ \t]{0,3}",
    re.IGNORECASE | re.MULTILINE,
)


def _text_around(text: str, calls: list[CallCandidate], reading: ParseResult) -> str:
    """The text before and between calls, and behind them unless the model made it up from there on."""
    pieces, at = list[str](), 0
    for call in calls:
        pieces.append(text[at : call.start])
        at = max(at, call.end)
    if not (reading.observed or reading.premature):
        pieces.append(text[at:])
    return reasoning.strip_tokens(_LABELS.sub("", "\n".join(piece.strip() for piece in pieces if piece.strip())))


def _answer_reply(said: str, thought: str, reading: ParseResult) -> ParsedReply:
    """No calls: what stands after FINAL ANSWER, or the whole text with the labels of a transcript taken off."""
    unknown = tuple(dict.fromkeys(reading.unknown))
    if reading.final is not None:
        before = [said[at:stop] for kind, at, stop in transcript_parts(said) if kind == "thought"]
        aside = _join_parts(thought, *(reasoning.strip_tokens(piece) for piece in before))
        return ParsedReply((), aside, reasoning.strip_tokens(reading.final), unknown)
    return ParsedReply((), thought, reasoning.strip_tokens(_LABELS.sub("", said, count=1)), unknown)
