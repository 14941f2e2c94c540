"""A folder of a WebDAV server (Nextcloud, ownCloud, and plain ones) as a source, listed folder by folder."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

import httpx

from pipelines.documents.sources.dav.dav_client import (
    CollectionListing,
    CollectionUnlisted,
    DavClient,
    DavLogin,
    dav_connections,
)
from pipelines.documents.sources.dav.dav_snapshot import FolderState, Snapshot, snapshot_from
from pipelines.documents.sources.dav.multistatus import HrefRefused, Response, segments_of
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
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

AT_ONCE: Final = 4  # folders that are listed side by side
DEEPEST: Final = 64
MOST_FOLDERS: Final = 200_000
_HASHES: Final = ("SHA256:", "SHA1:", "MD5:")
_BYTES: Final = "bytes:"  # before a path with names that are no UTF-8, quoted
_FILE_ID: Final = "fileid:"


@dataclass(frozen=True, slots=True)
class Audience:
    """Who a folder's shares let in, by the server's ids; `closed`: rules that cannot be told here narrow it."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Nextcloud:
    """How ids of people become e-mail addresses: by a list, else by a domain, else as they are."""

    people: Mapping[str, str]
    domain: str = ""

    def address_of(self, id_: str) -> str:
        """Of one person; what is no address is nobody."""
        if (known := self.people.get(id_.lower())) is not None:
            return known
        return f"{id_}@{self.domain}" if self.domain and "@" not in id_ else id_

    def rights_of(self, audience: Audience, owner: str | None) -> ItemRights:
        """Of an item whose folders, and itself, are shared with these."""
        if audience.closed:
            return ItemRights()
        users = audience.users | ({owner} if owner else set())
        return ItemRights(tuple(sorted({self.address_of(one) for one in users})), tuple(sorted(audience.groups)))


@dataclass(frozen=True, slots=True)
class Visit:
    """A folder to look at. `etag` is what the folder above says of it; `outside`: others change it, unseen by etags."""

    names: tuple[str, ...] = ()
    etag: str | None = None
    audience: Audience = Audience()
    outside: bool = False


