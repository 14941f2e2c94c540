"""What is refused inside a route is in the audit trail, once; so is what people begin, go on with and end."""

from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Role
from serve_apps.agents.intake.rights import NoMember
from serve_apps.http.auth.guard import IN_TRAIL, audit_denial
from skills.framework.credentials import CredentialForbidden
from tests.fakes.http import PASSWORD, Api, Office

Denied = tuple[str, str, str, str]
SCHEDULE = {"name": "morning", "agent": "keeper", "cron": "0 7 * * *", "action": "message", "payload": {"message": "?"}}


def trail(admin_dsn: str, outcome: str = "denied") -> list[Denied]:
    """Actor's address, action, object and reason."""
    query = (
        "select u.email, a.action, a.object, coalesce(a.detail ->> 'why', '') from audit a"
        " left join users u on u.id::text = a.actor where a.outcome = %s order by a.tenant_id, a.seq"
    )
    with psycopg.connect(admin_dsn) as connection:
        return [(str(a), str(b), str(c), str(d)) for a, b, c, d in connection.execute(query, (outcome,)).fetchall()]


async def test_a_path_outside_is_on_record(operator: httpx.AsyncClient, office: Office, admin_dsn: str) -> None:
    refused = await operator.post("/api/documents/batch-scan", json={"path": "/etc"})
    assert refused.status_code == 403
    looked = await operator.get("/api/documents/folders", params={"at": "../.."})
    assert looked.status_code == 403
    who = office.emails[Role.OPERATOR]
    why = "the path lies outside the permitted folder"
    assert trail(admin_dsn) == [
        (who, "POST /api/documents/batch-scan", "/api/documents/batch-scan", why),
        (who, "GET /api/documents/folders", "/api/documents/folders", why),
    ]


async def test_another_tenant_named_in_a_body_is_on_record(
    operator: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    for named in ({"tenant_id": str(uuid4())}, {"workspace_id": str(uuid4())}):
        answer = await operator.post("/v1/agent/sessions", json=named)
        assert (answer.status_code, answer.json()["code"]) == (403, "scope_mismatch"), answer.text
    path = "/v1/agent/sessions"
    why = "The tenant or workspace that the request names is not the one you are signed in to."
    assert trail(admin_dsn) == [(office.emails[Role.OPERATOR], f"POST {path}", path, why)] * 2


async def test_who_signs_in_to_another_tenant_is_on_record(api: Api, office: Office, admin_dsn: str) -> None:
    """Public routes: the route itself does not know whose trail it is."""
    who, other = office.emails[Role.VIEWER], {"tenant_id": str(uuid4())}
    signing = {"email": who, "password": PASSWORD}
    assert (await api.client.post("/api/auth/login", json=signing | other)).status_code == 403
    for path in ("refresh", "logout"):
        session = (await api.client.post("/api/auth/login", json=signing)).json()
        body = {"refresh_token": session["refresh_token"], **other}
        assert (await api.client.post(f"/api/auth/{path}", json=body)).status_code == 403
    assert [entry[:2] for entry in trail(admin_dsn)] == [
        (who, "session.begin"),
        (who, "session.refresh"),
        (who, "session.end"),
    ]


async def test_what_is_somebody_elses_is_on_record(api: Api, office: Office, admin_dsn: str) -> None:
    """Schedules, runs' replays and keys; ids in an address are part of the object."""
    clients = {role: await api.sign_in(office.emails[role]) for role in Role}
    assert (await clients[Role.OPERATOR].post("/api/agents", json={"name": "keeper"})).status_code == 201
    made = await clients[Role.DEVELOPER].post("/api/scheduler/jobs", json=SCHEDULE)
    assert made.status_code == 201, made.text
    job = f"/api/scheduler/jobs/{made.json()['id']}"
    refused: list[tuple[Role, str, str, dict[str, Any]]] = [
        (Role.OPERATOR, "POST", f"{job}/run", {}),
        (Role.ADMIN, "PATCH", job, {"json": {"enabled": True}}),
        (Role.DEVELOPER, "POST", "/api/scheduler/jobs", {"json": SCHEDULE | {"action": "academy", "payload": {}}}),
        (Role.DEVELOPER, "POST", "/api/api-keys", {"json": {"name": "k", "role": "admin"}}),
    ]
    for role, method, path, more in refused:
        answer = await clients[role].request(method, path, **more)
        assert answer.status_code == 403, answer.text
    found = trail(admin_dsn)
    assert [(who, object_) for who, _, object_, _ in found] == [
        (office.emails[role], path) for role, _, path, _ in refused
    ]
    assert found[0][1] == "POST /api/scheduler/jobs/{schedule_id}/run" and "runs as" in found[0][3]
    assert found[3][3] == "a key cannot have the role admin; yours here is developer"


async def test_a_refusal_that_has_its_own_row_gets_no_second_one(api: Api, office: Office, admin_dsn: str) -> None:
    """What Postgres cannot keep of a reason or an address is left out."""
    known = await api.parts.identity.credentials(office.emails[Role.VIEWER])
    assert known is not None
    member = await api.parts.identity.member(known.tenant, known.user)
    assert member is not None
    noted = Forbidden("no")
    noted.add_note(IN_TRAIL)
    for error in (NoMember(), CredentialForbidden("no"), noted, Forbidden("a\0b")):
        await audit_denial(api.parts, member, "GET /{x}", "/\0" + "x" * 4_000, error)
    assert trail(admin_dsn) == [(office.emails[Role.VIEWER], "GET /{x}", "/\ufffd" + "x" * 298, "a\ufffdb")]


@pytest.mark.parametrize("body", [{}, {"session_id": "tab-7", "title": "First"}])
async def test_a_conversation_that_is_begun_is_on_record(
    operator: httpx.AsyncClient, office: Office, admin_dsn: str, body: dict[str, str]
) -> None:
    made = await operator.post("/v1/agent/sessions", json=body)
    assert made.status_code == 201
    assert trail(admin_dsn, "done")[-1][:3] == (office.emails[Role.OPERATOR], "session.open", made.json()["id"])
