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
from cluster.models.connections.configured import declared
from cluster.models.connections.connection_store import Connections
from cluster.models.connections.egress import ModelClients, egress_of, model_clients
from cluster.models.connections.model_resolver import Switchboard
from cluster.models.embedding.deadline import DeadlineEmbedder
from cluster.models.embedding.migration import each
from cluster.models.embedding.vectors_cache import VectorCache
from cluster.models.ports import Embedder, Reranker
from cluster.models.routing.router import Router
from cluster.models.routing.spend import Spend
from cluster.state.approvals import Approvals
from cluster.state.audit import Audit
from cluster.state.conversations import Conversations
from cluster.state.db.embedded import resolve
from cluster.state.db.postgres import Database
from cluster.state.episodes import Episodes
from cluster.state.identity.identity import Identity
from cluster.state.process_services import Upkeep
from cluster.state.settings.snapshots import Snapshots
from cluster.state.vault import vault_of
from cluster.state.work.jobs import Jobs
from cluster.state.work.run_queries import RunDesk
from cluster.state.work.runs import Runs
from configs.sections import Settings
from pipelines.documents.store.agent_links import Links
from serve_apps.agents import approval
from serve_apps.agents.academy.school import School
from serve_apps.agents.analytics.figures import TTL_SECONDS, Measures
from serve_apps.agents.analytics.handler import Analytics
from serve_apps.agents.analytics.metric_catalogue import read_catalogue
from serve_apps.agents.durable.in_process import Here, TurnModels
from serve_apps.agents.durable.replay import Replayer
from serve_apps.agents.durable.run_loop import Runner, Timing
from serve_apps.agents.durable.traced import Traced
from serve_apps.agents.intake.assistant import ASSISTANT, standing
from serve_apps.agents.intake.path_router import read_rules
from serve_apps.agents.intake.rights import StillAllowed
from serve_apps.agents.intake.route_cache import CachedRouter
from serve_apps.agents.intake.turn_intake import Carrier, Desk, Records, asking, remembering
from serve_apps.agents.memory.episodic import EpisodicMemory
from serve_apps.agents.memory.redis_memo import Memo
from serve_apps.agents.memory.remember import Memory, memory_of
from serve_apps.agents.memory.summary import Learning
from serve_apps.agents.plan.general import General
from serve_apps.agents.turn.cited_answers import keeping
from serve_apps.agents.turn.conversation import Crew
from serve_apps.agents.turn.delegation import StoredAgents
from serve_apps.agents.turn.documents_path import Documents
from serve_apps.agents.turn.knowledge import Knowledge
from serve_apps.agents.turn.quotes import StoredPlaces
from serve_apps.agents.turn_ports import Handler, Path
from serve_apps.retrieval.answers.answerer import Answerer
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.search.pipeline import Search
from serve_apps.wiring.cache import Caching, Helpers, Moments, caching
from serve_apps.wiring.schedules import scheduler
from serve_apps.wiring.search import search_of
from serve_apps.wiring.search_models import RoutedWriter
from serve_apps.wiring.skills import base_tools, fence
from skills.framework.catalogue import Catalog
from skills.framework.credential_store import Keyring
from skills.framework.open_credential import Vaulted
from skills.framework.redaction import guard_output
from skills.framework.skill_guard import Fence
from skills.framework.skill_store import Skills
from skills.sandbox.fence import Sandbox

_log = logging.getLogger("aos.agents")

CONFIGS = FilePath(str(files("configs")))
REDIS_SECONDS = 1  # what may be lost is not waited for longer


@dataclass(frozen=True, slots=True)
class Ground:
    """Container of a process: what it has once, whichever components run in it."""

    database: Database
    redis: Redis
    audit: Audit
    search: Search
    answerer: Answerer
    cached: Caching
    links: Links
    conversations: Conversations
    memory: Memory
    episodic: EpisodicMemory
    connections: Connections
    keyring: Keyring
    switchboard: Switchboard
    runs: Runs
    approvals: Approvals
    skills: Skills
    sandbox: Sandbox
    fence: Fence
    tools: Catalog
    models: ModelClients
    telemetry: telemetry.Telemetry
    upkeep: Upkeep

    async def close(self) -> None:
        """Give everything back but the database."""
        await self.episodic.close()
        await self.upkeep.close()
        await self.fence.ground.remotes.aclose()
        await self.sandbox.aclose()
        await self.models.aclose()
        await self.redis.aclose()
        await self.telemetry.aclose()


