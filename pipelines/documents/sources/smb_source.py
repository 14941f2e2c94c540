"""A network share (SMB 2 and 3) as a source: every file below a folder is an item, looked at in a sweep."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from smbprotocol import exceptions as smb
from smbprotocol.header import NtStatus

from cluster.basics.cleanup import async_cleanup_on_error
from cluster.basics.errors import Forbidden, Unavailable
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.smb_share import (
    CALLS_AT_ONCE,
    SMB_ERRORS,
    Encryption,
    FolderEntry,
    SharePlace,
    SmbShare,
)
from pipelines.documents.sources.source_port import (
    ItemGone,
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

_Result = TypeVar("_Result")
_Error = SourceRefused | SourceAway | ItemGone
_PORT: Final = 445
_CALL_SECONDS: Final = 150.0  # a call is two or three questions at most, each with a limit of its own
_DEPTH: Final = 64
_FOLDERS: Final = 1_000_000  # of one share; more is an error, never a silent cut
_UNREADABLE: Final = "unreadable:"  # before a name that no question can hold; `:` is in no name of a share

_GONE: Final = (
    smb.ObjectNameNotFound,
    smb.ObjectPathNotFound,
    smb.NoSuchFile,
    smb.DeletePending,
    smb.FileIsADirectory,
    smb.StatusNotADirectory,
)
_ELSEWHERE: Final = (smb.PathNotCovered, smb.StoppedOnSymlink)
_SIGN_IN: Final = {
    NtStatus.STATUS_LOGON_FAILURE: "the user name or the password is wrong",
    NtStatus.STATUS_WRONG_PASSWORD: "the password is wrong",
    NtStatus.STATUS_PASSWORD_EXPIRED: "the password has expired",
    0xC0000224: "the password has to be changed",
    0xC0000072: "the account is disabled",
    0xC0000193: "the account has expired",
    0xC0000234: "the account is locked",
    0xC000015B: "the account may not sign in over the network",
}
_LOCKED: Final = (NtStatus.STATUS_SHARING_VIOLATION, 0xC0000054)  # of the whole file; of the range that is read
_AWAY: Final = {
    NtStatus.STATUS_NETWORK_NAME_DELETED,
    NtStatus.STATUS_USER_SESSION_DELETED,
    NtStatus.STATUS_INSUFFICIENT_RESOURCES,
    NtStatus.STATUS_INSUFF_SERVER_RESOURCES,
    NtStatus.STATUS_SERVER_UNAVAILABLE,
    NtStatus.STATUS_REQUEST_NOT_ACCEPTED,
    NtStatus.STATUS_IO_TIMEOUT,
    NtStatus.STATUS_FILE_CLOSED,
    0xC00000CE,  # too many sessions
    0xC000035C,  # the session has expired
}


class SmbSource:
    """Ids are paths, as programs save by writing another file and renaming it; a file that was moved keeps its number,
    its time and its size.
    """

    def __init__(self, place: SharePlace, folder: str, check_host: Callable[[str, int], Awaitable[str]]) -> None:
        """`folder`: from the share on, with `/`; empty for all of it."""
        self._place, self._folder, self._check_host = place, folder, check_host
        self._pool = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="smb")
        self._lock = asyncio.Lock()
        self._share: SmbShare | None = None
        self._failed: SourceRefused | SourceAway | None = None

    async def connect(self) -> SmbShare:
        """The share, connected again where the connection has ended.

        Whatever fails once is not tried again: a wrong password that is tried with each item locks the account.
        """
        async with self._lock:
            if self._share is not None and not self._share.is_lost:
                return self._share
            if self._failed is not None:
                raise type(self._failed)(self._failed.detail, fix=self._failed.hint)
            try:
                self._share = await self._connect_anew()
            except (SourceRefused, SourceAway) as error:
                self._failed = error
                raise
            except Forbidden as error:
                if self._share is None:  # whoever opens it is told what of its settings is wrong
                    raise
                self._failed = SourceRefused(f"{self._shown()}: {error.detail}", fix=error.hint)
                raise self._failed from error
            return self._share

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Always everything: a share keeps no list of changes. One whose connection ends has no end."""
        share = await self.connect()
        walk = FolderWalk(share, self._folder)
        what = f"{self._shown()}, listing"
        while (page := await self._call(share, walk.step, partial(_classify_error, what=what))) is not None:
            if page.items or page.faults:
                yield page

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        if item.id.startswith(_UNREADABLE):
            raise SourceRefused(f"{item.path}: its name is no valid text", fix="Rename it.")
        share, classify = await self.connect(), partial(_classify_error, what=item.path)
        file = await self._call(share, partial(share.open_file, _place_of(self._folder, item.id)), classify)
        at, end = start, None if length is None else start + length
        try:
            while end is None or at < end:
                left = None if end is None else end - at
                block = await self._call(share, partial(share.read_block, file, at, left), classify)
                if not block:
                    return
                at += len(block)
                yield block
        finally:
            with suppress(SourceAway, SourceRefused, ItemGone):  # whatever it is, all has been read or told
                await self._call(share, partial(share.close, file), classify)

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """End the connection."""
        share, self._share = self._share, None
        if share is not None:
            await asyncio.to_thread(share.cut)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _shown(self) -> str:
        return f"//{self._place.host}/{self._place.share}"

    async def _connect_anew(self) -> SmbShare:
        try:
            address = await self._check_host(self._place.host, self._place.port)
        except Unavailable as error:
            raise SourceAway(error.detail) from error
        share = SmbShare(self._place, address)
        async with async_cleanup_on_error(partial(asyncio.to_thread, share.cut)):
            await self._call(share, share.connect, partial(_classify_refusal, what=self._shown()))
        return share

    async def _call(
        self, share: SmbShare, act: Callable[[], _Result], classify: Callable[[Exception], _Error]
    ) -> _Result:
        """In a thread of this source's own, so that a server that hangs keeps nobody else waiting."""
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._pool, act)
        except SMB_ERRORS as error:
            found = classify(error)
            if isinstance(found, SourceAway):  # the next call connects again
                await asyncio.to_thread(share.cut)
            raise found from error


