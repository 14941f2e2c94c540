"""The fence around every skill: who may call it, for how long, what may come out, and a line in the trail."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import monotonic
from traceback import format_exception
from typing import Any, Protocol

from cluster.basics.errors import AosError, Forbidden, Permanent, Transient
from skills.framework.builtin import build_tool
from skills.framework.contract import CallEffect, KnowledgeSearch, Tool, ToolInvocation, TurnBound
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Kind, Manifest, Risk
from skills.framework.redaction import SecretRedactor, watch_secrets

MOST_WRITTEN = 16_000_000  # characters of a result, before it is cut to what the settings say
GRACE = 0.5  # seconds: a skill that stops itself in time says better what became of it

_log = logging.getLogger("aos.skills")


class NotPermitted(Forbidden):
    """Your role may not use this skill."""

    code = "skill_not_permitted"


class SkillTimeout(Transient):
    """The skill did not end in its time."""

    code, status = "skill_timeout", 504


class BadResult(Permanent):
    """The skill gave something that is not JSON, or far too much of it."""

    code, status = "skill_bad_result", 502


class SkillBroken(Permanent):
    """The skill failed in a way that it does not name."""

    code, status = "skill_broken", 500


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Audit record of a call: never its arguments or its result."""

    manifest: Manifest
    code: str  # `ok`, `cancelled`, or the error's
    ms: int


class CallAudit(Protocol):
    """Port of the audit log for calls."""

    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        """One call that has ended. Raises AosError: it cannot be recorded now."""


class _Named(AbstractContextManager["_Named", None]):
    """Gives a name to whatever a skill throws, also where it is of no class that its kind knew of.

    It may quote what was opened: nothing of it goes further than a line in the log, and that without secrets.
    """

    def __init__(self, manifest: Manifest, limit: asyncio.Timeout, watch: SecretRedactor) -> None:
        self._manifest, self._limit, self._watch = manifest, limit, watch

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, AosError):
            return
        name = self._manifest.name
        if self._limit.expired():
            raise SkillTimeout(f"{name} did not end within {self._manifest.seconds:g} s") from None
        _log.error("skill %s failed\n%s", name, self._watch.text("".join(format_exception(error))))
        raise SkillBroken(f"{name}: {type(error).__name__}") from None


class SkillGuard:
    """Makes tools of manifests, each behind the fence."""

    def __init__(self, ground: SkillDependencies, audit: CallAudit, clock: Callable[[], float] = monotonic) -> None:
        self._ground, self._audit, self._clock = ground, audit, clock

    @property
    def ground(self) -> SkillDependencies:
        """Dependencies of the tools."""
        return self._ground

    def around(self, manifest: Manifest) -> "GuardedSkill":
        """The skill as a tool. It is built when it is called first: most turns call few of the skills they have."""
        return GuardedSkill(manifest, self._ground, self._audit, self._clock)


