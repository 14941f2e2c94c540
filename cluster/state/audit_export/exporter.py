"""The exporter of the audit trail: what collectors lack is sent to them, by one process at a time, in order."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.state.audit_export.cursors import AuditCursors, CursorLease
from cluster.state.audit_export.sinks import AuditSink, CollectorAway
from cluster.state.work.lease import Heartbeat, LeaseSweep
from configs.sections_audit import AuditSettings

_log = logging.getLogger("aos.audit")

LEASE_SECONDS = 60.0  # longer than a collector may take for a batch: who has lost it must not send any more
BATCHES = 20  # of one tenant before the others get on
AT_ONCE = 4  # of cursors in one process: no more batches than that are in memory


@dataclass(frozen=True, slots=True)
class PlacedSink:
    """A collector, its kind as an operator calls it, and whose trail it gets; `tenants` None for everybody's."""

    sink: AuditSink
    kind: str
    tenants: Sequence[str] | None = None


class AuditExporter:
    """Runs in every replica of the gateway; leases decide which sends what."""

    def __init__(
        self, cursors: AuditCursors, sinks: Mapping[str, PlacedSink], settings: AuditSettings, *, owner: str
    ) -> None:
        """`sinks` by name, `owner` of leases, for people. Nothing runs before `open`."""
        self.cursors, self.sinks, self.settings = cursors, sinks, settings
        self._owner = owner
        self._turns = list(sinks)  # whoever was served longest ago is asked first
        self._sweep = LeaseSweep(self._claim, self._export, AT_ONCE, lambda: settings.poll_seconds)

    async def open(self) -> None:
        """Begin to send, if there is anybody to send to."""
        if self.sinks:
            self._sweep.open()

    async def close(self) -> None:
        """End; batches on their way are waited for."""
        await self._sweep.close()

    def check(self) -> None:
        """Raises Unavailable where nobody sends any more in this process, with the reason."""
        self._sweep.require_running("the audit trail is not sent")

    def of_tenant(self, tenant: str) -> Mapping[str, PlacedSink]:
        """The collectors that get this tenant's trail, by name."""
        found = self.sinks.items()
        return {name: placed for name, placed in found if placed.tenants is None or tenant in placed.tenants}

    async def _claim(self, most: int) -> Sequence[CursorLease]:
        found: list[CursorLease] = []
        # In the same order each time, a collector that is away for many tenants would take every place that gets free.
        for name in tuple(self._turns):
            if len(found) < most:
                taken = await self.cursors.claim(name, self.sinks[name].tenants, self._owner, LEASE_SECONDS)
                if taken:
                    self._turns.remove(name)
                    self._turns.append(name)
                found += taken
        return found

    async def _export(self, lease: CursorLease, stop: asyncio.Event) -> None:
        """Send what one collector lacks of one tenant, for as long as the lease holds."""
        heartbeat = Heartbeat(self.cursors.heartbeat, lease, LEASE_SECONDS, LEASE_SECONDS / 4)
        sending = self._send_batches(lease, stop, heartbeat)  # a batch on its way is not cut off
        await heartbeat.run_and_release(sending, asyncio.Event(), self.cursors.release)

    async def _send_batches(self, lease: CursorLease, stop: asyncio.Event, heartbeat: Heartbeat[CursorLease]) -> None:
        sink = self.sinks[lease.sink].sink
        for _ in range(BATCHES):
            if stop.is_set() or heartbeat.over:
                return
            entries = await self.cursors.waiting(lease, self.settings.batch)
            if not entries:
                return
            try:
                await sink.send(lease.scope.tenant, entries)
            except CollectorAway as error:
                _log.warning("audit sink %s: %s", lease.sink, error)
                await self.cursors.fail(lease, error.detail, self.settings.retry_seconds)
                return
            await self.cursors.confirm(lease, entries[-1].seq)
