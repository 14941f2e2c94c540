"""Signing in by a provider: off to it, back from it, and the code that whoever asked redeems for tokens."""

import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Scope, TenantId
from cluster.state.db.postgres import Transaction
from cluster.state.identity.external_accounts import NothingGranted, SignInHandoff
from cluster.state.identity.identity import NO_WORKSPACE, WorkspaceMember, secret_hash
from serve_apps.http.auth.claimed_rights import claimed_person, claimed_rights
from serve_apps.http.auth.external_sign_in import admit, record_refusal, tenant_of
from serve_apps.http.auth.guard import GuardedRoute, Its
from serve_apps.http.auth.login_routes import check_login_scope, start_session
from serve_apps.http.auth.oidc.id_token import LONGEST, is_name
from serve_apps.http.auth.oidc.sign_in_flow import ATTEMPT_SECONDS, CONSOLE_PATH, HANDOFF_SECONDS, SignInAttempt
from serve_apps.http.auth.permissions import PUBLIC
from serve_apps.http.auth.sign_in_problems import LogoutRefused, ProviderUnavailable, SignInRefused
from serve_apps.http.auth.throttle import SPRAYED
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody
from serve_apps.http.response_shapes import Session

router = APIRouter(route_class=GuardedRoute, tags=["auth"])

COOKIE = "aos_sign_in"
NOT_BEGUN = "sign_in_not_begun"  # what the console is told; it says what that means
Told = Annotated[str, Query(max_length=4096)]


class LoginProvider(BaseModel):
    """A provider or directory by which people may sign in.

    `start`: where a browser is sent (`oidc`), or where the password is posted (`directory`).
    """

    name: str
    title: str
    kind: Literal["oidc", "directory"]
    start: str


class LoginProviders(BaseModel):
    """Those that are declared."""

    items: list[LoginProvider]


class RedeemRequest(RequestBody):
    """The code that came back with the browser, and what its challenge was made of."""

    code: Annotated[str, Field(max_length=300)]
    verifier: Annotated[str, Field(min_length=43, max_length=128)]


@router.get("/api/auth/providers", dependencies=[PUBLIC])
async def providers(parts: Its) -> LoginProviders:
    """List the providers and directories by which people may sign in."""
    known = (one.provider for one in parts.sign_in.clients.values())
    items = [
        LoginProvider(name=one.name, title=one.title, kind="oidc", start=f"/api/auth/oidc/{one.name}/start")
        for one in known
    ]
    items += [
        LoginProvider(name=one.directory.name, title=one.directory.title, kind="directory", start="/api/auth/login/ad")
        for one in parts.directories.values()
    ]
    return LoginProviders(items=items)


@router.get("/api/auth/oidc/{provider}/start", dependencies=[PUBLIC], response_class=RedirectResponse, status_code=303)
async def start(
    provider: str,
    request: Request,
    parts: Its,
    challenge: Annotated[str, Query(max_length=200, description="S256 of your verifier, which redeems the code.")],
    return_to: Annotated[str, Query(max_length=200, description="`console`, or http://127.0.0.1:<port>/…")],
    hop: Annotated[
        bool, Query(description="This is the second step: the address is the product's public one.")
    ] = False,
) -> Response:
    """Send a browser to the provider; it comes back to `return_to` with a `code`, or an `error`."""
    flow = parts.sign_in
    client = flow.client(provider)
    attempt = flow.begin(provider, challenge, return_to)
    uri = flow.redirect_uri(provider)
    if not hop and not uri.startswith(f"{request.url.scheme}://{request.url.netloc}/"):
        # The provider sends it back to the public address: the cookie has to be that one's.
        there = urlencode({"challenge": challenge, "return_to": return_to, "hop": "true"})
        return _redirected(f"{uri.removesuffix('callback')}start?{there}")
    asks = attempt.return_to != CONSOLE_PATH  # whoever listens on that port may not be the browser's person
    try:
        url = await client.authorization_url(uri, attempt.state, attempt.nonce, attempt.verifier, asks=asks)
    except ProviderUnavailable as error:
        return _redirected(f"{attempt.return_to}?{urlencode({'error': error.code})}")
    answer = _redirected(url)
    # Lax: the browser comes back from another site, and has to bring it.
    answer.set_cookie(
        COOKIE,
        flow.seal(attempt, parts.clock()),
        max_age=ATTEMPT_SECONDS,
        path=f"/api/auth/oidc/{provider}",
        secure=flow.is_encrypted,
        httponly=True,
        samesite="lax",
    )
    return answer


