"""Health, figures and the page "now": real parts, counts that add up, nothing that says whose they are."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from cluster.console.findings import HealthFinding, StatusColour
from cluster.state.process_services import ProcessServices
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.state.vault import Vault, VaultKey
from configs.settings import load_settings
from serve_apps.http.operator_deps import NoCluster, Probe, ServeDeployment
from serve_apps.http.routes.operations import health_checks
from tests.fakes.http import Api, Office, make_parts, open_office, serve

VAULT = Vault([VaultKey(b"k" * 32)])


class Scripted(NoCluster):
    """A cluster whose parts say what a test wants."""

    def __init__(self) -> None:
        self.found: dict[str, list[HealthFinding]] = {
            "redis": [HealthFinding("redis", StatusColour.GREEN, "embedded", milliseconds=2)],
            "disk": [HealthFinding("disk", StatusColour.YELLOW, "4 GiB free", "Free some space.")],
        }
        self.deployed: Sequence[ServeDeployment] = (
            ServeDeployment("gateway", "Gateway", "RUNNING", "", 1, 1, 3, 2),
            ServeDeployment("embedding", "Embedder", "DEPLOYING", "", 1, 2),
            ServeDeployment("worker", "Worker", "UNHEALTHY", "no CPUs", 0, 1, 0, 0),
        )
        self.away = False
        self.hangs: threading.Event | None = None

    def probes(self) -> Mapping[str, Probe]:
        return {part: lambda part=part: self.probe(part) for part in self.found}  # type: ignore[misc]

    def probe(self, part: str) -> list[HealthFinding]:
        if self.hangs is not None:
            self.hangs.wait(10)
        return self.found[part]

    def deployments(self) -> Sequence[ServeDeployment]:
        if self.away:
            raise Unavailable("Ray does not answer", fix="Run `aos up`.")
        return self.deployed


@pytest.fixture
def cluster() -> Scripted:
    return Scripted()


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, cluster: Scripted) -> AsyncIterator[Api]:
    plain = make_parts(app_dsn, tmp_path)
    operating = replace(plain.operating, cluster=cluster)
    async with serve(replace(plain, operating=operating)) as made:
        yield made


@pytest.fixture
async def operator(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.OPERATOR])


async def health(client: httpx.AsyncClient) -> tuple[str, dict[str, dict[str, Any]]]:
    body = (await client.get("/api/admin/health")).json()
    return body["colour"], {part["part"]: part for part in body["parts"]}


async def test_ad_05_every_part_is_asked_and_has_a_colour(
    operator: httpx.AsyncClient, cluster: Scripted, office: Office, admin_dsn: str
) -> None:
    """AD-05, GW-18: databases, cluster, deployments with replicas and queue, the ledger's lanes, models, vectors."""
    colour, found = await health(operator)
    assert colour == "red", "the worker does not run"
    assert (found["database"]["colour"], found["redis"]["ms"]) == ("green", 2)
    assert (found["disk"]["colour"], found["disk"]["fix"]) == ("amber", "Free some space.")
    assert found["gateway Gateway"]["colour"] == "green" and "3 waiting" in found["gateway Gateway"]["detail"]
    assert found["gateway Gateway"]["deployment"]["ongoing"] == 2
    assert (found["embedding Embedder"]["colour"], found["worker Worker"]["colour"]) == ("amber", "red")
    assert (found["models"]["colour"], found["vector store"]["colour"]) == ("grey", "grey"), "not in use is no fault"
    assert found["queue small"]["detail"] == "empty"
    cluster.deployed = cluster.deployed[:1]
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "insert into jobs (tenant_id, workspace_id, kind, lane, created_at)"
            " values (%s, %s, 'scan', 'bulk', now() - interval '1 hour')",
            (office.scope.tenant, office.scope.workspace),
        )
    colour, found = await health(operator)
    assert found["queue bulk"]["colour"] == "red", "it waits for an hour, and nothing runs there"
    assert "1 waiting" in found["queue bulk"]["detail"]


async def test_x_28_a_model_is_asked_for_its_models(operator: httpx.AsyncClient) -> None:
    """X-28: real queries on real parts; a connection that nobody listens at is red, one switched off grey."""
    for name, enabled in (("dead", True), ("off", False)):
        body = {"name": name, "base_url": "http://127.0.0.1:9/v1", "model": "m", "key": "sk-1", "enabled": enabled}
        assert (await operator.post("/api/llm-connections", json=body)).status_code == 201
    _, found = await health(operator)
    assert (found["model dead"]["colour"], found["model off"]["colour"]) == ("red", "grey")
    assert "sk-1" not in str(found)


