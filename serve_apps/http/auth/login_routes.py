"""Signing in and out: password to tokens, refresh to refresh, the change of a password, the end of a session."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from pydantic import Field

from cluster.basics.errors import Invalid, Unauthenticated
from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import RefreshToken, SignInAgain, TokenReused, WorkspaceMember, secret_hash
from configs.section import KNOWN_DEFAULT_SECRETS
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, audit_denial, require_same_scope
from serve_apps.http.auth.permissions import OWN, PUBLIC
from serve_apps.http.auth.request_limits import client_address
from serve_apps.http.auth.throttle import GuessLimiter
from serve_apps.http.auth.tokens import TokenClaims
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Email, Password, RequestBody
from serve_apps.http.problems import ScopeMismatch
from serve_apps.http.response_shapes import Session, copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["auth"])

LEAST_PASSWORD = 12
Begun = Callable[[Transaction, WorkspaceMember], Awaitable[None]]  # done with a new login, or not at all


class WrongCredentials(Unauthenticated):
    """E-mail or password are not right."""

    code = "wrong_credentials"
    fix = "Check both; an administrator can make you a new user."


class Login(RequestBody):
    """E-mail and password."""

    email: Email
    password: Password


class RefreshRequest(RequestBody):
    """The refresh token of the last answer; it works once."""

    refresh_token: Annotated[Password, Field(max_length=200)]


class LogoutRequest(RefreshRequest):
    """The refresh token of the session that ends; with `everywhere` all sessions of its user do."""

    everywhere: bool = False


class PasswordChange(RequestBody):
    """Every session ends with it, access tokens included; the answer begins a new one. API keys go on."""

    current_password: Password
    new_password: Password


@router.post("/api/auth/login", dependencies=[PUBLIC])
async def login(body: Login, request: Request, parts: Its) -> Session:
    """Sign in. Unknown users take as long as wrong passwords, and guessing gets slower.

    Guesses are counted for an account from one address, and from all of them together; the latter does not keep its
    owner out, who has signed in from theirs before.
    """
    guesses = GuessLimiter(parts.throttle, body.email, client_address(request, parts))
    async with guesses.turn():
        known = await parts.identity.credentials(body.email)
        right = await parts.passwords.holds(known.password_hash if known else None, body.password)
        member = await parts.identity.member(known.tenant, known.user) if known and right else None
        if known is None or member is None:
            await guesses.failed()
            if known is not None:
                await parts.audit.denied(known.scope, "session.begin", known.user)
            raise WrongCredentials
        await check_login_scope(parts, member, body, "session.begin")
        await guesses.succeeded()
    return await start_session(parts, member)


@router.post("/api/auth/refresh", dependencies=[PUBLIC])
async def refresh(body: RefreshRequest, parts: Its) -> Session:
    """New tokens for a refresh token. One that comes a second time ends its login's session, access tokens included."""
    now = parts.clock()
    text, expires = parts.tokens.refresh(now)
    new = RefreshToken(secret_hash(text), expires, uuid4())
    try:
        member = await parts.identity.rotate(secret_hash(body.refresh_token), new, now)
    except TokenReused as error:
        await parts.audit.denied(error.scope, "session.refresh", error.scope.user or "")
        raise
    await check_login_scope(parts, member, body, "session.refresh")
    async with parts.audited(member, "session.refresh", member.user):
        pass
    return _issue_tokens(parts, member, text)


@router.post("/api/auth/logout", status_code=204, dependencies=[PUBLIC])
async def logout(body: LogoutRequest, parts: Its) -> Response:
    """End the session of a refresh token; one that is of no use any more is answered alike (RFC 7009).

    Its access tokens are refused from then on, and streams that were opened with them are closed within five seconds.
    """
    now = parts.clock()
    # Spent for one that nobody is told: the last of its login.
    last = RefreshToken(secret_hash(parts.tokens.refresh(now)[0]), now, uuid4())
    try:
        member = await parts.identity.rotate(secret_hash(body.refresh_token), last, now)
    except TokenReused as error:
        await parts.audit.denied(error.scope, "session.end", error.scope.user or "")
        return Response(status_code=204)
    except SignInAgain:
        return Response(status_code=204)
    await check_login_scope(parts, member, body, "session.end")
    detail = {"everywhere": True} if body.everywhere else {}
    async with parts.audited(member, "session.end", member.user, detail) as tx:
        if body.everywhere:
            await parts.identity.end_all(tx, member.tenant, member.user)
        else:
            await parts.identity.end(tx, member, last.hash)
    return Response(status_code=204)


