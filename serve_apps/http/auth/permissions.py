"""Permissions: the roles that may use a route. A route names its own; one without keeps the app from starting.

| role | may |
|---|---|
| viewer | read documents, jobs and agents of the workspace, search, ask, chat; see, cancel and resume the own runs |
| developer | also upload and process single documents, link them, make API keys, try scripts in the sandbox |
| operator | also everything with agents, documents, jobs: scan, re-index, delete, retry, approve; cancel any run |
| admin | also users and credentials; those of the tenant's own administrators also workspaces, tenants, audit trail |

What concerns the whole system (its settings, health, figures) is for operators and administrators of the first tenant.

Operators see state and figures of everybody's runs; what is said in a run is for its owner and for administrators.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fastapi import params
from starlette.routing import BaseRoute, Route, WebSocketRoute

from cluster.basics.errors import AosError, Forbidden
from cluster.basics.scope import Role
from cluster.state.identity.identity import WorkspaceMember

RouteKey = tuple[str, str]
SOCKET = "WS"  # in place of a method, for WebSocket routes

EVERYONE = frozenset(Role)
BUILDERS = EVERYONE - {Role.VIEWER}
OPERATORS = frozenset({Role.OPERATOR, Role.ADMIN})
ADMINS = frozenset({Role.ADMIN})


async def _checked_before() -> None:
    """Nothing: the guard has looked before the body was read, and FastAPI comes to dependencies after it."""


@dataclass(frozen=True)
class AccessRule(params.Depends):
    """A permission, as routes name it: `dependencies=[READ]`."""

    dependency: Callable[..., Any] | None = _checked_before
    # One of these is needed in the workspace; empty where nobody has to be signed in.
    roles: frozenset[Role] = frozenset()
    tenant_wide: bool = False  # it reaches beyond the workspace, so the role is needed in the tenant as well
    person: bool = False  # an API key does not do; it would outlive the person who made it
    system: bool = False  # it concerns the whole system, which the people of the first tenant run

    @property
    def public(self) -> bool:
        """True if nobody has to be signed in."""
        return not self.roles


PUBLIC = AccessRule()
READ = AccessRule(roles=EVERYONE)
BUILD = AccessRule(roles=BUILDERS)
OPERATE = AccessRule(roles=OPERATORS)
ADMINISTER = AccessRule(roles=ADMINS)
OWN = AccessRule(roles=EVERYONE, person=True)
UNMASK = AccessRule(roles=ADMINS, person=True)
KEYS = AccessRule(roles=BUILDERS, person=True)
AUDIT = AccessRule(roles=ADMINS, tenant_wide=True)
PROVISION = AUDIT  # an identity provider holds a key of an administrator of the tenant
TENANT = AccessRule(roles=ADMINS, tenant_wide=True, person=True)
SYSTEM = AccessRule(roles=ADMINS, tenant_wide=True, person=True, system=True)
SYSTEM_STATE = AccessRule(roles=ADMINS, tenant_wide=True, system=True)
SYSTEM_FIGURES = AccessRule(roles=OPERATORS, tenant_wide=True, system=True)
SYSTEM_HEALTH = AccessRule(roles=OPERATORS, system=True)
OPEN_PATHS = frozenset({"/docs", "/openapi.json"})  # FastAPI makes them, without dependencies


class MatrixMismatch(AosError):
    """A route says not, or twice, who may use it."""

    code = "matrix_mismatch"


def access_rule(path: str, dependencies: Iterable[params.Depends]) -> AccessRule:
    """The rule among the dependencies of a route. Raises MatrixMismatch: there is not exactly one."""
    rules = [one for one in dependencies if isinstance(one, AccessRule)]
    if len(rules) != 1:
        raise MatrixMismatch(f"{path} names {len(rules)} permissions; one is needed, such as dependencies=[READ]")
    return rules[0]


def collect_permissions(routes: Iterable[BaseRoute]) -> dict[RouteKey, AccessRule]:
    """The permission matrix: method and path template of every route, with the roles that may use it.

    Raises MatrixMismatch: a route names no permission.
    """
    matrix: dict[RouteKey, AccessRule] = {}
    for route in routes:
        if isinstance(route, WebSocketRoute):
            matrix[SOCKET, route.path] = access_rule(route.path, getattr(route, "dependencies", ()))
        elif isinstance(route, Route):
            open_ = route.path in OPEN_PATHS
            rule = PUBLIC if open_ else access_rule(route.path, getattr(route, "dependencies", ()))
            matrix |= {(method, route.path_format): rule for method in route.methods or () if method != "HEAD"}
    return matrix


def check_access(member: WorkspaceMember, access: AccessRule) -> None:
    """Check that the member's role allows it. Raises Forbidden: with what would be needed."""
    needed = " or ".join(sorted(access.roles))
    if member.role not in access.roles:
        raise Forbidden(f"this needs the role {needed}; yours here is {member.role}")
    if access.tenant_wide and member.tenant_role not in access.roles:
        raise Forbidden(f"this reaches beyond the workspace and needs the role {needed} in the tenant")
    if access.system and not member.first_tenant:
        raise Forbidden("this concerns the whole system; the people of its first tenant may do it")
    if access.person and member.key is not None:
        raise Forbidden("an API key may not do this", fix="Sign in with e-mail and password.")
