"""A valid request to every route that changes something, for tests that walk over all of them.

A new route finds its place in `CALLS`: what to send, or a function that makes ready what the route wants and says what
to send; or, where it only reads, in `READS`, and where it writes as many lines as there are objects, or whoever carries
it out writes the line, in `LINES_ELSEWHERE`, with the reason. Identifiers in paths come from tests/postgres/
test_isolation.py's `Owned`; a call may name others.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from cluster.basics.archive import FileBundle, pack_zip
from cluster.basics.scope import Role
from cluster.state.identity.identity import secret_hash
from tests.fakes.corpus import open_generation
from tests.fakes.http import PASSWORD, Api, Office

CODE = "def run(payload):\n    return {}\n"
QUIZ = {"questions": [{"question": "What opens the vault?", "facts": ["seven turns"], "source": "vault.txt"}]}


@dataclass(frozen=True)
class Call:
    """What is sent. `values`: of the path's parameters, where others than the workspace's own are meant."""

    body: Any = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Any] | None = None
    nobody: bool = False  # without a token


@dataclass(frozen=True)
class CallRoom:
    """What a call is made ready with: an administrator of a furnished workspace, and its owner's connection."""

    api: Api
    admin: httpx.AsyncClient
    office: Office
    dsn: str
    ids: Mapping[str, str]

    async def made(self, path: str, body: Any, name: str = "id", **more: Any) -> str:
        """The id of something new."""
        answer = await self.admin.post(path, json=body, **more)
        assert answer.is_success, f"{path}: {answer.text}"
        return str(answer.json()[name])

    def sql(self, statement: str, *values: Any) -> Any:
        """The first row of a statement of the owner's, if it has any."""
        with psycopg.connect(self.dsn) as owner:
            found = owner.execute(statement, values)
            return found.fetchone() if found.description else None


Prepared = Callable[[CallRoom], Awaitable[Call]]


async def _fresh_agent(room: CallRoom) -> Call:
    return Call(values={"agent_id": await room.made("/api/agents", {"name": "passing"})})


async def _fresh_session(room: CallRoom) -> Call:
    return Call(values={"session_id": await room.made("/v1/agent/sessions", {"session_id": "passing"})})


async def _fresh_user(room: CallRoom) -> Call:
    body = {"email": f"{uuid4().hex}@x.example", "role": "viewer", "password": "a quiet mountain 8"}
    await room.admin.post("/api/users", json=body)
    row = room.sql("select id from users where email = %s", body["email"])
    return Call({"role": "developer"}, {"user_id": str(row[0])})


async def _other_user(room: CallRoom) -> Call:
    return Call(values=(await _fresh_user(room)).values)


async def _linked_user(room: CallRoom) -> Call:
    values = (await _fresh_user(room)).values
    room.sql(
        "insert into external_accounts (tenant_id, issuer, subject, provider, user_id)"
        " select tenant_id, 'https://corp.example', id::text, 'corp', id from users where id = %s",
        values["user_id"],
    )
    return Call(values={**values, "provider": "corp"})


async def _fresh_skill(room: CallRoom) -> Call:
    name = await room.made("/api/skills", {"name": "passing", "description": "d", "text": "t"}, "name")
    return Call({"name": name}, {"skill_name": name})


async def _member(room: CallRoom) -> Call:
    await room.admin.put(f"/api/groups/{room.ids['group_id']}/members/{room.ids['user_id']}")
    return Call()


async def _oauth_credential(room: CallRoom) -> Call:
    url = "http://127.0.0.1:9"
    extra = {"client_id": "c", "base_url": url, "authorize_url": f"{url}/authorize", "token_url": f"{url}/token"}
    wanted = {"name": uuid4().hex, "type": "oauth", "extra": extra}
    return Call(values={"credential_id": await room.made("/api/credentials", wanted)})


async def _connected(room: CallRoom) -> Call:
    call, scope = await _oauth_credential(room), room.office.scope
    room.sql(
        "insert into oauth_connections (tenant_id, workspace_id, user_id, credential_id, settings, scope)"
        " select %s, %s, id, %s, '', '' from users where email = %s",
        *(scope.tenant, scope.workspace, call.values["credential_id"], room.office.emails[Role.ADMIN]),
    )
    return call


