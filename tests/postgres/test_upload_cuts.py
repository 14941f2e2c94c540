"""Uploads over real connections that break, and a gateway that is killed in the middle: nothing lost, nothing left."""

import hashlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from cluster.console.api import ApiClient
from cluster.console.file_upload import FileUploader, UploadChoices
from cluster.console.login_tokens import CredentialsFile
from tests.bench.upload_memory import part_of
from tests.fakes.http import PASSWORD, Office

MIB = 2**20
DATA = b"".join(part_of(number, MIB) for number in range(12)) + b"the end"
PART = 5 * MIB


@dataclass
class Gateway:
    """One in a process of its own."""

    port: int
    process: subprocess.Popen[bytes]
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return httpx.request(method, self.url + path, headers=headers, timeout=60, **options)

    def half(self, method: str, path: str, body: bytes, announced: int, **headers: str) -> socket.socket:
        """A request whose bytes do not all come; the connection stays until somebody closes it."""
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {announced}"]
        lines += [f"Authorization: Bearer {self.token}", *(f"{name}: {value}" for name, value in headers.items())]
        line = socket.create_connection(("127.0.0.1", self.port))
        line.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return line


@contextmanager
def running(dsn: str, folder: Path, office: Office, storage: Sequence[str] = ()) -> Iterator[Gateway]:
    """`storage`: URL and endpoint of a bucket; the folder without them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.bench.upload_memory", "--serve", dsn, str(folder), str(port), *storage]
    made = Gateway(port, subprocess.Popen(command))
    try:
        login = {"email": office.emails[Role.DEVELOPER], "password": PASSWORD}
        made.token = until(lambda: _token(made, login), 90)
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def _token(gateway: Gateway, login: dict[str, str]) -> str | None:
    try:
        return str(httpx.post(f"{gateway.url}/api/auth/login", json=login).json()["access_token"])
    except httpx.TransportError:
        assert gateway.process.poll() is None
        return None


def until(look: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
    return found


def kept(folder: Path) -> list[Path]:
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "files"


def begin(gateway: Gateway) -> dict[str, Any]:
    body = {"document_name": "long.txt", "total_size_bytes": len(DATA)}
    made = gateway.ask("POST", "/api/uploads", json=body)
    assert made.status_code == 201, made.text
    return dict(made.json())


def status(gateway: Gateway, id_: str) -> dict[str, Any]:
    return dict(gateway.ask("GET", f"/api/uploads/{id_}").json())


def test_a_gateway_that_is_killed_in_the_middle_of_a_part_has_lost_that_part_alone(
    app_dsn: str, office: Office, folder: Path
) -> None:
    parts = [DATA[at : at + PART] for at in range(0, len(DATA), PART)]
    with running(app_dsn, folder, office) as gateway:
        made = begin(gateway)
        id_, urls = made["upload_session_id"], made["part_urls"]
        assert gateway.ask("PUT", urls[0], content=parts[0]).status_code == 200
        line = gateway.half("PUT", urls[1], parts[1][: 2 * MIB], PART)
        until(lambda: [path for path in kept(folder) if path.suffix == ".part" and path.stat().st_size])
        gateway.process.kill()
        gateway.process.wait()
        line.close()
    with running(app_dsn, folder, office) as gateway:
        assert status(gateway, id_)["missing"] == [2, 3]
        refused = gateway.ask("POST", f"/api/uploads/{id_}/complete", json={})
        assert refused.status_code == 409 and "Missing chunks: [2, 3]" in refused.text
        for number in (3, 2):
            assert gateway.ask("PUT", urls[number - 1], content=parts[number - 1]).status_code == 200
        file_hash = hashlib.sha256(DATA).hexdigest()
        body = f'{{"file_hash": "{file_hash}"}}'.encode()
        # Whoever asks for the end leaves before the answer: it was carried out, or it is now, and once in any case.
        kind = {"Content-Type": "application/json"}
        gateway.half("POST", f"/api/uploads/{id_}/complete", body, len(body), **kind).close()
        answers = [until(lambda: _completed(gateway, id_)) for _ in range(2)]
        assert answers[0] == answers[1] and status(gateway, id_)["state"] == "completed"
        assert gateway.ask("GET", "/api/jobs").json()["total"] == 1
    assert [path.read_bytes() == DATA for path in until(lambda: _alone(folder))] == [True]


def _completed(gateway: Gateway, id_: str) -> tuple[str, str] | None:
    """The document and its job; None while the upload is being put together."""
    answer = gateway.ask("POST", f"/api/uploads/{id_}/complete", json={})
    assert answer.status_code in (202, 409), answer.text
    told = answer.json()
    return (told["document_id"], told["ingestion_job_id"]) if answer.status_code == 202 else None


def _alone(folder: Path) -> list[Path] | None:
    """The document's bytes, once nothing else is there."""
    found = kept(folder)
    return found if len(found) == 1 else None


