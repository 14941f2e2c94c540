"""Isolated interpreters that wait for one script each, and the choice of how they are started on this machine."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

from configs.sections_skills import SandboxSettings
from skills.sandbox.launch import LaunchMode, find_bubblewrap, launch_command, launch_modes, resource_limits
from skills.sandbox.layers import IsolationLayer, IsolationReport
from skills.sandbox.sandbox_errors import SandboxMissing
from skills.sandbox.worker import NotStarted, SandboxWorker

LET_RUN = 0.05  # seconds: most scripts are done by then, and need not share the processor with the next one's start


def local_modes(settings: SandboxSettings) -> list[LaunchMode]:
    """The ways to try on this machine, by this user. Raises SandboxMissing: there is none."""
    return launch_modes(settings, root=os.geteuid() == 0, fence=find_bubblewrap())


class WorkerPool:
    """Nothing runs before the first `take`; after `aclose` nothing does."""

    def __init__(
        self, settings: SandboxSettings, ways: Callable[[SandboxSettings], list[LaunchMode]] = local_modes
    ) -> None:
        """Keep what limits them, how many are to wait, and who tells the ways to start one."""
        self.settings, self._ways = settings, ways
        self._spare = frozenset(IsolationLayer(name) for name in settings.untrusted_without)
        self._way: LaunchMode | None = None
        self._idle: list[SandboxWorker] = []
        self._all: WeakSet[SandboxWorker] = WeakSet()
        self._filling: asyncio.Task[None] | None = None
        self._closed = False

    async def take(self) -> SandboxWorker:
        """One that is ready; the caller ends it, another takes its place. Raises SandboxMissing: none is isolated."""
        if self._closed:
            raise SandboxMissing("it has been closed", fix="")
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                self._refill_idle()
                return worker
            await worker.end()
        worker = await self._start_worker()
        self._refill_idle()
        return worker

    async def fill(self) -> None:
        """Come back when as many wait as are to. Raises SandboxMissing: none can be isolated as the settings ask."""
        if self._filling is not None:
            await self._filling
        while len(self._idle) < self.settings.warm and not self._closed:
            self._idle.append(await self._start_worker())

    async def layers(self) -> IsolationReport:
        """Isolation layers that hold on this machine, tried out, whatever the settings allow to be missing."""
        try:
            found, reasons = await self._best_layers()
        except SandboxMissing as error:
            return IsolationReport(frozenset(), str(error))
        return IsolationReport(found, reasons)

    async def aclose(self) -> None:
        """End those that wait and those that run, and come back when they are gone."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
            with suppress(asyncio.CancelledError):
                await self._filling
        await asyncio.gather(*(worker.end() for worker in list(self._all)))
        self._idle.clear()

    def _refill_idle(self) -> None:
        if (self._filling is None or self._filling.done()) and len(self._idle) < self.settings.warm:
            self._filling = asyncio.get_running_loop().create_task(self._until_full())

    async def _until_full(self) -> None:
        await asyncio.sleep(LET_RUN)
        with suppress(SandboxMissing):  # the next call meets it itself, and tells its caller
            while len(self._idle) < self.settings.warm and not self._closed:
                self._idle.append(await self._start_worker())

    async def _start_worker(self) -> SandboxWorker:
        """Start one in the way that is known to work, or find that way."""
        reasons = []
        for way in [self._way] if self._way else self._ways(self.settings):
            try:
                worker = await self._start_in(way)
            except NotStarted as error:
                reasons.append(str(error))
                continue
            missing = IsolationReport(worker.layers).missing
            if set(missing) <= self._spare:
                self._way = way
                return worker
            await worker.end()
            reasons.append(f"without {', '.join(missing)}")
        raise SandboxMissing("; ".join(reasons))

    async def _best_layers(self) -> tuple[frozenset[IsolationLayer], str]:
        best: frozenset[IsolationLayer] = frozenset()
        reasons = []
        # With every wall declared dispensable all ways are tried, down to the bare interpreter.
        lenient = self.settings.model_copy(update={"untrusted_without": tuple(IsolationLayer)})
        for way in self._ways(lenient):
            try:
                worker = await self._start_in(way, lenient)
            except NotStarted as error:
                reasons.append(str(error))
                continue
            best = max(best, worker.layers, key=len)
            await worker.end()
            if len(best) == len(IsolationLayer):
                return best, ""
        return best, "; ".join(reasons)

    async def _start_in(self, way: LaunchMode, settings: SandboxSettings | None = None) -> SandboxWorker:
        chosen = settings or self.settings
        most = {"answer": chosen.result_bytes, "output": chosen.output_bytes}
        worker = await SandboxWorker.start(launch_command(way, chosen), resource_limits(chosen, chosen.seconds), most)
        self._all.add(worker)
        if self._closed:
            await worker.end()
            raise SandboxMissing("it has been closed", fix="")
        return worker
