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
from serve_apps.http.auth.permissions import AccessRule, RouteKey, access_rule, check_access
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
    WatchedResponse,
    is_streaming,
)
from serve_apps.http.auth.tokens import KEY_START
from serve_apps.http.content_disposition import FormRequest
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody
from serve_apps.http.problems import PasswordChangeRequired, ScopeMismatch
from skills.framework.credentials import CredentialForbidden

# For the document of the API only: the check itself is below, and runs before FastAPI parses a body.
bearer = HTTPBearer(auto_error=False, description="An access token from POST /api/auth/login, or an API key.")

CURL = b"application/x-www-form-urlencoded"
IN_TRAIL = "on record already"  # a note (PEP 678) on a refusal that its own row tells more exactly
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
                response = await handler(request)
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
    if limited_as is not None:
        parts.limits.refuse_known(credential, workspace, limited_as)
    entry = await _authenticate_credential(parts, credential, workspace)
    member = entry.member
    await admit_member(connection, parts, member, limited_as, credential)
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


async def audit_denial(
    parts: AppDependencies, member: WorkspaceMember, action: str, object_: str, error: Forbidden
) -> None:
    """Put a refusal into the audit trail, where it is not in it already."""
    if isinstance(error, NoMember | CredentialForbidden) or IN_TRAIL in getattr(error, "__notes__", ()):
        return  # what looks at the rights of a turn, or at a credential, puts on record itself what it refuses
    # Postgres' text has no NUL, and an address may be as long as a caller likes.
    told, why = (text.replace("\0", "\ufffd")[:300] for text in (object_, str(error)))
    await parts.audit.denied(member.scope, action, told, {"why": why})


async def _authenticate_credential(parts: AppDependencies, credential: str, wanted: str | None) -> AuthenticatedCaller:
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
