"""Google Drive, OneDrive, Dropbox and Box as a source through Composio's connected accounts, folder by folder."""

from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pipelines.documents.sources.checked_http import classified_faults
from pipelines.documents.sources.cloud.cloud_answers import MOST_FOLDERS, ListingSteps, path_below, rows_of
from pipelines.documents.sources.cloud.cloud_client import listing_faults
from pipelines.documents.sources.cloud.composio_apps import COMPOSIO_APPS, ComposioApp
from pipelines.documents.sources.cloud.composio_client import PUBLIC_BASE, WHO, ComposioClient, open_composio
from pipelines.documents.sources.cloud.composio_content import read_content
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingFault,
    ListingPage,
    Source,
    SourceDependencies,
    SourceFolder,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_MOST_BROWSED: Final = 5_000  # folders in one folder


class ComposioSource:
    """Always everything: its tools tell no changes, and nothing of who may see a file."""

    def __init__(self, client: ComposioClient, app: ComposioApp, folder: str) -> None:
        """`folder` is an id, or for Dropbox a path."""
        self._client, self._app, self._folder = client, app, folder

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`. Of the listing only ids of folders are kept: one may lie below itself, or be named twice."""
        waiting, seen, steps = deque([(self._folder, "")]), {self._folder}, ListingSteps(WHO)
        with listing_faults(WHO):
            while waiting:
                folder, above = waiting.popleft()
                try:
                    async for rows in self._rows(folder, steps):
                        entries = [self._app.entry_of(one, above) for one in rows]
                        yield ListingPage([one for one in entries if isinstance(one, SourceItem) and _is_read(one)])
                        for one in _folders_in(entries) if self._app.is_nested else ():
                            if one.id not in seen:
                                seen.add(one.id)
                                waiting.append((one.id, path_below(above, one.name)))
                except (SourceRefused, ItemGone) as error:
                    if folder == self._folder:
                        raise SourceRefused(f"folder {folder or '/'}: {error}") from error
                    yield ListingPage(faults=[ListingFault(above, "this folder cannot be looked into")])
                if len(seen) > MOST_FOLDERS:
                    raise SourceRefused(
                        f"there are more than {MOST_FOLDERS} folders", fix="Make a source of each part of it."
                    )

    async def list_folders(self, parent: str | None) -> Sequence[SourceFolder]:
        """See `BrowsableSource`."""
        found: list[SourceFolder] = []
        with listing_faults(WHO):
            async for rows in self._rows(self._folder if parent is None else parent, ListingSteps(WHO), browse=True):
                found += _folders_in(self._app.entry_of(one, "") for one in rows)
                if len(found) > _MOST_BROWSED:
                    raise SourceRefused(f"there are more than {_MOST_BROWSED} folders in this one")
        return sorted(found, key=lambda one: (one.name.lower(), one.id))

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        with classified_faults(WHO):
            data = await self._client.execute(self._app.read_tool, self._app.read_arguments(item))
            async for block in read_content(self._client, self._app, data, item, start, length):
                yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _rows(
        self, folder: str, steps: ListingSteps, *, browse: bool = False
    ) -> AsyncIterator[list[Mapping[str, Any]]]:
        app, token, seen = self._app, None, 0
        while True:
            tool = app.more_tool if token and app.more_tool else app.list_tool
            arguments = {**app.list_arguments(folder, token), **(app.browse if browse and token is None else {})}
            found = await self._client.execute(tool, arguments)
            rows = rows_of(found, app.rows)
            seen += len(rows)
            following = app.next_of(found, seen)
            yield rows
            if following is None:
                return
            token = steps.next(following, of=folder)


def _folders_in(entries: Iterable[SourceItem | SourceFolder | None]) -> list[SourceFolder]:
    """Those that are looked into."""
    return [one for one in entries if isinstance(one, SourceFolder) and not housekeeping_kind(one.name)]


def _is_read(one: SourceItem) -> bool:
    return not any(housekeeping_kind(part) for part in one.path.split("/"))


async def _open_composio(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    name = str(settings["app"]).lower().replace("_", "").replace("-", "")
    if name not in COMPOSIO_APPS:
        raise SourceInvalid(f"there is no app {settings['app']!r}", fix=f"There are {', '.join(COMPOSIO_APPS)}.")
    tools: dict[str, Any] = {
        which: str(settings[which]) for which in ("list_tool", "more_tool", "read_tool") if settings.get(which)
    }
    for which, tool in tools.items():
        if not tool.isascii() or not tool.replace("_", "").isalnum():
            raise SourceInvalid(f"{which} is no name of a tool")
    app = replace(COMPOSIO_APPS[name], **tools)
    client = await open_composio(opening, dependencies)
    return ComposioSource(client, app, str(settings.get("folder") or app.root))


KIND: Final = SourceKind(
    name="composio",
    title="Composio (Google Drive, OneDrive, Dropbox, Box)",
    settings={
        "app*": "googledrive, onedrive, dropbox or box.",
        "account*": "The id of the connected account, as Composio names it: ca_….",
        "folder": "The id of a folder, for Dropbox its path; the root where none is named.",
        "endpoint": "The base URL of a server that speaks Composio's REST API, version 3.",
        "public": f"yes: {PUBLIC_BASE}, through which names and files then pass. Where no endpoint is named.",
        "user": "The id of the user that the account belongs to, where Composio asks for it.",
        "version": "Of Composio's tools; latest where none is named.",
        "list_tool": "Another tool that lists a folder.",
        "more_tool": "Another tool that continues a listing.",
        "read_tool": "Another tool that downloads a file.",
    },
    open=_open_composio,
    takes_credential=True,
)
