"""Signing in by a directory: the password that somebody has there, for a session here."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, StringConstraints, model_validator

from cluster.basics.errors import Forbidden, Invalid
from cluster.basics.scope import Scope, TenantId
from cluster.state.db.postgres import Transaction
from cluster.state.identity.external_accounts import ExternalPerson, NothingGranted
from cluster.state.identity.identity import NO_WORKSPACE, WorkspaceMember
from serve_apps.http.auth.claimed_rights import accepted_email, claimed_rights
from serve_apps.http.auth.external_sign_in import admit, record_refusal, tenant_of
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.ldap.directory_check import check_servers
from serve_apps.http.auth.ldap.directory_client import DirectoryClient, DirectoryPerson, PasswordRefused
from serve_apps.http.auth.ldap.directory_entry import fold_login, fold_name
from serve_apps.http.auth.login_routes import WrongCredentials, check_login_scope, start_session
from serve_apps.http.auth.permissions import PUBLIC, TENANT
from serve_apps.http.auth.request_limits import client_address
from serve_apps.http.auth.sign_in_problems import SignInRefused, UnknownProvider
from serve_apps.http.auth.throttle import GuessLimiter
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Password, RequestBody, storable_text
from serve_apps.http.response_shapes import Session

router = APIRouter(route_class=GuardedRoute, tags=["auth"])

Login = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256), AfterValidator(storable_text)
]


class DirectoryLogin(RequestBody):
    """A login that the directory knows, and the password there.

    `username` or `email`, whichever it is; `directory` where several are declared.
    """

    username: Login | None = None
    email: Login | None = None
    password: Password
    directory: Annotated[str, StringConstraints(max_length=80)] | None = None

    @model_validator(mode="after")
    def _refuse_two_logins(self) -> "DirectoryLogin":
        if (self.username is None) == (self.email is None):
            raise ValueError("give a username or an e-mail address")
        return self


class DirectoryServer(BaseModel):
    """A server of a directory, and what is wrong with it; nothing where that is empty."""

    url: str
    problem: str


class DirectoryReport(BaseModel):
    """Whether people can sign in by a directory.

    `problem`: what is wrong with the service account or its search. `people`: how many the user filter may find, up to
    20,000; null where nobody looks for them beforehand.
    """

    servers: list[DirectoryServer]
    problem: str
    people: int | None


@router.post("/api/auth/login/ad", dependencies=[PUBLIC])
async def login_by_directory(body: DirectoryLogin, request: Request, parts: Its) -> Session:
    """Sign in by a directory (Active Directory, LDAP). Who is new gets an account, with what the rules give them.

    An unknown login and a wrong password are answered alike, and guessing gets slower, for a login, for whom it means,
    and for an address over all of them.
    """
    client = _chosen_client(parts, body.directory)
    name, address = client.directory.name, client_address(request, parts)
    login = body.username or body.email or ""
    guesses = GuessLimiter(parts.throttle, f"{name} {fold_login(login)}", address, among=f"directory {name}")
    whose: list[GuessLimiter] = []

    @asynccontextmanager
    async def trying(subject: str) -> AsyncIterator[None]:
        counted = GuessLimiter(parts.throttle, f"{name} subject {subject}", address)
        whose.append(counted)
        async with counted.turn():
            try:
                yield
            except PasswordRefused:
                await counted.failed()
                raise

    await guesses.check()
    async with client.place(), guesses.turn():
        member = await _signed_in(parts, client, guesses, login, body.password, trying)
    await check_login_scope(parts, member, body, "session.begin")
    for one in (guesses, *whose):
        await one.succeeded()
    follow = partial(_follow_link, parts, client.issuer)
    return await start_session(parts, member, {"provider": name}, begun=follow)


async def _follow_link(parts: AppDependencies, issuer: str, tx: Transaction, member: WorkspaceMember) -> None:
    """The login ends with the link to the directory."""
    await parts.external.follow(tx, member, issuer, None, parts.clock())


async def _signed_in(
    parts: AppDependencies,
    client: DirectoryClient,
    guesses: GuessLimiter,
    login: str,
    password: str,
    trying: Callable[[str], AbstractAsyncContextManager[None]],
) -> WorkspaceMember:
    """Who that is here; a failure is counted, and stands in the audit trail where it is known whose."""
    tenant = await tenant_of(parts, client.directory)
    refuse = partial(record_refusal, parts, tenant, client.directory)
    try:
        person = await client.authenticate(login, password, parts.clock(), trying)
        return await _admitted(parts, client, tenant, person)
    except PasswordRefused as refused:
        await guesses.failed()
        if refused.subject is not None:
            await refuse(WrongCredentials.code, f"{refused.subject}: {refused}")
        raise WrongCredentials from None
    except (SignInRefused, Forbidden) as error:
        await guesses.failed()
        await refuse(error.code, str(error))
        raise


@router.get("/api/auth/directories/{provider}/check", dependencies=[TENANT])
async def check_directory(provider: str, me: Me, parts: Its) -> DirectoryReport:
    """Try each server of a directory, and the service account; of the administrator's own tenant."""
    client = parts.directories.get(provider)
    if client is None or await tenant_of(parts, client.directory) != me.tenant:
        raise UnknownProvider(provider[:80])
    found = await check_servers(client)
    servers = [DirectoryServer(url=url, problem=problem) for url, problem in found.servers.items()]
    return DirectoryReport(servers=servers, problem=found.problem, people=found.people)


def _chosen_client(parts: AppDependencies, wanted: str | None) -> DirectoryClient:
    """Raises UnknownProvider, or Invalid: which of several is not said."""
    known = parts.directories
    if wanted is None and len(known) > 1:
        raise Invalid("there are several directories", fix=f"Name one as `directory`: {', '.join(known)}.")
    if (found := known.get(wanted or next(iter(known), ""))) is None:
        raise UnknownProvider("a directory" if wanted is None else wanted)
    return found


async def _admitted(
    parts: AppDependencies, client: DirectoryClient, tenant: TenantId, person: DirectoryPerson
) -> WorkspaceMember:
    """Whom the person is here, with what the rules give them now. Raises Forbidden, SignInRefused."""
    of = client.directory
    known = ExternalPerson(of.name, client.issuer, person.subject, accepted_email(of, person.email, vouched=True))
    rights = claimed_rights(of, person.claims, fold_name)
    async with parts.database.transaction(Scope(tenant, NO_WORKSPACE)) as tx:
        found = await admit(parts, tx, tenant, of, known, rights)
    if not found.granted:
        raise NothingGranted  # what they had is gone
    member = await parts.identity.member(tenant, found.user)
    if member is None:
        raise SignInRefused
    return member
