"""Documents go for good: rows of all versions and generations, records that quote them, bytes, what Redis remembers."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from psycopg import sql

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.store.members import MemberDocuments
from serve_apps.governance.erasure_case import Erasure, ErasureStore, ErasureTarget
from serve_apps.governance.marks import MOST_WINDOWS, ErasureMarks, MarkFinder
from serve_apps.governance.record_sweep import MarkedRecords, RecordSweep
from serve_apps.governance.stock import OF_DOCUMENT
from serve_apps.governance.workspace_eraser import StillWorking

_PAGES_AT_ONCE: Final = 200
_PASSES: Final = 5  # what is written while an erasure runs is found by the next pass


class DocumentEraser:
    """One workspace's documents, as the system itself, which sees them whoever their readers are."""

    def __init__(self, database: Database, finder: MarkFinder, sweep: RecordSweep, store: ErasureStore) -> None:
        """Queries are read from document_eraser.sql beside this file."""
        self._db, self._finder, self._sweep, self._store = database, finder, sweep, store
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))
        self._members = MemberDocuments()

    async def gather(self, scope: Scope, subjects: Sequence[str]) -> ErasureTarget:
        """What would go, with the marks it is found by. Members of a container go with it.

        Raises:
            NotFound: one of them is not in this workspace.
            LegalHold: one of them is held.
        """
        async with self._db.transaction(scope) as tx:
            family = await self._members.family(tx, scope, subjects)
            if missing := sorted(set(subjects) - set(family)):
                raise NotFound(f"document {missing[0]}")
            for document in family:
                await tx.run(self._sql["refuse_held"], document=document, **scope.keys)
            named = {"documents": family, "workspace": scope.workspace}
            versions = await tx.all(self._sql["versions"], **named)
            chunks = await tx.all(self._sql["chunks"], **named)
            names = await tx.all(self._sql["own_names"], **named)
            locations = await tx.all(self._sql["locations"], **named)
            counts = {table: await self._count(tx, scope, table, family) for table in OF_DOCUMENT}
        ids = {*family, *(row["id"] for row in versions), *(row["id"] for row in chunks)}
        marks = ErasureMarks(
            frozenset(ids),
            frozenset(self._finder.name(row["name"]) for row in names),
            await self._own_windows(scope, family),
        )
        content = [
            {
                "document": row["document_id"],
                "version": row["id"],
                "sha256": row["file_hash"],
                "bytes": row["file_size"],
            }
            for row in versions
        ]
        counts["documents"] = len(family)
        return ErasureTarget(tuple(family), marks, content, tuple(row["location"] for row in locations), counts)

    async def require_free(self, scope: Scope, target: ErasureTarget) -> None:
        """Before anything goes: nobody works on it, and nobody who is held was told of it.

        Raises:
            StillWorking: a job has yet to read some of it, or a run that is about it is under way.
            LegalHold: somebody's conversation about it is held.
        """
        ids, documents = sorted(target.marks.ids), list(target.subjects)
        named = {"workspace": scope.workspace, "ids": ids, "documents": documents}
        if open_jobs := await self._db.read(scope, self._sql["reading_jobs"], **named):
            raise StillWorking(f"job {open_jobs[0]['id']} has yet to read some of it")
        found = await self._sweep.find(scope, target.marks)
        about = await self._runs_about(scope, documents, found)
        told = {str(row["session_id"]) for row in found.rows.get("messages", ())} | {run["session"] for run in about}
        answers = [str(row["id"]) for row in found.rows.get("answers", ())]
        async with self._db.transaction(scope) as tx:
            query = self._sql["refuse_held_people"]
            await tx.run(query, **scope.keys, sessions=sorted(told), answers=answers, documents=documents)

    async def erase(self, scope: Scope, case: Erasure) -> None:
        """Delete the rows and treat the records, each in a transaction that also counts; a second time finishes it."""
        async with self._db.transaction(scope) as tx:
            await lock_corpus(tx, scope)
            family = await self._members.family(tx, scope, case.documents)
            if family:
                went = Counter({table: await self._count(tx, scope, table, family) for table in OF_DOCUMENT})
                went["documents"] = len(family)
                # Citations go with their answers, in the sweep: until then they lead to the runs.
                del went["answer_citations"]
                graph = await tx.only(self._sql["graph_size"], workspace=scope.workspace)
                await self._members.delete(tx, scope, family)
                await mark_corpus_changed(tx, scope)
                left = await tx.only(self._sql["graph_size"], workspace=scope.workspace)
                went.update({name: graph[name] - left[name] for name in ("entities", "relations")})
                await self._store.count(tx, case.id, went)
        for _ in range(_PASSES):
            if not await self._treat_records(scope, case):
                return

    async def _treat_records(self, scope: Scope, case: Erasure) -> int:
        found = await self._sweep.find(scope, case.marks)
        about = await self._runs_about(scope, case.documents, found)
        async with self._db.transaction(scope) as tx:
            went = await self._sweep.erase_runs(tx, scope, [run["id"] for run in about])
            named = {"documents": list(case.documents), "workspace": scope.workspace}
            went["answers"] += await tx.run(self._sql["delete_answers"], **named)
            went["answer_citations"] += await tx.run(self._sql["delete_citations"], **named)
            for unit in found.rows.get("units", ()):
                await tx.run(self._sql["unexpect"], job=unit["job_id"], stage=unit["stage"], key=unit["key"])
            went += await self._sweep.treat(tx, scope, found, case.marks)
            await self._store.count(tx, case.id, went)
        return went.total()

    async def left(self, scope: Scope, case: Erasure) -> dict[str, int]:
        """Rows that still name one of the documents, by table."""
        counts = {}
        async with self._db.transaction(scope) as tx:
            for table in OF_DOCUMENT:
                counts[table] = await self._count(tx, scope, table, case.documents)
            counts["documents"] = len(await self._members.family(tx, scope, case.documents))
        return counts

    async def back(self, scope: Scope, subjects: Sequence[str], before: datetime) -> list[str]:
        """Those of some documents that the workspace has from before a moment: not what came under the name since."""
        named = {"documents": list(subjects), "workspace": scope.workspace, "before": before}
        return [row["id"] for row in await self._db.read(scope, self._sql["back"], **named)]

    async def files_elsewhere(self, scope: Scope) -> set[str]:
        """Where bytes are that documents of the workspace still have."""
        rows = await self._db.read(scope, self._sql["all_locations"], workspace=scope.workspace)
        return {row["location"] for row in rows}

    async def _runs_about(self, scope: Scope, documents: Sequence[str], found: MarkedRecords) -> list[Row]:
        about = await self._sweep.runs_about(scope, documents, found)
        if running := [run["id"] for run in about if run["state"] in ("queued", "running")]:
            raise StillWorking(f"run {running[0]} is about it and has not ended")
        return about

    async def _own_windows(self, scope: Scope, family: Sequence[str]) -> frozenset[str]:
        """Marks of the documents' words that stand in no other document of the workspace."""
        own: set[str] = set()
        async for texts in self._texts(scope, family, own_ones=True):
            for text in texts:
                own |= await asyncio.to_thread(self._finder.windows, text, MOST_WINDOWS)
        if own:
            async for texts in self._texts(scope, family, own_ones=False):
                own -= await asyncio.to_thread(self._windows_of_all, texts)
        return frozenset(own)

    def _windows_of_all(self, texts: Sequence[str]) -> set[str]:
        return {window for text in texts for window in self._finder.windows(text)}

    async def _texts(self, scope: Scope, family: Sequence[str], *, own_ones: bool) -> Any:
        async with self._db.transaction(scope) as tx, tx.connection.cursor(name="pages") as cursor:
            named = {"documents": list(family), "workspace": scope.workspace, "own": own_ones}
            await cursor.execute(self._sql["texts"], named)
            while rows := await cursor.fetchmany(_PAGES_AT_ONCE):
                yield [row["text"] for row in rows]

    async def _count(self, tx: Transaction, scope: Scope, table: str, documents: Sequence[str]) -> int:
        query: Any = sql.SQL(
            "select count(*) as total from {} where document_id = any(%(documents)s) and workspace_id = %(workspace)s"
        ).format(sql.Identifier(table))
        return int((await tx.only(query, documents=list(documents), workspace=scope.workspace))["total"])
