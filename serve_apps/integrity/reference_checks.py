"""Checks that the catalogue writes: rows of tenants, workspaces, documents and parents that no longer exist."""

from collections.abc import Iterator
from typing import Final

from serve_apps.governance.stock import STOCK, Holding
from serve_apps.integrity.integrity_finding import Family
from serve_apps.integrity.row_check import DELETE, RowCheck
from serve_apps.integrity.table_catalogue import CASCADE, SET_NULL, Catalogue, StoredTable, TableReference

# Their rows outlive who and what they tell of: the trail and how far it was sent, holds and erasures, and citations,
# which hold no text.
OUTLIVE_SCOPE: Final = frozenset({"audit_cursors"}) | {
    table for table, entry in STOCK.items() if entry.holding is Holding.LEDGER
}
OUTLIVE_DOCUMENT: Final = frozenset({"answer_citations"})
_SCOPE: Final = {"tenant_id": "tenants", "workspace_id": "workspaces"}
_BY_HAND: Final = "Nothing here knows what to do with them: look at them as the owner of the tables."


def reference_checks(catalogue: Catalogue) -> Iterator[RowCheck]:
    """Of every table; the scope first, as whatever goes with a workspace needs no other reason."""
    for table in catalogue.tables:
        yield from _scope_checks(table, catalogue)
    for reference in catalogue.references:
        yield from _parent_checks(reference, catalogue)
    for table in catalogue.tables:
        yield from _document_checks(table, catalogue)


def _scope_checks(table: StoredTable, catalogue: Catalogue) -> Iterator[RowCheck]:
    if table.family in OUTLIVE_SCOPE:
        return
    kept = {
        column
        for one in catalogue.references
        if one.table == table.name and one.action == SET_NULL and len(one.columns) == 1
        for column in one.columns
    }
    gone = [
        f"x.{column} is not null and not exists (select from {parent} p where p.id = x.{column})"
        for column, parent in _SCOPE.items()
        if column in table.columns and column not in kept
    ]
    if gone:
        what = "rows of a tenant or a workspace that is gone"
        yield RowCheck(Family.ROWS, "row_without_scope", what, table, " or ".join(gone), DELETE)


def _parent_checks(reference: TableReference, catalogue: Catalogue) -> Iterator[RowCheck]:
    (table,) = [one for one in catalogue.tables if one.name == reference.table]
    kept = table.family in OUTLIVE_SCOPE
    if reference.action == CASCADE and list(reference.columns) in [[column] for column in _SCOPE] and not kept:
        return  # the scope's own check looks at it
    there = " and ".join(f'x."{name}" is not null' for name in reference.columns)
    pairs = zip(reference.columns, reference.parent_columns, strict=True)
    same = " and ".join(f'p."{theirs}" = x."{ours}"' for ours, theirs in pairs)
    match reference.action:
        case action if action == CASCADE and not kept:
            mend = DELETE
        case action if action == SET_NULL:
            mend = ", ".join(f'"{name}" = null' for name in reference.columns)
        case _:
            mend = ""
    condition = f'{there} and not exists (select from "{reference.parent}" p where {same})'
    what = f"rows whose {', '.join(reference.columns)} leads to no row of {reference.parent}"
    searched = is_searched(table)
    yield RowCheck(
        Family.ROWS, "row_without_parent", what, table, condition, mend, "", "" if mend else _BY_HAND, searched
    )


def _document_checks(table: StoredTable, catalogue: Catalogue) -> Iterator[RowCheck]:
    """Columns that name a document without a foreign key: it would be looked up for every chunk and vector written."""
    if "document_id" not in table.columns or not is_searched(table) or table.family in OUTLIVE_DOCUMENT:
        return
    if any(one.table == table.name and one.columns == ["document_id"] for one in catalogue.references):
        return
    condition = "not exists (select from documents d where d.id = x.document_id)"
    what = "rows of a document that is gone"
    yield RowCheck(Family.DOCUMENTS, "row_without_document", what, table, condition, DELETE, searched=True)


def is_searched(table: StoredTable) -> bool:
    """Whether it holds content of documents."""
    entry = STOCK.get(table.family)
    return entry is not None and entry.holding is Holding.DOCUMENT
