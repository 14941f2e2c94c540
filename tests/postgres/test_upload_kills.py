"""A gateway that is killed in the middle of a part, of the end and of an abort: sweep and repair leave no byte."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import httpx
import psycopg
import pytest

from cluster.state.db.postgres import Database
from cluster.state.objects.bucket import Bucket
from cluster.state.objects.multipart_uploads import MultipartUploads
from configs.sections import Settings
from configs.sections_blobs import BlobSettings
from configs.settings import load_settings
from pipelines.documents.repair.storage_repair import limit_of, places_of, repair_storage
from pipelines.documents.store.choose_store import open_blobs, open_parts
from pipelines.documents.store.uploads.upload_sweep import UploadSweeper
from tests.bench.upload_memory import part_of
from tests.fakes.http import Office
from tests.fakes.s3 import S3Server, run_s3
from tests.postgres.test_upload_cuts import DATA, PART, Gateway, begin, running, status, until

MIB = 2**20
LATER = timedelta(days=8)  # when nothing can be somebody's any more
MANY = 3_000


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with run_s3() as server:
        yield server


@dataclass
class Storage:
    """A folder or a bucket, as a gateway in a process of its own has it, and what is in it."""

    kind: Literal["folder", "bucket"]
    folder: Path
    settings: Settings
    blobs: BlobSettings | None

    @property
    def given(self) -> list[str]:
        return [] if self.blobs is None else [str(self.blobs.url), str(self.blobs.endpoint)]

    def kept(self) -> list[str]:
        """Every byte that is there: files, objects, and pieces of what is no object yet."""
        if self.blobs is None:
            root = self.folder / "blobs"
            return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        with httpx.Client() as client:
            pieces = [f"{one.key}?{one.size}" for one in MultipartUploads(self.blobs, client).list()]
        return [one.key for one in Bucket.of(self.blobs).below()] + pieces

    def plant(self, place: str) -> None:
        """Many parts, so that their removal takes a while."""
        if self.blobs is None:
            for number in range(MANY):
                (self.folder / "blobs" / place / f"planted-{number}").write_bytes(b"x")


@pytest.fixture(params=["folder", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, s3: S3Server) -> Storage:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path / "files")})
    blobs = None if request.param == "folder" else s3.settings()
    if blobs is not None:
        settings = settings.model_copy(update={"blobs": blobs})
    return Storage(request.param, tmp_path / "files", settings, blobs)


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=2, timeout=10)
    await made.open()
    yield made
    await made.close()


@contextmanager
def held(admin_dsn: str, table: str) -> Iterator[None]:
    """Nobody writes to a table meanwhile: whoever wants to waits, and is killed there."""
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(f"lock table {table} in exclusive mode".encode())
        yield


def kill(gateway: Gateway) -> None:
    gateway.process.kill()
    gateway.process.wait()


async def clear(storage: Storage, pool: Database) -> None:
    """What a gateway does when uploads have run out, and then `aos doctor --repair --apply`."""
    later = datetime.now(UTC) + LATER
    stores = open_blobs(storage.settings), open_parts(storage.settings)
    await UploadSweeper(pool, *stores, storage.settings.uploads, lambda: later).sweep()
    with httpx.Client() as client:
        places, _ = places_of(storage.settings, pool, client, later)
        report = await repair_storage(places, limit_of(storage.settings.uploads, later, 24), apply=True)
    assert report.failed == []


def send_all(gateway: Gateway) -> str:
    made = begin(gateway)
    for number, url in enumerate(made["part_urls"]):
        part = DATA[number * PART : (number + 1) * PART]
        address = f"/api/uploads/{made['upload_session_id']}/parts/{number + 1}" if made["signed"] else url
        assert gateway.ask("PUT", address, content=part).status_code == 200
    return str(made["upload_session_id"])


async def test_a_kill_in_the_middle_of_a_part_leaves_nothing(
    app_dsn: str, office: Office, storage: Storage, pool: Database
) -> None:
    with running(app_dsn, storage.folder, office, storage.given) as gateway:
        # So large that its parts come in several pieces.
        wanted = {"document_name": "vast.txt", "total_size_bytes": 120_000 * MIB}
        made = gateway.ask("POST", "/api/uploads", json=wanted).json()
        address = f"/api/uploads/{made['upload_session_id']}/parts/1"
        line = gateway.half("PUT", address, part_of(1, 11 * MIB), made["chunk_size"])
        with closing(line):
            until(lambda: [one for one in storage.kept() if not one.endswith("?0")])
            kill(gateway)
    assert storage.kept(), "it was killed in the middle"
    await clear(storage, pool)
    assert storage.kept() == []


@pytest.mark.parametrize("moment", ["begun", "written"])
async def test_a_kill_in_the_middle_of_the_end_leaves_nothing_but_the_parts_until_they_run_out(
    app_dsn: str, admin_dsn: str, office: Office, storage: Storage, pool: Database, moment: str
) -> None:
    """While the whole is written, and once it is there and no document has it."""
    with running(app_dsn, storage.folder, office, storage.given) as gateway:
        id_ = send_all(gateway)
        before = set(storage.kept())

        def whole() -> list[str]:
            new = [one for one in storage.kept() if one not in before]
            return [one for one in new if moment == "begun" or not ("?" in one or one.endswith(".part"))]

        kind = {"Content-Type": "application/json"}
        path = f"/api/uploads/{id_}/complete"
        with held(admin_dsn, "documents"), closing(gateway.half("POST", path, b"{}", 2, **kind)):
            until(whole)
            kill(gateway)
    assert before < set(storage.kept())
    assert _documents(admin_dsn) == 0
    await clear(storage, pool)
    assert storage.kept() == []


async def test_a_kill_in_the_middle_of_an_abort_leaves_nothing(
    app_dsn: str, admin_dsn: str, office: Office, storage: Storage, pool: Database
) -> None:
    """Before it is noted the upload goes on; after it, what is left goes when it would have run out."""
    with running(app_dsn, storage.folder, office, storage.given) as gateway:
        id_ = send_all(gateway)
        with held(admin_dsn, "audit"), closing(gateway.half("DELETE", f"/api/uploads/{id_}", b"", 0)):
            until(lambda: _waits_for_a_lock(admin_dsn))
            kill(gateway)
    assert len(storage.kept()) == 3
    with running(app_dsn, storage.folder, office, storage.given) as gateway:
        assert status(gateway, id_)["state"] == "open"
        storage.plant(f"uploads/{office.scope.tenant}/{office.scope.workspace}/{id_}")
        line = closing(gateway.half("DELETE", f"/api/uploads/{id_}", b"", 0))
        with psycopg.connect(admin_dsn, autocommit=True) as owner, line:
            _spin(lambda: owner.execute("select state from upload_sessions").fetchone() == ("aborted",))
            kill(gateway)
    assert storage.kept() or storage.kind == "bucket", "it was killed in the middle"
    await clear(storage, pool)
    assert storage.kept() == []


def _spin(true: Callable[[], Any]) -> None:
    deadline = datetime.now(UTC) + timedelta(seconds=30)
    while not true():
        assert datetime.now(UTC) < deadline


def _documents(admin_dsn: str) -> int:
    with psycopg.connect(admin_dsn) as owner:
        return int(owner.execute("select count(*) from documents").fetchone()[0])  # type: ignore[index]


def _waits_for_a_lock(admin_dsn: str) -> bool:
    with psycopg.connect(admin_dsn) as owner:
        found = owner.execute("select from pg_locks where not granted and relation = 'audit'::regclass").fetchone()
    return found is not None
