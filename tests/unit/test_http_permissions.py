"""Who may call which route, written down a second time: a permission that changes has to change here, too."""

import inspect
from typing import get_args

from serve_apps.http.app import ROUTERS
from serve_apps.http.auth import permissions
from serve_apps.http.auth.guard import GuardedRoute
from serve_apps.http.fields import RequestBody
from tests.fakes.http import MATRIX

EXPECTED = {
    "PUBLIC": """
        GET /health
        GET /docs
        GET /openapi.json
        POST /api/auth/login
        POST /api/auth/login/ad
        POST /api/auth/refresh
        POST /api/auth/logout
        GET /api/auth/providers
        GET /api/auth/oidc/{provider}/start
        GET /api/auth/oidc/{provider}/callback
        POST /api/auth/oidc/redeem
        GET /api/oauth/connections/{credential_id}/callback
        POST /api/auth/oidc/{provider}/backchannel-logout
        GET /.well-known/oauth-protected-resource/mcp
        OPTIONS /api/uploads/tus
    """,
    "OWN": """
        POST /api/auth/password
        POST /api/oauth/connections/{credential_id}
        POST /api/oauth/connections/{credential_id}/complete
        DELETE /api/oauth/connections/{credential_id}
    """,
    "TENANT": """
        GET /api/tenants
        POST /api/tenants
        POST /api/workspaces
        DELETE /api/workspaces/{workspace_id}
        DELETE /api/tenants/{tenant_id}
        POST /api/users
        PATCH /api/users/{user_id}
        POST /api/users/{user_id}/password
        DELETE /api/users/{user_id}
        DELETE /api/users/{user_id}/sessions
        DELETE /api/users/{user_id}/links/{provider}
        POST /api/groups
        DELETE /api/groups/{group_id}
        GET /api/auth/directories/{provider}/check
        GET /api/auth/providers/declared
        POST /api/auth/providers/{provider}/test
        PUT /api/groups/{group_id}/members/{user_id}
        DELETE /api/groups/{group_id}/members/{user_id}
        PUT /api/limits/{subject_kind}/{subject}/{resource}
        DELETE /api/limits/{subject_kind}/{subject}/{resource}
        POST /api/erasures
        POST /api/erasures/replay
        POST /api/legal-holds
        POST /api/legal-holds/{hold_id}/release
        PUT /api/retention
        POST /api/retention/preview
        POST /api/retention/run
    """,
    "READ": """
        GET /api/limits/mine
        GET /api/oauth/connections
        GET /api/workspaces
        GET /api/agents
        GET /api/agents/{agent_id}
        GET /api/agents/{agent_id}/rules
        GET /api/agents/{agent_id}/documents
        GET /api/skills
        GET /api/skills/{skill_name}
        GET /api/skills/{skill_name}/package
        GET /api/agents/{agent_id}/skills
        GET /api/universal-agents/{agent_id}/skills
        POST /api/chat/{agent_id}
        POST /api/v1/agents/process
        GET /api/v1/agents/stream/{session_id}
        POST /v1/agent/chat
        WS /api/v1/ws/agent
        POST /v1/chat/completions
        GET /v1/models
        GET /v1/models/{model_id}
        POST /v1/embeddings
        POST /mcp
        GET /api/sessions
        GET /api/sessions/{session_id}
        GET /api/sessions/{session_id}/messages
        PATCH /api/sessions/{session_id}
        DELETE /api/sessions/{session_id}
        POST /v1/agent/sessions
        DELETE /v1/agent/sessions/{session_id}
        GET /api/runs
        GET /api/runs/{run_id}
        GET /api/runs/{run_id}/events
        POST /api/runs/{run_id}/cancel
        POST /api/runs/{run_id}/resume
        POST /api/runs/{run_id}/replay
        GET /api/runs/{run_id}/feedback
        POST /api/runs/{run_id}/feedback
        DELETE /api/runs/{run_id}/feedback
        GET /api/scheduler/jobs
        GET /api/scheduler/jobs/{schedule_id}/runs
        GET /api/academy/tracks
        GET /api/agents/{agent_id}/academy
        GET /api/universal-agents/{agent_id}/academy
        GET /api/approvals/{approval_id}
        GET /api/documents/
        GET /api/documents/export
        GET /api/documents/{document_id}
        GET /api/documents/{document_id}/export
        GET /api/documents/{document_id}/content
        GET /api/documents/{document_id}/pages/{number}
        GET /api/documents/{document_id}/pages/{number}/image
        GET /api/documents/{document_id}/delete-impact
        GET /api/review/pages
        GET /api/documents/{document_id}/pages/{number}/lines
        GET /api/documents/{document_id}/pages/{number}/corrections
        GET /api/documents/{document_id}/versions
        GET /api/documents/{document_id}/versions/{version_id}/pages
        GET /api/documents/{document_id}/versions/{version_id}/pages/{number}
        GET /api/documents/{document_id}/versions/{version_id}/pages/{number}/image
        GET /api/documents/vector-store/stats
        GET /api/documents/analytics
        GET /api/graph
        GET /api/graph/view
        GET /api/graph/entities/{entity_id}
        GET /api/tables
        POST /api/tables/query
        POST /api/tables/picture
        POST /api/tables/insights
        POST /api/documents/search
        POST /api/documents/{document_id}/extract
        GET /api/documents/unsure-fields
        GET /api/ocr/languages
        GET /api/documents/chunking
        GET /api/search/language
        GET /api/rag/debug/{agent_id}
        POST /api/ask
        GET /api/answers/{answer_id}/why
        GET /api/jobs
        GET /api/jobs/{job_id}
        GET /api/jobs/{job_id}/failures
        GET /api/jobs/{job_id}/progress
        GET /api/jobs/about
        GET /api/data-governance/references
        GET /api/data-governance/policies
        GET /api/jobs/{job_id}/events
    """,
    "ADMINISTER": """
        GET /api/documents/folder-readers
        PUT /api/documents/folder-readers
        POST /api/data-governance/policies
        GET /api/data-governance/policies/{policy_id}/versions
        PUT /api/data-governance/policies/{policy_id}
        DELETE /api/data-governance/policies/{policy_id}
        GET /api/users
        POST /api/credentials
        PATCH /api/credentials/{credential_id}
        DELETE /api/credentials/{credential_id}
        POST /api/credentials/{credential_id}/bindings
        DELETE /api/credentials/{credential_id}/bindings/{binding_id}
        GET /api/webhooks
        POST /api/webhooks
        GET /api/webhooks/{webhook_id}
        PATCH /api/webhooks/{webhook_id}
        DELETE /api/webhooks/{webhook_id}
        POST /api/webhooks/{webhook_id}/secret
        GET /api/webhooks/{webhook_id}/deliveries
        POST /api/webhooks/{webhook_id}/replay
        POST /api/webhooks/{webhook_id}/ping
        GET /api/events/document-uploaded
        POST /api/events/document-uploaded/retry
        POST /api/sources
        POST /api/sources/test
        POST /api/sources/dry-run
        PATCH /api/sources/{source_id}
        DELETE /api/sources/{source_id}
    """,
    "BUILD": """
        GET /api/groups
        GET /api/api-keys
        POST /api/skills/python:try
        POST /api/scheduler/jobs
        PATCH /api/scheduler/jobs/{schedule_id}
        DELETE /api/scheduler/jobs/{schedule_id}
        POST /api/scheduler/jobs/{schedule_id}/run
        POST /api/documents/upload
        POST /api/events/document-uploaded
        POST /v1/documents/initiate-upload
        POST /v1/documents/chunk-received
        POST /v1/documents/complete-upload
        GET /api/uploads
        POST /api/uploads
        GET /api/uploads/{upload_id}
        DELETE /api/uploads/{upload_id}
        GET /api/uploads/{upload_id}/parts
        PUT /api/uploads/{upload_id}/parts/{number}
        POST /api/uploads/{upload_id}/complete
        POST /api/uploads/tus
        PATCH /api/uploads/tus/{upload_id}
        DELETE /api/uploads/tus/{upload_id}
        POST /api/documents/links
        POST /api/documents/{document_id}/process
        POST /api/documents/{document_id}/reprocess
        PUT /api/documents/{document_id}/pages/{number}/review
        POST /api/documents/{document_id}/pages/{number}/corrections
        GET /api/generations
        GET /api/golden-sets
        GET /api/golden-sets/{set_id}
        POST /api/golden-sets/{set_id}/questions
    """,
    "UNMASK": """
        POST /api/runs/{run_id}/unmask
    """,
    "KEYS": """
        POST /api/api-keys
        DELETE /api/api-keys/{key_id}
    """,
    "AUDIT": """
        GET /api/users/{user_id}/links
        GET /api/groups/{group_id}/members
        GET /api/limits
        GET /api/erasures
        GET /api/erasures/key
        GET /api/erasures/{erasure_id}/receipt
        POST /api/erasures/{erasure_id}/probe
        GET /api/legal-holds
        GET /api/retention
        GET /api/documents/{document_id}/access
        GET /api/audit
        GET /api/audit/verify
        GET /api/audit/export
        GET /api/audit/sinks
    """,
    "PROVISION": """
        GET /scim/v2/ServiceProviderConfig
        GET /scim/v2/ResourceTypes
        GET /scim/v2/ResourceTypes/{name}
        GET /scim/v2/Schemas
        GET /scim/v2/Schemas/{name}
        GET /scim/v2/Users
        POST /scim/v2/Users
        POST /scim/v2/Users/.search
        GET /scim/v2/Users/{user_id}
        PUT /scim/v2/Users/{user_id}
        PATCH /scim/v2/Users/{user_id}
        DELETE /scim/v2/Users/{user_id}
        GET /scim/v2/Groups
        POST /scim/v2/Groups
        POST /scim/v2/Groups/.search
        GET /scim/v2/Groups/{group_id}
        PUT /scim/v2/Groups/{group_id}
        PATCH /scim/v2/Groups/{group_id}
        DELETE /scim/v2/Groups/{group_id}
        POST /scim/v2/.search
    """,
    "SYSTEM_STATE": """
        GET /api/admin/config
        GET /api/admin/restarts
    """,
    "SYSTEM": """
        PUT /api/admin/config
        POST /api/admin/restart-hint
    """,
    "SYSTEM_HEALTH": """
        GET /api/admin/health
    """,
    "OPERATE": """
        PUT /api/documents/{document_id}/readers
        PUT /api/documents/{document_id}/classification
        GET /api/admin/now
        POST /api/agents
        PATCH /api/agents/{agent_id}
        PATCH /api/universal-agents/{agent_id}
        DELETE /api/agents/{agent_id}
        POST /api/skills/{skill_name}:test
        POST /api/skills
        POST /api/skills/mcp:discover
        POST /api/skills/import-package
        DELETE /api/skills/{skill_name}
        POST /api/agents/{agent_id}/import-skill-pack
        POST /api/universal-agents/{agent_id}/import-skill-pack
        POST /api/agents/{agent_id}/skills
        DELETE /api/agents/{agent_id}/skills/{skill_name}
        POST /api/agents/{agent_id}/skills:create_and_attach
        POST /api/universal-agents/{agent_id}/skills
        DELETE /api/universal-agents/{agent_id}/skills/{skill_name}
        POST /api/universal-agents/{agent_id}/skills:create_and_attach
        GET /api/llm-connections
        GET /api/llm-connections/providers
        POST /api/llm-connections
        PATCH /api/llm-connections/{connection_id}
        PUT /api/llm-connections/{connection_id}/key
        DELETE /api/llm-connections/{connection_id}
        POST /api/llm-connections/{connection_id}/test
        GET /api/credentials
        GET /api/credentials/types
        GET /api/credentials/{credential_id}/bindings
        GET /api/academy/tracks/{track}/quiz
        POST /api/agents/{agent_id}/academy/enrol
        POST /api/agents/{agent_id}/academy/quiz
        POST /api/universal-agents/{agent_id}/academy/enrol
        POST /api/universal-agents/{agent_id}/academy/quiz
        GET /api/approvals
        POST /api/approvals/{approval_id}
        GET /api/v1/agents/approvals/pending
        POST /api/v1/agents/approvals/{approval_id}/approve
        POST /api/v1/agents/approvals/{approval_id}/reject
        GET /api/documents/folders
        PUT /api/ocr/languages
        PUT /api/documents/chunking
        PUT /api/search/language
        GET /api/rag/cache/stats
        DELETE /api/rag/cache
        POST /api/documents/batch-scan
        POST /api/documents/reindex-all
        POST /api/documents/embed-pending
        DELETE /api/documents/{document_id}
        POST /api/generations/rollback
        POST /api/generations/{generation_id}/switch
        POST /api/golden-sets
        PATCH /api/golden-sets/{set_id}
        DELETE /api/golden-sets/{set_id}
        GET /api/golden-sets/{set_id}/questions
        DELETE /api/golden-sets/{set_id}/questions/{key}
        POST /api/golden-sets/{set_id}/import
        GET /api/golden-sets/{set_id}/export
        POST /api/golden-sets/{set_id}/runs
        GET /api/golden-sets/{set_id}/runs
        GET /api/golden-runs/{golden_run_id}
        GET /api/golden-runs/{golden_run_id}/results
        GET /api/golden-runs/{golden_run_id}/compare/{baseline_id}
        POST /api/golden-runs/{golden_run_id}/resume
        POST /api/golden-runs/{golden_run_id}/cancel
        POST /api/documents/register-path
        DELETE /api/documents/registered-paths/{source_id}
        GET /api/documents/registered-paths
        GET /api/sources
        GET /api/sources/kinds
        GET /api/sources/{source_id}
        GET /api/sources/{source_id}/items
        POST /api/sources/{source_id}/test
        POST /api/sources/{source_id}/sync
        POST /api/sources/{source_id}/approve
        POST /api/sources/{source_id}/decline
        POST /api/sources/{source_id}/pause
        POST /api/sources/{source_id}/resume
        GET /api/sources/{source_id}/rights
        GET /api/sources/{source_id}/jobs
        GET /api/cloud-sync/folders
        GET /api/cloud-sync/folders/{source_id}
        GET /api/cloud-sync/files
        GET /api/cloud-sync/jobs
        POST /api/cloud-sync/sync
        POST /api/jobs/{job_id}/cancel
        POST /api/jobs/{job_id}/resume
        POST /api/jobs/{job_id}/retry
    """,
    "SYSTEM_FIGURES": """
        GET /metrics
    """,
}


