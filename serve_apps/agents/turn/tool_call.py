"""One tool call, from the model's wish to its result: validated, allowed, approved, carried out once, recorded."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from cluster.basics.errors import AosError, Invalid, Permanent, Transient
from cluster.models.messages import ToolSpec
from pipelines.documents.privacy.answer_masks import classes_in
from serve_apps.agents.approval import ApprovalPolicy
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.limits import ENDINGS, in_time
from serve_apps.agents.turn_errors import ActionRejected, ToolRefused
from serve_apps.agents.turn_ports import Journal, Json, RedoPolicy, Turn
from skills.framework.contract import CallEffect, Tool, ToolInvocation, TurnBound
from skills.framework.skill_guard import tool_nature

TOOL = "tool"  # the kind of its steps
OUTPUT = 2_000  # characters of an output that a model reads
SHOWN = 8_000  # characters of a result up to which an event carries it whole
KEPT = 256_000  # characters of a result up to which it is recorded whole

_log = logging.getLogger(__name__)


class BadArguments(Invalid):
    """The arguments do not fit the tool's schema."""

    code = "bad_arguments"


class ToolBroken(Permanent):
    """The tool failed in a way that it does not name."""

    code, status = "tool_broken", 500


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call as it was found; `tier` is how (1 native, 2 in the text, 3 after a re-prompt, 4 by intent)."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    tier: int = 1


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool call."""

    call: ToolRequest
    result: Json = None  # JSON that the tool gave; None with an error
    error: str | None = None  # for the model; None if it went well
    approved: bool = True  # False where a person said no
    final: bool = False  # the same call would fail again

    @property
    def observation(self) -> str:
        """Observation that the model reads, cut to size."""
        return cut_output(f"ERROR: {self.error}" if self.error is not None else as_text(self.result))


async def run_tool(
    turn: Turn, journal: Journal, policy: ApprovalPolicy, tool: Tool, wanted: ToolRequest, seconds: float
) -> ToolResult:
    """Carry a call out, or say why not; told as TOOL_CALL and TOOL_RESULT.

    The list of approvals decides; a person's edits are validated and judged again; the effect is one recorded step. A
    tool that writes is not cut off when `seconds` (those that the turn has left) are over: nobody would know what it
    has done.

    Raises ApprovalPending: a person has to decide, or to say whether it happened.
    """
    _emit_call(journal, wanted)
    before = journal.spent_ms
    try:
        allowed, asked = await _approve_call(journal, policy, tool, wanted)
        once = tool.effect is CallEffect.WRITE or (asked and tool.effect is not CallEffect.KEYED)
        done = ToolResult(wanted, await _perform_call(turn, journal, tool, wanted.name, allowed, seconds, once=once))
    except ENDINGS:
        raise
    except ActionRejected as error:
        done = ToolResult(wanted, error=f"Action rejected: {error.detail or 'REJECTED'}", approved=False, final=True)
    except AosError as error:
        told = f"{error.code}: {error.detail or error.title}" + (f" {error.hint}" if error.hint else "")
        done = ToolResult(wanted, error=told, final=not isinstance(error, Transient))
    _emit_result(journal, done, journal.spent_ms - before)
    return done


def not_run(journal: Journal, wanted: ToolRequest, why: str) -> ToolResult:
    """A call that cannot be carried out, told like one that failed."""
    _emit_call(journal, wanted)
    done = ToolResult(wanted, error=why, final=True)
    _emit_result(journal, done, 0)
    return done


def schema_error(spec: ToolSpec, arguments: Mapping[str, Any]) -> str | None:
    """Schema error of arguments, in words for the model; None if they fit the schema."""
    for error in Draft202012Validator(dict(spec.parameters)).iter_errors(dict(arguments)):
        place = ".".join(map(str, error.absolute_path))
        return f"{f'{place}: ' if place else ''}{error.message[:300]}"
    return None


def cut_output(text: str) -> str:
    """At most 2,000 characters, and a note of what is missing."""
    if len(text) <= OUTPUT:
        return text
    return f"{text[:OUTPUT]}\n[cut: these are the first {OUTPUT:,} of {len(text):,} characters]"


def as_text(value: Json) -> str:
    """A result as a model reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def _approve_call(
    journal: Journal, policy: ApprovalPolicy, tool: Tool, wanted: ToolRequest
) -> tuple[Mapping[str, Any], bool]:
    """The arguments to run with, the model's or those that a person put in their place, and whether one was asked."""
    arguments = wanted.arguments
    _validate_arguments(tool, arguments)
    verdict = policy.decide(wanted.name, arguments, tool.effect, wanted.tier, tool_nature(tool))
    if verdict.decision == "refuse":
        raise ToolRefused(verdict.reason)
    if verdict.decision == "auto":
        return arguments, False
    approved = await journal.ask(wanted.name, arguments, verdict.reason)
    if dict(approved) != dict(arguments):
        _validate_arguments(tool, approved)
        again = policy.decide(wanted.name, approved, tool.effect, wanted.tier, tool_nature(tool))
        if again.decision == "refuse":
            raise ToolRefused(again.reason)
    return approved, True


def _validate_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    found = schema_error(tool.spec, arguments)
    if found is not None:
        raise BadArguments(f"{found}. The schema is {json.dumps(tool.spec.parameters, ensure_ascii=False)[:1_000]}")


async def _perform_call(
    turn: Turn, journal: Journal, tool: Tool, name: str, arguments: Mapping[str, Any], seconds: float, *, once: bool
) -> Json:
    """Result of the call; `once`: never repeated while its end is unknown, as one yes allows one call."""

    async def perform(key: str) -> Json:
        call = ToolInvocation(turn.scope, turn.agent.id, key, arguments, turn.session)
        try:
            work = tool.run(call)
            return _as_recordable(await (work if tool.effect is CallEffect.WRITE else in_time(work, seconds, name)))
        except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            if isinstance(error, AosError):
                raise
            _log.exception("tool %s failed", name)
            raise ToolBroken(f"{name}: {type(error).__name__}") from error

    if isinstance(tool, TurnBound):  # each of its steps is recorded: the call as a whole must not be one
        return _as_recordable(await tool.run(ToolInvocation(turn.scope, turn.agent.id, "", arguments, turn.session)))
    redo = RedoPolicy.RECONCILE if once else RedoPolicy.REPEAT
    return await journal.step(TOOL, name, dict(arguments), perform, redo=redo)


def _as_recordable(value: Json) -> Json:
    """The value, if it is JSON of a size that is kept; the beginning of its text if it is larger."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(text) <= KEPT:
        return value
    return f"{as_text(value)[:KEPT]}\n[cut: {len(text):,} characters in all]"


def _emit_call(journal: Journal, wanted: ToolRequest) -> None:
    arguments = dict(wanted.arguments)
    journal.emit(EventKind.TOOL_CALL, id=wanted.id, name=wanted.name, arguments=arguments, tier=wanted.tier)


def _emit_result(journal: Journal, done: ToolResult, ms: int) -> None:
    said: dict[str, Json] = {"error": done.error}
    if done.error is None:
        text = as_text(done.result)
        said = {"result": done.result if len(text) <= SHOWN else cut_output(text)}
        if len(text) > SHOWN and (classes := classes_in(done.result)):  # what is left of it does not say them
            said["classes"] = [{"classification": one} for one in sorted(classes)]
    journal.emit(EventKind.TOOL_RESULT, id=done.call.id, name=done.call.name, **said, approved=done.approved, ms=ms)
