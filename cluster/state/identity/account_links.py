"""Links between accounts and the sources that they come from (OpenID, LDAP, SCIM): what each gives, and its end."""

from dataclasses import dataclass

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from cluster.state.identity.external_accounts import ExternalAccountStore


@dataclass(frozen=True, slots=True)
class UnlinkedAccount:
    """What went with a link.

    Attributes:
        link: as it was, with the workspaces, groups and tenant role that the source had given.
        sessions: how many logins by it have ended.
        revoked: API keys that were made in those logins.
    """

    link: Row
    sessions: int
    revoked: list[Row]


class AccountLinkStore(SqlStore, queries="account_links.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    def __init__(self, database: Database) -> None:
        """Queries are read from account_links.sql beside this file."""
        super().__init__(database)
        self._accounts = ExternalAccountStore(database)

    async def links(self, scope: Scope, user: str) -> list[Row]:
        """The sources that somebody of the tenant comes from, by name; none for who is here by hand alone."""
        async with self._db.transaction(scope) as tx:
            return await tx.all(self._sql["links"], tenant=scope.tenant, user=user)

    async def unlink(self, tx: Transaction, scope: Scope, user: str, provider: str) -> UnlinkedAccount:
        """Let somebody be theirs no more: what the source gave lapses, and logins by it end with keys made in them.

        The account stays, with what was given by hand or by another source. A next sign-in there links anew, by its
        e-mail address, as a first one does.

        Raises NotFound where there is no such link, Conflict where it is whoever asks.
        """
        if user == scope.user:
            raise Conflict("this is you", fix="Let another administrator unlink your account.")
        whom = {"tenant": scope.tenant, "user": user, "provider": provider}
        link = await self._require(tx, scope, user, provider)
        if link["issuer"] is not None:
            await self._accounts.lock_subject(tx, scope.tenant, link["issuer"], link["subject"])
        await tx.one(self._sql["lock_user"], tenant=scope.tenant, user=user)
        link = await self._require(tx, scope, user, provider)  # as it is now that nobody else changes it
        if link["issuer"] is None:
            await tx.run(self._sql["drop_provisioned"], tenant=scope.tenant, user=user)
            sessions, revoked = 0, list[Row]()
        else:
            await tx.run(self._sql["drop_link"], **whom)
            await tx.run(self._sql["drop_handoffs"], **whom)
            sessions, revoked = await self._end_logins(tx, scope, user, link["issuer"])
        for step in ("drop_memberships", "drop_groups", "drop_tenant_role"):
            await tx.run(self._sql[step], **whom)
        return UnlinkedAccount(link, sessions, revoked)

    async def _require(self, tx: Transaction, scope: Scope, user: str, provider: str) -> Row:
        rows = await tx.all(self._sql["links"], tenant=scope.tenant, user=user)
        if (link := next((row for row in rows if row["provider"] == provider), None)) is None:
            fix = "GET /api/users/{id}/links lists them (aos auth links EMAIL)."
            raise NotFound(f"a link of user {user} to {provider[:80]}", fix=fix)
        return link

    async def _end_logins(self, tx: Transaction, scope: Scope, user: str, issuer: str) -> tuple[int, list[Row]]:
        """How many ended, and the keys that were made in them."""
        whom = {"tenant": scope.tenant, "user": user}
        rows = await tx.all(self._sql["families"], **whom, issuer=issuer)
        families = [row["family"] for row in rows]
        ended = await tx.all(self._sql["end_sessions"], **whom, families=families)
        revoked = await tx.all(self._sql["revoke_keys"], **whom, families=families)
        await tx.run(self._sql["unfollow"], **whom, families=families)
        return len({row["family"] for row in ended}), revoked
