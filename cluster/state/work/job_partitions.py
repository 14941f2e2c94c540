"""Partitions of a large job: what one worker has under a lease of its own, whoever has the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction

# In the payload of a job: how many it has, and why all who work at it are to stop.
PARTITIONS: Final = "partitions"
FAILING: Final = "failing"

Values = Mapping[str, Any]  # of a lease, as SQL names them


@dataclass(frozen=True, slots=True)
class JobPartition:
    """A partition that was claimed; `fence` is a fencing token of its own."""

    number: int
    fence: int


class JobPartitions(SqlStore, queries="job_partitions.sql"):
    """Every statement about partitions but those that any lease has."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)

    async def plan(self, tx: Transaction, values: Values) -> Mapping[str, int]:
        """Once all units are written: as many as those are in, which a plan made before may have begun."""
        last = int((await tx.only(self._sql["last"], **values))["last"])
        if last == 0:
            return {}
        await tx.run(self._sql["plan"], **values, last=last)
        return {PARTITIONS: last + 1}

    async def claim(self, owner: str, lane: str, lease_seconds: float, job: str | None) -> Row | None:
        """Take a partition of the job, or of any in the lane that others work at; None where none is free."""
        async with self._db.transaction() as tx:
            return await tx.one(self._sql["claim"], owner=owner, lane=lane, lease=lease_seconds, job=job)

    async def give_back(self, tx: Transaction, values: Values) -> None:
        """It is anybody's; from now on the job's row is locked."""
        await tx.run(self._sql["give_back"], **values)
        await tx.one(self._sql["lock_job"], **values)

    async def look_again(self, scope: Scope, values: Values) -> None:
        """Open what was taken for done and is not."""
        async with self._db.transaction(scope) as tx:
            await tx.run(self._sql["look_again"], **values)

    async def begin_again(self, tx: Transaction, values: Values) -> None:
        """All are open and nobody's: a job that has ended goes on."""
        await tx.run(self._sql["begin_again"], **values)

    async def worked(self, tx: Transaction, values: Values) -> None:
        """A turn of this one ended as it should."""
        await tx.run(self._sql["worked"], **values)

    async def is_open(self, scope: Scope, values: Values) -> bool:
        """Whether anything is left to do in it."""
        async with self._db.transaction(scope) as tx:
            return bool((await tx.only(self._sql["is_open"], **values))["open"])

    async def fail(self, tx: Transaction, values: Values, why: str) -> None:
        """Have all stop who work at the job; whoever claims it after the last of them ends it with this reason."""
        await tx.run(self._sql["fail"], **values, why=why)

    async def count_at_work(self, lane: str) -> int:
        """How many workers are at work in a lane now, whoever they work for."""
        async with self._db.transaction() as tx:
            return int((await tx.only(self._sql["at_work"], lane=lane))["workers"])

    async def counts(self, tx: Transaction, values: Values) -> Row | None:
        """All of a job, those with work left, and those at which somebody works; None where it has none."""
        found = await tx.only(self._sql["counts"], **values)
        return found if found["total"] else None
