"""Registers folders as sources: the same folder twice is the same source."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction
from pipelines.documents.sync.source_store import NewSource, SourceStore

FOLDER: Final = "folder"
"""The kind of a registered path's source."""


class RegisteredOtherwise(Conflict):
    """This path is registered with other options."""

    code = "registered_otherwise"
    fix = "Remove it first, its documents can stay: aos documents unregister-path PATH."


@dataclass(frozen=True, slots=True)
class Registration:
    """`fresh`: it was not registered before."""

    id: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class PathRegistrar:
    """`base` is the folder below which folders may be read."""

    store: SourceStore
    base: Path

    async def register(self, tx: Transaction, scope: Scope, new: NewSource, *, named: bool) -> Registration:
        """Add the source, unless there is one of the same folder. `named`: its name is among what must be the same.

        Raises RegisteredOtherwise; Conflict: another source has its name.
        """
        await self.store.lock_paths(tx, scope)
        path = str(new.settings["path"])
        for row in await self.store.folders(tx, scope, FOLDER):
            if relative_path(self.base, str(row["path"])) == path:
                if other := _differences(row, new, named=named):
                    raise RegisteredOtherwise(f"{path} is registered with other {', '.join(other)}")
                return Registration(row["id"], fresh=False)
        return Registration(await self.store.add(tx, scope, new), fresh=True)


def relative_path(base: Path, path: str) -> str:
    """A path as it is kept: relative to the base, without detours. It asks no file system."""
    return os.path.relpath(os.path.normpath(base.resolve() / path), base.resolve())


def _differences(row: Row, new: NewSource, *, named: bool) -> list[str]:
    same = {
        "name": not named or row["name"] == new.name,
        "readers": list(row["readers"]) == list(new.readers),
        "tags": list(row["tags"]) == list(new.tags),
        "agent_id": row["agent_id"] == new.agent_id,
        "every_minutes": row["every_minutes"] == new.every_minutes,
    }
    return [name for name, is_same in same.items() if not is_same]
