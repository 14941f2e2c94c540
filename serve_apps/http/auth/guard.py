"""Route guard: every route checks credentials and role before it reads the body."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial, wraps
from typing import Annotated, Any, cast
from uuid import UUID

from fastapi import Depends, Request, Response, params
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection

from cluster.basics.errors import Forbidden, NotFound, Unauthenticated
from cluster.basics.scope import WorkspaceId
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.rules import LimitedResource
from serve_apps.agents.intake.rights import NoMember
from serve_apps.http.auth.external_sign_in import tenant_of
from serve_apps.http.auth.impersonation import (
    ImpersonationRefused,
    UnknownPerson,
    credential_with_person,
    forwarded_email,
    names_person,
)
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.permissions import EVERYONE, AccessRule, RouteKey, access_rule, check_access
from serve_apps.http.auth.request_limits import (
    admit_member,
    admit_stranger,
    class_of,
    handle_within_stream_limit,
    tell_limit,
)
from serve_apps.http.auth.revocation import (
    EVENTS,
    AuthenticatedCaller,
    CredentialEnded,
    Look,
    RevocationWatch,
    WatchedResponse,
    is_streaming,
)
from serve_apps.http.auth.sign_in_problems import SignInRefused
from serve_apps.http.auth.tokens import KEY_START
from serve_apps.http.content_disposition import FormRequest
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody
from serve_apps.http.problems import PasswordChangeRequired, ScopeMismatch
from serve_apps.http.streams.response import first_of
from skills.framework.credentials import CredentialForbidden

# For the document of the API only: the check itself is below, and runs before FastAPI parses a body.
bearer = HTTPBearer(auto_error=False, description="An access token from POST /api/auth/login, or an API key.")

CURL = b"application/x-www-form-urlencoded"
IN_TRAIL = "on record already"  # a note (PEP 678) on a refusal that its own row tells more exactly
MCP_ROUTE = "/mcp"
PASSWORD_ROUTE = "/api/auth/password"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Endpoint = Callable[..., Coroutine[Any, Any, Any]]


class GuardedRoute(APIRoute):
    """A route that nobody enters whom its permission does not let in, and whose body names no other scope."""

    def __init__(self, path: str, endpoint: Endpoint, **options: Any) -> None:
        super().__init__(path, _in_own_scope(endpoint), **options)

    def get_route_handler(self) -> Handler:
        """Wrap FastAPI's handler."""
        handler = super().get_route_handler()
        access = access_rule(self.path, self.dependencies)
        path = self.path_format  # a parameter without its convertor, as the API's document has it
        streams = _declares_events(self.responses)
        limited_as = class_of((min(self.methods or {"GET"}), path), access, streams)
        takes_json = self.body_field is not None and not isinstance(self.body_field.field_info, params.Form)

        async def guarded(request: Request) -> Response:
            if takes_json:
                _read_as_json(request)
            request = FormRequest(request.scope, request.receive)
            if access.public:
                await admit_stranger(request, parts_of(request))
                return await handler(request)
            entry = await _authorize_request(request, path, access, limited_as)
            member = request.state.member = entry.member

            async def watched(request: Request) -> Response:
                response = await _while_held(handler(request), parts_of(request).watch, entry, access)
                tell_limit(request, response)
                # What goes on after this must not outlive the credential that began it.
                return WatchedResponse(response, parts_of(request).watch, entry) if is_streaming(response) else response

            try:
                if streams:
                    return await handle_within_stream_limit(request, parts_of(request), watched)
                return await watched(request)
            except Forbidden as error:
                await audit_denial(parts_of(request), member, f"{request.method} {path}", request.url.path, error)
                raise

        return guarded


async def _while_held(
    handling: Coroutine[Any, Any, Response], watch: RevocationWatch, entry: AuthenticatedCaller, access: AccessRule
) -> Response:
    """The answer, unless the credential that asked for it ends before it is there. Raises CredentialEnded.

    What changes something is carried out to its end once it was let in: half of it would be nobody's wish.
    """
    if access.roles != EVERYONE or access.person:
        return await handling
    async with first_of(handling, watch.ended(entry)) as (answering, _):
        if not answering.done():
            raise CredentialEnded
        response: Response = answering.result()
        return response