async def _given_feedback(room: CallRoom) -> Call:
    await room.admin.post(f"/api/runs/{room.ids['run_id']}/feedback", json={"thumb": "up"})
    return Call()


async def _tenant_below(room: CallRoom) -> Call:
    name = f"below {uuid4().hex[:6]}"
    await room.admin.post("/api/tenants", json={"name": name, "admin_email": f"{uuid4().hex}@x.example"})
    row = room.sql("select id from tenants where name = %s", name)
    return Call(values={"tenant_id": str(row[0])}, params={"confirm": name})


async def _other_workspace(room: CallRoom) -> Call:
    return Call(values={"workspace_id": await room.made("/api/workspaces", {"name": "w2"})}, params={"confirm": "w2"})


async def _tokens(room: CallRoom) -> Call:
    login = {"email": room.office.emails[Role.VIEWER], "password": PASSWORD}
    session = (await room.api.client.post("/api/auth/login", json=login)).json()
    return Call({"refresh_token": session["refresh_token"]}, nobody=True)


async def _handoff(room: CallRoom) -> Call:
    code, verifier = f"{room.office.scope.tenant}.{uuid4().hex}", "v" * 43
    room.sql(
        "insert into sign_in_handoffs select %s, tenant_id, id, %s, 'corp', %s from users where email = %s",
        secret_hash(code),
        create_s256_code_challenge(verifier),
        datetime.now(UTC) + timedelta(minutes=1),
        room.office.emails[Role.VIEWER],
    )
    return Call({"code": code, "verifier": verifier}, nobody=True)


async def _login(room: CallRoom) -> Call:
    return Call({"email": room.office.emails[Role.VIEWER], "password": PASSWORD}, nobody=True)


async def _uploaded(room: CallRoom) -> Call:
    answer = await room.admin.post("/api/documents/upload", files={"file": ("fresh.txt", b"A note of the harbour.")})
    assert answer.is_success, answer.text
    room.sql("update jobs set state = 'completed' where tenant_id = %s", room.office.scope.tenant)
    return Call(values={"document_id": answer.json()["document_id"]})


async def _whole_upload(room: CallRoom) -> Call:
    made = await room.admin.post("/api/uploads", json=UPLOAD)
    assert (await room.admin.put(made.json()["part_urls"][0], content=b"A note of the quay.")).is_success
    id_ = str(made.json()["upload_session_id"])
    room.sql("update jobs set state = 'completed' where tenant_id = %s", room.office.scope.tenant)
    return Call({}, {"upload_id": id_})


async def _whole_upload_by_body(room: CallRoom) -> Call:
    return Call({"upload_session_id": (await _whole_upload(room)).values["upload_id"], "total_chunks": 1})


async def _scanned_page(room: CallRoom) -> Call:
    seen = await room.admin.get(f"/api/documents/{room.ids['document_id']}/pages/1/lines")
    return Call({"page_version": seen.json()["page_version"], "line": 0, "text": "Another text."})


async def _seen_page(room: CallRoom) -> Call:
    return Call({"page_version": (await _scanned_page(room)).body["page_version"]})


async def _generation_before(room: CallRoom) -> Call:
    with psycopg.connect(room.dsn) as owner:
        before = open_generation(owner, chunker="another")
    workspace = room.office.scope.workspace
    room.sql("update workspaces set previous_generation_id = %s where id = %s", before, workspace)
    return Call(values={"generation_id": str(before)}, params={"force": True})


def _job_that(state: str) -> Prepared:
    async def ready(room: CallRoom) -> Call:
        room.sql("update jobs set state = %s where id = %s", state, room.ids["job_id"])
        return Call()

    return ready


def _golden_run_that(state: str) -> Prepared:
    async def ready(room: CallRoom) -> Call:
        room.sql("update golden_runs set state = %s where id = %s", state, room.ids["golden_run_id"])
        return Call()

    return ready


async def _link(room: CallRoom) -> Call:
    agent = (await _fresh_agent(room)).values["agent_id"]
    return Call({"agent_id": agent, "document_ids": [room.ids["document_id"]]})


