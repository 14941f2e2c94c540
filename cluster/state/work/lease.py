"""Leases: work claimed under a fencing token, kept by a heartbeat, lost to the next claim, given back at a stop."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

from cluster.basics.errors import AosError, LeaseLost, Transient, Unavailable
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import Row, SqlStore, Transaction
from cluster.state.work.work_bell import WorkBell

_log = logging.getLogger("aos.work")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for a row of work, until somebody else claims it.

    Attributes:
        noun: what the row is; its last word is the name of the id in SQL.
        id: of the row.
        scope: in which it is worked on.
        fence: the fencing token: each claim has a greater one, and a writer with an old one is refused.
    """

    noun: ClassVar[str]
    id: str
    scope: Scope
    fence: int

    @property
    def values(self) -> dict[str, Any]:
        """Its values as SQL names them."""
        named = {**self.scope.keys, "fence": self.fence}
        return {self.noun.rpartition(" ")[2]: self.id} | named

    def query_name(self, name: str) -> str:
        """Its own variant of one of the queries that every table of leases has."""
        return name

    def __str__(self) -> str:
        return f"{self.noun} {self.id}, token {self.fence}"


L = TypeVar("L", bound=Lease)
Result = TypeVar("Result")


def worker_scope(row: Row) -> Scope:
    """The scope of whoever works on a row that was found across tenants."""
    return Scope.of_worker(TenantId(str(row["tenant_id"])), WorkspaceId(str(row["workspace_id"])))


class LeaseLedger(SqlStore, Generic[L]):
    """Rows that are worked on under lease. Each table's SQL has these queries:

    claim_next: takes what waits or whose lease has run out, with the next token, and skips what others have locked.
    heartbeat: extends the lease if the token still holds, and tells `cancel_requested`.
    hold: locks the row if the token still holds.
    release: gives the row back if the token still holds.
    """

    _lease_type: type[L]

    async def _claim_leases(self, **wanted: Any) -> list[L]:
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["claim_next"], **wanted)
        return [self._lease_type(str(row["id"]), worker_scope(row), row["fence"]) for row in rows]

    async def heartbeat(self, lease: L, lease_seconds: float) -> bool:
        """Extend the lease and tell whether the work is to be cancelled.

        Raises LeaseLost where another owner has it, or nobody is to work on it any more.
        """
        async with self._db.transaction(lease.scope) as tx:
            row = await tx.one(self._sql[lease.query_name("heartbeat")], **lease.values, lease=lease_seconds)
        if row is None:
            raise LeaseLost(str(lease))
        return bool(row["cancel_requested"])

    async def hold(self, tx: Transaction, lease: L) -> Row:
        """Lock the row for a transaction that writes what the work leads to.

        Raises LeaseLost where the fencing token is stale; nothing may be written.
        """
        row = await tx.one(self._sql[lease.query_name("hold")], **lease.values)
        if row is None:
            raise LeaseLost(str(lease))
        return row

    @asynccontextmanager
    async def writing(self, lease: L) -> AsyncIterator[Transaction]:
        """The only way to write what the work leads to: one transaction, refused where the fencing token is stale.

        Raises LeaseLost where another owner has claimed it since; nothing was written.
        """
        async with self._db.transaction(lease.scope) as tx:
            await self.hold(tx, lease)
            yield tx

    async def release(self, lease: L) -> None:
        """Give back what was not ended: whoever looks next takes it up."""
        async with self._db.transaction(lease.scope) as tx:
            await tx.run(self._sql["release"], **lease.values)


