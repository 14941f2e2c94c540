"""Processes of `make test-sources`: Postgres, Valkey, gateways and a worker; each may be killed, and comes back.

Gateway and worker are the product's application and job loop over real servers; passwords hash fast, and vectors come
from an embedder that counts letters.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
from psycopg.conninfo import make_conninfo

from cluster.basics.scope import Role
from cluster.free_ports import free_port
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.vault import Vault, VaultKey, secret_place
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.http import PASSWORD, Office, open_office
from tests.fakes.kills import kill_servers
from tests.kill.sites.site_port import Site

MARK = re.compile(r"mk\d+v\d+x")
ENDS = ("completed", "partial", "failed", "cancelled")
VICTIMS = ("worker", "gateway", "postgres", "source")
VAULT_KEY = b"k" * 32
LEASE = 4.0  # seconds; whoever is killed is followed no later


@dataclass(frozen=True)
class Found:
    """What is here of a source: documents by the mark of their text, with their readers; each mark once or more."""

    documents: Mapping[str, list[str]]
    readers: Mapping[str, tuple[str, ...]]
    unmarked: int

    def of(self, mark: str) -> str | None:
        return self.documents[mark][0] if mark in self.documents else None


@dataclass
class SyncDesk:
    """A product as far as sources need it, in a folder of its own."""

    folder: Path
    settings: Settings
    dsn: str
    admin_dsn: str
    office: Office
    ports: list[int]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def base(self) -> Path:
        return self.folder / "scans"

    def url(self, replica: int = 0) -> str:
        return f"http://127.0.0.1:{self.ports[replica]}"

    def start(self, *names: str) -> None:
        """Those that do not run: `worker`, `gateway` for the first replica, `gateway1` for the next."""
        for name in names:
            port = self.ports[int(name.removeprefix("gateway") or 0)] if name.startswith("gateway") else 0
            told = json.dumps([name.rstrip("0123456789"), self.dsn, str(self.folder), port])
            command = [sys.executable, "-m", "tests.kill.sync_desk", told]
            self.processes[name] = subprocess.Popen(command)

    def revive(self) -> None:
        """Whoever ended by itself, as one does that begins while Postgres is away, is begun again."""
        for name, process in list(self.processes.items()):
            if process.poll() is not None:
                self.start(name)

    def end(self, name: str) -> None:
        """`kill -9`."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def kill(self, victim: str, site: Site, pause: float) -> None:
        """One of VICTIMS is away for so many seconds, and comes back."""
        if victim == "postgres":
            kill_servers(self.folder / "state", "postgres")
        elif victim == "source":
            site.stop()
        else:
            self.end(victim)
        time.sleep(pause)
        if victim == "postgres":
            embedded.start_servers(self.settings)
        elif victim == "source":
            site.start()
        else:
            self.start(victim)

    def ask(self, method: str, path: str, *, role: Role = Role.ADMIN, seconds: float = 120, **more: Any) -> Any:
        """JSON of an answer of the first gateway; whoever is away meanwhile is waited for."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                headers = {"Authorization": f"Bearer {self.token(role)}"}
                answer = httpx.request(method, self.url() + path, headers=headers, timeout=30, **more)
                if answer.status_code < 500:
                    assert answer.status_code < 400, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
                    return answer.json() if answer.content else None
            except httpx.TransportError:
                self.revive()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{method} {path}")
            time.sleep(0.2)

    def token(self, role: Role, replica: int = 0) -> str:
        """Of a user of the office; a token outlives the gateway that gave it."""
        if role not in self.tokens:
            login = {"email": self.office.emails[role], "password": PASSWORD}
            answer = httpx.post(f"{self.url(replica)}/api/auth/login", json=login, timeout=30)
            if answer.status_code != 200:
                raise httpx.TransportError(answer.text)
            self.tokens[role] = answer.json()["access_token"]
        return self.tokens[role]

    def rows(self, statement: str, *values: Any, seconds: float = 60) -> list[tuple[Any, ...]]:
        """As the owner, who sees every tenant; a Postgres that is away is waited for."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                with psycopg.connect(self.admin_dsn, autocommit=True) as owner:
                    found = owner.execute(statement.encode(), values)
                    return found.fetchall() if found.description else []
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def add_source(self, name: str, site: Site, **more: Any) -> str:
        """By the API; its credential is sealed as the product seals it."""
        credential = self._seal(site.secret) if site.secret else None
        body = {"name": name, "kind": site.kind, "settings": dict(site.settings), "credential": credential, **more}
        return str(self.ask("POST", "/api/sources", json=body)["id"])

    def _seal(self, fields: Mapping[str, str]) -> str:
        id_, scope = str(uuid4()), self.office.scope
        name = f"key-{id_[:6]}"
        place = secret_place(scope.tenant, scope.workspace, "credentials", id_)
        sealed = Vault([VaultKey(VAULT_KEY)]).seal(json.dumps(dict(fields)), place)
        self.rows(
            "insert into credentials (id, tenant_id, workspace_id, name, type, sealed, fields)"
            " values (%s, %s, %s, %s, 'custom', %s, %s)",
            *(id_, scope.tenant, scope.workspace, name, sealed, sorted(fields)),
        )
        return name

    def begin_sync(self, source: str) -> str:
        """The job; one that rests because its source was away is woken."""
        return str(self.ask("POST", f"/api/sources/{source}/sync")["job_id"])

    def job(self, job: str) -> str:
        return str(self.rows("select state from jobs where id = %s", job)[0][0])

    def waits(self, job: str) -> bool:
        """It is in the queue because something is away."""
        return bool(self.rows("select waiting from jobs where id = %s", job)[0][0])

    def settled(self, job: str) -> int:
        """Units that are done, of all stages."""
        return int(
            self.rows("select coalesce(sum(done + failed + unchanged), 0) from job_progress where job_id = %s", job)[0][
                0
            ]
        )

    def sync(self, source: str, seconds: float = 300) -> tuple[str, str]:
        """A sync to its end, and what follows it: its job, and the state of that."""
        job = self.begin_sync(source)
        state = self.wait(source, job, seconds)
        self.rest(source, seconds)
        return job, state

    def rest(self, source: str, seconds: float = 300) -> None:
        """Until nobody synchronises it: where somebody asked while a sync read, a whole one follows by itself."""
        deadline = time.monotonic() + seconds
        while self.open_jobs(source) or self._follows(source):
            if time.monotonic() > deadline:
                raise TimeoutError(f"source {source} is synchronised still after {seconds:.0f} s")
            self.revive()
            time.sleep(0.1)

    def open_jobs(self, source: str) -> list[str]:
        """Its jobs that have not ended."""
        open_ = "select id::text from jobs where payload->>'source' = %s and state in ('queued', 'running')"
        return [str(row[0]) for row in self.rows(open_, source)]

    def _follows(self, source: str) -> bool:
        return bool(self.rows("select is_source_due(s, 'epoch') from sources s where s.id::text = %s", source)[0][0])

    def wait(self, source: str, job: str, seconds: float = 300, until: Callable[[], bool] = bool) -> str:
        """The state of the job at its end, or once `until` is true; every five seconds somebody asks for it."""
        deadline = asked = time.monotonic()
        deadline += seconds
        while (state := self.job(job)) not in ENDS and not until():
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} is {state} after {seconds:.0f} s")
            if time.monotonic() - asked > 5:
                asked = time.monotonic()
                self.revive()
                self.begin_sync(source)
            time.sleep(0.1)
        return state

    def fetched(self, job: str) -> int:
        """Items that were read in it, and in syncs of the same source since it began."""
        rows = self.rows(
            "select coalesce(sum(p.done + p.failed), 0) from jobs first"
            " join jobs j on j.payload->>'source' = first.payload->>'source' and j.created_at >= first.created_at"
            " join job_progress p on p.job_id = j.id and p.stage = 'fetch' where first.id = %s",
            job,
        )
        return int(rows[0][0])

    def found(self, source: str) -> Found:
        """Documents of a source that its readers see, whatever else is stored."""
        rows = self.rows(
            "select d.id, d.readers, coalesce(string_agg(c.text, ' '), '') from documents d"
            " left join document_chunks c on c.version_id = d.current_version"
            " where starts_with(d.origin, 'source:' || %s || '/') and d.readers <> '{source:gone}' group by d.id",
            source,
        )
        documents, readers, unmarked = defaultdict[str, list[str]](list), {}, 0
        for id_, who, text in rows:
            marks = set(MARK.findall(text))
            unmarked += not marks
            readers[id_] = tuple(who)
            for mark in marks:
                documents[mark].append(id_)
        return Found(documents, readers, unmarked)

    def close(self) -> None:
        for name in list(self.processes):
            self.end(name)
        embedded.stop_servers(self.folder / "state")
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def sync_desk(replicas: int = 1) -> Iterator[SyncDesk]:
    """Everything runs while the block does, and leaves nothing."""
    folder = Path(tempfile.mkdtemp(prefix="aos-src-"))
    settings = load_settings({"AOS_STATE_DIR": str(folder / "state")})
    (folder / "scans").mkdir()
    try:
        found = embedded.start_servers(settings)
        with psycopg.connect(found.postgres_admin or "", autocommit=True) as connection:
            connection.execute("create database sources")
        admin, app = (make_conninfo(one or "", dbname="sources") for one in (found.postgres_admin, found.postgres))
        asyncio.run(apply_migrations(admin))
        desk = SyncDesk(folder, settings, app, admin, open_office(admin), [free_port() for _ in range(replicas)])
    except BaseException:
        embedded.stop_servers(folder / "state")
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        desk.start("worker", *(f"gateway{number or ''}" for number in range(replicas)))
        desk.ask("GET", "/api/sources")
        yield desk
    finally:
        desk.close()