async def _settings(room: CallRoom) -> Call:
    version = (await room.admin.get("/api/admin/config")).json()["version"]
    return Call({"version": version, "values": {"search.rrf_k": 61}})


async def _folder(room: CallRoom) -> Call:
    return Call({"path": "."})


async def _schedule(room: CallRoom) -> Call:
    return Call({"name": "x", "agent": room.ids["agent_id"], "cron": "0 2 * * *", "payload": {"message": "hello"}})


async def _hold(room: CallRoom) -> Call:
    body = {"kind": "document", "object_id": room.ids["document_id"], "name": "case 7", "reason": "asked for"}
    return Call({"reason": "it is over"}, {"hold_id": await room.made("/api/legal-holds", body)})


async def _held(room: CallRoom) -> Call:
    return Call(
        {"kind": "workspace", "object_id": room.office.scope.workspace, "name": "case 8", "reason": "asked for"}
    )


async def _erased(room: CallRoom) -> Call:
    document = (await _uploaded(room)).values["document_id"]
    return Call({"kind": "document", "ids": [document], "reason": "asked for"})


async def _webhook(room: CallRoom) -> Call:
    body = {"name": uuid4().hex[:8], "url": "http://127.0.0.1:9/hook", "topics": ["*"]}
    return Call({"since": "2026-01-01T00:00:00Z"}, {"webhook_id": await room.made("/api/webhooks", body)})


async def _uploaded_event(room: CallRoom) -> Call:
    async def letter() -> AsyncIterator[bytes]:
        yield b"A letter of the harbour master."

    scope = room.office.scope
    await room.api.parts.blobs.put(scope.tenant, scope.workspace, letter(), "incoming/event.txt")
    return Call({"job_id": uuid4().hex, "document_key": "incoming/event.txt"})


async def _source(room: CallRoom) -> Call:
    """One of its own that nothing is under way for."""
    body = {"name": uuid4().hex[:8], "kind": "folder", "settings": {"path": "."}}
    made = await room.made("/api/sources", body)
    return Call({"folder_id": made}, {"source_id": made})


async def _source_bare(room: CallRoom) -> Call:
    return Call(values=(await _source(room)).values)


async def _source_patch(room: CallRoom) -> Call:
    return Call({"every_minutes": 60}, (await _source(room)).values)


async def _unregistered(room: CallRoom) -> Call:
    """A folder that is no source yet."""
    name = uuid4().hex[:8]
    (Path(room.api.parts.read.nfs_base_path or "") / name).mkdir(parents=True)
    return Call({"path": name})


async def _waiting_source(room: CallRoom) -> Call:
    source = (await _source(room)).values["source_id"]
    waiting = {"reason": "many", "removals": 3, "paths": [], "job": str(uuid4())}
    room.sql("update sources set waiting = %s where id = %s", json.dumps(waiting), source)
    return Call({"removals": 3}, {"source_id": source})


async def _policy(room: CallRoom) -> Call:
    made = await room.admin.post("/api/data-governance/policies", json={"name": uuid4().hex[:8], "body": {}})
    assert made.is_success, made.text
    return Call({"name": "again", "body": {}, "version": 1}, {"policy_id": made.json()["policy"]["id"]})


SCIM = "urn:ietf:params:scim"
SCIM_USER = {"schemas": [f"{SCIM}:schemas:core:2.0:User"], "userName": "scim@x.example"}
SCIM_GROUP = {"schemas": [f"{SCIM}:schemas:core:2.0:Group"], "displayName": "by scim"}


def _scim(kind: str, **patched: Any) -> Prepared:
    """Of somebody or a group that SCIM has made: a patch of these attributes, or else the whole of it."""

    async def ready(room: CallRoom) -> Call:
        name = uuid4().hex[:8]
        new = SCIM_USER | {"userName": f"{name}@x.example"} if kind == "User" else SCIM_GROUP | {"displayName": name}
        values = {f"{kind.lower()}_id": await room.made(f"/scim/v2/{kind}s", new)}
        operations = [{"op": "replace", "path": path, "value": value} for path, value in patched.items()]
        patch = {"schemas": [f"{SCIM}:api:messages:2.0:PatchOp"], "Operations": operations}
        whole = new | ({"active": False} if kind == "User" else {"displayName": f"{name} again"})
        return Call(patch if patched else whole, values)

    return ready


