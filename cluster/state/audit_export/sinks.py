"""The port of a collector: takes entries of one tenant in their order, and returns when it has them."""

from collections.abc import Sequence
from typing import Literal, Protocol

from cluster.basics.errors import Transient
from cluster.state.audit_export.chain import ChainedEntry, json_line
from cluster.state.audit_export.ocsf import ocsf_event


class CollectorAway(Transient):
    """The collector did not confirm that it has the entries."""

    code = "collector_away"
    fix = "It is tried again by itself, and nothing is lost meanwhile: see GET /api/audit/sinks."


class AuditSink(Protocol):
    """A collector of entries."""

    async def send(self, tenant: str, entries: Sequence[ChainedEntry]) -> None:
        """Send entries of a tenant, oldest first, and return when the collector has confirmed all of them.

        Raises CollectorAway: it has not; it may have some of them.
        """
        ...


def entry_line(entry: ChainedEntry, form: Literal["ocsf", "jsonl"]) -> str:
    """The entry in one line of JSON."""
    return json_line(ocsf_event(entry) if form == "ocsf" else entry.as_json())
