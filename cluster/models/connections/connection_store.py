"""The connections of a workspace: rows with sealed keys, those of the file, and the one that LLM_BASE_URL means."""

from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any
from uuid import uuid4

from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope
from cluster.models.connections.configured import ConfiguredConnections
from cluster.models.connections.endpoint_connection import (
    AuthMode,
    ConnectionId,
    ModelConnection,
    Provider,
    check_auth,
    checked_url,
)
from cluster.models.model_errors import Unusable
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.vault import UnopenableSecret, Vault, secret_place


@dataclass(frozen=True, slots=True)
class KeepKey:
    """The key stays what it is."""


KEEP = KeepKey()
_KEY_PLACE = attrgetter("base_url", "provider", "auth_mode", "auth_header")  # where a key is sent, and how


class ConnectionStore:
    """Stores and finds connections. Keys go in and come out for a call only; no method returns one to people."""

    def __init__(self, database: Database, vault: Vault, declared: ConfiguredConnections) -> None:
        """`declared` are those that no row describes: every workspace has them, nobody can change them here."""
        self._db, self._vault, self._declared = database, vault, declared
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def known(self, scope: Scope) -> list[ModelConnection]:
        """Every connection, enabled or not: rows by name, then the file's, then the settings' own."""
        return (await self.offered(scope))[0]

    async def get(self, scope: Scope, ref: str) -> ModelConnection:
        """The connection with this id, else with this name. Raises NotFound: there is none."""
        known = await self.known(scope)
        found = [c for c in known if c.id == ref] or [c for c in known if c.name == ref]
        if not found:
            raise NotFound(f"connection {ref}")
        return found[0]

    async def default(self, scope: Scope) -> ConnectionId | None:
        """The id of the connection that is asked where an agent names none; see `offered`."""
        return (await self.offered(scope))[1]

    async def offered(self, scope: Scope) -> tuple[list[ModelConnection], ConnectionId | None]:
        """All that are known, and which is the default, at once: every call of a model asks for both.

        The default is `system_settings.default_llm_connection_id` (the workspace's own first), else what the file or
        LLM_BASE_URL says, else the only enabled one; None where nothing is configured, or where nobody said which of
        several.
        """
        rows = await self._db.read(scope, self._sql["all"], **scope.keys)
        stored = [_read_connection(row) for row in rows if row["id"] is not None]
        known = [*stored, *self._declared.connections]
        chosen = rows[0]["chosen"]
        for connection in known:
            if chosen in (connection.id, connection.name):
                return known, connection.id
        if self._declared.default is not None:
            return known, self._declared.default
        usable = [connection for connection in known if connection.enabled]
        return known, usable[0].id if len(usable) == 1 else None

    async def key(self, scope: Scope, connection: ModelConnection) -> str | None:
        """The secret, for a call. It is not kept, shown or logged. Raises Unusable: it cannot be opened."""
        if connection.origin != "row":
            return self._declared.keys.get(connection.id)
        if not connection.has_key:
            return None
        rows = await self._db.read(scope, self._sql["sealed"], id=connection.id, **scope.keys)
        if not rows or rows[0]["sealed_key"] is None:
            return None
        try:
            return self._vault.open(bytes(rows[0]["sealed_key"]), _key_place(scope, connection.id))
        except UnopenableSecret as error:
            raise Unusable(f"the key of {connection.name!r} cannot be opened: {error.detail}", fix=error.fix) from error

    async def add(self, tx: Transaction, scope: Scope, wanted: ModelConnection, key: str | None) -> ModelConnection:
        """Store a connection; its id is made here.

        Raises Invalid: its address or its way to sign in is not possible; Conflict: the workspace has one of this name.
        """
        made = replace(wanted, id=ConnectionId(str(uuid4())), has_key=key is not None, endpoint=None, origin="row")
        _check_connection(made, key)
        sealed = None if key is None else self._vault.seal(key, _key_place(scope, made.id))
        row = await tx.one(self._sql["add"], sealed_key=sealed, **asdict(made), **scope.keys)
        if row is None:
            raise Conflict(f"there is a connection {made.name!r} already")
        return replace(made, first_tenant=row["first_tenant"])

    async def change(
        self, tx: Transaction, scope: Scope, ref: str, changes: dict[str, Any], key: str | KeepKey | None = KEEP
    ) -> ModelConnection:
        """Change some of its values, and its key where one is given; None takes the key away.

        Raises:
            NotFound: no row has this id; those of the file and of the settings cannot be changed here.
            Invalid, Conflict: as `add`. A new address or another way to sign in needs the key again: a stored key
                must not be sent to a place that whoever stored it never saw.
        """
        before = await self._require_row(tx, scope, ref)
        after = replace(before, **changes)
        if before.has_key and _KEY_PLACE(before) != _KEY_PLACE(after) and isinstance(key, KeepKey):
            raise Invalid("a connection that is moved needs its key again", fix="Send `key` along, null for none.")
        if not isinstance(key, KeepKey):
            after = replace(after, has_key=key is not None)
        _check_connection(after, None if isinstance(key, KeepKey) else key)
        if await tx.one(self._sql["name_taken"], id=after.id, name=after.name, **scope.keys) is not None:
            raise Conflict(f"there is a connection {after.name!r} already")
        await tx.run(self._sql["change"], **asdict(after), **scope.keys)
        if not isinstance(key, KeepKey):
            sealed = None if key is None else self._vault.seal(key, _key_place(scope, after.id))
            await tx.run(self._sql["seal"], id=after.id, sealed_key=sealed, **scope.keys)
        same = (before.base_url, before.provider) == (after.base_url, after.provider)
        return after if same else replace(after, endpoint=None)

    async def remove(self, tx: Transaction, scope: Scope, ref: str) -> None:
        """Forget a connection with its key. Raises NotFound: no row has this id."""
        found = await self._require_row(tx, scope, ref)
        await tx.run(self._sql["remove"], id=found.id, **scope.keys)
        await self.make_default(tx, scope, found.id, False)

    async def make_default(self, tx: Transaction, scope: Scope, id_: ConnectionId, wanted: bool = True) -> None:
        """From now on the workspace's agents ask this one where they name none; or no longer."""
        await tx.run(self._sql["make_default" if wanted else "unmake_default"], id=id_, workspace=scope.workspace)

    async def found(self, scope: Scope, connection: ModelConnection, endpoint: str) -> None:
        """Remember the address that answered; only rows can."""
        if connection.origin != "row":
            return
        async with self._db.transaction(scope) as tx:
            await tx.run(self._sql["found"], **asdict(replace(connection, endpoint=endpoint)), **scope.keys)

    async def rotate(self, tx: Transaction, scope: Scope) -> int:
        """Seal every key of the workspace anew; how many were. Raises Sealed: one cannot be opened; none is changed."""
        count = 0
        for row in await tx.all(self._sql["envelopes"], **scope.keys):
            fresh = self._vault.rotate(bytes(row["sealed_key"]), _key_place(scope, str(row["id"])))
            if fresh is not None:
                count += await tx.run(self._sql["seal"], id=row["id"], sealed_key=fresh, **scope.keys)
        return count

    async def _require_row(self, tx: Transaction, scope: Scope, ref: str) -> ModelConnection:
        id_ = uuid_of(ref, "connection")
        row = await tx.one(self._sql["one"], id=id_, **scope.keys)
        if row is not None:
            return _read_connection(row)
        if any(connection.id == id_ for connection in self._declared.connections):
            raise Conflict("this connection is configured, not stored", fix="Change the connections file, or LLM_*.")
        raise NotFound(f"connection {ref}")


def _check_connection(connection: ModelConnection, key: str | None) -> None:
    checked_url(connection.base_url)
    check_auth(connection.auth_mode, connection.auth_header, key)


def _key_place(scope: Scope, id_: str) -> str:
    return secret_place(scope.tenant, scope.workspace, "llm_connections", id_)


def _read_connection(row: Row) -> ModelConnection:
    same = ("name", "base_url", "model", "auth_header", "enabled", "endpoint", "has_key", "first_tenant")
    values: dict[str, Any] = {name: row[name] for name in same}
    values |= {name: float(row[name]) for name in ("price_in", "price_out", "seconds")}
    values |= {"provider": Provider(row["provider"]), "auth_mode": AuthMode(row["auth_mode"])}
    return ModelConnection(ConnectionId(str(row["id"])), tools=row["supports_tools"], **values)