async def test_a_part_that_is_away_or_hangs_does_not_hold_up_the_others(
    operator: httpx.AsyncClient, cluster: Scripted
) -> None:
    cluster.away = True
    _, found = await health(operator)
    assert (found["serve"]["colour"], found["serve"]["fix"]) == ("red", "Run `aos up`.")
    assert found["database"]["colour"] == "green"

    async def never() -> list[health_checks.PartHealth]:
        await asyncio.sleep(60)
        return []

    hung = threading.Event()
    cluster.found = {f"part {n}": [] for n in range(20)}
    cluster.hangs = hung
    asked = asyncio.create_task(operator.get("/api/admin/health"))
    await asyncio.sleep(0.2)
    assert await asyncio.wait_for(asyncio.to_thread(lambda: 7), 5) == 7, "others' threads are free"
    hung.set()
    assert (await asked).status_code == 200
    (late,) = await health_checks._check_within("slow", "state", never, 0.05)
    assert (late.colour, late.detail) == ("red", "no answer within 0.05 s")


def stored(admin_dsn: str, office: Office) -> None:
    """A day's work: jobs, a failed page, runs, an approval."""
    tenant, workspace = office.scope.tenant, office.scope.workspace
    job, run, agent, session = (str(uuid4()) for _ in range(4))
    with psycopg.connect(admin_dsn) as owner:
        here = {"t": tenant, "w": workspace, "job": job, "run": run, "agent": agent, "session": session}
        for query in (
            "insert into jobs (id, tenant_id, workspace_id, kind, lane, state)"
            " values (%(job)s, %(t)s, %(w)s, 'scan', 'bulk', 'running')",
            "insert into units (job_id, stage, key, subject, tenant_id, workspace_id, status, failure, settled_at)"
            " select %(job)s, 'read', 'k' || n, 'v', %(t)s, %(w)s, 'failed',"
            " jsonb_build_object('reason', case when n > 1 then 'timeout' else 'corrupt' end),"
            " now() - case when n = 4 then interval '2 days' else interval '0' end from generate_series(1, 4) n",
            "insert into agents (id, tenant_id, workspace_id, name) values (%(agent)s, %(t)s, %(w)s, 'Clerk')",
            "insert into sessions (id, tenant_id, workspace_id, agent_id, user_id)"
            " values (%(session)s, %(t)s, %(w)s, %(agent)s, gen_random_uuid())",
            "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed,"
            " error, prompt_tokens, completion_tokens, cost_usd, created_at) values"
            " (%(run)s, %(t)s, %(w)s, %(session)s, %(agent)s, gen_random_uuid(), 'general', 'failed', '{}', 1,"
            ' \'{"code": "overloaded"}\', 100, 7, 0.5, now()),'
            " (gen_random_uuid(), %(t)s, %(w)s, %(session)s, %(agent)s, gen_random_uuid(), 'general', 'completed',"
            " '{}', 1, null, 10, 3, 0.25, now() - interval '3 hours'),"
            " (gen_random_uuid(), %(t)s, %(w)s, %(session)s, %(agent)s, gen_random_uuid(), 'general', 'completed',"
            " '{}', 1, null, 10, 3, 0.25, now() - interval '3 days')",
            "insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by,"
            " tool, arguments, digest, expires_at) values (gen_random_uuid(), %(t)s, %(w)s, %(run)s, 1, %(session)s,"
            " %(agent)s, gen_random_uuid(), 'x', '{}', 'd', now() + interval '1 day')",
        ):
            owner.execute(query, here)


