"""A fault is done: signals to processes, connections cut by the servers themselves, a disk filled."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import redis

from cluster.basics.disk import usage_of
from cluster.basics.errors import Unavailable
from cluster.faults.harm_record import HarmRecord, identity
from cluster.faults.kinds import REPLICAS, FaultAction
from cluster.faults.plan import PlannedFault
from cluster.faults.targets import SERVERS, find_processes
from cluster.state.db import embedded
from cluster.state.db.postgres import load_queries
from configs.sections import Settings

SLOW_SECONDS, STOPPED, RUNNING = 10.0, 0.2, 0.1  # of slowness, and of each stop and each go in it
FULL_SECONDS = 8.0
LEFT_FREE = 24 * 2**20  # bytes of a disk that is filled: more than a segment of Postgres' log
LONGEST_STOP = 45.0  # seconds: longer than any limit in which a part is asked whether it lives
LATE_WRITERS = frozenset({"worker"})
"""Parts that go on after a stop, so that what they write then is seen to be refused; others have to be replaced."""
PRESENT_SECONDS = 45.0  # so long a part is waited for: readers come and go with the work
SQL = load_queries(Path(__file__).with_name("connections.sql"))


class NothingToHit(Unavailable):
    """No process of this part came up in time, it had no connections, or its disk was full already."""


class FaultDoer:
    """Does one fault after the other to the instance of a state directory; every stop is on record before."""

    def __init__(
        self,
        settings: Settings,
        record: HarmRecord,
        sleep: Callable[[float], None] = time.sleep,
        slow_seconds: float = SLOW_SECONDS,
        longest_stop: float = LONGEST_STOP,
    ) -> None:
        """Nothing is done yet."""
        self._slow_seconds, self._longest_stop = slow_seconds, longest_stop
        self._settings, self._state = settings, settings.state_dir
        self._record, self._sleep = record, sleep

    def victims(self, fault: PlannedFault) -> list[psutil.Process]:
        """The processes that this fault is for: one replica, or all of a part; none for connections and the disk.

        Raises NothingToHit where there is none for a while.
        """
        if fault.kind.action in (FaultAction.CUT, FaultAction.FILL):
            return []
        deadline = time.monotonic() + PRESENT_SECONDS
        while not (found := find_processes(self._state, fault.kind.part)):
            if time.monotonic() > deadline:
                raise NothingToHit(f"no {fault.kind.part} ran for {PRESENT_SECONDS:.0f} s")
            self._sleep(0.2)
        if fault.kind.part in REPLICAS:
            return [found[min(int(fault.pick * len(found)), len(found) - 1)]]
        return found

    def do(self, fault: PlannedFault, victims: list[psutil.Process]) -> float:
        """Do it; the moment (of the monotonic clock) from which on the product is to come back by itself.

        Of a stop that is its beginning: the product has to notice it. A fault that lasts is over by then.
        Raises NothingToHit where nothing was harmed.
        """
        match fault.kind.action:
            case FaultAction.KILL:
                for victim in victims:
                    with suppress(psutil.NoSuchProcess):
                        victim.kill()
            case FaultAction.STOP:
                self._record.stop(victims)
            case FaultAction.SLOW:
                self._slow(fault.kind.part, victims)
            case FaultAction.CUT:
                cut = cut_postgres if fault.kind.part == "postgres" else cut_valkey
                if not cut(self._settings):
                    raise NothingToHit(f"no connection to {fault.kind.part} was open")
            case FaultAction.FILL:
                if not self._record.fill(usage_of(self._state).free, LEFT_FREE):
                    raise NothingToHit("the disk was full already")
                self._sleep(FULL_SECONDS)
                self._record.empty()
        return time.monotonic()

    def stop_limit(self, part: str) -> float:
        """Seconds after which one that is still stopped goes on: a worker just past its lease, for its late writes."""
        lease = self._settings.worker.lease_seconds * 1.3 if part in LATE_WRITERS else self._longest_stop
        return min(self._longest_stop, lease)

    def undo(self) -> None:
        """Whatever still stands or is full goes on."""
        self._record.undo()

    def _slow(self, part: str, victims: list[psutil.Process]) -> None:
        """A server begins processes meanwhile, which are slowed, too."""
        until = time.monotonic() + self._slow_seconds
        while time.monotonic() < until:
            self._record.stop(find_processes(self._state, part) if part in SERVERS else victims)
            self._sleep(STOPPED)
            self._record.wake()
            self._sleep(RUNNING)


def cut_postgres(settings: Settings) -> int:
    """End every connection to the product's database; how many. Raises Unavailable: it is away."""
    conninfo = embedded.postgres_endpoints(settings)[1]
    try:
        with psycopg.connect(conninfo or "", connect_timeout=10, autocommit=True) as connection:
            row = connection.execute(SQL["cut_connections"]).fetchone()
    except psycopg.Error as error:
        raise Unavailable(f"Postgres: {error}") from error
    return int(row[0]) if row else 0


def cut_valkey(settings: Settings) -> int:
    """End every connection to Valkey but this one; how many. Raises Unavailable: it is away."""
    try:
        with redis.from_url(embedded.redis_endpoint(settings), socket_timeout=10) as client:
            kinds = ("normal", "pubsub")
            return sum(int(client.client_kill_filter(_type=kind, skipme=True)) for kind in kinds)
    except redis.RedisError as error:
        raise Unavailable(f"Valkey: {error}") from error


def is_replaced(state_dir: Path, fault: PlannedFault, former: set[tuple[int, float]]) -> bool:
    """True where none of those that were hit is left in the state it was brought to, and the part is there again."""
    now = find_processes(state_dir, fault.kind.part)
    if fault.kind.action is FaultAction.KILL:
        left = identities(now) & former
        return not left and (bool(now) or fault.kind.part == "reader")
    return not any(is_stopped(process) for process in now)


def identities(processes: list[psutil.Process]) -> set[tuple[int, float]]:
    """Of each that still runs."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.add(identity(process.pid))
    return found


def is_stopped(process: psutil.Process) -> bool:
    """True while SIGSTOP holds it."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() == psutil.STATUS_STOPPED)
    return False