class GuardedSkill:
    """A skill behind its fence. What models are told of it is what its manifest says, whether it can be built or not:
    a replay asks models the same, also where a kind was switched off since."""

    def __init__(
        self, manifest: Manifest, ground: SkillDependencies, audit: CallAudit, clock: Callable[[], float]
    ) -> None:
        self.manifest, self.spec, self.effect = manifest, manifest.spec, manifest.effect
        self._ground, self._audit, self._clock = ground, audit, clock
        self._tool: Tool | None = None

    async def run(self, call: ToolInvocation) -> Any:
        """The skill's result: JSON, redacted, and within the size limit of the settings.

        Raises:
            NotPermitted: the caller's role is not among the skill's.
            SkillTimeout: a reading skill was stopped; one that writes stops itself, or nobody knew what it has done.
            BadResult, SkillBroken: it is badly written.
            AosError: what the skill itself raises, and Disabled, BadManifest, CredentialMissing, AmbiguousCredential.
        """
        begun, code = self._clock(), "ok"
        with watch_secrets() as watch:
            try:
                return await self._run_limited(call, watch)
            except AosError as error:
                code = error.code
                raise _redacted_error(error, watch) from None
            except asyncio.CancelledError:
                code = "cancelled"
                raise
            finally:
                await self._record_call(call, code, round((self._clock() - begun) * 1000))

    async def _run_limited(self, call: ToolInvocation, watch: SecretRedactor) -> Any:
        manifest = self.manifest
        check_permission(call, manifest)
        limit = asyncio.timeout(manifest.seconds + GRACE if self.effect is CallEffect.READ else None)
        with _Named(manifest, limit, watch):
            async with limit:
                value = await (await self._built_tool()).run(call)
        return _capped_value(watch.json(_json_value(value, manifest.name)), self._ground.settings.result_bytes)

    async def _built_tool(self) -> Tool:
        if self._tool is None:  # in a thread: some kinds stand on libraries that take a second to import
            self._tool = await asyncio.to_thread(build_tool, self.manifest, self._ground)
        return self._tool

    async def _record_call(self, call: ToolInvocation, code: str, ms: int) -> None:
        try:
            await self._audit.called(call, CallRecord(self.manifest, code, ms))
        except AosError as error:
            # What was done is done, and in the run's journal: to fail now would have it done again.
            _log.error("a call of %s (%s) is not in the trail: %s", self.manifest.name, code, error)


def check_permission(call: ToolInvocation, manifest: Manifest) -> None:
    """Let the caller in, or not. Raises NotPermitted: the role is not among the skill's."""
    if call.scope.role not in manifest.permissions:
        needed = " or ".join(manifest.permissions) or "nobody's"
        raise NotPermitted(f"{manifest.name} is for the role {needed}; yours is {call.scope.role}")


def is_search_tool(tool: Tool) -> bool:
    """True for a search tool: its passages may be quoted."""
    return _tool_kind(tool) is Kind.KNOWLEDGE


def tool_nature(tool: Tool) -> tuple[str, str]:
    """Its kind, or an empty text, and its risk: what the list of approvals goes by."""
    if isinstance(tool, GuardedSkill):
        return str(tool.manifest.kind), str(tool.manifest.risk)
    return str(_tool_kind(tool) or ""), str(Risk.READ if tool.effect is CallEffect.READ else Risk.WRITE)


def _tool_kind(tool: Tool) -> Kind | None:
    if isinstance(tool, GuardedSkill):
        return tool.manifest.kind
    if isinstance(tool, KnowledgeSearch):
        return Kind.KNOWLEDGE
    return Kind.DELEGATE if isinstance(tool, TurnBound) else None


def _redacted_error(error: AosError, watch: SecretRedactor) -> AosError:
    error.detail, error.hint = watch.text(error.detail), watch.text(error.hint)
    error.args = tuple(watch.text(part) if isinstance(part, str) else part for part in error.args)
    return error


def _json_value(value: Any, name: str) -> Any:
    try:
        if _json_length(value, {}) > MOST_WRITTEN:
            raise BadResult(f"{name}: more than {MOST_WRITTEN:,} characters")
        return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (RecursionError, TypeError, ValueError) as error:
        raise BadResult(f"{name}: {type(error).__name__}") from error


def _json_length(value: Any, known: dict[int, int]) -> int:
    """Characters, about: a list that holds another one many times over is small until it is written out.

    `known` has each list by its id, so that it is walked once; one that holds itself the encoder refuses.
    """
    if isinstance(value, str):
        return len(value) + 2
    if not isinstance(value, dict | list | tuple):
        return 4
    if (length := known.get(id(value))) is None:
        known[id(value)] = 0
        parts = (*value.keys(), *value.values()) if isinstance(value, dict) else value
        length = known[id(value)] = 2 + sum(_json_length(part, known) + 2 for part in parts)
    return length


def _capped_value(value: Any, most: int) -> Any:
    """The value, or the beginning of its text; secrets are out already: half of one would not be found."""
    text = json.dumps(value, ensure_ascii=False)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return value
    return {"cut": True, "bytes": len(data), "text": data[:most].decode("utf-8", "ignore")}
