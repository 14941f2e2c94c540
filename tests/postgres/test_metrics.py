"""Every metric's template in a real Postgres: with every dimension it counts right and stays in its workspace."""

import itertools
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from redis.asyncio import Redis

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from serve_apps.agents.analytics import ranges
from serve_apps.agents.analytics.handler import AnalyticsHandler
from serve_apps.agents.analytics.metric_catalogue import TIMES, MetricCatalogue, read_catalogue
from serve_apps.agents.analytics.metric_reader import MetricReader, MetricResult
from serve_apps.agents.analytics.query_plan import MetricPlan, plan_metric_query
from serve_apps.agents.intake.path_router import normalise_words
from serve_apps.agents.memory.redis_memo import RedisMemo
from tests.fakes.agents import MemoryJournal, turn
from tests.fakes.http import Office, open_office

CATALOGUE = read_catalogue(Path(__file__).resolve().parents[2] / "configs" / "metrics.yaml")
TODAY = date(2026, 11, 18)
WHEN = "2026-11-17T23:30:00+00"  # the last half hour of a Tuesday in UTC
TIMEOUT = '{"reason": "timeout", "stage": "read"}'
ALL = ranges.all_time(date(2027, 1, 1))


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=2, timeout=10)
    await made.open()
    yield made
    await made.close()


def measures(pool: Database, redis: Redis | None = None, catalogue: MetricCatalogue = CATALOGUE) -> MetricReader:
    return MetricReader(pool, catalogue, RedisMemo(redis, "test:metrics:", 30, lambda: 0.0))


def fill(admin_dsn: str, office: Office, *, hidden: bool = False) -> None:
    """Three documents with pages, two jobs, two turns with a tool call and two approvals."""
    own, agent, session = (office.scope.tenant, office.scope.workspace), str(uuid4()), str(uuid4())
    user = str(uuid4())
    with psycopg.connect(admin_dsn) as c:
        c.execute("insert into agents (id, tenant_id, workspace_id, name) values (%s, %s, %s, 'clerk')", (agent, *own))
        c.execute(
            "insert into sessions (id, tenant_id, workspace_id, agent_id, user_id, created_at) "
            "values (%s,%s,%s,%s,%s,%s)",
            (session, *own, agent, user, WHEN),
        )
        for n, (status, kind) in enumerate([("completed", "pdf"), ("partial", "pdf"), ("failed", "docx")]):
            document = f"{office.name}-{n}"
            readers = ["user:nobody@example.org"] if hidden and n == 1 else []
            failure = '{"reason": "encrypted", "stage": "open"}' if status == "failed" else None
            c.execute(
                "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, status, "
                "failure, readers, current_version, upload_date) values (%s,%s,%s,%s,%s,%s,'upload',%s,%s,%s,%s,%s)",
                (document, *own, document, document, kind, status, failure, readers, f"{document}-v", WHEN),
            )
            c.execute(
                "insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind, "
                "location, page_count) values (%s,%s,%s,%s,'h',1500000,%s,'x',2)",
                (f"{document}-v", document, *own, kind),
            )
            for page, (engine, sure, broken) in enumerate(
                [("native", None, None), ("tesseract", 0.8, None), ("tesseract", 0.6, TIMEOUT)]
            ):
                c.execute(
                    "insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, engine, "
                    "confidence, ms, fingerprint, failure, read_at) values (%s,%s,%s,%s,%s,%s,'t',%s,%s,1,'f',%s,%s)",
                    (f"{document}-v", page + 1, f"{document}-{page}", document, *own, engine, sure, broken, WHEN),
                )
        for state, seconds in (("completed", 10), ("failed", 30)):
            c.execute(
                "insert into jobs (tenant_id, workspace_id, kind, lane, state, created_at, started_at, finished_at) "
                "values (%s,%s,'ingest','small',%s,%s,%s::timestamptz,%s::timestamptz + %s * interval '1 second')",
                (*own, state, WHEN, WHEN, WHEN, seconds),
            )
            run = str(uuid4())
            c.execute(
                "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, "
                "seed, prompt_tokens, completion_tokens, cost_usd, created_at, started_at, finished_at) values "
                "(%s,%s,%s,%s,%s,%s,'general',%s,'{}',1,100,20,0.25,%s,%s,%s::timestamptz + interval '4 seconds')",
                (run, *own, session, agent, user, state, WHEN, WHEN, WHEN),
            )
            c.execute(
                "insert into run_steps (run_id, seq, tenant_id, workspace_id, kind, name, request, request_hash, "
                "state, at) values (%s,1,%s,%s,'tool','get_time','{}','h','done',%s)",
                (run, *own, WHEN),
            )
            c.execute(
                "insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by, "
                "tool, arguments, digest, state, created_at, expires_at, decided_at) "
                "values (%s,%s,%s,%s,2,%s,%s,%s,'pay','{}','d',%s,%s,%s,%s::timestamptz + interval '60 seconds')",
                (
                    str(uuid4()),
                    *own,
                    run,
                    session,
                    agent,
                    user,
                    "approved" if state == "completed" else "rejected",
                    WHEN,
                    WHEN,
                    WHEN,
                ),
            )


def asked(metric: str, by: str | None = None, state: str | None = None) -> MetricPlan:
    return MetricPlan(metric, by, state, ALL)


EXPECTED = {
    "documents": 3,
    "pages": 6,
    "ocr_confidence": 0.8,
    "failures": 4,
    "storage": 4.5,
    "jobs": 2,
    "job_seconds": 20,
    "runs": 2,
    "run_failures": 50,
    "run_seconds": 4,
    "tokens": 240,
    "cost": 0.5,
    "tool_calls": 2,
    "approvals": 2,
    "approval_seconds": 60,
    "sessions": 1,
}