class Heartbeat(Generic[L]):
    """Keeps a lease beside the work that is done under it: a stall is a missing heartbeat, never slow progress.

    Attributes:
        cancelled: somebody wants the work to end.
        lost: another owner has it, or may have: Postgres was silent for as long as the lease lasts.
    """

    def __init__(
        self,
        send: Callable[[L, float], Awaitable[bool]],
        lease: L,
        lease_seconds: float,
        beat_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`send` as `LeaseLedger.heartbeat`; the lease was claimed just now."""
        self._send, self._lease, self._clock = send, lease, clock
        self._lease_seconds, self._beat_seconds = lease_seconds, beat_seconds
        self._lapses = clock() + lease_seconds
        self._over = asyncio.Event()
        self.cancelled = self.lost = False

    @property
    def over(self) -> bool:
        """True where the work is to stop."""
        return self.cancelled or self.lost

    async def beat(self) -> None:
        """Extend the lease once. It may fail as long as the lease has not run out."""
        began = self._clock()
        try:
            self.cancelled |= await self._send(self._lease, self._lease_seconds)
            self._lapses = began + self._lease_seconds
        except LeaseLost:
            self.lost = True
        except Transient as error:
            _log.warning("heartbeat of %s: %s", self._lease, error)
            self.lost = self._clock() >= self._lapses
        if self.over:
            self._over.set()

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._beating.cancel()
        await asyncio.wait({self._beating})
        if not self._beating.cancelled():
            self._beating.result()

    async def run(
        self, work: Coroutine[Any, Any, Result], leave: asyncio.Event, grace: float | None = None
    ) -> asyncio.Task[Result]:
        """Work until that has ended, the lease is over, or it is time to leave; then the work is cancelled.

        `leave` is set where this process stops; `grace` are seconds for work that is cancelled, None for as long as it
        takes. Returns the work as it ended; cancelled, or not even that, where it was cut off.
        """
        working = asyncio.create_task(work)
        async with self:
            watching = [asyncio.create_task(event.wait()) for event in (self._over, leave)]
            try:
                await asyncio.wait({working, *watching}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (working, *watching):
                    task.cancel()
                await asyncio.wait({working}, timeout=grace)
                working.cancel()
        return working

    async def run_and_release(
        self, work: Coroutine[Any, Any, None], leave: asyncio.Event, release: Callable[[L], Awaitable[None]]
    ) -> None:
        """As `run`; the lease is given back, unless it was lost. Raises what the work did: the lease runs out then."""
        working = await self.run(work, leave)
        if self.lost:
            return
        if not working.cancelled():
            working.result()
        await release(self._lease)

    async def _keep(self) -> None:
        try:
            while not self.lost:
                await asyncio.sleep(max(min(self._beat_seconds, self._lapses - self._clock()), 0))
                await self.beat()
        finally:
            self._over.set()


class LeaseSweep(Generic[L]):
    """Claims what waits until told to stop, and carries out so much of it at a time."""

    def __init__(
        self,
        claim: Callable[[int], Awaitable[Sequence[L]]],
        carry: Callable[[L, asyncio.Event], Coroutine[Any, Any, None]],
        most: int,
        poll: Callable[[], float],
        told: tuple[WorkBell, str, float] | None = None,
    ) -> None:
        """Nothing is claimed yet.

        `claim` takes at most so many, `carry` works on one until it has ended or the event is set, `most` at a time;
        `poll` tells the seconds between two looks when nothing waits. `told`: a bell, the queue for which it rings
        where something waits, and the seconds between two looks while it does.
        """
        self._claim, self._carry, self._most, self._poll = claim, carry, most, poll
        self._wake, self._stop = asyncio.Event(), asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        if told is not None:
            bell, queue, sweep = told
            bell.on_ring(queue, self.wake)
            self._poll = lambda: bell.pause(poll=poll(), sweep=sweep)
        self.carried: dict[L, asyncio.Task[None]] = {}

    @property
    def room(self) -> int:
        """How many more may be carried."""
        return self._most - len(self.carried)

    def wake(self) -> None:
        """Look now: something waits."""
        self._wake.set()

    def open(self) -> None:
        """Sweep in a task of its own until `close`."""
        self._running = asyncio.create_task(self.run(self._stop))

    async def close(self) -> None:
        """End; what is carried has ended or was given back then."""
        self._stop.set()
        if working := {*self.carried.values(), *([] if self._running is None else [self._running])}:
            await asyncio.wait(working)

    def require_running(self, without: str) -> None:
        """Raises Unavailable where it was opened and has ended by itself: `without` it, and why."""
        if self._running is not None and self._running.done() and not self._stop.is_set():
            raise Unavailable(f"{without}: {self._running.exception()!r}")

    def start(self, lease: L, stop: asyncio.Event | None = None) -> None:
        """Carry one that was claimed, until `close` where no event says otherwise."""
        task = self.carried[lease] = asyncio.create_task(self._carry(lease, stop or self._stop))
        task.add_done_callback(partial(self._ended, lease))

    async def run(self, stop: asyncio.Event) -> None:
        """Sweep until told to stop and all that is carried has ended or was given back."""
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            self._wake.clear()
            leases = await self._claim_some()
            for lease in leases:
                self.start(lease, stop)
            if not leases:
                woken = asyncio.create_task(self._wake.wait())
                await asyncio.wait({stopping, woken}, timeout=self._poll(), return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
        if self.carried:
            await asyncio.wait(self.carried.values())

    async def _claim_some(self) -> Sequence[L]:
        if self.room <= 0:
            return ()
        try:
            return await self._claim(self.room)
        except AosError as error:
            _log.warning("nothing can be claimed now: %s", error)
            return ()

    def _ended(self, lease: L, task: asyncio.Task[None]) -> None:
        """Logs what could not be carried on: its lease runs out, and the next claim takes it up."""
        del self.carried[lease]
        self.wake()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("%s was left: %s", lease, error, exc_info=not isinstance(error, AosError) and error)
