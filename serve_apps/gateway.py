"""The gateway deployment: the HTTP API in a replica."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from ray import serve

from cluster import connect, handles, logs
from cluster.state.settings.settings_rows import load_with_rows
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.watch.answering import answer_from_here

if TYPE_CHECKING:
    from pipelines.worker import JobWorker
    from serve_apps.agents.turn_ports import TurnOrchestrator


@serve.deployment
@serve.ingress()
class Gateway:
    """Builds the application in the replica, where its connections belong; Serve runs its start and end."""

    _worker: "WorkerInside | None" = None

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Called by Serve once the replica is there."""
        # Serve finds the deployment in another process, which would take seconds to import all of it for nothing.
        from pipelines.documents.privacy.log_lines import mask_log_lines
        from serve_apps.http.app import create_app
        from serve_apps.operations import OurCluster
        from serve_apps.wiring.http import build_app_dependencies

        mask_log_lines()
        snapshots = logs.follow_log_level(SettingsSnapshots(load_with_rows()))
        settings = snapshots.view()
        models = handles.build_embedder(settings), handles.build_reranker(settings)
        parts = build_app_dependencies(settings, *models, remote_orchestrator, snapshots, OurCluster(snapshots))
        if settings.worker.placement == "inproc":
            self._worker = WorkerInside()
            openers, closers = (*parts.openers, self._worker.open), (self._worker.close, *parts.closers)
            parts = replace(parts, openers=openers, closers=closers)
        app = create_app(parts)
        answer_from_here(connect.liveness_folder(settings.state_dir), "gateway")
        return app

    async def check_health(self) -> None:
        """The event loop still turns; fails when the job loops have ended that run here."""
        if self._worker is not None:
            await self._worker.check_health()


class WorkerInside:
    """A worker's job loops on the gateway's event loop, from the application's start to its end."""

    def __init__(self) -> None:
        self._worker: JobWorker | None = None

    async def open(self) -> None:
        """Claim jobs from now on."""
        from pipelines.worker import JobWorker

        self._worker = JobWorker()

    async def close(self) -> None:
        """See `JobWorker.close`."""
        if self._worker is not None:
            await self._worker.close()

    async def check_health(self) -> None:
        """See `JobWorker.check_health`."""
        if self._worker is not None:
            await self._worker.check_health()


def remote_orchestrator() -> "TurnOrchestrator":
    """The orchestrator, as a deployment of its own."""
    from serve_apps.agents.streams.event_wire import RemoteOrchestrator

    return RemoteOrchestrator(handles.RemoteDeployment(*handles.ORCHESTRATOR))


def build(args: dict[str, Any]) -> serve.Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return Gateway.options(**args).bind()  # type: ignore[attr-defined]