@router.post("/api/auth/password", dependencies=[OWN])
async def password(body: PasswordChange, request: Request, me: Me, parts: Its) -> Session:
    """Choose a new password of at least 12 characters. Every session ends; the answer begins a new one.

    API keys go on: GET /api/api-keys lists them, and an administrator's reset of the password revokes those made
    meanwhile.
    """
    guesses = GuessLimiter(parts.throttle, me.email, client_address(request, parts))
    async with guesses.turn():
        known = await parts.identity.credentials_of(me)
        if not await parts.passwords.holds(known.password_hash, body.current_password):
            await guesses.failed()
            await parts.audit.denied(me.scope, "password.change", me.user)
            raise WrongCredentials
        await guesses.succeeded()
    check_password(body.new_password)
    if body.new_password == body.current_password:
        raise Invalid("the new password is the old one")
    hashed = await parts.passwords.hash(body.new_password)
    async with parts.audited(me, "password.change", me.user, {"new_session": True}) as tx:
        await parts.identity.change_password(tx, me, hashed)
    member = await parts.identity.member(me.tenant, me.user, me.workspace)
    if member is None:
        raise Unauthenticated
    async with parts.database.transaction(member.scope) as tx:
        return await _open_session(parts, tx, member)


def check_password(text: str) -> None:
    """Refuse what is short or published. Raises Invalid: with what to do."""
    if len(text) < LEAST_PASSWORD or text in KNOWN_DEFAULT_SECRETS:
        raise Invalid("this password is too easy", fix=f"Choose at least {LEAST_PASSWORD} characters of your own.")


async def check_login_scope(parts: AppDependencies, member: WorkspaceMember, body: RequestBody, action: str) -> None:
    """As `require_same_scope`, for a public route, which does not know into whose trail a refusal belongs."""
    try:
        require_same_scope(member, body.tenant_id, body.workspace_id)
    except ScopeMismatch as error:
        await audit_denial(parts, member, action, member.user, error)
        raise


async def start_session(
    parts: AppDependencies,
    member: WorkspaceMember,
    detail: Mapping[str, Any] | None = None,
    *,
    begun: Begun | None = None,
) -> Session:
    """A new login: its tokens, an entry in the audit trail with this detail, and what else is `begun` with it."""
    async with parts.audited(member, "session.begin", member.user, detail) as tx:
        return await _open_session(parts, tx, member, begun)


async def _open_session(
    parts: AppDependencies, tx: Transaction, member: WorkspaceMember, begun: Begun | None = None
) -> Session:
    now, family = parts.clock(), uuid4()
    text, expires = parts.tokens.refresh(now)
    await parts.identity.remember(tx, member, RefreshToken(secret_hash(text), expires, family), now)
    member = replace(member, session=str(family))
    if begun is not None:
        await begun(tx, member)
    return _issue_tokens(parts, member, text)


def _issue_tokens(parts: AppDependencies, member: WorkspaceMember, refresh_token: str) -> Session:
    assert member.session is not None
    claims = TokenClaims(member.user, member.tenant, member.workspace, member.session, member.token_version)
    ids = {"tenant_id": member.tenant, "workspace_id": member.workspace, "user_id": member.user}
    tokens = {"access_token": parts.tokens.access(claims, parts.clock()), "refresh_token": refresh_token}
    return copy_fields(Session, member, **ids, **tokens, expires_in=parts.tokens.access_seconds)
