"""Everything the API is made of, put together at the edge and handed in."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cluster.basics.telemetry import Telemetry
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.model_resolver import ModelResolver
from cluster.models.ports import Embedder
from cluster.state.agent_store import AgentStore
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.audit_export.exporter import AuditExporter
from cluster.state.conversations import ConversationStore
from cluster.state.db.postgres import Database, Transaction
from cluster.state.feedback import FeedbackStore
from cluster.state.identity.account_links import AccountLinkStore
from cluster.state.identity.accounts import AccountStore
from cluster.state.identity.external_accounts import ExternalAccountStore
from cluster.state.identity.groups import GroupStore
from cluster.state.identity.identity import IdentityStore, WorkspaceMember
from cluster.state.limits.limiter import Limiter
from cluster.state.work.job_queries import JobQueries
from cluster.state.work.jobs import JobLedger
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.schedules import ScheduleStore
from configs.sections import AgentSettings, ChunkSettings, HttpSettings, OcrSettings, ReadSettings
from configs.sections_blobs import UploadSettings
from configs.sections_reading import VisionSettings
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.index.switch import IndexSwitchover
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.library import DocumentLibrary
from pipelines.documents.store.uploads.part_store import PartStore
from pipelines.documents.store.uploads.upload_sessions import UploadSessions
from pipelines.documents.sync.source_parts import SourceParts
from pipelines.documents.usage.document_analytics import DocumentAnalytics
from pipelines.documents.usage.document_usage import DocumentUsage
from pipelines.documents.usage.usage_recorder import UsageRecorder
from serve_apps.agents.academy.school import Academy
from serve_apps.agents.approval import ApprovalPolicy
from serve_apps.agents.memory.remember import ConversationMemory
from serve_apps.agents.turn.knowledge import PassageSearch
from serve_apps.agents.turn_ports import TurnOrchestrator
from serve_apps.events.event_stream import UploadedEventStream
from serve_apps.events.uploaded_intake import UploadedEventIntake
from serve_apps.events.webhook_sender import WebhookSender
from serve_apps.governance.erasures import DataErasure
from serve_apps.governance.governance_parts import GovernanceParts
from serve_apps.governance.holds import LegalHolds
from serve_apps.governance.retention import RetentionProcess, RetentionRules
from serve_apps.governance.workspace_eraser import DataEraser
from serve_apps.http.admission import AdmissionQueue
from serve_apps.http.auth.ldap.directory_client import DirectoryClient
from serve_apps.http.auth.oidc.sign_in_flow import SignInFlow
from serve_apps.http.auth.passwords import BoundedPasswordHasher
from serve_apps.http.auth.provisioning import ScimProvisioning
from serve_apps.http.auth.revocation import RevocationWatch
from serve_apps.http.auth.throttle import LoginThrottle
from serve_apps.http.auth.tokens import TokenSigner
from serve_apps.http.operator_deps import OperatorDependencies
from serve_apps.http.ports import CachePort, ReplaysPort, ToolboxPort
from serve_apps.http.routes.documents.pictures import OneByOne
from serve_apps.http.routes.scans.folder_surveys import FolderSurveys
from serve_apps.http.streams.sse import StreamPacing
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.cache.cached_search import AnswerPort
from serve_apps.retrieval.extraction.document_extractor import DocumentExtractor
from serve_apps.retrieval.golden.golden_runs import GoldenRuns
from serve_apps.retrieval.golden.sets import GoldenSets
from serve_apps.retrieval.tables.table_workbench import TableWorkbench
from skills.framework.credential_store import CredentialStore
from skills.framework.dependencies import SkillDependencies
from skills.framework.skill_store import SkillStore
from skills.oauth.oauth_connections import OAuthConnections


def few_exports() -> AdmissionQueue:
    """Two exports at a time in one process; one that would have to wait for long is refused."""
    return AdmissionQueue(2, lambda: 600.0, time.monotonic)


@dataclass(frozen=True, slots=True)
class AppDependencies:
    """Attributes:
    clock: the moment, with a time zone.
    wake: tells the scheduler of this process, if there is one, that something is due.
    surveys: dry runs look at folders with it.
    exports: which exports may wait.
    pace: how streams of events run.
    watch: ends streams whose credential has ended.
    skills, ground: what is registered, and what it is tried out on.
    admission: which searches may wait.
    ask_admission: which answers may; apart, as a model's seconds are no measure of how long searches take.
    extract_admission: which extractions may; they hold no place of an answer while their rules wait for each other.
    telemetry: where spans of requests go.
    scim: people and groups that an identity provider keeps, and what its rules give them.
    sign_in: the providers by which people may sign in.
    directories: by name, those whose people may sign in with the password that they have there.
    first_admin: e-mail address of the first administrator, in whose tenant people of a provider are unless it says.
    openers, closers: called at the start, after the database is open, and at the end, before it is closed.
    """

    database: Database
    jobs: JobLedger
    job_queries: JobQueries
    audit: AuditLog
    exporter: AuditExporter
    webhooks: WebhookSender
    uploaded_events: UploadedEventIntake
    event_stream: UploadedEventStream
    identity: IdentityStore
    accounts: AccountStore
    groups: GroupStore
    external: ExternalAccountStore
    account_links: AccountLinkStore
    library: DocumentLibrary
    sources: SourceParts
    graph: KnowledgeGraph
    agent_store: AgentStore
    links: AgentLinks
    blobs: BlobStore
    part_store: PartStore
    upload_sessions: UploadSessions
    search: PassageSearch
    answerer: AnswerPort
    cache: CachePort
    answers: StoredAnswers
    usage: UsageRecorder
    document_usage: DocumentUsage
    document_analytics: DocumentAnalytics
    tables: TableWorkbench
    extractor: DocumentExtractor
    switchover: IndexSwitchover
    golden: GoldenSets
    golden_runs: GoldenRuns
    pictures: OneByOne
    embedder: Embedder
    connections: ConnectionStore
    credentials: CredentialStore
    oauth: OAuthConnections
    switchboard: ModelResolver
    orchestrator: TurnOrchestrator
    runs: RunQueries
    feedback: FeedbackStore
    conversations: ConversationStore
    memory: ConversationMemory
    approvals: ApprovalStore
    governance: GovernanceParts
    schedules: ScheduleStore
    school: Academy
    erasure: DataEraser
    erasures: DataErasure
    holds: LegalHolds
    retention_rules: RetentionRules
    retention: RetentionProcess
    toolbox: ToolboxPort
    skills: SkillStore
    ground: SkillDependencies
    replays: ReplaysPort
    policy: ApprovalPolicy
    tokens: TokenSigner
    passwords: BoundedPasswordHasher
    sign_in: SignInFlow
    directories: Mapping[str, DirectoryClient]
    scim: ScimProvisioning
    first_admin: str
    throttle: LoginThrottle
    limits: Limiter
    admission: AdmissionQueue
    ask_admission: AdmissionQueue
    extract_admission: AdmissionQueue
    operating: OperatorDependencies
    http: HttpSettings
    uploads: UploadSettings
    read: ReadSettings
    ocr: OcrSettings
    vision: VisionSettings
    chunk: ChunkSettings
    embedding: EmbeddingSettings
    agents: AgentSettings
    clock: Callable[[], datetime]
    wake: Callable[[], None] = lambda: None
    surveys: FolderSurveys = field(default_factory=FolderSurveys)
    exports: AdmissionQueue = field(default_factory=few_exports)
    pace: StreamPacing = field(default_factory=StreamPacing)
    watch: RevocationWatch = field(default_factory=RevocationWatch)
    telemetry: Telemetry = field(default_factory=Telemetry.off)
    openers: tuple[Callable[[], Awaitable[None]], ...] = ()
    closers: tuple[Callable[[], Awaitable[None]], ...] = ()

    @asynccontextmanager
    async def audited(
        self, me: WorkspaceMember, action: str, about: str, detail: Mapping[str, Any] | None = None
    ) -> AsyncIterator[Transaction]:
        """A transaction of the member's that ends with an entry in the audit trail."""
        async with self.database.transaction(me.scope) as tx:
            yield tx
            await self.audit.record(tx, me.scope, action, about, detail=detail)
