"""Limits over HTTP: who is refused, what they are told, and how replicas count together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from redis.asyncio import Redis

from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.limits.limiter import Limiter
from cluster.state.metrics_store import MetricsStore
from configs.sections_limits import LimitSettings
from serve_apps.http.auth.throttle import FREE
from serve_apps.http.deps import AppDependencies
from serve_apps.ui.kit.api import SignInClient
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import ConsoleSession
from serve_apps.ui.system import rate_limits
from tests.fakes.http import PASSWORD, Api, Clock, Office, make_parts, open_office, serve
from tests.fakes.valkey import Valkey, client, valkey

SEARCH: dict[str, Any] = {"query": "lease"}


@pytest.fixture
def redis_server(tmp_path: Path) -> Any:
    with valkey(tmp_path) as made:
        yield made


def limited(
    parts: AppDependencies, redis: Redis | None, clock: Clock | None = None, **settings: Any
) -> AppDependencies:
    """With limits, which are off in other tests."""
    chosen = LimitSettings(**{"cache_seconds": 0.2} | settings)
    figures = MetricsStore(None)
    return replace(parts, limits=Limiter.of(parts.database, redis, chosen, figures, clock or Clock()))


@asynccontextmanager
async def replica(
    app_dsn: str, folder: Path, redis: Redis | None = None, clock: Clock | None = None, **settings: Any
) -> AsyncIterator[Api]:
    async with serve(limited(make_parts(app_dsn, folder), redis, clock, **settings)) as made:
        yield made


async def put_rule(admin: httpx.AsyncClient, subject: str, resource: str, amount: float, window: str) -> httpx.Response:
    return await admin.put(f"/api/limits/{subject}/{resource}", json={"amount": amount, "window": window})


async def search(one: httpx.AsyncClient) -> int:
    return (await one.post("/api/documents/search", json=SEARCH)).status_code


async def own_id(admin_dsn: str, office: Office, role: Role) -> str:
    async with await psycopg.AsyncConnection.connect(admin_dsn) as connection:
        row = await (
            await connection.execute("select id from users where email = %s", (office.emails[role],))
        ).fetchone()
    assert row is not None
    return str(row[0])


async def test_gw_22_a_caller_beyond_the_limit_gets_a_problem_and_everybody_else_goes_on(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with replica(app_dsn, tmp_path, requests=3) as api:
        viewer, operator = [await api.sign_in(office.emails[role]) for role in (Role.VIEWER, Role.OPERATOR)]
        first = await viewer.post("/api/documents/search", json=SEARCH)
        assert first.headers["RateLimit"].startswith('"requests";r=2;t=')
        assert first.headers["RateLimit-Policy"].startswith('"requests";q=3;w=60;pk=:')
        assert [await search(viewer) for _ in range(3)] == [200, 200, 429]
        refused = await viewer.post("/api/documents/search", content=b"no JSON at all")
        body = refused.json()
        assert refused.status_code == 429 and body["code"] == "rate_limited"
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.headers["RateLimit"].startswith('"requests";r=0;t=')
        user = await own_id_of(api, office, Role.VIEWER)
        told = {"resource": "requests", "amount": 3, "window": "minute", "subject_kind": "caller", "subject": user}
        assert body["limit"] == told and "aos limits mine" in body["fix"]
        assert await search(operator) == 200
        assert (await viewer.get("/api/documents/")).status_code == 200  # another class
        assert (await viewer.get("/health")).status_code == 200
        totals, _ = await api.parts.limits.figures.totals()
        refusals = totals["aos_limits_refused"]
        assert sum(total.value for total in refusals.values()) == 2
        assert all(user not in str(labels) for labels in refusals)


async def own_id_of(api: Api, office: Office, role: Role) -> str:
    known = await api.parts.identity.credentials(office.emails[role])
    assert known is not None
    return known.user


async def test_no_rule_of_a_tenant_raises_the_ceiling_of_the_settings(
    app_dsn: str, tmp_path: Path, office: Office, admin_dsn: str
) -> None:
    async with replica(app_dsn, tmp_path, tenant_requests=6) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        user = await own_id(admin_dsn, office, Role.VIEWER)
        assert (await put_rule(admin, f"user/{user}", "requests", 10**9, "minute")).status_code == 204
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        assert [await search(viewer) for _ in range(7)] == [200] * 6 + [429]  # rules themselves are not counted
        told = (await admin.get("/api/documents/")).json()["limit"]
        assert (told["subject_kind"], told["subject"], told["amount"]) == ("tenant", office.scope.tenant, 6)
        stranger = await api.sign_in(open_office(admin_dsn).emails[Role.VIEWER])
        assert await search(stranger) == 200


async def test_openai_mcp_and_sockets_are_refused_in_their_own_shape(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with replica(app_dsn, tmp_path, chat=0, reads=0) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        for resource in ("chat", "reads"):
            assert (await put_rule(admin, f"tenant/{office.scope.tenant}", resource, 0, "minute")).status_code == 204
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        asked = {"model": "assistant", "messages": [{"role": "user", "content": "hello"}], "stream": True}
        refused = await viewer.post("/v1/chat/completions", json=asked)
        assert refused.status_code == 429 and refused.headers["content-type"] == "application/json"
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert refused.json()["error"]["code"] == "rate_limit_exceeded" and "Retry-After" in refused.headers
        rpc = await viewer.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert rpc.status_code == 429 and rpc.json()["error"]["data"]["code"] == "rate_limited"
        assert rpc.json()["jsonrpc"] == "2.0" and rpc.json()["error"]["data"]["limit"]["resource"] == "reads"
        events = await viewer.post("/api/chat/assistant", json={"message": "hello", "stream": True})
        assert events.status_code == 429 and events.headers["content-type"] == "application/problem+json"


async def test_two_replicas_let_in_exactly_as_many_as_the_limit_says_of_a_hundred_at_once(
    app_dsn: str, tmp_path: Path, office: Office, redis_server: Valkey
) -> None:
    async with (
        client(redis_server.url) as one,
        client(redis_server.url) as two,
        # A hundred at once on a busy machine: it is how many are let in that is measured, not how long Valkey takes.
        replica(app_dsn, tmp_path, one, requests=37, wait_seconds=5) as first,
        replica(app_dsn, tmp_path, two, requests=37, wait_seconds=5) as second,
    ):
        here = await first.sign_in(office.emails[Role.VIEWER])
        there = second.bearing(here.headers["authorization"].removeprefix("Bearer "))
        answers = await asyncio.gather(*(search(side) for _ in range(50) for side in (here, there)))
        assert sorted(answers) == [200] * 37 + [429] * 63


async def test_without_valkey_each_process_counts_says_so_and_it_comes_back_by_itself(
    app_dsn: str, tmp_path: Path, office: Office, redis_server: Valkey
) -> None:
    async with client(redis_server.url) as redis, replica(app_dsn, tmp_path, redis, requests=4) as api:
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        assert [await search(viewer) for _ in range(2)] == [200, 200]
        redis_server.kill()
        began = asyncio.get_running_loop().time()
        answer = await viewer.post("/api/documents/search", json=SEARCH)
        assert answer.status_code == 200 and "aos-local" in answer.headers["RateLimit"]
        assert [await search(viewer) for _ in range(4)] == [200, 200, 200, 429]
        assert asyncio.get_running_loop().time() - began < 2
        totals, _ = await api.parts.limits.figures.totals()
        assert sum(total.value for total in totals["aos_limits_local"].values()) == 5
        redis_server.start()
        await asyncio.sleep(1.1)
        back = await viewer.post("/api/documents/search", json=SEARCH)
        assert back.status_code == 200 and "aos-local" not in back.headers["RateLimit"]


async def test_a_valkey_that_hangs_keeps_nobody_waiting(app_dsn: str, tmp_path: Path, office: Office) -> None:
    from tests.fakes.valkey import babbler

    async with babbler(None) as url, client(url) as redis, replica(app_dsn, tmp_path, redis, requests=9) as api:
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        began = asyncio.get_running_loop().time()
        assert [await search(viewer) for _ in range(5)] == [200] * 5
        assert asyncio.get_running_loop().time() - began < 1.5


async def test_a_rule_holds_within_five_seconds_elsewhere_and_a_group_shares_its_amount(
    app_dsn: str, tmp_path: Path, office: Office, redis_server: Valkey
) -> None:
    async with (
        client(redis_server.url) as one,
        client(redis_server.url) as two,
        replica(app_dsn, tmp_path, one, cache_seconds=3) as first,
        replica(app_dsn, tmp_path, two, cache_seconds=3) as second,
    ):
        admin = await first.sign_in(office.emails[Role.ADMIN])
        viewer = await second.sign_in(office.emails[Role.VIEWER])
        developer = await second.sign_in(office.emails[Role.DEVELOPER])
        assert await search(viewer) == 200
        group = (await admin.post("/api/groups", json={"name": "finance"})).json()["id"]
        for role in (Role.VIEWER, Role.DEVELOPER):
            user = await own_id_of(first, office, role)
            assert (await admin.put(f"/api/groups/{group}/members/{user}")).status_code == 204
        assert (await put_rule(admin, f"group/{group}", "requests", 2, "minute")).status_code == 204
        began = asyncio.get_running_loop().time()
        for _ in range(50):
            if (await viewer.get("/api/limits/mine")).json()["items"][0]["subject_kind"] == "group":
                break
            await asyncio.sleep(0.1)
        assert asyncio.get_running_loop().time() - began < 5
        assert [await search(viewer), await search(developer), await search(developer)] == [200, 200, 429]
        listed = (await admin.get("/api/limits")).json()
        assert [(r["name"], r["used"], r["amount"]) for r in listed["items"]] == [("finance", 2, 2)]
        assert listed["defaults"]["chat"] == 30
        path = f"/api/limits/group/{group}/requests"
        assert (await admin.delete(path)).status_code == 204
        assert (await admin.delete(path)).status_code == 404
        actions = [e["action"] for e in (await admin.get("/api/audit")).json()["items"]]
        assert {"limit.set", "limit.remove"} <= set(actions)


async def test_an_administrator_who_has_shut_everybody_out_takes_the_rule_away_again(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    """A limit of 0 for changes by administrators held for the change that would have ended it, too: for ever."""
    async with replica(app_dsn, tmp_path, requests=1000) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        tenant = (await admin.get("/api/limits/mine")).json()["tenant_id"]
        for resource in ("admin_api", "reads"):
            assert (await put_rule(admin, f"tenant/{tenant}", resource, 0, "minute")).status_code == 204
        assert (await admin.get("/api/users")).status_code == 429
        shown = await admin.get("/api/limits")
        assert {one["resource"] for one in shown.json()["items"]} == {"admin_api", "reads"}
        for resource in ("admin_api", "reads"):
            assert (await admin.delete(f"/api/limits/tenant/{tenant}/{resource}")).status_code == 204
        await asyncio.sleep(1.1)
        assert (await admin.get("/api/users")).status_code == 200


async def test_an_api_key_has_its_own_limit_and_another_tenants_rules_are_not_seen(
    app_dsn: str, tmp_path: Path, office: Office, admin_dsn: str
) -> None:
    other = open_office(admin_dsn)
    async with replica(app_dsn, tmp_path) as api:
        admin, stranger = [await api.sign_in(one.emails[Role.ADMIN]) for one in (office, other)]
        made = (await admin.post("/api/api-keys", json={"name": "robot", "role": "viewer"})).json()
        robot = api.bearing(made["key"])
        assert (await put_rule(admin, f"key/{made['id']}", "requests", 1, "hour")).status_code == 204
        assert [await search(robot), await search(robot), await search(admin)] == [200, 429, 200]
        told = (await robot.post("/api/documents/search", json=SEARCH)).json()["limit"]
        assert (told["subject_kind"], told["subject"]) == ("key", made["id"])
        assert (await stranger.get("/api/limits")).json()["items"] == []
        assert (await put_rule(stranger, f"key/{made['id']}", "requests", 9, "hour")).status_code == 404
        assert (await put_rule(stranger, f"tenant/{office.scope.tenant}", "chat", 0, "hour")).status_code == 404
        assert (await stranger.delete(f"/api/limits/key/{made['id']}/requests")).status_code == 404
        assert (await admin.delete(f"/api/limits/key/{made['id']}/requests")).status_code == 204
        database = Database(app_dsn)
        await database.open()
        async with database.transaction(other.scope) as tx:
            assert await tx.all("select * from rate_limits") == [] == await tx.all("select * from resource_usage")
        await database.close()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("user/not-an-id/chat", {"amount": 1, "window": "minute"}, 422),
        ("nobody/{tenant}/chat", {"amount": 1, "window": "minute"}, 422),
        ("tenant/{tenant}/cpu", {"amount": 1, "window": "minute"}, 422),
        ("tenant/{tenant}/chat", {"amount": -1, "window": "minute"}, 422),
        ("tenant/{tenant}/chat", {"amount": "NaN", "window": "minute"}, 422),
        ("tenant/{tenant}/chat", {"amount": 10**400, "window": "minute"}, 422),
        ("tenant/{tenant}/chat", {"amount": 1.5, "window": "minute"}, 422),
        ("tenant/{tenant}/chat", {"amount": 1, "window": "fortnight"}, 422),
        ("tenant/{tenant}/chat", {"amount": 1, "window": "at_once"}, 422),
        ("tenant/{tenant}/sign_in", {"amount": 1, "window": "minute"}, 422),
        ("tenant/{tenant}/chat", {"amount": 1}, 422),
        ("workspace/{tenant}/chat", {"amount": 1, "window": "minute"}, 404),
    ],
)
async def test_garbage_is_refused_with_what_would_do(
    api: Api, office: Office, path: str, body: dict[str, Any], status: int
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    refused = await admin.put(f"/api/limits/{path.format(tenant=office.scope.tenant)}", json=body)
    assert refused.status_code == status, refused.text
    assert refused.json()["code"] in ("invalid", "bad_limit", "not_found")


async def test_a_window_that_is_over_lets_in_again(app_dsn: str, tmp_path: Path, office: Office) -> None:
    async with replica(app_dsn, tmp_path) as api:
        admin = await api.sign_in(office.emails[Role.ADMIN])
        await put_rule(admin, f"tenant/{office.scope.tenant}", "requests", 2, "second")
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        assert [await search(viewer) for _ in range(3)] == [200, 200, 429]
        await asyncio.sleep(2.1)
        assert [await search(viewer) for _ in range(3)] == [200, 200, 429]


async def test_strangers_are_counted_by_the_address_of_their_connection_whatever_they_claim(
    app_dsn: str, tmp_path: Path
) -> None:
    async with replica(app_dsn, tmp_path, sign_in=3) as api:
        transport = httpx.ASGITransport(api.app, client=("192.0.2.9", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://aos.test") as stranger:
            told = []
            for number in range(5):
                claimed = {"X-Forwarded-For": f"10.0.0.{number}", "X-Real-IP": f"10.0.1.{number}"}
                claimed |= {"Forwarded": f"for=10.0.2.{number}", "X-Console-Client": f"10.0.3.{number}"}
                told.append((await stranger.get("/api/auth/providers", headers=claimed)).status_code)
            assert told == [200, 200, 200, 429, 429]
            assert (await stranger.get("/health")).status_code == 200
        assert (await api.client.get("/api/auth/providers")).status_code == 200  # from this machine


async def test_the_console_sets_and_removes_a_limit_by_the_names_that_people_know(
    app_dsn: str, tmp_path: Path, office: Office
) -> None:
    async with replica(app_dsn, tmp_path) as api:
        door = SignInClient(api.client)
        for role in (Role.ADMIN, Role.VIEWER):
            session = ConsoleSession(office.emails[role], await door.login(office.emails[role], PASSWORD), 1e9)
            page = door.api(session)
            if role is Role.VIEWER:
                assert "Your limits" in await rate_limits._show_limits(page, {})
                return
            named = {"kind": "user", "subject": office.emails[Role.VIEWER].upper(), "resource": "usd"}
            act = rate_limits.SECTION.acts
            await act["limits.set"](page, named | {"amount": "0.25", "window": "day"})
            shown = await rate_limits._show_limits(page, {})
            assert office.emails[Role.VIEWER] in shown and "0 of 0.25" in shown
            with pytest.raises(ApiProblem):
                await act["limits.set"](page, named | {"amount": "much", "window": "day"})
            with pytest.raises(ApiProblem):
                await act["limits.set"](page, named | {"subject": "nobody", "amount": "1", "window": "day"})
            user = await own_id_of(api, office, Role.VIEWER)
            await act["limits.remove"](page, {"subject_kind": "user", "subject": user, "resource": "usd"})
            assert "There are no rules yet." in await rate_limits._show_limits(page, {})


async def test_two_hundred_wrong_passwords_at_once_from_made_up_addresses_cost_five_tries(
    app_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    parts = make_parts(app_dsn, tmp_path)
    asked = 0

    class Counting:
        nobodys = parts.passwords.nobodys

        async def holds(self, stored: str | None, password: str) -> bool:
            nonlocal asked
            asked += 1
            return await parts.passwords.holds(stored, password)

    async with serve(replace(parts, passwords=Counting())) as api:  # type: ignore[arg-type]

        async def guess(number: int) -> int:
            where = f"10.{number}.0.1"
            headers = {"X-Forwarded-For": where, "X-Real-IP": where, "Forwarded": f"for={where}"}
            body = {"email": office.emails[Role.ADMIN], "password": f"wrong {number} password"}
            answer = await api.client.post("/api/auth/login", json=body, headers=headers | {"X-Console-Client": where})
            return answer.status_code

        answers = await asyncio.gather(*(guess(number) for number in range(200)))
        record_property("passwords looked at of 200 parallel guesses", asked)
        assert asked == FREE == answers.count(401) and answers.count(429) == 195
        assert (
            await api.client.post("/api/auth/login", json={"email": office.emails[Role.VIEWER], "password": PASSWORD})
        ).status_code == 200
