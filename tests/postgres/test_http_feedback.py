"""Feedback over HTTP: whose thumb it is, who reads the word, and what stays after it."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.http import Api, Office, make_parts, open_office, serve

WORD = "the generator is at Harrow Mill"


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


@pytest.fixture
def run(office: Office, admin_dsn: str) -> str:
    """A developer's run that has ended."""
    ids = {"t": office.scope.tenant, "w": office.scope.workspace, "r": str(uuid4()), "s": str(uuid4())}
    with psycopg.connect(admin_dsn) as connection:
        found = connection.execute("select id from users where email = %s", [office.emails[Role.DEVELOPER]]).fetchone()
        assert found is not None
        named = {**ids, "u": found[0], "a": str(uuid4())}
        for statement in (
            "insert into agents (id, tenant_id, workspace_id, name) values (%(a)s, %(t)s, %(w)s, 'keeper')",
            "insert into sessions (id, tenant_id, workspace_id, agent_id, user_id)"
            " values (%(s)s, %(t)s, %(w)s, %(a)s, %(u)s)",
            "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed)"
            " values (%(r)s, %(t)s, %(w)s, %(s)s, %(a)s, %(u)s, 'general', 'completed', '{}', 1)",
        ):
            connection.execute(statement, named)
    return ids["r"]


async def test_a_thumb_is_given_changed_counted_and_taken_back(
    api: Api, office: Office, run: str, admin_dsn: str
) -> None:
    client, path = await api.sign_in(office.emails[Role.DEVELOPER]), f"/api/runs/{run}/feedback"
    assert (await client.get(path)).json() == {"items": []}
    given = await client.post(path, json={"thumb": "up"})
    assert (given.status_code, given.json()["thumb"], given.json()["word"]) == (200, "up", "")
    await client.post(path, json={"thumb": "down", "word": f"  {WORD} "})
    (one,) = (await client.get(path)).json()["items"]
    assert (one["thumb"], one["word"]) == ("down", WORD), "the later opinion counts, and only that"
    shown = (await client.get(f"/api/runs/{run}")).json()
    assert (shown["thumbs_up"], shown["thumbs_down"]) == (0, 1)
    assert (await client.get("/api/runs", params={"thumb": "down"})).json()["total"] == 1
    assert (await client.get("/api/runs", params={"thumb": "up"})).json() == {"items": [], "total": 0}
    for _ in range(2):
        assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).json() == {"items": []}
    with psycopg.connect(admin_dsn) as connection:
        trail = connection.execute(
            "select detail->>'thumb' from audit where action = 'run.feedback' and object = %s order by seq", [run]
        ).fetchall()
    assert trail == [("up",), ("down",), (None,)], "taking back nothing is no act"


async def test_who_may_not_read_a_run_gives_no_opinion_and_reads_no_word(api: Api, office: Office, run: str) -> None:
    path, wanted = f"/api/runs/{run}/feedback", {"thumb": "up", "word": WORD}
    owner, operator, admin, viewer = [
        await api.sign_in(office.emails[role]) for role in (Role.DEVELOPER, Role.OPERATOR, Role.ADMIN, Role.VIEWER)
    ]
    await owner.post(path, json=wanted)
    (watched,) = (await operator.get(path)).json()["items"]
    assert (watched["thumb"], watched["word"]) == ("up", "")
    assert (await operator.post(path, json=wanted)).status_code == 403
    assert (await admin.get(path)).json()["items"][0]["word"] == WORD
    for method in ("GET", "POST", "DELETE"):
        assert (await viewer.request(method, path, json=wanted)).status_code == 404
    assert (await operator.get("/api/runs", params={"mine": True})).json()["total"] == 0
    assert (await operator.get("/api/runs")).json()["total"] == 1


async def test_another_tenant_finds_no_run_and_leaves_nothing(api: Api, run: str, admin_dsn: str) -> None:
    other = open_office(admin_dsn, "b")
    client, path = await api.sign_in(other.emails[Role.ADMIN]), f"/api/runs/{run}/feedback"
    for method in ("GET", "POST", "DELETE"):
        assert (await client.request(method, path, json={"thumb": "up"})).status_code == 404
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select from run_feedback").fetchall() == []


async def test_what_is_no_opinion_is_refused(api: Api, office: Office, run: str) -> None:
    client: httpx.AsyncClient = await api.sign_in(office.emails[Role.DEVELOPER])
    for wrong in ({}, {"thumb": "sideways"}, {"thumb": "up", "word": "x" * 2001}, {"thumb": "up", "score": 5}):
        assert (await client.post(f"/api/runs/{run}/feedback", json=wrong)).status_code == 422, wrong
