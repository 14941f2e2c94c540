"""Conversations over HTTP: one's own, nobody else's."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope, UserId
from cluster.state.conversations import ConversationSummary, NewMessage, SessionFact
from tests.fakes.http import Api, Office, make_parts, open_office, serve


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


async def begun(client: httpx.AsyncClient, **body: str) -> dict[str, object]:
    answer = await client.post("/v1/agent/sessions", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def owner_of(admin_dsn: str, office: Office, email: str) -> Scope:
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select id from users where email = %s", (email,)).fetchone()
    assert row is not None
    return replace(office.scope, user=UserId(str(row[0])))


async def test_gw_20_a_session_is_begun_named_and_ended(api: Api, office: Office) -> None:
    """GW-20: 201 with its id; the same name is the same session; gone after DELETE."""
    client = await api.sign_in(office.emails[Role.VIEWER])
    made = await begun(client, title="First")
    assert made["session_id"] == made["id"] and made["status"] == "open" and made["messages"] == 0
    named = await begun(client, session_id="tab-7")
    assert (await begun(client, session_id="tab-7"))["id"] == named["id"]
    assert (await client.get("/api/sessions/tab-7")).json()["id"] == named["id"]
    listed = (await client.get("/api/sessions")).json()
    assert listed["total"] == 2 and listed["items"][0]["id"] == named["id"]
    for address in (f"/v1/agent/sessions/{made['id']}", "/api/sessions/tab-7"):
        assert (await client.delete(address)).status_code == 204
        assert (await client.delete(address)).status_code == 404
    assert (await client.post("/v1/agent/sessions", json={"session_id": made["id"]})).status_code == 404
    assert (await client.get("/api/sessions")).json() == {"items": [], "total": 0}


async def test_me_08_messages_facts_and_summary_are_shown(api: Api, office: Office, admin_dsn: str) -> None:
    """ME-08: page by page, with what is remembered."""
    email = office.emails[Role.DEVELOPER]
    client, scope = await api.sign_in(email), owner_of(admin_dsn, office, email)
    id_ = str((await begun(client))["id"])
    kept = api.parts.conversations
    async with api.parts.database.transaction(scope) as tx:
        said = [NewMessage("user", f"m{n}", findings={"email": 1} if n == 1 else {}) for n in range(1, 6)]
        await kept.append(tx, scope, id_, said)
        await kept.learn(tx, scope, id_, [SessionFact("topic", "low", "boats")])
        await kept.summarise(tx, scope, id_, ConversationSummary(5, "They spoke."))
    shown = (await client.get(f"/api/sessions/{id_}")).json()
    assert (shown["summary"], shown["summary_upto"], shown["title"]) == ("They spoke.", 5, "m1")
    assert shown["facts"] == [{"category": "topic", "importance": "low", "fact": "boats"}]
    page = (await client.get(f"/api/sessions/{id_}/messages", params={"after": 1, "limit": 2})).json()["items"]
    assert [(m["seq"], m["role"], m["text"]) for m in page] == [(2, "user", "m2"), (3, "user", "m3")]
    first = (await client.get(f"/api/sessions/{id_}/messages")).json()["items"][0]
    assert first["findings"] == {"email": 1} and first["run_id"] is None


async def test_a_session_is_renamed_closed_and_opened_again(api: Api, office: Office) -> None:
    client = await api.sign_in(office.emails[Role.VIEWER])
    id_ = (await begun(client, session_id="k"))["id"]
    changed = await client.patch(f"/api/sessions/{id_}", json={"title": " Harbour ", "status": "closed"})
    assert (changed.json()["title"], changed.json()["status"]) == ("Harbour", "closed")
    assert (await client.post("/v1/agent/sessions", json={"session_id": "k"})).status_code == 409
    assert (await client.patch("/api/sessions/k", json={"status": "open"})).json()["title"] == "Harbour"
    for wrong in ({"title": ""}, {"status": "gone"}, {"owner": "me"}, {"title": "a\u0000"}):
        assert (await client.patch(f"/api/sessions/{id_}", json=wrong)).status_code == 422


async def test_mt_03_another_user_or_tenant_finds_no_session(api: Api, office: Office, admin_dsn: str) -> None:
    """MT-03, ME-08: 404 for everybody else on every route; an administrator of the workspace reads only."""
    owner = await api.sign_in(office.emails[Role.DEVELOPER])
    id_ = (await begun(owner, session_id="mine"))["id"]
    foreign = open_office(admin_dsn)
    others = [await api.sign_in(office.emails[Role.OPERATOR]), await api.sign_in(foreign.emails[Role.ADMIN])]
    boss = await api.sign_in(office.emails[Role.ADMIN])
    for client in [*others, boss]:
        assert (await client.patch(f"/api/sessions/{id_}", json={"title": "x"})).status_code == 404
        for address in (f"/api/sessions/{id_}", f"/v1/agent/sessions/{id_}", "/api/sessions/mine"):
            assert (await client.delete(address)).status_code == 404
        assert (await client.post("/v1/agent/sessions", json={"session_id": id_})).status_code == 404
        for address in (f"/api/sessions/{id_}", f"/api/sessions/{id_}/messages"):
            assert (await client.get(address)).status_code == (200 if client is boss else 404)
    assert (await boss.get("/api/sessions", params={"everyone": True})).json()["total"] == 1
    assert (await others[0].get("/api/sessions", params={"everyone": True})).status_code == 403
    assert (await others[1].get("/api/sessions", params={"everyone": True})).json()["total"] == 0
    assert (await owner.get(f"/api/sessions/{uuid4()}")).status_code == 404
