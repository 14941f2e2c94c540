"""Stored tables of documents, as far as the reader sees them: by document, by their headings, and with their places."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from cluster.basics.errors import Permanent
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, load_queries
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable, table_from_json
from serve_apps.retrieval.answers.cite import cite_page
from serve_apps.retrieval.answers.quote import Citation, page_of
from serve_apps.retrieval.tables.relation import DocumentTables, RowPlace

MOST_ROWS = 200_000  # of one document
MOST_PAGES = 2_000  # of documents whose tables were not kept yet
MOST_TOGETHER = 400_000  # of all documents that are calculated over together
MOST_ALIKE = 2_000  # documents that are calculated over together


class TooManyRows(Permanent):
    """More rows belong together than are calculated over; of a part of them the figure would be wrong."""

    code = "too_many_rows"
    fix = "Name the document, or a column and value that fewer documents have."


class TableStore:
    """Reads tables under the scope of who asks."""

    def __init__(self, database: Database) -> None:
        """Queries are read from table_store.sql beside this file."""
        self._db, self._sql = database, load_queries(Path(__file__).with_suffix(".sql"))

    async def load_tables(self, scope: Scope, documents: Sequence[str], *, whole: bool = True) -> list[DocumentTables]:
        """The tables of documents; without `whole`, what is too much is left out, as for a lookup among others.

        Raises TooManyRows: with `whole`, a document has more than are calculated over.
        """
        async with self._db.transaction(scope) as tx:
            named = {"documents": list(documents), "most": MOST_ROWS}
            rows = await tx.all(self._sql["tables"], **scope.keys, **named)
            unknown = [row["version_id"] for row in rows if not row["is_known"]]
            most = {"versions": unknown, "most": MOST_PAGES + 1}
            pages = await tx.all(self._sql["pages"], **scope.keys, **most) if unknown else []
        if whole and (len(pages) > MOST_PAGES or any(row["is_too_large"] for row in rows)):
            raise TooManyRows(f"a document has more than {MOST_ROWS:,} rows, or its tables were not kept yet")
        return await asyncio.to_thread(_documents_of, rows, pages)

    async def load_beginnings(
        self, scope: Scope, documents: Sequence[str], most: int
    ) -> tuple[list[DocumentTables], dict[str, int]]:
        """The first rows of each table of documents, and how many rows more each document has."""
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["cut_tables"], **scope.keys, documents=list(documents), most=most)
        more = dict.fromkeys((row["document_id"] for row in rows), 0)
        for row in rows:
            more[row["document_id"]] += max(0, row["row_count"] - most)
        return await asyncio.to_thread(_documents_of, rows, ()), more

    async def load_others_alike(
        self, scope: Scope, headings: Sequence[str], known: Collection[str], agent: str | None
    ) -> list[DocumentTables]:
        """The tables of all documents but those that are known which have all of these headings.

        Raises TooManyRows: there are more than are calculated over together.
        """
        named = {"known": list(known), "headings": list(headings), "agent": agent}
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["like"], **scope.keys, **named, most=MOST_ALIKE + 1)
        _check_total(sum(row["rows"] for row in rows))
        found = await self.load_tables(scope, [row["id"] for row in rows]) if rows else []
        if len(found) != len(rows) or len(rows) > MOST_ALIKE:
            raise TooManyRows(f"{len(rows)} more documents have such a table, or one of them has too many rows")
        return found

    async def check_size(self, scope: Scope, documents: Sequence[str]) -> None:
        """Raises TooManyRows: the tables of these documents are too much together."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["row_count"], **scope.keys, documents=list(documents))
        _check_total(row["rows"] if row else 0)

    async def find_listed(
        self, scope: Scope, words: Sequence[str], agent: str | None, skip: int, limit: int
    ) -> tuple[list[str], int]:
        """Ids of a page of the documents with tables, the latest first, and how many there are."""
        like = [f"%{_escape_like(word.casefold())}%" for word in words]
        named = {"words": like, "agent": agent, "skip": skip, "limit": limit}
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["listed"], **scope.keys, **named)
        return (list(row["documents"]), int(row["total"])) if row else ([], 0)

    async def find_by_beginning(
        self, scope: Scope, beginnings: Sequence[str], agent: str | None, most: int
    ) -> list[str]:
        """Ids of documents that begin so."""
        named = {"beginnings": list(beginnings), "agent": agent, "most": most}
        async with self._db.transaction(scope) as tx:
            return [row["id"] for row in await tx.all(self._sql["named"], **scope.keys, **named)]

    async def keep_linked(self, scope: Scope, documents: Sequence[str], agent: str | None) -> list[str]:
        """Documents of these that are there, and linked to the agent if there is one."""
        named = {"documents": list(documents), "agent": agent}
        async with self._db.transaction(scope) as tx:
            return [row["id"] for row in await tx.all(self._sql["linked"], **scope.keys, **named)]

    async def count_unseen(self, scope: Scope, known: Sequence[str], agent: str | None) -> int:
        """Other documents whose tables nobody looked for yet."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["unseen"], **scope.keys, known=list(known), agent=agent)
        return int(row["documents"]) if row else 0

    async def cite_places(self, scope: Scope, places: Sequence[RowPlace]) -> Mapping[RowPlace, Citation]:
        """Each place as a citation, numbered in their order; without those whose document went meanwhile."""
        once = list(dict.fromkeys(places))
        named = {
            "versions": [one.version_id for one in once],
            "numbers": [one.page for one in once],
            "starts": [one.start for one in once],
        }
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["row_places"], **scope.keys, **named) if once else []
        pages = {(row["version_id"], row["number"], row["start"]): row for row in rows}
        found = [(one, pages.get((one.version_id, one.page, one.start))) for one in once]
        there = [(place, row) for place, row in found if row is not None]
        return {place: _cite_place(place, row, n) for n, (place, row) in enumerate(there, 1)}


def _check_total(rows: int) -> None:
    if rows > MOST_TOGETHER:
        raise TooManyRows(f"the documents have {rows:,} rows together, and {MOST_TOGETHER:,} are the most")


def _escape_like(word: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", word)


def _documents_of(rows: Sequence[Row], pages: Sequence[Row]) -> list[DocumentTables]:
    """The documents that have tables; those of a version that was indexed before tables were kept are found now."""
    late: dict[str, list[PageTable]] = {}
    for row in pages:
        late.setdefault(row["version_id"], []).extend(find_tables(page_of(row)))
    key = itemgetter("document_id", "version_id", "filename")
    found = []
    for (document, version, filename), some in groupby(rows, key=key):
        kept = [table_from_json(row["content"]) for row in some if row["content"] is not None]
        found.append(DocumentTables(document, version, filename, tuple(kept or late.get(version, ()))))
    return [one for one in found if one.tables]


def _cite_place(place: RowPlace, row: Row, n: int) -> Citation:
    names = {"document_id": place.document_id, "version_id": place.version_id, "filename": place.filename}
    return cite_page({**row, **names}, place.start, place.end, n=n)
