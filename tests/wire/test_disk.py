"""Room on a disk: what has to stay free, errors that mean there is none, and how the doctor and the API say so."""

import errno
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from ray.data.exceptions import ExecutionTimeoutError
from ray.exceptions import OutOfDiskError, OutOfMemoryError, RayTaskError

from cluster.basics.disk import DiskRoom, DiskUsage, means_full, usage_of
from cluster.basics.errors import DiskFull, MemoryShort, Stalled, Unavailable
from cluster.doctor import disk_finding
from pipelines.documents.index.generations import BrokenVectors
from pipelines.documents.store.blobs import WRITTEN_AT_ONCE, FolderBlobs
from pipelines.read import classified
from serve_apps.http import problems

MIB = 2**20


def full(number: int = errno.ENOSPC) -> OSError:
    return OSError(number, "No space left on device")


def left_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("free", "least", "percent", "fits"),
    [(100, 100, 0, True), (99, 100, 0, False), (100, 0, 10, True), (99, 0, 10, False), (150, 200, 10, False)],
)
def test_the_larger_of_bytes_and_percent_stays_free(free: int, least: int, percent: float, fits: bool) -> None:
    room = DiskRoom(Path("/data"), least * MIB, percent, usage=lambda path: DiskUsage(free * MIB, 1000 * MIB))
    why = room.missing()
    assert (why is None) is fits
    if why is not None:
        assert why.status == 507 and why.detail.startswith(f"{free}.0 MiB of 1000.0 MiB are free at /data")
        assert "AOS_DISK_FREE_BYTES" in why.hint and "AOS_STATE_DIR" in why.hint


def test_a_folder_that_is_not_there_yet_is_on_the_disk_of_its_parent(tmp_path: Path) -> None:
    assert usage_of(tmp_path / "not" / "there").total == usage_of(tmp_path).total


def test_a_full_disk_is_known_by_whatever_it_was_wrapped_in() -> None:
    wrapped = ValueError("cannot save")
    wrapped.__context__ = full(errno.EDQUOT)
    assert means_full(wrapped) and means_full(full()) and means_full(DiskFull())
    assert not means_full(OSError(errno.EACCES, "no")) and not means_full(None)


def test_what_is_written_to_a_full_disk_has_a_name(tmp_path: Path) -> None:
    with pytest.raises(DiskFull) as refused, DiskRoom(tmp_path).writing(), Path("/dev/full").open("wb") as device:
        device.write(b"x")
    assert str(tmp_path) in refused.value.detail and "AOS_STATE_DIR" in refused.value.hint
    with pytest.raises(PermissionError), DiskRoom(tmp_path).writing():
        raise PermissionError


@pytest.mark.parametrize("how", ["before", "between", "by the system"])
async def test_nothing_of_an_upload_stays_that_finds_no_room(tmp_path: Path, how: str) -> None:
    free = iter([0] if how == "before" else [100 * MIB, 50 * MIB, 5 * MIB])

    async def chunks() -> AsyncIterator[bytes]:
        yield bytes(WRITTEN_AT_ONCE)
        if how == "by the system":
            raise full()
        yield b"second"

    room = DiskRoom(tmp_path, 10 * MIB, usage=lambda path: DiskUsage(next(free), 1000 * MIB))
    with pytest.raises(DiskFull):
        await FolderBlobs(tmp_path / "blobs", room).put("t", "w", chunks())
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(("free", "colour"), [(1, "red"), (3, "yellow"), (6, "green")])
def test_the_doctor_is_red_where_uploads_are_refused(free: int, colour: str) -> None:
    room = DiskRoom(Path("/data"), 2 * 2**30, usage=lambda path: DiskUsage(free * 2**30, 100 * 2**30))
    found = disk_finding(room)
    assert (found.colour, "AOS_DISK_FREE_BYTES" in found.fix) == (colour, colour == "red")


def test_what_ends_a_dataset_for_want_of_room_has_a_name() -> None:
    raised = RayTaskError("_Read", "traceback", DiskFull("1 MiB free", fix="Free some."))
    found = classified(raised)
    assert isinstance(found, DiskFull) and (found.detail, found.hint) == ("1 MiB free", "Free some.")
    assert isinstance(classified(OutOfDiskError("spill")), DiskFull)
    assert isinstance(classified(OutOfMemoryError("killed")), MemoryShort)
    assert isinstance(classified(ExecutionTimeoutError("stalls")), Stalled)


def test_broken_vectors_of_an_actor_end_the_job_as_those_of_the_worker_do() -> None:
    """EM-08: sentences are embedded inside a Dataset, too; the job would be tried for ever."""
    found = classified(RayTaskError("_Index", "traceback", BrokenVectors("vectors of sentences")))
    assert isinstance(found, BrokenVectors) and found.detail == "vectors of sentences"
    assert isinstance(classified(RayTaskError("_Index", "traceback", ValueError("else"))), Unavailable)


@pytest.mark.parametrize("where", ["route", "body"])
async def test_a_full_disk_for_temporary_files_is_507(where: str) -> None:
    """A large body is kept in a file while it arrives; what fails there is no malformed request."""
    app = FastAPI()
    problems.install_error_handlers(app)

    @app.get("/it")
    async def it() -> None:
        if where == "route":
            raise full()
        raise HTTPException(400, "There was an error parsing the body") from full()

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        answer = await client.get("/it")
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert "TMPDIR" in answer.json()["fix"] and answer.headers["content-type"] == "application/problem+json"