def test_a_connection_that_breaks_loses_a_part_and_of_tus_next_to_nothing(
    app_dsn: str, office: Office, folder: Path
) -> None:
    with running(app_dsn, folder, office) as gateway:
        made = begin(gateway)
        gateway.half("PUT", made["part_urls"][0], DATA[:MIB], PART).close()
        until(lambda: folder.exists() and not [path for path in kept(folder) if path.suffix == ".part"])
        assert status(gateway, made["upload_session_id"])["received"] == []
        tus = {"Tus-Resumable": "1.0.0"}
        told = {**tus, "Upload-Length": str(len(DATA)), "Upload-Metadata": "filename bG9uZy50eHQ="}
        url = gateway.ask("POST", "/api/uploads/tus", headers=told).headers["Location"]
        body = {**tus, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
        sent = 7 * MIB
        gateway.half("PATCH", url, DATA[:sent], len(DATA), **body).close()

        def offset() -> int:
            return int(gateway.ask("HEAD", url, headers=tus).headers["Upload-Offset"])

        until(lambda: offset() >= PART)
        time.sleep(0.5)
        here = offset()
        assert PART <= here <= sent
        rest = gateway.ask("PATCH", url, headers={**body, "Upload-Offset": str(here)}, content=DATA[here:])
        assert rest.status_code == 204, rest.text
        assert rest.headers["AOS-Document-Id"] and rest.headers["Upload-Offset"] == str(len(DATA))
    assert hashlib.sha256(kept(folder)[0].read_bytes()).digest() == hashlib.sha256(DATA).digest()
    assert len(kept(folder)) == 1


def sender(gateway: Gateway, folder: Path, told: list[str]) -> FileUploader:
    client = ApiClient(gateway.url, gateway.token, CredentialsFile(folder / "none.json"), lambda seconds: None)
    return FileUploader(client, UploadChoices(), told.append, whole=MIB)


def test_the_command_line_goes_on_where_a_kill_has_ended_it(
    app_dsn: str, office: Office, folder: Path, tmp_path: Path
) -> None:
    file, told = tmp_path / "long.txt", list[str]()
    file.write_bytes(DATA)
    with running(app_dsn, folder, office) as gateway:

        def kill(line: str) -> None:
            told.append(line)
            gateway.process.kill()
            gateway.process.wait()

        cut = FileUploader(sender(gateway, tmp_path, told)._api, UploadChoices(), kill, whole=MIB)
        with pytest.raises(Unavailable):
            cut.send(file)
        assert told == ["long.txt: 1 of 3 parts"]
    told.clear()
    with running(app_dsn, folder, office) as gateway:
        done = sender(gateway, tmp_path, told).send(file)
        assert told == ["long.txt: goes on", "long.txt: 2 of 3 parts", "long.txt: 3 of 3 parts"]
        shown = gateway.ask("GET", f"/api/documents/{done['document_id']}").json()
        assert (shown["filename"], done["status"]) == ("long.txt", "queued")
    assert [path.read_bytes() == DATA for path in kept(folder)] == [True]
