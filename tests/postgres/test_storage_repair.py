"""The repair of storage: planted orphans are found and removed, in a folder and in a bucket; what is live stays."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster import doctor_repair
from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.console.commands.documents.document_commands import CommandSession
from cluster.state.db.postgres import Database
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.multipart_uploads import MultipartUploads
from configs.sections import Settings
from configs.sections_blobs import BlobSettings
from configs.settings import load_settings
from pipelines.documents.repair.orphan import OrphanKind
from pipelines.documents.repair.storage_repair import RepairReport, limit_of, places_of, repair_storage
from tests.fakes.corpus import open_home
from tests.fakes.s3 import S3Server, run_s3

DAY = timedelta(days=1)
OLD = time.time() - 3 * 86_400


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=2, timeout=10)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def home(admin_dsn: str) -> Scope:
    with psycopg.connect(admin_dsn) as connection:
        return open_home(connection)


@pytest.fixture
def live(admin_dsn: str, home: Scope) -> str:
    """An upload that goes on: nobody has sent anything for long, and it has not run out."""
    session = str(uuid4())
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "insert into upload_sessions (id, tenant_id, workspace_id, protocol, filename, total_bytes, part_bytes,"
            " created_at, expires_at) values (%s, %s, %s, 'tus', 'a', 10, 5, now(), now() + interval '1 day')",
            (session, home.tenant, home.workspace),
        )
    return session


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with run_s3() as server:
        yield server


@pytest.fixture
def storage(s3: S3Server) -> BlobSettings:
    return s3.settings()


def settings_of(folder: Path, blobs: BlobSettings | None = None) -> Settings:
    made = load_settings({"AOS_STATE_DIR": str(folder)})
    return made if blobs is None else made.model_copy(update={"blobs": blobs})


async def repair(
    settings: Settings, pool: Database, *, later: timedelta = timedelta(), apply: bool = False
) -> RepairReport:
    now = datetime.now(UTC) + later
    with httpx.Client() as client:
        places, _ = places_of(settings, pool, client, now)
        return await repair_storage(places, limit_of(settings.uploads, now, 24), apply=apply)


def plant(path: Path, *, old: bool = True, text: bytes = b"12345") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    if old:
        for one in (path, path.parent):
            os.utime(one, (OLD, OLD))
    return path


def killed(program: str, *given: str, until: Callable[[], bool]) -> None:
    """Run Python of a process of its own, and kill it once something is so."""
    process = subprocess.Popen([sys.executable, "-c", program, *given])
    try:
        deadline = time.monotonic() + 60
        while not until():
            assert process.poll() is None and time.monotonic() < deadline, "it ended, or never came so far"
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


HALF = """
import asyncio, sys
from pathlib import Path
from pipelines.documents.store.uploads.part_store import FolderParts

async def chunks():
    yield b"half of it"
    await asyncio.sleep(600)

async def main():
    root, tenant, workspace, session = sys.argv[1:]
    parts = FolderParts(Path(root))
    await parts.put(tenant, workspace, session, chunks())

asyncio.run(main())
"""


async def test_orphans_in_the_folder_are_found_and_removed_and_nothing_else(
    tmp_path: Path, pool: Database, home: Scope, live: str
) -> None:
    root = tmp_path / "blobs"
    inside, uploads = root / home.tenant / home.workspace, root / "uploads" / home.tenant / home.workspace
    gone = plant(uploads / str(uuid4()) / "part")
    kept = [plant(uploads / live / "part"), plant(uploads / str(uuid4()) / "part", old=False)]
    staged = plant(inside / "staging" / "dead" / "member")
    kept += [plant(inside / "staging" / "busy" / "member"), plant(inside / ("a" * 32)), plant(inside / "members" / "b")]
    plant(inside / "staging" / "busy" / "now", old=False)
    before = set(uploads.rglob("*.part"))
    killed(
        HALF, *(str(root), home.tenant, home.workspace, live), until=lambda: bool(set(uploads.rglob("*.part")) - before)
    )
    (half,) = uploads.rglob("*.part")
    settings = settings_of(tmp_path)
    fresh = await repair(settings, pool)
    assert half not in [Path(one.place) for one in fresh.orphans], "it may be written on"
    os.utime(half, (OLD, OLD))
    os.utime(half.parent, (OLD, OLD))

    found = await repair(settings, pool)
    assert {(one.kind, one.place) for one in found.orphans} == {
        (OrphanKind.UPLOAD_PARTS, f"uploads/{home.tenant}/{home.workspace}/{gone.parent.name}"),
        (OrphanKind.STAGED_FOLDER, str(staged.parent)),
        (OrphanKind.UNFINISHED_FILE, str(half)),
    }
    assert (found.removed, found.failed) == (0, []) and found.as_json()["bytes"] >= 10
    assert gone.exists() and staged.exists() and half.exists(), "nothing goes unless that is asked for"
    done = await repair(settings, pool, apply=True)
    assert (len(done.orphans), done.removed, done.failed) == (3, 3, [])
    assert not gone.exists() and not staged.parent.exists() and not half.exists()
    assert all(one.exists() for one in kept)
    assert (await repair(settings, pool, apply=True)).orphans == []


async def test_what_is_used_again_meanwhile_stays(tmp_path: Path, pool: Database, home: Scope, live: str) -> None:
    """Between the look and the removal somebody may come back."""
    inside = tmp_path / "blobs" / home.tenant / home.workspace
    plant(inside / "staging" / "dead" / "member")
    settings, now = settings_of(tmp_path), datetime.now(UTC)
    limit = limit_of(settings.uploads, now, 24)
    with httpx.Client() as client:
        places, _ = places_of(settings, pool, client, now)
    for place in places:
        for one in await place.find(limit):
            plant(inside / "staging" / "dead" / "more", old=False)
            assert not await place.remove(one, limit)
    assert (inside / "staging" / "dead" / "member").exists()
    assert limit_of(settings.uploads, now, 0) == now - timedelta(seconds=settings.uploads.session_seconds)


CUT = """
import json, sys
from cluster.state.objects.bucket import Bucket
from configs.sections_blobs import BlobSettings
import time

