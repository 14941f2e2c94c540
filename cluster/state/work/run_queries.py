"""Read side of runs: the list, one with its trace, its events, and the whole journal for a replay."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.basics.errors import NotFound
from cluster.basics.ids import as_uuid, uuid_of
from cluster.basics.scope import Scope
from cluster.state.canonical_json import normalize_json
from cluster.state.db.postgres import Database, Row, load_queries
from cluster.state.work.run_record import RunEvent, RunState, RunStep, read_step

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


class RunQueries:
    """Reads; an executor writes through Runs instead."""

    def __init__(self, database: Database) -> None:
        """Queries are read from run_queries.sql beside this file."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def show(self, scope: Scope, run: str) -> Row:
        """The run with its totals.

        Raises:
            NotFound: no such run in this scope.
        """
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["show"], **_run_values(scope, run))
        if row is None:
            raise NotFound(f"run {run}")
        return row

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
        """A page of the workspace's runs, newest first, and how many there are; ids that are no UUID find none.

        Args:
            scope: whose workspace.
            state: only in this state.
            session: only of this conversation.
            agent: only of this agent.
            user: only of this user.
            thumb: only with feedback of this kind.
            skip: how many to leave out.
            limit: how many at most.
        """
        ids = {"session": session, "agent": agent, "user": user}
        if any(value is not None and as_uuid(value) is None for value in ids.values()):
            return [], 0
        values = {**scope.keys, "state": state, "thumb": thumb, **ids}
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["list"], **values, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], **values)
        return rows, int(total["total"]) if total else 0

    async def events_after(self, scope: Scope, run: str, after: int, limit: int = 500) -> list[Row]:
        """The run's events with a number above `after`; none where there is no such run here."""
        values = {**scope.keys, "after": after, "limit": limit}
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["events_after"], stream=f"run:{run}", **values)

    async def steps(self, scope: Scope, run: str) -> list[Row]:
        """The trace: every effect in order, with its time, its tokens and its cost.

        Raises:
            NotFound: no such run in this scope.
        """
        await self.show(scope, run)
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["steps"], **_run_values(scope, run))

    async def recording(self, scope: Scope, run: str) -> RunRecording:
        """All that a replay needs.

        Raises:
            NotFound: no such run in this scope.
        """
        named = _run_values(scope, run)
        values = {**scope.keys, "after": 0, "limit": _EVERYTHING}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["journal"], **named)
            steps = await tx.all(self._sql["steps"], **named)
            events = await tx.all(self._sql["events_after"], stream=f"run:{run}", **values)
        if row is None:
            raise NotFound(f"run {run}")
        told = tuple(RunEvent(e["seq"], e["type"], normalize_json(e["payload"])) for e in events)
        return RunRecording(
            str(row["id"]),
            RunState(row["state"]),
            row["path"],
            row["seed"],
            row["fence"],
            normalize_json(row["input"]),
            tuple(map(read_step, steps)),
            told,
        )


def _run_values(scope: Scope, run: str) -> dict[str, str]:
    return {"run": uuid_of(run, "run"), **scope.keys}
