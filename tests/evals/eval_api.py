"""`make test-api`: schemathesis against the API on a real server with a real worker, every route, for minutes.

The parent starts this file again as the server: uvicorn, the application on an embedded Postgres, and a worker's two
shifts with the real reader, chunker and embedder, but without Ray. A recorder in front of the application counts what
was asked and answered, so that nothing depends on what the client makes of it.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import httpx

from tests.evals.report import ROOT, Report

SAMPLES = ROOT / "tests" / "samples"
GOAL = (
    "schemathesis over the OpenAPI document with a real server, every route, at least 5 minutes:"
    " 0 answers ≥ 500, 0 hangs"
)
HANG_SECONDS = 90  # an upload may wait for 60
START_SECONDS = 300  # the model is loaded first
PASSWORD = "a password of this run only"


@dataclass
class Recorder:
    """An ASGI layer that counts answers per route and looks for requests that do not end."""

    app: Any
    file: Path
    answers: Counter[str] = field(default_factory=Counter)
    under_way: dict[int, tuple[float, str]] = field(default_factory=dict)
    longest: tuple[float, str] = (0.0, "")
    hangs: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started, key = 0, time.monotonic(), id(scope)
        self.under_way[key] = (started, f"{scope['method']} {scope['path']}")

        async def counted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, counted)
        finally:
            self.under_way.pop(key, None)
            took = time.monotonic() - started
            self.hangs += took > HANG_SECONDS
            self.longest = max(self.longest, (took, f"{scope['method']} {scope['path']}"))
            self.answers[f"{scope['method']} {scope['path']} {status}"] += 1

    async def write(self) -> None:
        """Every second, so that a killed server still tells."""
        while True:
            late = [what for since, what in self.under_way.values() if time.monotonic() - since > HANG_SECONDS]
            body = {"answers": self.answers, "longest": self.longest, "hangs": self.hangs + len(late), "late": late}
            unfinished = self.file.with_suffix(".part")
            unfinished.write_text(json.dumps(body), encoding="utf-8")
            unfinished.rename(self.file)
            await asyncio.sleep(1)


def _nowhere() -> NoReturn:
    raise RuntimeError("agents are placed in this process")


def serve(port: int, record: Path) -> None:
    """The server process: application, worker and recorder on one event loop."""
    import uvicorn

    from cluster.models.embedding.local import LocalEmbedder
    from configs.settings import load_settings
    from serve_apps.http.app import create_app
    from serve_apps.http.streams.sse import StreamPacing
    from serve_apps.wiring.http import build_app_dependencies

    settings = load_settings()
    embedder = LocalEmbedder(settings.embedding)
    parts = replace(build_app_dependencies(settings, embedder, None, elsewhere=_nowhere), pace=StreamPacing(0.2, 5))
    app = create_app(parts)
    recorder = Recorder(app, record)
    opened = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(served: Any) -> AsyncIterator[None]:
        async with opened(served):
            tasks = [asyncio.create_task(recorder.write()), *_shifts(settings, parts.database, embedder)]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    app.router.lifespan_context = lifespan
    uvicorn.run(recorder, host="127.0.0.1", port=port, log_level="warning", lifespan="on", timeout_graceful_shutdown=5)


def _shifts(settings: Any, database: Any, embedder: Any) -> list[asyncio.Task[None]]:
    from cluster.models.ports import EmbeddingLane as ModelLane
    from cluster.state.work.jobs import JobLane, JobLedger
    from pipelines.documents.chunk import split
    from pipelines.documents.extract.reader import DocumentReader, extraction_fingerprint
    from pipelines.documents.index.chunk_and_embed import VersionIndexer
    from pipelines.documents.index.gate import IndexGate
    from pipelines.documents.index.generations import IndexGenerations, IndexRecipe
    from pipelines.documents.index.rebuild import IndexRebuild
    from pipelines.documents.index.switch import IndexSwitchover
    from pipelines.documents.ingest.ingestion import IngestionRunner
    from pipelines.documents.ingest.job_loop import JobLoop
    from pipelines.documents.ingest.job_plan import INDEX
    from pipelines.documents.ingest.stages import HereStages
    from pipelines.documents.store.choose_store import open_blobs
    from pipelines.documents.store.document_writes import DocumentStore

    async def recipe(anew: bool) -> IndexRecipe:
        return IndexRecipe(await embedder.facts(), split.chunker_fingerprint(settings.chunk))

    tasks = []
    for lane in JobLane:
        store = DocumentStore(database)
        reader = DocumentReader(settings.read, settings.ocr)
        here = HereStages(reader, VersionIndexer(store, embedder, settings.chunk, ModelLane.BULK))
        generations, gate = IndexGenerations(database), IndexGate(database, embedder, settings.gate)
        runner = IngestionRunner(
            JobLedger(database),
            store,
            generations,
            open_blobs(settings),
            IndexRebuild(
                JobLedger(database), generations, IndexSwitchover(database), gate, INDEX, settings.search.exact_scope
            ),
            here=here,
            bulk=here,
            read=settings.read,
            chunk=settings.chunk,
            read_fingerprint=extraction_fingerprint(settings.read, settings.ocr),
            exact_scope=settings.search.exact_scope,
        )
        shift = JobLoop(JobLedger(database), runner, recipe, settings.worker, f"eval:{lane}")
        tasks.append(asyncio.create_task(shift.work(lane)))
    return tasks


@dataclass(frozen=True)
class Running:
    """A server that answers, an administrator's token, and ids that exist."""

    url: str
    token: str
    record: Path
    parameters: Mapping[str, str]

    def recorded(self) -> Any:
        time.sleep(1.5)
        return json.loads(self.record.read_text(encoding="utf-8"))


