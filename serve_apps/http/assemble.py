"""Puts the API's parts together from settings; what knows Ray comes from outside."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from argon2 import PasswordHasher

from cluster.models.ports import Embedder, Reranker
from cluster.state.accounts import Accounts
from cluster.state.identity import Identity
from cluster.state.job_desk import JobDesk
from cluster.state.jobs import Jobs
from cluster.state.run_desk import RunDesk
from cluster.state.schedules import Schedules
from configs.sections import Settings
from pipelines.documents.blobs import FolderBlobs
from pipelines.documents.library import Library
from pipelines.documents.reader import Reader
from serve_apps.agents.assemble import Workshop, desk, ground
from serve_apps.agents.ports import Orchestrator, Path
from serve_apps.agents.traced import TracedOrchestrator
from serve_apps.http.parts import Parts
from serve_apps.http.passwords import Passwords
from serve_apps.http.pictures import OneByOne
from serve_apps.http.replays import FewReplays
from serve_apps.http.throttle import ProcessThrottle, SharedThrottle
from serve_apps.http.tokens import Tokens, signing_secret


def assemble(
    settings: Settings, embedder: Embedder, reranker: Reranker | None, elsewhere: Callable[[], Orchestrator]
) -> Parts:
    """Everything the API needs. The database is opened by the application's start.

    Args:
        settings: the whole, as this is where it is divided.
        embedder: makes vectors of questions.
        reranker: None where there are no weights for one.
        elsewhere: the orchestrator, where agents are not placed in this process.

    Raises:
        Unavailable: no Postgres is configured and none runs.
        InvalidSettings: the signing secret is too short, or a file of the agents is wrong.
    """
    base = ground(settings, embedder, reranker)
    workshop = Workshop(settings, base)
    inproc = settings.agents.placement == "inproc"
    orchestrator = desk(settings, base, dict.fromkeys(Path, workshop.carrier)) if inproc else elsewhere()
    pictures = OneByOne(Reader(settings.read, settings.ocr))
    return Parts(
        database=base.database,
        jobs=Jobs(base.database),
        desk=JobDesk(base.database),
        audit=base.audit,
        identity=Identity(base.database),
        accounts=Accounts(base.database),
        library=Library(base.database),
        links=base.links,
        blobs=FolderBlobs(settings.state_dir / "blobs"),
        search=base.search,
        answerer=base.answerer,
        pictures=pictures,
        embedder=embedder,
        connections=base.connections,
        credentials=base.keyring,
        switchboard=base.switchboard,
        orchestrator=TracedOrchestrator(orchestrator, base.telemetry),
        runs=RunDesk(base.database),
        conversations=base.conversations,
        memory=base.memory,
        approvals=base.approvals,
        schedules=Schedules(base.database),
        school=workshop.school,
        toolbox=base.tools,
        skills=base.skills,
        ground=base.fence.ground,
        replays=FewReplays(workshop.replays),
        tokens=Tokens(signing_secret(settings.auth, settings.state_dir), settings.auth),
        passwords=Passwords(PasswordHasher()),
        throttle=SharedThrottle(base.redis, ProcessThrottle(time.monotonic)),
        http=settings.http,
        read=settings.read,
        chunk=settings.chunk,
        clock=lambda: datetime.now(UTC),
        wake=workshop.scheduler.wake,
        telemetry=base.telemetry,
        openers=(workshop.open,) if inproc else (),
        closers=(workshop.close, base.close, pictures.close),
    )
