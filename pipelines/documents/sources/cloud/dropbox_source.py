"""Dropbox as a source: every file below a folder, by the listing of its API."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from cluster.basics.cleanup import async_cleanup_on_error
from pipelines.documents.sources.cloud.cloud_answers import ListingSteps, id_of, path_part, rows_of, size_of, text_of
from pipelines.documents.sources.cloud.cloud_client import CloudClient, listing_faults, open_cloud
from pipelines.documents.sources.cloud.cloud_tokens import TokenEndpoint
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ListingPage,
    Source,
    SourceDependencies,
    SourceItem,
    SourceKind,
    SourceOpening,
)

_BASE: Final = "https://api.dropboxapi.com/2"
_CONTENT: Final = "https://content.dropboxapi.com/2"
_TOKEN: Final = "https://api.dropboxapi.com/oauth2/token"
_PAGE: Final = 2000


class DropboxSource:
    """Always everything, two thousand entries a call: changes name what is gone by its path alone, which is no id."""

    def __init__(self, api: CloudClient, content: CloudClient, folder: str) -> None:
        """`content` is the host that bytes come from."""
        self._api, self._content, self._folder = api, content, folder.strip("/")

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`."""
        root = f"/{self._folder}" if self._folder else ""
        asked = {"path": root, "recursive": True, "include_non_downloadable_files": False, "limit": _PAGE}
        steps = ListingSteps("Dropbox")
        with listing_faults("Dropbox"):
            found = await self._api.post("files/list_folder", asked)
            while True:
                yield ListingPage([_item_of(one) for one in rows_of(found, "entries") if _is_read(one)])
                if not found.get("has_more"):
                    return
                link = steps.next(found.get("cursor"))
                found = await self._api.post("files/list_folder/continue", {"cursor": link})

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        headers = {"Dropbox-API-Arg": json.dumps({"path": item.id})}
        async for block in self._content.read("files/download", start, length, method="POST", headers=headers):
            yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._api.close()  # of both


def _item_of(one: Mapping[str, Any]) -> SourceItem:
    size = size_of(one)
    return SourceItem(id_of(one), f"{text_of(one, 'content_hash', 'rev')} {size}", _path_of(one), size)


def _path_of(one: Mapping[str, Any]) -> str:
    path = one.get("path_display") or one.get("path_lower")
    if not isinstance(path, str):
        raise ValueError("a file has no path")
    return "/".join(path_part(name) for name in path.split("/") if name)


def _is_read(one: Mapping[str, Any]) -> bool:
    return one.get(".tag") == "file" and not any(housekeeping_kind(part) for part in _path_of(one).split("/"))


async def _open_dropbox(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    api = await open_cloud(opening, dependencies, _BASE, TokenEndpoint(_TOKEN))
    files = settings.get("content_endpoint") or settings.get("endpoint") or _CONTENT
    async with async_cleanup_on_error(api.close):
        content = await api.at_other_base(str(files))
    return DropboxSource(api, content, str(settings.get("folder") or ""))


KIND: Final = SourceKind(
    name="dropbox",
    title="Dropbox",
    settings={
        "folder": "Only what lies below this folder.",
        "endpoint": "Another base URL; https://api.dropboxapi.com/2 where none is named.",
        "content_endpoint": "Another base URL for bytes; https://content.dropboxapi.com/2 where none is named.",
        "token_url": "Another token endpoint.",
    },
    open=_open_dropbox,
    takes_credential=True,
)
