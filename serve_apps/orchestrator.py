"""The orchestrator deployment: the single way in for messages; what needs a model goes on to an executor."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ray import serve
from ray.serve import Application

from cluster import connect, handles, logs
from cluster.state.settings.settings_rows import load_with_rows
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.watch.answering import answer_from_here
from pipelines.documents.privacy.log_lines import mask_log_lines
from serve_apps.agents.intake.turn import load_scope
from serve_apps.agents.streams.event_wire import Batch, RemoteCarrier, batch_events, load_incoming
from serve_apps.agents.turn_ports import RunId, TurnPath
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake


@serve.deployment
class Orchestrator:
    """Routes by rule; answers from documents and metrics itself. Scopes come from the gateway, which checked them."""

    def __init__(self) -> None:
        """Connections are opened on the replica's event loop."""
        mask_log_lines()
        snapshots = logs.follow_log_level(SettingsSnapshots(load_with_rows()))
        settings = snapshots.view()
        models = handles.build_embedder(settings), handles.build_reranker(settings)
        self._base = build_container(settings, *models, snapshots)
        here = TurnRuntime(settings, self._base).carrier
        elsewhere = RemoteCarrier(handles.RemoteDeployment(*handles.EXECUTOR))
        self._intake = build_turn_intake(
            settings, self._base, {TurnPath.ANALYTICS: here, TurnPath.DOCUMENTS: here, TurnPath.GENERAL: elsewhere}
        )
        self._opened = asyncio.get_running_loop().create_task(self._open_stores())
        answer_from_here(connect.liveness_folder(settings.state_dir), "orchestrator")

    async def _open_stores(self) -> None:
        await self._base.database.open()
        await self._base.upkeep.open()

    async def process(self, scope: dict[str, Any], incoming: dict[str, Any]) -> AsyncIterator[Batch]:
        """As `TurnOrchestrator`, in batches."""
        await asyncio.shield(self._opened)
        async for batch in batch_events(self._intake.process(load_scope(scope), load_incoming(incoming))):
            yield batch

    async def resume(self, scope: dict[str, Any], run: str) -> AsyncIterator[Batch]:
        """As `TurnOrchestrator`, in batches."""
        await asyncio.shield(self._opened)
        async for batch in batch_events(self._intake.resume(load_scope(scope), RunId(run))):
            yield batch

    async def cancel(self, scope: dict[str, Any], run: str) -> None:
        """As `TurnOrchestrator`."""
        await asyncio.shield(self._opened)
        await self._intake.cancel(load_scope(scope), RunId(run))

    async def check_health(self) -> None:
        """Fails when the start did; never asks Postgres."""
        if self._opened.done():
            self._opened.result()

    async def __del__(self) -> None:
        """Serve awaits this before a replica goes."""
        await self._base.close()
        await self._base.database.close()


def build(args: dict[str, Any]) -> Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return Orchestrator.options(**args).bind()  # type: ignore[attr-defined]
