"""What may be used at a time and over a period: streams, jobs, bytes, pages, tokens and money."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from cluster.basics.scope import Role, Scope
from cluster.models.messages import TokenUsage
from cluster.models.model_errors import OverBudget
from cluster.models.routing.spend import SpendStore
from cluster.state.db.postgres import Database
from cluster.state.limits.limiter import Limiter
from cluster.state.limits.rules import LimitedCaller, LimitedResource, LimitRule, LimitWindow, SubjectKind
from cluster.state.limits.stream_leases import StreamLeases
from cluster.state.metrics_store import MetricsStore
from cluster.state.work.jobs import JobLane
from configs.sections_limits import LimitSettings
from tests.fakes.http import Clock, Office, make_parts
from tests.fakes.ledger import Bench
from tests.fakes.listening import listening, token
from tests.fakes.orchestrator import ScriptedOrchestrator, says
from tests.fakes.valkey import Valkey, client, valkey
from tests.postgres.test_models_spend import new_agent
from tests.postgres.test_rate_limits import limited, own_id, put_rule, replica

SLOW: Any = lambda incoming: (*says("one"), 60.0)  # noqa: E731
STREAMS = LimitRule(LimitedResource.STREAMS, SubjectKind.TENANT, "t", Decimal(2), LimitWindow.AT_ONCE)
HOLDER = """
import asyncio, sys
from tests.fakes.valkey import client
from tests.postgres.test_quotas import STREAMS
from cluster.state.limits.stream_leases import StreamLeases
async def hold():
    leases = StreamLeases(client(sys.argv[1]), 1.0, 1.5)
    print(len([await leases.take(STREAMS) for _ in range(2)]), flush=True)
    await asyncio.sleep(60)
