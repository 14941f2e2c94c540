"""Links of accounts to the sources that they come from (OpenID, LDAP, SCIM): what each gives somebody, and its end."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel

from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, TENANT
from serve_apps.http.fields import Text
from serve_apps.http.response_shapes import KeyOfUser

router = APIRouter(route_class=GuardedRoute, tags=["accounts"])

ProviderInPath = Annotated[Text, Path(max_length=80, description="A provider's or directory's name, or `scim`.")]


class AccountLink(BaseModel):
    """A source that somebody comes from.

    `provider`: its name, or `scim`. `subject`: whom they are there. `workspaces`, `groups` and `tenant_role`: what it
    has given; null for a role that was given by hand.
    """

    provider: str
    subject: str
    linked_at: datetime | None
    signed_in_at: datetime | None
    rights_end_at: datetime | None
    workspaces: list[str]
    groups: list[str]
    tenant_role: Role | None


class AccountLinks(BaseModel):
    """All of them; none for who is here by hand alone."""

    items: list[AccountLink]


class Unlinked(BaseModel):
    """What has lapsed with a link, how many logins by it have ended, and the API keys that were made in them."""

    provider: str
    workspaces: list[str]
    groups: list[str]
    ended_sessions: int
    revoked_keys: list[KeyOfUser]


@router.get("/api/users/{user_id}/links", dependencies=[AUDIT])
async def links(user_id: UUID, me: Me, parts: Its) -> AccountLinks:
    """List the sources that somebody comes from, with what each has given them."""
    rows = await parts.account_links.links(me.scope, str(user_id))
    if not rows:
        await parts.accounts.require_user(me.scope, str(user_id))
    return AccountLinks(items=[_shown(row) for row in rows])


@router.delete("/api/users/{user_id}/links/{provider}", dependencies=[TENANT])
async def unlink(user_id: UUID, provider: ProviderInPath, me: Me, parts: Its) -> Unlinked:
    """Unlink an account: what the source gave lapses, logins by it end, and API keys made in them are revoked.

    The account stays with what was given by hand. A next sign-in there, or by SCIM a next change, links anew: to keep
    somebody out, disable the account, or take them out there.
    """
    async with parts.database.transaction(me.scope) as tx:
        done = await parts.account_links.unlink(tx, me.scope, str(user_id), provider)
        gave = {name: done.link[name] for name in ("workspaces", "groups", "tenant_role")}
        ended = {"ended_sessions": done.sessions, "revoked_keys": [str(key["id"]) for key in done.revoked]}
        detail = {"provider": provider, "subject": done.link["subject"], **gave, **ended}
        await parts.audit.record(tx, me.scope, "user.unlink", str(user_id), detail=detail)
    keys = [KeyOfUser(**key) for key in done.revoked]
    shown = {"provider": provider, "ended_sessions": done.sessions, "revoked_keys": keys}
    return Unlinked(workspaces=done.link["workspaces"], groups=done.link["groups"], **shown)


def _shown(row: Row) -> AccountLink:
    return AccountLink(**{name: value for name, value in row.items() if name != "issuer"})
