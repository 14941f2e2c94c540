"""The tables of documents by name: what there is to be asked, and what a query that names some of them reads."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from cluster.basics.errors import Invalid, NotFound
from cluster.basics.scope import Scope
from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables.relation import DocumentTables, Relation, build_relations
from serve_apps.retrieval.tables.table_search import as_headed
from serve_apps.retrieval.tables.table_store import MOST_TOGETHER, TableStore, TooManyRows
from serve_apps.retrieval.text.words import content_words

ALL: Final = "_all"  # behind a name: that table and all others with its columns
LONGEST_STEM: Final = 32  # characters of a filename in a name
KEY: Final = 8  # characters of a document's id in a name
MOST_SAMPLED: Final = 200  # rows of each page that tell what a listed table is like
MOST_NAMED: Final = 10  # tables of one query
MOST_LIKE_NAMED: Final = 50  # documents whose ids begin as a name says
_NAME: Final = re.compile(rf"\b[a-z][a-z0-9_]*_(?P<key>[0-9a-f]{{{KEY}}})_p\d+(?:_\d+)?(?P<all>{ALL})?\b")


class TableNotFound(NotFound):
    """There is no such table, or none that you may read."""

    code = "table_not_found"
    fix = "Take a name from the list of tables as it stands there."


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table of a document under the name that queries use."""

    name: str
    relation: Relation
    rows: int  # totals among them
    is_sampled: bool = False  # what it is like is told from the first rows of each of its pages

    @property
    def title(self) -> str:
        """What stands above it."""
        return next((one for one in self.relation.captions if one), "")

    @property
    def page(self) -> int:
        """The page on which it begins."""
        return self.relation.places[0][0].page

    @property
    def document_id(self) -> str:
        """Document that the row is from."""
        return self.relation.places[0][0].document_id


@dataclass(frozen=True, slots=True)
class TableListing:
    """A part of the list of tables."""

    tables: tuple[NamedTable, ...]
    documents: int  # that have tables, and fit what was searched for
    unseen: int = 0  # documents that were indexed before tables were kept


class TableCatalogue:
    """Finds tables by words and by name."""

    def __init__(self, store: TableStore) -> None:
        """`store` shows what the scope may see."""
        self._store = store

    async def search_tables(
        self, scope: Scope, text: str | None, agent: str | None, skip: int, limit: int
    ) -> TableListing:
        """The tables of a page of documents, the latest first; with a text of those whose name and headings hold it."""
        words = (text or "").split()
        documents, total = await self._store.find_listed(scope, words, agent, skip, limit)
        unseen = await self._store.count_unseen(scope, (), agent)
        return TableListing(tuple(await self._describe_tables(scope, documents)), total, unseen)

    async def tables_of(self, scope: Scope, documents: Sequence[str], agent: str | None) -> list[NamedTable]:
        """The tables of documents, if they are linked to the agent, in the order of the documents."""
        return await self._describe_tables(scope, await self._store.keep_linked(scope, documents, agent))

    async def _describe_tables(self, scope: Scope, documents: Sequence[str]) -> list[NamedTable]:
        found, more = await self._store.load_beginnings(scope, documents, MOST_SAMPLED)
        shown = []
        for document in found:
            tables = await asyncio.to_thread(name_tables, document)
            left = more[document.document_id]
            # Of a table over many pages those rows that were not read count to the largest.
            largest = max(tables, key=lambda one: one.rows, default=None)
            for table in tables:
                cut = bool(left) and table is largest
                shown.append(replace(table, rows=table.rows + left, is_sampled=True) if cut else table)
        return shown

    async def open_tables(self, scope: Scope, names: Sequence[str], agent: str | None) -> dict[str, NamedTable]:
        """Tables with all of their rows.

        Raises TableNotFound, TooManyRows; Invalid: they are too many.
        """
        if len(names) > MOST_NAMED:
            raise Invalid(f"a query reads at most {MOST_NAMED} tables; {ALL} behind a name adds those of its columns")
        keys = [found["key"] for name in names if (found := _NAME.fullmatch(name.casefold()))]
        documents = await self._store.find_by_beginning(scope, keys, agent, MOST_LIKE_NAMED)
        await self._store.check_size(scope, documents)
        loaded = await self._store.load_tables(scope, documents)
        known = {
            one.name: (one, document) for document in loaded for one in await asyncio.to_thread(name_tables, document)
        }
        opened: dict[str, NamedTable] = {}
        for name in names:
            plain = name.casefold().removesuffix(ALL)
            if plain not in known:
                raise TableNotFound(f"there is no table {name}")
            table, document = known[plain]
            together = name.casefold().endswith(ALL)
            opened[name] = await self._with_others(scope, name, table, document, agent) if together else table
            if sum(one.rows for one in opened.values()) > MOST_TOGETHER:
                raise TooManyRows(f"the tables of this query have more than {MOST_TOGETHER:,} rows together")
        return opened

    async def _with_others(
        self, scope: Scope, name: str, table: NamedTable, document: DocumentTables, agent: str | None
    ) -> NamedTable:
        """A table with those of other documents that have its columns."""
        headings = [as_headed(one.name) for one in table.relation.columns]
        others = await self._store.load_others_alike(scope, headings, [document.document_id], agent)
        relations = await asyncio.to_thread(build_relations, [document, *others])
        place = table.relation.places[0][0]
        joined = next((one for one in relations if any(place in row for row in one.places)), table.relation)
        return NamedTable(name, joined, joined.rows)


def find_table_names(sql: str) -> list[str]:
    """What a query says that is made as names of tables are, each once."""
    return list(dict.fromkeys(found[0] for found in _NAME.finditer(sql.casefold())))


def name_tables(document: DocumentTables) -> list[NamedTable]:
    """The tables of a document: each name has its file, the beginning of its id and the page that it begins on."""
    relations = sorted(build_relations([document]), key=_begin_of)
    stem = re.sub(r"[^a-z0-9]+", "_", PurePath(document.filename).stem.casefold()).strip("_")[:LONGEST_STEM].strip("_")
    stem = stem if stem[:1].isalpha() else f"t_{stem}".rstrip("_")
    seen: Counter[int] = Counter()
    named = []
    for relation in (one for one in relations if one.columns):
        page = _begin_of(relation)[0]
        seen[page] += 1
        again = f"_{seen[page]}" if seen[page] > 1 else ""
        named.append(NamedTable(f"{stem}_{document.document_id[:KEY]}_p{page}{again}", relation, relation.rows))
    return named


def _begin_of(relation: Relation) -> tuple[int, int, bool]:
    place = relation.places[0][0]
    return place.page, place.start, relation.kind is TableKind.FORM


def rank_tables(question: str, tables: Sequence[NamedTable]) -> list[NamedTable]:
    """Tables that say most of a question's words in their name, title, headings and cells first."""
    asked = set(content_words(question))
    said = {one.name: len(asked & _words_of(one)) for one in tables}
    return sorted(tables, key=lambda one: -said[one.name])


def _words_of(table: NamedTable) -> set[str]:
    columns = table.relation.columns
    texts = [*table.relation.filenames, *table.relation.captions, *(one.name for one in columns)]
    cells = {cell for one in columns for cell in one.shown[:MOST_SAMPLED]}
    return set(content_words(" ".join((*texts, *cells)).replace("_", " ")))
