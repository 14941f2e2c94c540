"""`aos ingest` of files that the server cannot read: small ones whole, large ones in parts that go on after a cut."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import Invalid
from cluster.cli import run_command
from cluster.console.api import ApiClient
from cluster.console.file_upload import FileUploader, UploadChoices, UploadCut, files_below, is_elsewhere
from cluster.console.login_tokens import CredentialsFile
from tests.fakes.api_server import ApiServer

U = "5a4f4c1e-0000-4000-8000-000000000001"
DATA = bytes(range(256)) * 10  # 2560 bytes: parts of 1000, 1000 and 560


def uploader(api: ApiServer, tmp_path: Path, told: list[str], waits: list[float] | None = None) -> FileUploader:
    sleep = (waits if waits is not None else []).append
    client = ApiClient(api.url, "access-1", CredentialsFile(tmp_path), sleep)
    return FileUploader(client, UploadChoices("lawyer", "deu"), told.append, whole=100)


def status(missing: list[int], state: str = "open", **more: Any) -> dict[str, Any]:
    about = {"chunk_size": 1000, "total_chunks": 3, "missing": missing, "state": state}
    return {**about, "document_id": None, "ingestion_job_id": None, **more}


def session(state: str = "open", **more: Any) -> dict[str, Any]:
    about = {"upload_session_id": U, "document_name": "large.bin", "total_size_bytes": len(DATA), "state": state}
    return {**about, "file_hash": hashlib.sha256(DATA).hexdigest(), "protocol": "parts", **more}


def addresses(number: int) -> dict[str, Any]:
    return {"first_part": number, "part_urls": [f"/api/uploads/{U}/parts/{number}"], "next_part": None}


def answers(missing: list[int], begun: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "GET /api/uploads": {"items": begun, "total": len(begun)},
        "POST /api/uploads": (201, {"upload_session_id": U}),
        f"GET /api/uploads/{U}": status(missing),
        f"GET /api/uploads/{U}/parts": [addresses(number) for number in missing],
        **{f"PUT /api/uploads/{U}/parts/{number}": {"chunk_number": number} for number in (1, 2, 3)},
        f"POST /api/uploads/{U}/complete": (202, {"document_id": "d1", "ingestion_job_id": "j1", "status": "queued"}),
    }


def test_a_large_file_goes_in_parts(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(DATA)
    api.answers |= answers([1, 2, 3], [])
    told: list[str] = []
    done = uploader(api, tmp_path, told).send(tmp_path / "large.bin")
    assert done == {"document_id": "d1", "job_id": "j1", "status": "queued"}
    (began,) = api.of("POST /api/uploads")
    assert began.body["total_size_bytes"] == len(DATA) and began.body["agent_id"] == "lawyer"
    assert began.body["file_hash"] == session()["file_hash"] and began.body["languages"] == "deu"
    assert [len(api.of(f"PUT /api/uploads/{U}/parts/{n}")) for n in (1, 2, 3)] == [1, 1, 1]
    assert told[-1] == "large.bin: 3 of 3 parts"


def test_what_was_cut_off_goes_on_and_sends_only_what_is_missing(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(DATA)
    others = [session(file_hash="0" * 64), session(state="completed"), session(protocol="tus")]
    api.answers |= answers([2], [*others, session(state="failed")])
    told: list[str] = []
    assert uploader(api, tmp_path, told).send(tmp_path / "large.bin")["document_id"] == "d1"
    assert api.of("POST /api/uploads") == [] and told[0] == "large.bin: goes on"
    assert [len(api.of(f"PUT /api/uploads/{U}/parts/{n}")) for n in (1, 2, 3)] == [0, 1, 0]


def test_a_part_is_sent_again_until_it_is_there_and_then_no_more(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(DATA)
    api.answers |= answers([1, 2, 3], [])
    api.answers[f"GET /api/uploads/{U}/parts"] = addresses(1)
    away = (503, {"detail": "it is being repaired"})
    api.answers[f"PUT /api/uploads/{U}/parts/1"] = [away, away, {"chunk_number": 1}]
    waits: list[float] = []
    uploader(api, tmp_path, [], waits).send(tmp_path / "large.bin")
    assert waits[:2] == [2.0, 4.0]
    api.answers |= {f"PUT /api/uploads/{U}/parts/1": away}
    with pytest.raises(UploadCut) as cut:
        uploader(api, tmp_path, [], waits).send(tmp_path / "large.bin")
    assert "Run it again" in cut.value.hint


def test_an_end_that_takes_long_is_waited_for(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(DATA)
    api.answers |= answers([], [session()])
    api.answers[f"POST /api/uploads/{U}/complete"] = (503, {"detail": "no answer in time"})
    ended = status([], "completed", document_id="d9", ingestion_job_id="j9")
    api.answers[f"GET /api/uploads/{U}"] = [status([]), status([], "completing"), status([], "completing"), ended]
    waits: list[float] = []
    assert uploader(api, tmp_path, [], waits).send(tmp_path / "large.bin")["document_id"] == "d9"
    assert waits == [2.0, 2.0]


def test_a_folder_is_sent_and_one_file_that_is_refused_keeps_no_other(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.txt", "b.bin", "in/c.txt", ".hidden", ".git/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    good = (202, {"document_id": "d1", "job_id": "j1", "status": "pending"})
    odd = (415, {"detail": "of no supported kind", "fix": "none"})
    api.answers["POST /api/documents/upload"] = [good, odd, good]
    assert run_command(["ingest", str(tmp_path), "--upload", "--json"]) == 1
    body = json.loads(capsys.readouterr().out)
    assert [Path(one["path"]).name for one in body["files"]] == ["a.txt", "b.bin", "c.txt"]
    assert [one["status"] for one in body["files"]] == ["pending", "refused", "pending"]
    assert (body["sent"], body["refused"]) == (2, 1) and "no supported kind" in body["files"][1]["error"]
    assert run_command(["ingest", str(tmp_path), "--upload", "--dry-run"]) == 0
    assert "3 files" in capsys.readouterr().out


def test_files_are_sent_by_themselves_only_to_another_machine(tmp_path: Path) -> None:
    assert is_elsewhere("https://aos.corp") and is_elsewhere("http://10.0.0.7:8000")
    assert not any(map(is_elsewhere, ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:8000")))
    with pytest.raises(Invalid):
        list(files_below(tmp_path / "nothing"))
