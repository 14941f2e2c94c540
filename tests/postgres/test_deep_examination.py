"""The deep examination: nothing in a healthy instance; what is planted is found, named, mended, and gone."""

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import redis as sync_redis
from redis.asyncio import Redis

from cluster import doctor_deep
from cluster.basics.errors import InvalidSettings, Unavailable
from serve_apps.integrity.cache_checks import RULES as CACHE_RULES
from serve_apps.integrity.examination import open_examination
from serve_apps.integrity.record_checks import RULES
from serve_apps.integrity.reference_checks import OUTLIVE_SCOPE, reference_checks
from serve_apps.integrity.table_catalogue import read_catalogue
from tests.fakes.examined import ExaminedInstance, found_in
from tests.fakes.filled import FilledWorkspace, fill, remember, table_hashes
from tests.fakes.http import Office
from tests.fakes.orphans import make_whole, plant_files, plant_index_faults, plant_keys, plant_rows


@pytest.fixture
def instance(app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path) -> ExaminedInstance:
    return ExaminedInstance(app_dsn, admin_dsn, redis_url, tmp_path)


@pytest.fixture
def filled(admin_dsn: str, office: Office, tmp_path: Path) -> FilledWorkspace:
    made = fill(admin_dsn, office, tmp_path, documents=10, people=2)
    with psycopg.connect(admin_dsn) as connection:
        make_whole(connection, made)
    return made


async def test_a_healthy_filled_instance_has_no_orphan(instance: ExaminedInstance, filled: FilledWorkspace) -> None:
    redis = Redis.from_url(instance.redis_url)
    await remember(redis, filled, "what was said")
    await redis.delete(f"aos:memory:{filled.scope.tenant}:{filled.scope.workspace}:s1")
    await redis.aclose()
    before = table_hashes(instance.admin_dsn, filled.scope.tenant)
    report = await instance.examine(every_hash=True)
    assert (found_in(report), report.failed) == ({}, [])
    assert report.checks > 150 and any(line.startswith("rows") for line in instance.told)
    assert table_hashes(instance.admin_dsn, filled.scope.tenant) == before


