"""Permission matrix: every route with the roles that may use it. A missing route keeps the app from starting.

| role | may |
|---|---|
| viewer | read documents, jobs and agents of the workspace, search, ask, chat; see, cancel and resume the own runs |
| developer | also upload and process single documents, link them, make API keys, try scripts in the sandbox |
| operator | also everything with agents, documents, jobs: scan, re-index, delete, retry, approve; cancel any run |
| admin | also users and credentials; those of the tenant's own administrators also workspaces, tenants, audit trail |

What concerns the whole system (its settings, health, figures) is for operators and administrators of the first tenant.

Operators see state and figures of everybody's runs; what is said in a run is for its owner and for administrators.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster.basics.errors import AosError, Forbidden
from cluster.basics.scope import Role
from cluster.state.identity.identity import WorkspaceMember

RouteKey = tuple[str, str]
SOCKET = "WS"  # in place of a method, for WebSocket routes

EVERYONE = frozenset(Role)
BUILDERS = EVERYONE - {Role.VIEWER}
OPERATORS = frozenset({Role.OPERATOR, Role.ADMIN})
ADMINS = frozenset({Role.ADMIN})


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Attributes:
    roles: one of these is needed in the workspace; empty where nobody has to be signed in.
    tenant_wide: it reaches beyond the workspace, so the role is needed in the tenant as well.
    person: an API key does not do; it would outlive the person who made it.
    system: it concerns the whole system, which the people of the first tenant run.
    """

    roles: frozenset[Role]
    tenant_wide: bool = False
    person: bool = False
    system: bool = False

    @property
    def public(self) -> bool:
        """True if nobody has to be signed in."""
        return not self.roles


class MatrixMismatch(AosError):
    """The routes of the application and the matrix of permissions differ."""

    code = "matrix_mismatch"


PUBLIC = AccessRule(frozenset())
_READ, _BUILD, _OPERATE = AccessRule(EVERYONE), AccessRule(BUILDERS), AccessRule(OPERATORS)
_OWN = AccessRule(EVERYONE, person=True)
_KEYS = AccessRule(BUILDERS, person=True)
_TENANT = AccessRule(ADMINS, tenant_wide=True, person=True)
_SYSTEM = AccessRule(ADMINS, tenant_wide=True, person=True, system=True)

