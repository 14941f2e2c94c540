"""Running untrusted Python: one call, one isolated interpreter, one answer or one error by name."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from cluster.basics.errors import Invalid
from configs.sections_skills import SandboxSettings
from skills.sandbox import script_result
from skills.sandbox.layers import IsolationReport
from skills.sandbox.pool import WorkerPool
from skills.sandbox.sandbox_errors import ScriptTimeout, ScriptTooBig
from skills.sandbox.worker import ChannelOverflow


@dataclass(frozen=True, slots=True)
class SandboxOutcome:
    """Return value of `run(payload)`, its output, and the milliseconds from the call to the end of its process."""

    value: dict[str, Any]
    stdout: str
    stderr: str
    ms: float


class Sandbox:
    """Use it as an async context, or `aclose` it: no process is left then.

    It belongs to the event loop, and to the thread, of its first call.
    """

    def __init__(self, settings: SandboxSettings, pool: WorkerPool | None = None) -> None:
        """Start nothing yet. The pool is one of these settings unless given."""
        self._settings, self._pool = settings, pool or WorkerPool(settings)
        self._room = asyncio.Semaphore(settings.at_once)

    async def run(self, source: str, payload: Mapping[str, Any], *, seconds: float | None = None) -> SandboxOutcome:
        """Run the source's `def run(payload) -> dict`; nothing of it is looked at here, it is parsed behind the fence.

        `payload`: what JSON can say; `seconds`: of wall clock, less than the settings allow; more is not given.

        Raises:
            ScriptFailed: it raised, or gave back no JSON object; with the lines of its own traceback.
            ForbiddenImport: it asked for a module it may not use.
            ScriptTimeout, ScriptTooBig, ScriptMemory: it passed a limit and is gone.
            SandboxMissing: this machine cannot isolate it as the settings ask.
            Invalid: the payload is no JSON.
        """
        allowed = min(self._settings.seconds, seconds or self._settings.seconds)
        job = _encode_job(source, payload, self._settings.imports)
        async with self._room:
            worker = await self._pool.take()
            began = time.perf_counter()
            try:
                ended = await worker.run(job, allowed)
            except TimeoutError as error:
                raise ScriptTimeout(f"the script was killed after {allowed:g} s") from error
            except ChannelOverflow as error:
                raise ScriptTooBig(f"{error} is longer than allowed") from error
            took = time.perf_counter() - began
        if ended.answer is None and took >= allowed:  # the kernel's count of processor time was first
            raise ScriptTimeout(f"the script was killed after {took:.1f} s")
        out, err = (script_result.stored_text(text) for text in (ended.stdout, ended.stderr))
        return SandboxOutcome(script_result.read_value(ended), out, err, took * 1000)

    async def fill(self) -> None:
        """Have interpreters wait before the first call, which else starts its own. Raises SandboxMissing, as `run`."""
        await self._pool.fill()

    async def layers(self) -> IsolationReport:
        """Layers of isolation that hold on this machine; tried on a real process."""
        return await self._pool.layers()

    async def aclose(self) -> None:
        """End what waits and what runs; nothing can be run afterwards."""
        await self._pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def report_layers(settings: SandboxSettings) -> IsolationReport:
    """For a health check outside of an event loop: which layers hold here, and why others do not."""

    async def look() -> IsolationReport:
        async with Sandbox(settings) as sandbox:
            return await sandbox.layers()

    return asyncio.run(look())


def _encode_job(source: str, payload: Mapping[str, Any], imports: tuple[str, ...]) -> bytes:
    try:
        said = {"source": source, "payload": dict(payload), "imports": list(imports)}
        return json.dumps(said, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"the payload is not JSON: {error}") from error