class WebDavSource:
    """Ids are the server's own where it has some that survive a move (`oc:fileid`), else paths."""

    def __init__(self, client: DavClient, root: tuple[str, ...], place: str, rights: Nextcloud | None) -> None:
        """`root`: names of the folder on the server. `place`: tells this listing from any other."""
        self._client, self._root, self._place, self._rights = client, root, place, rights

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Always everything. Folders that are as they were are not asked again, where the server can tell.

        Shares change no etag, so with rights every folder is looked at each time.
        """
        before = snapshot_from(None if self._rights else cursor, self._place)
        now = Snapshot(self._place, before.listings + 1, before.distrusted)
        visits = deque([Visit()])
        seen, tells = 0, False
        while visits:
            batch = [visits.popleft() for _ in range(min(AT_ONCE, len(visits)))]
            asked = [one for one in batch if not self._is_unchanged(one, before, tells=tells)]
            for one in (one for one in batch if one not in asked):
                state = now.folders[_path_of(one.names)] = before.folders[_path_of(one.names)]
                visits.extend(Visit((*one.names, name), etag) for name, etag in state.folders.items())
                yield ListingPage(items=state.items)
            listings = await self._list(asked)
            for visit, listing in zip(asked, listings, strict=True):
                if isinstance(listing, CollectionUnlisted):
                    yield ListingPage(faults=[ListingFault(_path_of(visit.names), str(listing))])
                    continue
                if not visit.names:
                    tells = _tells_changes(listing.itself) and self._rights is None
                page, below = self._page_of(visit, listing)
                visits.extend(below)
                etag = _etag_of(listing.itself)
                if tells and etag and not page.faults and not _is_outside(visit, listing.itself):
                    folders = {one.names[-1]: one.etag or "" for one in below}
                    now.note(_path_of(visit.names), FolderState(etag, folders, tuple(page.items)), before)
                yield page
            seen += len(batch)
            if seen > MOST_FOLDERS:
                raise SourceRefused(f"it has more than {MOST_FOLDERS} folders", fix="Make a source of each part of it.")
        if self._rights is None:
            yield ListingPage(cursor=now.to_cursor())

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`. Bytes of another version than the listed one are refused, not given."""
        tag = item.version.rsplit("|", 2)[0]
        headers = {"If-Match": tag} if tag.startswith('"') and tag.isascii() and tag.isprintable() else {}
        async for block in self._client.read((*self._root, *_names_of(item)), headers, start, length):
            yield block

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    def _is_unchanged(self, visit: Visit, before: Snapshot, *, tells: bool) -> bool:
        if not (tells and before.may_skip and visit.etag):
            return False
        state = before.folders.get(_path_of(visit.names))
        return state is not None and state.etag == visit.etag

    async def _list(self, visits: list[Visit]) -> list[CollectionListing | CollectionUnlisted]:
        try:
            async with asyncio.TaskGroup() as tasks:
                started = [tasks.create_task(self._list_one(visit)) for visit in visits]
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        return [task.result() for task in started]

    async def _list_one(self, visit: Visit) -> CollectionListing | CollectionUnlisted:
        try:
            if len(visit.names) > DEEPEST:
                raise CollectionUnlisted(f"it lies more than {DEEPEST} folders deep")
            listing = await self._client.list_folder((*self._root, *visit.names))
            if not (listing.itself.known and listing.itself.is_folder):
                raise CollectionUnlisted("it is no folder")
        except CollectionUnlisted as error:
            if visit.names:
                return error
            if error.broken:
                raise SourceAway(f"the folder: {error}") from error
            raise SourceRefused(f"the folder: {error}") from error
        return listing

    def _page_of(self, visit: Visit, listing: CollectionListing) -> tuple[ListingPage, list[Visit]]:
        items: list[SourceItem] = []
        below: list[Visit] = []
        faults = [ListingFault(_path_of(visit.names), why) for why in listing.refused]
        audience = visit.audience if visit.names else _widen(visit.audience, listing.itself)
        outside = _is_outside(visit, listing.itself)
        for name, found in listing.entries.items():
            if housekeeping_kind(name):
                continue
            names = (*visit.names, name)
            inner = _widen(audience, found)
            if not found.known:
                faults.append(ListingFault(_path_of(names), f"the server does not tell what it is ({found.status})"))
            elif found.is_folder:
                below.append(Visit(names, _etag_of(found), inner, outside))
            elif (item := self._item_of(names, found, inner)) is None:
                faults.append(ListingFault(_path_of(names), "it has neither an etag nor a time"))
            else:
                items.append(item)
        return ListingPage(items=items, faults=faults), below

    def _item_of(self, names: tuple[str, ...], found: Response, audience: Audience) -> SourceItem | None:
        tag, when = _etag_of(found) or "", found.props.get("getlastmodified", "")
        if not (tag or when):
            return None
        told = found.props.get("getcontentlength", "")
        size = int(told) if told.isascii() and told.isdigit() and len(told) < 19 else None
        known = {one.partition(":")[0].upper() + ":": one for one in found.checksums}
        mark = next((known[name] for name in _HASHES if name in known), tag if tag.startswith('"') else "")
        rights = None if self._rights is None else self._rights.rights_of(audience, found.props.get("owner-id"))
        return SourceItem(
            _id_of(names, found),
            f"{tag}|{when}|{'' if size is None else size}",
            _path_of(names),
            size,
            f"{mark}-{size}" if mark and size else None,
            rights,
        )


def _etag_of(found: Response) -> str | None:
    """Quoted, as it is sent back; some servers list it without."""
    tag = found.props.get("getetag", "")
    return (tag if tag.startswith(('"', "W/")) else f'"{tag}"') if tag else None


def _tells_changes(root: Response) -> bool:
    """True for Nextcloud and ownCloud: a change below a folder changes its etag. Plain servers' mean what they like."""
    return bool(root.props.get("fileid") or root.props.get("id")) and _etag_of(root) is not None


def _is_outside(visit: Visit, itself: Response) -> bool:
    return visit.outside or "external" in itself.props.get("mount-type", "")