@dataclass(frozen=True, slots=True)
class _Folder:
    """One to be listed: its path below the source's folder, and those that it lies in, itself among them.

    They are known by number and time: a volume within another may number its folders like that one.
    """

    path: str
    above: frozenset[tuple[int, str]] = frozenset()
    depth: int = 0


class FolderWalk:
    """The folders of a share one after the other; each step asks the server once or twice, and blocks."""

    def __init__(self, share: SmbShare, root: str) -> None:
        self._share, self._root = share, root
        self._todo = [_Folder("")]
        self._below: list[_Folder] = []
        self._entered = 0
        self._folder, self._opened = _Folder(""), None

    def step(self) -> ListingPage | None:
        """Some items; None at the end. Raises SourceRefused: there is no such folder, or more than anybody expects."""
        if self._opened is None:
            if not self._todo:
                return None
            self._folder, self._below = self._todo.pop(), []
        try:
            if self._opened is None:
                self._opened = self._share.open_folder(_place_of(self._root, self._folder.path))
            if entries := self._share.next_entries(self._opened):
                return self._page_of(entries)
            self._share.close(self._opened)
        except smb.SMBResponseException as error:
            self._opened = None
            return self._page_without(error)
        self._opened = None
        self._todo += sorted(self._below, key=lambda folder: folder.path, reverse=True)
        return ListingPage()

    def _page_of(self, entries: Sequence[FolderEntry]) -> ListingPage:
        items: list[SourceItem] = []
        faults: list[ListingFault] = []
        for entry in entries:
            if entry.name == "." and not self._folder.path:  # so that a link to the very top is seen to be one, too
                self._folder = _Folder("", _with(frozenset(), entry))
            if entry.name in (".", "..") or entry.leads_away or entry.is_hidden or housekeeping_kind(entry.name):
                continue
            path = f"{self._folder.path}/{entry.name}" if self._folder.path else entry.name
            if not _is_text(entry.name):
                shown = path.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
                if entry.is_folder:
                    faults.append(ListingFault(shown, "the name of this folder is no valid text"))
                else:
                    items.append(_item_of(entry, f"{_UNREADABLE}{shown}", shown))
            elif not entry.is_folder:
                items.append(_item_of(entry, path, path))
            elif (entry.number, entry.written) not in self._folder.above:  # a folder within itself has no end
                self._add_folder(_Folder(path, _with(self._folder.above, entry), self._folder.depth + 1))
        return ListingPage(items, faults=faults)

    def _add_folder(self, folder: _Folder) -> None:
        self._entered += 1
        if folder.depth > _DEPTH or self._entered > _FOLDERS:
            why = "is nested too deeply" if folder.depth > _DEPTH else f"is one of more than {_FOLDERS} folders"
            raise SourceRefused(f"{folder.path} {why}", fix="Make a source of each folder below it.")
        self._below.append(folder)

    def _page_without(self, error: smb.SMBResponseException) -> ListingPage:
        """Of a folder that cannot be listed: nobody knows what is in it."""
        path = self._folder.path
        found = _classify_error(error, what=path or self._root or "the share")
        if not path:
            gone = isinstance(found, ItemGone)
            raise SourceRefused(f"there is no folder {self._root}") if gone else found
        if isinstance(found, SourceAway):
            raise found
        if isinstance(found, ItemGone) or isinstance(error, _ELSEWHERE):  # what lies elsewhere is not of this share
            return ListingPage()
        why = "this folder cannot be entered" if isinstance(error, smb.AccessDenied) else found.detail
        return ListingPage(faults=[ListingFault(path, why)])


def _with(above: frozenset[tuple[int, str]], entry: FolderEntry) -> frozenset[tuple[int, str]]:
    return above if entry.number is None else above | {(entry.number, entry.written)}