async def test_every_metric_counts_its_own_workspace_by_every_dimension(admin_dsn: str, pool: Database) -> None:
    """OR-02: figures are right, for each split, and nothing of another tenant is in them."""
    here, there = open_office(admin_dsn), open_office(admin_dsn)
    fill(admin_dsn, here)
    fill(admin_dsn, there)
    figures = measures(pool)
    assert set(EXPECTED) == set(CATALOGUE.metrics)
    for name, metric in CATALOGUE.metrics.items():
        for by in (None, *metric.dimensions):
            found = await figures.read(here.scope, asked(name, by))
            assert found.total == pytest.approx(EXPECTED[name]), (name, by)
            assert bool(found.groups) is (by is not None), (name, by)
            assert not any(group in ("None", "") for group, _ in found.groups), (name, by)
            if by == "day":
                assert [group for group, _ in found.groups] == ["2026-11-17"]
            if by == "week":
                assert [group for group, _ in found.groups] == ["2026-11-16"]
        for state in metric.states:
            narrowed = await figures.read(here.scope, asked(name, None, state))
            assert (narrowed.total or 0) <= max(EXPECTED[name], 30)
    by_status = await figures.read(here.scope, asked("documents", "status"))
    assert dict(by_status.groups) == {"completed": 1, "partial": 1, "failed": 1}
    assert dict((await figures.read(here.scope, asked("failures", "reason"))).groups) == {"timeout": 3, "encrypted": 1}
    assert (await figures.read(here.scope, asked("jobs", None, "failed"))).total == 1


async def test_a_workspace_without_anything_answers_nothing(admin_dsn: str, pool: Database) -> None:
    office = open_office(admin_dsn)
    for name in CATALOGUE.metrics:
        assert not (await measures(pool).read(office.scope, asked(name))).total


async def test_without_the_first_wall_the_second_still_holds(admin_dsn: str, pool: Database) -> None:
    """OR-02: row-level security binds the templates even where their own conditions are taken out."""
    here, there = open_office(admin_dsn), open_office(admin_dsn)
    fill(admin_dsn, there)
    torn = {
        name: replace(
            metric,
            sql=re.sub(
                r"(\w+\.)?(tenant|workspace)_id = %\((tenant|workspace)\)s",
                "%(tenant)s::text || %(workspace)s::text is not null",
                metric.sql,
            ),
        )
        for name, metric in CATALOGUE.metrics.items()
    }
    for name in torn:
        assert not (
            await measures(pool, catalogue=replace(CATALOGUE, metrics=torn)).read(here.scope, asked(name))
        ).total


async def test_what_a_reader_may_not_see_is_not_counted(admin_dsn: str, pool: Database) -> None:
    office = open_office(admin_dsn)
    fill(admin_dsn, office, hidden=True)
    assert (await measures(pool).read(office.scope, asked("documents"))).total == 2
    assert (await measures(pool).read(office.scope, asked("pages"))).total == 4
    everybody = replace(office.scope, principals=("*",))
    assert (await measures(pool).read(everybody, asked("documents"))).total == 3


async def test_figures_are_remembered_for_their_readers_only(admin_dsn: str, pool: Database, redis_url: str) -> None:
    office = open_office(admin_dsn)
    fill(admin_dsn, office, hidden=True)
    redis = Redis.from_url(redis_url)
    try:
        figures = measures(pool, redis)
        first = await figures.read(office.scope, asked("documents", "type"))
        second = await figures.read(office.scope, asked("documents", "type"))
        other = await figures.read(replace(office.scope, principals=("*",)), asked("documents", "type"))
    finally:
        await redis.aclose()
    assert (first.cached, second.cached, other.cached) == ("miss", "hit", "miss")
    assert (first.total, second.total, other.total) == (2, 2, 3)
    assert first.groups == second.groups


async def test_long_series_lose_their_beginning_and_say_so(admin_dsn: str, pool: Database) -> None:
    office = open_office(admin_dsn)
    own = (office.scope.tenant, office.scope.workspace)
    with psycopg.connect(admin_dsn) as c:
        c.execute(
            "insert into jobs (tenant_id, workspace_id, kind, lane, created_at) "
            "select %s, %s, 'ingest', 'small', timestamptz '2026-01-01 12:00+00' + n * interval '1 day' "
            "from generate_series(0, 99) n",
            own,
        )
    found = await measures(pool).read(office.scope, asked("jobs", "day"))
    assert (len(found.groups), found.more, found.total) == (CATALOGUE.rows, True, 100)
    assert found.groups[-1][0] == "2026-04-10"
    assert all(one[0] < after[0] for one, after in itertools.pairwise(found.groups))


async def test_a_message_is_answered_from_the_tables(admin_dsn: str, pool: Database) -> None:
    """OR-02, B-08: end to end, with words that would like to be SQL."""
    office = open_office(admin_dsn)
    fill(admin_dsn, office)
    handler = AnalyticsHandler(CATALOGUE, measures(pool), lambda: datetime(2026, 11, 18, tzinfo=UTC))
    scoped: Scope = office.scope
    for message in ("documents by status this month", "documents by status this month'; drop table documents; --"):
        outcome = await handler(turn(message, scope=scoped), MemoryJournal())
        assert "3 documents" in outcome.answer
        assert "| completed | 1 |" in outcome.answer
    assert isinstance(plan_metric_query(normalise_words("documents", 60), CATALOGUE, TODAY), MetricPlan)
    assert MetricResult.of(MetricResult(1, (("a", 1.0),)).data) == MetricResult(1, (("a", 1.0),))
    assert set(TIMES) == {"day", "week", "month"}
