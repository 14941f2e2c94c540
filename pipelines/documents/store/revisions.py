"""A new reading of the same bytes beside the version that readers see: what it begins from, takes over and comes to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from pipelines.documents.document import DocumentId, Failure, FailureReason, VersionId, page_id
from pipelines.documents.store.page_codec import failure_from_json
from pipelines.documents.store.page_quota import refuse_beyond

FOLDER = ("file:", "fileb:")  # origins that say where the file is


class VersionRevisions:
    """Statements about versions that were asked for. Corpus and document are locked by whoever writes."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def base(self, tx: Transaction, scope: Scope, document: str) -> Row | None:
        """The version that a new reading begins from; None where the document was never opened.

        It has id, file_hash, file_size, kind, location, page_count, and the document's current_version.
        """
        return await tx.one(self._sql["base"], document=document, workspace=scope.workspace)

    async def source(self, tx: Transaction, scope: Scope, document: str, origin: str) -> str | None:
        """Where the bytes of a document are that was never opened; None where nobody knows."""
        row = await tx.one(self._sql["uploaded"], document=document, workspace=scope.workspace)
        found = None if row is None else row["location"]
        return found or (origin if origin.startswith(FOLDER) else None)

    async def refuse_while_read(self, tx: Transaction, scope: Scope, document: str, job: str) -> None:
        """Raise Conflict where another job has yet to read the document: two at once would undo each other's pages."""
        named = {"document": document, "workspace": scope.workspace}
        await tx.one(self._sql["hold"], **named)
        if row := await tx.one(self._sql["at_work"], **named, job=job):
            raise Conflict(
                f"job {row['id']} is reading document {document}",
                fix=f"Wait for it, or cancel it: POST /api/jobs/{row['id']}/cancel.",
            )

    async def refuse_beside(self, tx: Transaction, scope: Scope, job: str) -> None:
        """Raise Conflict where a job that goes on would read beside another one: either was asked to read again."""
        named = {"workspace": scope.workspace, "job": job}
        if asked := await tx.one(self._sql["asked"], **named):
            await self.refuse_while_read(tx, scope, asked["document"], job)
        elif row := await tx.one(self._sql["read_beside"], **named):
            raise Conflict(
                f"job {row['id']} is reading document {row['document']}",
                fix=f"Wait for it, or cancel it: POST /api/jobs/{row['id']}/cancel.",
            )

    async def superseded(self, tx: Transaction, scope: Scope, job: str) -> list[str]:
        """Versions left to a job of which readers would never hear: they have newer ones."""
        rows = await tx.all(self._sql["superseded"], workspace=scope.workspace, job=job)
        return [row["subject"] for row in rows]

    async def open(
        self,
        tx: Transaction,
        scope: Scope,
        document: DocumentId,
        version: Mapping[str, Any],
        *,
        base: VersionId,
        kept: Sequence[int],
        most_pages: int,
    ) -> set[int]:
        """Write a version with the pages it takes over from `base`, and return the numbers of those that were there.

        Args:
            version: version, file_hash, file_size, kind, page_count, location.
            kept: numbers of the pages that are not to be read again.
            most_pages: that all documents of the tenant may have together.

        Raises OverQuota: its pages are too many.
        """
        named = {"document": document, "workspace": scope.workspace}
        await self.drop_abandoned(tx, scope, document, but=base)
        await tx.run(self._sql["begin"], **named)
        await tx.run(self._sql["put_revision"], **scope.keys, document=document, **version)
        await refuse_beyond(tx, scope, most_pages, int(version["page_count"]), document)
        key = VersionId(version["version"])
        pages = {"numbers": list(kept), "ids": [page_id(key, number) for number in kept]}
        carried = {"version": key, "base": base, "workspace": scope.workspace, **pages}
        await tx.run(self._sql["carry_unplaced"], **{n: v for n, v in carried.items() if n != "ids"})
        return {row["number"] for row in await tx.all(self._sql["carry"], **carried)}

    async def drop_abandoned(self, tx: Transaction, scope: Scope, document: str, *, but: str | None = None) -> None:
        """Remove readings that were cancelled or failed, once newer bytes or a newer request replace them."""
        await tx.run(self._sql["drop_abandoned"], document=document, workspace=scope.workspace, but=but)

    async def same(self, scope: Scope, job: str, bases: Mapping[str, str]) -> Mapping[str, str]:
        """Of new readings by the version each began from, those that came to the same as what readers see."""
        if not bases:
            return {}
        named = {"versions": list(bases), "bases": list(bases.values()), "job": job}
        rows = await self._db.read(scope, self._sql["same"], workspace=scope.workspace, **named)
        return {row["version"]: row["base"] for row in rows}

    async def setbacks(self, scope: Scope, job: str, bases: Mapping[str, str]) -> Mapping[str, Failure]:
        """Of new readings by the version each began from, those that readers are not to get, and why.

        Pages failed, and those were good before, or nothing else came out differently.
        """
        if not bases:
            return {}
        named = {"versions": list(bases), "bases": list(bases.values()), "job": job}
        rows = await self._db.read(scope, self._sql["setbacks"], workspace=scope.workspace, **named)
        return {row["version"]: _explain_setback(row["number"], failure_from_json(row["failure"])) for row in rows}

    async def drop_overtaken(self, tx: Transaction, scope: Scope, version: str, base: str) -> Failure | None:
        """Remove a reading whose readers have a newer version; None where the document is gone."""
        named = {"workspace": scope.workspace}
        if await tx.one(self._sql["overtaken"], **named, base=base) is None:
            return None
        await tx.run(self._sql["drop"], **named, version=version)
        return Failure("index", FailureReason.ABANDONED, "readers have a newer version of the document")

    async def drop(self, tx: Transaction, scope: Scope, version: str, base: str) -> None:
        """Remove a reading that came to the same as `base`, which takes over how its pages were read."""
        named = {"version": version, "workspace": scope.workspace}
        await tx.run(self._sql["adopt"], **named, base=base)
        await tx.run(self._sql["drop"], **named)


def _explain_setback(number: int, failure: Failure | None) -> Failure:
    """The end of a reading of which readers get nothing, by the first page that failed."""
    reason = FailureReason.CRASHED if failure is None else failure.reason
    why = "" if failure is None or not failure.detail else f" ({failure.detail})"
    return Failure("index", reason, f"page {number} was not read{why}: readers keep the version before", retryable=True)
