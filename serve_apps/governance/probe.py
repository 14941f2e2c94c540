"""The probe: looks for what was erased in every table, in Redis and among the files, and tells where it still is."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.store.blobs import BlobStore, Location
from serve_apps.governance.document_eraser import DocumentEraser
from serve_apps.governance.erasure_case import Erasure, SubjectKind
from serve_apps.governance.marks import ErasureMarks, MarkFinder
from serve_apps.governance.person_eraser import PersonEraser
from serve_apps.governance.record_sweep import RecordSweep
from serve_apps.governance.redis_places import RedisPlaces
from serve_apps.governance.stock import OF_DOCUMENT, RECORDS, WRITTEN

_ENTRIES: Final = 1000


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """Where it was found, with counts: empty where it is gone. `searched` counts tables and marks."""

    places: Mapping[str, int]
    searched: Mapping[str, int]

    @property
    def finds(self) -> int:
        """All of them together."""
        return sum(self.places.values())


class ErasureProbe:
    """Reads only."""

    def __init__(
        self,
        database: Database,
        finder: MarkFinder,
        sweep: RecordSweep,
        documents: DocumentEraser,
        people: PersonEraser,
        redis: RedisPlaces,
        blobs: BlobStore,
    ) -> None:
        """Queries are read from probe.sql beside this file."""
        self._db, self._finder, self._sweep = database, finder, sweep
        self._documents, self._people, self._redis, self._blobs = documents, people, redis, blobs
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def look(self, scope: Scope, case: Erasure) -> ProbeReport:
        """Look everywhere. `scope` is of the system, in the erasure's workspace. Raises RedisAway."""
        of_documents = case.kind is SubjectKind.DOCUMENT
        eraser = self._documents if of_documents else self._people
        found = Counter(await eraser.left(scope, case))
        for inside in [scope] if of_documents else await self._people.workspaces(scope):
            for written in (False, True):
                found.update((await self._sweep.find(inside, case.marks, written=written)).counts)
        found["audit"] += len(await self.find_audit_entries(scope, case.marks))
        homes = [scope] if of_documents else await self._people.workspaces(scope)
        found["redis"] += await self._redis.find(self._finder, case.marks, homes)
        found["files"] += len(await self.files(scope, case))
        searched = {
            "tables": len(RECORDS) + len(WRITTEN) + len(OF_DOCUMENT) + 1,
            "ids": len(case.marks.ids),
            "names": len(case.marks.names),
            "fingerprints": len(case.marks.windows),
        }
        return ProbeReport({place: count for place, count in sorted(found.items()) if count}, searched)

    async def find_audit_entries(self, scope: Scope, marks: ErasureMarks) -> list[Row]:
        """Entries of the audit trail that have a file's name or an e-mail address; ids are what a trail is for."""
        names, found, after = replace(marks, ids=frozenset(), windows=frozenset()), list[Row](), 0
        if not names.names:
            return []
        while True:
            rows = await self._db.read(scope, self._sql["entries"], tenant=scope.tenant, after=after, limit=_ENTRIES)
            if not rows:
                return found
            after = rows[-1]["seq"]
            found += [row for row in rows if self._finder.is_in(names, [row["object"], row["detail"]])]

    async def redact_audit_entries(self, tx: Transaction, case: Erasure, rows: Sequence[Row]) -> int:
        """Take the names out of entries; their hashes stay, and the chain with them."""
        names = replace(case.marks, ids=frozenset(), windows=frozenset())
        entries = []
        for row in rows:
            object_, detail = self._finder.redacted(names, [row["object"], row["detail"]], whole=True)
            entries.append({"seq": row["seq"], "object": object_, "detail": detail})
        await tx.run(self._sql["redact"], erasure=case.id, entries=Jsonb(entries))
        return len(rows)

    async def files(self, scope: Scope, case: Erasure) -> list[Location]:
        """Files with the erased bytes that no other document of the workspace has."""
        if case.kind is not SubjectKind.DOCUMENT:
            return []
        kept = await self._documents.files_elsewhere(scope)
        contents = {str(one["sha256"]): int(one["bytes"]) for one in case.content}
        copies = await asyncio.to_thread(self._blobs.copies, scope.tenant, scope.workspace, contents)
        known = [Location(one) for one in case.files]
        there = [one for one in known if await asyncio.to_thread(self._blobs.size, one) is not None]
        return sorted({*copies, *there} - kept)