async def _limit(room: CallRoom) -> Call:
    values = {"subject_kind": "user", "subject": room.ids["user_id"], "resource": "chat"}
    await room.admin.put("/api/limits/user/{subject}/chat".format(**values), json={"amount": 9, "window": "minute"})
    return Call({"amount": 7, "window": "minute"}, values)


async def _read_references(room: CallRoom) -> Call:
    room.sql("update jobs set state = 'completed' where tenant_id = %s", room.office.scope.tenant)
    return Call()


UPLOAD = {"document_name": "quay.txt", "total_size_bytes": 19}
PACKAGE = {"file": ("p.skill", pack_zip(FileBundle("p", {"SKILL.md": b"---\nname: p\ndescription: d\n---\nBrief.\n"})))}
ON_THE_SPOT = {"name": "on_the_spot", "description": "d", "code": CODE}
CONNECTION = {"name": "x", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
ENROL = {"track": "integration", "quiz": QUIZ}
AGENTS = ("/api/agents", "/api/universal-agents")

# Routes that need more than an empty body.
CALLS: dict[str, Call | Prepared] = {
    "POST /api/sources": Call({"name": "another", "kind": "folder", "settings": {"path": "."}}),
    "POST /api/documents/register-path": _unregistered,
    "DELETE /api/documents/registered-paths/{source_id}": _source_bare,
    "POST /api/sources/{source_id}/sync": _source_bare,
    "POST /api/sources/{source_id}/approve": _waiting_source,
    "POST /api/sources/{source_id}/decline": _waiting_source,
    "POST /api/sources/{source_id}/pause": _source_bare,
    "POST /api/sources/{source_id}/resume": _source_bare,
    "PATCH /api/sources/{source_id}": _source_patch,
    "DELETE /api/sources/{source_id}": _source_bare,
    "POST /api/cloud-sync/sync": _source,
    "DELETE /api/agents/{agent_id}": _fresh_agent,
    "DELETE /api/groups/{group_id}/members/{user_id}": _member,
    "DELETE /api/runs/{run_id}/feedback": _given_feedback,
    "DELETE /api/oauth/connections/{credential_id}": _connected,
    "POST /api/oauth/connections/{credential_id}": _oauth_credential,
    "DELETE /api/sessions/{session_id}": _fresh_session,
    "DELETE /v1/agent/sessions/{session_id}": _fresh_session,
    "DELETE /api/skills/{skill_name}": _fresh_skill,
    "DELETE /api/tenants/{tenant_id}": _tenant_below,
    "DELETE /api/users/{user_id}": _fresh_user,
    "DELETE /api/users/{user_id}/sessions": _fresh_user,
    "DELETE /api/users/{user_id}/links/{provider}": _linked_user,
    "PATCH /api/users/{user_id}": _fresh_user,
    "POST /api/users/{user_id}/password": _other_user,
    "POST /api/generations/rollback": _generation_before,
    "POST /api/generations/{generation_id}/switch": _generation_before,
    "DELETE /api/workspaces/{workspace_id}": _other_workspace,
    "POST /api/admin/restart-hint": Call({"parts": ["whole"]}),
    "POST /api/agents": Call({"name": "another"}),
    "POST /api/api-keys": Call({"name": "another"}),
    "POST /api/approvals/{approval_id}": Call({"decision": "approve"}),
    "POST /api/auth/login": _login,
    "POST /api/auth/refresh": _tokens,
    "POST /api/auth/logout": _tokens,
    "POST /api/auth/oidc/redeem": _handoff,
    "POST /api/auth/password": Call({"current_password": PASSWORD, "new_password": "a quiet mountain 8"}),
    "POST /api/credentials": Call({"name": "another", "type": "api_key", "values": {"key": "k"}}),
    "POST /api/credentials/{credential_id}/bindings": Call({"skill": "any"}),
    "POST /api/documents/batch-scan": _folder,
    "POST /api/documents/links": _link,
    "POST /api/documents/upload": Call(files={"file": ("new.txt", b"new")}),
    "POST /api/uploads": Call(UPLOAD),
    "POST /api/uploads/{upload_id}/complete": _whole_upload,
    "POST /v1/documents/initiate-upload": Call(UPLOAD),
    "POST /v1/documents/complete-upload": _whole_upload_by_body,
    "POST /api/documents/{document_id}/process": _uploaded,
    "POST /api/documents/{document_id}/reprocess": _uploaded,
    "POST /api/documents/{document_id}/pages/{number}/corrections": _scanned_page,
    "PUT /api/documents/{document_id}/pages/{number}/review": _seen_page,
    "PUT /api/documents/{document_id}/readers": Call({"readers": ["role:admin"]}),
    "PUT /api/documents/{document_id}/classification": Call({"classification": "internal"}),
    "POST /api/golden-runs/{golden_run_id}/cancel": _golden_run_that("running"),
    "POST /api/golden-runs/{golden_run_id}/resume": _golden_run_that("failed"),
    "POST /api/golden-sets": Call({"name": "another"}),
    "POST /api/golden-sets/{set_id}/import": Call({"text": "- {question: another, answer: b}"}),
    "POST /api/golden-sets/{set_id}/questions": Call({"question": "another?", "answers": ["b"]}),
    "POST /api/groups": Call({"name": "another"}),
    "POST /api/jobs/{job_id}/resume": _job_that("cancelled"),
    "POST /api/jobs/{job_id}/retry": _job_that("failed"),
    "POST /api/llm-connections": Call(CONNECTION),
    "PUT /api/llm-connections/{connection_id}/key": Call({"key": "sk-another"}),
    "POST /api/runs/{run_id}/feedback": Call({"thumb": "up"}),
    "POST /api/scheduler/jobs": _schedule,
    "POST /api/skills": Call({"name": "another", "description": "d", "text": "t"}),
    "POST /api/skills/import-package": Call(files=PACKAGE),
    "POST /api/skills/python:try": Call(ON_THE_SPOT),
    "POST /api/skills/{skill_name}:test": Call({"arguments": {"expression": "1"}}, {"skill_name": "calculator"}),
    "POST /api/tenants": Call({"name": "another below", "admin_email": "first@below.example"}),
    "POST /api/users": Call({"email": "new@x.example", "role": "viewer"}),
    "POST /api/workspaces": Call({"name": "another"}),
    "PUT /api/admin/config": _settings,
    "POST /api/data-governance/policies": Call({"name": "another", "body": {}}),
    "PUT /api/data-governance/policies/{policy_id}": _policy,
    "POST /api/erasures": _erased,
    "POST /api/events/document-uploaded": _uploaded_event,
    "POST /api/events/document-uploaded/retry": Call({}),
    "POST /api/webhooks": Call({"name": "another", "url": "http://127.0.0.1:9/hook", "topics": ["job.*"]}),
    "POST /api/webhooks/{webhook_id}/replay": _webhook,
    "POST /api/legal-holds": _held,
    "POST /api/legal-holds/{hold_id}/release": _hold,
    "PUT /api/retention": Call({"class": "messages", "days": 30}),
    "POST /api/runs/{run_id}/unmask": Call({"reason": "asked for"}),
    "PUT /api/documents/folder-readers": Call({"path": ".", "readers": ["role:admin"]}),
    "PUT /api/limits/{subject_kind}/{subject}/{resource}": _limit,
    "DELETE /api/limits/{subject_kind}/{subject}/{resource}": _limit,
    "POST /scim/v2/Users": Call(SCIM_USER),
    "PUT /scim/v2/Users/{user_id}": _scim("User"),
    "PATCH /scim/v2/Users/{user_id}": _scim("User", active=False),
    "DELETE /scim/v2/Users/{user_id}": _scim("User"),
    "POST /scim/v2/Groups": Call(SCIM_GROUP),
    "PUT /scim/v2/Groups/{group_id}": _scim("Group"),
    "PATCH /scim/v2/Groups/{group_id}": _scim("Group", displayName="another"),
    "DELETE /scim/v2/Groups/{group_id}": _scim("Group"),
    "PUT /api/documents/chunking": Call({"strategy": "hierarchical"}),
    "PUT /api/ocr/languages": Call({"languages": ["eng"]}),
    "PUT /api/search/language": Call({"language": "german"}),
    **{f"POST {agents}/{{agent_id}}/academy/enrol": Call(ENROL) for agents in AGENTS},
    **{f"POST {agents}/{{agent_id}}/academy/quiz": _read_references for agents in AGENTS},
    **{f"POST {agents}/{{agent_id}}/import-skill-pack": Call(files=PACKAGE) for agents in AGENTS},
    **{f"POST {agents}/{{agent_id}}/skills": _fresh_skill for agents in AGENTS},
    **{f"POST {agents}/{{agent_id}}/skills:create_and_attach": Call(ON_THE_SPOT) for agents in AGENTS},
}

_RUNS = "the run that it begins is a line when it ends (agent.execute), written by whoever carries it out"
_LOOKS = "it only reads"
# Routes that change nothing, and why they are no GET.
READS: dict[str, str] = {
    "POST /api/ask": _LOOKS,
    "POST /api/documents/search": _LOOKS,
    "POST /api/documents/{document_id}/extract": _LOOKS,
    "POST /api/tables/insights": _LOOKS,
    "POST /api/tables/picture": _LOOKS,
    "POST /api/tables/query": _LOOKS,
    "POST /v1/embeddings": _LOOKS,
    "POST /api/runs/{run_id}/replay": "it reads a run again, and nothing is called or changed",
    "POST /api/erasures/{erasure_id}/probe": _LOOKS,
    "POST /api/retention/preview": _LOOKS,
    "POST /api/sources/{source_id}/test": _LOOKS,
    "POST /api/sources/test": _LOOKS,
    "POST /api/sources/dry-run": _LOOKS,
    "POST /scim/v2/.search": _LOOKS,
    "POST /scim/v2/Users/.search": _LOOKS,
    "POST /scim/v2/Groups/.search": _LOOKS,
    "POST /mcp": "its tools read; tests/postgres/test_mcp_server.py",
}
_PART = "a part is no act of its own: what begins the upload is a line, and what ends it"
_TUS = "it is told in headers; tests/postgres/test_tus.py"
# Routes that change something and are not called here: a line for each object, or one that is written elsewhere.
LINES_ELSEWHERE: dict[str, str] = {
    "POST /api/chat/{agent_id}": _RUNS,
    "POST /api/v1/agents/process": _RUNS,
    "POST /v1/agent/chat": _RUNS,
    "POST /v1/chat/completions": _RUNS,
    "POST /api/runs/{run_id}/resume": _RUNS,
    "POST /api/runs/{run_id}/cancel": "the orchestrator that ends the run writes the line (run.cancel)",
    "POST /api/auth/login/ad": "it begins a session as /api/auth/login does; tests/postgres/test_ldap.py",
    "POST /api/auth/oidc/{provider}/backchannel-logout": "a line for each who is out; tests/postgres/test_oidc.py",
    "POST /api/auth/providers/{provider}/test": "it wants a provider to ask; tests/postgres/test_provider_tests.py",
    "POST /api/oauth/connections/{credential_id}/complete": "a server is asked; test_oauth_connections.py",
    "PUT /api/uploads/{upload_id}/parts/{number}": _PART,
    "POST /v1/documents/chunk-received": _PART,
    "PATCH /api/uploads/tus/{upload_id}": _PART,
    "POST /api/uploads/tus": _TUS,
    "DELETE /api/uploads/tus/{upload_id}": _TUS,
    "POST /api/retention/run": "a line for what went in each workspace; tests/postgres/test_retention.py",
    "POST /api/erasures/replay": "a line for each erasure that is done again; tests/postgres/test_http_erasures.py",
    "POST /api/skills/mcp:discover": "a line where `add` finds something new; tests/postgres/test_mcp_server.py",
}
# Routes that write more, by their lines: what is cut off in between must not be in the trail as done.
LONG: dict[str, list[str]] = {"POST /api/erasures": ["erasure.begin", "erasure.finish"]}
