"""Graphs of documents as rows: each version's evidence replaced in one transaction of the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus
from cluster.state.db.postgres import Database, Transaction, load_queries
from pipelines.documents.document import VersionId
from pipelines.documents.graph.model import DocumentGraph, Entity, EntityRelation, GraphPage, entity_id, relation_id

_PLACE = {"pages": "page", "starts": "start", "ends": "end", "found_by": "found_by"}


@dataclass(frozen=True, slots=True)
class VersionText:
    """A version's text, and what its graph was made of."""

    pages: tuple[GraphPage, ...]  # those that could be read, in order
    reads: int  # the version's counter when the text was taken
    made_of: tuple[int, str] | None  # `reads` and fingerprint of the graph that is there; None where there is none


@dataclass(frozen=True, slots=True)
class PayingAgent:
    """The agent in whose name a model is asked; its config says which, and how much it may spend."""

    agent: str
    config: Mapping[str, Any]


class GraphStore:
    """The write side of the graph."""

    def __init__(self, database: Database) -> None:
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def source(self, scope: Scope, version: VersionId) -> VersionText | None:
        """The text to read; None where the version is not, or no longer, the one that readers see."""
        named = {"version": version, "workspace": scope.workspace}
        async with self._db.transaction(scope) as tx:
            # The counter first: pages written in between make the text newer than the number says, never older.
            row = await tx.one(self._sql["recorded"], **named)
            if row is None:
                return None
            pages = await tx.all(self._sql["texts"], **named)
        made = None if row["made_of"] is None else (int(row["made_of"]), str(row["fingerprint"]))
        return VersionText(tuple(GraphPage(page["number"], page["text"]) for page in pages), int(row["reads"]), made)

    async def payer(self, scope: Scope, version: VersionId, agent: str | None) -> PayingAgent | None:
        """The agent of the job, else the first that the document is linked to; None where there is none."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["payer"], version=version, workspace=scope.workspace, agent=agent)
        return PayingAgent(str(row["id"]), row["config"]) if row else None

    async def write(
        self, tx: Transaction, scope: Scope, version: VersionId, graph: DocumentGraph, *, reads: int, fingerprint: str
    ) -> bool:
        """Put a version's graph in the place of whatever its document said before.

        Args:
            scope: the job's; it sees all documents of the workspace.
            reads: the version's counter when its text was taken.

        Returns:
            False where the text was read again meanwhile: nothing was written, and it is to be done again.
            True also where the document is gone or has a newer version; then there is nothing to write.
        """
        await lock_corpus(tx, scope)
        owner = await tx.one(self._sql["lock_version"], version=version, workspace=scope.workspace)
        if owner is None:
            return True
        if owner["reads"] != reads:
            return False
        named = {"version": version, "document": owner["document_id"], **scope.keys}
        for query in ("drop_relations", "drop_mentions"):
            await tx.run(self._sql[query], workspace=scope.workspace, document=owner["document_id"])
        await self._put_entities(tx, scope, named, graph.entities)
        await self._put_relations(tx, scope, named, graph.relations)
        counts = {"entities": len(graph.entities), "relations": len(graph.relations)}
        await tx.run(self._sql["record"], **named, reads=reads, fingerprint=fingerprint, **counts, note=graph.note)
        return True

    async def _put_entities(
        self, tx: Transaction, scope: Scope, named: Mapping[str, Any], entities: Sequence[Entity]
    ) -> None:
        if not entities:
            return
        keys = [one.key for one in entities]
        ids, types = [entity_id(scope.workspace, key) for key in keys], [str(key.type) for key in keys]
        await tx.run(self._sql["put_entities"], **scope.keys, ids=ids, types=types, names=[key.name for key in keys])
        rows = [(one.key, mention) for one in entities for mention in one.mentions]
        await tx.run(
            self._sql["put_mentions"],
            **named,
            ids=[entity_id(scope.workspace, key) for key, _ in rows],
            types=[str(key.type) for key, _ in rows],
            quote_starts=[mention.quote[0] for _, mention in rows],
            quote_ends=[mention.quote[1] for _, mention in rows],
            **_columns([mention for _, mention in rows], **_PLACE, names="name", aliases="alias"),
            **_columns([mention for _, mention in rows], occurrences="occurrences", confidences="confidence"),
        )

    async def _put_relations(
        self, tx: Transaction, scope: Scope, named: Mapping[str, Any], relations: Sequence[EntityRelation]
    ) -> None:
        if not relations:
            return
        ids = [relation_id(scope.workspace, one.source, one.target, one.type) for one in relations]
        sources = [entity_id(scope.workspace, one.source) for one in relations]
        targets = [entity_id(scope.workspace, one.target) for one in relations]
        ends = {"sources": sources, "targets": targets, "types": [str(one.type) for one in relations]}
        await tx.run(self._sql["put_relations"], **scope.keys, ids=ids, **ends)
        evidence = _columns(relations, **_PLACE, evidence="text", strengths="strength")
        await tx.run(self._sql["put_evidence"], **named, ids=ids, **evidence)


def _columns(values: Sequence[object], **fields: str) -> dict[str, list[Any]]:
    """Fields of values as arrays, by the names that a query gives them."""
    return {name: [getattr(value, field) for value in values] for name, field in fields.items()}