def _kinds() -> Mapping[str, Any]:
    from pipelines.documents.sources.source_kinds import SOURCE_KINDS
    from tests.fakes.rights_shelf import KIND

    return {**SOURCE_KINDS, KIND.name: KIND}


def _opener(database: Any, folder: Path) -> Any:
    """Of sources on this machine, with one cache for all processes; a site may be asked as fast as it answers."""
    from pipelines.documents.sources.source_port import SourceBounds
    from pipelines.documents.sync.source_opener import EndpointGuard, SourceOpener

    vault, guard = Vault([VaultKey(VAULT_KEY)]), EndpointGuard(("127.0.0.1",))
    how = {"cache": folder / "cache", "bounds": SourceBounds(web_rate=1000)}
    return SourceOpener(database, vault, str(folder / "scans"), guard, _kinds(), **how)


def serve_gateway(dsn: str, folder: Path, port: int) -> None:
    """One replica, with real search, answers and cache."""
    from dataclasses import replace

    import uvicorn
    from redis.asyncio import Redis

    from cluster.models.connections.configured import ConfiguredConnections
    from configs.sections import ReadSettings
    from configs.sections_blobs import UploadSettings
    from configs.sections_retrieval import RerankSettings, SearchSettings
    from pipelines.documents.sync.source_parts import SourceParts
    from serve_apps.http.app import create_app
    from serve_apps.retrieval.answers.answerer import DocumentAnswerer
    from serve_apps.retrieval.search.pipeline import SearchPipeline
    from serve_apps.wiring.cache import ClockSources, ModelHelpers, build_caching
    from tests.fakes.http import Clock, make_parts
    from tests.fakes.ledger import LetterEmbedder

    settings, embedder = load_settings({"AOS_STATE_DIR": str(folder / "state")}), LetterEmbedder()
    parts = make_parts(dsn, folder, Clock())
    redis = Redis.from_url(embedded.resolve_endpoints(settings).redis)
    search = SearchPipeline(parts.database, embedder, None, SearchSettings(), RerankSettings())
    answerer = DocumentAnswerer(search, parts.database, embedder)
    moments = ClockSources(time.time, time.monotonic, lambda: uuid4().hex)
    helpers = ModelHelpers("assistant", ConfiguredConnections())
    cached = build_caching(settings, parts.database, redis, embedder, search, answerer, moments, helpers)
    opener = _opener(parts.database, folder)
    parts = replace(
        parts,
        search=cached.search,
        answerer=cached.answerer,
        cache=cached.cache,
        sources=SourceParts.over(parts.database, opener),
        uploads=UploadSettings(max_bytes=2**40, sessions=10_000),
        read=ReadSettings(max_file_bytes=2**40),
    )
    uvicorn.run(create_app(parts), host="127.0.0.1", port=port, log_level="critical")


