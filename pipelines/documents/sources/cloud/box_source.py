"""Box as a source: folder by folder; a folder that cannot be looked into keeps what is known of it."""

from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from pipelines.documents.sources.cloud.cloud_answers import (
    MOST_FOLDERS,
    ListingSteps,
    id_of,
    name_of,
    path_below,
    rows_of,
    size_of,
    text_or_none,
)
from pipelines.documents.sources.cloud.cloud_client import CloudClient, listing_faults, open_cloud
from pipelines.documents.sources.cloud.cloud_tokens import TokenEndpoint
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingFault,
    ListingPage,
    Source,
    SourceDependencies,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_BASE: Final = "https://api.box.com/2.0"
_TOKEN: Final = "https://api.box.com/oauth2/token"
_FIELDS: Final = "id,type,name,etag,sha1,size,item_status"
_PAGE: Final = 1000


class BoxSource:
    """Always everything: Box's events name no folder that they are below of."""

    def __init__(self, client: CloudClient, folder: str) -> None:
        """`folder` is an id; 0 is the root."""
        self._client, self._folder = client, folder

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`. Of the listing only ids of folders are kept: one may lie below itself, or be named twice."""
        waiting, seen, steps = deque([(self._folder, "")]), {self._folder}, ListingSteps("Box")
        with listing_faults("Box"):
            while waiting:
                folder, path = waiting.popleft()
                try:
                    async for entries in self._entries(folder, steps):
                        yield ListingPage([_item_of(one, path) for one in entries if _is_read(one)])
                        for one in entries:
                            if one.get("type") == "folder" and (below := id_of(one)) not in seen:
                                seen.add(below)
                                waiting.append((below, path_below(path, name_of(one))))
                except (SourceRefused, ItemGone) as error:
                    if folder == self._folder:
                        raise SourceRefused(f"folder {folder}: {error}") from error
                    yield ListingPage(faults=[ListingFault(path, "this folder cannot be looked into")])
                if len(seen) > MOST_FOLDERS:
                    raise SourceRefused(
                        f"there are more than {MOST_FOLDERS} folders", fix="Make a source of each part of it."
                    )

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        async for block in self._client.read(f"files/{quote(item.id, safe='')}/content", start, length):
            yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _entries(self, folder: str, steps: ListingSteps) -> AsyncIterator[list[Mapping[str, Any]]]:
        params: dict[str, Any] = {"fields": _FIELDS, "limit": _PAGE, "usemarker": "true"}
        while True:
            found = await self._client.get(f"folders/{quote(folder, safe='')}/items", params)
            yield rows_of(found, "entries")
            if not found.get("next_marker"):
                return
            params["marker"] = steps.next(found["next_marker"], of=folder)


def _item_of(one: Mapping[str, Any], path: str) -> SourceItem:
    size = size_of(one)
    version = f"{text_or_none(one, 'sha1', 'etag')} {size}"
    return SourceItem(id_of(one), version, path_below(path, name_of(one)), size)


def _is_read(one: Mapping[str, Any]) -> bool:
    is_there = one.get("item_status", "active") == "active"
    return one.get("type") == "file" and is_there and not housekeeping_kind(name_of(one))


async def _open_box(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    subject = {}
    for kind in ("enterprise", "user"):
        if settings.get(kind):
            subject = {"box_subject_type": kind, "box_subject_id": str(settings[kind])}
    client = await open_cloud(opening, dependencies, _BASE, TokenEndpoint(_TOKEN, more=subject))
    return BoxSource(client, str(settings.get("folder") or "0"))


KIND: Final = SourceKind(
    name="box",
    title="Box",
    settings={
        "folder": "The id of a folder; the root where none is named.",
        "enterprise": "The enterprise's id, where an application with client credentials acts for itself.",
        "user": "A user's id, where it acts for that user.",
        "endpoint": "Another base URL; https://api.box.com/2.0 where none is named.",
        "token_url": "Another token endpoint.",
    },
    open=_open_box,
    takes_credential=True,
)
