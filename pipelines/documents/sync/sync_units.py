"""Units of a sync in the ledger: what each stage needs to know of an item, as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from cluster.basics.storable import replace_unstorable
from cluster.state.work.jobs import WorkUnit
from pipelines.documents.sources.source_port import ItemGone, Source, SourceItem
from pipelines.documents.sources.sync_plan import Alteration, Fetch, KnownItem
from pipelines.documents.store.blobs import location_of
from pipelines.documents.sync.source_store import rights_from_json

ALTER: Final = "alter"
"""A document gets another name, place or readers."""
LEAVE: Final = "leave"
"""A document leaves search."""
ERASE: Final = "erase"
"""A document that left is deleted."""
FETCH: Final = "fetch"
"""An item's bytes come, and are a file to survey."""
LONGEST_NAME: Final = 255


def filename_of(item: SourceItem) -> str:
    """What its document is called."""
    return replace_unstorable(item.filename)[-LONGEST_NAME:]


def fetch_unit(fetch: Fetch, prefix: str, job: str) -> WorkUnit:
    """A new document's origin names the job: an item that comes to a path that another left is another document."""
    known = fetch.known
    payload = {
        "item": item_to_json(fetch.item),
        "document": None if known is None else known.document,
        "origin": f"{prefix}{job}/{quote(fetch.item.id, safe='/ ')}",
        "readers": list(fetch.readers),
        "by_hand": fetch.by_hand,
        "returns": known is not None and known.gone,
    }
    return WorkUnit(fetch.item.id, fetch.item.id, payload=payload)


def alter_unit(alteration: Alteration, source: Source) -> WorkUnit:
    """With where the file lay and lies, if it stays in place."""
    known, item = alteration.known, alteration.item
    before, after = _place_of(source, SourceItem(known.id, known.version, known.path)), _place_of(source, item)
    moved = known.id != item.id and before is not None and after is not None and before != after
    payload = {
        "item": item_to_json(item),
        "document": known.document,
        "readers": list(alteration.readers),
        "by_hand": alteration.by_hand,
        "locations": [location_of(before), location_of(after)] if moved and before and after else None,
    }
    return WorkUnit(known.id, known.id, payload=payload)


def _place_of(source: Source, item: SourceItem) -> Path | None:
    """None also where it leads out of the source's folder by now: its document stays where it was, and is not read."""
    try:
        return source.local_path(item)
    except ItemGone:
        return None


def leave_unit(known: KnownItem) -> WorkUnit:
    """Of an item that left."""
    return WorkUnit(known.id, known.id, payload={"document": known.document})


def erase_unit(row: Mapping[str, Any], *, left: bool) -> WorkUnit:
    """Of an item that `left` long ago, or whose source is removed."""
    return WorkUnit(row["item_id"], row["item_id"], payload={"document": row["document_id"], "left": left})


def item_to_json(item: SourceItem) -> dict[str, Any]:
    """An item as a unit holds it."""
    return asdict(item)


def item_from_json(value: Mapping[str, Any]) -> SourceItem:
    """And back."""
    return SourceItem(**{**value, "rights": rights_from_json(value["rights"])})
