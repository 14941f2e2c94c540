"""The kinds of faults: to which part of the product each is done, and how."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cluster.basics.errors import Invalid


class FaultAction(StrEnum):
    """The harm that is done to a part."""

    KILL = "kill"  # SIGKILL
    STOP = "stop"  # SIGSTOP, for longer than a lease and every limit of an answer
    SLOW = "slow"  # stopped most of the time, again and again
    CUT = "cut"  # every connection to it closed by the server, in the middle of whatever was said
    FILL = "fill"  # a file that leaves next to nothing free


@dataclass(frozen=True, slots=True)
class FaultKind:
    """An action on a part; `name` is what people choose it by."""

    action: FaultAction
    part: str
    what: str

    @property
    def name(self) -> str:
        """Such as `kill-gateway`."""
        return f"{self.action}-{self.part}"


_KILL, _STOP, _SLOW, _CUT, _FILL = FaultAction

KINDS: tuple[FaultKind, ...] = (
    FaultKind(_KILL, "reader", "one of the actors that read pages"),
    FaultKind(_KILL, "worker", "one of the replicas that run jobs"),
    FaultKind(_KILL, "gateway", "one of the replicas that answer the API"),
    FaultKind(_KILL, "embedder", "one of the replicas that compute vectors"),
    FaultKind(_KILL, "executor", "one of the replicas that run agents, where they have some of their own"),
    FaultKind(_KILL, "controller", "Serve's controller"),
    FaultKind(_KILL, "proxy", "HAProxy, which takes every connection"),
    FaultKind(_KILL, "raylet", "Ray's node daemon, and all that it started"),
    FaultKind(_KILL, "gcs", "Ray's control service"),
    FaultKind(_KILL, "postgres", "the embedded Postgres with all its processes"),
    FaultKind(_KILL, "valkey", "the embedded Valkey"),
    FaultKind(_KILL, "supervisor", "the process that repairs all the others"),
    FaultKind(_STOP, "worker", "a worker past its lease: its writes have to be refused"),
    FaultKind(_STOP, "gateway", "a gateway that takes connections and answers nothing"),
    FaultKind(_STOP, "embedder", "an embedder that takes texts and answers nothing"),
    FaultKind(_STOP, "proxy", "an HAProxy that answers nothing"),
    FaultKind(_SLOW, "postgres", "a Postgres that runs a third of the time"),
    FaultKind(_SLOW, "embedder", "an embedder that runs a third of the time"),
    FaultKind(_CUT, "postgres", "every connection of the product to Postgres (pg_terminate_backend)"),
    FaultKind(_CUT, "valkey", "every connection of the product to Valkey (CLIENT KILL)"),
    FaultKind(_FILL, "disk", "the disk of the state directory, where it holds nothing else"),
)
BY_NAME = {kind.name: kind for kind in KINDS}
REPLICAS = frozenset({"reader", "worker", "gateway", "embedder", "executor"})
"""Parts of which there may be several processes: one of them is hit."""


def choose_kinds(names: Sequence[str]) -> tuple[FaultKind, ...]:
    """The kinds of these names, in the order of the table; all where none is named. Raises Invalid: unknown."""
    unknown = sorted(set(names) - set(BY_NAME))
    if unknown:
        raise Invalid(f"no kind of fault is called {', '.join(unknown)}", fix=f"There are: {', '.join(BY_NAME)}.")
    return tuple(kind for kind in KINDS if not names or kind.name in names)
