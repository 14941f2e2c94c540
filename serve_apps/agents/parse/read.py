"""A reply becomes calls or an answer."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cluster.models.messages import Reply, ToolCall, ToolSpec
from serve_apps.agents.parse import reasoning
from serve_apps.agents.parse.coerce import coerce, kinds
from serve_apps.agents.parse.found import Call, Found, Parsed, Reading
from serve_apps.agents.parse.json_values import Unreadable, decode_whole
from serve_apps.agents.parse.loose import loose
from serve_apps.agents.parse.names import Names
from serve_apps.agents.parse.quoted import is_quoted
from serve_apps.agents.parse.react import labelled, transcript
from serve_apps.agents.parse.shapes import object_of
from serve_apps.agents.parse.tagged import normalised, tagged

_LONGEST = 400_000  # characters that are read for calls; replies are far shorter


def read(reply: Reply, tools: Sequence[ToolSpec], run_key: str) -> Parsed:
    """Calls of a reply, native ones first, else those in its text; without any, its text is the answer.

    Never raises: what cannot be read becomes a call with a `problem`, which the model is told.

    Args:
        reply: as the model gave it.
        tools: offered ones; other names are no calls (a native call of one has a `problem`).
        run_key: the same for this reply whenever it is read, another for other replies: ids are derived from it.
    """
    names = Names(tools)
    thought, said = reasoning.split(reply.content)
    thought = "\n".join(part for part in (reply.reasoning.strip(), thought) if part)
    if reply.tool_calls:
        calls = _once(_natives(reply.tool_calls, names, run_key))
        repaired = any(call.problem is None and not _strict(call.raw) for call in calls)
        return Parsed(calls, _joined(thought, reasoning.plain(said)), repaired=repaired)
    text = normalised(said)
    reading = _best(text[:_LONGEST], names)
    if reading.calls:
        found = reading.calls
        cut = reply.finish_reason == "length"
        return Parsed(
            _once(tuple(_call(one, number, names, run_key, cut) for number, one in enumerate(found))),
            _joined(thought, _around(text, found, reading)),
            unknown=tuple(dict.fromkeys(reading.unknown)),
            observed=reading.observed,
            premature=reading.premature,
            repaired=any(one.repaired for one in found),
        )
    return _answer(said, thought, reading)


def _best(text: str, names: Names) -> Reading:
    """The way of reading whose first call begins first; markers before transcripts before loose calls."""
    if not names.mentioned(text):
        return transcript(text, names)
    readings = [_meant(text, tagged(text, names)), transcript(text, names), loose(text, names)]
    calling = [reading for reading in readings if reading.calls]
    if calling:
        best = min(calling, key=lambda reading: reading.start)
        best.calls.sort(key=lambda found: found.start)
        return best
    unknown = [name for reading in readings for name in reading.unknown]
    final = next((reading.final for reading in readings if reading.final), None)
    return Reading(unknown=unknown, final=final)


def _once(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Without calls that are the same as an earlier one of this reply: small models repeat a call many times over."""
    kept: dict[str, Call] = {}
    for number, call in enumerate(calls):
        same = json.dumps([call.name, call.arguments], sort_keys=True) if call.problem is None else f"{number}"
        kept.setdefault(same, call)
    return tuple(kept.values())


def _meant(text: str, reading: Reading) -> Reading:
    """Without what stands between markers as an example."""
    reading.calls = [found for found in reading.calls if not is_quoted(text, found.start)]
    return reading


def _natives(calls: tuple[ToolCall, ...], names: Names, run_key: str) -> tuple[Call, ...]:
    seen, result = set[str](), list[Call]()
    for number, call in enumerate(calls):
        name = names.resolve(call.name)
        if name is None:
            made = _problem(call.name, f"There is no tool named {call.name[:100]!r}.", call.arguments, 1)
        else:
            made = _made(name, _arguments(call.arguments, name, names), call.arguments, names, 1)
        identity = call.id if call.id and call.id not in seen else _derived(run_key, number, made)
        seen.add(identity)
        result.append(_with_id(made, identity))
    return tuple(result)