@router.get(
    "/api/auth/oidc/{provider}/callback", dependencies=[PUBLIC], response_class=RedirectResponse, status_code=303
)
async def callback(
    provider: str, request: Request, parts: Its, state: Told = "", code: Told = "", error: Told = "", iss: Told = ""
) -> Response:
    """Where a provider sends browsers back. 429 after many in vain.

    A browser that has begun no such sign-in goes to the console's own page, which says so; other clients get 401.
    """
    flow = parts.sign_in
    of = flow.client(provider).provider
    try:
        attempt = flow.unseal(provider, request.cookies.get(COOKIE), state, parts.clock())
    except SignInRefused:
        if not wants_page(request.headers.get("accept", "")):
            raise
        return _redirected(f"{CONSOLE_PATH}?{urlencode({'error': NOT_BEGUN})}")
    address = f"sign-in {request.client.host if request.client else ''}"
    await parts.throttle.check(address)
    told: dict[str, str]
    try:
        tenant = await tenant_of(parts, of)
        if error and not code:
            told = {"error": SignInRefused.code}  # its person has changed their mind, or it has nobody for us
        else:
            told = {"code": await _accept(parts, attempt, tenant, code, iss)}
    except (SignInRefused, Forbidden) as refused:
        await parts.throttle.failed(address, SPRAYED)
        await record_refusal(parts, tenant, of, refused.code, str(refused))
        told = {"error": refused.code}
    except ProviderUnavailable as away:
        told = {"error": away.code}
    answer = _redirected(f"{attempt.return_to}?{urlencode(told)}")
    answer.delete_cookie(COOKIE, path=f"/api/auth/oidc/{provider}", secure=flow.is_encrypted, httponly=True)
    return answer


@router.post("/api/auth/oidc/redeem", dependencies=[PUBLIC])
async def redeem(body: RedeemRequest, parts: Its) -> Session:
    """Tokens for the code of a sign-in, which works once, within a minute, for whoever began it."""
    tenant, _, _ = body.code.partition(".")
    handoff = await parts.external.spend(TenantId(tenant), secret_hash(body.code)) if _is_uuid(tenant) else None
    right = handoff is not None and secrets.compare_digest(handoff.challenge, create_s256_code_challenge(body.verifier))
    if handoff is None or not right or handoff.expires <= parts.clock():
        raise SignInRefused
    member = await parts.identity.member(TenantId(tenant), handoff.user)
    if member is None:
        raise SignInRefused
    await check_login_scope(parts, member, body, "session.begin")
    follow = partial(_follow_provider, parts, handoff)
    return await start_session(parts, member, {"provider": handoff.provider}, begun=follow)


@router.post("/api/auth/oidc/{provider}/backchannel-logout", dependencies=[PUBLIC])
async def backchannel_logout(
    provider: str, request: Request, parts: Its, logout_token: Annotated[str, Form(max_length=LONGEST)] = ""
) -> Response:
    """Where a provider says that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0).

    Their logins by that session end here, access tokens included; without one those of all their sessions there.
    """
    client = parts.sign_in.client(provider)
    address = f"logout {request.client.host if request.client else ''}"
    try:
        said = await client.logout_of(logout_token, parts.clock().timestamp())
        tenant = await tenant_of(parts, client.provider)
    except SignInRefused as refused:  # what is right comes through, whoever sends rubbish from beside it
        await parts.throttle.check(address)
        await parts.throttle.failed(address)
        raise LogoutRefused(str(refused)) from refused
    await parts.external.note_logout(tenant, said, parts.clock())
    async with parts.database.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
        for user in await parts.external.log_out(tx, tenant, said):
            scope = Scope(tenant, NO_WORKSPACE, user=user)
            await parts.audit.record(tx, scope, "session.end", user, detail={"provider": provider})
    return Response(status_code=200, headers={"Cache-Control": "no-store"})


async def _follow_provider(
    parts: AppDependencies, handoff: SignInHandoff, tx: Transaction, member: WorkspaceMember
) -> None:
    client = parts.sign_in.clients.get(handoff.provider)
    if client is None:  # it is declared no more: nobody would tell of a sign-out there
        return
    issuer = client.provider.issuer
    await parts.external.follow(tx, member, issuer, handoff, parts.clock())


async def _accept(parts: AppDependencies, attempt: SignInAttempt, tenant: TenantId, code: str, iss: str) -> str:
    """Our code for the provider's. Raises SignInRefused, ProviderUnavailable, Forbidden: why there is none."""
    flow, now = parts.sign_in, parts.clock()
    client = flow.client(attempt.provider)
    of = client.provider
    if (iss or (await client.metadata()).tells_issuer) and iss != of.issuer:
        raise SignInRefused("iss: another provider answers (RFC 9207)")
    uri = flow.redirect_uri(of.name)
    claims = await client.claims_of(code, uri, attempt.nonce, attempt.verifier, now.timestamp())
    person, rights = claimed_person(of, claims), claimed_rights(of, claims)
    ours = f"{tenant}.{secrets.token_urlsafe(32)}"
    async with parts.database.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
        found = await admit(parts, tx, tenant, of, person, rights)
        ends = now + timedelta(seconds=HANDOFF_SECONDS)
        there = claims["sid"] if is_name(claims.get("sid")) else ""
        issued = datetime.fromtimestamp(claims["iat"], UTC)
        handoff = SignInHandoff(secret_hash(ours), found.user, attempt.challenge, of.name, ends, there, issued)
        await parts.external.keep(tx, tenant, of.issuer, handoff, now)
    if not found.granted:
        raise NothingGranted  # what they had is gone
    return ours


def wants_page(accept: str) -> bool:
    """True for a browser that shows what it gets; programs name `text/html` seldom, and `*/*` often."""
    kinds = (part.partition(";") for part in accept.lower().split(","))
    return any(kind.strip() == "text/html" and "q=0" not in rest.replace(" ", "").split(";") for kind, _, rest in kinds)


def _redirected(where: str) -> RedirectResponse:
    return RedirectResponse(where, 303, headers={"Cache-Control": "no-store"})


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
