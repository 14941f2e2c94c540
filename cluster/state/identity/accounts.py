"""Tenants, workspaces, users and API keys as an administrator sees them: list, add, revoke."""

from dataclasses import dataclass
from uuid import uuid4

from cluster.basics.errors import Conflict
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.db.postgres import Row, SqlStore, Transaction, unique_or_conflict
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


class AccountStore(SqlStore, queries="identity.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    async def tenants(self, scope: Scope, skip: int, limit: int) -> list[Row]:
        """The own tenant and those below it."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["tenants"], tenant=scope.tenant, skip=skip, limit=limit)

    async def add_tenant(self, tx: Transaction, scope: Scope, name: str, email: str, password_hash: str) -> Row:
        """A tenant with a workspace `default` and an administrator. The transaction acts inside it afterwards.

        Raises Conflict where the name or the e-mail is taken.
        """
        tenant = uuid4()
        admin = {"tenant": tenant, "email": email.lower(), "hash": password_hash, "role": Role.ADMIN}
        with unique_or_conflict(f"the tenant {name} or the user {email} exists already"):
            await tx.run(self._sql["add_tenant"], id=tenant, name=name, tenant=scope.tenant)
            await tx.one(self._sql["enter_child"], id=tenant, tenant=scope.tenant)
            workspace = await tx.only(self._sql["add_workspace"], tenant=tenant, name="default")
            user = await tx.only(self._sql["add_user"], **admin)
        await self._join_workspace(tx, str(tenant), user["id"], workspace["id"], Role.ADMIN)
        return {"id": tenant, "name": name, "workspace_id": workspace["id"], "user_id": user["id"]}

    async def workspaces(self, scope: Scope, skip: int, limit: int) -> list[Row]:
        """Workspaces that the user belongs to."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["workspaces"], user=scope.user, tenant=scope.tenant, skip=skip, limit=limit)

    async def add_workspace(self, tx: Transaction, scope: Scope, name: str) -> Row:
        """A workspace of the tenant; who makes it administers it. Raises Conflict where the name is taken."""
        with unique_or_conflict(f"the workspace {name} exists already"):
            row = await tx.only(self._sql["add_workspace"], tenant=scope.tenant, name=name)
        await self._join_workspace(tx, scope.tenant, scope.user, row["id"], Role.ADMIN)
        return row

    async def users(
        self, scope: Scope, skip: int, limit: int, *, part: str | None = None, everywhere: bool = False
    ) -> tuple[list[Row], int]:
        """Users of the workspace with `part` in their e-mail address, and how many there are.

        With `everywhere` everybody of the tenant; `role` is None for who is not in the workspace.
        """
        queries, wanted = (self._sql["users"], self._sql["count_users"]), {"part": part, "everywhere": everywhere}
        async with self._db.transaction(scope) as tx:
            return await tx.page(*queries, **scope.keys, **wanted, skip=skip, limit=limit)

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
        Raises NotFound where the tenant has no such user, Conflict where it is whoever asks.
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
                await tx.one(self._sql["lock_user"], **named)
                await tx.run(self._sql["end_sessions"], **named)
        return await self._require_user(tx, scope, user)

    async def reset_password(
        self, tx: Transaction, scope: Scope, user: str, password_hash: str, *, keep_keys: bool = False
    ) -> PasswordResetResult:
        """A new password, to be changed at the next login; every session ends, access tokens included.

        With `keep_keys` no API key is revoked. Raises as `change_user`.
        """
        found = await self._require_other_user(tx, scope, user)
        named = {"user": user, "tenant": scope.tenant}
        await tx.run(self._sql["reset_password"], **named, hash=password_hash)
        await tx.one(self._sql["lock_user"], **named)
        await tx.run(self._sql["end_sessions"], **named)
        keys = await tx.all(self._sql["keys_of_user"], **named)
        revoked = [key for key in keys if key["meanwhile"] and not keep_keys]
        await tx.run(self._sql["revoke_keys"], **named, keys=[key["id"] for key in revoked])
        return PasswordResetResult(found, revoked, [key for key in keys if key not in revoked])

    async def sign_out(self, tx: Transaction, scope: Scope, user: str) -> None:
        """End every session of a user, access tokens included; API keys go on. Errors as for `change_user`."""
        await self._require_other_user(tx, scope, user)
        named = {"user": user, "tenant": scope.tenant}
        await tx.one(self._sql["lock_user"], **named)
        await tx.run(self._sql["end_sessions"], **named)

    async def leave(self, tx: Transaction, scope: Scope, user: str) -> None:
        """Take somebody out of the workspace; what they made stays, and so does their account. Their access tokens end.

        Raises NotFound where they are not in it, Conflict where it is whoever asks.
        """
        await self._require_other_user(tx, scope, user)
        await tx.required(f"user {user} in this workspace", self._sql["leave_workspace"], **scope.keys, user=user)

    async def require_user(self, scope: Scope, user: str) -> Row:
        """Somebody of the tenant. Raises NotFound."""
        async with self._db.transaction(scope) as tx:
            return await self._require_user(tx, scope, user)

    async def _require_user(self, tx: Transaction, scope: Scope, user: str) -> Row:
        return await tx.required(f"user {user}", self._sql["user"], user=user, **scope.keys)

    async def _require_other_user(self, tx: Transaction, scope: Scope, user: str) -> Row:
        """Somebody else: an administrator who takes their own rights away may be the last one."""
        if user == scope.user:
            raise Conflict("this is you", fix="Let another administrator do it.")
        return await self._require_user(tx, scope, user)

    async def add_user(
        self, tx: Transaction, scope: Scope, email: str, role: Role, tenant_role: Role | None, password_hash: str
    ) -> tuple[UserId, bool]:
        """Give somebody a role in the workspace; the user, and whether they are new.

        A user of the own tenant keeps their password; `email` is in lower case. With no `tenant_role` a new user is a
        viewer in the tenant, and a known one stays what they are.

        Raises:
            Conflict: the e-mail belongs to a user of another tenant, or to whoever asks: an administrator who takes
                their own rights away may be the last one.
        """
        row = await tx.one(self._sql["user_by_email"], email=email, tenant=scope.tenant)
        fresh = row is None
        if row is not None and str(row["id"]) == scope.user:
            raise Conflict("this is you", fix="Let another administrator change your role.")
        if row is None:
            new = {"tenant": scope.tenant, "email": email, "hash": password_hash, "role": tenant_role or Role.VIEWER}
            with unique_or_conflict(f"{email} cannot be added", fix="Use another e-mail address."):
                row = await tx.only(self._sql["add_user"], **new)
        elif tenant_role is not None:
            await tx.run(self._sql["set_tenant_role"], user=row["id"], tenant=scope.tenant, role=tenant_role)
        await self._join_workspace(tx, scope.tenant, row["id"], scope.workspace, role)
        return UserId(str(row["id"])), fresh

    async def keys(self, scope: Scope, owner: UserId | None, skip: int, limit: int) -> list[Row]:
        """API keys that live; of one owner, or with None of all."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["keys"], **scope.keys, user=owner, skip=skip, limit=limit)

    async def add_key(
        self,
        tx: Transaction,
        scope: Scope,
        name: str,
        role: Role,
        prefix: str,
        secret: str,
        session: str | None,
        *,
        impersonate: bool = False,
    ) -> Row:
        """Remember a key by its hash, the session in which it was made, and whether it may act for people."""
        key = {"name": name, "role": role, "prefix": prefix, "hash": secret_hash(secret), "session": session}
        return await tx.only(self._sql["add_key"], **scope.keys, user=scope.user, **key, impersonate=impersonate)

    async def revoke_key(self, tx: Transaction, scope: Scope, key: str, owner: UserId | None) -> None:
        """End a key. Raises NotFound where there is none, or it is not `owner`'s."""
        await tx.required(f"API key {key}", self._sql["revoke_key"], **scope.keys, key=key, user=owner)

    async def _join_workspace(self, tx: Transaction, tenant: str, user: object, workspace: object, role: Role) -> None:
        await tx.run(self._sql["join_workspace"], tenant=tenant, user=user, workspace=workspace, role=role)
