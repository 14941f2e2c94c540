"""A folder of this installation as a source: every file is an item, looked at in a sweep, and stays in place."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote_from_bytes, unquote_to_bytes

from cluster.basics.errors import Forbidden, NotFound, TooLarge
from pipelines.documents.sources.files import LINKED, confine_path, iter_files, open_within, real_within, unlinked_path
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
_BYTES: Final = "bytes:"  # before a name that is no UTF-8, quoted
_SAVE: Final = "Put the folder back; or name the one that it leads to in the source's settings, if that is to be read."

Followed = TypeVar("Followed")


class FolderSource:
    """Ids are paths below the folder; a file that was moved keeps its inode, its size and its time."""

    def __init__(self, root: Path, settle_seconds: float = 0.0, clock: Callable[[], int] = time.time_ns) -> None:
        """`root` was confined by whoever opened it; a file that changed less than `settle_seconds` ago, by a clock in
        nanoseconds, is looked at a second time.
        """
        self._root, self._settle_seconds, self._clock = root, settle_seconds, clock

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Always everything: a folder keeps no list of changes. What is still being written comes last."""
        fresh: list[SourceItem] = []
        try:
            files = iter_files(self._root)
            while page := await asyncio.to_thread(lambda: list(islice(self._look(files), _PAGE))):
                fresh += [one for one in page if isinstance(one, SourceItem) and not one.settled]
                yield ListingPage(
                    items=[one for one in page if isinstance(one, SourceItem) and one.settled],
                    faults=[one for one in page if isinstance(one, ListingFault)],
                )
            if fresh:
                await asyncio.sleep(self._settle_seconds)
            for start in range(0, len(fresh), _PAGE):
                yield ListingPage(await asyncio.to_thread(self._look_again, fresh[start : start + _PAGE]))
        except NotFound as error:
            raise SourceRefused(error.detail, fix="Is its file system mounted?") from error
        except TooLarge as error:
            raise SourceRefused(error.detail, fix="Make a source of each folder below it.") from error

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        left = length
        try:
            file = await asyncio.to_thread(open_within, self._root, self._root / _path_of(item.id))
        except Forbidden as error:
            raise ItemGone(f"{item.path} leads out of the folder") from error
        except OSError as error:
            raise ItemGone(f"{item.path} cannot be read: {error.strerror}") from error
        with file:
            file.seek(start)
            while left is None or left > 0:
                block = await asyncio.to_thread(file.read, _BLOCK if left is None else min(_BLOCK, left))
                if not block:
                    return
                left = None if left is None else left - len(block)
                yield block

    def local_path(self, item: SourceItem) -> Path | None:
        """The file itself, by a path without links. Raises ItemGone: its link leads out of the folder by now.

        What was listed as no link keeps the place that it had then, whatever is there now: a document is found by it
        when its file has moved and a link was left behind, and whoever opens it follows none.
        """
        named = self._root / _path_of(item.id)
        if not _names_place(item.version):
            return named
        real = real_within(self._root, named)
        if real is None:
            raise ItemGone(f"{item.path} leads out of the folder")
        return real

    async def close(self) -> None:
        """Nothing is open."""

    def _look(self, files: Iterator[Path]) -> Iterator[SourceItem | ListingFault]:
        for path in files:
            below = path.relative_to(self._root) if path != self._root else Path(path.name)
            shown = os.fsencode(below).decode("utf-8", "backslashreplace")
            try:
                found = path.stat()
                if path.is_dir():  # it may not be entered: nobody knows what is in it
                    yield ListingFault(shown, "this folder cannot be entered")
                    continue
            except FileNotFoundError:  # it went just now, or is a link that leads nowhere: nothing is there
                continue
            except OSError as error:
                yield ListingFault(shown, error.strerror or "it cannot be looked at")
                continue
            version = _version_of(found, path)
            print_ = f"{found.st_dev}-{found.st_ino}-{version}"
            settled = not self._is_fresh(found)
            yield SourceItem(_id_of(below), version, shown, found.st_size, print_, settled=settled)

    def _is_fresh(self, found: os.stat_result) -> bool:
        """True where it may still be being written; also of a time that is yet to come, by another machine's clock."""
        if not self._settle_seconds:
            return False
        return max(found.st_mtime_ns, found.st_ctime_ns) > self._clock() - int(self._settle_seconds * 1e9)

    def _look_again(self, items: Sequence[SourceItem]) -> list[SourceItem]:
        """Settled where nothing was written meanwhile; one that went since is for the next listing to miss."""
        seen = []
        for item in items:
            try:
                path = self._root / _path_of(item.id)
                version = _version_of(path.stat(), path)
            except OSError:
                version = ""
            seen.append(replace(item, settled=version == item.version))
        return seen


