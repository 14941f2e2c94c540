"""Erasures on record: what was asked, what is looked for, what went so far, and the receipt."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction
from serve_apps.governance.marks import ErasureMarks


class SubjectKind(StrEnum):
    """The sort of what is erased."""

    DOCUMENT = "document"
    PERSON = "person"


class NoReceiptYet(Conflict):
    """This erasure has not ended: something kept it, or it was interrupted."""

    code = "erasure_unfinished"
    fix = "Ask for the same erasure again (POST /api/erasures): it goes on where it ended."


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """What would go: ids of documents with their members, or of accounts. `content` names it by hashes."""

    subjects: tuple[str, ...]
    marks: ErasureMarks
    content: Sequence[Mapping[str, Any]]
    files: tuple[str, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Erasure:
    """One that was asked for. `documents` has members of containers too; `counts` what went so far, by place."""

    id: str
    tenant: str
    workspace: str
    kind: SubjectKind
    subjects: tuple[str, ...]
    reason: str
    asked_by: str
    asked_at: datetime
    content: Sequence[Mapping[str, Any]]
    marks: ErasureMarks
    files: tuple[str, ...]
    counts: Mapping[str, int]
    receipt: Mapping[str, Any] | None
    finished_at: datetime | None

    @property
    def documents(self) -> tuple[str, ...]:
        """Ids of the documents and of what came out of them."""
        return tuple(sorted({str(one["document"]) for one in self.content if "document" in one} | set(self.subjects)))

    @property
    def gone(self) -> int:
        """How many of the documents or people went so far."""
        return self.counts.get("documents" if self.kind is SubjectKind.DOCUMENT else "users", 0)


class ErasureStore(SqlStore, queries="erasure_case.sql"):
    """Rows of one tenant; none is ever deleted, and none changes once it has its receipt."""

    async def begin(self, tx: Transaction, scope: Scope, case: Mapping[str, Any], target: ErasureTarget) -> None:
        """Put it on record before anything goes. `case`: id, kind, subjects, reason, user and at."""
        await tx.run(
            self._sql["begin"],
            **scope.keys,
            **case,
            content=Jsonb(list(target.content)),
            marks=Jsonb(target.marks.as_json()),
            files=list(target.files),
        )

    async def unfinished(self, scope: Scope, kind: SubjectKind, subjects: Sequence[str]) -> Erasure | None:
        """The one of the same subjects that was begun and has not ended."""
        return await self._of_subjects("unfinished", scope, kind, subjects)

    async def ended(self, scope: Scope, kind: SubjectKind, subjects: Sequence[str]) -> Erasure | None:
        """The newest one of the same subjects that has its receipt."""
        return await self._of_subjects("ended", scope, kind, subjects)

    async def _of_subjects(
        self, query: str, scope: Scope, kind: SubjectKind, subjects: Sequence[str]
    ) -> Erasure | None:
        named = {**scope.keys, "kind": kind, "subjects": sorted(subjects)}
        rows = await self._db.read(scope, self._sql[query], **named)
        return _erasure(rows[0]) if rows else None

    async def show(self, scope: Scope, erasure: str) -> Erasure:
        """One of the tenant's. Raises NotFound."""
        async with self._db.transaction(scope) as tx:
            named = {"erasure": uuid_of(erasure, "erasure"), "tenant": scope.tenant}
            return _erasure(await tx.required(f"erasure {erasure}", self._sql["show"], **named))

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """The newest first, and how many there are."""
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["list"], self._sql["total"], skip=skip, limit=limit, tenant=scope.tenant)

    async def all_done(self, scope: Scope) -> list[Erasure]:
        """Every one that has ended, the oldest first."""
        return [_erasure(row) for row in await self._db.read(scope, self._sql["done"], tenant=scope.tenant)]

    async def count(self, tx: Transaction, erasure: str, went: Mapping[str, int]) -> None:
        """Add to what went, in the transaction in which it goes."""
        added = {name: count for name, count in Counter(went).items() if count}
        if added:
            await tx.run(self._sql["count"], erasure=erasure, added=Jsonb(added))

    async def finish(self, tx: Transaction, erasure: str, receipt: Mapping[str, Any], at: datetime) -> None:
        """Keep the receipt; from now on the row stays as it is."""
        await tx.run(self._sql["finish"], erasure=erasure, receipt=Jsonb(dict(receipt)), at=at)


def _erasure(row: Row) -> Erasure:
    return Erasure(
        id=str(row["id"]),
        tenant=str(row["tenant_id"]),
        workspace=str(row["workspace_id"]),
        kind=SubjectKind(row["kind"]),
        subjects=tuple(row["subjects"]),
        reason=row["reason"],
        asked_by=str(row["asked_by"]),
        asked_at=row["asked_at"],
        content=row["content"],
        marks=ErasureMarks.from_json(row["marks"]),
        files=tuple(row["files"]),
        counts=row["counts"],
        receipt=row["receipt"],
        finished_at=row["finished_at"],
    )
