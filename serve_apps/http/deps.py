"""Everything the API is made of, put together at the edge and handed in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from cluster.basics.telemetry import Telemetry
from cluster.models.connections.connection_store import Connections
from cluster.models.connections.model_resolver import Switchboard
from cluster.models.ports import Embedder
from cluster.state.approvals import Approvals
from cluster.state.audit import Audit
from cluster.state.conversations import Conversations
from cluster.state.db.postgres import Database
from cluster.state.feedback import Feedback
from cluster.state.identity.accounts import Accounts
from cluster.state.identity.identity import Identity
from cluster.state.work.job_queries import JobDesk
from cluster.state.work.jobs import Jobs
from cluster.state.work.run_queries import RunDesk
from cluster.state.work.schedules import Schedules
from configs.sections import AgentSettings, ChunkSettings, HttpSettings, OcrSettings, ReadSettings
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.index.switch import Switchover
from pipelines.documents.store.agent_links import Links
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.library import Library
from serve_apps.agents.academy.school import School
from serve_apps.agents.approval import Policy
from serve_apps.agents.memory.remember import Memory
from serve_apps.agents.turn_ports import Orchestrator
from serve_apps.http.admission import Admission
from serve_apps.http.auth.passwords import Passwords
from serve_apps.http.auth.revocation import RevocationWatch
from serve_apps.http.auth.throttle import Throttle
from serve_apps.http.auth.tokens import Tokens
from serve_apps.http.ports import Answerer, Cache, Pictures, Replays, Search, Toolbox
from serve_apps.http.routes.operations.erasure import Erasure
from serve_apps.http.routes.operations.operating import Operating
from serve_apps.http.streams.sse import Pace
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.golden.golden_runs import GoldenRuns
from serve_apps.retrieval.golden.sets import GoldenSets
from skills.framework.credential_store import Keyring
from skills.framework.dependencies import Ground
from skills.framework.skill_store import Skills


@dataclass(frozen=True, slots=True)
class Parts:
    """Attributes:
    clock: the moment, with a time zone.
    wake: tells the scheduler of this process, if there is one, that something is due.
    pace: how streams of events run.
    watch: ends streams whose credential has ended.
    skills, ground: what is registered, and what it is tried out on.
    admission: which searches may wait.
    telemetry: where spans of requests go.
    openers, closers: called at the start, after the database is open, and at the end, before it is closed.
    """

    database: Database
    jobs: Jobs
    desk: JobDesk
    audit: Audit
    identity: Identity
    accounts: Accounts
    library: Library
    graph: KnowledgeGraph
    links: Links
    blobs: BlobStore
    search: Search
    answerer: Answerer
    cache: Cache
    answers: StoredAnswers
    switchover: Switchover
    golden: GoldenSets
    golden_runs: GoldenRuns
    pictures: Pictures
    embedder: Embedder
    connections: Connections
    credentials: Keyring
    switchboard: Switchboard
    orchestrator: Orchestrator
    runs: RunDesk
    feedback: Feedback
    conversations: Conversations
    memory: Memory
    approvals: Approvals
    schedules: Schedules
    school: School
    erasure: Erasure
    toolbox: Toolbox
    skills: Skills
    ground: Ground
    replays: Replays
    policy: Policy
    tokens: Tokens
    passwords: Passwords
    throttle: Throttle
    admission: Admission
    operating: Operating
    http: HttpSettings
    read: ReadSettings
    ocr: OcrSettings
    chunk: ChunkSettings
    agents: AgentSettings
    clock: Callable[[], datetime]
    wake: Callable[[], None] = lambda: None
    pace: Pace = field(default_factory=Pace)
    watch: RevocationWatch = field(default_factory=RevocationWatch)
    telemetry: Telemetry = field(default_factory=Telemetry.off)
    openers: tuple[Callable[[], Awaitable[None]], ...] = ()
    closers: tuple[Callable[[], Awaitable[None]], ...] = ()
