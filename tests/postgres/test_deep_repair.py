"""The deep repair beside live work: however often it is killed it ends equal; what is held or being written stays."""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Conflict, Unavailable
from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.objects.bucket import Bucket
from configs.settings import load_settings
from serve_apps.integrity.deep_examination import DeepOptions
from serve_apps.integrity.deep_program import run_examination, running_servers
from serve_apps.integrity.examination import REPAIR_LOCK
from tests.fakes.examined import ExaminedInstance, found_in
from tests.fakes.filled import FilledWorkspace, admin_of, fill, table_hashes
from tests.fakes.http import Office
from tests.fakes.ledger import Bench
from tests.fakes.orphans import make_whole, put_old
from tests.fakes.s3 import S3Server, run_s3

ORPHANS = 1_500
KILLS = 3


@pytest.fixture
def instance(app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path) -> ExaminedInstance:
    return ExaminedInstance(app_dsn, admin_dsn, redis_url, tmp_path)


@pytest.fixture
def filled(admin_dsn: str, office: Office, tmp_path: Path) -> FilledWorkspace:
    made = fill(admin_dsn, office, tmp_path, documents=3, people=1)
    with psycopg.connect(admin_dsn) as connection:
        make_whole(connection, made)
    return made


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with run_s3() as server:
        yield server


async def test_what_is_being_written_is_never_touched(
    ledger: Bench, scope: Scope, instance: ExaminedInstance, tmp_path: Path
) -> None:
    """Without any grace time: a folder is read, changed and read again, and a repair runs all the while."""
    folder = tmp_path / "scans"
    folder.mkdir()
    repairs = 0

    async def repair_until(done: asyncio.Event) -> None:
        nonlocal repairs
        while not done.is_set():
            report = await instance.examine(apply=True, hours=0)
            assert (report.failed, report.as_json()["mended"]) == ([], 0), report.findings
            repairs += 1

    async def read(turn: int) -> None:
        for name in "abcdef":
            pages = (f"Version {turn} of {name}, page {n}, tells of the {name * 5} matter." for n in range(1, 9))
            (folder / f"{name}.txt").write_text("\f".join(pages))
        await ledger.scan(scope, folder)

    done = asyncio.Event()
    async with asyncio.timeout(120), asyncio.TaskGroup() as both:
        both.create_task(repair_until(done))
        for turn in range(3):
            await read(turn)
        done.set()
    assert repairs >= 1
    report = await instance.examine(hours=0, every_hash=True)
    assert (found_in(report), report.failed) == ({}, [])
    (pages,) = await ledger.rows(
        scope, "select count(*) as n from pages p join documents d on d.current_version = p.version_id"
    )
    assert pages["n"] == 6 * 8
    found = await ledger.rows(scope, "select status, has_embeddings from documents")
    assert found == [{"status": "completed", "has_embeddings": True}] * 6


async def test_a_repair_that_is_killed_again_and_again_ends_equal_and_records_each_mend_once(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    whole = _hashes(instance, filled)
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        given = {"t": filled.scope.tenant, "w": filled.scope.workspace, "n": ORPHANS, "gone": str(uuid4())}
        connection.execute(
            "insert into messages select gen_random_uuid(), 1, %(t)s, %(w)s, 'user', '{}'"
            " from generate_series(1, %(n)s)",
            given,
        )
        connection.execute(
            "insert into events select 'run:' || gen_random_uuid(), 1, 'x', '{}', %(t)s, %(w)s,"
            " now() - interval '9 days' from generate_series(1, %(n)s)",
            given,
        )
    ended = 0
    for turn in range(KILLS):
        ended += await _killed_once_it_has_mended(instance, turn)
    assert ended < KILLS, "it was killed in the middle at least once"
    assert (await _program(instance, "--apply")).returncode == 0
    assert _hashes(instance, filled) == whole
    assert found_in(await instance.examine()) == {}
    with psycopg.connect(instance.admin_dsn) as connection:
        lines = connection.execute("select detail->'rows' from audit where action = 'integrity.mend'").fetchall()
    names = Counter(name for (some,) in lines for name in some)
    assert len(names) == 2 * ORPHANS and set(names.values()) == {1}


def _hashes(instance: ExaminedInstance, filled: FilledWorkspace) -> dict[str, str]:
    found = table_hashes(instance.admin_dsn, filled.scope.tenant)
    return {table: digest for table, digest in found.items() if table != "audit"}


async def _begin(instance: ExaminedInstance, *given: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "AOS_STATE_DIR": str(instance.state), "DATABASE_URL": instance.app_dsn}
    environment |= {"DATABASE_ADMIN_URL": instance.admin_dsn, "REDIS_URL": instance.redis_url}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "serve_apps.integrity.deep_program", *given),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _program(instance: ExaminedInstance, *given: str) -> asyncio.subprocess.Process:
    process = await _begin(instance, *given)
    await process.communicate()
    return process


