"""Google Drive as a source: all files once, then the changes since; documents of its own kind as office files."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from pipelines.documents.sources.cloud.cloud_client import CloudClient, CursorExpired, open_cloud
from pipelines.documents.sources.cloud.cloud_tokens import TokenEndpoint
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemGone,
    ItemRights,
    ListingPage,
    Source,
    SourceAway,
    SourceGround,
    SourceItem,
    SourceKind,
    SourceOpening,
)

_BASE: Final = "https://www.googleapis.com/drive/v3"
_TOKEN: Final = "https://oauth2.googleapis.com/token"
_SCOPE: Final = "https://www.googleapis.com/auth/drive.readonly"
_GOOGLE: Final = "application/vnd.google-apps."
_FOLDER: Final = f"{_GOOGLE}folder"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_EXPORTS: Final = {
    f"{_GOOGLE}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{_GOOGLE}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{_GOOGLE}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{_GOOGLE}drawing": ("application/pdf", ".pdf"),
}
_FIELDS: Final = (
    "id,name,mimeType,parents,trashed,size,md5Checksum,modifiedTime,"
    "permissions(type,emailAddress,domain,deleted,allowFileDiscovery)"
)
_DEEP: Final = 100  # folders in each other; more is a circle


class GoogleDriveSource:
    """A folder among the changes moves paths that are not listed: then everything is listed again, and nothing read."""

    def __init__(self, client: CloudClient, folder: str, drive: str) -> None:
        """`folder` and `drive` are ids: only what is below that folder, or in that shared drive."""
        self._client, self._folder, self._drive = client, folder, drive
        self._folders: dict[str, tuple[str, str | None]] = {}  # name and parent by id

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`."""
        page = None if cursor is None else await self._changes(cursor)
        yield await self._everything() if page is None else page

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`; what is exported has no ranges, and is cut here."""
        path, export = f"files/{quote(item.id)}", item.version.partition(" ")[0]
        params = {"mimeType": _EXPORTS[export][0]} if export in _EXPORTS else {"alt": "media", **_one_drive()}
        if export in _EXPORTS:
            path = f"{path}/export"
        async for block in self._client.read(path, start, length, params=params):
            yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _everything(self) -> ListingPage:
        """The cursor is from before the listing: what changes meanwhile is listed twice, and not lost."""
        in_drive = {"driveId": self._drive} if self._drive else {}
        begun = await self._client.get("changes/startPageToken", {**_one_drive(), **in_drive})
        params = {
            **_all_drives(),
            **({**in_drive, "corpora": "drive"} if self._drive else {}),
            "q": "trashed = false",
            "pageSize": 1000,
            "fields": f"nextPageToken,incompleteSearch,files({_FIELDS})",
        }
        files: list[Mapping[str, Any]] = []
        token: str | None = ""
        while token is not None:
            found = await self._client.get("files", {**params, **({"pageToken": token} if token else {})})
            if found.get("incompleteSearch"):
                raise SourceAway("Google Drive could not look everywhere")
            files += _listed(found, "files")
            token = found.get("nextPageToken")
        self._learn(files)
        items = [await self._item_of(one) for one in files if _is_read(one)]
        return ListingPage([one for one in items if one is not None], cursor=str(begun["startPageToken"]))

    async def _changes(self, cursor: str) -> ListingPage | None:
        """None where everything has to be listed again."""
        params = {
            **_all_drives(),
            **({"driveId": self._drive} if self._drive else {}),
            "includeRemoved": "true",
            "pageSize": 1000,
            "fields": f"nextPageToken,newStartPageToken,changes(changeType,removed,fileId,file({_FIELDS}))",
        }
        items: dict[str, SourceItem] = {}
        removed: set[str] = set()
        token: str | None = cursor
        last = cursor
        try:
            while token:
                found = await self._client.get("changes", {**params, "pageToken": token})
                for change in _listed(found, "changes"):
                    if change.get("changeType", "file") != "file":
                        continue
                    if (change.get("file") or {}).get("mimeType") == _FOLDER:
                        return None
                    id_ = change["fileId"]
                    item = None if change.get("removed") else await self._changed(change["file"])
                    items.pop(id_, None)
                    removed.discard(id_)
                    if item is None:
                        removed.add(id_)
                    else:
                        items[id_] = item
                token, last = found.get("nextPageToken"), found.get("newStartPageToken", last)
        except CursorExpired:
            return None
        return ListingPage(list(items.values()), sorted(removed), cursor=last, full=False)

    async def _changed(self, one: Mapping[str, Any]) -> SourceItem | None:
        return None if one.get("trashed") or not _is_read(one) else await self._item_of(one)

    def _learn(self, files: Iterable[Mapping[str, Any]]) -> None:
        for one in files:
            if one.get("mimeType") == _FOLDER:
                self._folders[one["id"]] = (str(one["name"]), _parent_of(one))

    async def _item_of(self, one: Mapping[str, Any]) -> SourceItem | None:
        """None where it lies elsewhere than below the folder."""
        above = await self._path_above(_parent_of(one))
        if above is None:
            return None
        kind, name = str(one["mimeType"]), str(one["name"])
        if kind in _EXPORTS:
            ending = _EXPORTS[kind][1]
            name = name if name.lower().endswith(ending) else f"{name}{ending}"
            version, size = f"{kind} {one['modifiedTime']}", None  # what an export has is not told
        else:
            size = int(one["size"]) if "size" in one else None
            version = f"{one.get('md5Checksum') or one['modifiedTime']} {size}"
        path = "/".join([*above, name.replace("/", "∕")])
        return SourceItem(one["id"], version, path, size, rights=_rights_from(one.get("permissions")))

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
                        f"files/{quote(parent)}", {"fields": "id,name,mimeType,parents", **_one_drive()}
                    )
                    self._folders[parent] = (str(found["name"]), _parent_of(found))
                except ItemGone:  # it may be seen, and the folder may not
                    self._folders[parent] = ("", None)
            name, parent = self._folders[parent]
            if name:
                names.insert(0, name.replace("/", "∕"))
        return None if self._folder else names


def _all_drives() -> dict[str, str]:
    return {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"}


def _one_drive() -> dict[str, str]:
    return {"supportsAllDrives": "true"}


def _listed(found: Any, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(found, dict) or not isinstance(found.get(name), list):
        raise SourceAway("Google Drive answers with no listing")
    return list(found[name])


def _parent_of(one: Mapping[str, Any]) -> str | None:
    parents = one.get("parents") or []
    return str(parents[0]) if parents else None


def _is_read(one: Mapping[str, Any]) -> bool:
    kind = str(one.get("mimeType", ""))
    return (not kind.startswith(_GOOGLE) or kind in _EXPORTS) and not housekeeping_kind(str(one.get("name", "")))


def _rights_from(permissions: Any) -> ItemRights | None:
    """People and groups by address; a group's address is the name of the group. Links give nobody a right.

    None where they are not told: whoever may not share a file does not see who may read it.
    """
    if not isinstance(permissions, list):
        return None
    there = [one for one in permissions if not one.get("deleted")]
    users = sorted({str(one["emailAddress"]) for one in there if one.get("type") == "user" and one.get("emailAddress")})
    groups = {str(one["emailAddress"]) for one in there if one.get("type") == "group" and one.get("emailAddress")}
    groups |= {str(one["domain"]) for one in there if one.get("type") == "domain" and one.get("domain")}
    return ItemRights(tuple(users), tuple(sorted(groups)))


async def _open_drive(opening: SourceOpening, ground: SourceGround) -> Source:
    settings = opening.settings
    client = await open_cloud(opening, ground, _BASE, TokenEndpoint(_TOKEN, _SCOPE))
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
