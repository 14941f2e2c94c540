"""The contract of a tool: name, schema, effect, and a function that runs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from cluster.basics.errors import Permanent
from cluster.basics.scope import Scope
from cluster.models.messages import ToolSpec


class CallEffect(StrEnum):
    """Side effects of a call: none, keyed by idempotency key, or a write."""

    READ = "read"  # nothing outside: may be repeated, may be dispatched by intent
    KEYED = "keyed"  # something, but it takes an idempotency key: a repetition with the same key is harmless
    WRITE = "write"  # something, each time it is called


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """One call of a tool."""

    scope: Scope  # whose rights it runs with
    agent: str | None  # id of the agent that calls; None outside of a turn
    key: str  # the same at every repetition of this call
    arguments: Mapping[str, Any]  # valid against the tool's schema
    session: str | None = None  # the conversation in which it is called; None outside of a turn


class Tool(Protocol):
    """A tool; `run` returns JSON that the model reads as an observation."""

    @property
    def spec(self) -> ToolSpec:
        """Name, description and schema, as models are told."""

    @property
    def effect(self) -> CallEffect:
        """Side effects of a call."""

    async def run(self, call: ToolInvocation) -> Any:
        """Do it. Raises AosError: by name; the model is told its code and detail."""


class KnowledgeSearch:
    """A tool that searches the agent's documents; approvals and answers treat all of them alike."""


class TurnBound:
    """A tool that belongs to one turn: each of its steps is recorded in the journal, not the call as a whole."""


class OutcomeUnknown(Permanent):
    """The request was sent, and nobody knows whether it was carried out."""

    code, status = "outcome_unknown", 504
    fix = "Look first whether it has happened; the same request may do it twice."
