"""One isolated interpreter: started, waiting, given one script, and ended with everything below it."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import cast

from cluster.basics.cleanup import async_cleanup_on_error
from skills.sandbox.layers import IsolationLayer, descendant_pids, held_layers

START_SECONDS = 30.0  # on a loaded machine namespaces take their time; who waits this long has another trouble
LAST_SECONDS = 1.0
READY = b"ready\n"


class NotStarted(Exception):
    """The interpreter ended or stayed silent before it was ready; the detail is what it said."""


class ChannelOverflow(Exception):
    """More came out than allowed; the detail names the channel."""


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """Raw output of a script, all of it untrusted; `answer` is None where it gave none before it died of `code`."""

    answer: bytes | None
    stdout: bytes
    stderr: bytes
    code: int


class OutputChannel(asyncio.Protocol):
    """Keeps what comes, up to a limit."""

    def __init__(self, most: int, moved: Callable[[], None]) -> None:
        """Call `moved` at every change."""
        self.held, self.most, self.moved = bytearray(), most, moved
        self.full = self.closed = False
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is there."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what fits; where something does not, the script is lost."""
        room = self.most - len(self.held)
        self.held += data[:room]
        self.full = self.full or len(data) > room
        self.moved()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody holds the other end any more."""
        self.closed = True
        self.moved()

    @property
    def over(self) -> bool:
        """Nothing more is taken from it."""
        return self.closed or self.full or self.transport is None

    def close(self) -> None:
        """Let go of our end."""
        if self.transport is not None:
            self.transport.close()


class SandboxWorker:
    """Made by `start`; good for one `run`. Whoever has one calls `end`, whatever happened."""

    def __init__(self, process: subprocess.Popen[bytes], most: Mapping[str, int]) -> None:
        """Take over a process that has been started; `most` limits bytes by channel."""
        self.layers: frozenset[IsolationLayer] = frozenset()
        self._process = process
        self._moved = asyncio.Event()
        self._talk = OutputChannel(most["answer"], self._moved.set)
        self._out, self._err = (OutputChannel(most["output"], self._moved.set) for _ in range(2))
        self._exited = asyncio.Event()
        self._first: int | None = None
        # Reaped here alone, so its number cannot come to mean another process while somebody signals it.
        self._descriptor = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(self._descriptor, self._reap_process)

    @classmethod
    async def start(cls, command: list[str], limits: Mapping[str, int], most: Mapping[str, int]) -> "SandboxWorker":
        """Start and wait until it is locked in and ready; then ask the kernel which layers it is behind.

        `limits`: what its resource limits have to be, at most; `most`: bytes that may come out as `answer`, and as
        `output` by each of its streams.

        Raises NotStarted: it did not get that far.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = _spawn_process(command, theirs)
        except OSError as error:
            ours.close()
            raise NotStarted(str(error)) from error
        try:
            worker = cls(process, most)
        except OSError as error:  # a kernel without handles on processes
            process.kill()
            process.wait()
            ours.close()
            raise NotStarted(str(error)) from error
        async with async_cleanup_on_error(partial(worker._abandon, ours)):
            await worker._connect_channels(ours)
            await worker._wait_until(lambda: worker._is_ready or worker._talk.closed, START_SECONDS)
            worker.layers = held_layers(worker._script_pid(), limits)  # the last process of the line is the script's
        if not worker._is_ready:
            await worker.end()
            raise NotStarted(worker._err.held.decode(errors="replace").strip()[-500:] or "it never said ready")
        del worker._talk.held[: len(READY)]
        return worker

    @property
    def alive(self) -> bool:
        """True while it can still be given a script."""
        return not (self._exited.is_set() or self._talk.closed)

    async def run(self, job: bytes, seconds: float) -> WorkerExit:
        """Give it its script, wait, end it and all below. Raises TimeoutError; ChannelOverflow: too much came out."""
        transport = cast(asyncio.Transport, self._talk.transport)
        transport.write(job)
        transport.write_eof()
        try:
            done = await self._wait_until(lambda: self._has_answer or self._talk.closed or self._full_channel, seconds)
        finally:
            await self.end()
        if self._full_channel:
            raise ChannelOverflow(self._full_channel)
        if not done:
            raise TimeoutError
        answer = bytes(self._talk.held) if self._has_answer else None
        return WorkerExit(answer, bytes(self._out.held), bytes(self._err.held), self._process.returncode)

    async def _abandon(self, ours: socket.socket) -> None:
        """End it while it starts: what was not connected yet nobody else closes."""
        await self.end()
        ours.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    async def end(self) -> None:
        """Kill what is left of it, and come back when the kernel has closed the last pipe and given up the process."""
        if self._first is None and not self._exited.is_set():
            self._script_pid()
        if self._first is not None and not self._exited.is_set():
            # With the first process of a process namespace the kernel kills all others in it. The fence outside then
            # ends by itself and takes it off the list; killed at once it would leave that to the machine's init.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            await self._wait_until(self._exited.is_set, LAST_SECONDS)
        if not self._exited.is_set():
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._exited.wait()
        # Ended while it started, it may have left a process that was being made just then, and that nobody is the
        # parent of: that one reads, finds the end, and goes.
        self._talk.close()
        channels = (self._talk, self._out, self._err)
        await self._wait_until(lambda: all(channel.over for channel in channels), START_SECONDS)
        for channel in channels:
            channel.close()
        if self._first is not None:
            os.close(self._first)
            self._first = None

    def _script_pid(self) -> int:
        """Take hold of the first process inside, where there is a fence; tell the number of the last."""
        below = descendant_pids(self._process.pid)
        if below:
            with suppress(ProcessLookupError):
                self._first = os.pidfd_open(below[0])
        return below[-1] if below else self._process.pid

    async def _connect_channels(self, talk: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self._talk, sock=talk)
        await loop.connect_read_pipe(lambda: self._out, self._process.stdout)
        await loop.connect_read_pipe(lambda: self._err, self._process.stderr)

    @property
    def _is_ready(self) -> bool:
        return self._talk.held.startswith(READY)

    @property
    def _has_answer(self) -> bool:
        return self._talk.held.endswith(b"\n")

    @property
    def _full_channel(self) -> str:
        names = {"its answer": self._talk, "its output": self._out, "its error output": self._err}
        return next((name for name, channel in names.items() if channel.full), "")

    async def _wait_until(self, holds: Callable[[], object], seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    self._moved.clear()
                    await self._moved.wait()
        return bool(holds())

    def _reap_process(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._process.wait()
        self._exited.set()
        self._moved.set()


def _spawn_process(command: list[str], talk: socket.socket) -> subprocess.Popen[bytes]:
    # A session of its own, so that the whole group can be signalled. The thread that starts it must live on: the fence
    # dies with the thread that made it, so this is not given to a pool of threads.
    pipe, env = subprocess.PIPE, dict[str, str]()
    return subprocess.Popen(
        command, stdin=talk.fileno(), stdout=pipe, stderr=pipe, env=env, cwd="/", start_new_session=True
    )
