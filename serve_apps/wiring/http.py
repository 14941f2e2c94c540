"""Puts the API's parts together from settings; what knows Ray comes from outside."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from argon2 import PasswordHasher

from cluster.basics.disk import Room
from cluster.models.ports import Embedder, Reranker
from cluster.state.db.postgres import Database
from cluster.state.feedback import Feedback
from cluster.state.identity.accounts import Accounts
from cluster.state.identity.identity import Identity
from cluster.state.settings.restart_requests import Restarts
from cluster.state.settings.snapshots import Snapshots
from cluster.state.system import System
from cluster.state.work.job_queries import JobDesk
from cluster.state.work.jobs import Jobs
from cluster.state.work.run_queries import RunDesk
from cluster.state.work.schedules import Schedules
from configs.sections import Settings
from pipelines.documents.extract.reader import Reader
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import Lexicon
from pipelines.documents.index.switch import Switchover
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.library import Library
from serve_apps.agents import approval
from serve_apps.agents.durable.traced import TracedOrchestrator
from serve_apps.agents.turn_ports import Orchestrator, Path
from serve_apps.http.admission import Admission
from serve_apps.http.auth.passwords import Passwords
from serve_apps.http.auth.throttle import ProcessThrottle, SharedThrottle
from serve_apps.http.auth.tokens import Tokens, signing_secret
from serve_apps.http.deps import Parts
from serve_apps.http.routes.documents.pictures import OneByOne
from serve_apps.http.routes.operations.erasure import Erasure
from serve_apps.http.routes.operations.operating import Cluster, NoCluster, Operating
from serve_apps.http.streams.replay_slots import FewReplays
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.golden.golden_runs import GoldenRuns
from serve_apps.retrieval.golden.measure import Examiner
from serve_apps.retrieval.golden.sets import GoldenSets
from serve_apps.retrieval.golden.snapshot import Lately
from serve_apps.wiring.agents import CONFIGS, Ground, Workshop, desk, ground


def assemble(
    settings: Settings,
    embedder: Embedder,
    reranker: Reranker | None,
    elsewhere: Callable[[], Orchestrator],
    snapshots: Snapshots | None = None,
    cluster: Cluster | None = None,
) -> Parts:
    """Everything the API needs. The database is opened by the application's start.

    Args:
        settings: the whole, as this is where it is divided.
        embedder: makes vectors of questions.
        reranker: None where there are no weights for one.
        elsewhere: the orchestrator, where agents are not placed in this process.
        snapshots: where `settings` is a view of them.
        cluster: what this process runs in; None where it runs by itself.

    Raises:
        Unavailable: no Postgres is configured and none runs.
        InvalidSettings: the signing secret is too short, or a file of the agents is wrong.
    """
    base = ground(settings, embedder, reranker, snapshots)
    workshop = Workshop(settings, base)
    inproc = settings.agents.placement == "inproc"
    orchestrator = desk(settings, base, dict.fromkeys(Path, workshop.carrier)) if inproc else elsewhere()
    pictures = OneByOne(Reader(settings.read, settings.ocr))
    golden = GoldenSets(base.database)
    examiner = Examiner(base.search, base.answerer, base.database)
    golden_runs = GoldenRuns(base.database, golden, examiner, Lately(base.upkeep.snapshots.effective))
    blobs = uploads_of(settings)
    return Parts(
        **_stored(base.database),
        desk=JobDesk(base.database, settings.read.tenant_pages),
        **_shared(base),
        blobs=blobs,
        erasure=Erasure(base.database, blobs, base.redis),
        golden=golden,
        golden_runs=golden_runs,
        pictures=pictures,
        embedder=embedder,
        orchestrator=TracedOrchestrator(orchestrator, base.telemetry),
        school=workshop.school,
        replays=FewReplays(workshop.replays),
        policy=approval.load(settings.agents.approvals_file or CONFIGS / "approvals.yaml"),
        tokens=Tokens(signing_secret(settings.auth, settings.state_dir), settings.auth),
        passwords=Passwords(PasswordHasher()),
        throttle=SharedThrottle(base.redis, ProcessThrottle(time.monotonic)),
        admission=Admission(settings.postgres.pool_size, lambda: settings.http.search_seconds, time.monotonic),
        http=settings.http,
        read=settings.read,
        ocr=settings.ocr,
        chunk=settings.chunk,
        agents=settings.agents,
        clock=lambda: datetime.now(UTC),
        wake=workshop.scheduler.wake,
        operating=Operating(base.upkeep, Restarts(base.database), System(base.database), cluster or NoCluster()),
        openers=(base.upkeep.open, workshop.open) if inproc else (base.upkeep.open,),
        closers=(golden_runs.close, workshop.close, base.close, pictures.close),
    )


def uploads_of(settings: Settings) -> FolderBlobs:
    """Where uploads are kept, as long as there is room."""
    place = settings.state_dir / "blobs"
    return FolderBlobs(place, Room(place, settings.disk.free_bytes, settings.disk.free_percent))


def _stored(database: Database) -> dict[str, Any]:
    """Parts that are statements over the database, and nothing else."""
    return {
        "jobs": Jobs(database),
        "identity": Identity(database),
        "accounts": Accounts(database),
        "library": Library(database),
        "graph": KnowledgeGraph(database, Lexicon.shipped()),
        "answers": StoredAnswers(database),
        "switchover": Switchover(database),
        "runs": RunDesk(database),
        "feedback": Feedback(database),
        "schedules": Schedules(database),
    }


def _shared(base: Ground) -> dict[str, Any]:
    """Parts that the agents of this process use, too."""
    return {
        "database": base.database,
        "audit": base.audit,
        "links": base.links,
        "connections": base.connections,
        "credentials": base.keyring,
        "switchboard": base.switchboard,
        "conversations": base.conversations,
        "memory": base.memory,
        "approvals": base.approvals,
        "toolbox": base.tools,
        "skills": base.skills,
        "ground": base.fence.ground,
        "telemetry": base.telemetry,
        "search": base.cached.search,
        "answerer": base.cached.answerer,
        "cache": base.cached.cache,
    }
