"""Readers of folders: who may see what a scan finds there, the nearest folder that has some deciding."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Row, SqlStore, Transaction

BATCH = 500  # documents in one transaction: whoever ingests waits no longer than for these


@dataclass(frozen=True, slots=True)
class FolderRule:
    """Who may see what lies in a folder, nobody named for whom the folder around it says.

    Attributes:
        folder: as it is kept and shown.
        prefixes: what origins of its documents begin with, its own name first.
    """

    folder: str
    prefixes: Sequence[str]
    readers: Sequence[str]


class FolderReaders(SqlStore, queries="folder_readers.sql"):
    """One workspace's; whoever changes them acts for all readers (`Scope.of_worker`)."""

    async def all_of(self, scope: Scope) -> list[Row]:
        """Folders with their readers, and how many documents have them from there."""
        return await self._db.read(scope, self._sql["all"], workspace=scope.workspace)

    async def rule(self, scope: Scope, folder: Path, readers: Sequence[str]) -> FolderRule:
        """A rule that is not kept yet, for the folder as it is named, for where that leads, and for what leads there.

        Links are those that exist now and have documents behind them, and those of the rule as it was kept before.
        """
        named = {"workspace": scope.workspace, "folder": printable_folder(folder)}
        known = await self._db.read(scope, self._sql["origin_folders"], workspace=scope.workspace)
        linked = await asyncio.to_thread(_linked_folders, folder, [row["folder"] for row in known])
        kept = [
            prefix for row in await self._db.read(scope, self._sql["prefixes"], **named) for prefix in row["prefixes"]
        ]
        found = [prefix for one in (folder, *linked) for prefix in origin_prefixes(one)]
        return FolderRule(named["folder"], list(dict.fromkeys([*found, *kept])), list(readers))

    async def count(self, scope: Scope, rule: FolderRule) -> int:
        """How many documents a rule would change; nothing is locked."""
        values = {"folder": rule.folder, "prefixes": rule.prefixes, "readers": rule.readers}
        (row,) = await self._db.read(scope, self._sql["count"], workspace=scope.workspace, **values)
        return int(row["documents"])

    async def keep(self, tx: Transaction, scope: Scope, rule: FolderRule) -> None:
        """The rule holds for what comes from now on; `apply` is for what is there."""
        await lock_corpus(tx, scope)
        named = {"workspace": scope.workspace, "folder": rule.folder}
        if rule.readers:
            values = {"tenant": scope.tenant, "prefixes": rule.prefixes, "readers": rule.readers}
            await tx.run(self._sql["put"], **named, **values)
        else:
            await tx.run(self._sql["drop"], **named)

    async def apply(self, scope: Scope, rule: FolderRule) -> int:
        """Let the documents that are there follow a rule that is kept; how many changed. Cut off, it may begin again.

        What has readers by hand keeps them.
        """
        after: str | None = ""
        total = 0
        while after is not None:
            async with self._db.transaction(scope) as tx:
                await lock_corpus(tx, scope)
                values = {"workspace": scope.workspace, "prefixes": rule.prefixes, "after": after, "most": BATCH}
                row = await tx.only(self._sql["apply"], **values)
                if row["changed"]:
                    await mark_corpus_changed(tx, scope)
            after = row["last"]
            total += row["changed"]
        return total


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


def _linked_folders(folder: Path, origins: Iterable[str]) -> list[Path]:
    """Where a folder leads, and the outermost of the folders of origins that lead into that. Asks the file system."""
    real = folder.resolve()
    found = {real}
    for origin in origins:
        one = _folder_of(origin)
        if not one.is_relative_to(real) and _leads_into(one, real):
            while _leads_into(one.parent, real):
                one = one.parent
            found.add(one)
    return sorted(found - {folder})


def _folder_of(origin: str) -> Path:
    kind, _, rest = origin.partition(":")
    return Path(os.fsdecode(unquote_to_bytes(rest)) if kind == "fileb" else rest)


def _leads_into(folder: Path, real: Path) -> bool:
    try:
        return folder.resolve().is_relative_to(real)
    except (OSError, RuntimeError):  # RuntimeError: links that lead in a circle
        return False
