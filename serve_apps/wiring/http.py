"""Puts the API's parts together from settings; what knows Ray comes from outside."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from argon2 import PasswordHasher

from cluster.basics.disk import DiskRoom
from cluster.basics.errors import InvalidSettings
from cluster.models.ports import Embedder, Reranker
from cluster.state.db.postgres import Database
from cluster.state.feedback import FeedbackStore
from cluster.state.identity.account_links import AccountLinkStore
from cluster.state.identity.accounts import AccountStore
from cluster.state.identity.external_accounts import ExternalAccountStore
from cluster.state.identity.groups import GroupStore
from cluster.state.identity.identity import IdentityStore
from cluster.state.settings.restart_requests import RestartRequests
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.state.signed_receipts import ReceiptSigner
from cluster.state.system import SystemQueries
from cluster.state.vault import vault_of
from cluster.state.work.job_queries import JobQueries
from cluster.state.work.jobs import JobLedger
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.schedules import ScheduleStore
from configs.sections import Settings
from configs.sections_identity import AuthSettings
from configs.sign_in_providers import load_directories, load_providers, load_scim_tenants
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.index.switch import IndexSwitchover
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.choose_store import open_blobs, open_parts
from pipelines.documents.store.library import DocumentLibrary
from pipelines.documents.store.uploads.upload_sessions import UploadSessions
from pipelines.documents.store.uploads.upload_sweep import UploadSweeper
from pipelines.documents.sync.source_parts import SourceParts
from pipelines.documents.sync.sync_wiring import source_opener
from pipelines.documents.usage.document_analytics import DocumentAnalytics
from pipelines.documents.usage.document_usage import DocumentUsage
from serve_apps.agents import approval
from serve_apps.agents.durable.traced import TracedOrchestrator
from serve_apps.agents.turn_ports import TurnOrchestrator, TurnPath
from serve_apps.governance.classification import ClassificationProcess
from serve_apps.governance.erasures import DataErasure
from serve_apps.governance.holds import LegalHolds
from serve_apps.governance.retention import RetentionProcess, RetentionRules
from serve_apps.governance.workspace_eraser import DataEraser
from serve_apps.http.admission import AdmissionQueue
from serve_apps.http.auth.ldap.directory_client import DirectoryClient
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.oidc.sign_in_flow import SignInFlow
from serve_apps.http.auth.passwords import BoundedPasswordHasher
from serve_apps.http.auth.provisioning import ScimProvisioning
from serve_apps.http.auth.throttle import ProcessThrottle, SharedThrottle
from serve_apps.http.auth.tokens import TokenSigner, signing_secret
from serve_apps.http.deps import AppDependencies
from serve_apps.http.operator_deps import ClusterView, NoCluster, OperatorDependencies
from serve_apps.http.routes.documents.pictures import OneByOne
from serve_apps.http.streams.replay_slots import FewReplays
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.golden.golden_runs import GoldenRuns
from serve_apps.retrieval.golden.measure import GoldenExaminer
from serve_apps.retrieval.golden.sets import GoldenSets
from serve_apps.retrieval.golden.snapshot import LiveSnapshot
from serve_apps.wiring.agents import CONFIGS, Container, TurnRuntime, build_container, build_turn_intake
from serve_apps.wiring.audit_collectors import build_audit_exporter
from serve_apps.wiring.events import build_event_intake, build_event_stream, build_webhook_sender

# Of the settings, handed on as they are.
_SECTIONS = ("http", "uploads", "read", "ocr", "vision", "chunk", "embedding", "agents")


def build_app_dependencies(
    settings: Settings,
    embedder: Embedder,
    reranker: Reranker | None,
    elsewhere: Callable[[], TurnOrchestrator],
    snapshots: SettingsSnapshots | None = None,
    cluster: ClusterView | None = None,
) -> AppDependencies:
    """Everything the API needs. The database is opened by the application's start.

    `reranker`: None where there are no weights for one. `elsewhere`: the orchestrator, where agents are not placed in
    this process. `snapshots`: where `settings` is a view of them. `cluster`: what this process runs in; None where it
    runs by itself. Raises Unavailable where no Postgres is configured and none runs, InvalidSettings where the signing
    secret is too short, or a file of the agents is wrong.
    """
    base = build_container(settings, embedder, reranker, snapshots)
    workshop = TurnRuntime(settings, base)
    inproc = settings.agents.placement == "inproc"
    carriers = dict.fromkeys(TurnPath, workshop.carrier)
    orchestrator = build_turn_intake(settings, base, carriers) if inproc else elsewhere()
    pictures = OneByOne(DocumentReader(settings.read, settings.ocr))
    golden = GoldenSets(base.database)
    golden_runs = _golden_runs(base, golden)
    stored = _storage_parts(settings, base)
    exporter = build_audit_exporter(settings.audit, base.database)
    governance = _governance_parts(settings, base, stored["blobs"])
    events = _event_parts(settings, base, stored["blobs"])
    # What goes on by itself in this process.
    going = (
        base.bell,
        *(golden_runs, exporter, governance["retention"], events["webhooks"], events["event_stream"]),
        *(*stored["sources"].going(base.database, settings.sources), _sweeper(settings, base, stored)),
        ClassificationProcess(base.governance.classes, lambda: datetime.now(UTC)),
    )
    return AppDependencies(
        **_database_parts(base.database),
        job_queries=JobQueries(base.database, settings.read.tenant_pages),
        **_shared_parts(base),
        **stored,
        **governance,
        **events,
        exporter=exporter,
        golden=golden,
        golden_runs=golden_runs,
        pictures=pictures,
        embedder=embedder,
        orchestrator=TracedOrchestrator(orchestrator, base.telemetry),
        school=workshop.school,
        replays=FewReplays(workshop.replays),
        policy=approval.load_policy(settings.agents.approvals_file or CONFIGS / "approvals.yaml"),
        **_sign_in_parts(settings, base),
        **_admission_queues(settings),
        **{name: getattr(settings, name) for name in _SECTIONS},
        clock=lambda: datetime.now(UTC),
        wake=workshop.scheduler.wake,
        operating=_operator_dependencies(base, cluster),
        openers=(base.upkeep.open, *([workshop.open] if inproc else []), *(one.open for one in going)),
        closers=(*(one.close for one in reversed(going)), workshop.close, base.close, pictures.close),
    )


def _storage_parts(settings: Settings, base: Container) -> dict[str, Any]:
    """Where bytes lie, and the sources that they come from by themselves."""
    room = DiskRoom(settings.state_dir / "blobs", settings.disk.free_bytes, settings.disk.free_percent)
    vault = vault_of(settings.models.vault_key, settings.state_dir)
    opener = source_opener(settings, base.database, vault)
    return {
        "blobs": open_blobs(settings, room),
        "part_store": open_parts(settings, room),
        "sources": SourceParts.over(base.database, opener, base.redis),
    }


def _sweeper(settings: Settings, base: Container, stored: Mapping[str, Any]) -> UploadSweeper:
    stores = stored["blobs"], stored["part_store"]
    return UploadSweeper(base.database, *stores, settings.uploads, lambda: datetime.now(UTC))


def _sign_in_parts(settings: Settings, base: Container) -> dict[str, Any]:
    """What lets people in, and keeps guesses out."""
    auth = settings.auth
    tokens = TokenSigner(signing_secret(auth, settings.state_dir), auth)
    return {
        "tokens": tokens,
        "sign_in": sign_in_flow(auth, tokens),
        "directories": directory_clients(auth),
        "scim": ScimProvisioning.over(base.database, load_scim_tenants(auth.providers_file)),
        "first_admin": auth.admin_email,
        "passwords": BoundedPasswordHasher(PasswordHasher()),
        "throttle": SharedThrottle(base.redis, ProcessThrottle(time.monotonic)),
    }


def sign_in_flow(settings: AuthSettings, tokens: TokenSigner) -> SignInFlow:
    """The providers that are declared. Raises InvalidSettings: nobody could come back from them."""
    declared = load_providers(settings.providers_file)
    if declared and settings.public_url is None:
        fix = "Set AOS_AUTH_PUBLIC_URL to where browsers reach this product."
        raise InvalidSettings("auth.providers_file needs auth.public_url", fix=fix)
    return SignInFlow([OidcProviderClient(one, time.monotonic) for one in declared], settings.public_url, tokens)


def directory_clients(settings: AuthSettings) -> Mapping[str, DirectoryClient]:
    """The directories that are declared, by name. Raises InvalidSettings: one cannot be asked as it is declared."""
    declared = load_directories(settings.providers_file)
    return {one.name: DirectoryClient(one, time.monotonic) for one in declared}


def _admission_queues(settings: Settings) -> dict[str, Any]:
    """Queues before searches, answers and extractions: as many at a time as connections for their statements."""
    places, clock = settings.postgres.pool_size, time.monotonic
    return {
        "admission": AdmissionQueue(places, lambda: settings.http.search_seconds, clock),
        "ask_admission": AdmissionQueue(places, lambda: settings.http.ask_seconds, clock),
        "extract_admission": AdmissionQueue(places, lambda: settings.http.ask_seconds, clock),
    }


def _golden_runs(base: Container, golden: GoldenSets) -> GoldenRuns:
    examiner = GoldenExaminer(base.search, base.answerer, base.database)
    return GoldenRuns(base.database, golden, examiner, LiveSnapshot(base.upkeep.snapshots.effective))


def _operator_dependencies(base: Container, cluster: ClusterView | None) -> OperatorDependencies:
    restarts, system = RestartRequests(base.database), SystemQueries(base.database)
    return OperatorDependencies(base.upkeep, restarts, system, cluster or NoCluster())


def _governance_parts(settings: Settings, base: Container, blobs: BlobStore) -> dict[str, Any]:
    """Erasures, holds and retention."""
    signer, rules = ReceiptSigner.kept_in(settings.state_dir), RetentionRules(base.database, settings.retention)
    every = timedelta(minutes=settings.retention.every_minutes)
    return {
        "erasure": DataEraser(base.database, blobs, base.redis),
        "erasures": DataErasure(base.database, blobs, base.redis, signer, lambda: datetime.now(UTC)),
        "holds": LegalHolds(base.database),
        "retention_rules": rules,
        "retention": RetentionProcess(base.database, rules, blobs, lambda: datetime.now(UTC), every),
    }


def _event_parts(settings: Settings, base: Container, blobs: BlobStore) -> dict[str, Any]:
    """Events that go out, and those that come in."""
    intake = build_event_intake(settings, base.database, blobs, base.limits, base.audit)
    return {
        "webhooks": build_webhook_sender(settings, base.database, base.bell),
        "uploaded_events": intake,
        "event_stream": build_event_stream(settings, base.database, base.redis, intake),
    }


def _database_parts(database: Database) -> dict[str, Any]:
    """Parts that are statements over the database, and nothing else."""
    return {
        "jobs": JobLedger(database),
        "identity": IdentityStore(database),
        "accounts": AccountStore(database),
        "groups": GroupStore(database),
        "external": ExternalAccountStore(database),
        "account_links": AccountLinkStore(database),
        "library": DocumentLibrary(database),
        "upload_sessions": UploadSessions(database),
        "links": AgentLinks(database),
        "graph": KnowledgeGraph(database, NameLexicon.shipped()),
        "answers": StoredAnswers(database),
        "document_usage": DocumentUsage(database),
        "document_analytics": DocumentAnalytics(database),
        "switchover": IndexSwitchover(database),
        "feedback": FeedbackStore(database),
        "schedules": ScheduleStore(database),
    }


def _shared_parts(base: Container) -> dict[str, Any]:
    """Parts that the agents of this process use, too."""
    return {
        "database": base.database,
        "tables": base.tables,
        "extractor": base.extractor,
        "audit": base.audit,
        "agent_store": base.agents,
        "connections": base.connections,
        "credentials": base.keyring,
        "oauth": base.oauth,
        "switchboard": base.switchboard,
        "conversations": base.conversations,
        "memory": base.memory,
        "approvals": base.approvals,
        "runs": RunQueries(base.database, base.governance.seals),
        "governance": base.governance,
        "toolbox": base.tools,
        "skills": base.skills,
        "ground": base.fence.ground,
        "telemetry": base.telemetry,
        "limits": base.limits,
        "usage": base.usage,
        "search": base.cached.search,
        "answerer": base.cached.answerer,
        "cache": base.cached.cache,
    }
