"""SharePoint libraries and OneDrive as a source, by Microsoft Graph's delta listing, with the rights of their files."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, unquote

from cluster.basics.cleanup import async_cleanup_on_error
from pipelines.documents.sources.cloud.cloud_answers import (
    MOST_FOLDERS,
    ListingSteps,
    id_of,
    name_of,
    part_of,
    path_part,
    rows_of,
    size_of,
    text_or_none,
)
from pipelines.documents.sources.cloud.cloud_client import CloudClient, CursorExpired, listing_faults, open_cloud
from pipelines.documents.sources.cloud.cloud_tokens import TokenEndpoint
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemGone,
    ItemRights,
    ListingFault,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_WHO: Final = "Microsoft Graph"
_BASE: Final = "https://graph.microsoft.com/v1.0"
_LOGIN: Final = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token"
_BATCH: Final = 20  # requests of one $batch
_BUSY: Final = (429, 500, 502, 503, 504)
_PAGE: Final = 200
_MOST_PERMISSION_PAGES: Final = 100
_DEEP: Final = 100  # folders in each other; more is a circle
_FULL_SECONDS: Final = 24 * 3600.0
# Rights that changed are listed, too; a folder whose rights changed stands for what is below it.
_PREFER: Final = {"Prefer": "hierarchicalsharing, deltashowsharingchanges, deltatraversepermissiongaps"}
_FIELDS: Final = "id,name,size,eTag,cTag,file,folder,root,deleted,parentReference,package"


class _FolderChanged(Exception):
    pass


class OneDriveSource:
    """A first listing names everything and ends with a link; from there only changes are listed.

    A folder that was made, moved, renamed or shared changes paths and rights below it, which the service does not list:
    then everything is listed again, as once a day. Nothing is read for that.

    Pages are given as they come, each with the rights of its files, which are asked for by file. Kept are names and
    parents of folders, as a file names no more than its own folder; and the ids of changes, which a whole listing takes
    back. What a later page says of a file counts: one that is deleted while the listing runs is named once more.
    """

    def __init__(self, client: CloudClient, drive: str, folder: str, clock: Callable[[], float] = time.time) -> None:
        """`drive`: its path in the API, such as `drives/b!x`; `folder`: only what lies below it."""
        self._client, self._drive, self._folder, self._clock = client, drive, folder.strip("/"), clock
        self._folders: dict[str, tuple[str, str | None]] = {}  # name and parent by id; the root's name is empty
        self._listed: set[str] = set()  # folders of the listing that is under way
        self._restless = False

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`. A cursor is when everything was listed the last time, and the link."""
        since, link = _parts_of(cursor)
        told: set[str] = set()
        with listing_faults(_WHO):
            if self._client.holds(link) and 0 <= self._clock() - since < _FULL_SECONDS:
                try:
                    async for page in self._pages(link, since, set(), full=False):
                        told.update(one.id for one in page.items)
                        yield page
                    return
                # Whatever does not let it go on from the link is told by a whole listing, too, if it is still so.
                except (CursorExpired, ItemGone, SourceRefused, _FolderChanged):
                    self._folders.clear()
            self._listed.clear()
            self._restless = False
            async for page in self._pages(self._first_link(), int(self._clock()), told, full=True):
                yield page

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        path = f"{self._drive}/items/{quote(item.id, safe='!')}/content"
        async for block in self._client.read(path, start, length):
            yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    def _first_link(self) -> str:
        where = f"root:/{quote(self._folder)}:" if self._folder else "root"
        return f"{self._drive}/{where}/delta?$select={_FIELDS}"

    async def _pages(self, link: str, since: int, told: set[str], *, full: bool) -> AsyncIterator[ListingPage]:
        """`told`: ids of changes before; they count as gone where they are not among what is listed now.

        Raises _FolderChanged: these are changes, and a folder is among them.
        """
        steps = ListingSteps(_WHO)
        while True:
            found = await self._client.get(steps.next(link), headers=_PREFER)
            items, removed = await self._read_page(rows_of(found, "value"), full=full)
            yield ListingPage(removed=sorted(removed | told), full=full)
            told = set()
            for start in range(0, len(items), _PAGE):
                yield await self._with_rights(items[start : start + _PAGE], full=full)
            if last := text_or_none(found, "@odata.deltaLink"):
                if not self._client.holds(last):
                    raise SourceAway(f"{_WHO} continues its listing at another host")
                yield ListingPage(cursor=f"{0 if self._restless else since} {last}", full=full)
                return
            link = found.get("@odata.nextLink") or ""

    async def _read_page(self, rows: Sequence[Mapping[str, Any]], *, full: bool) -> tuple[list[SourceItem], set[str]]:
        """Files, and ids that are gone; what is said last of an item counts."""
        for one in (one for one in rows if "folder" in one):
            top = "deleted" not in one and await self._is_top(one)
            if not full and not top:
                raise _FolderChanged
            if "deleted" not in one:
                self._learn(one, top=top)
        items: dict[str, SourceItem] = {}
        removed: set[str] = set()
        for one in rows:
            id_ = id_of(one)
            items.pop(id_, None)
            if "deleted" in one:
                removed.add(id_)
            elif "file" in one:
                if housekeeping_kind(name_of(one)):
                    removed.add(id_)
                    continue
                removed.discard(id_)
                version = text_or_none(one, "cTag", "eTag") or ""
                items[id_] = SourceItem(id_, version, await self._path_of(one), size_of(one))
        return list(items.values()), removed

    def _learn(self, one: Mapping[str, Any], *, top: bool) -> None:
        """A folder that is listed a second time was changed while the listing ran: files before it may have got other
        paths and rights by that, and the next sync lists everything.
        """
        id_, name, parent = _folder_of(one)
        self._restless |= id_ in self._listed and not top
        self._listed.add(id_)
        self._folders[id_] = (name, parent)
        if len(self._folders) > MOST_FOLDERS:
            raise SourceRefused(f"there are more than {MOST_FOLDERS} folders", fix="Make a source of each part of it.")

    async def _is_top(self, one: Mapping[str, Any]) -> bool:
        """True for the folder that everything lies below: it is listed each time."""
        return "root" in one or (bool(self._folder) and await self._path_of(one) == self._folder)

    async def _path_of(self, one: Mapping[str, Any]) -> str:
        """By the path above where the service tells it, which some drives do; else by the folders above."""
        above = part_of(one, "parentReference")
        _, is_told, path = (text_or_none(above, "path") or "").partition("root:")
        if is_told:
            names = [path_part(unquote(name)) for name in path.split("/") if name]
        else:
            names = await self._names_above(id_of(above) if above.get("id") else None)
        return "/".join([*names, name_of(one)])

    async def _names_above(self, parent: str | None) -> list[str]:
        names: list[str] = []
        for _ in range(_DEEP):
            if parent is None:
                break
            if parent not in self._folders:
                try:
                    path = f"{self._drive}/items/{quote(parent, safe='!')}"
                    _, *found = _folder_of(await self._client.get(path, {"$select": "id,name,parentReference,root"}))
                    self._folders[parent] = (found[0] or "", found[1])
                except ItemGone:  # it may be seen, and the folder may not
                    self._folders[parent] = ("", None)
            name, parent = self._folders[parent]
            if name:
                names.insert(0, name)
        return names

    async def _with_rights(self, items: Sequence[SourceItem], *, full: bool) -> ListingPage:
        """A page of items, with who may see them, and of which that could not be told."""
        rights: dict[str, ItemRights] = {}
        faults: list[ListingFault] = []
        paths = {one.id: one.path for one in items}
        ids = list(paths)
        for start in range(0, len(ids), _BATCH):
            waiting, tried = ids[start : start + _BATCH], 1
            while waiting:
                busy, told = [], None
                for id_, one in await self._permissions_of(waiting):
                    status = one.get("status")
                    if status == 200:
                        rights[id_] = _rights_from(await self._whole_list(part_of(one, "body")))
                    elif status == 404:  # it went just now
                        rights[id_] = ItemRights()
                    elif status in _BUSY:
                        busy.append(id_)
                        told = text_or_none({k.lower(): v for k, v in part_of(one, "headers").items()}, "retry-after")
                    else:
                        faults.append(ListingFault(paths[id_], f"its permissions cannot be read ({status})"))
                if busy and not await self._client.rest(told, tried):
                    raise SourceAway(f"{_WHO} is busy")
                waiting, tried = busy, tried + 1
        return ListingPage([replace(one, rights=rights.get(one.id)) for one in items], faults=faults, full=full)

    async def _permissions_of(self, ids: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
        asked = [
            {"id": str(n), "method": "GET", "url": f"/{self._drive}/items/{quote(id_, safe='!')}/permissions"}
            for n, id_ in enumerate(ids)
        ]
        found = await self._client.post("$batch", {"requests": asked})
        answers = {str(one.get("id")): one for one in rows_of(found, "responses")}
        return [(id_, answers[str(n)]) for n, id_ in enumerate(ids)]

    async def _whole_list(self, body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """All of a list whose first page is there."""
        rows, steps = list(rows_of(body, "value")), ListingSteps(_WHO, _MOST_PERMISSION_PAGES)
        while body.get("@odata.nextLink"):
            body = await self._client.get(steps.next(body["@odata.nextLink"]))
            rows += rows_of(body, "value")
        return rows


def _parts_of(cursor: str | None) -> tuple[int, str]:
    """When everything was listed, and the link; no link where it is no cursor of ours."""
    since, _, link = (cursor or "").partition(" ")
    return (int(since), link) if since.isascii() and since.isdigit() and len(since) < 16 else (0, "")


def _folder_of(one: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Id, name and parent; the root has neither of these."""
    above = part_of(one, "parentReference")
    if "root" in one:
        return id_of(one), "", None
    return id_of(one), name_of(one), id_of(above) if above.get("id") else None


def _rights_from(permissions: Sequence[Mapping[str, Any]]) -> ItemRights:
    """People by address, groups by name; links, which are for whoever holds them, give nobody a right."""
    users, groups = set[str](), set[str]()
    for one in permissions:
        if "link" in one and part_of(one, "link").get("scope") != "users":
            continue
        several = "grantedToIdentitiesV2"
        for grant in (part_of(one, "grantedToV2"), *(rows_of(one, several) if one.get(several) else [])):
            person = part_of(grant, "user") or part_of(grant, "siteUser")
            if mail := text_or_none(person, "email", "userPrincipalName"):
                users.add(mail)
            for kind in ("group", "siteGroup"):
                if name := text_or_none(part_of(grant, kind), "displayName"):
                    groups.add(name)
    return ItemRights(tuple(sorted(users)), tuple(sorted(groups)))


async def _open_onedrive(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    named = [name for name in ("drive", "site", "user") if settings.get(name)]
    if len(named) != 1:
        raise SourceInvalid("onedrive needs one of the settings 'drive', 'site' and 'user'")
    login = _LOGIN.format(tenant=quote(str(settings.get("tenant") or "common")))
    scope = f"{str(settings.get('endpoint') or _BASE).split('/v1')[0]}/.default"
    client = await open_cloud(opening, dependencies, _BASE, TokenEndpoint(login, scope))
    async with async_cleanup_on_error(client.close):
        drive = await _drive_path(client, settings)
    return OneDriveSource(client, drive, str(settings.get("folder") or ""))


async def _drive_path(client: CloudClient, settings: Mapping[str, Any]) -> str:
    if drive := settings.get("drive"):
        return f"drives/{quote(str(drive), safe='!')}"
    with listing_faults(_WHO):
        if user := settings.get("user"):
            found = await client.get(f"users/{quote(str(user))}/drive")
        else:
            found = await client.get(f"sites/{quote(str(settings['site']), safe=':/,')}/drive")
        return f"drives/{quote(id_of(found), safe='!')}"


KIND: Final = SourceKind(
    name="onedrive",
    title="SharePoint and OneDrive",
    settings={
        "drive": "The id of a drive (document library); or name a site, or a user.",
        "site": "A SharePoint site, as host:/sites/name; its default library.",
        "user": "Whose OneDrive, by address.",
        "folder": "Only what lies below this folder.",
        "tenant": "The directory's id, where the credential is an application's.",
        "endpoint": "Another base URL of Microsoft Graph; https://graph.microsoft.com/v1.0 where none is named.",
        "token_url": "Another token endpoint.",
    },
    open=_open_onedrive,
    has_rights=True,
    takes_credential=True,
)
