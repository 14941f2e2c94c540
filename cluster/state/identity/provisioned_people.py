"""People whom an identity provider provisions by SCIM: who they are to it, and what its rules give them here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Forbidden
from cluster.basics.scope import Role, TenantId, UserId
from cluster.state.db.postgres import Row, SqlStore, Transaction, field_values, unique_or_conflict

NO_PATH: tuple[str, ...] = ()


class ProvisionedNameTaken(Conflict):
    """This userName or e-mail address cannot be given to anybody."""

    code = "name_taken"
    fix = (
        "Look for it with `filter=userName eq …`. Who was deleted by SCIM keeps the address: once an administrator "
        "lets them sign in again (System → People), they are found."
    )


class LocalAdministrator(Forbidden):
    """This account administers something by an administrator's own hand; SCIM changes no such account."""

    code = "local_administrator"
    fix = "Another administrator changes it by hand (System → People)."


class DisabledByHand(Forbidden):
    """An administrator has disabled this account by hand; SCIM does not let them in again."""

    code = "disabled_by_hand"
    fix = "An administrator lets them sign in again (System → People)."


@dataclass(frozen=True, slots=True)
class ProvisionedRule:
    """What belonging to a group gives; `*` is everybody whom SCIM provisions. `workspace`: its name or id."""

    group: str
    workspace: str
    role: Role = Role.VIEWER
    tenant_role: Role | None = None


@dataclass(frozen=True, slots=True)
class AttributeQuery:
    """Which people or groups are wanted, and in which order.

    Attributes:
        condition: SQL/JSON path predicate over their attributes; None where all are wanted.
        values: of the variables in it.
        only: an id that the condition asks for anyway, so that nobody else is looked at.
        user_name: the same of a userName, in lower case.
        related: the condition asks for groups of people, or for members of groups.
        sort: where the attribute stands that orders them; by age where empty.
    """

    condition: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    only: str | None = None
    user_name: str | None = None
    related: bool = False
    sort: tuple[str, ...] = NO_PATH
    descending: bool = False
    skip: int = 0
    limit: int = 100

    def parameters(self) -> dict[str, Any]:
        """Values of the query, as its SQL names them."""
        named = {name: getattr(self, name) for name in ("condition", "only", "descending", "skip", "limit")}
        return {**named, "values": Jsonb(dict(self.values)), "sort": list(self.sort) or ["-"]}


@dataclass(frozen=True, slots=True)
class ProvisionedPerson:
    """What a provider says of somebody; `attributes` are its words for them that nothing here depends on."""

    user_name: str
    external_id: str | None
    attributes: Mapping[str, Any]


class ProvisionedPeopleStore(SqlStore, queries="provisioned_people.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    async def search(self, tx: Transaction, tenant: TenantId, query: AttributeQuery) -> tuple[list[Row], int]:
        """A page of people, and how many there are."""
        named = {**query.parameters(), "user_name": query.user_name, "with_groups": query.related}
        rows = await tx.all(self._sql["people"], tenant=tenant, **named)
        return [row for row in rows if row["id"] is not None], int(rows[0]["total"])

    async def changeable_person(self, tx: Transaction, tenant: TenantId, user: str) -> Row:
        """Somebody whom nobody else changes meanwhile.

        Raises:
            NotFound: nobody of the tenant, or somebody whom SCIM has deleted.
            LocalAdministrator: no provider changes them.
        """
        row = await tx.required(f"user {user}", self._sql["person"], tenant=tenant, user=user)
        if row["local_admin"]:
            raise LocalAdministrator
        return row

    async def groups_of(self, tx: Transaction, tenant: TenantId, users: Sequence[str]) -> dict[str, list[Row]]:
        """Groups by user."""
        found: dict[str, list[Row]] = {user: [] for user in users}
        for row in await tx.all(self._sql["groups_of"], tenant=tenant, users=list(users)) if users else ():
            found[str(row["user_id"])].append(row)
        return found

    async def add(
        self, tx: Transaction, tenant: TenantId, person: ProvisionedPerson, email: str, *, active: bool, unknown: str
    ) -> UserId:
        """Somebody new, without any right. `unknown`: hash of a password that nobody knows.

        Raises ProvisionedNameTaken: by somebody of this tenant or, which is not said, of another.
        """
        await self._require_free_name(tx, tenant, person.user_name, None)
        new = {"tenant": tenant, "email": email, "hash": unknown, "active": active}
        try:
            with unique_or_conflict("taken"):
                row = await tx.only(self._sql["add_user"], **new)
                await self._put(tx, tenant, str(row["id"]), person)
        except Conflict as error:
            raise ProvisionedNameTaken from error
        return UserId(str(row["id"]))

    async def change(self, tx: Transaction, tenant: TenantId, user: str, person: ProvisionedPerson) -> None:
        """What the provider calls somebody from now on. Raises ProvisionedNameTaken."""
        await self._require_free_name(tx, tenant, person.user_name, user)
        await self._put(tx, tenant, user, person)

    async def sign_disabled(self, tx: Transaction, tenant: TenantId, user: str) -> None:
        """SCIM has disabled somebody and may let them in again."""
        await tx.run(self._sql["sign_disabled"], tenant=tenant, user=user)

    async def forget(self, tx: Transaction, tenant: TenantId, user: str) -> None:
        """Nothing by SCIM is left of somebody: no right, no name, and no API key of theirs lives."""
        named = {"tenant": tenant, "user": user}
        for step in ("revoke_keys", "drop_memberships", "drop_groups", "forget_person"):
            await tx.run(self._sql[step], **named)

    async def lock(self, tx: Transaction, tenant: TenantId, users: Sequence[str]) -> None:
        """Wait until nobody else changes the rights of these people; before anything is read that they depend on."""
        await tx.all(self._sql["lock_people"], tenant=tenant, users=list(users))

    async def grant(
        self, tx: Transaction, tenant: TenantId, users: Sequence[str], rules: Sequence[ProvisionedRule]
    ) -> None:
        """Give these people what the rules say for the groups they belong to, and take away what they say no more."""
        if not users:
            return
        whom = {"tenant": tenant, "users": list(users), "holders": [rule.group for rule in rules]}
        places = [rule.workspace for rule in rules]
        await tx.run(self._sql["drop_lapsed_memberships"], **whom, places=places)
        await tx.run(self._sql["put_memberships"], **whom, places=places, roles=[rule.role for rule in rules])
        await tx.run(self._sql["set_tenant_roles"], **whom, tenant_roles=[rule.tenant_role for rule in rules])

    async def _put(self, tx: Transaction, tenant: TenantId, user: str, person: ProvisionedPerson) -> None:
        named = {**field_values(person), "attributes": Jsonb(person.attributes)}
        await tx.run(self._sql["put_person"], tenant=tenant, user=user, **named)

    async def _require_free_name(self, tx: Transaction, tenant: TenantId, user_name: str, user: str | None) -> None:
        named = {"tenant": tenant, "user_name": user_name}
        await tx.one(self._sql["lock_name"], **named)
        if await tx.one(self._sql["name_taken"], **named, user=user) is not None:
            raise ProvisionedNameTaken