async def _killed_once_it_has_mended(instance: ExaminedInstance, turn: int) -> bool:
    """Whether it had ended before it could be killed."""
    async with await psycopg.AsyncConnection.connect(instance.admin_dsn, autocommit=True) as connection:

        async def lines() -> int:
            asked = await connection.execute("select count(*) from audit where action = 'integrity.mend'")
            row = await asked.fetchone()
            return 0 if row is None else int(row[0])

        before = await lines()
        process = await _begin(instance, "--apply")
        async with asyncio.timeout(60):
            while process.returncode is None and await lines() <= before + turn:  # noqa: ASYNC110 -- another process
                await asyncio.sleep(0.002)
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()
        return process.returncode == 0


async def test_what_a_legal_hold_keeps_is_told_and_the_rest_is_mended(
    instance: ExaminedInstance, filled: FilledWorkspace, office: Office
) -> None:
    held, free = filled.documents[:2]
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute(
            "insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)"
            " values (%s, 'document', %s, 'case', 'r', %s)",
            (filled.scope.tenant, held, admin_of(instance.admin_dsn, office)),
        )
        connection.execute("set session_replication_role = replica")
        for number, document in enumerate((held, free, free), 1):
            connection.execute(
                "insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, engine, ms,"
                " fingerprint) values ('gone', %s, %s, %s, %s, %s, 'x', 'native', 1, 'f')",
                (number, f"gone{number}", document, filled.scope.tenant, filled.scope.workspace),
            )
    (found,) = (await instance.examine(apply=True)).findings
    assert (found.count, found.mended, found.held, found.left) == (3, 2, 1, 1)
    assert found_in(await instance.examine()) == {("row_without_parent", "pages"): 1}