def _item_of(entry: FolderEntry, id_: str, path: str) -> SourceItem:
    version = f"{entry.written}-{entry.size}"
    fingerprint = None if entry.number is None else f"{entry.number:x}-{version}"
    return SourceItem(id_, version, path, entry.size, fingerprint)


def _is_text(name: str) -> bool:
    """False for half a surrogate pair, which Windows lets into names, and for what no honest server lists."""
    return not any(one in "/\\\0" or "\ud800" <= one <= "\udfff" for one in name)


def _place_of(folder: str, path: str) -> str:
    return "\\".join(part for part in (*folder.split("/"), *path.split("/")) if part)


def _status_of(error: Exception) -> int | None:
    return int(error.status) if isinstance(error, smb.SMBResponseException) else None


def _name_of(status: int) -> str:
    return next((name for name, value in vars(NtStatus).items() if value == status), f"status 0x{status:08x}")


def _classify_error(error: Exception, what: str) -> _Error:
    """An error of a share that is connected, as ours."""
    status = _status_of(error)
    if status is None:
        return SourceAway(f"{what}: {str(error)[:300] or type(error).__name__}")
    if isinstance(error, _GONE):
        return ItemGone(what)
    if status in _AWAY:
        return SourceAway(f"{what}: {_name_of(status)}")
    if isinstance(error, _ELSEWHERE):
        return SourceRefused(f"{what} lies on another server or share", fix="Make a source of that place.")
    if status in _LOCKED:
        return SourceRefused(f"{what} is locked by another program", fix="The next sync tries it again.")
    return SourceRefused(f"{what}: {'access was refused' if isinstance(error, smb.AccessDenied) else _name_of(status)}")


def _classify_refusal(error: Exception, what: str) -> SourceRefused | SourceAway:
    """An error of connecting and signing in, as ours."""
    status = _status_of(error)
    if status in _SIGN_IN or isinstance(error, smb.SMBAuthenticationError):
        return SourceRefused(f"{what}: {_SIGN_IN.get(status or 0, 'the server cannot be signed in to')}")
    if isinstance(error, smb.BadNetworkName):
        return SourceRefused(f"{what}: there is no such share", fix="Name the server that holds it, not a namespace.")
    if status in _AWAY or not isinstance(error, smb.SMBException) or isinstance(error, smb.SMBConnectionClosed):
        return SourceAway(f"{what}: {str(error)[:300] or type(error).__name__}")
    if status is None or isinstance(found := _classify_error(error, what), ItemGone):
        return SourceRefused(f"{what}: {str(error)[:300]}")  # a guest, no encryption, a signature that is wrong
    return found


def _place(settings: Mapping[str, Any], secret: Mapping[str, str]) -> SharePlace:
    host, share = str(settings["host"]).strip().rstrip("."), str(settings["share"]).strip().strip("\\/")
    if not host or any(one in "\\/@ \0" for one in host):
        raise SourceInvalid("the host is no name or address", fix="Write for example files.corp.example.")
    if not share or any(one in '\\/:*?"<>|\0' for one in share):
        raise SourceInvalid("the share is no name of one", fix="Name folders below it with `folder`.")
    port = str(settings.get("port") or _PORT)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 2**16):
        raise SourceInvalid("the port is no number from 1 to 65535")
    wanted = settings.get("encrypt") or Encryption.OFFERED
    if wanted not in list(Encryption):
        raise SourceInvalid(f"encrypt cannot be {wanted!r}", fix=f"It is {', '.join(Encryption)}.")
    user, password = secret.get("username"), secret.get("password")
    if not (user and password):
        raise SourceInvalid(
            "a share needs a credential with username and password",
            fix="Store one of type custom with these two fields: aos credentials add.",
        )
    domain = str(settings.get("domain") or "")
    if domain and not any(one in user for one in "\\@"):
        user = f"{domain}\\{user}"
    return SharePlace(host, int(port), share, user, password, Encryption(wanted))


def _folder(settings: Mapping[str, Any]) -> str:
    parts = [part for part in str(settings.get("folder") or "").replace("\\", "/").split("/") if part]
    if any(part in (".", "..") or not _is_text(part) for part in parts):
        raise SourceInvalid("the folder is no path below the share")
    return "/".join(parts)


async def _open_smb(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    source = SmbSource(_place(opening.settings, opening.secret), _folder(opening.settings), dependencies.check_host)
    async with async_cleanup_on_error(source.close):
        await source.connect()
    return source


KIND: Final = SourceKind(
    name="smb",
    title="Network share (SMB)",
    settings={
        "host*": "The server.",
        "share*": "The share.",
        "folder": "Only files below this folder.",
        "port": "445 where none is named.",
        "domain": "Domain of the account, where its name has none.",
        "encrypt": "offered (where the server can; as if none is named), required, or off.",
    },
    open=_open_smb,
    takes_credential=True,
)
