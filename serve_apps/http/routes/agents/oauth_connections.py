"""Own connections by OAuth: a person connects services of the workspace with their own account there."""

import secrets
from datetime import datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from cluster.basics.errors import NotFound
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.oidc.sign_in_flow import checked_return
from serve_apps.http.auth.permissions import OWN, PUBLIC, READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody, Text
from skills.oauth.oauth_connections import ATTEMPT_SECONDS

router = APIRouter(route_class=GuardedRoute, tags=["credentials"])

AUDIENCE = "aos-oauth-state"
CONSOLE_PATH = "/console/connections/back"
PATH = "/api/oauth/connections"
Told = Annotated[str, Query(max_length=4096)]


class NothingBegun(NotFound):
    """No connection was begun that this could answer."""

    code = "oauth_nothing_begun"
    fix = "Begin again: /console/connections, or `aos credentials connect`."


class OAuthConnection(BaseModel):
    """A service that people can connect by a credential of type oauth, and how far you are; never a token."""

    id: Annotated[UUID, Field(description="Of the credential.")]
    name: str
    base_url: str
    state: Annotated[Literal["none", "connected", "ended"], Field(description="`ended`: connect again.")]
    scope: str | None
    expires_at: Annotated[datetime | None, Field(description="When the token lapses; it is refreshed before.")]
    connected_at: datetime | None
    redirect_uri: Annotated[str | None, Field(description="To be registered at the authorization server.")]


class OAuthConnections(BaseModel):
    """Those of the workspace, by name."""

    items: list[OAuthConnection]


class BeginRequest(RequestBody):
    """Where the browser goes in the end."""

    return_to: Annotated[Text, Field(max_length=200, description="`console`, or http://127.0.0.1:<port>/…")] = "console"


class BegunConnection(BaseModel):
    """Where to send the browser; it comes back to `return_to` with `state` and `code`."""

    authorization_url: str


class CompleteRequest(RequestBody):
    """What the browser has brought back."""

    state: Annotated[Text, Field(max_length=4096)]
    code: Annotated[Text, Field(min_length=1, max_length=4096)]
    iss: Annotated[Text, Field(max_length=4096)] = ""


class EndedConnection(BaseModel):
    """`revoked`: the authorization server has ended the tokens, too."""

    revoked: bool


@router.get(PATH, dependencies=[READ])
async def oauth_connections(me: Me, parts: Its) -> OAuthConnections:
    """List what the workspace can be connected to, with your own state."""
    rows = await parts.oauth.of_person(me.scope)
    has_address = parts.sign_in.has_address
    return OAuthConnections(
        items=[
            OAuthConnection(**row, redirect_uri=_redirect_uri(parts, row["id"]) if has_address else None)
            for row in rows
        ]
    )


@router.post(f"{PATH}/{{credential_id}}", status_code=201, dependencies=[OWN])
async def begin_connection(credential_id: UUID, body: BeginRequest, me: Me, parts: Its) -> BegunConnection:
    """Begin to connect your account; the answer is good for ten minutes, once, and for you alone."""
    where, ends = checked_return(body.return_to, CONSOLE_PATH), parts.clock() + timedelta(seconds=ATTEMPT_SECONDS)
    content = {"of": str(credential_id), "to": where, "jti": secrets.token_urlsafe(32)}
    state = parts.tokens.seal(AUDIENCE, content, ends)
    url = await parts.oauth.begin(me.scope, str(credential_id), state, _redirect_uri(parts, credential_id))
    return BegunConnection(authorization_url=url)


@router.get(
    f"{PATH}/{{credential_id}}/callback", dependencies=[PUBLIC], response_class=RedirectResponse, status_code=303
)
async def oauth_callback(
    credential_id: UUID, parts: Its, state: Told = "", code: Told = "", error: Told = "", iss: Told = ""
) -> Response:
    """Where an authorization server sends browsers back; whoever has begun the connection completes it."""
    content = parts.tokens.unseal(AUDIENCE, state, parts.clock())
    if content is None or content.get("of") != str(credential_id):
        raise NothingBegun("it answers nothing that was begun here, or too late")
    brought = {"of": str(credential_id), "state": state, "code": code, "error": error[:100], "iss": iss}
    told = urlencode({name: value for name, value in brought.items() if value})
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}  # the code stands in the address
    return RedirectResponse(f"{content['to']}?{told}", status_code=303, headers=headers)


@router.post(f"{PATH}/{{credential_id}}/complete", status_code=204, dependencies=[OWN])
async def complete_connection(credential_id: UUID, body: CompleteRequest, me: Me, parts: Its) -> Response:
    """Redeem what the browser brought back. 403 where somebody else began it, or it was used already."""
    uri = _redirect_uri(parts, credential_id)
    await parts.oauth.complete(me.scope, str(credential_id), body.state, body.code, body.iss, uri)
    return Response(status_code=204)


@router.delete(f"{PATH}/{{credential_id}}", dependencies=[OWN])
async def disconnect(credential_id: UUID, me: Me, parts: Its) -> EndedConnection:
    """Forget your tokens, and have the authorization server end them where it can."""
    return EndedConnection(revoked=await parts.oauth.disconnect(me.scope, str(credential_id)))


def _redirect_uri(parts: AppDependencies, credential: UUID) -> str:
    """A place of its own for each, so that no authorization server answers for another (RFC 9700, section 4.4)."""
    return parts.sign_in.own_address(f"{PATH}/{credential}/callback")
