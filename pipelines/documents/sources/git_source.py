"""A Git repository as a source: every file of one branch's newest commit is an item; history does not matter."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_from_bytes, urlsplit

from dulwich.objects import Commit, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from cluster.basics.errors import Forbidden
from pipelines.documents.sources.checked_http import check_host_of
from pipelines.documents.sources.files import confine_path
from pipelines.documents.sources.folder_source import pinned_path, registered_folder
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.repositories.git_fetch import STORE_ERRORS, GitMirror, GitRemote
from pipelines.documents.sources.repositories.git_lfs import LfsServer, lfs_pointer
from pipelines.documents.sources.source_cache import CachePlace, cache_place
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingFault,
    ListingPage,
    Source,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_PAGE: Final = 1000
_BLOCK: Final = 1 << 20
_DEPTH: Final = 64
_ENTRIES: Final = 2_000_000  # trees may name one tree many times: few bytes, and no end of paths
_TREE, _LINK, _SUBMODULE, _KIND = 0o040000, 0o120000, 0o160000, 0o170000
_EMPTY: Final = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_BYTES: Final = "bytes:"  # before a path that is no UTF-8, quoted


@contextmanager
def _classified() -> Iterator[None]:
    """A store that is damaged, as ours. Raises SourceRefused."""
    try:
        yield
    except STORE_ERRORS as error:
        raise SourceRefused(f"the repository is damaged: {str(error)[:200] or type(error).__name__}") from error


@dataclass(frozen=True, slots=True)
class TreeFilter:
    """Which paths of a tree are read; patterns are of a shell, whose `*` also goes through folders."""

    folder: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, path: str) -> bool:
        """True for a file that is read."""
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        if self.include and not _matches(path, self.include):
            return False
        return not _matches(path, self.exclude) and not any(housekeeping_kind(one) for one in path.split("/"))

    def enters(self, path: str) -> bool:
        """True for a folder that may hold such a file."""
        inside = path == self.folder or path.startswith(f"{self.folder}/") or self.folder.startswith(f"{path}/")
        return (not self.folder or inside) and housekeeping_kind(path.rpartition("/")[2]) is None


class LocalRepository:
    """One below the folder that may be read: looked at where it lies."""

    def __init__(self, folder: Path, branch: str | None) -> None:
        """`folder` was confined by whoever opened it."""
        self._folder, self._branch = folder, branch

    def ask(self) -> None:
        """Raises SourceRefused: it is no repository, or has no such branch."""
        self.fetch()

    def fetch(self) -> Any:
        """Its newest commit, or None."""
        with _classified(), self.opened() as repo:
            name = Ref(b"HEAD" if self._branch is None else b"refs/heads/" + self._branch.encode())
            if name in repo.refs:
                return repo.refs[name]
            if self._branch is not None and repo.refs.as_dict():
                raise SourceRefused(f"there is no branch {self._branch}", fix="Name one that there is, or none.")
            return None

    def opened(self) -> Repo:
        """For reading."""
        try:
            return Repo(str(self._folder))
        except STORE_ERRORS as error:
            raise SourceRefused("there is no Git repository at this path") from error


class MirroredRepository(GitMirror):
    """One that is fetched."""

    def __init__(self, remote: GitRemote, place: CachePlace) -> None:
        """See `GitMirror`."""
        super().__init__(remote, place)
        self._at = place

    def opened(self) -> Repo:
        """For reading; KeyError and the like where nothing was fetched yet."""
        with self._at.locked(alone=False) as folder:
            return Repo(str(folder))


class GitSource:
    """Ids are paths. A file that was moved has the same blob, and so is the same document."""

    def __init__(
        self, repository: LocalRepository | MirroredRepository, filter_: TreeFilter, lfs: LfsServer | None
    ) -> None:
        """`lfs`: None where there is no server to ask."""
        self._repository, self._filter, self._lfs = repository, filter_, lfs
        self._lock, self._fetched = threading.Lock(), False
        self._repo: Repo | None = None
        self._head: Any = None

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """The whole tree: what it does not hold is gone, also after a push that rewrote history."""
        await asyncio.to_thread(self._repository.ask)
        yield ListingPage(cursor=cursor)  # it answers, and lets us in
        items, notes = await asyncio.to_thread(self._list_tree)
        commit = None if self._head is None else self._head.decode()
        yield ListingPage(notes=notes, cursor=commit)
        for start in range(0, len(items), _PAGE):
            yield ListingPage(items[start : start + _PAGE], cursor=commit)

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        blob = await asyncio.to_thread(self._blob, item)
        if (pointer := lfs_pointer(blob)) is None:
            end = len(blob) if length is None else min(len(blob), start + length)
            for place in range(start, end, _BLOCK):
                yield blob[place : min(end, place + _BLOCK)]
            return
        if self._lfs is None:
            raise SourceRefused(f"{item.path}: its content is in LFS, and not in this repository")
        place = 0
        async for block in self._lfs.read(pointer, item.path):
            end = len(block) if length is None else max(0, min(len(block), start + length - place))
            if part := block[max(0, start - place) : end]:
                yield part
            place += len(block)

    def local_path(self, item: SourceItem) -> None:
        """None: it is packed."""

    async def close(self) -> None:
        """Close the store."""
        with self._lock:
            self._shut()
        if isinstance(self._repository, MirroredRepository):
            await asyncio.to_thread(self._repository.close)

    def _shut(self) -> None:
        if self._repo is not None:
            with suppress(*STORE_ERRORS):  # of a pack that was read in vain, parts may still be held
                self._repo.close()
            self._repo = None

    def _fetch(self) -> None:
        self._shut()
        self._head, self._fetched = self._repository.fetch(), True
        with _classified():
            self._repo = None if self._head is None else self._repository.opened()

    def _list_tree(self) -> tuple[list[SourceItem], list[ListingFault]]:
        with self._lock:
            self._fetch()
            if self._repo is None:
                return [], []
            items: list[SourceItem] = []
            notes: list[ListingFault] = []
            with _classified():
                for found in self._walk(self._repo):
                    if isinstance(found, SourceItem):
                        items.append(found)
                    else:
                        notes.append(found)
            return items, notes

    def _walk(self, repo: Repo) -> Iterator[SourceItem | ListingFault]:
        commit = repo[self._head]
        if not isinstance(commit, Commit):
            raise ValueError("the branch names no commit")
        todo, seen = [(b"", commit.tree, 0)], 0
        while todo:
            prefix, sha, depth = todo.pop()
            tree = repo[sha]
            if not isinstance(tree, Tree):
                raise ValueError("what should be a folder is none")
            for entry in tree.items():
                if (seen := seen + 1) > _ENTRIES or depth > _DEPTH:
                    raise SourceRefused("its tree has too many files, or is nested too deeply")
                raw = prefix + entry.path
                shown, kind = raw.decode("utf-8", "backslashreplace"), entry.mode & _KIND
                if kind == _TREE:
                    if self._filter.enters(shown):
                        todo.append((raw + b"/", entry.sha, depth + 1))
                elif not self._filter.takes(shown):
                    continue
                elif kind in (_LINK, _SUBMODULE):
                    what = "a symbolic link" if kind == _LINK else "a submodule"
                    yield ListingFault(shown, f"{what} is not followed")
                else:
                    version = entry.sha.decode()
                    moved = None if version == _EMPTY else version
                    yield SourceItem(_id_of(raw), version, shown, None, moved)

    def _blob(self, item: SourceItem) -> bytes:
        """Its bytes as they were listed, whatever has been pushed since. Raises ItemGone, SourceRefused."""
        with self._lock:
            if self._repo is None and not self._fetched:
                try:
                    self._repo = self._repository.opened()
                except STORE_ERRORS:
                    self._repo = None  # nothing is mirrored here: it is fetched
            if self._repo is not None and (found := _raw_blob(self._repo, item.version)) is not None:
                return found
            if not self._fetched:
                self._fetch()
            if self._repo is not None and (found := _raw_blob(self._repo, item.version)) is not None:
                return found
            if self._repo is None or not self._is_named(self._repo, item):
                raise ItemGone(item.path)
            raise SourceRefused(f"{item.path}: the server leaves it out: it is too large")

    def _is_named(self, repo: Repo, item: SourceItem) -> bool:
        """True where the newest tree still has this blob at this path."""
        with _classified():
            return any(isinstance(one, SourceItem) and _same(one, item) for one in self._walk(repo))


def _same(one: SourceItem, item: SourceItem) -> bool:
    return (one.id, one.version) == (item.id, item.version)


def _raw_blob(repo: Repo, sha: str) -> bytes | None:
    try:
        return repo.object_store.get_raw(sha.encode())[1]  # type: ignore[arg-type]
    except STORE_ERRORS:
        return None


def _id_of(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"{_BYTES}{quote_from_bytes(raw)}"
    return f"./{text}" if text.startswith(_BYTES) else text


def _matches(path: str, patterns: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path, one) or fnmatchcase(name, one) for one in patterns)


def _patterns(text: str | None) -> tuple[str, ...]:
    return tuple(one for one in (text or "").replace(",", " ").split() if one)


async def _open_git(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings, secret = opening.settings, opening.secret
    url, branch = settings["url"].strip(), settings.get("branch") or None
    folder = (settings.get("folder") or "").strip("/")
    filter_ = TreeFilter(folder, _patterns(settings.get("include")), _patterns(settings.get("exclude")))
    if "://" not in url:
        return GitSource(await asyncio.to_thread(_local, url, branch, dependencies), filter_, None)
    token = secret.get("token") or secret.get("password")
    if secret and not token:
        raise SourceInvalid(
            "the credential has no token",
            fix="Store one of type custom with token, and username where the server wants one: aos credentials add.",
        )
    if urlsplit(url).query or urlsplit(url).fragment:
        raise SourceInvalid("the repository's URL has a query", fix="Give the URL that git clone takes.")
    auth = (secret.get("username") or "git", token) if token else None
    host = await check_host_of(url, dependencies)
    remote = GitRemote(url, host, branch, dependencies.bounds.git_pack_bytes, auth)
    place = cache_place(dependencies, opening.place, "git", url, branch or "")
    return GitSource(MirroredRepository(remote, place), filter_, LfsServer(url, dependencies, auth))


def _local(path: str, branch: str | None, dependencies: SourceDependencies) -> LocalRepository:
    """Raises SourceInvalid: it lies elsewhere, or leads there; SourceRefused: it cannot be followed."""
    folder = registered_folder(path, dependencies)
    try:
        inner = folder / ".git" if (folder / ".git").exists() else folder
        for below in ("", "HEAD", "refs", "packed-refs", "objects", "objects/pack", "objects/info"):
            confine_path(folder, str(inner / below))
        # Files in which a repository says that parts of it lie elsewhere.
        if inner.is_file() or any((inner / one).exists() for one in ("commondir", "objects/info/alternates")):
            raise SourceInvalid("the repository keeps parts of itself elsewhere", fix="Give a bare clone of its own.")
    except Forbidden as error:
        raise SourceInvalid("a part of the repository lies elsewhere, behind a link") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise SourceRefused("that path cannot be followed") from error
    return LocalRepository(folder, branch)


def _pin(settings: Mapping[str, Any], dependencies: SourceDependencies) -> Mapping[str, Any]:
    url = settings["url"].strip()
    return settings if "://" in url else {**settings, "url": pinned_path(url, dependencies)}


KIND: Final = SourceKind(
    name="git",
    title="Git repository",
    settings={
        "url*": "URL that git clone takes (https), or a path below NFS_BASE_PATH.",
        "branch": "The branch; where none is named, the one that HEAD names.",
        "folder": "Only files below this folder.",
        "include": "Only files of these patterns, such as *.md docs/*.",
        "exclude": "No files of these patterns.",
    },
    open=_open_git,
    takes_credential=True,
    pin=_pin,
)
