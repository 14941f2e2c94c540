"""Readers of folders: who may see what a scan finds there, the nearest folder that has some deciding."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote_from_bytes

from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Row, SqlStore, Transaction


class FolderReaders(SqlStore, queries="folder_readers.sql"):
    """One workspace's; whoever changes them acts for all readers (`Scope.of_worker`)."""

    async def all_of(self, scope: Scope) -> list[Row]:
        """Folders with their readers, and how many documents have them from there."""
        return await self._db.read(scope, self._sql["all"], workspace=scope.workspace)

    async def change(self, tx: Transaction, scope: Scope, folder: Path, readers: Sequence[str]) -> int:
        """Who may see what lies in a folder, now and later; how many documents that changes.

        With no readers the folder has none of its own: its documents have those of the folder around it, or else the
        whole workspace sees them. What has readers by hand keeps them.
        """
        await lock_corpus(tx, scope)
        named = {"workspace": scope.workspace, "folder": printable_folder(folder)}
        if readers:
            rule = {"tenant": scope.tenant, "prefixes": origin_prefixes(folder), "readers": list(readers)}
            await tx.run(self._sql["put"], **named, **rule)
        else:
            await tx.run(self._sql["drop"], **named)
        changed = await tx.run(self._sql["apply"], workspace=scope.workspace, prefixes=origin_prefixes(folder))
        if changed:
            await mark_corpus_changed(tx, scope)
        return changed


def printable_folder(folder: Path) -> str:
    """A folder's name as it is kept and shown; one that is no UTF-8 with escapes."""
    return os.fsencode(folder).decode("utf-8", "backslashreplace")


def origin_prefixes(folder: Path) -> list[str]:
    """What the origins of documents in a folder begin with, see `location_of`."""
    raw = os.fsencode(folder).rstrip(b"/") + b"/"
    prefixes = [f"fileb:{quote_from_bytes(raw)}"]
    try:
        return [f"file:{raw.decode()}", *prefixes]
    except UnicodeDecodeError:
        return prefixes
