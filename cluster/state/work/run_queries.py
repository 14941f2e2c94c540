"""Read side of runs: the list, one with its trace, its events, and the whole journal for a replay."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cluster.basics.ids import as_uuid, scoped_id
from cluster.basics.scope import Scope
from cluster.state.canonical_json import normalize_json
from cluster.state.db.postgres import Database, Row, SqlStore
from cluster.state.work.run_record import RunEvent, RunState, RunStep, read_step
from cluster.state.work.run_seals import RunSeals

_EVERYTHING = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RunRecording:
    """A whole run as it was recorded."""

    run: str
    state: RunState
    path: str
    seed: int
    fence: int
    input: Mapping[str, Any]
    steps: tuple[RunStep, ...]
    events: tuple[RunEvent, ...]


class RunQueries(SqlStore, queries="run_queries.sql"):
    """Reads; an executor writes through Runs instead. Of a masked run only its recording has what was said."""

    def __init__(self, database: Database, seals: RunSeals | None = None) -> None:
        """`seals`: restore what a masked run said, for a replay."""
        super().__init__(database)
        self._seals = seals

    async def show(self, scope: Scope, run: str) -> Row:
        """The run with its totals. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            return await tx.required(f"run {run}", self._sql["show"], **scoped_id(scope, "run", run))

    async def page(
        self,
        scope: Scope,
        *,
        state: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        thumb: str | None = None,
        skip: int = 0,
        limit: int = 50,
    ) -> tuple[list[Row], int]:
        """A page of the workspace's runs, newest first, and how many there are.

        None of `state`, `session`, `agent`, `user` and `thumb` (feedback of this kind) is for all; ids that are no UUID
        find none.
        """
        ids = {"session": session, "agent": agent, "user": user}
        if any(value is not None and as_uuid(value) is None for value in ids.values()):
            return [], 0
        values = {**scope.keys, "state": state, "thumb": thumb, **ids}
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["list"], self._sql["count"], **values, skip=skip, limit=limit)

    async def events_after(self, scope: Scope, run: str, after: int, limit: int = 500) -> list[Row]:
        """The run's events with a number above `after`; none where there is no such run here."""
        values = {**scope.keys, "after": after, "limit": limit}
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["events_after"], stream=f"run:{run}", **values)

    async def steps(self, scope: Scope, run: str) -> list[Row]:
        """The trace: every effect in order, with its time, its tokens and its cost.

        Raises NotFound where there is none.
        """
        await self.show(scope, run)
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["steps"], **scoped_id(scope, "run", run))

    async def recording(self, scope: Scope, run: str) -> RunRecording:
        """All that a replay needs. Raises NotFound where there is none."""
        named = scoped_id(scope, "run", run)
        values = {**scope.keys, "after": 0, "limit": _EVERYTHING}
        async with self._db.transaction(scope) as tx:
            row = await tx.required(f"run {run}", self._sql["journal"], **named)
            steps = await tx.all(self._sql["steps"], **named)
            events = await tx.all(self._sql["events_after"], stream=f"run:{run}", **values)
            if self._seals is not None:
                cells = [(row, "input"), *((step, key) for step in steps for key in ("request", "reply"))]
                cells += [(event, "payload") for event in events]
                plain = await self._seals.restore(tx, scope, run, [at[key] for at, key in cells])
                for (at, key), value in zip(cells, plain, strict=True):
                    at[key] = value
        told = tuple(RunEvent(e["seq"], e["type"], normalize_json(e["payload"])) for e in events)
        same = {key: row[key] for key in ("path", "seed", "fence")}
        begun = {"run": str(row["id"]), "state": RunState(row["state"]), "input": normalize_json(row["input"])}
        return RunRecording(**begun, **same, steps=tuple(map(read_step, steps)), events=told)
