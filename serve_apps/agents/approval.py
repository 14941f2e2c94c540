"""Approval policy of tool calls (auto, ask, refuse): an ordered allow-list, default deny."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cluster.basics.errors import InvalidSettings
from skills.framework.contract import CallEffect
from skills.framework.manifest import Risk

Decision = Literal["auto", "ask", "refuse"]
Value = bool | int | float | str

RECOVERED = 3  # tiers from here on guess what a model meant


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    tool: str = Field("", min_length=1)
    kind: str = Field("", min_length=1)
    risk: Risk | None = Field(None, strict=False)
    when: dict[str, Value | list[Value]] = {}
    decision: Decision
    reason: str = ""

    @model_validator(mode="after")
    def _is_about_something(self) -> Self:
        if not (self.tool or self.kind or self.risk):
            raise ValueError("a pattern names a tool, a kind or a risk")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    patterns: list[_Entry]


@dataclass(frozen=True, slots=True)
class ApprovalPattern:
    """An entry of the list."""

    tool: str  # a pattern of names; `*` for all
    decision: Decision
    when: Mapping[str, Sequence[Value]]  # an argument's path to the values that hold, any of them
    reason: str = ""
    kind: str = "*"  # a pattern of kinds of skills; `*` also for a tool that is of none
    risk: str = ""  # just this one; empty for all

    @property
    def about(self) -> str:
        """Description of the pattern for reviewers; recorded approval requests hold these words."""
        if self.kind == "*" and not self.risk:
            return self.tool
        named = {"tool": self.tool, "kind": self.kind, "risk": self.risk or "*"}
        return ", ".join(f"{what} {text}" for what, text in named.items() if text != "*")

    def matches(self, tool: str, arguments: Mapping[str, Any], kind: str = "", risk: str = "") -> bool:
        """True if this pattern applies to such a call."""
        if not (fnmatchcase(tool, self.tool) and fnmatchcase(kind, self.kind) and self.risk in ("", risk)):
            return False
        return all(
            any(_value_matches(wanted, _argument_at(arguments, path)) for wanted in values)
            for path, values in self.when.items()
        )


@dataclass(frozen=True, slots=True)
class ApprovalVerdict:
    """Decision about a tool call (auto, ask or refuse), and its reason."""

    decision: Decision
    reason: str


class ApprovalPolicy:
    """The list. It decides by what is called, never by what anybody says about it."""

    def __init__(self, patterns: Sequence[ApprovalPattern]) -> None:
        """In order: the first that matches decides."""
        self._patterns = tuple(patterns)

    def about(self, tool: str, kind: str = "", risk: str = "") -> list[ApprovalPattern]:
        """The entries that may decide on calls of a tool, in order; one without conditions is the last of them."""
        found = list[ApprovalPattern]()
        for pattern in self._patterns:
            if replace(pattern, when={}).matches(tool, {}, kind, risk):
                found.append(pattern)
                if not pattern.when:
                    break
        return found

    def decide(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        effect: CallEffect,
        tier: int = 1,
        nature: tuple[str, str] = ("", ""),
    ) -> ApprovalVerdict:
        """Judge a call whose arguments are valid against its tool's schema.

        `tier`: how the call was found; from 3 on a call that changes something is never `auto`. `nature`: kind and risk
        of the skill, as `skills.framework.skill_guard.tool_nature` tells them.
        """
        found = next((pattern for pattern in self._patterns if pattern.matches(tool, arguments, *nature)), None)
        if found is None:
            return ApprovalVerdict("refuse", f"no pattern of the approval list allows {tool}")
        if found.decision == "auto" and tier >= RECOVERED and effect is not CallEffect.READ:
            why = "The model did not ask for this call itself; it was recovered from what it said."
            return ApprovalVerdict("ask", why)
        why = found.reason or f"The approval list says {found.decision} for {found.about}."
        return ApprovalVerdict(found.decision, why)


def load_policy(path: Path) -> ApprovalPolicy:
    """The list in a YAML file; see configs/approvals.yaml for its form.

    Raises InvalidSettings where it cannot be read or has another form; the detail names each place.
    """
    try:
        found = _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise InvalidSettings(f"{path.name}: {error}") from error
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise InvalidSettings(f"{path.name}: {'; '.join(problems)}") from None
    return ApprovalPolicy([_compile_pattern(entry) for entry in found.patterns])


def _compile_pattern(entry: _Entry) -> ApprovalPattern:
    when = {path: tuple(value) if isinstance(value, list) else (value,) for path, value in entry.when.items()}
    tool, kind, risk = entry.tool or "*", entry.kind or "*", str(entry.risk or "")
    return ApprovalPattern(tool, entry.decision, when, entry.reason, kind, risk)


def _argument_at(arguments: Mapping[str, Any], path: str) -> Any:
    value: Any = arguments
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def _value_matches(wanted: Value, given: Any) -> bool:
    """Texts by pattern, anything else by type and value: true is not 1."""
    if isinstance(wanted, str):
        return isinstance(given, str) and fnmatchcase(given, wanted)
    if isinstance(wanted, bool) or isinstance(given, bool):
        return wanted is given
    return isinstance(given, int | float) and given == wanted
