"""The providers and directories of a tenant as they are declared, and a test of each that really asks it."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role, TenantId
from cluster.state.identity.external_accounts import AccountAtSignIn
from cluster.state.identity.identity import WorkspaceMember
from configs.sign_in_directories import Directory
from configs.sign_in_rules import SignInRule, SignInSource
from serve_apps.http.auth.external_sign_in import tenant_of
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.ldap.directory_check import examine_directory
from serve_apps.http.auth.oidc.provider_check import check_provider
from serve_apps.http.auth.permissions import TENANT
from serve_apps.http.auth.sign_in_checks import SignInCheck, failed, judged
from serve_apps.http.auth.sign_in_preview import PersonPreview, check_rules, preview_person
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable, UnknownProvider
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody, storable_text

router = APIRouter(route_class=GuardedRoute, tags=["auth"])

TEST_SECONDS: Final = 30  # of a test in all

Login = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256), AfterValidator(storable_text)
]


class DeclaredProvider(BaseModel):
    """A provider or directory as `auth.providers_file` declares it, without its secret.

    `addresses`: its issuer, or its servers. `account`: the client's id, or the service account. `redirect_uri`: what a
    provider has to know; null for directories, and where auth.public_url is not set.
    """

    name: str
    title: str
    kind: Literal["oidc", "active_directory", "openldap"]
    addresses: list[str]
    account: str | None
    redirect_uri: str | None
    domains: list[str]
    rules: list[SignInRule]
    groups: list[str]
    rights_hours: int | None


class DeclaredProviders(BaseModel):
    """Those of the tenant."""

    items: list[DeclaredProvider]


class ProviderTestBody(RequestBody):
    """`login`: whom to look for in a directory, without a password."""

    login: Annotated[Login | None, Field(description="A user name or address in the directory.")] = None


class CheckView(BaseModel):
    """One check; `fix` is empty where it is well. One that is not `required` is advice."""

    name: str
    ok: bool
    detail: str
    fix: str
    required: bool


class PersonView(BaseModel):
    """Whom the login means, and what their next sign-in would give them by the rules; what was given by hand stays."""

    subject: str
    email: str | None
    account: AccountAtSignIn | None
    workspaces: dict[str, Role]
    tenant_role: Role
    groups: list[str]
    enters: bool


class ProviderTest(BaseModel):
    """What was found; `ok` where every required check is well."""

    name: str
    kind: Literal["oidc", "active_directory", "openldap"]
    ok: bool
    checks: list[CheckView]
    person: PersonView | None


@router.get("/api/auth/providers/declared", dependencies=[TENANT])
async def declared_providers(me: Me, parts: Its) -> DeclaredProviders:
    """List the tenant's providers and directories with their rules."""
    items = [_shown(parts, one) for one in _sources(parts).values() if await _is_theirs(parts, me, one)]
    return DeclaredProviders(items=items)


@router.post("/api/auth/providers/{provider}/test", dependencies=[TENANT])
async def test_provider(provider: str, body: ProviderTestBody, me: Me, parts: Its) -> ProviderTest:
    """Ask a provider or directory of the tenant for all that a sign-in needs; with `login` what somebody would get."""
    source = _sources(parts).get(provider)
    if source is None or not await _is_theirs(parts, me, source):
        raise UnknownProvider(provider[:80])
    if body.login is not None and not isinstance(source, Directory):
        raise Invalid("login: an OpenID provider tells of nobody who does not sign in")
    person: PersonPreview | None = None
    checks = [await _check_tenant(parts, source), await check_rules(parts.external, me.tenant, source)]
    try:
        async with asyncio.timeout(TEST_SECONDS):
            if isinstance(source, Directory):
                more, person = await _examine_directory(parts, me.tenant, source, body.login)
            else:
                client = parts.sign_in.clients[source.name]
                more = [_check_redirect(parts, source), *await check_provider(client, parts.clock)]
    except TimeoutError:
        more = [failed("time", f"it took more than {TEST_SECONDS} s", "Look at the way there; it may drop packets.")]
    except ProviderUnavailable as error:
        more = [failed("place", str(error), error.fix or "Try again.")]
    checks += more
    wrong = [one.name for one in checks if not one.ok and one.required]
    detail = {"ok": not wrong, "failed": wrong} | ({"login": body.login} if body.login else {})
    async with parts.audited(me, "provider.test", f"provider {source.name}", detail):
        pass
    shown = None if person is None else PersonView.model_validate(person, from_attributes=True)
    views = [CheckView.model_validate(one, from_attributes=True) for one in checks]
    return ProviderTest(name=source.name, kind=_kind(source), ok=not wrong, checks=views, person=shown)


async def _examine_directory(
    parts: AppDependencies, tenant: TenantId, source: Directory, login: str | None
) -> tuple[list[SignInCheck], PersonPreview | None]:
    client = parts.directories[source.name]
    async with client.place():
        found = await examine_directory(client, login, parts.clock())
    if found.person is None:
        return list(found.checks), None
    check, shown = await preview_person(client, parts.external, tenant, found.person)
    return [*found.checks, check], shown


def _check_redirect(parts: AppDependencies, source: SignInSource) -> SignInCheck:
    uri = _redirect_uri(parts, source)
    fix = "Set AOS_AUTH_PUBLIC_URL to where browsers reach this, by https."
    if uri is None:
        return failed("redirect_uri", "auth.public_url is not set", fix)
    said = f"{uri}: the provider has to know it"
    return judged("redirect_uri", "" if uri.startswith("https://") else said, said, fix, required=False)


async def _check_tenant(parts: AppDependencies, source: SignInSource) -> SignInCheck:
    try:
        return judged("tenant", "", await tenant_of(parts, source), "")
    except ProviderUnavailable as error:
        return failed("tenant", str(error), "Set its `tenant`.")


def _sources(parts: AppDependencies) -> Mapping[str, SignInSource]:
    clients = {name: one.provider for name, one in parts.sign_in.clients.items()}
    return {**clients, **{name: one.directory for name, one in parts.directories.items()}}


async def _is_theirs(parts: AppDependencies, me: WorkspaceMember, source: SignInSource) -> bool:
    """True for the tenant's own; whose is not known is for the people of the first tenant."""
    try:
        return await tenant_of(parts, source) == me.tenant
    except ProviderUnavailable:
        return me.first_tenant


def _kind(source: SignInSource) -> Literal["oidc", "active_directory", "openldap"]:
    return source.kind if isinstance(source, Directory) else "oidc"


def _shown(parts: AppDependencies, source: SignInSource) -> DeclaredProvider:
    if isinstance(source, Directory):
        addresses = list(source.urls)
        account = source.service_dn if source.bind == "search" else source.bind_name
    else:
        of = parts.sign_in.clients[source.name].provider
        addresses, account = [of.issuer], of.client_id
    return DeclaredProvider(
        name=source.name,
        title=source.title,
        kind=_kind(source),
        addresses=addresses,
        account=account,
        redirect_uri=_redirect_uri(parts, source),
        domains=list(source.domains),
        rules=list(source.rules),
        groups=list(source.groups),
        rights_hours=source.rights_hours,
    )


def _redirect_uri(parts: AppDependencies, source: SignInSource) -> str | None:
    if isinstance(source, Directory):
        return None
    try:
        return parts.sign_in.redirect_uri(source.name)
    except Invalid:  # auth.public_url is not set; the test says so
        return None