async def test_a_generation_that_the_gate_refused_stays_until_it_is_dropped(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    """Somebody may insist on it; one that goes says so before its vectors go, so that no build believes it whole."""
    built = "from generation_builds b where b.generation_id = x.generation_id"
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("update generations set created_at = now() - interval '9 days'")
        connection.execute("update documents set processed_date = now() - interval '9 days'")
        connection.execute("update generation_builds set state = 'refused'")

        def held() -> list[int]:
            tables = [f"from {table} x where exists (select {built})" for table in ("indexed_versions", "embeddings")]
            counts = [connection.execute(f"select count(*) {one}".encode()).fetchone() for one in tables]
            return [int(row[0]) if row else 0 for row in counts]

        before = held()
        assert min(before) > 0
        assert (await instance.examine(apply=True)).findings == []
        assert held() == before
        connection.execute("update generation_builds set state = 'dropped'")
        assert (await instance.examine(apply=True)).as_json()["left"] == 0
        assert held() == [0, 0]
        lines = "select split_part(object, ':', 2) from audit where action = 'integrity.mend' order by seq"
        places = [place for (place,) in connection.execute(lines)]
    assert places[0] == "indexed_versions" and any(place.startswith("embeddings_") for place in places[1:])


async def test_rows_that_somebody_has_locked_are_left_for_the_next_time(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("insert into lane_workers values ('dead', 'bulk', now() - interval '9 days')")
        with psycopg.connect(instance.admin_dsn) as busy:
            busy.execute("select from lane_workers for update")
            (found,) = (await instance.examine(apply=True)).findings
            assert (found.count, found.mended, found.busy) == (1, 0, 1)
        (found,) = (await instance.examine(apply=True)).findings
        assert (found.count, found.mended, found.busy) == (1, 1, 0)


async def test_a_workspace_that_is_being_written_ends_no_repair(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    """Its unknown bytes are left for the next time, and what comes after them is looked at and mended."""
    lost = put_old(instance.state / "blobs" / filled.scope.tenant / filled.scope.workspace / uuid4().hex)
    sent = instance.state / "blobs" / "uploads" / filled.scope.tenant / filled.scope.workspace
    parts = put_old(sent / str(uuid4()) / "part")
    with psycopg.connect(instance.admin_dsn) as writer:
        writer.execute("select from workspaces where id = %s for no key update", (filled.scope.workspace,))
        report = await instance.examine(apply=True)
    assert report.failed == []
    assert {one.check: (one.count, one.mended, one.busy) for one in report.findings} == {
        "blob_of_nobody": (1, 0, 1),
        "upload_parts": (1, 1, 0),
    }
    assert (lost.exists(), parts.exists()) == (True, False)
    assert found_in(await instance.examine(apply=True)) == {}
    assert not lost.exists()


async def test_bytes_that_were_freed_just_now_are_left_to_who_sweeps_them(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    """Old as they are: a source that reads the file again takes them up under their name before its row is there."""
    scope = filled.scope
    path = put_old(instance.state / "blobs" / scope.tenant / scope.workspace / "members" / "again")
    location = f"blob:{scope.tenant}/{scope.workspace}/members/again"
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("insert into freed_blobs values (%s, %s, %s)", (scope.tenant, scope.workspace, location))
        assert (await instance.examine(apply=True)).findings == [] and path.exists()
        connection.execute("update freed_blobs set freed_at = now() - interval '9 days'")
        assert (await instance.examine(apply=True)).as_json()["mended"] == 1
    assert not path.exists()


async def test_bytes_of_a_tenant_that_nobody_here_knows_are_only_told(
    instance: ExaminedInstance, filled: FilledWorkspace
) -> None:
    """With the wrong database, or a bucket that two instances share, they are somebody else's documents."""
    theirs = put_old(instance.state / "blobs" / str(uuid4()) / str(uuid4()) / uuid4().hex)
    (found,) = (await instance.examine(apply=True)).findings
    assert (found.check, found.count, found.mended, found.mends) == ("blob_of_unknown_tenant", 1, 0, False)
    assert theirs.exists() and found.examples[0].endswith(theirs.name) and "another database" in found.fix


async def test_two_repairs_never_run_at_once(instance: ExaminedInstance) -> None:
    with psycopg.connect(instance.admin_dsn, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", (REPAIR_LOCK,))
        with pytest.raises(Conflict, match="another repair runs"):
            await instance.examine(apply=True)


async def test_bytes_in_a_bucket_are_looked_at_alike(
    instance: ExaminedInstance, filled: FilledWorkspace, s3: S3Server
) -> None:
    """What others write into folders of their own stays, whatever its age."""
    storage = s3.settings()
    bucket, inside = Bucket.of(storage), f"{filled.scope.tenant}/{filled.scope.workspace}"
    for path in (instance.state / "blobs" / inside).iterdir():
        if path.is_file():
            bucket.put_blocks(f"{inside}/{path.name}", iter([path.read_bytes()]))
    kept = {one.key for one in bucket.below()}
    lost = [f"{inside}/{'a' * 32}", f"{inside}/members/lost", f"{filled.scope.tenant}/{uuid4()}/left"]
    others = f"{inside}/others/report.pdf"
    for key in (*lost, others):
        bucket.put_blocks(key, iter([b"12345"]))
    asked: dict[str, Any] = {"blobs": storage, "later": timedelta(days=4)}

    async def lost_bytes(**given: Any) -> dict[tuple[str, str], int]:
        found = found_in(await instance.examine(**given))
        return {place: count for place, count in found.items() if place[0] != "cached_copy"}

    assert await lost_bytes(blobs=storage) == {}, "all of it is young"
    assert await lost_bytes(**asked) == {("blob_of_nobody", "blobs"): 3}
    assert await lost_bytes(apply=True, **asked) == {}
    assert {one.key for one in bucket.below()} == {*kept, others}
    bucket.delete([next(iter(kept))])
    assert await lost_bytes(**asked) == {("row_without_blob", "missing"): 1}


async def test_a_stopped_instance_is_looked_at_and_is_stopped_again(state: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(state)})
    with pytest.raises(Unavailable, match="nothing is stored"), running_servers(settings):
        pass
    found = embedded.start_servers(settings)
    await apply_migrations(found.postgres_admin or "")
    with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
        connection.execute("insert into tenants (name) values ('first')")
        connection.execute("insert into lane_workers values ('dead', 'bulk', now() - interval '9 days')")
        with running_servers(settings) as fresh:
            assert not fresh, "whoever started them keeps them"
    embedded.stop_servers(state)
    with running_servers(settings) as fresh:
        report = await run_examination(settings, DeepOptions(apply=True, fresh=fresh))
        assert fresh and report.failed == []
    assert [(one.check, one.mended) for one in report.findings] == [("dead_lane_worker", 1)]
    assert embedded.servers_by_name(state) == {}
