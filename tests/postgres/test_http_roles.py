"""Every route with every role, and without one."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from serve_apps.http.auth.permissions import SOCKET
from tests.fakes.http import MATRIX, PASSWORD, Api, Office, make_parts, open_office, serve

VIEWER_MAY_POST = {
    "/api/documents/search",
    "/api/ask",
    "/api/documents/{document_id}/extract",
    "/api/tables/query",
    "/api/tables/insights",
    "/api/tables/picture",
    "/api/auth/password",
    "/api/oauth/connections/{credential_id}",
    "/api/oauth/connections/{credential_id}/complete",
    "/api/chat/{agent_id}",
    "/api/v1/agents/process",
    "/v1/agent/chat",
    "/v1/chat/completions",
    "/v1/embeddings",
    "/mcp",
    "/api/runs/{run_id}/cancel",
    "/api/runs/{run_id}/resume",
    "/api/runs/{run_id}/replay",
    "/api/runs/{run_id}/feedback",
    "/api/v1/ws/agent",
    "/api/sessions/{session_id}",
    "/v1/agent/sessions",
    "/v1/agent/sessions/{session_id}",
}


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


def filled(path: str) -> str:
    """The template with ids that name nothing."""
    path = path.replace("{document_id}", "0" * 32).replace("{number}", "1")
    return re.sub(r"\{\w+\}", lambda _: str(uuid4()), path)


async def test_au_04_every_route_lets_in_exactly_the_roles_of_the_matrix(
    api: Api, office: Office, admin_dsn: str
) -> None:
    """AU-04: four roles, a declared matrix, walked over every route; what is refused is in the audit trail."""
    clients = {role: await api.sign_in(office.emails[role]) for role in Role}
    refused = 0
    for method, path in sorted(api.app.state.permissions):
        if method == SOCKET:
            continue  # tests/postgres/test_http_ws.py
        access = MATRIX[method, path]
        for role, client in clients.items():
            status = (await client.request(method, filled(path))).status_code
            allowed = access.public or role in access.roles
            assert (status != 403) == allowed, f"{role} {method} {path}: {status}"
            assert status < 500, f"{role} {method} {path}: {status}"
            refused += not allowed
        nobody = (await api.client.request(method, filled(path))).status_code
        assert (nobody == 401) == (not access.public), f"nobody {method} {path}: {nobody}"
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select count(*) from audit where outcome = 'denied'").fetchone()
    assert row is not None and row[0] == refused >= 35


def test_au_04_the_matrix_says_what_the_roles_mean() -> None:
    """AU-04: Viewer is read-only, Developer adds documents, Operator runs everything but people, Admin does all."""
    for (method, path), access in MATRIX.items():
        if access.public:
            continue
        assert Role.ADMIN in access.roles
        reads = method == "GET" or path in VIEWER_MAY_POST
        assert reads or Role.VIEWER not in access.roles, f"a viewer may {method} {path}"
        if method == "DELETE" and "documents" in path:
            assert access.roles == {Role.OPERATOR, Role.ADMIN}
        if path in ("/api/users", "/api/tenants"):
            assert access.roles == {Role.ADMIN}
    public = {path for (_, path), access in MATRIX.items() if access.public}
    by_provider = {f"/api/auth/oidc/{path}" for path in ("{provider}/start", "{provider}/callback", "redeem")}
    by_provider |= {"/api/auth/oidc/{provider}/backchannel-logout", "/.well-known/oauth-protected-resource/mcp"}
    by_provider |= {"/api/oauth/connections/{credential_id}/callback"}
    assert public == {
        *("/health", "/docs", "/openapi.json", "/api/auth/login", "/api/auth/refresh", "/api/auth/logout"),
        *("/api/auth/providers", "/api/auth/login/ad", *by_provider),
        "/api/uploads/tus",  # what the server can do (OPTIONS); uploads themselves are nobody's but their sender's
    }


async def test_an_administrator_of_one_workspace_is_not_one_of_the_tenant(
    api: Api, office: Office, admin_dsn: str
) -> None:
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "update memberships m set role = 'admin' from users u where u.id = m.user_id and u.email = %s",
            (office.emails[Role.VIEWER],),
        )
    client = await api.sign_in(office.emails[Role.VIEWER])
    assert (await client.get("/api/users")).status_code == 200
    for path, body in (
        ("/api/users", {"email": "mole@x.example", "role": "admin"}),
        ("/api/workspaces", {"name": "w2"}),
        ("/api/tenants", {"name": "t2", "admin_email": "a@t2.example"}),
    ):
        assert (await client.post(path, json=body)).status_code == 403


async def test_a_role_in_the_workspace_is_none_in_the_tenant(api: Api, office: Office) -> None:
    """Whoever administers a workspace does not thereby administer the tenant; that takes a word of its own."""
    admin = await api.sign_in(office.emails[Role.ADMIN])

    async def added(name: str, **more: str) -> httpx.AsyncClient:
        body = {"email": f"{name}@x.example", "role": "admin", "password": "a quiet mountain 8", **more}
        made = await admin.post("/api/users", json=body)
        assert made.status_code in (200, 201), made.text
        login = {"email": body["email"], "password": body["password"]}
        session = (await api.client.post("/api/auth/login", json=login)).json()
        if not session["must_change_password"]:
            return api.bearing(session["access_token"])
        change = {"current_password": body["password"], "new_password": PASSWORD}
        changed = await api.bearing(session["access_token"]).post("/api/auth/password", json=change)
        return api.bearing(changed.json()["access_token"])

    plain, chief = await added("plain"), await added("chief", tenant_role="admin")
    assert (await plain.get("/api/users")).status_code == (await chief.get("/api/users")).status_code == 200
    assert (await plain.get("/api/audit")).status_code == 403
    assert (await plain.post("/api/workspaces", json={"name": "w2"})).status_code == 403
    assert (await chief.post("/api/workspaces", json={"name": "w2"})).status_code == 201
    known = {"email": "chief@x.example", "role": "viewer"}
    assert (await admin.post("/api/users", json=known)).status_code == 200
    assert (await chief.get("/api/audit")).status_code == 401, "another role wants another token"
    chief = await api.sign_in("chief@x.example")
    assert (await chief.get("/api/audit")).status_code == 403, "no administrator in the workspace any more"
    known |= {"role": "admin", "tenant_role": "viewer"}
    await admin.post("/api/users", json=known)
    chief = await api.sign_in("chief@x.example")
    assert (await chief.post("/api/workspaces", json={"name": "w3"})).status_code == 403


async def test_at_02_the_trail_is_read_by_page_and_tells_where_it_was_altered(
    api: Api, office: Office, admin_dsn: str
) -> None:
    """AT-02, GW-17: GET /api/audit for the tenant's administrators; nothing of another tenant; a forged entry shows."""
    other = open_office(admin_dsn)
    stranger = await api.sign_in(other.emails[Role.ADMIN])
    admin = await api.sign_in(office.emails[Role.ADMIN])
    await admin.post("/api/agents", json={"name": "Clerk"})
    first = (await admin.get("/api/audit", params={"limit": 1})).json()
    assert (first["intact"], first["first_broken"], len(first["items"])) == (True, None, 1)
    assert (first["items"][0]["action"], first["items"][0]["outcome"]) == ("agent.add", "done")
    rest = (await admin.get("/api/audit", params={"skip": 1})).json()["items"]
    assert [entry["action"] for entry in rest] == ["session.begin"]
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("alter table audit disable trigger audit_is_append_only")
        owner.execute("update audit set actor = 'somebody' where seq = 1 and tenant_id = %s", (office.scope.tenant,))
    broken = (await admin.get("/api/audit")).json()
    assert (broken["intact"], broken["first_broken"]) == (False, 1)
    assert (await stranger.get("/api/audit")).json()["intact"] is True
    database = Database(admin_dsn)  # a superuser, whom row-level security does not bind: the queries name the tenant
    await database.open()
    try:
        assert await AuditLog(database).first_broken(other.scope) is None
        assert {row["seq"] for row in await AuditLog(database).page(other.scope)} == {1}
    finally:
        await database.close()


async def test_gw_23_the_documentation_is_there(api: Api) -> None:
    """GW-23: Swagger at /docs, over a document that names every route of ours and how to sign in."""
    page = (await api.client.get("/docs")).text
    assert "swagger-ui" in page and "https://cdn" not in page
    for asset in re.findall(r'"(/docs-assets/[^"]+)"', page):
        assert (await api.client.get(asset)).status_code == 200
    document = (await api.client.get("/openapi.json")).json()
    named = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    apart = ("OPTIONS", SOCKET)  # a protocol's own word, and what OpenAPI cannot say
    assert named == {key for key in MATRIX if key[1] not in ("/docs", "/openapi.json") and key[0] not in apart}
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
