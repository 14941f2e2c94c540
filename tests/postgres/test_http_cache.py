"""The cache over HTTP: what it tells, who may forget, and that it stands in front of search and answers."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import psycopg
import pytest
from redis.asyncio import Redis

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from cluster.models.connections.configured import ConfiguredConnections
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from configs.sections import Settings
from serve_apps.wiring.cache import ANSWERED_WITH, FOUND_WITH, ClockSources, ModelHelpers, build_caching, made_with
from tests.fakes import corpus
from tests.fakes.http import Api, Office, ScriptedAnswerer, ScriptedSearch, make_parts, serve
from tests.fakes.models import FakeEmbedder


@pytest.fixture
async def cached(app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, office: Office) -> AsyncIterator[Api]:
    """The API with a real cache in front of a scripted search."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.open_generation(admin, office.scope)
    redis = Redis.from_url(redis_url)
    parts = make_parts(app_dsn, tmp_path)
    moments = ClockSources(time.time, time.monotonic, lambda: "token")
    made = build_caching(
        Settings(),
        parts.database,
        redis,
        FakeEmbedder(),
        ScriptedSearch(),
        ScriptedAnswerer(),
        moments,
        ModelHelpers("assistant", ConfiguredConnections()),
    )
    async with serve(replace(parts, search=made.search, answerer=made.answerer, cache=made.cache)) as api:
        yield api
    await redis.aclose()


async def ask(client: httpx.AsyncClient, question: str, **more: object) -> None:
    answer = await client.post("/api/documents/search", json={"query": question, **more})
    assert answer.status_code == 200 and answer.json()["total_results"] == 7
    answer = await client.post("/api/ask", json={"question": question})
    assert answer.status_code == 200 and answer.json()["answer"] == "The lease ends in May. [1]"


async def test_what_is_remembered_is_told_and_forgotten(cached: Api, office: Office, app_dsn: str) -> None:
    """GW-16: statistics of one's own workspace, a DELETE for operators that is in the trail."""
    operator = await cached.sign_in(office.emails[Role.OPERATOR])
    viewer = await cached.sign_in(office.emails[Role.VIEWER])
    for client in (operator, operator, viewer):
        await ask(client, "When does the lease end?")
    stats = (await operator.get("/api/rag/cache/stats")).json()
    assert (stats["hits"], stats["misses"], stats["entries"], stats["places"]) == (4, 2, 2, 2)
    assert stats["hit_rate"] == pytest.approx(2 / 3) and stats["ttl_seconds"] == 86_400
    assert (await viewer.delete("/api/rag/cache")).status_code == 403
    agent = (await operator.post("/api/agents", json={"name": "lawyer"})).json()["id"]
    await ask(operator, "When does the lease end?", agent_id="lawyer")
    gone = await operator.delete("/api/rag/cache", params={"agent_id": "lawyer"})
    assert gone.json() == {"forgotten": 1, "agent_id": agent}
    assert (await operator.delete("/api/rag/cache", params={"agent_id": "nobody"})).status_code == 404
    assert (await operator.delete("/api/rag/cache")).json() == {"forgotten": 2, "agent_id": None}
    assert (await operator.get("/api/rag/cache/stats")).json()["entries"] == 0
    database = Database(app_dsn)
    await database.open()
    trail = await AuditLog(database).page(office.scope, skip=0, limit=10)
    await database.close()
    assert [row["detail"]["forgotten"] for row in trail if row["action"] == "cache.clear"] == [2, 1]


async def test_what_is_asked_to_be_worked_out_anew_is_neither_looked_up_nor_kept(cached: Api, office: Office) -> None:
    operator = await cached.sign_in(office.emails[Role.OPERATOR])
    body = {"query": "When does the lease end?", "explain": True, "cache": False}
    for _ in range(2):
        decision = (await operator.post("/api/documents/search", json=body)).json()["explain"]["cache"]
        assert (decision["outcome"], decision["reason"]) == ("bypass", "it was to be worked out anew")
    assert (await operator.get("/api/rag/cache/stats")).json()["entries"] == 0


async def test_a_cache_that_is_away_is_said(api: Api, office: Office) -> None:
    class Away:
        async def get_stats(self, workspace: str, agent_id: str | None = None) -> object:
            raise Unavailable("ConnectionError")

        invalidate = get_stats

    api.app.state.parts = replace(api.parts, cache=Away())
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    for method in ("GET", "DELETE"):
        path = "/api/rag/cache/stats" if method == "GET" else "/api/rag/cache"
        assert (await operator.request(method, path)).status_code == 503


def test_other_settings_are_another_cache_and_secrets_are_none() -> None:
    """SC-04: what results depend on is part of where they are kept."""
    plain = Settings()
    other = plain.model_copy(update={"search": plain.search.model_copy(update={"rrf_k": 10})})
    key = plain.model_copy(update={"llm": plain.llm.model_copy(update={"api_key": "secret"})})
    model = plain.model_copy(update={"llm": plain.llm.model_copy(update={"model": "other"})})
    assert made_with(plain, FOUND_WITH) == made_with(model, FOUND_WITH) != made_with(other, FOUND_WITH)
    assert made_with(plain, ANSWERED_WITH) == made_with(key, ANSWERED_WITH) != made_with(model, ANSWERED_WITH)
    assert made_with(plain, FOUND_WITH, "a prompt") != made_with(plain, FOUND_WITH, "another")