def _arguments(raw: str, name: str, names: Names) -> Mapping[str, Any] | None:
    """Arguments of a native call, from JSON, broken JSON, JSON in a JSON string, or nothing."""
    if not raw.strip():
        return {}
    try:
        decoded = decode_whole(raw)
    except Unreadable:
        return None
    if not decoded.closed:
        return None
    if isinstance(decoded.value, dict | list | str) or decoded.value is None:
        given = object_of(decoded.value, names, name)
        only = names.only_text(name)
        # Bare text is an argument in a transcript, where people write so; in a native call it is a flaw.
        return None if given and isinstance(decoded.value, str) and given == {only: decoded.value} else given
    return None


def _strict(raw: str) -> bool:
    try:
        return isinstance(json.loads(raw or "{}"), dict)
    except (ValueError, RecursionError):
        return False


def _call(found: Found, number: int, names: Names, run_key: str, cut: bool) -> Call:
    if cut and not found.closed:
        made = _problem(found.name, "The call was cut off at the length limit. Write it again, shorter.", found.raw, 2)
    else:
        made = _made(found.name, found.arguments, found.raw, names, 2)
    return _with_id(made, _derived(run_key, number, made))


def _made(name: str, arguments: Mapping[str, Any] | None, raw: str, names: Names, tier: Literal[1, 2]) -> Call:
    if arguments is None:
        return _problem(name, _expected(name, names), raw, tier)
    schema = names.spec(name).parameters
    try:
        given = coerce(arguments, schema)
    except Unreadable:
        return _problem(name, _expected(name, names), raw, tier)
    if empty := _left_empty(given, schema):
        told = f"{name} needs a value for {', '.join(empty)}; null was given. Find it out, or ask for it."
        return _problem(name, told, raw, tier)
    return Call("", name, given, tier, None, raw)


def _left_empty(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Required parameters that were given as null although they cannot be null."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return []
    null = [name for name in required if name in arguments and arguments[name] is None]
    return [name for name in null if (allowed := kinds(properties.get(name))) and "null" not in allowed]


def _expected(name: str, names: Names) -> str:
    listed = ", ".join(names.properties(name)) or "none"
    return f"The arguments of {name} could not be read. Give one JSON object with these keys: {listed}."


def _problem(name: str, problem: str, raw: str, tier: Literal[1, 2]) -> Call:
    return Call("", name, {}, tier, problem, raw)


def _with_id(call: Call, identity: str) -> Call:
    return Call(identity, call.name, call.arguments, call.tier, call.problem, call.raw)


def _derived(run_key: str, number: int, call: Call) -> str:
    told = json.dumps([run_key, number, call.name, call.arguments, call.raw], sort_keys=True)
    return "call_" + hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


_LABELS = re.compile(
    r"^[ \t]{0,3}[*_#]{0,3}[ \t]?th?o?u?ght[ \t]?\d{0,3}[*_]{0,3}[ \t]?:[*_]{0,3}[ \t]{0,3}",
    re.IGNORECASE | re.MULTILINE,
)


def _around(text: str, calls: list[Found], reading: Reading) -> str:
    """The text before and between calls, and behind them unless the model made it up from there on."""
    pieces, at = list[str](), 0
    for call in calls:
        pieces.append(text[at : call.start])
        at = max(at, call.end)
    if not (reading.observed or reading.premature):
        pieces.append(text[at:])
    return reasoning.plain(_LABELS.sub("", "\n".join(piece.strip() for piece in pieces if piece.strip())))


def _answer(said: str, thought: str, reading: Reading) -> Parsed:
    """No calls: what stands after FINAL ANSWER, or the whole text with the labels of a transcript taken off."""
    unknown = tuple(dict.fromkeys(reading.unknown))
    if reading.final is not None:
        before = [said[at:stop] for kind, at, stop in labelled(said) if kind == "thought"]
        aside = _joined(thought, *(reasoning.plain(piece) for piece in before))
        return Parsed((), aside, reasoning.plain(reading.final), unknown)
    return Parsed((), thought, reasoning.plain(_LABELS.sub("", said, count=1)), unknown)