def _widen(above: Audience, found: Response) -> Audience:
    closed = above.closed or found.props.get("acl-enabled", "").lower() in ("1", "true")
    return Audience(above.users | frozenset(found.users), above.groups | frozenset(found.groups), closed)


def _path_of(names: tuple[str, ...]) -> str:
    return "/".join(names).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _id_of(names: tuple[str, ...], found: Response) -> str:
    raw = "/".join(names).encode("utf-8", "surrogateescape")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"{_BYTES}{quote_from_bytes(raw)}"
    if own := found.props.get("fileid") or found.props.get("id"):
        return f"{_FILE_ID}{own}"
    return f"./{text}" if text.startswith((_BYTES, _FILE_ID)) else text


def _names_of(item: SourceItem) -> tuple[str, ...]:
    if item.id.startswith(_BYTES):
        return segments_of(quote_from_bytes(unquote_to_bytes(item.id.removeprefix(_BYTES))))
    return tuple(item.path.split("/"))


def _login_of(secret: Mapping[str, str]) -> DavLogin:
    name, password, token = secret.get("username"), secret.get("password"), secret.get("token")
    if not secret:
        return DavLogin()
    if token and token.isascii() and token.isprintable():
        return DavLogin(headers={"Authorization": f"Bearer {token}"})
    if not name or password is None or ":" in name:
        raise SourceInvalid(
            "the credential has no username and password, and no token",
            fix="Store one of type custom with these fields: aos credentials add. Nextcloud gives app passwords.",
        )
    return DavLogin(httpx.BasicAuth(name.encode(), password.encode()))


def _trust_of(authority: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=authority or None)
    except (ssl.SSLError, ValueError) as error:
        raise SourceInvalid("the authority is no certificate in PEM") from error


def _people_of(text: str) -> dict[str, str]:
    pairs = [one.strip().partition("=") for one in text.replace("\n", ",").split(",") if one.strip()]
    if any(not (id_.strip() and "@" in mail) for id_, _, mail in pairs):
        raise SourceInvalid("people is no list such as anna=anna@corp.example, bob=bob@corp.example")
    return {id_.strip().lower(): mail.strip() for id_, _, mail in pairs}


async def _open_webdav(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    return await _open(opening, dependencies, None)


async def _open_nextcloud(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings = opening.settings
    people = _people_of(str(settings.get("people") or ""))
    return await _open(
        opening, dependencies, Nextcloud(people, str(settings.get("mail_domain") or "").strip().lstrip("@"))
    )


async def _open(
    opening: SourceOpening,
    dependencies: SourceDependencies,
    rights: Nextcloud | None,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Source:
    settings = opening.settings
    login, trust = _login_of(opening.secret), _trust_of(settings.get("authority"))
    url = str(settings["url"])
    await dependencies.check_endpoint(url)  # told at once; each connection is checked by itself
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise SourceInvalid("the url is more than that of a folder")
    try:
        root = segments_of(parts.path)
    except HrefRefused as error:
        raise SourceInvalid(f"the url has {error}") from error
    place = f"{opening.secret.get('username', '')} {url}"
    return WebDavSource(DavClient(dav_connections(dependencies, login, trust), url, pause), root, place, rights)


_SETTINGS: Final = {
    "url*": "URL of the folder, such as https://cloud.corp.example/remote.php/dav/files/aos/Contracts.",
    "authority": "Certificate of the private authority that signed the server's, in PEM; the system's where left out.",
}
KIND: Final = SourceKind(name="webdav", title="WebDAV", settings=_SETTINGS, open=_open_webdav, takes_credential=True)
NEXTCLOUD: Final = SourceKind(
    name="nextcloud",
    title="Nextcloud with its shares",
    settings={
        **_SETTINGS,
        "mail_domain": "What comes after the @ in the e-mail address of a person whose id has none.",
        "people": "Addresses of other ids: anna=anna.smith@corp.example, bob=bob@corp.example.",
    },
    open=_open_nextcloud,
    has_rights=True,
    takes_credential=True,
)
