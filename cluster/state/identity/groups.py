"""Groups of people in a tenant, whom documents may name among their readers."""

from collections.abc import Iterable

from cluster.basics.errors import Conflict, Invalid
from cluster.basics.scope import Scope, UserId
from cluster.state.db.postgres import Row, SqlStore, Transaction, unique_or_conflict

LONGEST_NAME = 100


def is_group_name(name: str) -> bool:
    """True for what a group may be called: printable, in lower case, without a comma."""
    plain = name == name.strip().lower() and name.isprintable() and "," not in name
    return plain and 0 < len(name) <= LONGEST_NAME


class UnknownGroup(Invalid):
    """There is no such group."""

    code = "unknown_group"
    fix = "GET /api/groups lists them (aos groups list); an administrator of the tenant makes them."


class GroupNameTaken(Conflict):
    """A group has, or had, this name; documents may still name one that was deleted."""

    code = "group_name_taken"
    fix = "Choose another name, or send `restore` (aos groups add --restore) to have a deleted one back."


class GroupStore(SqlStore, queries="groups.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail. They hold from the next
    request of whom they concern: what a caller may read is looked up each time."""

    async def page(self, scope: Scope, skip: int, limit: int, part: str | None = None) -> tuple[list[Row], int]:
        """Groups of the tenant by name, with `part` in it, and how many there are."""
        queries = self._sql["groups"], self._sql["count_groups"]
        async with self._db.transaction(scope) as tx:
            return await tx.page(*queries, tenant=scope.tenant, part=part, skip=skip, limit=limit)

    async def require_names(self, scope: Scope, names: Iterable[str]) -> None:
        """Raises UnknownGroup: one of these is no group of the tenant."""
        wanted = sorted(set(names))
        if not wanted:
            return
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["known_names"], tenant=scope.tenant, names=wanted)
        known = {row["name"] for row in rows}
        if missing := [name for name in wanted if name not in known]:
            raise UnknownGroup(", ".join(missing)[:300])

    async def add(self, tx: Transaction, scope: Scope, name: str, *, restore: bool = False) -> Row:
        """A group without members; `name` is in lower case. With `restore` one that was deleted comes back.

        Raises GroupNameTaken.
        """
        named = {"tenant": scope.tenant, "name": name}
        row = await tx.one(self._sql["restore_group"], **named) if restore else None
        if row is None:
            try:
                with unique_or_conflict(f"the name {name} is taken"):
                    row = await tx.only(self._sql["add_group"], **named)
            except Conflict as error:
                raise GroupNameTaken(str(error)) from error
        return await self._require(tx, scope, str(row["id"]))

    async def delete(self, tx: Transaction, scope: Scope, group: str) -> str:
        """Its name; nobody reads anything as its member any more. Raises NotFound."""
        row = await tx.required(f"group {group}", self._sql["delete_group"], group=group, tenant=scope.tenant)
        return str(row["name"])

    async def members(self, scope: Scope, group: str, skip: int, limit: int) -> tuple[list[Row], int]:
        """Who belongs to a group by e-mail address, and how many. Raises NotFound."""
        queries = self._sql["members"], self._sql["count_members"]
        async with self._db.transaction(scope) as tx:
            await self._require(tx, scope, group)
            return await tx.page(*queries, tenant=scope.tenant, group=group, skip=skip, limit=limit)

    async def add_member(self, tx: Transaction, scope: Scope, group: str, user: UserId) -> None:
        """Somebody of the tenant belongs to it from now on; a second time is no error.

        Raises NotFound: there is no such group, or no such user in the tenant.
        """
        await self._require(tx, scope, group)
        await tx.required(f"user {user}", self._sql["add_member"], group=group, tenant=scope.tenant, user=user)

    async def remove_member(self, tx: Transaction, scope: Scope, group: str, user: UserId) -> None:
        """Somebody belongs to it no more. Raises NotFound: they did not."""
        named = {"group": group, "tenant": scope.tenant, "user": user}
        await tx.required(f"user {user} in group {group}", self._sql["remove_member"], **named)

    async def _require(self, tx: Transaction, scope: Scope, group: str) -> Row:
        return await tx.required(f"group {group}", self._sql["group"], group=group, tenant=scope.tenant)