def _version_of(found: os.stat_result, path: Path) -> str:
    """Of what a link leads to it names the place: led elsewhere it is another file, however alike that looks."""
    plain, real = f"{found.st_mtime_ns}-{found.st_size}", os.path.realpath(path)
    if real == os.fspath(path):
        return plain
    return f"{plain}-{hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest()}"


def _names_place(version: str) -> bool:
    """True for a version of what was listed behind a link; the time itself may begin with a minus."""
    return version[1:].count("-") == 2


def _id_of(path: Path) -> str:
    raw = os.fsencode(path)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"{_BYTES}{quote_from_bytes(raw)}"
    return f"./{text}" if text.startswith(_BYTES) else text


def _path_of(id_: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(id_.removeprefix(_BYTES)))) if id_.startswith(_BYTES) else Path(id_)


async def _open_folder(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    return FolderSource(await asyncio.to_thread(_root_of, opening.settings, dependencies), dependencies.settle_seconds)


def _root_of(settings: Mapping[str, Any], dependencies: SourceDependencies) -> Path:
    """The folder, confined. Raises SourceInvalid, SourceRefused."""
    root = registered_folder(settings["path"], dependencies)
    if not root.is_dir():
        raise SourceRefused(f"there is no folder {settings['path']}", fix="It must exist below NFS_BASE_PATH.")
    return root


def registered_folder(path: str, dependencies: SourceDependencies) -> Path:
    """A folder of a source that is kept, which is not followed anew: a link would lead to what other readers own.

    Raises SourceInvalid: it lies elsewhere; SourceRefused: a part of it is a link now, or it cannot be followed.
    """
    root = _followed(path, dependencies, unlinked_path)
    if root is None:
        raise SourceRefused(f"the folder {path} {LINKED}", fix=_SAVE)
    return root


def pinned_path(path: str, dependencies: SourceDependencies) -> str:
    """The path as a source keeps it, by the folder that its links lead to now. Raises SourceInvalid, SourceRefused."""
    if _followed(path, dependencies, unlinked_path) is not None:
        return path
    root = os.fspath(_followed(path, dependencies, confine_path))
    if not root.isprintable():
        raise SourceInvalid("the folder that it leads to has a name that cannot be kept", fix="Rename that folder.")
    return root


def _followed(path: str, dependencies: SourceDependencies, follow: Callable[[Path, str], Followed]) -> Followed:
    if dependencies.base is None:
        raise SourceInvalid("folders cannot be read here", fix="Set NFS_BASE_PATH to the folder that may be read.")
    try:
        return follow(dependencies.base, path)
    except Forbidden as error:
        raise SourceInvalid("the path lies outside NFS_BASE_PATH") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise SourceRefused("that path cannot be followed") from error


def _pin(settings: Mapping[str, Any], dependencies: SourceDependencies) -> Mapping[str, Any]:
    return {**settings, "path": pinned_path(settings["path"], dependencies)}


KIND: Final = SourceKind(
    name="folder",
    title="Folder",
    settings={"path*": "The folder, absolute or relative to NFS_BASE_PATH."},
    open=_open_folder,
    watch_root=_root_of,
    pin=_pin,
)
