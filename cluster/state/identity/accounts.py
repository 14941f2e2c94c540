"""Tenants, workspaces, users and API keys as an administrator sees them: list, add, revoke."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.identity.identity import secret_hash


@dataclass(frozen=True, slots=True)
class PasswordResetResult:
    """The result of a password reset.

    Attributes:
        user: whose password it is.
        revoked: their API keys that were made in a session of which a refresh token has not run out yet, whether it was
            ended before or not: whoever has got into the account can have made them.
        kept: the others, which go on; whoever resets decides.
    """

    user: Row
    revoked: list[Row]
    kept: list[Row]


class AccountStore:
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    def __init__(self, database: Database) -> None:
        """Queries are those of identity.sql."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_name("identity.sql"))

    async def tenants(self, scope: Scope, skip: int, limit: int) -> list[Row]:
        """The own tenant and those below it."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["tenants"], tenant=scope.tenant, skip=skip, limit=limit)

    async def add_tenant(self, tx: Transaction, scope: Scope, name: str, email: str, password_hash: str) -> Row:
        """A tenant with a workspace `default` and an administrator. The transaction acts inside it afterwards.

        Raises:
            Conflict: the name or the e-mail is taken.
        """
        tenant = uuid4()
        try:
            await tx.run(self._sql["add_tenant"], id=tenant, name=name, tenant=scope.tenant)
            await tx.one(self._sql["enter_child"], id=tenant, tenant=scope.tenant)
            workspace = await tx.one(self._sql["add_workspace"], tenant=tenant, name="default")
            user = await tx.one(
                self._sql["add_user"], tenant=tenant, email=email.lower(), hash=password_hash, role=Role.ADMIN
            )
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"the tenant {name} or the user {email} exists already") from error
        assert workspace is not None and user is not None
        await self._join_workspace(tx, str(tenant), user["id"], workspace["id"], Role.ADMIN)
        return {"id": tenant, "name": name, "workspace_id": workspace["id"], "user_id": user["id"]}

    async def workspaces(self, scope: Scope, skip: int, limit: int) -> list[Row]:
        """Workspaces that the user belongs to."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["workspaces"], user=scope.user, tenant=scope.tenant, skip=skip, limit=limit)

    async def add_workspace(self, tx: Transaction, scope: Scope, name: str) -> Row:
        """A workspace of the tenant; who makes it administers it.

        Raises:
            Conflict: the name is taken.
        """
        try:
            row = await tx.one(self._sql["add_workspace"], tenant=scope.tenant, name=name)
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"the workspace {name} exists already") from error
        assert row is not None
        await self._join_workspace(tx, scope.tenant, scope.user, row["id"], Role.ADMIN)
        return row

    async def users(
        self, scope: Scope, skip: int, limit: int, *, part: str | None = None, everywhere: bool = False
    ) -> tuple[list[Row], int]:
        """Users of the workspace, and how many there are.

        Args:
            scope: whose.
            skip: how many to leave out.
            limit: how many at most.
            part: of the e-mail address.
            everywhere: everybody of the tenant; `role` is None for who is not in the workspace.
        """
        values = {**scope.keys, "part": part, "everywhere": everywhere}
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["users"], **values, skip=skip, limit=limit)
            total = await tx.one(self._sql["count_users"], **values)
        return rows, int(total["total"]) if total else 0

    async def change_user(
        self,
        tx: Transaction,
        scope: Scope,
        user: str,
        *,
        role: Role | None = None,
        tenant_role: Role | None = None,
        disabled: bool | None = None,
    ) -> Row:
        """Change what a user of the tenant may do; None leaves it.

        Access tokens end with any change; whoever is disabled is signed out everywhere.

        Raises:
            NotFound: there is no such user in the tenant.
            Conflict: it is whoever asks.
        """
        await self._require_other_user(tx, scope, user)
        named = {"user": user, "tenant": scope.tenant}
        if role is not None:
            await self._join_workspace(tx, scope.tenant, user, scope.workspace, role)
        if tenant_role is not None:
            await tx.run(self._sql["set_tenant_role"], **named, role=tenant_role)
        if disabled is not None:
            await tx.run(self._sql["disable"], **named, disabled=disabled)
            if disabled:
                await tx.run(self._sql["end_sessions"], **named)
        return await self._require_user(tx, scope, user)

    async def reset_password(
        self, tx: Transaction, scope: Scope, user: str, password_hash: str, *, keep_keys: bool = False
    ) -> PasswordResetResult:
        """A new password, to be changed at the next login; every session ends, access tokens included.

        Args:
            tx: the caller's.
            scope: who asks.
            user: whose password it is.
            password_hash: of the new one.
            keep_keys: no API key is revoked.

        Raises:
            NotFound, Conflict: as for `change_user`.
        """
        found = await self._require_other_user(tx, scope, user)
        named = {"user": user, "tenant": scope.tenant}
        await tx.run(self._sql["reset_password"], **named, hash=password_hash)
        await tx.run(self._sql["end_sessions"], **named)
        keys = await tx.all(self._sql["keys_of_user"], **named)
        revoked = [key for key in keys if key["meanwhile"] and not keep_keys]
        await tx.run(self._sql["revoke_keys"], **named, keys=[key["id"] for key in revoked])
        return PasswordResetResult(found, revoked, [key for key in keys if key not in revoked])

    async def sign_out(self, tx: Transaction, scope: Scope, user: str) -> None:
        """End every session of a user, access tokens included; API keys go on. Errors as for `change_user`."""
        await self._require_other_user(tx, scope, user)
        await tx.run(self._sql["end_sessions"], user=user, tenant=scope.tenant)

    async def leave(self, tx: Transaction, scope: Scope, user: str) -> None:
        """Take somebody out of the workspace; what they made stays, and so does their account. Their access tokens end.

        Raises:
            NotFound: they are not in it.
            Conflict: it is whoever asks.
        """
        await self._require_other_user(tx, scope, user)
        named = {**scope.keys, "user": user}
        if await tx.one(self._sql["leave_workspace"], **named) is None:
            raise NotFound(f"user {user} in this workspace")

    async def _require_user(self, tx: Transaction, scope: Scope, user: str) -> Row:
        row = await tx.one(self._sql["user"], user=user, **scope.keys)
        if row is None:
            raise NotFound(f"user {user}")
        return row

    async def _require_other_user(self, tx: Transaction, scope: Scope, user: str) -> Row:
        """Somebody else: an administrator who takes their own rights away may be the last one."""
        if user == scope.user:
            raise Conflict("this is you", fix="Let another administrator do it.")
        return await self._require_user(tx, scope, user)

    async def add_user(
        self, tx: Transaction, scope: Scope, email: str, role: Role, tenant_role: Role | None, password_hash: str
    ) -> tuple[UserId, bool]:
        """Give somebody a role in the workspace; a user of the own tenant keeps their password.

        Args:
            tx: the caller's.
            scope: who asks, and for which workspace.
            email: lower case.
            role: in the workspace; it says nothing about the tenant.
            tenant_role: with None a new user is a viewer there, and a known one stays what they are.
            password_hash: for a new user.

        Returns:
            The user, and whether they are new.

        Raises:
            Conflict: the e-mail belongs to a user of another tenant, or to whoever asks: an administrator who takes
                their own rights away may be the last one.
        """
        row = await tx.one(self._sql["user_by_email"], email=email, tenant=scope.tenant)
        fresh = row is None
        if row is not None and str(row["id"]) == scope.user:
            raise Conflict("this is you", fix="Let another administrator change your role.")
        if row is None:
            try:
                row = await tx.one(
                    self._sql["add_user"],
                    tenant=scope.tenant,
                    email=email,
                    hash=password_hash,
                    role=tenant_role or Role.VIEWER,
                )
            except psycopg.errors.UniqueViolation as error:
                raise Conflict(f"{email} cannot be added", fix="Use another e-mail address.") from error
        elif tenant_role is not None:
            await tx.run(self._sql["set_tenant_role"], user=row["id"], tenant=scope.tenant, role=tenant_role)
        assert row is not None
        await self._join_workspace(tx, scope.tenant, row["id"], scope.workspace, role)
        return UserId(str(row["id"])), fresh

    async def keys(self, scope: Scope, owner: UserId | None, skip: int, limit: int) -> list[Row]:
        """API keys that live; of one owner, or with None of all."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["keys"], **scope.keys, user=owner, skip=skip, limit=limit)

    async def add_key(
        self, tx: Transaction, scope: Scope, name: str, role: Role, prefix: str, secret: str, session: str | None
    ) -> Row:
        """Remember a key by its hash, and the session in which it was made."""
        row = await tx.one(
            self._sql["add_key"],
            **scope.keys,
            user=scope.user,
            name=name,
            role=role,
            prefix=prefix,
            hash=secret_hash(secret),
            session=session,
        )
        assert row is not None
        return row

    async def revoke_key(self, tx: Transaction, scope: Scope, key: str, owner: UserId | None) -> None:
        """End a key.

        Raises:
            NotFound: there is none, or it is not `owner`'s.
        """
        named = {**scope.keys}
        if await tx.one(self._sql["revoke_key"], **named, key=key, user=owner) is None:
            raise NotFound(f"API key {key}")

    async def _join_workspace(self, tx: Transaction, tenant: str, user: object, workspace: object, role: Role) -> None:
        await tx.run(self._sql["join_workspace"], tenant=tenant, user=user, workspace=workspace, role=role)