def ground(
    settings: Settings, embedder: Embedder, reranker: Reranker | None, snapshots: Snapshots | None = None
) -> Ground:
    """The ground of a process; the database is not open yet. `snapshots`: where `settings` is a view of them.

    Raises:
        Unavailable: no Postgres is configured and none runs.
        InvalidSettings: the vault's key or the connections file is wrong.
    """
    endpoints = resolve(settings)
    size = settings.postgres.pool_size + settings.postgres.max_overflow
    database = Database(endpoints.postgres, size=size, timeout=settings.postgres.pool_timeout)
    redis = Redis.from_url(
        endpoints.redis, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS, retry=Retry(NoBackoff(), 1)
    )
    models = model_clients(egress_of(settings.models.allow, settings.http.host))
    audit, conversations = Audit(database), Conversations(database)
    vault = vault_of(settings.models.vault_key, settings.state_dir)
    of_all = declared(settings.models.connections_file, settings.llm)
    connections = Connections(database, vault, of_all)
    switchboard = Switchboard(connections, models, settings.models, asyncio.sleep)
    links = Links(database, standing(audit))
    embedder = _of_questions(embedder, redis, settings)
    writer = RoutedWriter(_router(settings, switchboard, database), switchboard, links)
    episodic = EpisodicMemory(database, Episodes(), embedder, settings.memory)
    search = search_of(settings, database, embedder, reranker, writer, models.configured)
    sandbox = Sandbox(settings.sandbox)
    upkeep = Upkeep.of(database, vault, redis, snapshots or Snapshots(settings))
    answerer, helpers = Answerer(search, database, embedder, writer), Helpers(ASSISTANT.name, of_all)
    moments = Moments(time.time, time.monotonic, lambda: uuid4().hex)
    cached = caching(settings, database, redis, embedder, search, answerer, moments, helpers)
    around = fence(settings, database, audit, cached.search, Vaulted(database, audit, vault, _now), sandbox)
    return Ground(
        database=database,
        redis=redis,
        audit=audit,
        search=search,
        answerer=answerer,
        cached=cached,
        links=links,
        conversations=conversations,
        memory=memory_of(settings.memory, database, redis, audit, episodic, time.time),
        episodic=episodic,
        connections=connections,
        keyring=Keyring(database, vault),
        switchboard=switchboard,
        runs=Runs(database),
        approvals=Approvals(database, audit),
        skills=Skills(database),
        sandbox=sandbox,
        fence=around,
        tools=base_tools(around),
        models=models,
        telemetry=telemetry.connect(settings.telemetry, time.monotonic, {}, counting=upkeep.figures.meter),
        upkeep=upkeep,
    )


def _router(settings: Settings, switchboard: Switchboard, database: Database) -> Router:
    return Router(switchboard, Spend(database, _now), most=settings.models.max_fallbacks)


def _of_questions(embedder: Embedder, redis: Redis, settings: Settings) -> Embedder:
    """Embedder of questions: caches recent vectors, and waits for others no longer than a question may."""

    def changed(one: Embedder) -> Embedder:
        in_time = DeadlineEmbedder(one, settings.search, time.monotonic)
        return VectorCache(in_time, redis, settings.embedding, time.time)

    return each(embedder, changed)


class Workshop:
    """Turns are carried out here: the runner, and in the background the runs that nobody reads."""

    def __init__(self, settings: Settings, base: Ground) -> None:
        """Nothing runs before `open`."""
        models = TurnModels(_router(settings, base.switchboard, base.database))
        handlers = _handlers(settings, base, models)
        identity = Identity(base.database)
        self._learning = Learning(base.memory, models, settings.memory)
        self._stop = asyncio.Event()
        self._sweeps: tuple[asyncio.Task[None], ...] = ()
        if settings.llm.base_url is None and settings.models.connections_file is None:
            _log.warning("no model is configured for all workspaces: agents without a connection of theirs say so")
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        jobs = Jobs(base.database)
        self.school = School(base.database, base.links, jobs, base.answerer, base.audit, settings.academy)
        way_in = desk(settings, base, {})
        self.scheduler = scheduler(
            settings.schedules, base.database, base.audit, identity, base.runs, way_in, self.school, owner
        )
        self.runner = Runner(
            base.runs,
            base.approvals,
            {
                path: Traced(StillAllowed(handler, identity, base.audit), base.telemetry)
                for path, handler in handlers.items()
            },
            settings.agents,
            owner=owner,
            timing=Timing(time.monotonic, _now),
            remember=keeping(remembering(base.memory, self._learning, base.episodic), StoredAnswers(base.database)),
            audit=base.audit,
            say=asking(base.memory),
        )
        self.carrier = Here(self.runner)
        self.replays = Replayer(RunDesk(base.database), handlers, base.tools.specs())

    async def open(self) -> None:
        """Begin to sweep; from now on no log line of a library shows a secret while it is open."""
        guard_output()
        sweeps = (self.runner.sweep(self._stop), self.scheduler.sweep(self._stop))
        self._sweeps = tuple(asyncio.create_task(sweep) for sweep in sweeps)

    def check(self) -> None:
        """Check that the background sweeps still run.

        Raises:
            Unavailable: it has ended, with its reason.
        """
        ended = [sweep for sweep in self._sweeps if sweep.done() and not self._stop.is_set()]
        if ended:
            raise Unavailable(f"nobody takes up what waits in the background: {ended[0].exception()!r}")

    async def close(self) -> None:
        """End what runs in the background; what has not ended is given back and taken up elsewhere."""
        self._stop.set()
        await self._learning.close()
        if self._sweeps:
            await asyncio.wait(self._sweeps)


def desk(settings: Settings, base: Ground, carriers: Mapping[Path, Carrier]) -> Desk:
    """The way in, over whoever carries each path out."""
    records = Records(
        base.database, base.runs, base.links, base.conversations, base.memory, base.audit, base.skills, base.approvals
    )
    router = CachedRouter(read_rules(CONFIGS / "routing.yaml"), base.redis, time.monotonic)
    return Desk(records, router, carriers, settings.agents, uuid4)


def _handlers(settings: Settings, base: Ground, models: TurnModels) -> dict[Path, Handler]:
    policy = approval.load(settings.agents.approvals_file or CONFIGS / "approvals.yaml")
    crew = Crew(
        models,
        base.tools,
        Knowledge(base.cached.search),
        StoredPlaces(base.database),
        policy,
        settings.agents,
        StoredAgents(base.database, base.links, base.skills),
        skills=base.fence,
    )
    catalogue = read_catalogue(CONFIGS / "metrics.yaml")
    memo = Memo(base.redis, f"aos:metrics:{catalogue.fingerprint}:", TTL_SECONDS, time.monotonic)
    general = General(crew)
    return {
        Path.ANALYTICS: Analytics(catalogue, Measures(base.database, catalogue, memo), _now),
        Path.DOCUMENTS: Documents(base.cached.answerer, general),
        Path.GENERAL: general,
    }


def _now() -> datetime:
    return datetime.now(UTC)