def test_au_04_every_route_has_the_permission_that_was_decided_for_it() -> None:
    """AU-04: four roles, a declared matrix."""
    expected = {tuple(line.split()): name for name, lines in EXPECTED.items() for line in lines.strip().splitlines()}
    names = {name: getattr(permissions, name) for name in EXPECTED}
    assert {key: names[name] for key, name in expected.items()} == MATRIX


def test_every_body_stands_where_the_guard_compares_its_scope() -> None:
    """X-39: `GuardedRoute` knows body and member by these names; who signs in with a body has no member yet."""
    looked_at = 0
    for route in (route for router in ROUTERS for route in router.routes if isinstance(route, GuardedRoute)):
        takes = inspect.signature(route.endpoint).parameters
        kinds = {name: (one.annotation, *get_args(one.annotation)) for name, one in takes.items()}
        bodies = [n for n, of in kinds.items() if any(isinstance(c, type) and issubclass(c, RequestBody) for c in of)]
        if bodies and "me" not in takes:
            ways_in = {"/api/auth/login", "/api/auth/login/ad", "/api/auth/refresh", "/api/auth/logout"}
            ways_in |= {"/api/auth/oidc/redeem"}
            assert route.path in ways_in
        assert bodies in ([], ["body"]), route.path
        looked_at += len(bodies)
    assert looked_at > 50
