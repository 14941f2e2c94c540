"""Groups that an identity provider fills by SCIM: what it calls them, and whom it says belongs to them."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from cluster.basics.errors import Forbidden, Permanent
from cluster.basics.scope import Scope, TenantId
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from cluster.state.identity.groups import GroupNameTaken, GroupStore
from cluster.state.identity.provisioned_people import AttributeQuery, LocalAdministrator

PROVIDER = "scim"


class LocalGroup(Forbidden):
    """An administrator has made this group by hand; SCIM may fill it, but neither rename nor delete it."""

    code = "local_group"
    fix = "An administrator does it by hand (System → Groups)."


class UnknownMember(Permanent):
    """One of the members is nobody of this tenant."""

    code, status = "unknown_member", 400
    fix = "Members are people by their SCIM id; groups in groups are not supported."


class ProvisionedGroupStore(SqlStore, queries="provisioned_groups.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    def __init__(self, database: Database, groups: GroupStore) -> None:
        """`groups` are the same ones, as an administrator sees them."""
        super().__init__(database)
        self._groups = groups

    async def search(self, tx: Transaction, tenant: TenantId, query: AttributeQuery) -> tuple[list[Row], int]:
        """A page of groups, each with how many belong to it, and how many groups there are."""
        rows = await tx.all(self._sql["groups"], tenant=tenant, **query.parameters(), with_members=query.related)
        return [row for row in rows if row["id"] is not None], int(rows[0]["total"])

    async def group(self, tx: Transaction, tenant: TenantId, group: str) -> Row:
        """One of them, which nobody else changes meanwhile. Raises NotFound."""
        return await tx.required(f"group {group}", self._sql["group"], tenant=tenant, group=group)

    async def members_of(self, tx: Transaction, tenant: TenantId, groups: Sequence[str]) -> dict[str, list[str]]:
        """User ids by group."""
        found: dict[str, list[str]] = {group: [] for group in groups}
        for row in await tx.all(self._sql["members_of"], tenant=tenant, groups=list(groups)) if groups else ():
            found[str(row["group_id"])].append(str(row["user_id"]))
        return found

    async def some_members(self, tx: Transaction, tenant: TenantId, group: str, users: Iterable[str]) -> list[str]:
        """Of these people those who belong to the group; what is no id is nobody."""
        named = {"tenant": tenant, "group": group, "users": [user for user in users if _is_uuid(user)]}
        return [str(row["user_id"]) for row in await tx.all(self._sql["some_members"], **named)]

    async def add(self, tx: Transaction, scope: Scope, display_name: str, external_id: str | None) -> str:
        """A group that is called so, in lower case, for good. Raises GroupNameTaken."""
        await self._require_free(tx, scope.tenant, None, display_name)
        row = await self._groups.add(tx, scope, display_name.lower())
        named = {"tenant": scope.tenant, "group": row["id"]}
        await tx.run(self._sql["set_provider"], **named, provider=PROVIDER)
        await tx.run(self._sql["set_attributes"], **named, display_name=display_name, external_id=external_id)
        return str(row["id"])

    async def change(
        self, tx: Transaction, tenant: TenantId, row: Row, display_name: str, external_id: str | None
    ) -> None:
        """What the provider calls a group from now on; documents and rules go on naming it as it was made.

        Raises LocalGroup: it would be renamed. GroupNameTaken.
        """
        if display_name != row["display_name"]:
            if row["provider"] != PROVIDER:
                raise LocalGroup
            await self._require_free(tx, tenant, str(row["id"]), display_name)
        named = {"display_name": display_name, "external_id": external_id}
        await tx.run(self._sql["set_attributes"], tenant=tenant, group=row["id"], **named)

    async def require_people(self, tx: Transaction, tenant: TenantId, users: Sequence[str]) -> None:
        """Whether SCIM may put these into a group.

        Raises:
            UnknownMember: one of these is nobody of the tenant.
            LocalAdministrator: one administers something by an administrator's own hand.
        """
        known: set[str] = set()
        if all(_is_uuid(user) for user in users):
            rows = await tx.all(self._sql["known_people"], tenant=tenant, users=list(users))
            known = {str(row["id"]) for row in rows}
        if missing := [user for user in users if user not in known]:
            raise UnknownMember(missing[0][:80])
        if (found := await tx.one(self._sql["local_admins"], tenant=tenant, users=list(users))) is not None:
            raise LocalAdministrator(str(found["email"]))

    async def change_members(
        self, tx: Transaction, tenant: TenantId, group: str, joining: Sequence[str], leaving: Sequence[str]
    ) -> list[str]:
        """Whom SCIM adds, and takes away; whom an administrator has added stays. Those who have left."""
        named = {"tenant": tenant, "group": group}
        await tx.run(self._sql["adopt_people"], tenant=tenant, users=list(joining))
        await tx.run(self._sql["add_members"], **named, users=list(joining))
        left = await tx.all(self._sql["remove_members"], **named, users=list(leaving))
        await tx.run(self._sql["touch"], **named)
        return [str(row["user_id"]) for row in left]

    async def delete(self, tx: Transaction, scope: Scope, row: Row) -> list[str]:
        """Who belonged to it. Its name stays taken. Raises LocalGroup."""
        if row["provider"] != PROVIDER:
            raise LocalGroup
        group = str(row["id"])
        members = (await self.members_of(tx, scope.tenant, [group]))[group]
        named = {"tenant": scope.tenant, "group": group}
        await tx.run(self._sql["set_attributes"], **named, display_name=None, external_id=None)
        await tx.run(self._sql["set_provider"], **named, provider=None)  # who restores it makes it their own
        await self._groups.delete(tx, scope, group)
        return members

    async def _require_free(self, tx: Transaction, tenant: TenantId, group: str | None, display_name: str) -> None:
        named = {"tenant": tenant, "group": group, "display_name": display_name}
        if await tx.one(self._sql["display_taken"], **named) is not None:
            raise GroupNameTaken(f"the name {display_name} is taken")


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
