"""Google Drive as a source: all files once, then the changes since; documents of its own kind as office files."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from pipelines.documents.sources.cloud.cloud_answers import (
    MOST_FOLDERS,
    ListingSteps,
    id_of,
    name_of,
    part_of,
    rows_of,
    size_of,
    text_of,
    text_or_none,
)
from pipelines.documents.sources.cloud.cloud_client import CloudClient, CursorExpired, listing_faults, open_cloud
from pipelines.documents.sources.cloud.cloud_tokens import TokenEndpoint
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemGone,
    ItemRights,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_WHO: Final = "Google Drive"
_PAGE: Final = 1000
_BASE: Final = "https://www.googleapis.com/drive/v3"
_TOKEN: Final = "https://oauth2.googleapis.com/token"
_SCOPE: Final = "https://www.googleapis.com/auth/drive.readonly"
GOOGLE_KIND: Final = "application/vnd.google-apps."
FOLDER_KIND: Final = f"{GOOGLE_KIND}folder"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
EXPORTS: Final = {
    f"{GOOGLE_KIND}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{GOOGLE_KIND}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{GOOGLE_KIND}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{GOOGLE_KIND}drawing": ("application/pdf", ".pdf"),
}
_FIELDS: Final = (
    "id,name,mimeType,parents,trashed,size,md5Checksum,modifiedTime,"
    "permissions(type,emailAddress,domain,deleted,allowFileDiscovery)"
)
_DEEP: Final = 100  # folders in each other; more is a circle


class _FolderChanged(Exception):
    pass


class GoogleDriveSource:
    """A folder among the changes moves paths that are not listed: then everything is listed again, and nothing read.

    Pages are given as they come. Kept are names and parents of folders, as a file names no more than its own folder,
    and folders are listed first, as files come in no order; and the ids of changes, which a whole listing takes back.
    """

    def __init__(self, client: CloudClient, folder: str, drive: str) -> None:
        """`folder` and `drive` are ids: only what is below that folder, or in that shared drive."""
        self._client, self._folder, self._drive = client, folder, drive
        self._folders: dict[str, tuple[str, str | None]] = {}  # name and parent by id

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`."""
        told: set[str] = set()
        with listing_faults(_WHO):
            if cursor is not None:
                try:
                    async for page in self._changes(cursor):
                        told.update(one.id for one in page.items)
                        yield page
                    return
                # Whatever does not let it go on from the cursor is told by a whole listing, too, if it is still so.
                except (CursorExpired, ItemGone, SourceRefused, _FolderChanged):
                    self._folders.clear()
            async for page in self._everything(told):
                yield page

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`; what is exported has no ranges, and is cut here."""
        path, export = f"files/{quote(item.id, safe='')}", item.version.partition(" ")[0]
        params = {"mimeType": EXPORTS[export][0]} if export in EXPORTS else {"alt": "media", **_one_drive()}
        if export in EXPORTS:
            path = f"{path}/export"
        async for block in self._client.read(path, start, length, params=params):
            yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _everything(self, told: set[str]) -> AsyncIterator[ListingPage]:
        """The cursor is from before the listing: what changes meanwhile is listed twice, and not lost.

        `told`: ids of changes before; they count as gone where they are not among what is listed now.
        """
        in_drive = {"driveId": self._drive} if self._drive else {}
        begun = await self._client.get("changes/startPageToken", {**_one_drive(), **in_drive})
        cursor = text_of(begun, "startPageToken")
        yield ListingPage(removed=sorted(told))
        async for folders in self._files(f"mimeType = '{FOLDER_KIND}'"):
            self._learn(folders)
        async for files in self._files(f"mimeType != '{FOLDER_KIND}'"):
            items = [await self._item_of(one) for one in files if _is_read(one)]
            yield ListingPage([one for one in items if one is not None])
        yield ListingPage(cursor=cursor)

    async def _files(self, which: str) -> AsyncIterator[list[Mapping[str, Any]]]:
        params: dict[str, Any] = {
            **_all_drives(),
            **({"driveId": self._drive, "corpora": "drive"} if self._drive else {}),
            "q": f"trashed = false and {which}",
            "pageSize": _PAGE,
            "fields": f"nextPageToken,incompleteSearch,files({_FIELDS})",
        }
        steps = ListingSteps(_WHO)
        while True:
            found = await self._client.get("files", params)
            if found.get("incompleteSearch"):
                raise SourceAway("Google Drive could not look everywhere")
            yield rows_of(found, "files")
            if not found.get("nextPageToken"):
                return
            params["pageToken"] = steps.next(found["nextPageToken"])

    async def _changes(self, cursor: str) -> AsyncIterator[ListingPage]:
        """Raises _FolderChanged: everything has to be listed again."""
        params: dict[str, Any] = {
            **_all_drives(),
            **({"driveId": self._drive} if self._drive else {}),
            "includeRemoved": "true",
            "pageSize": _PAGE,
            "fields": f"nextPageToken,newStartPageToken,changes(changeType,removed,fileId,file({_FIELDS}))",
        }
        steps, token = ListingSteps(_WHO), cursor
        while True:
            found = await self._client.get("changes", {**params, "pageToken": steps.next(token)})
            items: dict[str, SourceItem] = {}
            removed: set[str] = set()
            for change in rows_of(found, "changes"):
                if change.get("changeType", "file") != "file":
                    continue
                file = part_of(change, "file")
                if file.get("mimeType") == FOLDER_KIND:
                    raise _FolderChanged
                id_ = id_of(change, "fileId")
                item = None if change.get("removed") else await self._changed(file)
                items.pop(id_, None)
                removed.discard(id_)
                if item is None:
                    removed.add(id_)
                else:
                    items[id_] = item
            if last := found.get("newStartPageToken"):  # on the last page alone
                last = text_of(found, "newStartPageToken")
            yield ListingPage(list(items.values()), sorted(removed), cursor=last or None, full=False)
            if not found.get("nextPageToken"):
                return
            token = found["nextPageToken"]

    async def _changed(self, one: Mapping[str, Any]) -> SourceItem | None:
        return None if one.get("trashed") or not _is_read(one) else await self._item_of(one)

    def _learn(self, folders: Iterable[Mapping[str, Any]]) -> None:
        for one in folders:
            if one.get("mimeType") == FOLDER_KIND:
                self._folders[id_of(one)] = (name_of(one), _parent_of(one))
        if len(self._folders) > MOST_FOLDERS:
            raise SourceRefused(f"there are more than {MOST_FOLDERS} folders", fix="Make a source of each part of it.")

    async def _item_of(self, one: Mapping[str, Any]) -> SourceItem | None:
        """None where it lies elsewhere than below the folder."""
        above = await self._path_above(_parent_of(one))
        if above is None:
            return None
        kind, name = text_of(one, "mimeType"), name_of(one)
        if kind in EXPORTS:
            ending = EXPORTS[kind][1]
            name = name if name.lower().endswith(ending) else f"{name}{ending}"
            version, size = f"{kind} {text_of(one, 'modifiedTime')}", None  # what an export has is not told
        else:
            size = size_of(one)
            version = f"{text_of(one, 'md5Checksum', 'modifiedTime')} {size}"
        path = "/".join([*above, name])
        return SourceItem(id_of(one), version, path, size, rights=_rights_from(one.get("permissions")))

    async def _path_above(self, parent: str | None) -> list[str] | None:
        names: list[str] = []
        for _ in range(_DEEP):
            if parent is None:
                return None if self._folder else names
            if parent == self._folder:
                return names
            if parent not in self._folders:
                try:
                    found = await self._client.get(
                        f"files/{quote(parent, safe='')}", {"fields": "id,name,mimeType,parents", **_one_drive()}
                    )
                    self._folders[parent] = (name_of(found), _parent_of(found))
                except ItemGone:  # it may be seen, and the folder may not
                    self._folders[parent] = ("", None)
            name, parent = self._folders[parent]
            if name:
                names.insert(0, name)
        return None if self._folder else names


def _all_drives() -> dict[str, str]:
    return {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"}


def _one_drive() -> dict[str, str]:
    return {"supportsAllDrives": "true"}


def _parent_of(one: Mapping[str, Any]) -> str | None:
    parents = one.get("parents") or []
    if not isinstance(parents, list):
        raise ValueError("parents is no list")
    return id_of({"id": parents[0]}) if parents else None


def _is_read(one: Mapping[str, Any]) -> bool:
    kind = text_of(one, "mimeType")
    return (not kind.startswith(GOOGLE_KIND) or kind in EXPORTS) and not housekeeping_kind(name_of(one))


def _rights_from(permissions: Any) -> ItemRights | None:
    """People and groups by address; a group's address is the name of the group. Links give nobody a right.

    A whole domain is a group by its name where its people find the file; where they need the link it is a link as any
    other. None where permissions are not told: whoever may not share a file does not see who may read it.
    """
    if permissions is None:
        return None
    users, groups = set[str](), set[str]()
    for one in rows_of({"permissions": permissions}, "permissions"):
        kind = one.get("type")
        if one.get("deleted"):
            continue
        if kind == "domain":
            name = text_or_none(one, "domain") if one.get("allowFileDiscovery") is True else None
        else:
            name = text_or_none(one, "emailAddress")
        if name and kind in ("user", "group", "domain"):
            (users if kind == "user" else groups).add(name)
    return ItemRights(tuple(sorted(users)), tuple(sorted(groups)))


async def _open_drive(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    client = await open_cloud(opening, dependencies, _BASE, TokenEndpoint(_TOKEN, _SCOPE))
    return GoogleDriveSource(client, str(settings.get("folder") or ""), str(settings.get("drive") or ""))


KIND: Final = SourceKind(
    name="google_drive",
    title="Google Drive",
    settings={
        "folder": "The id of a folder: only what lies below it.",
        "drive": "The id of a shared drive; else what the credential may see.",
        "endpoint": "Another base URL; https://www.googleapis.com/drive/v3 where none is named.",
        "token_url": "Another token endpoint.",
    },
    open=_open_drive,
    has_rights=True,
    takes_credential=True,
)