def _in_own_scope(endpoint: Endpoint) -> Endpoint:
    @wraps(endpoint)
    async def compared(**given: Any) -> Any:
        body, member = given.get("body"), given.get("me")
        if isinstance(body, RequestBody) and member is not None:
            require_same_scope(member, body.tenant_id, body.workspace_id)
        return await endpoint(**given)

    return compared


def _read_as_json(request: Request) -> None:
    """`curl -d` calls what it sends a form where nobody says otherwise; a route without a form takes it as JSON."""
    headers = request.scope["headers"]
    request.scope["headers"] = [
        (name, b"application/json" if name == b"content-type" and value == CURL else value) for name, value in headers
    ]


def _declares_events(responses: Mapping[int | str, Mapping[str, Any]]) -> bool:
    return any(EVENTS in answer.get("content", ()) for answer in responses.values())


async def _authorize_request(
    request: Request, path: str, access: AccessRule, limited_as: LimitedResource | None
) -> AuthenticatedCaller:
    parts = parts_of(request)
    kind, _, credential = request.headers.get("authorization", "").partition(" ")
    credential = credential if kind.lower() == "bearer" else ""
    return await authorize_caller(request, parts, (request.method, path), access, credential, limited_as)


async def authorize_caller(
    connection: HTTPConnection,
    parts: AppDependencies,
    key: RouteKey,
    access: AccessRule,
    credential: str,
    limited_as: LimitedResource | None = None,
) -> AuthenticatedCaller:
    """Authenticate a credential, count it, check its role against the permission, and return how to re-check it.

    `key` is the route's method (`WS` for sockets) and path template, `credential` an access token or an API key,
    `limited_as` what the request counts as. Raises Unauthenticated, Forbidden, NotFound: not let in; denials are
    audited. RateLimited: too many, which is told again for a second without a look at the database.
    """
    workspace = connection.headers.get("x-workspace")
    shown = credential_with_person(credential, connection.headers)
    if limited_as is not None:
        parts.limits.refuse_known(shown, workspace, limited_as)
    entry = await _authenticate_credential(parts, credential, workspace, key[1])
    if names_person(connection.headers):
        entry = await _act_for_person(connection, parts, entry, key, limited_as)
    member = entry.member
    await admit_member(connection, parts, member, limited_as, shown)
    if member.must_change_password and key[1] != PASSWORD_ROUTE:
        raise PasswordChangeRequired
    try:
        check_access(member, access)
        require_same_scope(
            member, connection.query_params.get("tenant_id"), connection.query_params.get("workspace_id")
        )
    except Forbidden as error:
        await audit_denial(parts, member, f"{key[0]} {key[1]}", connection.url.path, error)
        raise
    return entry


async def _act_for_person(
    connection: HTTPConnection,
    parts: AppDependencies,
    entry: AuthenticatedCaller,
    key: RouteKey,
    limited_as: LimitedResource | None,
) -> AuthenticatedCaller:
    """The person whom the headers name, in place of the key that acts for them.

    Raises ImpersonationRefused, UnknownPerson: it may not, or there is no such member; both are in the trail.
    """
    try:
        if not entry.member.may_impersonate:
            raise ImpersonationRefused
        look = partial(parts.identity.member_by_service, entry.credential, forwarded_email(connection.headers))
        member = await look()
        if member is None:
            raise UnknownPerson
    except Forbidden as error:
        await admit_member(connection, parts, entry.member, limited_as)  # a refusal is a line of the trail
        await audit_denial(parts, entry.member, f"{key[0]} {key[1]}", connection.url.path, error)
        raise
    return AuthenticatedCaller(member, entry.credential, look)


