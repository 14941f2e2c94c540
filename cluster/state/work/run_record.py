"""The record of a run: its state, its steps, its events, and the lease under which they are written."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from cluster.state.canonical_json import normalize_json
from cluster.state.db.postgres import Row
from cluster.state.work.lease import Lease


class RunState(StrEnum):
    """The state of a run; completed, failed and cancelled are ends, an interrupted one can be taken up again."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class StepState(StrEnum):
    """The state of a step."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run as it begins.

    Attributes:
        id: a UUID; the same id again changes nothing.
        input: the frozen turn.
        attended: somebody reads along; such a run is not carried on by others when its owner dies.
    """

    id: str
    session: str
    agent: str
    path: str
    input: Mapping[str, Any]
    seed: int
    attended: bool = True


class RunLease(Lease):
    """The right to write for a run."""

    __slots__ = ()
    noun = "run"

    @property
    def run(self) -> str:
        """The run's id."""
        return self.id


@dataclass(frozen=True, slots=True)
class RunStep:
    """One effect of a run; `reply` is None until it has ended, but for what an unfinished one has told already."""

    seq: int
    kind: str
    name: str
    request: Any
    request_hash: str
    state: StepState
    reply: Any = None
    ms: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event with the number that its run gave it."""

    seq: int
    type: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunJournal:
    """A run as an owner takes it up; `last_event` is the number of the last event that is stored."""

    input: Mapping[str, Any]
    seed: int
    state: RunState
    last_event: int
    steps: tuple[RunStep, ...]
    outcome: Mapping[str, Any] | None = None


def read_step(row: Row) -> RunStep:
    """A step as it is stored."""
    columns = {field.name: row[field.name] for field in fields(RunStep)}
    told = {key: normalize_json(row[key]) for key in ("request", "reply")}
    return RunStep(**columns | told | {"state": StepState(row["state"]), "cost_usd": float(row["cost_usd"])})
