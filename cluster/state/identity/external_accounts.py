"""People who sign in by a provider: whom they are here, and what the provider gives them and takes away again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cluster.basics.errors import Conflict, Forbidden, Unauthenticated
from cluster.basics.scope import Role, Scope, TenantId, UserId
from cluster.state.db.postgres import Row, SqlStore, Transaction, unique_or_conflict
from cluster.state.identity.identity import NO_WORKSPACE, WorkspaceMember


class NotLinked(Forbidden):
    """This e-mail address belongs to another account here."""

    code = "account_not_linked"
    fix = "Sign in with that account's password, or have the provider give another address."


class NothingGranted(Forbidden):
    """No rule gives you anything here."""

    code = "nothing_granted"
    fix = "Ask an administrator for a rule (auth.providers_file) that names one of your groups, or for a membership."


class NoLongerLinked(Unauthenticated):
    """Your account was unlinked from this provider a moment ago."""

    code = "no_longer_linked"
    fix = "Sign in again; if it comes back, ask an administrator of your tenant."


class AccountDisabled(Forbidden):
    """This account is disabled."""

    code = "account_disabled"
    fix = "Ask an administrator of your tenant."


@dataclass(frozen=True, slots=True)
class ExternalPerson:
    """Somebody as a provider has shown them to be.

    Attributes:
        provider: its name here.
        issuer: its own name, in which a subject means somebody.
        subject: its own, lasting name for them.
        email: lower case; None where the provider does not vouch for one.
    """

    provider: str
    issuer: str
    subject: str
    email: str | None


@dataclass(frozen=True, slots=True)
class GrantedRights:
    """What the rules give somebody: roles by workspace (its name or id), one in the tenant, and groups by name.

    `end` is the moment from which it counts no more unless they sign in again; None where there is none.
    """

    workspaces: Mapping[str, Role]
    tenant_role: Role
    groups: tuple[str, ...]
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExternalSignIn:
    """Who has signed in, and what came of it.

    Attributes:
        fresh: the person was not known before; linked to an account that was here, or given a new one.
        granted: they may enter a workspace now.
        changed: rights were given or taken away.
    """

    user: UserId
    fresh: bool
    granted: bool
    changed: bool


class AccountAtSignIn(StrEnum):
    """The account that somebody would have after a sign-in, or why they would have none."""

    LINKED = "linked"  # the one that they have had since an earlier sign-in
    JOINED = "joined"  # one that is here already and has their e-mail address
    NEW = "new"
    NOT_LINKED = "not_linked"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class SignInPreview:
    """A sign-in that nobody has begun.

    Attributes:
        workspaces: those that are here, by name.
        enters: some workspace would be open to them.
    """

    account: AccountAtSignIn
    workspaces: Mapping[str, Role]
    enters: bool


class SignedOutThere(Forbidden):
    """You have signed out at your organisation's provider."""

    code = "signed_out_there"
    fix = "Sign in again."


@dataclass(frozen=True, slots=True)
class SignInHandoff:
    """A sign-in that waits for whoever asked for it.

    `challenge` is S256 of what they have to show (RFC 7636), `session` the provider's name for theirs, or empty, and
    `issued` the moment in which the provider made the ID token.
    """

    hash: str
    user: UserId
    challenge: str
    provider: str
    expires: datetime
    session: str = ""
    issued: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProviderLogout:
    """A provider's word that somebody has signed out there.

    Attributes:
        provider: its name here.
        subject, session: whose sessions end; all of a subject's where no session is named. One may be empty.
        at: the moment of it, with room for two clocks; what began later here is not meant.
        made: the moment of it by the provider's own clock; a sign-in by an ID token of later is not meant.
    """

    provider: str
    issuer: str
    subject: str
    session: str
    at: datetime
    made: datetime


