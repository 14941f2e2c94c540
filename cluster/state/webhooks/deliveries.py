"""Deliveries under lease: of each subject what comes first, recorded as sent, retried, withheld or given up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction
from cluster.state.work.lease import Lease, LeaseLedger
from configs.sections_events import WebhookSettings

WAITS = (
    5.0,
    30.0,
    120.0,
    600.0,
    1800.0,
    3600.0,
)  # seconds between two attempts of one delivery; the last for all others
PAUSED = (429, 503)  # with these a receiver's Retry-After is of all that it is sent, and not of one message
RECEIPT_DAYS = 90
PRUNED_AT_ONCE = 10_000


class WebhookLease(Lease):
    """The right to send to one webhook."""

    __slots__ = ()
    noun = "webhook"


@dataclass(frozen=True, slots=True)
class OutgoingEvent:
    """An event on its way to one receiver; `attempts` were made before."""

    outbox: int
    event: str
    topic: str
    payload: dict[str, Any]
    at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to send an event; `error` is empty where it was accepted.

    Attributes:
        status: of the answer, where there was one.
        wait: the least seconds before the next attempt, where the receiver asked for them.
    """

    event: OutgoingEvent
    error: str = ""
    status: int | None = None
    wait: float = 0.0

    @property
    def accepted(self) -> bool:
        """True where the receiver has it."""
        return not self.error


def retry_wait(attempts: int, asked: float) -> float:
    """The seconds before the next attempt after so many; a receiver that asks for more gets it, up to the longest."""
    return max(WAITS[min(attempts, len(WAITS)) - 1], min(asked, WAITS[-1]))


class WebhookDeliveries(LeaseLedger[WebhookLease], queries="deliveries.sql"):
    """Every statement of what sends."""

    _lease_type = WebhookLease

    async def claim(self, owner: str, seconds: float, most: int) -> list[WebhookLease]:
        """Webhooks with something to send now."""
        return await self._claim_leases(owner=owner, lease=seconds, most=most)

    async def webhook(self, lease: WebhookLease) -> Row:
        """The webhook as it stands now. Raises LeaseLost where somebody else sends to it."""
        async with self._db.transaction(lease.scope) as tx:
            return await self.hold(tx, lease)

    async def heads(self, lease: WebhookLease, seen_by: Scope, limit: int) -> list[OutgoingEvent]:
        """What is to be sent now, in order; what the webhook may not see is withheld, and what follows comes next."""
        while True:
            rows = await self._db.read(lease.scope, self._sql["heads"], **lease.values, limit=limit)
            attempts = {row["outbox_id"]: row["attempts"] for row in rows}
            found = await self._db.read(seen_by, self._sql["events"], **seen_by.keys, ids=list(attempts))
            if hidden := sorted(attempts.keys() - {row["id"] for row in found}):
                async with self.writing(lease) as tx:
                    await tx.run(self._sql["withhold"], **lease.values, ids=hidden)
            if found or not hidden:
                return _events(found, attempts)

    async def record(self, lease: WebhookLease, attempts: Sequence[Attempt], settings: WebhookSettings) -> None:
        """What came of a round. What failed is tried again later, or given up; where nothing was accepted, several
        times in a row, the webhook rests, and so it does where the receiver asks for it.

        Raises LeaseLost: all of it is sent again by whoever has the lease.
        """
        accepted = [one for one in attempts if one.accepted]
        refused = [one for one in attempts if not one.accepted]
        async with self.writing(lease) as tx:
            if accepted:
                sent = {"ids": [one.event.outbox for one in accepted], "statuses": [one.status for one in accepted]}
                await tx.run(self._sql["delivered"], **lease.values, **sent)
                await tx.run(self._sql["catch_up"], **lease.values, most=settings.circuit_failures)
                await tx.run(self._sql["succeeded"], **lease.values)
            for one in refused:
                wait = retry_wait(one.event.attempts + 1, one.wait)
                values = {"outbox": one.event.outbox, "status": one.status, "wait": wait, "error": one.error[:500]}
                await tx.run(self._sql["failed"], **lease.values, **values, give_up=_seconds(settings))
            if refused and not accepted:
                await self._count_failure(tx, lease, refused[0].error, settings)
            if pause := max((one.wait for one in refused if one.status in PAUSED), default=0.0):
                await tx.run(self._sql["rest"], **lease.values, wait=min(pause, settings.longest_rest))

    async def refuse(self, lease: WebhookLease, error: str, settings: WebhookSettings) -> None:
        """Nothing could be tried; it counts as a round that failed."""
        async with self.writing(lease) as tx:
            await self._count_failure(tx, lease, error, settings)

    async def _count_failure(self, tx: Transaction, lease: WebhookLease, error: str, settings: WebhookSettings) -> None:
        circuit = {"most": settings.circuit_failures, "rest": settings.rest_seconds, "longest": settings.longest_rest}
        row = await tx.one(self._sql["count_failure"], **lease.values, error=error[:500], **circuit)
        if row is not None and row["failures"] >= settings.circuit_failures:
            await tx.run(self._sql["bury"], **lease.values, error=error[:500], give_up=_seconds(settings))

    async def disable(self, lease: WebhookLease, why: str) -> None:
        """Send nothing more to it until somebody switches it on again."""
        async with self.writing(lease) as tx:
            await tx.run(self._sql["disable"], **lease.values, error=why)

    async def prune(self, keep_days: int) -> int:
        """Forget events that are long over, and old receipts of events that came in."""
        named = {"keep": keep_days, "receipts": RECEIPT_DAYS, "most": PRUNED_AT_ONCE}
        async with self._db.transaction() as tx:
            return int((await tx.only(self._sql["prune"], **named))["went"])


def _seconds(settings: WebhookSettings) -> float:
    return settings.dead_days * 86_400.0


def _events(rows: Sequence[Row], attempts: dict[int, int]) -> list[OutgoingEvent]:
    return [
        OutgoingEvent(
            row["id"], str(row["event_id"]), row["topic"], row["payload"], row["created_at"], attempts[row["id"]]
        )
        for row in sorted(rows, key=lambda row: row["id"])
    ]
