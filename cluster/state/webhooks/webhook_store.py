"""The webhooks of a workspace as people see them: made, changed, their secrets rotated, their deliveries replayed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from cluster.basics.errors import NotFound
from cluster.basics.ids import scoped_id, uuid_of
from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction, field_values, unique_or_conflict
from cluster.state.vault import Vault, secret_place
from cluster.state.webhooks.message_signature import new_secret

SECRETS = "webhook_secrets"


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook to be; `role` where it sees as that role alone, and not as its owner."""

    name: str
    url: str
    topics: Sequence[str]
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class WebhookChange:
    """A change of a webhook; None stays."""

    name: str | None = None
    url: str | None = None
    topics: Sequence[str] | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Ended deliveries to send again: one event's, all since a moment, or all; `failed_only`: what was given up."""

    event: str | None = None
    since: datetime | None = None
    failed_only: bool = False


class WebhookStore(SqlStore, queries="webhook_store.sql"):
    """Every statement of people about webhooks."""

    def __init__(self, database: Database, vault: Vault) -> None:
        """`vault` seals the secrets, and opens them for what signs."""
        super().__init__(database)
        self._vault = vault

    async def add(self, tx: Transaction, scope: Scope, new: NewWebhook) -> tuple[str, str]:
        """Its id and its secret, which nobody is shown again. Raises Conflict: the name is taken."""
        values = {**scope.keys, **field_values(new), "topics": list(new.topics), "user": scope.user}
        with unique_or_conflict(f"there is a webhook {new.name!r} already"):
            row = await tx.only(self._sql["add"], **values)
        return str(row["id"]), await self._keep_secret(tx, scope, str(row["id"]))

    async def show(self, scope: Scope, webhook: str) -> Row:
        """One webhook. Raises NotFound: there is none here."""
        async with self._db.transaction(scope) as tx:
            return await self.require(tx, scope, webhook)

    async def require(self, tx: Transaction, scope: Scope, webhook: str) -> Row:
        """As `show`, within a transaction."""
        return await tx.required(f"webhook {webhook}", self._sql["show"], **scoped_id(scope, "webhook", webhook))

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of the workspace's webhooks by name, and how many there are."""
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["list"], self._sql["count"], **scope.keys, skip=skip, limit=limit)

    async def change(self, tx: Transaction, scope: Scope, webhook: str, change: WebhookChange) -> None:
        """Raises NotFound: there is none here; Conflict: the name is taken."""
        values = field_values(change) | scoped_id(scope, "webhook", webhook)
        values["topics"] = None if change.topics is None else list(change.topics)
        with unique_or_conflict(f"there is a webhook {change.name!r} already"):
            await tx.required(f"webhook {webhook}", self._sql["change"], **values)

    async def remove(self, tx: Transaction, scope: Scope, webhook: str) -> str:
        """Its name. Raises NotFound: there is none here."""
        row = await tx.required(f"webhook {webhook}", self._sql["remove"], **scoped_id(scope, "webhook", webhook))
        return str(row["name"])

    async def rotate_secret(self, tx: Transaction, scope: Scope, webhook: str, overlap: float) -> str:
        """Another secret; the one before signs beside it for `overlap` seconds. Raises NotFound: there is none here."""
        named = scoped_id(scope, "webhook", webhook)
        await tx.required(f"webhook {webhook}", self._sql["lock"], **named)
        await tx.run(self._sql["expire_secret"], **named, overlap=overlap)
        return await self._keep_secret(tx, scope, webhook)

    async def secrets(self, scope: Scope, webhook: str) -> list[str]:
        """Those that are valid now, the newest first. Raises UnopenableSecret: the vault has lost its key."""
        rows = await self._db.read(scope, self._sql["secrets"], **scoped_id(scope, "webhook", webhook))
        return [self._vault.open(bytes(row["sealed"]), _place(scope, str(row["id"]))) for row in rows]

    async def deliveries(
        self, scope: Scope, webhook: str, state: str | None, skip: int, limit: int
    ) -> tuple[list[Row], int]:
        """A page of its deliveries, latest first, of what this reader may see. Raises NotFound: there is none here."""
        named = {**scoped_id(scope, "webhook", webhook), "state": state}
        async with self._db.transaction(scope) as tx:
            await self.require(tx, scope, webhook)
            pages = self._sql["deliveries"], self._sql["count_deliveries"]
            return await tx.page(*pages, **named, skip=skip, limit=limit)

    async def replay(self, tx: Transaction, scope: Scope, webhook: str, wanted: ReplayRequest) -> int:
        """How many deliveries are to be sent again, in their order; its circuit closes.

        Raises NotFound: there is no such webhook, or the one event is none of its own that has ended.
        """
        await self.require(tx, scope, webhook)
        named = scoped_id(scope, "webhook", webhook)
        event = None if wanted.event is None else uuid_of(wanted.event, "event")
        values = {"event": event, "since": wanted.since, "failed_only": wanted.failed_only}
        count = await tx.run(self._sql["replay"], **named, **values)
        if event is not None and not count:
            raise NotFound(f"event {event}", fix="aos webhooks deliveries NAME lists what has ended.")
        await tx.run(self._sql["close_circuit"], **named)
        return count

    async def _keep_secret(self, tx: Transaction, scope: Scope, webhook: str) -> str:
        secret, id_ = new_secret(), str(uuid4())
        sealed = self._vault.seal(secret, _place(scope, id_))
        await tx.run(self._sql["keep_secret"], id=id_, webhook=webhook, **scope.keys, sealed=sealed)
        return secret


def _place(scope: Scope, id_: str) -> str:
    return secret_place(scope.tenant, scope.workspace, SECRETS, id_)