asyncio.run(hold())
"""


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[Valkey]:
    with valkey(tmp_path) as made:
        yield made


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=3)
    await made.open()
    yield made
    await made.close()


async def stream_of(http: httpx.AsyncClient) -> httpx.Response:
    request = http.build_request("POST", "/api/chat/assistant", json={"message": "hello", "stream": True})
    return await http.send(request, stream=True)


async def test_a_place_of_a_stream_is_free_when_its_client_has_gone(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    parts = make_parts(app_dsn, tmp_path, orchestrator=ScriptedOrchestrator(SLOW))
    with listening(limited(parts, None, streams=2)) as url:
        headers = {"Authorization": f"Bearer {token(url, office.emails[Role.VIEWER])}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=10) as http:
            first, second = await stream_of(http), await stream_of(http)
            assert first.status_code == second.status_code == 200
            refused = await stream_of(http)
            await refused.aread()
            assert refused.status_code == 429 and refused.json()["limit"]["resource"] == "streams"
            assert refused.headers["content-type"] == "application/problem+json"
            assert parts.orchestrator.live == 2  # type: ignore[attr-defined]  # no turn was begun for it
            async with connect(url.replace("http", "ws") + "/api/v1/ws/agent", additional_headers=headers) as socket:
                assert "rate_limited" in str(await socket.recv())
                await socket.wait_closed()
                assert socket.close_code == 4429 and socket.close_reason
            await first.aclose()
            for _ in range(100):
                third = await stream_of(http)
                if third.status_code == 200:
                    break
                await third.aclose()
                await asyncio.sleep(0.05)
            assert third.status_code == 200
            assert (await http.get("/api/agents")).status_code == 200
            await second.aclose()
            await third.aclose()


async def test_a_message_beyond_the_limit_is_refused_and_the_socket_stays(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    with listening(limited(make_parts(app_dsn, tmp_path), None, chat=1)) as url:
        headers = {"Authorization": f"Bearer {token(url, office.emails[Role.VIEWER])}"}
        async with connect(url.replace("http", "ws") + "/api/v1/ws/agent", additional_headers=headers) as socket:
            told = []
            for _ in range(2):
                await socket.send('{"type": "message", "message": "hello", "stream": false}')
                told.append(str(await socket.recv()))
            assert ["rate_limited" in one for one in told] == [False, True]
            await socket.send('{"type": "ping"}')
            assert "pong" in str(await socket.recv())


async def test_places_of_a_killed_process_are_free_when_their_leases_run_out(redis_server: Valkey) -> None:
    command = [sys.executable, "-c", HOLDER, redis_server.url]
    holder = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert holder.stdout is not None and await holder.stdout.readline() == b"2\n"
        async with client(redis_server.url) as redis:
            leases = StreamLeases(redis, 1.0, 1.5)
            assert await leases.take(STREAMS) == (None, False) and await leases.held(STREAMS) == 2
            holder.kill()
            await holder.wait()
            await asyncio.sleep(1.7)
            lease, _ = await leases.take(STREAMS)
            assert lease is not None and await leases.held(STREAMS) == 1
            for _ in range(3):  # renewed, it is held on beyond its seconds
                await asyncio.sleep(0.8)
                await leases.renew(STREAMS, lease)
            assert await leases.held(STREAMS) == 1
            await leases.give_back(STREAMS, lease)
            assert await leases.held(STREAMS) == 0
    finally:
        if holder.returncode is None:
            holder.kill()
        await holder.wait()


async def test_leases_are_taken_by_as_many_as_there_are_places_of_a_hundred_at_once(redis_server: Valkey) -> None:
    async with client(redis_server.url) as one, client(redis_server.url) as two:
        both = StreamLeases(one, 1.0, 30), StreamLeases(two, 1.0, 30)
        taken = await asyncio.gather(*(leases.take(STREAMS) for _ in range(50) for leases in both))
        assert sum(lease is not None for lease, _ in taken) == 2


async def upload(http: httpx.AsyncClient, name: str, text: str) -> httpx.Response:
    return await http.post("/api/documents/upload", files={"file": (name, text.encode())})


async def test_bytes_are_used_up_before_a_body_is_read_and_a_new_day_brings_new_ones(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    clock = Clock(datetime(2026, 11, 28, 23, 50, tzinfo=UTC))
    async with replica(app_dsn, tmp_path, None, clock) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        assert (await put_rule(admin, f"tenant/{office.scope.tenant}", "upload_bytes", 1000, "day")).status_code == 204
        developer = await api.sign_in(office.emails[Role.DEVELOPER])
        assert (await upload(developer, "a.txt", "a" * 500)).status_code == 202
        late = await upload(developer, "b.txt", "b" * 900)
        assert late.status_code == 429 and late.json()["limit"]["resource"] == "upload_bytes"
        assert 590 <= int(late.headers["Retry-After"]) <= 600
        both = await asyncio.gather(upload(developer, "c.txt", "c" * 200), upload(developer, "d.txt", "d" * 201))
        assert [one.status_code for one in both] == [202, 202]
        used = (await admin.get("/api/limits")).json()["items"][0]["used"]
        assert used == 901
        clock.now += timedelta(minutes=11)
        assert (await upload(developer, "e.txt", "e" * 500)).status_code == 202


async def test_parallel_uploads_do_not_both_take_the_last_bytes(app_dsn: str, tmp_path: Path, office: Office) -> None:
    async with replica(app_dsn, tmp_path) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        user = await own_id_of_role(api, office, Role.DEVELOPER)
        await put_rule(admin, f"user/{user}", "upload_bytes", 3000, "month")
        developer = await api.sign_in(office.emails[Role.DEVELOPER])
        # The body is chunked: its length is not announced.
        made = await asyncio.gather(*(upload_chunked(developer, f"{n}.txt", str(n) * 1000) for n in range(8)))
        assert sorted(one.status_code for one in made) == [202] * 3 + [429] * 5
        kept = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
        assert len(kept) == 3


async def own_id_of_role(api: Any, office: Office, role: Role) -> str:
    known = await api.parts.identity.credentials(office.emails[role])
    assert known is not None
    return str(known.user)


async def upload_chunked(http: httpx.AsyncClient, name: str, text: str) -> httpx.Response:
    request = http.build_request("POST", "/api/documents/upload", files={"file": (name, text.encode())})
    body = b"".join(request.stream)  # type: ignore[arg-type]

    async def pieces() -> AsyncIterator[bytes]:
        yield body

    return await http.post(
        "/api/documents/upload", content=pieces(), headers={"Content-Type": request.headers["Content-Type"]}
    )


async def test_jobs_that_wait_count_and_a_cancelled_one_makes_room(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with replica(app_dsn, tmp_path) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        user = await own_id_of_role(api, office, Role.OPERATOR)
        await put_rule(admin, f"user/{user}", "jobs", 2, "at_once")
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        made = await asyncio.gather(*(upload(operator, f"{n}.txt", f"text {n}") for n in range(6)))
        assert sorted(one.status_code for one in made) == [202, 202, 429, 429, 429, 429]
        refused = await operator.post("/api/documents/embed-pending")
        assert refused.status_code == 429 and refused.json()["limit"]["resource"] == "jobs"
        assert (await upload(admin, "other.txt", "another's")).status_code == 202
        job = next(one.json()["job_id"] for one in made if one.status_code == 202)
        assert (await operator.post(f"/api/jobs/{job}/cancel")).status_code < 300
        assert (await operator.post("/api/documents/embed-pending")).status_code == 202
        uses = {one["resource"]: one["used"] for one in (await operator.get("/api/limits/mine")).json()["items"]}
        assert uses["jobs"] == 2


async def test_pages_count_for_who_brought_them_and_then_nothing_more_is_taken(
    app_dsn: str, tmp_path: Path, office: Office, worker: Bench
) -> None:
    async with replica(app_dsn, tmp_path) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        user = await own_id_of_role(api, office, Role.DEVELOPER)
        await put_rule(admin, f"user/{user}", "pages", 3, "month")
        developer = await api.sign_in(office.emails[Role.DEVELOPER])
        assert (await upload(developer, "a.txt", "one\ftwo")).status_code == 202
        await worker.run(JobLane.SMALL)
        assert (await upload(developer, "b.txt", "three\ffour")).status_code == 202
        await worker.run(JobLane.SMALL)
        refused = await upload(developer, "c.txt", "five")
        assert refused.status_code == 429 and refused.json()["limit"]["resource"] == "pages"
        assert (await upload(admin, "c.txt", "five")).status_code == 202
        uses = {one["resource"]: one["used"] for one in (await developer.get("/api/limits/mine")).json()["items"]}
        assert uses["pages"] == 4


async def test_tokens_and_money_of_a_person_end_at_every_model_call_and_before_a_turn(
    app_dsn: str, tmp_path: Path, office: Office, admin_dsn: str, pool: Database
) -> None:
    clock = Clock(datetime(2026, 11, 30, 23, 0, tzinfo=UTC))
    async with replica(app_dsn, tmp_path, None, clock) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        user = await own_id(admin_dsn, office, Role.VIEWER)
        await put_rule(admin, f"user/{user}", "tokens", 100, "day")
        await put_rule(admin, f"workspace/{office.scope.workspace}", "usd", 0.5, "month")
        scope = Scope(office.scope.tenant, office.scope.workspace, user=user, role=Role.VIEWER)  # type: ignore[arg-type]
        other = Scope(office.scope.tenant, office.scope.workspace, role=Role.VIEWER)
        agent = new_agent(admin_dsn, office.scope)
        limits = Limiter.of(pool, None, LimitSettings(cache_seconds=0.1), MetricsStore(None), clock)
        spend = SpendStore(pool, clock, limits)
        asked = {"message": "hello"}
        await asyncio.gather(*(spend.add(scope, agent, TokenUsage(20, 4), 0.01) for _ in range(4)))
        (await spend.state(scope, agent, {})).check()
        assert (await viewer.post("/api/chat/assistant", json=asked)).status_code == 200
        await spend.add(scope, agent, TokenUsage(20, 4), 0.01)
        with pytest.raises(OverBudget, match="100 tokens a day"):
            await spend.state(scope, agent, {})
        refused = await viewer.post("/api/chat/assistant", json=asked)
        assert refused.status_code == 429 and refused.json()["limit"]["resource"] == "tokens"
        assert int(refused.headers["Retry-After"]) == 3600
        (await spend.state(other, agent, {})).check()
        await spend.add(other, agent, TokenUsage(1, 1), 0.45)
        with pytest.raises(OverBudget, match=r"0\.5 usd a month"):
            await spend.state(other, agent, {})
        assert (await admin.post("/api/chat/assistant", json=asked)).json()["limit"]["resource"] == "usd"
        clock.now += timedelta(hours=1)
        (await spend.state(other, agent, {})).check()


async def test_what_redis_forgets_is_no_new_quota_and_what_was_used_without_a_rule_counts(
    app_dsn: str, tmp_path: Path, office: Office, redis_server: Valkey
) -> None:
    async with client(redis_server.url) as redis, replica(app_dsn, tmp_path, redis) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        assert (await upload(admin, "a.txt", "a" * 700)).status_code == 202
        redis_server.kill()
        redis_server.start()
        await put_rule(admin, f"tenant/{office.scope.tenant}", "upload_bytes", 800, "hour")
        assert (await upload(admin, "b.txt", "b" * 700)).status_code == 429


async def test_usage_is_added_up_by_as_many_as_come(pool: Database, scope: Scope) -> None:
    limits = Limiter.of(pool, None, LimitSettings(), MetricsStore(None))
    caller = LimitedCaller.of_scope(scope)

    async def use(amount: int) -> None:
        async with pool.transaction(scope) as tx:
            await limits.take(tx, caller, scope, LimitedResource.UPLOAD_BYTES, amount)

    await asyncio.gather(*(use(7) for _ in range(30)))
    rule = LimitRule(LimitedResource.UPLOAD_BYTES, SubjectKind.TENANT, scope.tenant, Decimal(1), LimitWindow.DAY)
    assert await limits.usage.used(scope, rule) == 210
