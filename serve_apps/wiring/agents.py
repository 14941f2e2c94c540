"""Puts agents together from settings; models come from outside, so that nothing here knows Ray."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path as FilePath
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from cluster.basics import telemetry
from cluster.basics.errors import Unavailable
from cluster.models.connections.configured import load_connections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.egress import ModelClients, clients_of
from cluster.models.connections.model_resolver import ModelResolver
from cluster.models.embedding.deadline import DeadlineEmbedder
from cluster.models.embedding.migration import map_embedders
from cluster.models.embedding.vectors_cache import VectorCache
from cluster.models.ports import Embedder, Reranker
from cluster.models.routing.router import ModelRouter
from cluster.models.routing.spend import SpendStore
from cluster.state.agent_store import AgentStore
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.conversations import ConversationStore
from cluster.state.db.embedded import resolve_endpoints, timeline_fence
from cluster.state.db.postgres import Database
from cluster.state.episodes import EpisodeStore
from cluster.state.identity.identity import IdentityStore
from cluster.state.limits.limiter import Limiter
from cluster.state.process_services import ProcessServices
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.state.vault import vault_of
from cluster.state.work.jobs import JobLedger
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.runs import RunLedger
from cluster.state.work.schedules import Action
from cluster.state.work.schedules_due import DueSchedules
from cluster.state.work.work_bell import WorkBell
from configs.sections import Settings
from pipelines.documents.privacy.log_lines import mask_log_lines
from pipelines.documents.usage.usage_recorder import UsageRecorder
from serve_apps.agents import approval
from serve_apps.agents.academy.school import Academy
from serve_apps.agents.analytics.handler import AnalyticsHandler
from serve_apps.agents.analytics.metric_catalogue import read_catalogue
from serve_apps.agents.analytics.metric_reader import TTL_SECONDS, MetricReader
from serve_apps.agents.durable.document_use import count_answers
from serve_apps.agents.durable.in_process import InProcessCarrier, TurnModels
from serve_apps.agents.durable.replay import Replayer
from serve_apps.agents.durable.run_loop import RunTiming, TurnRunner
from serve_apps.agents.intake.assistant import ASSISTANT, standing_assistant
from serve_apps.agents.intake.path_router import read_rules
from serve_apps.agents.intake.rights import RightsCheck
from serve_apps.agents.intake.route_cache import CachedRouter
from serve_apps.agents.intake.turn_intake import RunCarrier, TurnIntake, TurnStores, answer_recorder, asking
from serve_apps.agents.memory.episodic import EpisodicMemory
from serve_apps.agents.memory.redis_memo import RedisMemo
from serve_apps.agents.memory.remember import ConversationMemory, memory_of
from serve_apps.agents.memory.summary import ConversationSummariser
from serve_apps.agents.planning.planned_path import GeneralHandler
from serve_apps.agents.schedules.nightly_examination import NightlyExamination
from serve_apps.agents.schedules.scheduled_message import ScheduledMessage
from serve_apps.agents.schedules.scheduler import ScheduledAction, Scheduler
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.cited_answers import store_cited_answers
from serve_apps.agents.turn.delegation import StoredAgents
from serve_apps.agents.turn.documents_path import DocumentsHandler
from serve_apps.agents.turn.knowledge import AgentKnowledge
from serve_apps.agents.turn.quotes import StoredPlaces
from serve_apps.agents.turn_ports import TurnHandler, TurnPath
from serve_apps.governance.governance_parts import GovernanceParts
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.extraction.document_extractor import DocumentExtractor
from serve_apps.retrieval.extraction.stored_extractions import StoredExtractions
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.tables.table_store import TableStore
from serve_apps.retrieval.tables.table_workbench import TableWorkbench
from serve_apps.wiring.cache import CachedRetrieval, ClockSources, ModelHelpers, build_caching
from serve_apps.wiring.governance import build_governance
from serve_apps.wiring.search import RoutedWriter, search_of
from serve_apps.wiring.skills import base_tools, build_oauth_connections, build_skill_guard
from skills.framework.catalogue import ToolCatalog
from skills.framework.credential_store import CredentialStore
from skills.framework.open_credential import VaultOpener
from skills.framework.redaction import guard_output
from skills.framework.skill_guard import SkillGuard
from skills.framework.skill_store import SkillStore
from skills.oauth.oauth_connections import OAuthConnections
from skills.sandbox.fence import Sandbox

_log = logging.getLogger("aos.agents")

CONFIGS = FilePath(str(files("configs")))
REDIS_SECONDS = 1  # what may be lost is not waited for longer


@dataclass(frozen=True, slots=True)
class Container:
    """Container of a process: what it has once, whichever components run in it."""

    database: Database
    bell: WorkBell
    redis: Redis
    audit: AuditLog
    search: SearchPipeline
    answerer: DocumentAnswerer
    cached: CachedRetrieval
    agents: AgentStore
    conversations: ConversationStore
    memory: ConversationMemory
    episodic: EpisodicMemory
    connections: ConnectionStore
    keyring: CredentialStore
    oauth: OAuthConnections
    switchboard: ModelResolver
    governance: GovernanceParts
    runs: RunLedger
    approvals: ApprovalStore
    skills: SkillStore
    sandbox: Sandbox
    tables: TableWorkbench
    extractor: DocumentExtractor
    fence: SkillGuard
    tools: ToolCatalog
    models: ModelClients
    telemetry: telemetry.Telemetry
    upkeep: ProcessServices
    limits: Limiter
    usage: UsageRecorder

    async def close(self) -> None:
        """Give everything back but the database."""
        await self.usage.close()
        await self.episodic.close()
        await self.upkeep.close()
        await self.fence.ground.remotes.aclose()
        await self.oauth.aclose()
        await self.sandbox.aclose()
        await self.models.aclose()
        await self.redis.aclose()
        await self.telemetry.aclose()


def build_container(
    settings: Settings, embedder: Embedder, reranker: Reranker | None, snapshots: SettingsSnapshots | None = None
) -> Container:
    """The ground of a process; the database is not open yet. `snapshots`: where `settings` is a view of them.

    Raises Unavailable where no Postgres is configured and none runs, InvalidSettings where the vault's key or the
    connections file is wrong.
    """
    endpoints = resolve_endpoints(settings)
    database, redis = _database(settings, endpoints.postgres), _redis_client(endpoints.redis)
    models = clients_of(settings.models, settings.http.host)
    audit, vault = AuditLog(database), vault_of(settings.models.vault_key, settings.state_dir)
    of_all = load_connections(settings.models.connections_file, settings.llm)
    connections, agents = ConnectionStore(database, vault, of_all), AgentStore(database, standing_assistant(audit))
    switchboard = ModelResolver(connections, models, settings.models, asyncio.sleep)
    embedder = _of_questions(embedder, redis, settings)
    upkeep = ProcessServices.of(database, vault, redis, snapshots or SettingsSnapshots(settings))
    limits, tables = Limiter.of(database, redis, settings.limits, upkeep.figures), TableWorkbench(TableStore(database))
    writer = RoutedWriter(_model_router(settings, switchboard, database, limits), switchboard, agents)
    episodic = EpisodicMemory(database, EpisodeStore(), embedder, settings.memory)
    governance, helpers = build_governance(database, vault), ModelHelpers(ASSISTANT.name, of_all)
    rules, shows = governance.classes.rules, governance.policies.mask
    search = search_of(settings, database, embedder, reranker, writer, models.configured, rules)
    answerer = DocumentAnswerer(search, database, embedder, writer, lambda: settings.models.drafts)
    cached = build_caching(settings, database, redis, embedder, search, answerer, _clock_sources(), helpers, shows)
    extractor = DocumentExtractor(StoredExtractions(database), writer, lambda: settings.http.ask_seconds)
    oauth = build_oauth_connections(settings, database, audit, vault, _utc_now)
    opener, sandbox = VaultOpener(database, audit, vault, _utc_now, people=oauth), Sandbox(settings.sandbox)
    around = build_skill_guard(settings, database, audit, cached.search, opener, sandbox, tables, extractor)
    return Container(
        database=database,
        bell=WorkBell(database, endpoints.postgres),
        redis=redis,
        audit=audit,
        search=search,
        answerer=answerer,
        cached=cached,
        agents=agents,
        conversations=ConversationStore(database),
        memory=memory_of(settings.memory, database, redis, audit, episodic, time.time),
        episodic=episodic,
        connections=connections,
        keyring=CredentialStore(database, vault),
        oauth=oauth,
        switchboard=switchboard,
        governance=governance,
        runs=RunLedger(database, governance.seals),
        approvals=ApprovalStore(database, audit, governance.seals),
        skills=SkillStore(database),
        sandbox=sandbox,
        tables=tables,
        extractor=extractor,
        fence=around,
        tools=base_tools(around),
        models=models,
        telemetry=telemetry.open_telemetry(settings.telemetry, time.monotonic, {}, counting=upkeep.figures.meter),
        upkeep=upkeep,
        limits=limits,
        usage=UsageRecorder(database),
    )


def _clock_sources() -> ClockSources:
    return ClockSources(time.time, time.monotonic, lambda: uuid4().hex)


def _database(settings: Settings, conninfo: str) -> Database:
    size = settings.postgres.pool_size + settings.postgres.max_overflow
    return Database(conninfo, size=size, timeout=settings.postgres.pool_timeout, fence=timeline_fence(settings))


def _redis_client(url: str) -> Redis:
    """Gives up soon: what it holds may be lost."""
    return Redis.from_url(
        url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS, retry=Retry(NoBackoff(), 1)
    )


def _model_router(settings: Settings, switchboard: ModelResolver, database: Database, limits: Limiter) -> ModelRouter:
    return ModelRouter(switchboard, SpendStore(database, _utc_now, limits), most=settings.models.max_fallbacks)


def _of_questions(embedder: Embedder, redis: Redis, settings: Settings) -> Embedder:
    """Embedder of questions: caches recent vectors, and waits for others no longer than a question may."""

    def changed(one: Embedder) -> Embedder:
        in_time = DeadlineEmbedder(one, settings.search, time.monotonic)
        return VectorCache(in_time, redis, settings.embedding, time.time)

    return map_embedders(embedder, changed)


class TurnRuntime:
    """Turns are carried out here: the runner, and in the background the runs that nobody reads."""

    def __init__(self, settings: Settings, base: Container) -> None:
        """Nothing runs before `open`."""
        models = TurnModels(_model_router(settings, base.switchboard, base.database, base.limits))
        handlers = _path_handlers(settings, base, models)
        identity = IdentityStore(base.database)
        self._learning = ConversationSummariser(base.memory, models, settings.memory)
        self._stop = asyncio.Event()
        self._sweeps: tuple[asyncio.Task[None], ...] = ()
        if settings.llm.base_url is None and settings.models.connections_file is None:
            _log.warning("no model is configured for all workspaces: agents without a connection of theirs say so")
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        jobs = JobLedger(base.database)
        asks, shows = base.answerer, base.governance.policies.mask
        self.school = Academy(base.database, base.agents, jobs, asks, base.audit, settings.academy, mask=shows)
        due, way_in = DueSchedules(base.database), build_turn_intake(settings, base, {})
        actions: dict[Action, ScheduledAction] = {
            Action.MESSAGE: ScheduledMessage(base.database, due, base.runs, way_in),
            Action.ACADEMY: NightlyExamination(self.school),
        }
        self.scheduler = Scheduler(due, identity, base.audit, actions, settings.schedules, owner=owner)
        self.runner = TurnRunner(
            base.runs,
            base.approvals,
            handlers,
            settings.agents,
            owner=owner,
            timing=RunTiming(time.monotonic, _utc_now),
            remember=store_cited_answers(
                answer_recorder(base.memory, self._learning, base.episodic), StoredAnswers(base.database)
            ),
            audit=base.audit,
            telemetry=base.telemetry,
            admit=RightsCheck(identity, base.audit).carry,
            say=asking(base.memory),
            classify=base.governance.classes.highest,
            count_use=count_answers(base.usage, _utc_now),
            bell=base.bell,
        )
        self._bell = base.bell
        self.carrier = InProcessCarrier(self.runner)
        self.replays = Replayer(RunQueries(base.database, base.governance.seals), handlers, base.tools.specs())

    async def open(self) -> None:
        """Begin to sweep; from now on no log line of a library shows a secret while it is open, and none of ours
        personal data."""
        guard_output()
        mask_log_lines()
        await self._bell.open()
        sweeps = (self.runner.sweep(self._stop), self.scheduler.sweep(self._stop))
        self._sweeps = tuple(asyncio.create_task(sweep) for sweep in sweeps)

    def check(self) -> None:
        """Check that the background sweeps still run; raises Unavailable where one has ended, with its reason."""
        ended = [sweep for sweep in self._sweeps if sweep.done() and not self._stop.is_set()]
        if ended:
            raise Unavailable(f"nobody takes up what waits in the background: {ended[0].exception()!r}")

    async def close(self) -> None:
        """End what runs in the background; what has not ended is given back and taken up elsewhere."""
        self._stop.set()
        await self._bell.close()
        await self._learning.close()
        if self._sweeps:
            await asyncio.wait(self._sweeps)


def build_turn_intake(settings: Settings, base: Container, carriers: Mapping[TurnPath, RunCarrier]) -> TurnIntake:
    """The way in, over whoever carries each path out."""
    records = TurnStores(
        base.database, base.runs, base.agents, base.conversations, base.memory, base.audit, base.skills, base.approvals
    )
    router = CachedRouter(read_rules(CONFIGS / "routing.yaml"), base.redis, time.monotonic)
    rules = base.governance.policies.answer_rules
    return TurnIntake(records, router, carriers, settings.agents, uuid4, rules)


def _path_handlers(settings: Settings, base: Container, models: TurnModels) -> dict[TurnPath, TurnHandler]:
    policy = approval.load_policy(settings.agents.approvals_file or CONFIGS / "approvals.yaml")
    knows, places = AgentKnowledge(base.cached.search), StoredPlaces(base.database)
    others = StoredAgents(base.database, base.agents, base.skills)
    crew = TurnServices(models, base.tools, knows, places, policy, settings.agents, others, skills=base.fence)
    catalogue = read_catalogue(CONFIGS / "metrics.yaml")
    memo = RedisMemo(base.redis, f"aos:metrics:{catalogue.fingerprint}:", TTL_SECONDS, time.monotonic)
    general = GeneralHandler(crew)
    return {
        TurnPath.ANALYTICS: AnalyticsHandler(catalogue, MetricReader(base.database, catalogue, memo), _utc_now),
        TurnPath.DOCUMENTS: DocumentsHandler(base.cached.answerer, general),
        TurnPath.GENERAL: general,
    }


def _utc_now() -> datetime:
    return datetime.now(UTC)
