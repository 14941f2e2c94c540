"""Views of sources that several routes give: items with who may see them."""

from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.sources.item_rights import ReaderRules
from pipelines.documents.sync.source_store import ItemFilter
from serve_apps.http.deps import AppDependencies
from serve_apps.http.routes.sources.source_shapes import SourceItems, SourceItemShape


async def list_items(
    parts: AppDependencies,
    me: WorkspaceMember,
    row: Row,
    only: ItemFilter,
    *,
    skip: int,
    limit: int,
    q: str | None = None,
) -> SourceItems:
    """A page of the items of a source, which is given as its row."""
    rules = await reader_rules(parts, me, row)
    rows, total = await parts.sources.store.items(me.scope, str(row["id"]), only, skip=skip, limit=limit, q=q)
    return SourceItems(items=[SourceItemShape.of(one, rules) for one in rows], total=total)


async def reader_rules(parts: AppDependencies, me: WorkspaceMember, row: Row) -> ReaderRules:
    """How the rights of a source become readers now."""
    return await parts.sources.store.reader_rules(me.scope, row["has_rights"], row["readers"], row["group_names"])
