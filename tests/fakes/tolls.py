"""Books of tolls for tests: a table a month with its total, stored as indexing stores them."""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import table_to_json
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector

MONTHS = {
    "tolls-may.md": (("Lorry 12", "310"), ("Lorry 15", "90")),
    "tolls-june.md": (("Lorry 12", "40"), ("Lorry 19", "60")),
}


def toll_book(rows: Sequence[tuple[str, str]]) -> str:
    """A book with its lorries, and their total."""
    lines = "\n".join(f"| {lorry} | {toll} |" for lorry, toll in rows)
    total = sum(int(toll) for _, toll in rows)
    return f"# Tolls of the lorries\n\n| Lorry | Toll |\n| --- | --- |\n{lines}\n| Total | {total} |\n"


def write_tables(admin: "psycopg.Connection[Any]", document: str, text: str) -> None:
    """The tables of a book, as indexing writes them."""
    for ordinal, table in enumerate(find_tables(Page(1, text, (), "native", None)), 1):
        admin.execute(
            "insert into page_tables (version_id, ordinal, page, document_id, tenant_id, workspace_id, headings,"
            " row_count, content) select current_version, %s, 1, id, tenant_id, workspace_id, %s, %s, %s"
            " from documents where id = %s",
            (ordinal, list(table.headings), len(table.rows), Jsonb(table_to_json(table)), document),
        )
    admin.execute("update document_versions set tables_of_reads = reads where document_id = %s", (document,))


def store_toll_books(
    admin: "psycopg.Connection[Any]", scope: Scope, *, agents: tuple[str, ...] = (), readers: tuple[str, ...] = ()
) -> list[str]:
    """Both months; June is for these readers, and May alone is linked to the agents. The ids of the documents."""
    generation = corpus.open_generation(admin, scope)
    books = []
    for name, rows in MONTHS.items():
        text, june = toll_book(rows), "june" in name
        passages = [Passage(text, vector=hash_vector(text))]
        linked = () if june else agents
        books.append(Book(name, passages, [Sheet(text)], readers=readers if june else (), agents=linked))
    documents = corpus.load(admin, scope, generation, books)
    for document, rows in zip(documents, MONTHS.values(), strict=True):
        write_tables(admin, document, toll_book(rows))
    return documents
