"""Identity of the caller: by password, refresh token or API key, in one workspace. Secrets only as hashes."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from cluster.basics.errors import Unauthenticated
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.db.postgres import Row, SqlStore, Transaction, field_values

NO_WORKSPACE = WorkspaceId("")
_ANY = {"session": None, "version": None}  # whoever is looked up without an access token


class SignInAgain(Unauthenticated):
    """This refresh token was spent or has run out."""

    code = "refresh_refused"
    fix = "Sign in again with POST /api/auth/login."


class TokenReused(SignInAgain):
    """This refresh token was spent before; every session of its login has been ended."""

    code = "refresh_reused"

    def __init__(self, scope: Scope) -> None:
        """`scope` is that of the user whose token it was."""
        super().__init__("somebody may have a copy of it")
        self.scope = scope


@dataclass(frozen=True, slots=True)
class WorkspaceMember:
    """A user in one workspace.

    Attributes:
        email: lower case.
        role: what the user may do in the workspace.
        tenant_role: what the user may do across the tenant.
        must_change_password: nothing else is allowed before.
        key: the API key that was shown, None for a person.
        first_tenant: whether the tenant has no parent; its people run the whole system.
        session: the login that the access token descends from; None for a key and for who has shown no token.
        token_version: what an access token of the user has to carry to be good.
        groups: names of the groups of the tenant that the user belongs to.
        may_impersonate: the API key may act for people of its workspace.
        by_service: the API key is a front end's, which acts for this person.
    """

    tenant: TenantId
    workspace: WorkspaceId
    user: UserId
    email: str
    role: Role
    tenant_role: Role
    must_change_password: bool = False
    key: str | None = None
    first_tenant: bool = False
    session: str | None = None
    token_version: int = field(default=0, compare=False)
    groups: tuple[str, ...] = ()
    may_impersonate: bool = False
    by_service: bool = False

    @property
    def scope(self) -> Scope:
        """The scope of this member's reads."""
        principals = (f"user:{self.email}", f"role:{self.role}", *(f"group:{name}" for name in self.groups))
        by_key = f"{'service' if self.by_service else 'key'}:{self.key}"
        shown = by_key if self.key else f"session:{self.session}" if self.session else None
        return Scope(self.tenant, self.workspace, principals, self.user, self.role, shown)


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with somebody who began something.

    Attributes:
        member: with their rights of now; None where they are disabled, gone or no member any more.
        ended: the login was ended, or the API key revoked, by which they began it; not that it ran out.
    """

    member: WorkspaceMember | None
    ended: bool


@dataclass(frozen=True, slots=True)
class PasswordCredentials:
    """The password hash of a user."""

    tenant: TenantId
    user: UserId
    password_hash: str

    @property
    def scope(self) -> Scope:
        """The user before they chose a workspace; no workspace's rows are seen."""
        return Scope(self.tenant, NO_WORKSPACE, user=self.user)


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A refresh token to be remembered; `family` is the login it descends from."""

    hash: str
    expires: datetime
    family: UUID


def secret_hash(secret: str) -> str:
    """SHA-256 in hex: enough for secrets of 256 random bits, unlike for passwords."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class IdentityStore(SqlStore, queries="identity.sql"):
    """Finds out who is asking, and keeps sessions."""

    async def credentials(self, email: str) -> PasswordCredentials | None:
        """By e-mail, in any tenant; None where nobody has it."""
        found = await self._find_owner("email", email.lower())
        if found is None:
            return None
        async with self._db.transaction(_tenant_scope(found["tenant_id"])) as tx:
            row = await tx.one(self._sql["credentials"], user=found["user_id"], tenant=found["tenant_id"])
        if row is None:
            return None
        return PasswordCredentials(_tenant_id(found), UserId(str(row["id"])), row["password_hash"])

    async def credentials_of(self, member: WorkspaceMember) -> PasswordCredentials:
        """Of somebody who is signed in. Raises NotFound where there is none."""
        async with self._db.transaction(member.scope) as tx:
            named = {"user": member.user, "tenant": member.tenant}
            row = await tx.required(f"user {member.user}", self._sql["credentials"], **named)
        return PasswordCredentials(member.tenant, member.user, row["password_hash"])

    async def member(
        self, tenant: TenantId, user: UserId, workspace: WorkspaceId | None = None
    ) -> WorkspaceMember | None:
        """The user in that workspace, or in their oldest; None where disabled, gone or not a member."""
        async with self._db.transaction(_tenant_scope(tenant)) as tx:
            row = await tx.one(self._sql["member"], user=user, tenant=tenant, workspace=workspace, **_ANY)
        return None if row is None else _as_member(row)

    async def standing(self, scope: Scope) -> Standing:
        """Of the scope's user, which it has, in its workspace and by the credential that they have shown."""
        kind, _, shown = (scope.credential or "").partition(":")
        named = {"user": scope.user, "tenant": scope.tenant}
        async with self._db.transaction(_tenant_scope(scope.tenant)) as tx:
            row = await tx.one(self._sql["member"], **named, workspace=scope.workspace, **_ANY)
            given = {"session": shown if kind == "session" else None, "key": None if kind == "session" else shown}
            ended = await tx.only(self._sql["credential_ended"], **named, **given) if kind else {"ended": False}
            member = None if row is None else _as_member(row)
            if kind == "service" and member is not None:
                least = await self._least_of_service(tx, scope, shown)
                return Standing(replace(member, role=least_role(member.role, *least)), ended["ended"] or not least)
        return Standing(member, ended["ended"])

    async def _least_of_service(self, tx: Transaction, scope: Scope, key: str) -> tuple[Role, ...]:
        """What a service key and its owner may; nothing where either is gone."""
        owner = await tx.one(self._sql["key_owner"], key=key, tenant=scope.tenant)
        if owner is None:
            return ()
        whom = {"user": owner["user_id"], "tenant": scope.tenant, "workspace": scope.workspace}
        row = await tx.one(self._sql["member"], **whom, **_ANY)
        return () if row is None else (Role(owner["role"]), Role(row["role"]))

    async def member_by_token(
        self, tenant: TenantId, user: UserId, workspace: WorkspaceId | None, session: str, version: int
    ) -> WorkspaceMember | None:
        """As `member`, for an access token: None also where its session has ended or the user's rights are others now.

        `session` is the login that the token descends from, `version` the user's `token_version` when it was made.
        """
        named = {"user": user, "tenant": tenant, "workspace": workspace, "session": session, "version": version}
        async with self._db.transaction(_tenant_scope(tenant)) as tx:
            row = await tx.one(self._sql["member"], **named)
        return None if row is None else replace(_as_member(row), session=session)

    async def member_by_key(self, secret: str) -> WorkspaceMember | None:
        """The user behind an API key, with no more rights than the key and the user both have now."""
        found = await self._find_owner("api_key", secret_hash(secret))
        if found is None:
            return None
        named = {"key": found["key_id"], "tenant": found["tenant_id"]}
        whom = {"user": found["user_id"], "tenant": found["tenant_id"], "workspace": found["workspace_id"]}
        async with self._db.transaction(_tenant_scope(found["tenant_id"])) as tx:
            key = await tx.one(self._sql["key"], **named)
            if key is None:
                return None
            if (row := await tx.one(self._sql["member"], **whom, **_ANY)) is None:
                return None
            if key["unwritten"]:
                await tx.run(self._sql["touch_key"], **named)
        return _as_member(row, key)

    async def member_by_service(self, secret: str, email: str) -> WorkspaceMember | None:
        """A person of a key's workspace for whom the key acts; None where the key may not, or nobody has the address.

        They have no more rights than both, none across the tenant, and their own groups.
        """
        owner = await self.member_by_key(secret)
        if owner is None or not owner.may_impersonate or owner.must_change_password:
            return None
        async with self._db.transaction(_tenant_scope(owner.tenant)) as tx:
            found = await tx.one(self._sql["user_by_email"], email=email, tenant=owner.tenant)
            whom = {"user": found["id"], "tenant": owner.tenant, "workspace": owner.workspace} if found else None
            row = None if whom is None else await tx.one(self._sql["member"], **whom, **_ANY)
        if row is None:
            return None
        person = _as_member(row)
        return replace(
            person,
            role=least_role(person.role, owner.role),
            tenant_role=Role.VIEWER,
            must_change_password=False,  # none was shown
            key=owner.key,
            by_service=True,
        )

    async def remember(self, tx: Transaction, member: WorkspaceMember, refresh: RefreshToken, now: datetime) -> None:
        """Keep a refresh token's hash, and forget the user's that ran out."""
        named = {"user": member.user, "tenant": member.tenant}
        await tx.run(self._sql["sweep_sessions"], **named, now=now)
        await tx.run(self._sql["keep_refresh"], **named, workspace=member.workspace, **field_values(refresh))

    async def rotate(self, old: str, new: RefreshToken, now: datetime) -> WorkspaceMember:
        """Spend a refresh token for a new one of the same family.

        `old` is the hash of the token that was shown; the family of `new` is replaced by the old one's.

        Raises:
            SignInAgain: unknown or run out.
            TokenReused: spent before. Somebody else may have a copy, so the session ends, its access tokens included.
        """
        found = await self._find_owner("refresh", old)
        if found is None:
            raise SignInAgain
        tenant, member, reused = found["tenant_id"], None, 0
        async with self._db.transaction(_tenant_scope(tenant)) as tx:
            await tx.one(self._sql["lock_user"], user=found["user_id"], tenant=tenant)
            spent = await tx.one(self._sql["use_refresh"], hash=old, tenant=tenant, now=now)
            if spent is None:
                reused = await tx.run(self._sql["end_reused"], hash=old, tenant=tenant)
            else:
                whom = {"user": spent["user_id"], "tenant": tenant, "workspace": spent["workspace_id"]}
                if (row := await tx.one(self._sql["member"], **whom, **_ANY)) is not None:
                    member = replace(_as_member(row), session=str(spent["family"]))
                    await self.remember(tx, member, RefreshToken(new.hash, new.expires, spent["family"]), now)
        if reused:
            raise TokenReused(Scope(_tenant_id(found), NO_WORKSPACE, user=UserId(str(found["user_id"]))))
        if member is None:
            raise SignInAgain
        return member

    async def end(self, tx: Transaction, member: WorkspaceMember, token: str) -> None:
        """End the session that a refresh token (its hash) belongs to: its refresh tokens and access tokens."""
        await tx.one(self._sql["lock_user"], user=member.user, tenant=member.tenant)
        await tx.run(self._sql["end_session"], hash=token, tenant=member.tenant)

    async def end_all(self, tx: Transaction, tenant: TenantId, user: UserId) -> None:
        """End every session of a user."""
        await tx.one(self._sql["lock_user"], user=user, tenant=tenant)
        await tx.run(self._sql["end_sessions"], user=user, tenant=tenant)

    async def change_password(self, tx: Transaction, member: WorkspaceMember, password_hash: str) -> None:
        """Set it and end every session of the user; access tokens end with it, API keys do not."""
        named = {"user": member.user, "tenant": member.tenant}
        await tx.run(self._sql["set_password"], **named, hash=password_hash)
        await self.end_all(tx, member.tenant, member.user)

    async def _find_owner(self, kind: str, value: str) -> Row | None:
        async with self._db.transaction() as tx:
            return await tx.one(self._sql["find"], kind=kind, value=value)


def _tenant_scope(tenant: object) -> Scope:
    """Enough to read who belongs to a tenant, and no workspace's rows."""
    return Scope(TenantId(str(tenant)), NO_WORKSPACE)


def _tenant_id(row: Row) -> TenantId:
    return TenantId(str(row["tenant_id"]))


def _as_member(row: Row, key: Row | None = None) -> WorkspaceMember:
    role, tenant_role = Role(row["role"]), Role(row["tenant_role"])
    if key is not None:
        role, tenant_role = least_role(role, Role(key["role"])), least_role(tenant_role, Role(key["role"]))
    return WorkspaceMember(
        tenant=_tenant_id(row),
        workspace=WorkspaceId(str(row["workspace_id"])),
        user=UserId(str(row["user_id"])),
        email=row["email"],
        role=role,
        tenant_role=tenant_role,
        must_change_password=row["must_change_password"],
        key=None if key is None else str(key["id"]),
        may_impersonate=key is not None and key["may_impersonate"],
        first_tenant=row["first_tenant"],
        token_version=row["token_version"],
        groups=tuple(row["groups"]),
    )


def least_role(*roles: Role) -> Role:
    """The one with the fewest rights."""
    return min(roles, key=list(Role).index)
