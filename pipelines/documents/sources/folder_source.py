"""A folder of this installation as a source: every file is an item, looked at in a sweep, and stays in place."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from cluster.basics.errors import Forbidden, NotFound, TooLarge
from pipelines.documents.sources.files import confine_path, iter_files
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingFault,
    ListingPage,
    Source,
    SourceGround,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_PAGE: Final = 1000
_BLOCK: Final = 1 << 20
_BYTES: Final = "bytes:"  # before a name that is no UTF-8, quoted


class FolderSource:
    """Ids are paths below the folder; a file that was moved keeps its inode, its size and its time."""

    def __init__(self, root: Path) -> None:
        """`root` was confined by whoever opened it."""
        self._root = root

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Always everything: a folder keeps no list of changes."""
        try:
            files = iter_files(self._root)
            while page := await asyncio.to_thread(lambda: list(islice(self._look(files), _PAGE))):
                yield ListingPage(
                    items=[one for one in page if isinstance(one, SourceItem)],
                    faults=[one for one in page if isinstance(one, ListingFault)],
                )
        except NotFound as error:
            raise SourceRefused(error.detail, fix="Is its file system mounted?") from error
        except TooLarge as error:
            raise SourceRefused(error.detail, fix="Make a source of each folder below it.") from error

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        left = length
        try:
            file = await asyncio.to_thread((self._root / _path_of(item.id)).open, "rb")
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
        """The file itself."""
        return self._root / _path_of(item.id)

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
            version = f"{found.st_mtime_ns}-{found.st_size}"
            yield SourceItem(_id_of(below), version, shown, found.st_size, f"{found.st_dev}-{found.st_ino}-{version}")


def _id_of(path: Path) -> str:
    raw = os.fsencode(path)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"{_BYTES}{quote_from_bytes(raw)}"
    return f"./{text}" if text.startswith(_BYTES) else text


def _path_of(id_: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(id_.removeprefix(_BYTES)))) if id_.startswith(_BYTES) else Path(id_)


async def _open_folder(opening: SourceOpening, ground: SourceGround) -> Source:
    if ground.base is None:
        raise SourceInvalid("folders cannot be read here", fix="Set NFS_BASE_PATH to the folder that may be read.")
    try:
        root = await asyncio.to_thread(confine_path, ground.base, opening.settings["path"])
        is_folder = await asyncio.to_thread(root.is_dir)
    except Forbidden as error:
        raise SourceInvalid("the path lies outside NFS_BASE_PATH") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise SourceRefused("that path cannot be followed") from error
    if not is_folder:
        raise SourceRefused(f"there is no folder {opening.settings['path']}", fix="It must exist below NFS_BASE_PATH.")
    return FolderSource(root)


KIND: Final = SourceKind(
    name="folder",
    title="Folder",
    settings={"path*": "The folder, absolute or relative to NFS_BASE_PATH."},
    open=_open_folder,
)
