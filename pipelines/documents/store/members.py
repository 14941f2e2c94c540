"""Members of containers as documents: announced with their parent's readers, and deleted with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cluster.basics.scope import Scope
from cluster.state.corpus import mark_corpus_changed
from cluster.state.db.postgres import Transaction, load_queries
from pipelines.documents.document import DocumentId, document_id

WITHIN = "!/"
"""Between the origin of a container and the path of a member in it."""


@dataclass(frozen=True, slots=True)
class MemberArrival:
    """A member that came out of its container; `location` is where its bytes are, `size` in bytes."""

    origin: str
    filename: str
    location: str
    size: int


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """Members and bytes of a container with all that is within it."""

    members: int
    bytes: int


class MemberDocuments:
    """Statements about documents with a parent. The corpus is locked by whoever writes."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def family(self, tx: Transaction, scope: Scope, documents: Sequence[str]) -> list[str]:
        """The documents, their members, and theirs, each once; without those that are not there."""
        rows = await tx.all(self._sql["family"], documents=list(documents), workspace=scope.workspace)
        return [row["id"] for row in rows]

    async def tree_usage(self, tx: Transaction, scope: Scope, job: str, document: str) -> TreeUsage:
        """What the outermost container of a document has come to in this job, the document's own members left out."""
        named = {"document": document, "workspace": scope.workspace, "job": job}
        row = await tx.one(self._sql["tree_usage"], **named)
        return TreeUsage(int(row["members"]), int(row["bytes"])) if row else TreeUsage(0, 0)

    async def announce(
        self, tx: Transaction, scope: Scope, parent: DocumentId, members: Sequence[MemberArrival]
    ) -> None:
        """Let members be seen before they are read; those that are known stay as they are."""
        ids = [document_id(scope.workspace, one.origin) for one in members]
        fresh = await tx.all(
            self._sql["announce"],
            workspace=scope.workspace,
            parent=parent,
            ids=ids,
            origins=[one.origin for one in members],
            filenames=[one.filename for one in members],
            file_types=[PurePosixPath(one.filename).suffix.lstrip(".").lower() or "unknown" for one in members],
        )
        named = {"workspace": scope.workspace, "parent": parent, "ids": [row["id"] for row in fresh]}
        await tx.run(self._sql["inherit_links"], **named)
        locations = [one.location for one in members]
        await tx.run(self._sql["remember_bytes"], workspace=scope.workspace, ids=ids, locations=locations)

    async def drop_missing(
        self, tx: Transaction, scope: Scope, parent: DocumentId, kept: Sequence[DocumentId]
    ) -> list[str]:
        """Delete members that the container does not have any more; where their bytes are, for after the commit."""
        rows = await tx.all(self._sql["missing"], parent=parent, workspace=scope.workspace, kept=list(kept))
        if not rows:
            return []
        locations = await self.delete(tx, scope, await self.family(tx, scope, [row["id"] for row in rows]))
        await mark_corpus_changed(tx, scope)
        return locations

    async def delete(self, tx: Transaction, scope: Scope, documents: Sequence[str]) -> list[str]:
        """Delete documents with everything that hangs on them; where their bytes are, for after the commit."""
        named = {"documents": list(documents), "workspace": scope.workspace}
        locations = await tx.all(self._sql["locations"], **named)
        await tx.run(self._sql["delete_vectors"], **named)
        await tx.run(self._sql["delete"], **named)
        return [row["location"] for row in locations]
