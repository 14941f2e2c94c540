"""The API in this process: real Postgres and routes; search, answers and pictures are scripted; passwords hash fast."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import psycopg
from argon2 import PasswordHasher
from fastapi import FastAPI

from cluster.basics.addresses import resolve_host
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from cluster.models.connections.configured import ConfiguredConnections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.egress import EgressPolicy, ModelClients
from cluster.models.connections.model_resolver import ModelResolver
from cluster.state.agent_store import AgentStore
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.conversations import ConversationStore
from cluster.state.db.postgres import Database
from cluster.state.feedback import FeedbackStore
from cluster.state.identity.account_links import AccountLinkStore
from cluster.state.identity.accounts import AccountStore
from cluster.state.identity.external_accounts import ExternalAccountStore
from cluster.state.identity.groups import GroupStore
from cluster.state.identity.identity import IdentityStore
from cluster.state.limits.limiter import Limiter
from cluster.state.metrics_store import MetricsStore
from cluster.state.process_services import ProcessServices
from cluster.state.settings.restart_requests import RestartRequests
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.state.signed_receipts import ReceiptSigner
from cluster.state.system import SystemQueries
from cluster.state.vault import Vault, VaultKey
from cluster.state.work.job_queries import JobQueries
from cluster.state.work.jobs import JobLedger
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.schedules import ScheduleStore
from configs.sections import (
    AgentSettings,
    ChunkSettings,
    HttpSettings,
    MemorySettings,
    ModelsSettings,
    OcrSettings,
    ReadSettings,
)
from configs.sections_blobs import UploadSettings
from configs.sections_identity import AuthSettings
from configs.sections_limits import LimitSettings
from configs.sections_reading import VisionSettings
from configs.sections_retention import RetentionSettings
from configs.sections_retrieval import EmbeddingSettings
from configs.sections_skills import AcademySettings
from configs.settings import load_settings
from pipelines.documents.document import Box, PageBox, Span
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.index.switch import IndexSwitchover
from pipelines.documents.privacy.policy_rules import GovernanceRules, read_governance
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.library import DocumentLibrary
from pipelines.documents.store.uploads.part_store import FolderParts
from pipelines.documents.store.uploads.upload_sessions import UploadSessions
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_parts import SourceParts
from pipelines.documents.usage.document_analytics import DocumentAnalytics
from pipelines.documents.usage.document_usage import DocumentUsage
from pipelines.documents.usage.usage_recorder import UsageRecorder
from serve_apps.agents.academy.school import Academy
from serve_apps.agents.approval import ApprovalPolicy
from serve_apps.agents.approval import load_policy as load_policy
from serve_apps.agents.intake.assistant import standing_assistant
from serve_apps.agents.memory.compliance import ComplianceCheck
from serve_apps.agents.memory.recent_messages import RecentMessages
from serve_apps.agents.memory.remember import ConversationMemory
from serve_apps.governance.erasures import DataErasure
from serve_apps.governance.holds import LegalHolds
from serve_apps.governance.retention import RetentionProcess, RetentionRules
from serve_apps.governance.workspace_eraser import DataEraser
from serve_apps.http.admission import AdmissionQueue
from serve_apps.http.app import ROUTERS, create_app
from serve_apps.http.auth.oidc.sign_in_flow import SignInFlow
from serve_apps.http.auth.passwords import BoundedPasswordHasher
from serve_apps.http.auth.permissions import PUBLIC, collect_permissions
from serve_apps.http.auth.provisioning import ScimProvisioning
from serve_apps.http.auth.throttle import ProcessThrottle
from serve_apps.http.auth.tokens import TokenSigner
from serve_apps.http.deps import AppDependencies
from serve_apps.http.operator_deps import NoCluster, OperatorDependencies
from serve_apps.http.routes.documents.pictures import OneByOne
from serve_apps.http.streams.sse import StreamPacing
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.answers.claims import AnswerClaim
from serve_apps.retrieval.answers.draft import ShowDraft
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.cache.semantic_cache import SemanticCacheStats
from serve_apps.retrieval.extraction.document_extractor import DocumentExtractor
from serve_apps.retrieval.extraction.stored_extractions import StoredExtractions
from serve_apps.retrieval.golden.golden_runs import GoldenRuns
from serve_apps.retrieval.golden.measure import GoldenExaminer
from serve_apps.retrieval.golden.sets import GoldenSets
from serve_apps.retrieval.search.query import SearchHit, SearchQuery, SearchResults
from serve_apps.retrieval.tables.table_store import TableStore
from serve_apps.retrieval.tables.table_workbench import TableWorkbench
from serve_apps.wiring.governance import build_governance
from skills.framework.credential_store import CredentialStore
from skills.framework.skill_store import SkillStore
from skills.http_client.fetch import GuardedHttpClient
from skills.oauth.oauth_connections import MOST_BYTES, OAuthConnections
from tests.fakes.crew import SHIPPED
from tests.fakes.event_parts import event_parts
from tests.fakes.ground import ground
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator, ScriptedReplays, Toolbox

# The permissions of all routes, with those that FastAPI makes itself.
MATRIX = collect_permissions(route for router in ROUTERS for route in router.routes)
MATRIX |= {("GET", "/docs"): PUBLIC, ("GET", "/openapi.json"): PUBLIC}

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

    asked: list[tuple[Scope, SearchQuery]] = field(default_factory=list)

    async def run(self, scope: Scope, query: SearchQuery, vector: Any = None) -> SearchResults:
        self.asked.append((scope, query))
        hit = SearchHit(
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
        return SearchResults(
            query, (hit,), 7, "bm25", "exact", "off: not asked for", 1, None, {"total": 1.5, "keyword": 1.0}
        )


@dataclass
class ScriptedAnswerer:
    """Answers everything alike and remembers who asked what."""

    asked: list[tuple[Scope, str, str | None]] = field(default_factory=list)

    async def ask(
        self,
        scope: Scope,
        question: str,
        agent_id: str | None,
        history: tuple[str, ...] = (),
        draft: ShowDraft | None = None,
    ) -> CitedAnswer:
        self.asked.append((scope, question, agent_id))
        found = await ScriptedSearch().run(scope, SearchQuery(question))
        hit = found.hits[0]
        cited = Citation(
            1, hit.chunk_id, hit.document_id, hit.version_id, hit.filename, hit.page, hit.text, 0, 22, hit.boxes, 0.9
        )
        claims = (AnswerClaim(hit.text, (1,)),)
        return CitedAnswer(f"{hit.text} [1]", "extractive", (cited,), found, None, None, claims)


@dataclass
class ScriptedCache:
    """Remembers nothing but who had it cleared: (workspace, agent)."""

    cleared: list[tuple[str, str | None]] = field(default_factory=list)

    async def get_stats(self, workspace: str) -> SemanticCacheStats:
        return SemanticCacheStats(3, 1, 2, 1, 0, 0, 0, 3, 0, 2 / 3, 0.001, 0.95, 86_400)

    async def invalidate(self, workspace: str, agent_id: str | None = None) -> int:
        self.cleared.append((workspace, agent_id))
        return 3


def one_client(client: httpx2.AsyncClient, egress: EgressPolicy = EgressPolicy(loopback=True)) -> ModelClients:
    """One client for everything: what is checked when a connection is made has tests of its own."""
    return ModelClients(client, client, client, egress)


class BlankPages:
    """Draws nothing, as a PNG."""

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        return PNG + f"{number}@{dpi}".encode()

    def close(self) -> None:
        """Nothing was started."""


def make_memory(database: Database) -> ConversationMemory:
    """Memory without Redis."""
    kept, settings = ConversationStore(database), MemorySettings()
    history = RecentMessages(database, kept, None, settings, lambda: 0.0)
    return ConversationMemory(
        database, kept, history, ComplianceCheck(kept, AuditLog(database), settings.compliance_every), settings
    )


@cache
def _shipped() -> tuple[NameLexicon, ApprovalPolicy, GovernanceRules]:
    """Names, approval list and rules that ship. Nobody changes them; to read them takes as long as a short test."""
    return NameLexicon.shipped(), load_policy(SHIPPED), read_governance()


def make_parts(app_dsn: str, folder: Path, clock: Clock | None = None, **other: Any) -> AppDependencies:
    """Parts over a database that is not open yet; `other` replaces some of them."""
    database, auth, moment = Database(app_dsn, size=6, timeout=10), AuthSettings(), clock or Clock()
    environment = {"AOS_STATE_DIR": str(folder)}
    answerer = other.get("answerer") or ScriptedAnswerer()
    vault = Vault([VaultKey(b"k" * 32)])
    connections = ConnectionStore(database, vault, ConfiguredConnections())
    switchboard = ModelResolver(
        connections, one_client(httpx2.AsyncClient(verify=False)), ModelsSettings(), asyncio.sleep
    )
    search, embedder = other.get("search") or ScriptedSearch(), FakeEmbedder()
    lexicon, policy, shipped_rules = _shipped()
    rules = RetentionRules(database, RetentionSettings())
    golden = GoldenSets(database)
    examiner = GoldenExaminer(search, answerer, database)
    tokens = TokenSigner("test-secret-of-at-least-32-bytes!", auth)
    made = AppDependencies(
        database=database,
        jobs=JobLedger(database),
        job_queries=JobQueries(database, ReadSettings().tenant_pages),
        audit=AuditLog(database),
        **event_parts(database, folder),
        identity=IdentityStore(database),
        accounts=AccountStore(database),
        groups=GroupStore(database),
        external=ExternalAccountStore(database),
        account_links=AccountLinkStore(database),
        library=DocumentLibrary(database),
        sources=SourceParts.over(database, SourceOpener(database, vault, str(folder / "scans"))),
        graph=KnowledgeGraph(database, lexicon),
        agent_store=AgentStore(database, standing_assistant(AuditLog(database))),
        links=AgentLinks(database),
        blobs=FolderBlobs(folder / "blobs", base=folder),
        part_store=FolderParts(folder / "blobs"),
        upload_sessions=UploadSessions(database),
        erasure=DataEraser(database, FolderBlobs(folder / "blobs"), None),
        erasures=DataErasure(
            database, FolderBlobs(folder / "blobs"), None, ReceiptSigner.kept_in(folder / "keys"), moment
        ),
        holds=LegalHolds(database),
        retention_rules=rules,
        retention=RetentionProcess(database, rules, FolderBlobs(folder / "blobs"), moment, timedelta(hours=1)),
        search=search,
        switchover=IndexSwitchover(database),
        golden=golden,
        golden_runs=GoldenRuns(database, golden, examiner, {}),
        answerer=answerer,
        cache=ScriptedCache(),
        answers=StoredAnswers(database),
        usage=(usage := UsageRecorder(database)),
        document_usage=DocumentUsage(database),
        document_analytics=DocumentAnalytics(database),
        closers=(usage.close,),
        tables=TableWorkbench(TableStore(database)),
        extractor=DocumentExtractor(StoredExtractions(database), None),
        pictures=OneByOne(BlankPages()),
        embedder=embedder,
        connections=connections,
        credentials=CredentialStore(database, vault),
        oauth=OAuthConnections(
            database, AuditLog(database), vault, GuardedHttpClient((), resolve_host, 2.0, MOST_BYTES), moment
        ),
        switchboard=switchboard,
        orchestrator=ScriptedOrchestrator(),
        runs=RunQueries(database),
        feedback=FeedbackStore(database),
        conversations=ConversationStore(database),
        memory=make_memory(database),
        approvals=ApprovalStore(database, AuditLog(database)),
        governance=build_governance(database, vault, shipped_rules),
        toolbox=Toolbox(),
        schedules=ScheduleStore(database),
        school=Academy(
            database, AgentStore(database), JobLedger(database), answerer, AuditLog(database), AcademySettings()
        ),
        skills=SkillStore(database),
        ground=ground(),
        replays=ScriptedReplays(),
        policy=policy,
        tokens=tokens,
        sign_in=SignInFlow((), "http://aos.test", tokens),
        directories={},
        scim=ScimProvisioning.over(database, ()),
        first_admin="admin@orchestrator.local",
        passwords=BoundedPasswordHasher(FAST),
        throttle=ProcessThrottle(moment.monotonic),
        limits=Limiter.of(database, None, LimitSettings(enabled=False), MetricsStore(None), moment),
        admission=AdmissionQueue(8, lambda: 10.0, time.monotonic),
        ask_admission=AdmissionQueue(8, lambda: 10.0, time.monotonic),
        extract_admission=AdmissionQueue(8, lambda: 10.0, time.monotonic),
        operating=OperatorDependencies(
            ProcessServices.of(database, vault, None, SettingsSnapshots(load_settings(environment)), environment),
            RestartRequests(database),
            SystemQueries(database),
            NoCluster(),
        ),
        http=HttpSettings(max_upload_bytes=200_000, max_body_bytes=100_000),
        uploads=UploadSettings(part_bytes=1_000, max_bytes=1_000_000, sessions=50),
        ocr=OcrSettings(),
        vision=VisionSettings(),
        read=ReadSettings(nfs_base_path=str(folder / "scans")),
        chunk=ChunkSettings(),
        embedding=EmbeddingSettings(),
        agents=AgentSettings(),
        clock=moment,
        pace=StreamPacing(0.02, 8),
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
    parts: AppDependencies
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
async def serve(parts: AppDependencies) -> AsyncIterator[Api]:
    """The application between its start and its end."""
    app = create_app(parts)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://aos.test", timeout=20) as client:
            yield Api(app, parts, client)
