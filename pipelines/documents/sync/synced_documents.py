"""Documents of a source as rows: taken, altered, hidden and erased, each in the transaction that settles its unit."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, SqlStore, Transaction
from pipelines.documents.document import document_id
from pipelines.documents.sources.item_rights import GONE, STALE
from pipelines.documents.sources.source_port import SourceItem
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.members import MemberDocuments
from pipelines.documents.sync.source_store import SourceDefinition, rights_json
from pipelines.documents.sync.sync_units import filename_of, item_from_json


class SyncedDocuments(SqlStore, queries="source_store.sql"):
    """Acts for all readers (`Scope.of_worker`), and on nothing that did not come from the source."""

    def __init__(self, database: Database) -> None:
        """Nothing is asked yet."""
        super().__init__(database)
        self._members, self._links = MemberDocuments(), AgentLinks(database)

    async def is_current(self, tx: Transaction, scope: Scope, source: str, job: str) -> bool:
        """True where no newer sync of the source was started; none is until the transaction ends."""
        named = {"source": source, "workspace": scope.workspace, "job": job}
        return await tx.one(self._sql["is_current"], **named) is not None

    async def hold_current(self, tx: Transaction, scope: Scope, source: str, job: str) -> bool:
        """The same where the source's row is to be changed: nobody else writes for it until the transaction ends."""
        named = {"source": source, "workspace": scope.workspace, "job": job}
        return await tx.one(self._sql["hold_current"], **named) is not None

    async def take(
        self,
        tx: Transaction,
        scope: Scope,
        source: SourceDefinition,
        item: SourceItem,
        payload: Mapping[str, Any],
        location: str,
        job: str,
    ) -> str | None:
        """Keep where an item's bytes are, and announce its document, or give it back its readers where it had left.

        Its origin; None where a person has deleted it.
        """
        await lock_corpus(tx, scope)
        document, origin = payload["document"], str(payload["origin"])
        if await tx.one(self._sql["is_outdated"], source=source.id, workspace=scope.workspace, job=job):
            payload = {**payload, "readers": [STALE], "by_hand": False}
        if document is None:
            document = document_id(scope.workspace, origin)
            filename = filename_of(item)
            kind = PurePosixPath(filename).suffix.lstrip(".").lower() or "unknown"
            values = {"origin": origin, "filename": filename, "file_type": kind, "readers": list(payload["readers"])}
            values["tags"] = list(source.tags)
            await tx.run(self._sql["announce"], **scope.keys, document=document, **values)
            await tx.run(self._sql["not_by_hand"], document=document, workspace=scope.workspace)
            await self._links.auto_link(tx, scope, document)
            if source.agent_id is not None:
                await self._links.link(tx, scope, source.agent_id, [document])
        elif not (there := await self._hold(tx, scope, source, [document])):
            return None
        else:
            origin = there[document]
            # A pass may have found it gone and back since the unit was written.
            gone = await tx.one(self._sql["left_item"], source=source.id, workspace=scope.workspace, item=item.id)
            if gone is not None or payload.get("returns"):
                kept = None if gone is None or source.has_rights else gone["kept_readers"]
                back = payload if kept is None else {**payload, "readers": kept, "by_hand": True}
                await self._show(tx, scope, document, item, back)
                await mark_corpus_changed(tx, scope)
        await tx.run(self._sql["remember_bytes"], document=document, workspace=scope.workspace, location=location)
        await tx.run(self._sql["take"], **scope.keys, source=source.id, document=document, **_item_values(item))
        return origin

    async def miss(
        self, tx: Transaction, scope: Scope, source: str, item: SourceItem, error: Mapping[str, Any]
    ) -> None:
        """The item could not be fetched: the next sync tries it again, as it was listed now."""
        values = {name: value for name, value in _item_values(item).items() if name != "fingerprint"}
        await tx.run(self._sql["miss"], **scope.keys, source=source, **values, error=Jsonb(dict(error)))

    async def alter(
        self, tx: Transaction, scope: Scope, source: SourceDefinition, changes: Mapping[str, Mapping[str, Any]]
    ) -> set[str]:
        """Give documents the names, places and readers of their items; `changes` are units' payloads by the item's
        former id. The ids of those whose documents are there.
        """
        await lock_corpus(tx, scope)
        there = await self._hold(tx, scope, source, [one["document"] for one in changes.values()])
        done, seen = set[str](), 0
        for before, one in changes.items():
            if one["document"] not in there:
                continue
            named = {"document": one["document"], "workspace": scope.workspace}
            item = item_from_json(one["item"])
            if one["locations"]:
                former, location = one["locations"]
                seen += await tx.run(self._sql["relocate"], **named, before=former, location=location)
            seen += await self._show(tx, scope, one["document"], item, one)
            moved = {name: value for name, value in _item_values(item).items() if name != "version"}
            of = {"source": source.id, "workspace": scope.workspace}
            await tx.run(self._sql["move_item"], **of, before=before, **moved)
            done.add(before)
        if seen:  # rights that come to the same readers change nothing that anybody finds
            await mark_corpus_changed(tx, scope)
        return done

    async def leave(
        self, tx: Transaction, scope: Scope, source: SourceDefinition, items: Mapping[str, str | None]
    ) -> None:
        """Items left, by id with their documents: nobody sees those from now on."""
        await lock_corpus(tx, scope)
        named = {"source": source.id, "workspace": scope.workspace}
        await tx.run(self._sql["leave"], **named, items=list(items))
        await self._hide(tx, scope, source.prefix, [one for one in items.values() if one is not None], GONE)

    async def erase(
        self, tx: Transaction, scope: Scope, source: SourceDefinition, item: str, payload: Mapping[str, Any]
    ) -> list[str] | None:
        """Delete a document for good; where its bytes are, to be removed after the commit. Raises LegalHold.

        None where it was to go because it had `left`, and is back.
        """
        await lock_corpus(tx, scope)
        of = {"source": source.id, "workspace": scope.workspace, "item": item}
        if payload.get("left") and await tx.one(self._sql["is_gone"], **of) is None:
            return None
        document, locations = payload["document"], list[str]()
        if document is not None and await self._hold(tx, scope, source, [document]):
            family = await self._members.family(tx, scope, [document])
            locations = await self._members.delete(tx, scope, family)
            await mark_corpus_changed(tx, scope)
        await tx.run(self._sql["forget"], source=source.id, workspace=scope.workspace, items=[item])
        return locations

    async def hide_stale(self, tx: Transaction, scope: Scope, source: str, after: str, most: int) -> str | None:
        """Hide the next documents of a source whose rights are too old, `after` an item; the last item looked at.

        None behind the last.
        """
        await lock_corpus(tx, scope)
        named = {"source": source, "workspace": scope.workspace, "after": after, "most": most}
        rows = await tx.all(self._sql["next_items"], **named)
        documents = [row["document_id"] for row in rows if row["document_id"] is not None]
        await self._hide(tx, scope, f"source:{source}/", documents, STALE)
        return str(rows[-1]["item_id"]) if rows else None

    async def hide_visible(self, tx: Transaction, scope: Scope, source: str, most: int) -> int:
        """Hide what a sync has shown behind `hide_stale`; how many, and 0 where all of the source is hidden."""
        await lock_corpus(tx, scope)
        named = {"source": source, "workspace": scope.workspace, "reader": STALE, "most": most}
        rows = await tx.all(self._sql["visible"], **named)
        await self._hide(tx, scope, f"source:{source}/", [row["document_id"] for row in rows], STALE)
        return len(rows)

    async def _show(
        self, tx: Transaction, scope: Scope, document: str, item: SourceItem, payload: Mapping[str, Any]
    ) -> int:
        """Give a document the name of its item and the readers of its unit; 0 where it has them."""
        named = {"document": document, "workspace": scope.workspace}
        renamed = await tx.run(self._sql["rename"], **named, filename=filename_of(item))
        readers = {"readers": payload["readers"], "by_hand": payload.get("by_hand", False)}
        return renamed + await tx.run(self._sql["set_readers"], **named, **readers)

    async def _hide(self, tx: Transaction, scope: Scope, prefix: str, documents: Sequence[str], reader: str) -> None:
        values = {"documents": list(documents), "reader": reader, "prefix": prefix}
        if await tx.run(self._sql["hide"], workspace=scope.workspace, **values):
            await mark_corpus_changed(tx, scope)

    async def _hold(
        self, tx: Transaction, scope: Scope, source: SourceDefinition, documents: Sequence[str]
    ) -> dict[str, str]:
        """Origins of the documents that are there and are the source's, locked."""
        named = {"documents": list(documents), "workspace": scope.workspace, "prefix": source.prefix}
        return {row["id"]: row["origin"] for row in await tx.all(self._sql["hold_documents"], **named)}


def _item_values(item: SourceItem) -> dict[str, Any]:
    plain = {name: getattr(item, name) for name in ("path", "version", "fingerprint")}
    return plain | {"item": item.id, "rights": rights_json(item.rights)}