@dataclass(frozen=True, slots=True)
class _WorkspaceRole:
    """A role in a workspace that is here."""

    id: str
    name: str
    role: Role


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
    ) -> ExternalSignIn:
        """The user whom this person is, with the rights that the provider gives them now, which may be none.

        An account that has the address already is theirs from now on, unless it administers something or is somebody's:
        a provider must not be able to hand out the accounts that keep it in check. An address that changes at the
        provider changes nothing here, as documents name their readers by it.

        Args:
            unknown: hash of a password that nobody knows.

        Raises:
            NotLinked: the address is such an account's, somebody's of another tenant, or not vouched for.
            AccountDisabled: they are.
        """
        named = {"tenant": tenant, "issuer": person.issuer, "subject": person.subject}
        await self.lock_subject(tx, tenant, person.issuer, person.subject)
        known = await tx.one(self._sql["account"], **named)
        row = known or await self._link(tx, named, person, unknown)
        if row["disabled"]:
            raise AccountDisabled
        user = UserId(str(row["id"]))
        await tx.run(self._sql["touch"], **named, now=now, end=rights.end)
        changed = await self._grant(tx, {"tenant": tenant, "provider": person.provider, "user": user}, rights)
        granted = await tx.one(self._sql["any_membership"], tenant=tenant, user=user) is not None
        return ExternalSignIn(user, known is None, granted, changed)

    async def lock_subject(self, tx: Transaction, tenant: str, issuer: str, subject: str) -> None:
        """Until the transaction ends whoever signs in as this subject, or unlinks it, waits."""
        await tx.one(self._sql["lock_subject"], tenant=tenant, issuer=issuer, subject=subject)

    async def preview(self, tenant: TenantId, person: ExternalPerson, rights: GrantedRights) -> SignInPreview:
        """Whom a sign-in would make of this person, and what it would open; nothing is written."""
        named = {"tenant": tenant, "issuer": person.issuer, "subject": person.subject}
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            row, account = await tx.one(self._sql["account"], **named), AccountAtSignIn.LINKED
            if row is None:
                row = await tx.one(self._sql["user_by_email"], tenant=tenant, email=person.email)
                account = AccountAtSignIn.NEW if row is None else AccountAtSignIn.JOINED
                if person.email is None or (row is not None and not row["free"]):
                    account = AccountAtSignIn.NOT_LINKED
            if row is not None and row["disabled"]:
                account = AccountAtSignIn.DISABLED
            roles = await self._roles_here(tx, tenant, rights.workspaces)
            whom = {"tenant": tenant, "user": None if row is None else row["id"], "provider": person.provider}
            kept = row is not None and await tx.one(self._sql["kept_membership"], **whom) is not None
        refused = account in (AccountAtSignIn.NOT_LINKED, AccountAtSignIn.DISABLED)
        return SignInPreview(account, {one.name: one.role for one in roles}, not refused and bool(roles or kept))

    async def known_workspaces(self, tenant: TenantId, wanted: Sequence[str]) -> set[str]:
        """Of these names and ids those that workspaces of the tenant have."""
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            rows = await tx.all(self._sql["workspaces"], tenant=tenant, wanted=list(wanted))
        return {text for row in rows for text in (row["name"], str(row["id"]))} & set(wanted)

    async def user_of(self, tenant: TenantId, issuer: str, subject: str) -> UserId | None:
        """Whom an issuer's subject is here; None for somebody who has never signed in, or is disabled."""
        named = {"tenant": tenant, "issuer": issuer, "subject": subject}
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            row = await tx.one(self._sql["account"], **named)
        return None if row is None or row["disabled"] else UserId(str(row["id"]))

    async def _link(self, tx: Transaction, named: Mapping[str, str], person: ExternalPerson, unknown: str) -> Row:
        if person.email is None:
            raise NotLinked("the provider does not vouch for an e-mail address")
        tenant, new = named["tenant"], {"provider": person.provider, "hash": unknown}
        row = await tx.one(self._sql["user_by_email"], tenant=tenant, email=person.email)
        if row is not None and not row["free"]:
            raise NotLinked("its account administers something, or is another person's")
        try:
            with unique_or_conflict("taken"):
                if row is None:
                    made = await tx.only(self._sql["add_user"], tenant=tenant, email=person.email, **new)
                    row = {**made, "disabled": False}
                await tx.run(self._sql["link"], **named, provider=person.provider, user=row["id"])
        except Conflict as error:  # by somebody of another tenant, of whom nothing is said
            raise NotLinked from error
        await tx.run(self._sql["drop_first_password"], tenant=tenant, user=row["id"], hash=unknown)
        return row

    async def _grant(self, tx: Transaction, whom: Mapping[str, str], rights: GrantedRights) -> bool:
        """True where that gave or took anything."""
        roles = {one.id: one.role for one in await self._roles_here(tx, whom["tenant"], rights.workspaces)}
        names = list(rights.groups)
        changed = await tx.run(self._sql["drop_lapsed_memberships"], **whom, workspaces=list(roles))
        for workspace, role in roles.items():
            changed += await tx.run(self._sql["put_membership"], **whom, workspace=workspace, role=role)
        changed += await tx.run(self._sql["set_tenant_role"], **whom, role=rights.tenant_role)
        await tx.run(self._sql["add_groups"], tenant=whom["tenant"], names=names)
        changed += await tx.run(self._sql["drop_lapsed_groups"], **whom, names=names)
        changed += await tx.run(self._sql["join_groups"], **whom, names=names)
        return changed > 0

    async def _roles_here(self, tx: Transaction, tenant: str, given: Mapping[str, Role]) -> list["_WorkspaceRole"]:
        """The roles for those workspaces that are here; of several for one, the highest."""
        found = await tx.all(self._sql["workspaces"], tenant=tenant, wanted=list(given))
        roles = []
        for row in found:
            known = [given[key] for key in (row["name"], str(row["id"])) if key in given]
            roles.append(_WorkspaceRole(str(row["id"]), row["name"], max(known, key=list(Role).index)))
        return roles

    async def keep(self, tx: Transaction, tenant: TenantId, issuer: str, handoff: SignInHandoff, now: datetime) -> None:
        """Keep a sign-in for whoever asked for it, and forget those that ran out. Raises SignedOutThere."""
        await self._require_not_logged_out(tx, tenant, issuer, handoff)
        await tx.run(self._sql["sweep_handoffs"], tenant=tenant, now=now)
        named = {"hash": handoff.hash, "user": handoff.user, "challenge": handoff.challenge}
        await tx.run(
            self._sql["keep_handoff"],
            **named,
            tenant=tenant,
            provider=handoff.provider,
            expires=handoff.expires,
            session=handoff.session,
            issued=handoff.issued,
        )

    async def spend(self, tenant: TenantId, code_hash: str) -> SignInHandoff | None:
        """The sign-in of a code, which is of no more use; None where there is none."""
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            row = await tx.one(self._sql["spend_handoff"], hash=code_hash, tenant=tenant)
        if row is None:
            return None
        user, session = UserId(str(row["user_id"])), row["provider_session"] or ""
        told = (row["challenge"], row["provider"], row["expires_at"], session, row["issued_at"])
        return SignInHandoff(code_hash, user, *told)

    async def follow(
        self, tx: Transaction, member: WorkspaceMember, issuer: str, handoff: SignInHandoff | None, now: datetime
    ) -> None:
        """Let a login end with the provider's session that it came from, and with the link to the provider.

        `handoff`: None where a directory has let them in, which knows no sessions.

        Raises:
            NoLongerLinked: the link has ended since they were let in.
            SignedOutThere: the provider's session has ended.
        """
        named = {"tenant": member.tenant, "user": member.user}
        await tx.run(self._sql["sweep_followed"], **named)
        session = handoff.session if handoff else ""
        login = {"family": member.session, "issuer": issuer, "session": session, "now": now}
        if not await tx.run(self._sql["follow"], **named, **login):
            raise NoLongerLinked
        if handoff is not None:
            await self._require_not_logged_out(tx, member.tenant, issuer, handoff)

    async def note_logout(self, tenant: TenantId, said: ProviderLogout, now: datetime) -> None:
        """Let no sign-in that is on its way pass by a sign-out; `log_out` finds those that were faster.

        In transactions of its own: nothing is locked while it waits for those.
        """
        named = {"tenant": tenant, "issuer": said.issuer}
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            await tx.run(self._sql["sweep_logouts"], tenant=tenant, now=now)
            word = {"session": said.session, "subject": said.subject, "made": said.made}
            await tx.run(self._sql["note_logout"], **named, **word, now=now)
        async with self._db.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
            await tx.one(self._sql["wait_for_sign_ins"], **named)

    async def _require_not_logged_out(
        self, tx: Transaction, tenant: TenantId, issuer: str, handoff: SignInHandoff
    ) -> None:
        named = {"tenant": tenant, "issuer": issuer}
        await tx.one(self._sql["be_waited_for"], **named)
        its = {"session": handoff.session, "issued": handoff.issued, "user": handoff.user}
        if await tx.one(self._sql["logged_out"], **named, **its) is not None:
            raise SignedOutThere

    async def log_out(self, tx: Transaction, tenant: TenantId, said: ProviderLogout) -> list[UserId]:
        """End the logins that a provider means, access tokens included; whose they were."""
        named = {"tenant": tenant, "issuer": said.issuer, "session": said.session}
        await tx.all(self._sql["lock_meant"], **named, at=said.at)
        await tx.run(self._sql["drop_handoffs"], **named, subject=said.subject, provider=said.provider)
        rows = await tx.all(self._sql["log_out"], **named, subject=said.subject, at=said.at)
        return [UserId(str(row["user_id"])) for row in rows]