async def test_planted_orphans_of_every_kind_are_found_mended_and_gone(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        live = connection.execute("select generation_id from workspaces where id = %s", (filled.scope.workspace,))
        (generation,) = live.fetchone() or (0,)
        planted = plant_rows(connection, filled, generation)
        plant_files(planted, connection, filled, instance.state)
        plant_index_faults(planted, connection, generation)
    with sync_redis.from_url(instance.redis_url) as redis:
        plant_keys(planted, redis, filled.scope)
    checks = {check for check, _ in planted.expected}
    assert {rule.condition for rule in RULES} | {rule.name for rule in CACHE_RULES} <= checks, "one of each kind"
    before = table_hashes(instance.admin_dsn, filled.scope.tenant)
    seen = await instance.examine()
    assert seen.failed == []
    assert found_in(seen) == planted.expected
    assert all(one.examples and (one.mends or one.fix) for one in seen.findings)
    assert table_hashes(instance.admin_dsn, filled.scope.tenant) == before, "it only looks"

    mended = await instance.examine(apply=True)
    assert mended.failed == []
    assert found_in(mended) == planted.told
    assert not any(path.exists() for path in planted.files)
    again = await instance.examine()
    assert found_in(again) == planted.told
    _assert_recorded(instance, planted.expected - planted.told)
    assert (await instance.examine(apply=True)).as_json()["mended"] == 0


def _assert_recorded(instance: ExaminedInstance, mended: Counter[tuple[str, str]]) -> None:
    with psycopg.connect(instance.admin_dsn) as connection:
        lines = connection.execute("select object, detail from audit where action = 'integrity.mend'").fetchall()
    told: Counter[str] = Counter()
    for about, detail in lines:
        told[about.split(":")[0]] += sum(len(names) for names in detail.values() if isinstance(names, list))
    for (check, _), _ in mended.items():
        assert told[check] >= sum(count for (name, _), count in mended.items() if name == check), check


async def test_a_row_of_any_table_whose_workspace_is_gone_is_found_also_of_a_new_table(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    moved = []
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("create table brand_new (id int primary key, tenant_id uuid, workspace_id uuid)")
        connection.execute("insert into brand_new values (1, %s, %s)", (filled.scope.tenant, filled.scope.workspace))
        connection.execute("set session_replication_role = replica")
        tables = connection.execute(
            "select c.relname, max(a.attname) from pg_class c join pg_attribute a on a.attrelid = c.oid"
            " where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace"
            " and a.attname in ('tenant_id', 'workspace_id') group by 1 order by 1"
        ).fetchall()
        for table, column in tables:
            if table in OUTLIVE_SCOPE or table == "audit":
                continue
            done = connection.execute(
                f"update {table} set {column} = %s where ctid = (select ctid from {table} limit 1)".encode(),
                (str(uuid4()),),
            )
            if done.rowcount:
                moved.append(table)
    assert len(moved) > 30 and "brand_new" in moved
    found = found_in(await instance.examine())
    assert {place: count for (check, place), count in found.items() if check == "row_without_scope"} == dict.fromkeys(
        moved, 1
    )


async def test_every_table_with_a_scope_or_a_key_has_its_check(instance: ExaminedInstance) -> None:
    """So that a table that is new is looked at without a word of ours."""
    now = datetime.now(UTC)
    async with open_examination(instance.admin_dsn, None, now, now, print, apply=False) as work:
        catalogue = await read_catalogue(work)
    checked = {(check.name, check.table.name) for check in reference_checks(catalogue)}
    scoped = {table.name for table in catalogue.tables if {"tenant_id", "workspace_id"} & table.columns}
    left_out = {name for name in scoped if ("row_without_scope", name) not in checked}
    assert left_out == OUTLIVE_SCOPE & scoped


async def test_only_an_owner_who_sees_all_tenants_may_look(instance: ExaminedInstance) -> None:
    with pytest.raises(InvalidSettings, match="none is configured"):
        await instance.examine(owner=None)
    with pytest.raises(InvalidSettings, match="does not see all tenants"):
        await instance.examine(owner=instance.app_dsn)


async def test_a_part_that_cannot_be_asked_is_told_and_the_rest_is_looked_at(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    instance.redis_url = "redis://127.0.0.1:1/0"
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("insert into lane_workers values ('dead', 'bulk', now() - interval '9 days')")
    report = await instance.examine()
    assert found_in(report) == {("dead_lane_worker", "lane_workers"): 1}
    assert len(report.failed) == len(CACHE_RULES) and "memory_of_gone_session" in report.failed[0]


def test_the_doctor_says_how_it_ended(capfd: pytest.CaptureFixture[str]) -> None:
    one = {
        **{"family": "rows", "check": "row_without_parent", "what": "rows of nobody", "place": "pages", "count": 3},
        **{"examples": ["[x]"], "mends": True, "mended": 1, "held": 1, "busy": 1, "fix": "do it", "left": 2},
    }
    told: dict[str, Any] = {"checks": 9, "found": 3, "mended": 1, "left": 2, "findings": [one]}
    told |= {"failed": [], "notes": ["a note"]}
    program = (sys.executable, "-c", f"import sys; sys.stderr.write('on my way'); print({json.dumps(told)!r})")
    assert doctor_deep.run_deep(24, apply=False, every_hash=True, program=program) == told
    assert "on my way" in capfd.readouterr().err
    assert [doctor_deep.exit_code(report) for report in (told, {**told, "left": 0}, {**told, "failed": ["x"]})] == [
        *(3, 0, 1)
    ]
    shown = _drawn(told)
    for part in ("[x]", "legal hold", "in use", "do it", "add --repair", "a note"):
        assert part in shown
    with pytest.raises(Unavailable, match="away"):
        away = {"error": {"code": "unavailable", "detail": "it is away", "fix": "aos up"}}
        doctor_deep.run_deep(
            24, apply=False, every_hash=False, program=(sys.executable, "-c", f"print({json.dumps(away)!r})")
        )
    with pytest.raises(doctor_deep.ExaminationFailed):
        doctor_deep.run_deep(24, apply=False, every_hash=False, program=(sys.executable, "-c", "print('no')"))


def _drawn(told: dict[str, Any]) -> str:
    from rich.console import Console

    console = Console(width=140, record=True)
    console.print(doctor_deep.deep_table(told, apply=False))
    return console.export_text()
