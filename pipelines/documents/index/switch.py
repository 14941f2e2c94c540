"""Switch of readers to another index generation by one row, the way back, and the sweep of unused ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries

MOST_VECTORS = 2_000  # that a switch takes along: a graph takes them one by one
ROWS_A_SWEEP = 5_000


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """A switch that was made."""

    generation: int  # what readers use from now on
    previous: int | None  # what they used before, kept for the way back; None where there was none
    # Documents that the generation lacked and took over as they were: found by their words, and by meaning once they
    # are embedded again, or at once where they are few and both generations are of one embedder.
    carried: int


class IndexSwitchover:
    """Statements about the generations of a workspace. What they touch belongs to all its readers: the scope is a
    worker's."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def begin(self, scope: Scope, generation: int, job: str) -> None:
        """Note that a job builds a generation."""
        async with self._db.transaction(scope) as tx:
            await tx.run(self._sql["begin_build"], **scope.keys, generation=generation, job=job)

    async def give_up(self, tx: Transaction, scope: Scope, job: str) -> None:
        """Disown a job's builds, and drop those that no reader has; the next sweep removes them."""
        await tx.run(self._sql["give_up_builds"], **scope.keys, job=job)

    async def build(self, scope: Scope, job: str) -> Row | None:
        """A job's build: generation_id, state, the gate's report; None before it began, or once it was dropped."""
        async with self._db.transaction(scope) as tx:
            return await tx.one(self._sql["build_of"], **scope.keys, job=job)

    async def is_building(self, scope: Scope, generation: int) -> bool:
        """True if a job has begun the generation, and neither finished nor given it up."""
        async with self._db.transaction(scope) as tx:
            return await tx.one(self._sql["is_building"], **scope.keys, generation=generation) is not None

    async def recipe(self, scope: Scope, generation: int) -> Row:
        """embedder, embedder_fingerprint, dimension and chunker of a generation. Raises NotFound: there is none."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["recipe"], generation=generation)
        if row is None:
            raise NotFound(f"generation {generation}")
        return row

    async def checked(self, tx: Transaction, scope: Scope, generation: int, report: Mapping[str, Any]) -> None:
        """Keep what the gate said: it is `ready`, or `refused`."""
        state = "refused" if report["verdict"] == "refused" else "ready"
        await tx.run(self._sql["checked"], **scope.keys, generation=generation, state=state, report=Jsonb(dict(report)))

    async def live(self, scope: Scope) -> int | None:
        """The generation that readers use; None where nothing was indexed yet."""
        async with self._db.transaction(scope) as tx:
            return (await self._lock_generations(tx, scope))["live"]

    async def to(self, tx: Transaction, scope: Scope, generation: int, forced_by: str | None = None) -> SwitchResult:
        """Let readers use a finished generation, and keep the one before; a repeat changes nothing.

        Documents that the generation lacks are taken over from the one that is live, so none is lost.
        """
        before = (await self._lock_generations(tx, scope))["live"]
        named = scope.keys | {"generation": generation}
        if before == generation:
            return SwitchResult(generation, None, 0)
        carried: Sequence[Row] = []
        if before is not None:
            both = named | {"live": before, "most": MOST_VECTORS}
            carried = await tx.all(self._sql["behind"], **both)
            versions = [row["version_id"] for row in carried]
            for query in ("drop_old_cut", "carry_chunks", "carry_vectors", "carry_record") if carried else ():
                await tx.run(self._sql[query], **both, versions=versions)
        for query in ("use_generation", "follow"):
            await tx.run(self._sql[query], **named)
        await tx.run(self._sql["switched"], **named, forced_by=forced_by)
        return SwitchResult(generation, before, len(carried))

    async def back(self, tx: Transaction, scope: Scope) -> SwitchResult:
        """Let readers use the generation before; a second time leads forward again. Raises Conflict: there is none."""
        previous = (await self._lock_generations(tx, scope))["previous"]
        if previous is None:
            fix = "A re-index makes one: POST /api/documents/reindex-all."
            raise Conflict("there is no generation before this one", fix=fix)
        return await self.to(tx, scope, previous)

    async def forward(self, tx: Transaction, scope: Scope, generation: int, *, force: bool) -> SwitchResult:
        """Let readers use a generation that was built and held back, or that the gate refused.

        Raises:
            NotFound: this workspace has no such generation.
            Conflict: it is not complete, or the gate refused it and nobody insists.
        """
        await self._lock_generations(tx, scope)
        rows = await tx.all(self._sql["list"], **scope.keys)
        row = next((one for one in rows if one["id"] == generation), None)
        if row is None:
            raise NotFound(f"generation {generation}", fix="GET /api/generations lists them.")
        if not (row["live"] or row["previous"]):
            if row["state"] == "building":
                raise Conflict(f"generation {generation} is not complete", fix=f"Wait for job {row['job_id']}.")
            if row["state"] == "refused" and not force:
                reasons = "; ".join(row["report"]["reasons"])
                raise Conflict(f"the gate refused generation {generation}: {reasons}", fix="Insist with ?force=true.")
        return await self.to(tx, scope, generation, scope.user if force else None)

    async def sweep(self, scope: Scope) -> int:
        """Remove what no generation needs that is live, before it, ready or being built; rows that went.

        A little at a time, so that nobody waits for it; what a kill leaves behind the next sweep takes.
        """
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["kept"], **scope.keys)
            kept = {"kept": row["generations"] if row else []}
            await tx.run(self._sql["dropped"], **scope.keys, **kept)
            await tx.run(self._sql["forget"], **scope.keys, **kept)
        gone = 0
        for query in ("drop_vectors", "drop_chunks"):
            rows = ROWS_A_SWEEP
            while rows == ROWS_A_SWEEP:
                async with self._db.transaction(scope) as tx:
                    rows = await tx.run(self._sql[query], **scope.keys, **kept, most=ROWS_A_SWEEP)
                gone += rows
        return gone

    async def overview(self, scope: Scope) -> list[Row]:
        """Every generation of the workspace that is there, newest first, as far as the scope sees its documents."""
        return await self._db.read(scope, self._sql["list"], **scope.keys)

    async def _lock_generations(self, tx: Transaction, scope: Scope) -> Row:
        row = await tx.one(self._sql["lock_workspace"], **scope.keys)
        return row or {"live": None, "previous": None}
