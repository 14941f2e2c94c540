"""Memory of the gateway while a large file comes in parts, and how long an upload takes to begin at any size.

Run it by itself: `python -m tests.bench.upload_memory --mib 1024 [--s3]`. Postgres, the gateway in a process of its own
and, with `--s3`, a storage are started here and ended again.
"""

import argparse
import asyncio
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import psycopg
from psycopg.conninfo import make_conninfo

MIB = 2**20
GOAL_MEMORY, GOAL_BEGIN = 64, 100.0  # MiB over idle; milliseconds, p95
SIZES = (1_000, 2**30, 2**40)
TIMES = 60


def serve(dsn: str, folder: Path, port: int, storage: list[str]) -> None:
    """The gateway's application alone, as one replica has it; passwords hash fast, searches are scripted."""
    import uvicorn

    from cluster.state.objects.bucket import Bucket
    from configs.sections import ReadSettings
    from configs.sections_blobs import BlobSettings, UploadSettings
    from pipelines.documents.store.uploads.part_store import BucketParts
    from serve_apps.http.app import create_app
    from tests.fakes.http import make_parts
    from tests.fakes.s3 import bucket_blobs

    parts = make_parts(dsn, folder)
    parts = replace(
        parts, uploads=UploadSettings(max_bytes=2**40, sessions=10_000), read=ReadSettings(max_file_bytes=2**40)
    )
    if storage:
        chosen = BlobSettings(url=storage[0], endpoint=storage[1], access_key="k", secret_key="s")
        parts = replace(parts, blobs=bucket_blobs(chosen, folder), part_store=BucketParts(Bucket.of(chosen)))
    uvicorn.run(create_app(parts), host="127.0.0.1", port=port, log_level="warning")


def part_of(number: int, size: int) -> bytes:
    """Text that no other part has."""
    line = f"Line of part {number} says what crate {number * 7} held.\n".encode()
    return (line * (size // len(line) + 1))[:size]


class PeakMemory:
    """Looks at a process ten times a second."""

    def __init__(self, pid: int) -> None:
        self._process, self.peak, self._ended = psutil.Process(pid), 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def now(self) -> int:
        """Bytes of its own: pages of files that the kernel keeps for it are nobody's need."""
        return int(self._process.memory_full_info().uss)

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            self.peak = max(self.peak, self.now())


def upload(client: httpx.Client, total: int, at_once: int) -> tuple[float, float]:
    """Seconds for the parts, and for the end."""
    made = client.post("/api/uploads", json={"document_name": "large.txt", "total_size_bytes": total}).json()
    size, count, id_ = made["chunk_size"], made["total_chunks"], made["upload_session_id"]
    state, began = hashlib.sha256(), time.monotonic()
    sizes = [size] * (count - 1) + [total - size * (count - 1)]

    def send(number: int) -> None:
        answer = client.put(f"/api/uploads/{id_}/parts/{number}", content=part_of(number, sizes[number - 1]))
        assert answer.status_code == 200, answer.text

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(send, range(1, count + 1)))
    for number in range(1, count + 1):
        state.update(part_of(number, sizes[number - 1]))
    parts, began = time.monotonic() - began, time.monotonic()
    done = client.post(f"/api/uploads/{id_}/complete", json={"file_hash": state.hexdigest()}, timeout=3600)
    assert done.status_code == 202, done.text
    return parts, time.monotonic() - began


def tus(client: httpx.Client, total: int) -> float:
    """Seconds for the same by tus, in one request."""
    head = {"Tus-Resumable": "1.0.0", "Upload-Length": str(total), "Upload-Metadata": "filename dHVzLnR4dA=="}
    url = client.post("/api/uploads/tus", headers=head).headers["Location"]

    def blocks() -> Iterator[bytes]:
        left, number = total, 10_000_019
        while left:
            number += 1
            block = part_of(number, min(left, MIB))
            left -= len(block)
            yield block

    body = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
    began = time.monotonic()
    done = client.patch(url, content=blocks(), headers={**body, "Content-Length": str(total)}, timeout=3600)
    assert done.status_code == 204, done.text
    return time.monotonic() - began


def measure(client: httpx.Client, pid: int, mib: int, at_once: int) -> bool:
    """Print everything; whether the goals are met."""
    good = True
    for size in SIZES:
        took = []
        for _ in range(TIMES):
            began = time.perf_counter()
            made = client.post("/api/uploads", json={"document_name": "a.pdf", "total_size_bytes": size})
            took.append((time.perf_counter() - began) * 1000)
            assert made.status_code == 201, made.text
        p95 = statistics.quantiles(took, n=20)[-1]
        good &= p95 <= GOAL_BEGIN
        print(f"begin {size:>16,} bytes: p50 {statistics.median(took):.1f} ms, p95 {p95:.1f} ms (goal {GOAL_BEGIN} ms)")
    upload(client, 20 * MIB + 1, at_once)  # what is loaded once is loaded
    time.sleep(1)
    whole: list[tuple[str, Callable[[], object]]] = [
        (f"{mib} MiB in parts, {at_once} at a time", lambda: upload(client, mib * MIB, at_once)),
        (f"{mib} MiB by tus", lambda: tus(client, mib * MIB + 3)),
    ]
    for name, run in whole:
        with PeakMemory(pid) as memory:
            idle = memory.now()
            took = run()
            over = (memory.peak - idle) / MIB
        good &= over <= GOAL_MEMORY
        print(f"{name}: idle {idle / MIB:.0f} MiB, over it {over:.1f} MiB (goal {GOAL_MEMORY}); seconds {took}")
    return good


def main() -> int:
    """Start what it takes, measure, end it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        dsn, folder, port, *storage = options.serve
        serve(dsn, Path(folder), int(port), storage)
        return 0
    from cluster.basics.scope import Role
    from cluster.state.db import embedded
    from cluster.state.db.migrate import apply_migrations
    from configs.settings import load_settings
    from tests.fakes.http import PASSWORD, open_office
    from tests.fakes.s3 import run_s3

    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(folder)}))
        stack.callback(embedded.stop_servers, folder)
        admin = make_conninfo(found.postgres_admin or "", dbname="postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("create database bench")
        admin = make_conninfo(found.postgres_admin or "", dbname="bench")
        asyncio.run(apply_migrations(admin))
        office, storage = open_office(admin), list[str]()
        if options.s3:
            chosen = stack.enter_context(run_s3()).settings()
            storage = [str(chosen.url), str(chosen.endpoint)]
        port = str(20_000 + os.getpid() % 20_000)
        given = [make_conninfo(found.postgres, dbname="bench"), str(folder / "files"), port, *storage]
        command = [sys.executable, "-m", "tests.bench.upload_memory", "--serve", *given]
        gateway = subprocess.Popen(command)
        stack.callback(gateway.wait)
        stack.callback(gateway.kill)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            for _ in range(300):
                try:
                    client.get("/health")
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            login = {"email": office.emails[Role.DEVELOPER], "password": PASSWORD}
            token = client.post("/api/auth/login", json=login).json()["access_token"]
            client.headers["Authorization"] = f"Bearer {token}"
            return 0 if measure(client, gateway.pid, options.mib, options.at_once) else 1


if __name__ == "__main__":
    sys.exit(main())