@contextlib.contextmanager
def running() -> Iterator[Running]:
    """Start everything in a temporary folder, put some documents in, take everything down afterwards."""
    from cluster.state.db import embedded
    from cluster.state.db.migrate import apply_migrations
    from cluster.state.identity.bootstrap import first_admin
    from configs.settings import load_settings

    folder = Path(tempfile.mkdtemp(prefix="aos-api-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "AOS_STATE_DIR": str(folder / "state"),
        "AOS_LIMITS_ENABLED": "false",
        "NFS_BASE_PATH": str(folder / "scans"),
        "HF_HUB_OFFLINE": "1",
        "OMP_THREAD_LIMIT": "1",
        "AOS_EMBEDDING_PLACEMENT": "inproc",
    }
    (folder / "scans").mkdir()
    shutil.copy(SAMPLES / "control-room.md", folder / "scans")
    settings = load_settings({name: value for name, value in environment.items() if name.startswith("AOS_")})
    server = None
    try:
        points = embedded.start_servers(settings)
        asyncio.run(apply_migrations(points.postgres_admin or ""))
        made = asyncio.run(first_admin(points.postgres_admin or "", settings.auth))
        command = [sys.executable, "-m", "tests.evals.eval_api", "--serve", str(port), "--record", f"{folder}/record"]
        server = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        yield _furnished(f"http://127.0.0.1:{port}", settings.auth.admin_email, made or "", folder / "record")
    finally:
        if server is not None:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
        embedded.stop_servers(settings.state_dir)
        shutil.rmtree(folder, ignore_errors=True)


def _furnished(url: str, email: str, made: str, record: Path) -> Running:
    with httpx.Client(base_url=url, timeout=90) as client:
        began = time.monotonic()
        while not _answers(client):
            if time.monotonic() - began > START_SECONDS:
                raise RuntimeError("the server does not come up")
            time.sleep(0.5)
        session = client.post("/api/auth/login", json={"email": email, "password": made}).json()
        client.headers["Authorization"] = f"Bearer {session['access_token']}"
        changed = client.post("/api/auth/password", json={"current_password": made, "new_password": PASSWORD}).json()
        client.headers["Authorization"] = f"Bearer {changed['access_token']}"
        agent = client.post("/api/agents", json={"name": "keeper", "auto_link_uploads": True}).json()["id"]
        sent = []
        for name in ("annual-report-2025.pdf", "control-room.md", "tariffs-2026.xlsx"):
            file = {"file": (name, (SAMPLES / name).read_bytes())}
            answer = client.post("/api/documents/upload", files=file, params={"wait": 60})
            answer.raise_for_status()
            sent.append(answer.json())
        key = client.post("/api/api-keys", json={"name": "k"}).json()["id"]
    parameters = {
        "path.document_id": sent[0]["document_id"],
        "path.job_id": sent[0]["job_id"],
        "path.key_id": key,
        "path.number": "1",
        "query.agent_id": agent,
    }
    return Running(url, changed["access_token"], record, parameters)


def _answers(client: httpx.Client) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return client.get("/health").status_code == 200
    return False


def attack(target: Running, seconds: float, *options: str, named: bool, examples: int, seed: int) -> int:
    """One run of schemathesis. `named` gives it ids that exist. Returns the time-outs that it saw."""
    lines = [f'"{name}" = {json.dumps(value)}' for name, value in target.parameters.items()] if named else []
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write("\n".join(["[parameters]", *lines, ""]))
        config.flush()
        command = [
            str(Path(sys.executable).with_name("st")),
            "--config-file",
            config.name,
            "--no-color",
            "run",
            f"{target.url}/openapi.json",
            "--header",
            f"Authorization: Bearer {target.token}",
            "--checks",
            "not_a_server_error",
            "--max-time",
            str(int(seconds)),
            "--request-timeout",
            str(HANG_SECONDS),
            "--workers",
            "4",
            "--continue-on-failure",
            "--max-failures",
            "50",
            "--max-examples",
            str(examples),
            "--seed",
            str(seed),
            "--no-shrink",
            "--generation-database",
            "none",
            "--suppress-health-check",
            "all",
            *options,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 300, check=False)
    print(done.stdout[-2500:], done.stderr[-1000:], sep="\n", flush=True)
    return len(re.findall(r"(?i)(read|request|response) timed? ?out", done.stdout))


def route_of(paths: Mapping[str, Any], line: str) -> tuple[str, str] | None:
    """The route of the document that a recorded request belongs to; fixed paths come before those with an id."""
    method, _, rest = line.partition(" ")
    path = rest.rpartition(" ")[0]
    fitting = [
        template
        for template, methods in paths.items()
        if method.lower() in methods and re.fullmatch(re.sub(r"\{[^/]+\}", "[^/]+", template), path)
    ]
    return (method, min(fitting, key=lambda template: template.count("{"))) if fitting else None


def main() -> int:
    """Attack for the wanted time and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=330)
    parser.add_argument("--serve", type=int)
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.record)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is taken down
    report, timeouts, rounds = Report("test-api"), 0, 0
    with running() as target:
        paths = httpx.get(f"{target.url}/openapi.json").json()["paths"]
        started = time.monotonic()
        while (left := arguments.seconds - (time.monotonic() - started)) > 1:
            named = rounds % 2 == 1
            options = ["--exclude-method", "DELETE"] if named else []
            timeouts += attack(target, max(min(left, 80), 10), *options, named=named, examples=12, seed=rounds + 1)
            rounds += 1
        took = time.monotonic() - started
        timeouts += attack(target, 20, "--include-method", "DELETE", named=True, examples=5, seed=0)
        recorded = target.recorded()
    answers: dict[str, int] = recorded["answers"]
    called = {route for line in answers if (route := route_of(paths, line))}
    right = {route for line in answers if line[-3] == "2" and (route := route_of(paths, line))}
    wanted = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    errors = {line: count for line, count in answers.items() if int(line.rpartition(" ")[2]) in (0, *range(500, 600))}
    hangs = recorded["hangs"] + timeouts
    report.figure("seconds under test", round(took), unit="s", goal=GOAL, holds=took >= 300)
    report.figure("routes called", len(called), reference=len(wanted), goal=GOAL, holds=called >= wanted)
    report.figure("answers ≥ 500", sum(errors.values()), goal=GOAL, holds=not errors)
    report.figure("hangs", hangs, goal=GOAL, holds=hangs == 0)
    report.figure("requests", sum(answers.values()))
    report.figure("routes that also succeeded", len(right), reference=len(wanted))
    report.figure("longest request", round(recorded["longest"][0], 1), unit="s", reference=recorded["longest"][1][:60])
    for line, count in list(errors.items())[:20]:
        print(f"{count} × {line}")
    if missing := sorted(wanted - right):
        print("never succeeded:", *(f"{method} {path}" for method, path in missing), sep="\n  ")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