async def work(dsn: str, folder: Path) -> None:
    """The product's job loop, for bulk and for small jobs."""
    from cluster.state.work.jobs import JobLane
    from configs.sections import OcrSettings, WorkerSettings
    from pipelines.documents.extract.reader import DocumentReader
    from pipelines.documents.ingest.job_loop import JobLoop
    from tests.fakes.ledger import bench
    from tests.fakes.shelves import use_sync

    times = WorkerSettings(lease_seconds=LEASE, heartbeat_seconds=0.5, poll_seconds=0.1)
    async with bench(dsn, folder) as made:
        use_sync(made, _opener(made.database, folder))
        async with asyncio.TaskGroup() as tasks:
            for lane in (JobLane.SYNC, JobLane.SMALL, JobLane.BULK):
                made.reader = DocumentReader(made.read, OcrSettings())  # type: ignore[assignment]
                loop = JobLoop(made.jobs, made.runner(), made.recipe, times, f"{os.getpid()}:{lane}")
                tasks.create_task(loop.work(lane))


if __name__ == "__main__":
    _part, _dsn, _folder, _port = json.loads(sys.argv[1])
    if _part == "gateway":
        serve_gateway(_dsn, Path(_folder), _port)
    else:
        asyncio.run(work(_dsn, Path(_folder)))
