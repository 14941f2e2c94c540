"""People who sign in by a provider: whom they are here, and what the provider gives them and takes away again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cluster.basics.errors import Conflict, Forbidden
from cluster.basics.scope import Role, Scope, TenantId, UserId
from cluster.state.db.postgres import Row, SqlStore, Transaction, unique_or_conflict
from cluster.state.identity.identity import NO_WORKSPACE


class NotLinked(Forbidden):
    """Somebody else may have this e-mail address here."""

    code = "account_not_linked"
    fix = "Sign in with the password, or have an administrator choose another address for one of the two."


class NothingGranted(Forbidden):
    """No rule gives you anything here."""

    code = "nothing_granted"
    fix = "Ask an administrator for a rule (auth.providers_file) that names one of your groups, or for a membership."


class AccountDisabled(Forbidden):
    """This account is disabled."""

    code = "account_disabled"
    fix = "Ask an administrator of your tenant."


@dataclass(frozen=True, slots=True)
class ExternalPerson:
    """Somebody as a provider has shown them to be.

    Attributes:
        provider: its name here.
        subject: its own, lasting name for them.
        email: lower case; None where the provider does not vouch for one.
    """

    provider: str
    subject: str
    email: str | None


@dataclass(frozen=True, slots=True)
class GrantedRights:
    """What the rules give somebody: roles by workspace (its name or id), one in the tenant, and groups by name."""

    workspaces: Mapping[str, Role]
    tenant_role: Role
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignInHandoff:
    """A sign-in that waits for whoever asked for it; `challenge` is S256 of what they have to show (RFC 7636)."""

    hash: str
    user: UserId
    challenge: str
    provider: str
    expires: datetime


class ExternalAccountStore(SqlStore, queries="external_accounts.sql"):
    """Changes happen in the caller's transaction, which acts inside the provider's tenant."""

    async def sign_in(
        self,
        tx: Transaction,
        tenant: TenantId,
        person: ExternalPerson,
        rights: GrantedRights,
        *,
        unknown: str,
        now: datetime,
    ) -> UserId:
        """The user whom this person is, with the rights that the provider gives them now.

        An account that has the address already is theirs from now on, unless it administers the tenant: a provider must
        not be able to hand out the accounts that keep it in check. An address that changes at the provider changes
        nothing here, as documents name their readers by it.

        Args:
            unknown: hash of a password that nobody knows.

        Raises:
            NotLinked: the address is an administrator's, somebody's of another tenant, or not vouched for.
            NothingGranted: neither rules nor memberships given by hand let them into a workspace.
            AccountDisabled: they are.
        """
        named = {"tenant": tenant, "provider": person.provider, "subject": person.subject}
        row = await tx.one(self._sql["account"], **named)
        if row is None:
            row = await self._link(tx, named, person, unknown)
        if row["disabled"]:
            raise AccountDisabled
        user = UserId(str(row["id"]))
        await tx.run(self._sql["touch"], **named, now=now)
        await self._grant(tx, {"tenant": tenant, "provider": person.provider, "user": user}, rights)
        if await tx.one(self._sql["any_membership"], tenant=tenant, user=user) is None:
            raise NothingGranted
        return user

    async def _link(self, tx: Transaction, named: Mapping[str, str], person: ExternalPerson, unknown: str) -> Row:
        if person.email is None:
            raise NotLinked("the provider does not vouch for an e-mail address")
        row = await tx.one(self._sql["user_by_email"], tenant=named["tenant"], email=person.email)
        if row is None:
            new = {"tenant": named["tenant"], "provider": person.provider, "email": person.email, "hash": unknown}
            try:
                with unique_or_conflict("the address is taken"):
                    row = {**await tx.only(self._sql["add_user"], **new), "disabled": False}
            except Conflict as error:  # by somebody of another tenant, of whom nothing is said
                raise NotLinked from error
        elif Role(row["role"]) is Role.ADMIN:
            raise NotLinked("it is an administrator's")
        await tx.run(self._sql["link"], **named, user=row["id"])
        return row

    async def _grant(self, tx: Transaction, whom: Mapping[str, str], rights: GrantedRights) -> None:
        found = await tx.all(self._sql["workspaces"], tenant=whom["tenant"], wanted=list(rights.workspaces))
        roles: dict[str, Role] = {}
        for row in found:
            given = [rights.workspaces[key] for key in (row["name"], str(row["id"])) if key in rights.workspaces]
            roles[str(row["id"])] = max(given, key=list(Role).index)
        await tx.run(self._sql["drop_lapsed_memberships"], **whom, workspaces=list(roles))
        for workspace, role in roles.items():
            await tx.run(self._sql["put_membership"], **whom, workspace=workspace, role=role)
        await tx.run(self._sql["set_tenant_role"], **whom, role=rights.tenant_role)
        names = list(rights.groups)
        await tx.run(self._sql["add_groups"], tenant=whom["tenant"], names=names)
        await tx.run(self._sql["drop_lapsed_groups"], **whom, names=names)
        await tx.run(self._sql["join_groups"], **whom, names=names)

    async def keep(self, tx: Transaction, tenant: TenantId, handoff: SignInHandoff, now: datetime) -> None:
        """Keep a sign-in for whoever asked for it, and forget those that ran out."""
        await tx.run(self._sql["sweep_handoffs"], tenant=tenant, now=now)
        named = {"hash": handoff.hash, "user": handoff.user, "challenge": handoff.challenge}
        await tx.run(
            self._sql["keep_handoff"], **named, tenant=tenant, provider=handoff.provider, expires=handoff.expires
        )

    async def spend(self, tenant: TenantId, code_hash: str) -> SignInHandoff | None:
        """The sign-in of a code, which is of no more use; None where there is none."""
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            row = await tx.one(self._sql["spend_handoff"], hash=code_hash, tenant=tenant)
        if row is None:
            return None
        return SignInHandoff(
            code_hash, UserId(str(row["user_id"])), row["challenge"], row["provider"], row["expires_at"]
        )
