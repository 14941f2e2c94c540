"""The API in this process: real Postgres and routes; search, answers and pictures are scripted; passwords hash fast."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import psycopg
from argon2 import PasswordHasher
from fastapi import FastAPI

from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from cluster.models.connections.configured import Declared
from cluster.models.connections.connection_store import Connections
from cluster.models.connections.egress import Egress, ModelClients
from cluster.models.connections.model_resolver import Switchboard
from cluster.state.approvals import Approvals
from cluster.state.audit import Audit
from cluster.state.conversations import Conversations
from cluster.state.db.postgres import Database
from cluster.state.feedback import Feedback
from cluster.state.identity.accounts import Accounts
from cluster.state.identity.identity import Identity
from cluster.state.process_services import Upkeep
from cluster.state.settings.restart_requests import Restarts
from cluster.state.settings.snapshots import Snapshots
from cluster.state.system import System
from cluster.state.vault import Vault, VaultKey
from cluster.state.work.job_queries import JobDesk
from cluster.state.work.jobs import Jobs
from cluster.state.work.run_queries import RunDesk
from cluster.state.work.schedules import Schedules
from configs.sections import (
    AgentSettings,
    AuthSettings,
    ChunkSettings,
    HttpSettings,
    MemorySettings,
    ModelsSettings,
    OcrSettings,
    ReadSettings,
)
from configs.sections_skills import AcademySettings
from configs.settings import load
from pipelines.documents.document import Box, PageBox, Span
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import Lexicon
from pipelines.documents.index.switch import Switchover
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.agent_links import Links
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.library import Library
from serve_apps.agents.academy.school import School
from serve_apps.agents.approval import Policy
from serve_apps.agents.approval import load as load_policy
from serve_apps.agents.intake.assistant import standing
from serve_apps.agents.memory.compliance import Compliance
from serve_apps.agents.memory.recent_messages import History
from serve_apps.agents.memory.remember import Memory
from serve_apps.http.admission import Admission
from serve_apps.http.app import create_app
from serve_apps.http.auth.passwords import Passwords
from serve_apps.http.auth.throttle import ProcessThrottle
from serve_apps.http.auth.tokens import Tokens
from serve_apps.http.deps import Parts
from serve_apps.http.routes.documents.pictures import OneByOne
from serve_apps.http.routes.operations.erasure import Erasure
from serve_apps.http.routes.operations.operating import NoCluster, Operating
from serve_apps.http.streams.sse import Pace
from serve_apps.retrieval.answers.answerer import Answer
from serve_apps.retrieval.answers.claims import Claim
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.cache.semantic_cache import Stats
from serve_apps.retrieval.golden.golden_runs import GoldenRuns
from serve_apps.retrieval.golden.measure import Examiner
from serve_apps.retrieval.golden.sets import GoldenSets
from serve_apps.retrieval.search.query import Hit, Query, Results
from skills.framework.credential_store import Keyring
from skills.framework.skill_store import Skills
from tests.fakes.crew import SHIPPED
from tests.fakes.ground import ground
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator, ScriptedReplays, Toolbox

FAST = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "a quiet harbour 7"
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class Clock:
    """A moment that a test moves; also seconds that grow."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0

    def __call__(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class ScriptedSearch:
    """Finds one passage for everybody and remembers who asked what."""

    asked: list[tuple[Scope, Query]] = field(default_factory=list)

    async def run(self, scope: Scope, query: Query, vector: Any = None) -> Results:
        self.asked.append((scope, query))
        hit = Hit(
            chunk_id="c" * 32,
            document_id="d" * 32,
            version_id="e" * 32,
            filename="lease.pdf",
            doc_type="pdf",
            page=2,
            page_end=2,
            chunk_index=0,
            text="The lease ends in May.",
            headings=("Term",),
            spans=(Span(2, 0, 22),),
            boxes=(PageBox(2, Box(0.1, 0.2, 0.3, 0.4)),),
            ocr_confidence=0.9,
            engine="tesseract",
            score=0.5,
            scores={"fused": 0.5, "keyword_rank": 1},
        )
        return Results(query, (hit,), 7, "bm25", "exact", "off: not asked for", 1, None, {"total": 1.5, "keyword": 1.0})


@dataclass
class ScriptedAnswerer:
    """Answers everything alike and remembers who asked what."""

    asked: list[tuple[Scope, str, str | None]] = field(default_factory=list)

    async def ask(self, scope: Scope, question: str, agent_id: str | None, history: tuple[str, ...] = ()) -> Answer:
        self.asked.append((scope, question, agent_id))
        found = await ScriptedSearch().run(scope, Query(question))
        hit = found.hits[0]
        cited = Citation(
            1, hit.chunk_id, hit.document_id, hit.version_id, hit.filename, hit.page, hit.text, 0, 22, hit.boxes, 0.9
        )
        claims = (Claim(hit.text, (1,)),)
        return Answer(f"{hit.text} [1]", "extractive", (cited,), found, None, None, claims)


@dataclass
class ScriptedCache:
    """Remembers nothing but who had it cleared: (workspace, agent)."""

    cleared: list[tuple[str, str | None]] = field(default_factory=list)

    async def get_stats(self, workspace: str) -> Stats:
        return Stats(3, 1, 2, 1, 0, 0, 0, 3, 0, 2 / 3, 0.95, 86_400)

    async def invalidate(self, workspace: str, agent_id: str | None = None) -> int:
        self.cleared.append((workspace, agent_id))
        return 3


def one_client(client: httpx2.AsyncClient, egress: Egress = Egress(loopback=True)) -> ModelClients:
    """One client for everything: what is checked when a connection is made has tests of its own."""
    return ModelClients(client, client, client, egress)


class BlankPages:
    """Draws nothing, as a PNG."""

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        return PNG + f"{number}@{dpi}".encode()

    def close(self) -> None:
        """Nothing was started."""


def make_memory(database: Database) -> Memory:
    """Memory without Redis."""
    kept, settings = Conversations(database), MemorySettings()
    history = History(database, kept, None, settings, lambda: 0.0)
    return Memory(database, kept, history, Compliance(kept, Audit(database), settings.compliance_every), settings)


@cache
def _shipped() -> tuple[Lexicon, Policy]:
    """The names and the approval list that ship. Nobody changes them; to read them takes as long as a short test."""
    return Lexicon.shipped(), load_policy(SHIPPED)


def make_parts(app_dsn: str, folder: Path, clock: Clock | None = None, **other: Any) -> Parts:
    """Parts over a database that is not open yet; `other` replaces some of them."""
    database, auth, moment = Database(app_dsn, size=6, timeout=10), AuthSettings(), clock or Clock()
    environment = {"AOS_STATE_DIR": str(folder)}
    answerer = other.get("answerer") or ScriptedAnswerer()
    vault = Vault([VaultKey(b"k" * 32)])
    connections = Connections(database, vault, Declared())
    switchboard = Switchboard(
        connections, one_client(httpx2.AsyncClient(verify=False)), ModelsSettings(), asyncio.sleep
    )
    search, embedder = other.get("search") or ScriptedSearch(), FakeEmbedder()
    lexicon, policy = _shipped()
    golden = GoldenSets(database)
    examiner = Examiner(search, answerer, database)
    made = Parts(
        database=database,
        jobs=Jobs(database),
        desk=JobDesk(database, ReadSettings().tenant_pages),
        audit=Audit(database),
        identity=Identity(database),
        accounts=Accounts(database),
        library=Library(database),
        graph=KnowledgeGraph(database, lexicon),
        links=Links(database, standing(Audit(database))),
        blobs=FolderBlobs(folder / "blobs"),
        erasure=Erasure(database, FolderBlobs(folder / "blobs"), None),
        search=search,
        switchover=Switchover(database),
        golden=golden,
        golden_runs=GoldenRuns(database, golden, examiner, {}),
        answerer=answerer,
        cache=ScriptedCache(),
        answers=StoredAnswers(database),
        pictures=OneByOne(BlankPages()),
        embedder=embedder,
        connections=connections,
        credentials=Keyring(database, vault),
        switchboard=switchboard,
        orchestrator=ScriptedOrchestrator(),
        runs=RunDesk(database),
        feedback=Feedback(database),
        conversations=Conversations(database),
        memory=make_memory(database),
        approvals=Approvals(database, Audit(database)),
        toolbox=Toolbox(),
        schedules=Schedules(database),
        school=School(database, Links(database), Jobs(database), answerer, Audit(database), AcademySettings()),
        skills=Skills(database),
        ground=ground(),
        replays=ScriptedReplays(),
        policy=policy,
        tokens=Tokens("test-secret-of-at-least-32-bytes!", auth),
        passwords=Passwords(FAST),
        throttle=ProcessThrottle(moment.monotonic),
        admission=Admission(8, lambda: 10.0, time.monotonic),
        operating=Operating(
            Upkeep.of(database, vault, None, Snapshots(load(environment)), environment),
            Restarts(database),
            System(database),
            NoCluster(),
        ),
        http=HttpSettings(max_upload_bytes=200_000, max_body_bytes=100_000),
        ocr=OcrSettings(),
        read=ReadSettings(nfs_base_path=str(folder / "scans")),
        chunk=ChunkSettings(),
        agents=AgentSettings(),
        clock=moment,
        pace=Pace(0.02, 8),
    )
    return replace(made, **other)


@dataclass(frozen=True)
class Office:
    """A tenant with a workspace and one user of each role; their password is PASSWORD."""

    name: str
    scope: Scope
    emails: dict[Role, str]


_numbers = itertools.count(1)


def open_office(admin_dsn: str, name: str = "") -> Office:
    """Written straight into Postgres by its owner."""
    name = name or f"office{next(_numbers)}"
    tenant, workspace, hashed = str(uuid4()), str(uuid4()), FAST.hash(PASSWORD)
    emails = {role: f"{role}@{name}.example" for role in Role}
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("insert into tenants (id, name) values (%s, %s)", (tenant, name))
        connection.execute("insert into workspaces (id, tenant_id, name) values (%s, %s, 'w')", (workspace, tenant))
        for role, email in emails.items():
            user = str(uuid4())
            connection.execute(
                "insert into users (id, tenant_id, email, password_hash, role) values (%s, %s, %s, %s, %s)",
                (user, tenant, email, hashed, role),
            )
            connection.execute("insert into memberships values (%s, %s, %s, %s)", (user, workspace, tenant, role))
    return Office(name, Scope(TenantId(tenant), WorkspaceId(workspace)), emails)


@dataclass
class Api:
    """A client of the API in this process, not signed in."""

    app: FastAPI
    parts: Parts
    client: httpx.AsyncClient

    async def sign_in(self, email: str, password: str = PASSWORD) -> httpx.AsyncClient:
        """A client that sends the user's token."""
        answer = await self.client.post("/api/auth/login", json={"email": email, "password": password})
        assert answer.status_code == 200, answer.text
        return self.bearing(answer.json()["access_token"])

    def bearing(self, token: str, **headers: str) -> httpx.AsyncClient:
        """A client that sends this token or key."""
        return self._client({"Authorization": f"Bearer {token}", **headers})

    def _client(self, headers: dict[str, str]) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://aos.test", headers=headers, timeout=20)


@asynccontextmanager
async def serve(parts: Parts) -> AsyncIterator[Api]:
    """The application between its start and its end."""
    app = create_app(parts)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://aos.test", timeout=20) as client:
            yield Api(app, parts, client)
