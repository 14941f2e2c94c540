"""Personal data of runs: placeholders in their rows, the values sealed beside, together only where a run goes on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID, uuid5

from cluster.basics.ids import scoped_id
from cluster.basics.scope import Scope
from cluster.state.canonical_json import normalize_json
from cluster.state.db.postgres import Database, SqlStore, Transaction
from cluster.state.vault import Vault, secret_place
from cluster.state.work.placeholders import FindValues, PlaceholderMap

TABLE = "run_secrets"
LONG = 20_000  # characters of JSON; what is longer is looked through in a thread

# Whether the runs of a workspace that begin now are masked.
MaskingPolicy = Callable[[Transaction, Scope], Awaitable[bool]]


class RunSeals(SqlStore, queries="run_seals.sql"):
    """Hides what is written of a run, and restores it for whoever carries it on or walks it again."""

    def __init__(self, database: Database, vault: Vault, find: FindValues, policy: MaskingPolicy) -> None:
        """`find` tells personal data in a text; `policy` is asked once, when a run begins: it stays as it began."""
        super().__init__(database)
        self._vault, self._find, self._policy = vault, find, policy

    async def begin(self, tx: Transaction, scope: Scope, input: Any) -> tuple[Any, PlaceholderMap | None]:
        """The input of a new run as it is stored, and its placeholders; None where its workspace masks no runs."""
        if not await self._policy(tx, scope):
            return input, None
        made = PlaceholderMap(self._find, {})
        return await _hide_values(made, input), made

    async def keep(self, tx: Transaction, scope: Scope, run: str, made: PlaceholderMap) -> None:
        """Seal what stands for the placeholders that are new."""
        if not made.fresh:
            return
        ids = [uuid5(UUID(run), label) for label in made.fresh]
        envelopes = [
            self._vault.seal(json.dumps(value), secret_place(scope.tenant, scope.workspace, TABLE, str(id_)))
            for id_, value in zip(ids, made.fresh.values(), strict=True)
        ]
        values = {"ids": ids, "labels": list(made.fresh), "envelopes": envelopes}
        await tx.run(self._sql["keep"], **scoped_id(scope, "run", run), **values)

    async def hide(self, tx: Transaction, scope: Scope, run: str, value: Any) -> Any:
        """A JSON value as it is stored with a run that exists; unchanged where the run is not masked."""
        made = await self._placeholders(tx, scope, run)
        if made is None:
            return value
        hidden = await _hide_values(made, value)
        await self.keep(tx, scope, run, made)
        return hidden

    async def restore(self, tx: Transaction, scope: Scope, run: str, value: Any) -> Any:
        """A stored JSON value as it was. Raises UnopenableSecret where the vault's key is gone."""
        made = await self._placeholders(tx, scope, run)
        return value if made is None else normalize_json(made.restore(value))

    async def is_masked(self, tx: Transaction, scope: Scope, run: str) -> bool:
        """Whether placeholders in a run's rows stand for something."""
        rows = await tx.all(self._sql["known"], **scoped_id(scope, "run", run))
        return bool(rows) and bool(rows[0]["masked"])

    async def values(self, tx: Transaction, scope: Scope, run: str) -> Mapping[str, Any]:
        """What stands for each placeholder of a run. Raises as `restore`."""
        rows = await tx.all(self._sql["known"], **scoped_id(scope, "run", run))
        return {row["label"]: self._open(scope, row) for row in rows if row["label"] is not None}

    async def _placeholders(self, tx: Transaction, scope: Scope, run: str) -> PlaceholderMap | None:
        rows = await tx.all(self._sql["known"], **scoped_id(scope, "run", run))
        if not rows or not rows[0]["masked"]:
            return None
        known = {row["label"]: self._open(scope, row) for row in rows if row["label"] is not None}
        return PlaceholderMap(self._find, known)

    def _open(self, scope: Scope, row: Mapping[str, Any]) -> Any:
        place = secret_place(scope.tenant, scope.workspace, TABLE, str(row["id"]))
        return json.loads(self._vault.open(bytes(row["sealed"]), place))


async def _hide_values(made: PlaceholderMap, value: Any) -> Any:
    value = normalize_json(value)
    short = len(json.dumps(value)) <= LONG
    return normalize_json(made.hide(value) if short else await asyncio.to_thread(made.hide, value))