async def test_now_tells_what_runs_waits_and_failed_and_where(
    operator: httpx.AsyncClient, office: Office, admin_dsn: str, api: Api
) -> None:
    """The page's figures: each with the path of its list, and none of another workspace."""
    other = open_office(admin_dsn)
    stored(admin_dsn, office)
    body = (await operator.get("/api/admin/now")).json()
    assert (body["jobs"]["total"], body["jobs"]["items"][0]["kind"], body["approvals"]["total"]) == (1, "scan", 1)
    assert [(one["reason"], one["count"]) for one in body["page_failures"]["reasons"]] == [
        ("timeout", 2),
        ("corrupt", 1),
    ], "what failed the day before yesterday is not of the last 24 hours"
    assert [(one["reason"], one["count"]) for one in body["run_failures"]["reasons"]] == [("overloaded", 1)]
    assert len(body["hours"]) == len(body["requests"]["values"]) == 25
    assert (body["requests"]["total"], body["failed"]["total"]) == (2, 1)
    assert (body["tokens_in"]["total"], body["tokens_out"]["total"], body["cost_usd"]["total"]) == (110, 10, 0.75)
    assert body["requests"]["values"][-1] == 1 and sum(body["requests"]["values"][-5:]) == 2
    paths = [body[name]["path"] for name in ("jobs", "approvals", "page_failures", "run_failures", "requests", "pages")]
    paths += [body["jobs"]["items"][0]["path"]]
    paths += [one["path"] for name in ("page_failures", "run_failures") for one in body[name]["reasons"]]
    for path in paths:
        assert (await operator.get(path)).status_code == 200, path
    stranger = await api.sign_in(other.emails[Role.OPERATOR])
    theirs = (await stranger.get("/api/admin/now")).json()
    assert (theirs["jobs"]["total"], theirs["approvals"]["total"], theirs["requests"]["total"]) == (0, 0, 0)
    assert theirs["page_failures"]["reasons"] == theirs["run_failures"]["reasons"] == []


async def test_ob_05_metrics_are_read_with_an_operators_key(
    api: Api, operator: httpx.AsyncClient, office: Office, admin_dsn: str, cluster: Scripted
) -> None:
    """OB-05: Prometheus' text, all tenants together and none by name; never to somebody who is not signed in."""
    stored(admin_dsn, office)
    assert (await api.client.get("/metrics")).status_code == 401
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.get("/metrics")).status_code == 403
    key = (await operator.post("/api/api-keys", json={"name": "prometheus"})).json()["key"]
    answer = await api.bearing(key).get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["aos_jobs", (("kind", "scan"), ("state", "running"))] == 1
    assert found["aos_runs", (("state", "completed"),)] == 2
    assert found["aos_approvals_pending", ()] == 1
    assert found["aos_lane_running", (("lane", "bulk"),)] == 1
    assert found["aos_serve_replicas", (("application", "gateway"), ("deployment", "Gateway"))] == 1
    assert found["aos_serve_queued_requests", (("application", "gateway"), ("deployment", "Gateway"))] == 3
    assert ("aos_serve_queued_requests", (("application", "embedding"), ("deployment", "Embedder"))) not in found
    assert found["aos_up", (("source", "postgres"),)] == found["aos_up", (("source", "ray"),)] == 1
    for secret in (office.scope.tenant, office.name, office.scope.workspace, "Clerk"):
        assert secret not in answer.text
    cluster.away = True
    dark = (await api.bearing(key).get("/metrics")).text
    assert 'aos_up{source="ray"} 0.0' in dark and "aos_jobs{" in dark, "one source away, the others still tell"


async def test_figures_of_several_processes_add_up(app_dsn: str, redis_url: str, tmp_path: Path) -> None:
    """OB-05: what two replicas counted is one figure, whichever is asked; an absent Redis loses nothing for good."""
    from redis.asyncio import Redis

    database, snapshots = make_parts(app_dsn, tmp_path).database, SettingsSnapshots(load_settings({}))
    one, two = Redis.from_url(redis_url), Redis.from_url(redis_url)
    first, second = (ProcessServices.of(database, VAULT, redis, snapshots).figures for redis in (one, two))
    for figures, seconds in ((first, 0.015), (second, 0.5), (second, 300.0)):
        figures.add("http.server.request.duration", seconds, {"http.route": "/x"})
    await second.flush()
    totals, told = await first.totals()
    (total,) = totals["aos_http_request_duration_seconds"].values()
    assert told and total.value == pytest.approx(300.515) and sum(total.buckets.values()) == 3
    gone = Redis.from_url("redis://127.0.0.1:9", socket_connect_timeout=0.2)
    third = ProcessServices.of(database, VAULT, gone, snapshots).figures
    third.add("aos.errors", 2, {"error.type": "x"})
    assert not await third.flush()
    totals, told = await third.totals()
    assert not told and sum(total.value for total in totals["aos_errors"].values()) == 2, "it waits"
    for redis in (one, two, gone):
        await redis.aclose()
