"""The credentials of a workspace: what is secret goes in sealed, and nothing here ever gives it out again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import as_uuid, uuid_of
from cluster.basics.scope import Role, Scope
from cluster.state.agent_store import AgentStore
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.vault import Vault, secret_place
from skills.framework.credentials import BadCredential, CredentialContent, divide_fields
from skills.framework.manifest import CredentialType

QUERIES = Path(__file__).with_name("credentials.sql")
TABLE = "credentials"


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential that is to be stored."""

    name: str
    type: CredentialType
    # Its fields; those that are secret for their type or their name, and those nobody knows, are sealed.
    values: Mapping[str, Any] = field(repr=False)
    # Fields that may be shown; what looks like a secret is sealed all the same.
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    is_active: bool = True
    bound: bool = False  # only calls that a binding fits may use it
    context: str | None = None  # id of the conversation that it is of
    expires: datetime | None = None  # from then on it is of no use


@dataclass(frozen=True, slots=True)
class CredentialReplacement:
    """All fields anew; see `NewCredential`."""

    values: Mapping[str, Any] = field(repr=False)
    extra: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CredentialGrant:
    """Principals that may use a credential; at least one of the three is given."""

    agent: str | None = None  # its id
    skill: str | None = None  # a skill's name
    role: Role | None = None  # of who calls


class CredentialStore:
    """Stores credentials and who may use them; every row that comes back is without what is sealed."""

    def __init__(self, database: Database, vault: Vault) -> None:
        """`vault` only seals here."""
        self._db, self._vault, self._agents = database, vault, AgentStore(database)
        self._sql = load_queries(QUERIES)

    async def page(self, scope: Scope, *, skip: int = 0, limit: int = 100) -> tuple[list[Row], int]:
        """Credentials by name, and how many there are."""
        rows = await self._db.read(scope, self._sql["all"], skip=skip, limit=limit, **scope.keys)
        total = await self._db.read(scope, self._sql["count"], **scope.keys)
        return rows, int(total[0]["total"])

    async def one(self, tx: Transaction, scope: Scope, id_: str) -> Row:
        """One credential, locked. Raises NotFound: there is none here."""
        row = await tx.one(self._sql["one"], id=uuid_of(id_, "credential"), **scope.keys)
        if row is None:
            raise NotFound(f"credential {id_}")
        return row

    async def add(self, tx: Transaction, scope: Scope, wanted: NewCredential) -> Row:
        """Store a credential; its id is made here.

        Raises:
            BadCredential: its fields are not those of its type.
            NotFound: there is no such conversation.
            Conflict: its name is taken.
        """
        content, id_ = divide_fields(wanted.type, wanted.values, wanted.extra), str(uuid4())
        context = None if wanted.context is None else uuid_of(wanted.context, "session")
        if context is not None and await tx.one(self._sql["session"], id=context, **scope.keys) is None:
            raise NotFound(f"session {wanted.context}")
        values = {name: getattr(wanted, name) for name in ("name", "type", "is_active", "bound")}
        values |= {"id": id_, "context": context, "expires_at": wanted.expires, "user": _acting_user(scope)}
        made = await tx.one(self._sql["add"], **values, **self._field_values(scope, id_, content), **scope.keys)
        if made is None:
            raise Conflict(f"there is a credential {wanted.name!r} already")
        return await self.one(tx, scope, id_)

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        id_: str,
        changes: Mapping[str, Any],  # of `name`, `is_active`, `bound`, `expires_at`
        content: CredentialReplacement | None = None,
    ) -> Row:
        """Change `name`, `is_active`, `bound` or `expires_at`, and all fields where `content` is given.

        Fields are replaced together: a secret that stays is never sent to a host that whoever stored it never saw.

        Raises NotFound: there is none here; Conflict, BadCredential: as `add`.
        """
        before = await self.one(tx, scope, id_)
        id_ = str(before["id"])
        after = {key: changes.get(key, before[key]) for key in ("name", "is_active", "bound", "expires_at")}
        taken = {"id": id_, "name": after["name"], "context": before["context_id"]}
        if await tx.one(self._sql["name_taken"], **taken, **scope.keys) is not None:
            raise Conflict(f"there is a credential {after['name']!r} already")
        await tx.run(self._sql["change"], id=id_, **after, **scope.keys)
        if content is not None:
            held = divide_fields(CredentialType(before["type"]), content.values, content.extra)
            await tx.run(self._sql["replace"], id=id_, **self._field_values(scope, id_, held), **scope.keys)
        return await self.one(tx, scope, id_)

    async def remove(self, tx: Transaction, scope: Scope, id_: str) -> Row:
        """Forget a credential with its bindings; gives what it was. Raises NotFound: there is none here."""
        row = await self.one(tx, scope, id_)
        await tx.run(self._sql["remove"], id=row["id"], **scope.keys)
        return row

    async def bindings(self, tx: Transaction, scope: Scope, id_: str) -> list[Row]:
        """Bindings of a credential, in the order they were written. Raises NotFound: there is no such credential."""
        row = await self.one(tx, scope, id_)
        return await tx.all(self._sql["bindings"], id=row["id"], **scope.keys)

    async def bind(self, tx: Transaction, scope: Scope, id_: str, grant: CredentialGrant) -> Row:
        """Let somebody use it; from now on nobody else may, where nobody had to be let before.

        A skill of the workspace is let use it as it is now: with its next version it has to be bound again.

        Raises:
            NotFound: there is no such credential or agent here.
            BadCredential: the grant says nothing.
            Conflict: it stands there already.
        """
        row = await self.one(tx, scope, id_)
        if grant == CredentialGrant():
            raise BadCredential("a binding names an agent, a skill or a role")
        agent = None if grant.agent is None else uuid_of(grant.agent, "agent")
        if agent is not None:
            await self._agents.require(tx, scope, agent)
        values = {"agent": agent, "skill": grant.skill, "role": grant.role, "user": _acting_user(scope)}
        made = await tx.one(self._sql["bind"], id=row["id"], binding=str(uuid4()), **values, **scope.keys)
        if made is None:
            raise Conflict("this binding stands there already")
        await tx.run(self._sql["close"], id=row["id"], **scope.keys)
        written = await self.bindings(tx, scope, str(row["id"]))
        return next(one for one in written if one["id"] == made["id"])

    async def unbind(self, tx: Transaction, scope: Scope, id_: str, binding: str) -> None:
        """Take a binding away; without any nobody may use it until `bound` is off. Raises NotFound: there is none."""
        row = await self.one(tx, scope, id_)
        if not await tx.run(self._sql["unbind"], id=row["id"], binding=uuid_of(binding, "binding"), **scope.keys):
            raise NotFound(f"binding {binding}")

    def _field_values(self, scope: Scope, id_: str, content: CredentialContent) -> dict[str, Any]:
        text = json.dumps(dict(content.sealed), ensure_ascii=False, sort_keys=True)
        sealed = self._vault.seal(text, secret_place(scope.tenant, scope.workspace, TABLE, id_))
        return {"sealed": sealed, "fields": sorted(content.sealed), "extra": Jsonb(dict(content.extra))}


def _acting_user(scope: Scope) -> str | None:
    return None if scope.user is None else as_uuid(scope.user)