def blocks():
    for _ in range(12):
        yield b"x" * (1 << 20)
    time.sleep(600)

Bucket.of(BlobSettings(**json.loads(sys.argv[1]))).put_blocks(sys.argv[2], blocks())
"""


async def test_orphans_in_a_bucket_are_found_and_removed_and_nothing_else(
    tmp_path: Path, pool: Database, home: Scope, live: str, storage: BlobSettings, s3: S3Server
) -> None:
    """A part that was killed in the middle is a multipart upload that no list of objects shows."""
    bucket, inside = Bucket.of(storage), f"{home.tenant}/{home.workspace}"
    gone, cut = f"uploads/{inside}/{uuid4()}", f"uploads/{inside}/{live}/part"
    keys = [f"{gone}/1", f"{gone}/2", f"{inside}/staging/dead/member"]
    kept = [f"uploads/{inside}/{live}/1", f"{inside}/{'a' * 32}", f"{inside}/members/b"]
    for key in (*keys, *kept):
        bucket.put_blocks(key, iter([b"12345"]))
    name = str(storage.url).split("/")[2]
    async with httpx.AsyncClient() as plain:
        begun = await plain.post(f"{s3.endpoint}/{name}/others/file?uploads")
        assert begun.status_code == 200, "another program's"
    with httpx.Client() as client:
        uploads = MultipartUploads(storage, client)
        given = json.dumps(storage.model_dump())
        killed(CUT, given, cut, until=lambda: any(one.size for one in uploads.list()))
        (left,) = uploads.list()
    assert left.key.endswith(cut) and left.size % (5 << 20) == 0 and bucket.facts(cut) is None
    settings = settings_of(tmp_path, storage)
    assert (await repair(settings, pool, apply=True)).orphans == [], "all of it is young: it may be somebody's"

    found = await repair(settings, pool, later=4 * DAY)
    assert {(one.kind, one.place) for one in found.orphans} == {
        (OrphanKind.UPLOAD_PARTS, gone),
        (OrphanKind.STAGED_FOLDER, f"{inside}/staging/dead"),
        (OrphanKind.MULTIPART_UPLOAD, f"{left.key} ({left.upload_id})"),
    }
    sizes = {one.kind: one.size for one in found.orphans}
    assert (sizes[OrphanKind.UPLOAD_PARTS], sizes[OrphanKind.MULTIPART_UPLOAD]) == (10, left.size)
    done = await repair(settings, pool, later=4 * DAY, apply=True)
    assert (done.removed, done.failed) == (3, [])
    assert sorted(one.key for one in bucket.below()) == sorted(kept)
    with httpx.Client() as client:
        assert list(MultipartUploads(storage, client).list()) == []
    async with httpx.AsyncClient() as plain:
        left_alone = (await plain.get(f"{s3.endpoint}/{name}?uploads")).text
    assert "others/file" in left_alone, "it is below another prefix"


async def test_copies_on_this_machine_go_when_nobody_uses_them(
    tmp_path: Path, pool: Database, storage: BlobSettings
) -> None:
    cache = tmp_path / "blob_cache"
    idle, busy = plant(cache / "files" / ("a" * 64)), plant(cache / "files" / ("b" * 64), old=False)
    host = socket.gethostname().replace(".", "-")
    dead = plant(cache / "used" / f"{host}.{_ended_process()}.{'c' * 32}.{'b' * 64}", old=False)
    ours = plant(cache / "used" / f"{host}.{os.getpid()}.{'d' * 32}.{'b' * 64}", old=False)
    staged = plant(cache / "staging" / "t" / "w" / "dead" / "member")
    settings = settings_of(tmp_path, storage)
    found = await repair(settings, pool)
    assert {one.place for one in found.orphans} == {str(idle), str(dead), str(staged.parent)}
    assert (await repair(settings, pool, apply=True)).removed == 3
    assert busy.exists() and ours.exists() and not (idle.exists() or dead.exists() or staged.parent.exists())


def _ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


async def test_a_storage_that_is_away_is_told_and_the_rest_is_looked_through(
    tmp_path: Path, pool: Database, storage: BlobSettings
) -> None:
    plant(tmp_path / "blob_cache" / "files" / ("a" * 64))
    away = storage.model_copy(update={"url": "s3://no-such-bucket/aos"})
    found = await repair(settings_of(tmp_path, away), pool)
    assert [one.kind for one in found.orphans] == [OrphanKind.CACHED_COPY]
    assert len(found.failed) == 4 and "no-such-bucket" in " ".join(found.failed)
    _, notes = places_of(
        settings_of(tmp_path, storage.model_copy(update={"secret_key": None})), pool, httpx.Client(), datetime.now(UTC)
    )
    assert "were not looked for" in notes[0]


def test_requests_are_signed_as_the_reference_says() -> None:
    """The examples of the S3 API reference."""
    keys = {"access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
    with httpx.Client() as client:
        made = MultipartUploads(
            BlobSettings(url="s3://examplebucket", **keys), client, datetime(2013, 5, 24, tzinfo=UTC)
        )
        for asked, signature in (
            ("lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ):
            headers = made._signature("GET", httpx.URL(f"https://examplebucket.s3.amazonaws.com/?{asked}"))
            assert headers["authorization"].endswith(f"Signature={signature}")


def test_the_doctor_says_how_it_ended(tmp_path: Path) -> None:
    orphan = {"kind": "upload_parts", "place": "uploads/[x]", "size": 5, "since": "2026-11-20T10:00:00+00:00"}
    told = {"orphans": [orphan], "bytes": 5, "removed": 0, "failed": [], "notes": ["a note"]}
    assert doctor_repair.run_repair(24, apply=False, program=_prints(told)) == told
    assert doctor_repair.exit_code(told, apply=False) == 3
    assert doctor_repair.exit_code({**told, "orphans": []}, apply=False) == 0
    assert doctor_repair.exit_code({**told, "removed": 1}, apply=True) == 0
    assert doctor_repair.exit_code({**told, "failed": ["x"]}, apply=True) == 1
    shown = _drawn(told, apply=False)
    assert "uploads/[x]" in shown and "add --apply" in shown and "a note" in shown
    assert "No orphan was found." in _drawn({**told, "orphans": []}, apply=False)
    with pytest.raises(Unavailable, match="away"):
        away = {"error": {"code": "unavailable", "detail": "it is away", "fix": "aos up"}}
        doctor_repair.run_repair(24, apply=False, program=_prints(away))
    with pytest.raises(doctor_repair.RepairFailed):
        doctor_repair.run_repair(24, apply=False, program=(sys.executable, "-c", "print('no')"))


def _prints(told: object) -> tuple[str, ...]:
    return (sys.executable, "-c", f"print({json.dumps(told)!r})")


def _drawn(told: dict[str, object], *, apply: bool) -> str:
    from rich.console import Console

    console = Console(width=120, record=True)
    CommandSession(None, console).print(told, False, doctor_repair.repair_table(told, apply=apply))  # type: ignore[arg-type]
    return console.export_text()


async def test_the_program_tells_what_is_there(tmp_path: Path, app_dsn: str, home: Scope) -> None:
    """As `aos doctor --repair` runs it: without --apply it only looks."""
    staged = plant(tmp_path / "blobs" / home.tenant / home.workspace / "staging" / "dead" / "member")
    environment = {**os.environ, "AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn}

    async def run(*given: str) -> dict[str, object]:
        command = [sys.executable, "-m", "pipelines.documents.repair", *given]
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()
        body: dict[str, object] = json.loads(done.stdout)
        return body

    assert [one["place"] for one in (await run())["orphans"]] == [str(staged.parent)]  # type: ignore[attr-defined]
    assert staged.exists() and (await run("--hours", "200"))["orphans"] == []
    assert (await run("--apply"))["removed"] == 1 and not staged.exists()