MATRIX: Mapping[RouteKey, AccessRule] = {
    ("GET", "/health"): PUBLIC,
    ("GET", "/docs"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("POST", "/api/auth/login"): PUBLIC,
    ("POST", "/api/auth/refresh"): PUBLIC,
    ("POST", "/api/auth/logout"): PUBLIC,
    ("POST", "/api/auth/password"): _OWN,
    ("GET", "/api/tenants"): _TENANT,
    ("POST", "/api/tenants"): _TENANT,
    ("GET", "/api/workspaces"): _READ,
    ("POST", "/api/workspaces"): _TENANT,
    ("DELETE", "/api/workspaces/{workspace_id}"): _TENANT,
    ("DELETE", "/api/tenants/{tenant_id}"): _TENANT,
    ("GET", "/api/users"): AccessRule(ADMINS),
    ("POST", "/api/users"): _TENANT,
    ("PATCH", "/api/users/{user_id}"): _TENANT,
    ("POST", "/api/users/{user_id}/password"): _TENANT,
    ("DELETE", "/api/users/{user_id}"): _TENANT,
    ("DELETE", "/api/users/{user_id}/sessions"): _TENANT,
    ("GET", "/api/api-keys"): _BUILD,
    ("POST", "/api/api-keys"): _KEYS,
    ("DELETE", "/api/api-keys/{key_id}"): _KEYS,
    ("GET", "/api/audit"): AccessRule(ADMINS, tenant_wide=True),
    ("GET", "/api/admin/config"): AccessRule(ADMINS, tenant_wide=True, system=True),
    ("PUT", "/api/admin/config"): _SYSTEM,
    ("POST", "/api/admin/restart-hint"): _SYSTEM,
    ("GET", "/api/admin/restarts"): AccessRule(ADMINS, tenant_wide=True, system=True),
    ("GET", "/api/admin/health"): AccessRule(OPERATORS, system=True),
    ("GET", "/api/admin/now"): _OPERATE,
    ("GET", "/metrics"): AccessRule(OPERATORS, tenant_wide=True, system=True),
    ("GET", "/api/agents"): _READ,
    ("POST", "/api/agents"): _OPERATE,
    ("GET", "/api/agents/{agent_id}"): _READ,
    ("PATCH", "/api/agents/{agent_id}"): _OPERATE,
    ("PATCH", "/api/universal-agents/{agent_id}"): _OPERATE,
    ("DELETE", "/api/agents/{agent_id}"): _OPERATE,
    ("GET", "/api/agents/{agent_id}/rules"): _READ,
    ("GET", "/api/agents/{agent_id}/documents"): _READ,
    ("GET", "/api/skills"): _READ,
    ("POST", "/api/skills/python:try"): _BUILD,
    ("POST", "/api/skills/{skill_name}:test"): _OPERATE,
    ("POST", "/api/skills"): _OPERATE,
    ("POST", "/api/skills/mcp:discover"): _OPERATE,
    ("POST", "/api/skills/import-package"): _OPERATE,
    ("GET", "/api/skills/{skill_name}"): _READ,
    ("DELETE", "/api/skills/{skill_name}"): _OPERATE,
    ("GET", "/api/skills/{skill_name}/package"): _READ,
    ("POST", "/api/agents/{agent_id}/import-skill-pack"): _OPERATE,
    ("POST", "/api/universal-agents/{agent_id}/import-skill-pack"): _OPERATE,
    ("GET", "/api/agents/{agent_id}/skills"): _READ,
    ("POST", "/api/agents/{agent_id}/skills"): _OPERATE,
    ("DELETE", "/api/agents/{agent_id}/skills/{skill_name}"): _OPERATE,
    ("POST", "/api/agents/{agent_id}/skills:create_and_attach"): _OPERATE,
    ("GET", "/api/universal-agents/{agent_id}/skills"): _READ,
    ("POST", "/api/universal-agents/{agent_id}/skills"): _OPERATE,
    ("DELETE", "/api/universal-agents/{agent_id}/skills/{skill_name}"): _OPERATE,
    ("POST", "/api/universal-agents/{agent_id}/skills:create_and_attach"): _OPERATE,
    ("GET", "/api/llm-connections"): _OPERATE,
    ("GET", "/api/llm-connections/providers"): _OPERATE,
    ("POST", "/api/llm-connections"): _OPERATE,
    ("PATCH", "/api/llm-connections/{connection_id}"): _OPERATE,
    ("PUT", "/api/llm-connections/{connection_id}/key"): _OPERATE,
    ("DELETE", "/api/llm-connections/{connection_id}"): _OPERATE,
    ("POST", "/api/llm-connections/{connection_id}/test"): _OPERATE,
    ("GET", "/api/credentials"): _OPERATE,
    ("GET", "/api/credentials/types"): _OPERATE,
    ("POST", "/api/credentials"): AccessRule(ADMINS),
    ("PATCH", "/api/credentials/{credential_id}"): AccessRule(ADMINS),
    ("DELETE", "/api/credentials/{credential_id}"): AccessRule(ADMINS),
    ("GET", "/api/credentials/{credential_id}/bindings"): _OPERATE,
    ("POST", "/api/credentials/{credential_id}/bindings"): AccessRule(ADMINS),
    ("DELETE", "/api/credentials/{credential_id}/bindings/{binding_id}"): AccessRule(ADMINS),
    ("POST", "/api/chat/{agent_id}"): _READ,
    ("POST", "/api/v1/agents/process"): _READ,
    ("GET", "/api/v1/agents/stream/{session_id}"): _READ,
    ("POST", "/v1/agent/chat"): _READ,
    (SOCKET, "/api/v1/ws/agent"): _READ,
    ("POST", "/v1/chat/completions"): _READ,
    ("GET", "/v1/models"): _READ,
    ("GET", "/v1/models/{model_id}"): _READ,
    ("POST", "/v1/embeddings"): _READ,
    ("POST", "/mcp"): _READ,  # each tool asks for the permissions of its route
    ("GET", "/api/sessions"): _READ,
    ("GET", "/api/sessions/{session_id}"): _READ,
    ("GET", "/api/sessions/{session_id}/messages"): _READ,
    ("PATCH", "/api/sessions/{session_id}"): _READ,
    ("DELETE", "/api/sessions/{session_id}"): _READ,
    ("POST", "/v1/agent/sessions"): _READ,
    ("DELETE", "/v1/agent/sessions/{session_id}"): _READ,
    ("GET", "/api/runs"): _READ,
    ("GET", "/api/runs/{run_id}"): _READ,
    ("GET", "/api/runs/{run_id}/events"): _READ,
    ("POST", "/api/runs/{run_id}/cancel"): _READ,
    ("POST", "/api/runs/{run_id}/resume"): _READ,
    ("POST", "/api/runs/{run_id}/replay"): _READ,
    ("GET", "/api/runs/{run_id}/feedback"): _READ,
    ("POST", "/api/runs/{run_id}/feedback"): _READ,
    ("DELETE", "/api/runs/{run_id}/feedback"): _READ,
    ("GET", "/api/scheduler/jobs"): _READ,
    ("POST", "/api/scheduler/jobs"): _BUILD,
    ("PATCH", "/api/scheduler/jobs/{schedule_id}"): _BUILD,  # its owner; operators may switch it off
    ("DELETE", "/api/scheduler/jobs/{schedule_id}"): _BUILD,
    ("POST", "/api/scheduler/jobs/{schedule_id}/run"): _BUILD,
    ("GET", "/api/scheduler/jobs/{schedule_id}/runs"): _READ,
    ("GET", "/api/academy/tracks"): _READ,
    ("GET", "/api/academy/tracks/{track}/quiz"): _OPERATE,  # it holds the answers
    ("GET", "/api/agents/{agent_id}/academy"): _READ,
    ("POST", "/api/agents/{agent_id}/academy/enrol"): _OPERATE,
    ("POST", "/api/agents/{agent_id}/academy/quiz"): _OPERATE,
    ("GET", "/api/universal-agents/{agent_id}/academy"): _READ,
    ("POST", "/api/universal-agents/{agent_id}/academy/enrol"): _OPERATE,
    ("POST", "/api/universal-agents/{agent_id}/academy/quiz"): _OPERATE,
    ("GET", "/api/approvals"): _OPERATE,
    ("GET", "/api/approvals/{approval_id}"): _READ,
    ("POST", "/api/approvals/{approval_id}"): _OPERATE,
    ("GET", "/api/v1/agents/approvals/pending"): _OPERATE,
    ("POST", "/api/v1/agents/approvals/{approval_id}/approve"): _OPERATE,
    ("POST", "/api/v1/agents/approvals/{approval_id}/reject"): _OPERATE,
    ("GET", "/api/documents/"): _READ,
    ("GET", "/api/documents/{document_id}"): _READ,
    ("GET", "/api/documents/{document_id}/content"): _READ,
    ("GET", "/api/documents/{document_id}/pages/{number}"): _READ,
    ("GET", "/api/documents/{document_id}/pages/{number}/image"): _READ,
    ("GET", "/api/documents/{document_id}/delete-impact"): _READ,
    ("GET", "/api/documents/{document_id}/versions"): _READ,
    ("GET", "/api/documents/{document_id}/versions/{version_id}/pages"): _READ,
    ("GET", "/api/documents/{document_id}/versions/{version_id}/pages/{number}"): _READ,
    ("GET", "/api/documents/{document_id}/versions/{version_id}/pages/{number}/image"): _READ,
    ("GET", "/api/documents/folders"): _OPERATE,
    ("GET", "/api/documents/vector-store/stats"): _READ,
    ("GET", "/api/graph"): _READ,
    ("GET", "/api/graph/view"): _READ,
    ("GET", "/api/graph/entities/{entity_id}"): _READ,
    ("POST", "/api/documents/search"): _READ,
    ("GET", "/api/ocr/languages"): _READ,
    ("PUT", "/api/ocr/languages"): _OPERATE,
    ("GET", "/api/search/language"): _READ,
    ("PUT", "/api/search/language"): _OPERATE,
    ("GET", "/api/rag/debug/{agent_id}"): _READ,
    ("GET", "/api/rag/cache/stats"): _OPERATE,
    ("DELETE", "/api/rag/cache"): _OPERATE,
    ("POST", "/api/ask"): _READ,
    ("GET", "/api/answers/{answer_id}/why"): _READ,  # one's own; administrators any
    ("POST", "/api/documents/upload"): _BUILD,
    ("POST", "/api/documents/links"): _BUILD,
    ("POST", "/api/documents/{document_id}/process"): _BUILD,
    ("POST", "/api/documents/{document_id}/reprocess"): _BUILD,
    ("POST", "/api/documents/batch-scan"): _OPERATE,
    ("POST", "/api/documents/reindex-all"): _OPERATE,
    ("POST", "/api/documents/embed-pending"): _OPERATE,
    ("DELETE", "/api/documents/{document_id}"): _OPERATE,
    ("GET", "/api/generations"): _BUILD,
    ("POST", "/api/generations/rollback"): _OPERATE,
    ("POST", "/api/generations/{generation_id}/switch"): _OPERATE,
    ("GET", "/api/golden-sets"): _BUILD,
    ("POST", "/api/golden-sets"): _OPERATE,
    ("GET", "/api/golden-sets/{set_id}"): _BUILD,
    ("PATCH", "/api/golden-sets/{set_id}"): _OPERATE,
    ("DELETE", "/api/golden-sets/{set_id}"): _OPERATE,
    ("GET", "/api/golden-sets/{set_id}/questions"): _OPERATE,  # they hold the answers
    ("POST", "/api/golden-sets/{set_id}/questions"): _BUILD,
    ("DELETE", "/api/golden-sets/{set_id}/questions/{key}"): _OPERATE,
    ("POST", "/api/golden-sets/{set_id}/import"): _OPERATE,
    ("GET", "/api/golden-sets/{set_id}/export"): _OPERATE,
    ("POST", "/api/golden-sets/{set_id}/runs"): _OPERATE,
    ("GET", "/api/golden-sets/{set_id}/runs"): _OPERATE,
    ("GET", "/api/golden-runs/{golden_run_id}"): _OPERATE,
    ("GET", "/api/golden-runs/{golden_run_id}/results"): _OPERATE,
    ("GET", "/api/golden-runs/{golden_run_id}/compare/{baseline_id}"): _OPERATE,
    ("POST", "/api/golden-runs/{golden_run_id}/resume"): _OPERATE,
    ("POST", "/api/golden-runs/{golden_run_id}/cancel"): _OPERATE,
    ("GET", "/api/jobs"): _READ,
    ("GET", "/api/jobs/{job_id}"): _READ,
    ("GET", "/api/jobs/{job_id}/failures"): _READ,
    ("GET", "/api/jobs/{job_id}/progress"): _READ,
    ("GET", "/api/jobs/about"): _READ,
    ("GET", "/api/jobs/{job_id}/events"): _READ,
    ("POST", "/api/jobs/{job_id}/cancel"): _OPERATE,
    ("POST", "/api/jobs/{job_id}/resume"): _OPERATE,
    ("POST", "/api/jobs/{job_id}/retry"): _OPERATE,
}


def check_complete(routes: Iterable[RouteKey], matrix: Mapping[RouteKey, AccessRule] = MATRIX) -> None:
    """Refuse an application whose routes are not exactly those of the matrix.

    Raises:
        MatrixMismatch: naming what is missing on either side.
    """
    known = set(routes)
    if unlisted := sorted(known - set(matrix)):
        raise MatrixMismatch(f"not in the matrix: {unlisted}")
    if gone := sorted(set(matrix) - known):
        raise MatrixMismatch(f"in the matrix, but no routes: {gone}")


def check_access(member: WorkspaceMember, access: AccessRule) -> None:
    """Check that the member's role allows it.

    Raises:
        Forbidden: with what would be needed.
    """
    needed = " or ".join(sorted(access.roles))
    if member.role not in access.roles:
        raise Forbidden(f"this needs the role {needed}; yours here is {member.role}")
    if access.tenant_wide and member.tenant_role not in access.roles:
        raise Forbidden(f"this reaches beyond the workspace and needs the role {needed} in the tenant")
    if access.system and not member.first_tenant:
        raise Forbidden("this concerns the whole system; the people of its first tenant may do it")
    if access.person and member.key is not None:
        raise Forbidden("an API key may not do this", fix="Sign in with e-mail and password.")
