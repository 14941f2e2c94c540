"""Stored extractions: the pages that are read for one, and its fields, so that those in doubt can be listed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.canonical_json import json_digest, normalize_json
from cluster.state.db.postgres import Database, Row, load_queries
from pipelines.documents.document import Page
from serve_apps.retrieval.answers.quote import page_of
from serve_apps.retrieval.extraction.extraction_result import ExtractedField, Extraction

Json = Any
MOST_PAGES: Final = 500  # of a document that are read for one extraction


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as its readers see it."""

    document_id: str
    version_id: str
    filename: str
    page_count: int
    pages: tuple[Page, ...]  # without those that could not be read


class StoredExtractions:
    """Reads documents for extractions, and keeps what was found in them."""

    def __init__(self, database: Database, new_id: Callable[[], UUID] = uuid4) -> None:
        """Queries are read from stored_extractions.sql beside this file."""
        self._db, self._new_id = database, new_id
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def load_document(
        self, scope: Scope, document: str, agent: str | None = None, *, by_name: bool = False
    ) -> ReadDocument:
        """A document with its pages, by its id, or by its file name where that is asked.

        Raises NotFound: there is none that the scope's reader sees, that the agent has, or that was read.
        """
        named = {**scope.keys, "document": document, "agent": agent, "by_name": by_name}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["document"], **named)
            if row is None:
                raise NotFound(f"document {document[:200]}")
            pages = await tx.all(self._sql["pages"], **scope.keys, version=row["version_id"], most=MOST_PAGES)
        read = tuple(map(page_of, pages))
        return ReadDocument(
            row["document_id"], row["version_id"], row["filename"], row["page_count"] or len(read), read
        )

    async def keep_extraction(
        self, scope: Scope, document: ReadDocument, schema: Mapping[str, Json], found: Extraction, model: str | None
    ) -> str:
        """Store the fields of a run in place of those of an earlier one by the same schema; its id.

        A run without a model does not take the place of one with a model. Raises NotFound: the document was deleted, or
        the scope's reader may no longer see it, while values were looked for.
        """
        known = {**scope.keys, "run": str(self._new_id()), "document": document.document_id, "user": scope.user}
        known |= {"version": document.version_id, "hash": json_digest(schema), "model": model}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["replace_run"], **known)
            if row is None:
                raise NotFound(f"document {document.document_id}")
            run = str(row["id"])
            await tx.run(self._sql["forget_fields"], **scope.keys, run=run)
            rows = [{**scope.keys, "run": run, **_field_row(n, one)} for n, one in enumerate(found.fields, 1)]
            await tx.many(self._sql["keep_field"], rows)
        return run

    async def list_unsure_fields(
        self, scope: Scope, document: str | None = None, *, skip: int = 0, limit: int = 100
    ) -> tuple[list[Row], int]:
        """Fields that a person should look at, unsure or invalid, the latest runs first, and how many there are.

        Each has run_id, document_id, version_id, filename, schema_hash, at, path, state, reason, value, source, page,
        start, end and ocr_confidence. Only versions that readers see, and documents that the scope's reader may.
        """
        async with self._db.transaction(scope) as tx:
            return await tx.page(
                self._sql["unsure"], self._sql["unsure_count"], skip=skip, limit=limit, **scope.keys, document=document
            )


def _field_row(ordinal: int, one: ExtractedField) -> Row:
    place = one.place
    return {
        "ordinal": ordinal,
        "path": one.path,
        "state": str(one.state),
        "reason": one.reason,
        "value": None if one.value is None else Jsonb(normalize_json(one.value)),
        "source": one.source,
        "page": None if place is None else place.page,
        "start": None if place is None else place.start,
        "end": None if place is None else place.end,
        "confidence": None if place is None else place.ocr_confidence,
    }
