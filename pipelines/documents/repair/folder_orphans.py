"""Orphans in folders: staged files, files that are written half, and copies of what is in a bucket."""

import asyncio
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pipelines.documents.repair.orphan import Orphan, OrphanKind
from pipelines.documents.store.blobs import PARTS
from pipelines.documents.store.file_cache import FileCache

_UNFINISHED: Final = re.compile(r"\.[0-9a-f]{32}\.part")  # as `write_whole` names what it has not finished


class StagedFolders:
    """`<root>/<tenant>/<workspace>/<below>/<name>`, each of one worker."""

    kind = OrphanKind.STAGED_FOLDER

    def __init__(self, root: Path, below: str = "staging") -> None:
        """`below` is what stands between the workspace and the folders; nothing in a node's own staging."""
        self._root, self._pattern = root, "/".join(part for part in ("*", "*", below, "*") if part)

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """Folders in which no file was written since a moment."""
        return await asyncio.to_thread(
            lambda: [one for one in map(self._orphan, self._folders()) if one.since < before]
        )

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """The folder, unless something came to it meanwhile."""
        return await asyncio.to_thread(self._remove, Path(orphan.place), before)

    def _folders(self) -> list[Path]:
        return sorted(one for one in self._root.glob(self._pattern) if one.relative_to(self._root).parts[0] != PARTS)

    def _orphan(self, folder: Path) -> Orphan:
        size, newest = folder_facts(folder)
        return Orphan(self.kind, str(folder), size, newest)

    def _remove(self, folder: Path, before: datetime) -> bool:
        if not folder.exists() or self._orphan(folder).since >= before:
            return False
        shutil.rmtree(folder)
        return True


class UnfinishedFiles:
    """Files below a root that somebody began and did not finish; those in staging folders go with these."""

    kind = OrphanKind.UNFINISHED_FILE

    def __init__(self, root: Path) -> None:
        """`root` is the blob store's."""
        self._root = root

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """Those to which nothing was written since a moment."""
        return await asyncio.to_thread(lambda: [one for one in self._files() if one.since < before])

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """The file, unless it is written on."""
        return await asyncio.to_thread(_remove_old, Path(orphan.place), before)

    def _files(self) -> Iterator[Orphan]:
        for folder, inside, names in os.walk(self._root):
            inside[:] = sorted(name for name in inside if name != "staging")
            for path in (Path(folder, name) for name in sorted(names) if _UNFINISHED.search(name)):
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    yield Orphan(self.kind, str(path), facts.st_size, _moment(facts.st_mtime))


class CachedCopies:
    """Copies on this machine that nobody has used for an hour, and what killed processes have left of others."""

    kind = OrphanKind.CACHED_COPY

    def __init__(self, cache: FileCache, now: datetime) -> None:
        """`now` is when it is looked."""
        self._cache, self._now = cache, now

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """By the cache's own rule."""
        return await asyncio.to_thread(self._found)

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """The file, unless it was used meanwhile; whoever has it open keeps it."""
        return await asyncio.to_thread(self._remove, Path(orphan.place))

    def _remove(self, path: Path) -> bool:
        if path not in self._cache.leftovers(self._now.timestamp()):
            return False
        path.unlink(missing_ok=True)
        return True

    def _found(self) -> list[Orphan]:
        found = []
        for path in self._cache.leftovers(self._now.timestamp()):
            with suppress(FileNotFoundError):
                facts = path.stat()
                found.append(Orphan(self.kind, str(path), facts.st_size, _moment(facts.st_atime)))
        return found


def _remove_old(path: Path, before: datetime) -> bool:
    with suppress(FileNotFoundError):
        if _moment(path.stat().st_mtime) < before:
            path.unlink()
            return True
    return False


def folder_facts(folder: Path) -> tuple[int, datetime]:
    """The bytes of a folder's files, and when the last of all was written."""
    size, newest = 0, 0.0
    with suppress(FileNotFoundError):
        newest = folder.stat().st_mtime
    for inner, _, names in os.walk(folder):
        for path in (Path(inner, name) for name in names):
            with suppress(FileNotFoundError):
                facts = path.stat()
                size, newest = size + facts.st_size, max(newest, facts.st_mtime)
    return size, _moment(newest)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
