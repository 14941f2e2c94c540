"""Documents go for good: rows of all versions and generations, records that quote them, bytes, what Redis remembers."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final

from psycopg import sql

from cluster.basics.errors import Invalid, LegalHold, NotFound
from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.store.members import MemberDocuments
from serve_apps.governance.erasure_case import Erasure, ErasureStore, ErasureTarget
from serve_apps.governance.marks import MOST_WINDOWS, ErasureMarks, MarkFinder, is_distinctive
from serve_apps.governance.record_sweep import MarkedRecords, RecordSweep, run_batches
from serve_apps.governance.stock import OF_DOCUMENT
from serve_apps.governance.workspace_eraser import StillWorking

_PAGES_AT_ONCE: Final = 200
DOCUMENTS_AT_ONCE: Final = 50  # of one transaction, each with its members
RUNS_AT_ONCE: Final = 100
RECORDS_AT_ONCE: Final = 500
_PASSES: Final = 5  # what is written while an erasure runs is found by the next pass

MOST_MARKS: Final = 1_000_000  # ids and fingerprints of one erasure


class TooMuchAtOnce(Invalid):
    """These documents are too much for one erasure."""

    code = "erasure_too_large"
    fix = "Ask for fewer of them at once."


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
            frozenset(self._finder.name(row["name"]) for row in names if is_distinctive(row["name"])),
            await self._own_windows(scope, family),
        )
        if len(ids) + len(marks.windows) > MOST_MARKS:
            raise TooMuchAtOnce(f"{len(ids)} ids, {len(marks.windows)} fingerprints")
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

    async def require_free(self, scope: Scope, target: ErasureTarget, before: datetime) -> None:
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
        await self._sweep.refuse_held(scope, found, await self._runs_about(scope, documents, found, before))
        async with self._db.transaction(scope) as tx:
            await tx.run(self._sql["refuse_held_people"], **scope.keys, documents=documents)

    async def erase(self, scope: Scope, case: Erasure) -> None:
        """Delete the rows and treat the records, in short transactions that also count; a second time finishes it.

        Raises:
            LegalHold: somebody has put a hold since it began; `detail` says how many documents went before.
            StillWorking: a run that is about it is under way.
        """
        gone = 0
        try:
            while went := await self._erase_batch(scope, case):
                gone += went
            for _ in range(_PASSES):
                if not await self._treat_records(scope, case):
                    return
        except LegalHold as held:
            told = f"{held.detail}; {gone} documents went before, the erasure goes on when it is asked for again"
            raise LegalHold(told, fix=held.hint) from held

    async def _erase_batch(self, scope: Scope, case: Erasure) -> int:
        """Some of the documents that are left, with their members. How many went."""
        async with self._db.transaction(scope) as tx:
            await lock_corpus(tx, scope)
            rows = await tx.all(self._sql["back_some"], **_of_case(scope, case), most=DOCUMENTS_AT_ONCE)
            family = await self._members.family(tx, scope, [row["id"] for row in rows])
            if not family:
                return 0
            await tx.run(self._sql["refuse_held_people"], **scope.keys, documents=family)
            went = Counter({table: await self._count(tx, scope, table, family) for table in OF_DOCUMENT})
            went["documents"] = len(family)
            # Citations go with their answers, in the sweep: until then they lead to the runs.
            del went["answer_citations"]
            graph = await tx.only(self._sql["graph_size"], workspace=scope.workspace)
            await self._members.delete(tx, scope, family)  # what is held refuses it
            await mark_corpus_changed(tx, scope)
            left = await tx.only(self._sql["graph_size"], workspace=scope.workspace)
            went.update({name: graph[name] - left[name] for name in ("entities", "relations")})
            await self._store.count(tx, case.id, went)
        return len(family)

    async def _treat_records(self, scope: Scope, case: Erasure) -> int:
        """Runs first, then answers and citations that lead to them, then what is left of texts. How many rows."""
        marks = await self._marks_now(scope, case)
        found = await self._sweep.find(scope, marks)
        about = await self._runs_about(scope, case.documents, found, case.asked_at)
        await self._sweep.refuse_held(scope, found, about)
        total = 0
        for runs in run_batches(about, RUNS_AT_ONCE):
            async with self._db.transaction(scope) as tx:
                went = await self._sweep.erase_runs(tx, scope, runs)
                await self._store.count(tx, case.id, went)
            total += went.total()
        for at in range(0, len(case.documents), RECORDS_AT_ONCE):
            named = {**_of_case(scope, case), "documents": list(case.documents[at : at + RECORDS_AT_ONCE])}
            async with self._db.transaction(scope) as tx:
                went = Counter(answers=await tx.run(self._sql["delete_answers"], **named))
                went["answer_citations"] = await tx.run(self._sql["delete_citations"], **named)
                await self._store.count(tx, case.id, went)
            total += went.total()
        for part in found.parts(RECORDS_AT_ONCE):
            async with self._db.transaction(scope) as tx:
                await self._sweep.refuse_held_until_end(tx, scope, part)
                for unit in part.rows.get("units", ()):
                    await tx.run(self._sql["unexpect"], job=unit["job_id"], stage=unit["stage"], key=unit["key"])
                went = await self._sweep.treat(tx, scope, part, marks)
                await self._store.count(tx, case.id, went)
            total += went.total()
        return total

    async def left(self, scope: Scope, case: Erasure) -> dict[str, int]:
        """Rows that still name one of the documents, by table; what came under the same name since is another."""
        counts = {}
        async with self._db.transaction(scope) as tx:
            new = {row["id"] for row in await tx.all(self._sql["came_since"], **_of_case(scope, case))}
            documents = [one for one in case.documents if one not in new]
            for table in OF_DOCUMENT:
                counts[table] = await self._count(tx, scope, table, documents)
            counts["documents"] = len(await self._members.family(tx, scope, documents))
        return counts

    async def _marks_now(self, scope: Scope, case: Erasure) -> ErasureMarks:
        """Without ids and names of what came under the same name since."""
        rows = await self._db.read(scope, self._sql["came_since"], **_of_case(scope, case))
        if not rows:
            return case.marks
        names = {self._finder.name(name) for row in rows for name in (row["filename"], row["origin"])}
        return replace(case.marks, ids=case.marks.ids - {row["id"] for row in rows}, names=case.marks.names - names)

    async def back(self, scope: Scope, subjects: Sequence[str], before: datetime) -> list[str]:
        """Those of some documents that the workspace has from before a moment: not what came under the name since."""
        named = {"documents": list(subjects), "workspace": scope.workspace, "before": before}
        return [row["id"] for row in await self._db.read(scope, self._sql["back"], **named)]

    async def files_elsewhere(self, scope: Scope) -> set[str]:
        """Where bytes are that documents of the workspace still have."""
        rows = await self._db.read(scope, self._sql["all_locations"], workspace=scope.workspace)
        return {row["location"] for row in rows}

    async def _runs_about(
        self, scope: Scope, documents: Sequence[str], found: MarkedRecords, before: datetime
    ) -> list[Row]:
        about = await self._sweep.runs_about(scope, documents, found, before)
        if running := [run["id"] for run in about if run["state"] in ("queued", "running")]:
            raise StillWorking(f"run {running[0]} is about it and has not ended")
        return about

    async def _own_windows(self, scope: Scope, family: Sequence[str]) -> frozenset[str]:
        """Marks of the documents' words that stand in no other document of the workspace, and in no prompt or skill."""
        by_document: dict[str, set[str]] = {}
        async for pages in self._pages(scope, family, own_ones=True):
            await asyncio.to_thread(self._sample, by_document, pages)
            if (many := sum(map(len, by_document.values()))) > MOST_MARKS:
                raise TooMuchAtOnce(f"more than {many} fingerprints")
        own = set[str]().union(*by_document.values())
        if own:
            async for pages in self._pages(scope, family, own_ones=False):
                own -= await asyncio.to_thread(self._windows_of_all, [row["text"] for row in pages])
            async for texts in self._sweep.written_texts(scope):
                own -= await asyncio.to_thread(self._windows_of_all, texts)
        return frozenset(own)

    def _sample(self, by_document: dict[str, set[str]], pages: Sequence[Row]) -> None:
        for row in pages:
            windows = by_document.setdefault(row["document_id"], set())
            windows |= self._finder.windows(row["text"], MOST_WINDOWS)
            if len(windows) > MOST_WINDOWS:
                by_document[row["document_id"]] = set(nsmallest(MOST_WINDOWS, windows))

    def _windows_of_all(self, texts: Sequence[str]) -> set[str]:
        return {window for text in texts for window in self._finder.windows(text)}

    async def _pages(self, scope: Scope, family: Sequence[str], *, own_ones: bool) -> Any:
        async with self._db.transaction(scope) as tx, tx.connection.cursor(name="pages") as cursor:
            named = {"documents": list(family), "workspace": scope.workspace, "own": own_ones}
            await cursor.execute(self._sql["texts"], named)
            while rows := await cursor.fetchmany(_PAGES_AT_ONCE):
                yield rows

    async def _count(self, tx: Transaction, scope: Scope, table: str, documents: Sequence[str]) -> int:
        query: Any = sql.SQL(
            "select count(*) as total from {} where document_id = any(%(documents)s) and workspace_id = %(workspace)s"
        ).format(sql.Identifier(table))
        return int((await tx.only(query, documents=list(documents), workspace=scope.workspace))["total"])


def _of_case(scope: Scope, case: Erasure) -> dict[str, Any]:
    return {"documents": list(case.documents), "workspace": scope.workspace, "before": case.asked_at}
