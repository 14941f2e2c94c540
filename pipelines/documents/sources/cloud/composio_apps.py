"""The clouds behind Composio: the tools that list and read each, and what their rows say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.documents.sources.cloud.cloud_answers import (
    id_of,
    name_of,
    part_of,
    path_below,
    path_part,
    size_of,
    text_of,
    text_or_none,
)
from pipelines.documents.sources.cloud.google_drive_source import EXPORTS, FOLDER_KIND, GOOGLE_KIND
from pipelines.documents.sources.source_port import SourceAway, SourceFolder, SourceItem

_PAGE: Final = 1000
_DROPBOX_PAGE: Final = 2000
_ONEDRIVE_PAGE: Final = 999
_DRIVE_FIELDS: Final = "nextPageToken,incompleteSearch,files(id,name,mimeType,size,md5Checksum,modifiedTime)"
_BOX_FIELDS: Final = "id,type,name,etag,sha1,size,item_status"

Row = Mapping[str, Any]
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ComposioApp:
    """A cloud behind Composio.

    Attributes:
        root: the folder that is listed where none is named.
        rows: under which name a listing has its rows.
        list_tool, read_tool: names of its tools; `more_tool` continues a listing, where that is another one.
        list_arguments: of a folder's listing from a token on; None: from its beginning.
        read_arguments: of a file's download.
        next_of: the token with which a listing goes on; None where it is at its end. Raises SourceAway: it is half.
        entry_of: a row as a file, with the path of its folder before its name, or as a folder; None: it is neither.
        browse: arguments that keep a listing to one folder.
        is_nested: False where one listing names what is in folders below, too.
        has_sizes: a file has exactly the bytes that its listing says.
        inline_least: an inline answer shorter than this is taken for a piece, unless a digest says that it is whole.
    """

    title: str
    root: str
    rows: str
    list_tool: str
    read_tool: str
    list_arguments: Callable[[str, str | None], Arguments]
    read_arguments: Callable[[SourceItem], Arguments]
    next_of: Callable[[Row, int], Any]
    entry_of: Callable[[Row, str], SourceItem | SourceFolder | None]
    more_tool: str = ""
    browse: Arguments = field(default_factory=dict)
    is_nested: bool = True
    has_sizes: bool = True
    inline_least: int = 0


def _list_drive(folder: str, token: str | None) -> Arguments:
    inside = folder.replace("\\", "\\\\").replace("'", "\\'")
    asked = {"q": f"'{inside}' in parents and trashed = false", "pageSize": _PAGE, "fields": _DRIVE_FIELDS}
    all_drives = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
    return {**asked, **all_drives, **({"pageToken": token} if token else {})}


def _read_drive(item: SourceItem) -> Arguments:
    kind = item.version.partition(" ")[0]
    return {"file_id": item.id, **({"mime_type": EXPORTS[kind][0]} if kind in EXPORTS else {})}


def _next_of_drive(found: Row, seen: int) -> Any:
    if found.get("incompleteSearch"):
        raise SourceAway("Google Drive could not look everywhere")
    return found.get("nextPageToken") or None


def _entry_of_drive(one: Row, above: str) -> SourceItem | SourceFolder | None:
    kind, name = text_of(one, "mimeType"), name_of(one)
    if kind == FOLDER_KIND:
        return SourceFolder(id_of(one), name)
    if kind in EXPORTS:
        ending = EXPORTS[kind][1]
        name = name if name.lower().endswith(ending) else f"{name}{ending}"
        return SourceItem(id_of(one), f"{kind} {text_of(one, 'modifiedTime')}", path_below(above, name))
    if kind.startswith(GOOGLE_KIND):
        return None
    size = size_of(one)
    return SourceItem(
        id_of(one), f"{text_of(one, 'md5Checksum', 'modifiedTime')} {size}", path_below(above, name), size
    )


def _list_onedrive(folder: str, token: str | None) -> Arguments:
    place = {"folder_item_id": folder} if folder else {"folder_path": "/"}
    return {"use_me_drive": True, "top": _ONEDRIVE_PAGE, **place, **({"page_token": token} if token else {})}


def _next_of_onedrive(found: Row, seen: int) -> Any:
    token = found.get("next_page_token")
    if not token and found.get("@odata.nextLink"):
        raise SourceAway("OneDrive breaks its listing off")
    return token or None


def _entry_of_onedrive(one: Row, above: str) -> SourceItem | SourceFolder | None:
    if one.get("folder") is not None:
        return SourceFolder(id_of(one), name_of(one))
    if one.get("file") is None or one.get("remoteItem") is not None:  # notebooks; and what is of another drive
        return None
    size, hashes = size_of(one), part_of(part_of(one, "file"), "hashes")
    told = text_or_none(hashes, "quickXorHash", "sha256Hash", "sha1Hash")
    version = told or text_of(one, "cTag", "eTag", "lastModifiedDateTime")
    return SourceItem(id_of(one), f"{version} {size}", path_below(above, name_of(one)), size)


def _list_dropbox(folder: str, token: str | None) -> Arguments:
    if token:
        return {"cursor": token}
    path = f"/{folder.strip('/')}" if folder.strip("/") else ""
    return {"path": path, "recursive": True, "limit": _DROPBOX_PAGE}


def _entry_of_dropbox(one: Row, above: str) -> SourceItem | SourceFolder | None:
    kind = one.get(".tag", one.get("tag"))
    if kind not in ("file", "folder"):
        return None
    path = one.get("path_display") or one.get("path_lower")
    if not isinstance(path, str):
        raise ValueError("an entry has no path")
    shown = "/".join(path_part(name) for name in path.split("/") if name)
    if kind == "folder":
        return SourceFolder(path, shown.rpartition("/")[2])
    size = size_of(one)
    return SourceItem(id_of(one), f"{text_of(one, 'content_hash', 'rev')} {size}", shown, size)


def _list_box(folder: str, token: str | None) -> Arguments:
    asked = {"folder_id": folder, "limit": _PAGE, "fields": _BOX_FIELDS, "usemarker": True}
    return {**asked, **({"marker": token} if token else {})}


def _next_of_box(found: Row, seen: int) -> Any:
    token, total = found.get("next_marker"), found.get("total_count")
    if not token and isinstance(total, int) and total > seen:  # it has counted pages, and gives no way to the next
        raise SourceAway("Box breaks its listing off")
    return token or None


def _entry_of_box(one: Row, above: str) -> SourceItem | SourceFolder | None:
    if one.get("item_status", "active") != "active" or one.get("type") not in ("file", "folder"):
        return None
    if one["type"] == "folder":
        return SourceFolder(id_of(one), name_of(one))
    size = size_of(one)
    return SourceItem(id_of(one), f"{text_of(one, 'sha1', 'etag')} {size}", path_below(above, name_of(one)), size)


COMPOSIO_APPS: Final[Mapping[str, ComposioApp]] = {
    "googledrive": ComposioApp(
        title="Google Drive",
        root="root",
        rows="files",
        list_tool="GOOGLEDRIVE_LIST_FILES",
        read_tool="GOOGLEDRIVE_DOWNLOAD_FILE",
        list_arguments=_list_drive,
        read_arguments=_read_drive,
        next_of=_next_of_drive,
        entry_of=_entry_of_drive,
        inline_least=2048,
    ),
    "onedrive": ComposioApp(
        title="OneDrive",
        root="",
        rows="value",
        list_tool="ONE_DRIVE_LIST_FOLDER_CHILDREN",
        read_tool="ONE_DRIVE_DOWNLOAD_FILE",
        list_arguments=_list_onedrive,
        read_arguments=lambda item: {"item_id": item.id, "file_name": item.filename},
        next_of=_next_of_onedrive,
        entry_of=_entry_of_onedrive,
        has_sizes=False,  # SharePoint rewrites office files, and counts more than it gives
    ),
    "dropbox": ComposioApp(
        title="Dropbox",
        root="",
        rows="entries",
        list_tool="DROPBOX_LIST_FILES_IN_FOLDER",
        more_tool="DROPBOX_LIST_FOLDER_CONTINUE",
        read_tool="DROPBOX_READ_FILE",
        list_arguments=_list_dropbox,
        read_arguments=lambda item: {"path": item.id},
        next_of=lambda found, seen: found.get("cursor", "") if found.get("has_more") else None,
        entry_of=_entry_of_dropbox,
        browse={"recursive": False},
        is_nested=False,
    ),
    "box": ComposioApp(
        title="Box",
        root="0",
        rows="entries",
        list_tool="BOX_LIST_ITEMS_IN_FOLDER",
        read_tool="BOX_DOWNLOAD_FILE",
        list_arguments=_list_box,
        read_arguments=lambda item: {"file_id": item.id},
        next_of=_next_of_box,
        entry_of=_entry_of_box,
    ),
}
"""By the names that Composio has for them, without its underscores."""