async def audit_denial(
    parts: AppDependencies, member: WorkspaceMember, action: str, object_: str, error: Forbidden
) -> None:
    """Put a refusal into the audit trail, where it is not in it already."""
    if isinstance(error, NoMember | CredentialForbidden) or IN_TRAIL in getattr(error, "__notes__", ()):
        return  # what looks at the rights of a turn, or at a credential, puts on record itself what it refuses
    # Postgres' text has no NUL, and an address may be as long as a caller likes.
    told, why = (text.replace("\0", "\ufffd")[:300] for text in (object_, str(error)))
    await parts.audit.denied(member.scope, action, told, {"why": why})


async def _authenticate_credential(
    parts: AppDependencies, credential: str, wanted: str | None, path: str
) -> AuthenticatedCaller:
    """From the token alone; X-Workspace only chooses among the user's own memberships."""
    if not credential:
        raise Unauthenticated
    identity = parts.identity
    look: Look
    if credential.startswith(KEY_START):
        look = partial(identity.member_by_key, credential)
        member = await look()
        if member is not None and wanted is not None and wanted != member.workspace:
            raise NotFound(f"workspace {wanted}", fix="An API key belongs to one workspace.")
    elif path == MCP_ROUTE and (client := parts.sign_in.client_of_token(credential)) is not None:
        look = await _by_provider(parts, client, credential, wanted)
        member = await look()
    else:
        claims = parts.tokens.verify(credential, parts.clock())
        whose = partial(
            identity.member_by_token, claims.tenant, claims.user, session=claims.session, version=claims.version
        )
        look = partial(whose, workspace=claims.workspace if wanted is None else _parse_workspace_id(wanted))
        member = await look()
        # Only where it failed: whether the token is of no use any more, or is good for other workspaces.
        if member is None and wanted is not None and await whose(workspace=None) is not None:
            raise NotFound(f"workspace {wanted}")
    if member is None:
        raise CredentialEnded
    return AuthenticatedCaller(member, credential, look)


async def _by_provider(parts: AppDependencies, client: OidcProviderClient, token: str, wanted: str | None) -> Look:
    """The lookup of the person to whom a provider gave a token for the MCP server.

    Raises SignInRefused: it is none, or of somebody who has never signed in here.
    """
    of, resource = client.provider, parts.sign_in.resource or ""
    subject = await client.subject_of(token, resource, parts.clock().timestamp())
    tenant = await tenant_of(parts, of)
    user = await parts.external.user_of(tenant, of.issuer, subject)
    if user is None:
        raise SignInRefused("whoever it was given to has to sign in here once, by that provider")
    workspace = None if wanted is None else _parse_workspace_id(wanted)
    return partial(parts.identity.member, tenant, user, workspace)


def check_age(parts: AppDependencies, credential: str) -> None:
    """Refuse an access token that has run out since it was let in.

    Raises TokenRefused: it has; API keys do not run out.
    """
    if not credential.startswith(KEY_START):
        parts.tokens.verify(credential, parts.clock())


def _parse_workspace_id(wanted: str) -> WorkspaceId:
    try:
        return WorkspaceId(str(UUID(wanted)))
    except ValueError:
        raise NotFound(f"workspace {wanted}") from None


def require_same_scope(member: WorkspaceMember, tenant: object, workspace: object, user: object = None) -> None:
    """A tenant, workspace or user that a request names is compared with the token's, never believed.

    Raises ScopeMismatch: it is another one.
    """
    if (
        (tenant is not None and str(tenant) != member.tenant)
        or (workspace is not None and str(workspace) != member.workspace)
        or (user is not None and str(user) not in (member.user, member.email))
    ):
        raise ScopeMismatch


def parts_of(request: HTTPConnection) -> AppDependencies:
    """The dependencies that the app was built with."""
    return cast(AppDependencies, request.app.state.parts)


def _member_of(request: Request, _: Annotated[object, Depends(bearer)]) -> WorkspaceMember:
    member: WorkspaceMember | None = getattr(request.state, "member", None)
    if member is None:
        raise Unauthenticated
    return member


Me = Annotated[WorkspaceMember, Depends(_member_of)]
Its = Annotated[AppDependencies, Depends(parts_of)]
