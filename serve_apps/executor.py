"""The executor deployment: carries turns out in a replica, those that nobody reads among them."""

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
from serve_apps.agents.intake import turn as turns
from serve_apps.agents.streams.event_wire import Batch, batch_events
from serve_apps.wiring.agents import TurnRuntime, build_container


@serve.deployment
class Executor:
    """Holds nothing that a crash would lose: a run whose replica dies is taken up where its journal ends."""

    def __init__(self) -> None:
        """Connections are opened on the replica's event loop."""
        mask_log_lines()
        snapshots = logs.follow_log_level(SettingsSnapshots(load_with_rows()))
        settings = snapshots.view()
        models = handles.build_embedder(settings), handles.build_reranker(settings)
        self._base = build_container(settings, *models, snapshots)
        self._workshop = TurnRuntime(settings, self._base)
        answer_from_here(connect.liveness_folder(settings.state_dir), "executor")
        self._opened = asyncio.get_running_loop().create_task(self._open_runtime())

    async def _open_runtime(self) -> None:
        await self._base.database.open()
        await self._base.upkeep.open()
        await self._workshop.open()

    async def carry(self, frozen: dict[str, Any]) -> AsyncIterator[Batch]:
        """Claim a turn's run and tell its events in batches."""
        await asyncio.shield(self._opened)
        async for batch in batch_events(self._workshop.carrier.carry(turns.load_turn(frozen))):
            yield batch

    async def check_health(self) -> None:
        """Fails when the background has ended, whatever it died of; never asks Postgres."""
        if self._opened.done():
            self._opened.result()
            self._workshop.check()

    async def __del__(self) -> None:
        """Serve awaits this before a replica goes: what runs in the background is given back."""
        await self._workshop.close()
        await self._base.close()
        await self._base.database.close()


def build(args: dict[str, Any]) -> Application:
    """The application; `args` are options of the deployment, replicas and resources come from serve.yaml."""
    return Executor.options(**args).bind()  # type: ignore[attr-defined]
