"""SharePoint libraries and OneDrive as a source, by Microsoft Graph's delta listing, with the rights of their files."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, unquote

from pipelines.documents.sources.cloud.cloud_client import CloudClient, CursorExpired, open_cloud
from pipelines.documents.sources.cloud.cloud_tokens import TokenEndpoint
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemRights,
    ListingFault,
    ListingPage,
    Source,
    SourceAway,
    SourceGround,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_BASE: Final = "https://graph.microsoft.com/v1.0"
_LOGIN: Final = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token"
_BATCH: Final = 20  # requests of one $batch
_PAGE: Final = 200
_FULL_SECONDS: Final = 24 * 3600.0
# Rights that changed are listed, too; a folder whose rights changed stands for what is below it.
_PREFER: Final = {"Prefer": "hierarchicalsharing, deltashowsharingchanges, deltatraversepermissiongaps"}
_Delta = tuple[dict[str, SourceItem], set[str], str]
_FIELDS: Final = "id,name,size,eTag,cTag,file,folder,root,deleted,parentReference,package"


class _FolderChanged(Exception):
    pass


class OneDriveSource:
    """A first listing names everything and ends with a link; from there only changes are listed.

    A folder that was made, moved, renamed or shared changes paths and rights below it, which the service does not list:
    then everything is listed again, as once a day. Nothing is read for that.
    """

    def __init__(self, client: CloudClient, drive: str, folder: str, clock: Callable[[], float] = time.time) -> None:
        """`drive`: its path in the API, such as `drives/b!x`; `folder`: only what lies below it."""
        self._client, self._drive, self._folder, self._clock = client, drive, folder.strip("/"), clock

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """See `Source`. A cursor is when everything was listed the last time, and the link."""
        since, _, link = (cursor or "").partition(" ")
        found = None
        if link and self._clock() - float(since) < _FULL_SECONDS:
            found = await self._changes(link)
        full = found is None
        if found is None:
            since, found = f"{self._clock():.0f}", await self._collect(self._first_link())
        items, removed, last = found
        ids = list(items)
        for start in range(0, len(ids), _PAGE):
            some = [items[id_] for id_ in ids[start : start + _PAGE]]
            rights, faults = await self._rights_of([one.id for one in some])
            told = [ListingFault(items[id_].path, why) for id_, why in faults.items()]
            yield ListingPage([replace(one, rights=rights.get(one.id)) for one in some], faults=told, full=full)
        yield ListingPage(removed=[] if full else sorted(removed), cursor=f"{since} {last}", full=full)

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

    async def _changes(self, link: str) -> _Delta | None:
        """None where everything has to be listed again."""
        try:
            return await self._collect(link, stop_at_folders=True)
        except (CursorExpired, _FolderChanged):
            return None

    async def _collect(self, link: str, *, stop_at_folders: bool = False) -> _Delta:
        """Files by id, ids that are gone, and the link to go on from; what is listed last of an item counts."""
        items: dict[str, SourceItem] = {}
        removed: set[str] = set()
        while True:
            found = await self._client.get(link, headers=_PREFER)
            if not isinstance(found, dict) or not isinstance(found.get("value"), list):
                raise SourceAway("Microsoft Graph answers with no listing")
            for one in found["value"]:
                if stop_at_folders and "folder" in one and not self._is_top(one):
                    raise _FolderChanged
                items.pop(one["id"], None)
                if "deleted" in one:
                    removed.add(one["id"])
                elif "file" in one and not housekeeping_kind(str(one["name"])):
                    removed.discard(one["id"])
                    items[one["id"]] = _item_of(one)
            if last := found.get("@odata.deltaLink"):
                return items, removed, last
            if not (link := found.get("@odata.nextLink", "")):
                raise SourceAway("the listing breaks off")

    def _is_top(self, one: Mapping[str, Any]) -> bool:
        """True for the folder that everything lies below: it is listed each time."""
        return "root" in one or (bool(self._folder) and _path_of(one) == self._folder)

    async def _rights_of(self, ids: Sequence[str]) -> tuple[dict[str, ItemRights], dict[str, str]]:
        """Who may see files, and of which that could not be told."""
        rights, faults = {}, {}
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            drive = f"/{self._drive}"
            asked = [
                {"id": str(n), "method": "GET", "url": f"{drive}/items/{quote(id_, safe='!')}/permissions"}
                for n, id_ in enumerate(some)
            ]
            found = await self._client.post("$batch", {"requests": asked})
            answers = {str(one.get("id")): one for one in found.get("responses", [])}
            for n, id_ in enumerate(some):
                one = answers.get(str(n), {})
                status, body = one.get("status"), one.get("body") or {}
                if status == 200 and "@odata.nextLink" not in body:
                    rights[id_] = _rights_from(body.get("value", []))
                elif status == 404:  # it went just now
                    rights[id_] = ItemRights()
                elif status in (429, 503):
                    raise SourceAway("Microsoft Graph is busy")
                else:
                    faults[id_] = f"its permissions cannot be read ({status})"
        return rights, faults


def _path_of(one: Mapping[str, Any]) -> str:
    above = unquote(str(one.get("parentReference", {}).get("path", "")).partition("root:")[2]).strip("/")
    return f"{above}/{one['name']}" if above else str(one["name"])


def _item_of(one: Mapping[str, Any]) -> SourceItem:
    return SourceItem(one["id"], str(one.get("cTag") or one.get("eTag") or ""), _path_of(one), one.get("size"))


def _rights_from(permissions: Sequence[Mapping[str, Any]]) -> ItemRights:
    """People by address, groups by name; links, which are for whoever holds them, give nobody a right."""
    users, groups = set(), set()
    for one in permissions:
        if "link" in one and one["link"].get("scope") != "users":
            continue
        granted = [one.get("grantedToV2") or {}, *(one.get("grantedToIdentitiesV2") or [])]
        for grant in granted:
            person = grant.get("user") or grant.get("siteUser") or {}
            if mail := person.get("email") or person.get("userPrincipalName"):
                users.add(str(mail))
            for kind in ("group", "siteGroup"):
                if name := (grant.get(kind) or {}).get("displayName"):
                    groups.add(str(name))
    return ItemRights(tuple(sorted(users)), tuple(sorted(groups)))


async def _open_onedrive(opening: SourceOpening, ground: SourceGround) -> Source:
    settings = opening.settings
    named = [name for name in ("drive", "site", "user") if settings.get(name)]
    if len(named) != 1:
        raise SourceInvalid("onedrive needs one of the settings 'drive', 'site' and 'user'")
    login = _LOGIN.format(tenant=quote(str(settings.get("tenant") or "common")))
    scope = f"{str(settings.get('endpoint') or _BASE).split('/v1')[0]}/.default"
    client = await open_cloud(opening, ground, _BASE, TokenEndpoint(login, scope))
    try:
        drive = await _drive_path(client, settings)
    except BaseException:
        await client.close()
        raise
    return OneDriveSource(client, drive, str(settings.get("folder") or ""))


async def _drive_path(client: CloudClient, settings: Mapping[str, Any]) -> str:
    if drive := settings.get("drive"):
        return f"drives/{quote(str(drive), safe='!')}"
    if user := settings.get("user"):
        found = await client.get(f"users/{quote(str(user))}/drive")
    else:
        found = await client.get(f"sites/{quote(str(settings['site']), safe=':/,')}/drive")
    if not isinstance(found, dict) or not found.get("id"):
        raise SourceRefused("the service knows no such drive")
    return f"drives/{quote(str(found['id']), safe='!')}"


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
