"""A child process that opens hostile files for us: bounded in time, CPU and memory, and replaceable."""

import contextlib
import fcntl
import gc
import logging
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from typing import Any, Self

from cluster.basics.disk import full_at, means_full
from cluster.basics.errors import DiskFull
from pipelines.documents.cpu_pulses import PacedSlot, cpu_seconds_of, pulsed
from pipelines.documents.document import Unreadable

MEMORY_BYTES = 4 * 2**30
"""Data a child may hold (RLIMIT_DATA) where its owner says nothing else. EasyOCR with torch needs about 1.5 GiB, a
large picture as much again.

The address space itself is not the measure: torch alone maps 4.6 GiB of libraries that cost no memory."""

log = logging.getLogger("aos.reader")

_QUICK = 0.05  # seconds; what it costs to answer within them is not looked at, which would cost half as much
LOOK_SECONDS = 0.25  # between two looks at what a call has cost
STALL_SECONDS = 120.0  # without CPU: even the idle class has some of a busy machine's in that time
_SIGN_OF_LIFE = 0.05  # CPU seconds; less is what waiting costs
# How a program ends that got no memory and does not check, or checks and gives up.
_OUT_OF_MEMORY = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGBUS)
_NEAR = 0.4  # of what it may hold: pdfium aborts when it cannot *double* a buffer
_START_SECONDS = 180.0  # of which an idle child on a busy machine waits for most
_GARBAGE_AFTER = 20_000  # new objects; Python looks through what is new after 700
_F_SETSIG = 10  # <fcntl.h>; the fcntl module does not name it
_BOOT = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve({calls}, {lifeline})"


class CallTimeout(Exception):
    """The call overran its deadline by the clock; the child was killed."""


class TookTooMuch(CallTimeout):
    """The call used up the CPU that it may have: it would again."""


class ChildDied(Exception):
    """The child ended in the middle of a call; `cause` is its own error, empty where a signal took it.

    `code` is how it ended (negative = signal); `starved` is true where it ended by itself for want of memory; `fresh`
    where it had done nothing before this call.
    """

    def __init__(self, cause: str, code: int, *, starved: bool = False, fresh: bool = True) -> None:
        super().__init__(cause or f"ended with {code}")
        self.cause, self.code, self.starved, self.fresh = cause, code, starved, fresh


class GuardedChild:
    """Calls methods of an object that lives in a child process.

    The child is started at the first call and kept. It leads its own process group, which is killed as a whole, so
    that programs it has started (tesseract) go with it; the kernel does the same when this process ends in any way.
    Threads that call at once wait for each other: an answer belongs to the call that was sent before it.
    """

    def __init__(
        self,
        make: Callable[[], object],
        *,
        memory_bytes: int = MEMORY_BYTES,
        name: str = "reader",
        before: tuple[str, ...] = (),
        helpers: bool = False,
        share: float = 1.0,
        pace: PacedSlot | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            make: makes the object; it is pickled and runs in the child.
            memory_bytes: data that the child may hold; `more_memory` lets it have more for a while.
            name: the last word of its command line, for whoever looks at the processes.
            before: words before the command, such as `env NAME=VALUE`.
            helpers: what the child has started and not waited for counts as its CPU, too.
            share: of a core, that the child and what it starts have at most: they run in short pulses.
            pace: the child's slot among several; with it cost and tenant decide what they have beside each other.
        """
        self._helpers, self._share, self._pace = helpers, share, pace
        self._make = pickle.dumps(make)
        self._memory = memory_bytes
        self._before, self._name = before, name
        self._child: _Child | None = None
        self._answered = 0
        self._last_call = 0.0
        self._calls = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return self._child.process.pid if self._child else None

    def call(self, method: str, *arguments: object, seconds: float, cpu_seconds: float | None = None) -> Any:
        """Call `method(*arguments)` of the child's object and return its result.

        Args:
            seconds: by the clock. With `cpu_seconds` only while neither the child nor what it started uses CPU: so
                that who is stopped, or has next to nothing of a busy machine, is not taken for who hangs.
            cpu_seconds: of the child and the programs it has waited for; None sets no limit.

        Raises:
            CallTimeout: it took longer than `seconds`; it may be quicker the next time.
            TookTooMuch: it took more than `cpu_seconds`.
            ChildDied: the child ended; the next call gets a fresh one.
            DiskFull: it could not write something; the next call gets a fresh one.
            Unreadable: raised by the method.
        """
        with self._calls:
            try:
                return self._call(method, arguments, seconds, cpu_seconds)
            finally:
                self._last_call = time.monotonic()

    def _call(self, method: str, arguments: tuple[object, ...], seconds: float, cpu_seconds: float | None) -> Any:
        try:
            child = self._child or self._start()
            child.calls.send((method, arguments))
            with contextlib.nullcontext() if self._pace is None else self._pace.running():
                kind, value = self._receive_answer(child, seconds, cpu_seconds, self._pace)
        except (EOFError, ConnectionError) as error:
            inherited = self._child.inherited if self._child else 0
            code, most = self._kill_child()
            starved = code in _OUT_OF_MEMORY and most > max(_NEAR * self._memory, inherited)
            raise ChildDied("", code, starved=starved, fresh=self._answered == 0) from error
        self._answered += 1
        if kind == "unreadable":
            raise Unreadable(**value)
        return value

    def warm_up(self) -> None:
        """Start the child, so that the first call waits for no imports; where it cannot start, that call says why."""
        with self._calls:
            if self._child is not None:
                return
            try:
                self._start()
            except (EOFError, ConnectionError, ChildDied, CallTimeout, DiskFull) as error:
                log.warning("a reader did not start: %s: %s", type(error).__name__, error)
                self._kill_child()

    def _start(self) -> "_Child":
        """A child whose object is made; its start does not count against a call's deadline."""
        self._child, self._answered = _Child(self._make, self._memory, self._before, self._name), 0
        _, self._child.inherited = self._receive_answer(self._child, _START_SECONDS, _START_SECONDS)
        return self._child

    def _receive_answer(
        self, child: "_Child", seconds: float, cpu_seconds: float | None = None, pace: PacedSlot | None = None
    ) -> tuple[str, Any]:
        if self._share < 1 or not child.calls.poll(min(_QUICK, seconds)):
            self._await_answer(child, seconds, cpu_seconds, pace)
        kind, value = child.calls.recv()
        if kind == "full":
            self._kill_child()
            raise full_at()
        if kind in ("died", "starved"):
            self._kill_child()
            raise ChildDied(value, 1, starved=kind == "starved", fresh=self._answered == 0)
        return kind, value

    def _await_answer(self, child: "_Child", seconds: float, cpu_seconds: float | None, pace: PacedSlot | None) -> None:
        """Wait until there is one, and look at what it costs. Raises TookTooMuch, CallTimeout: the child is killed."""
        end, before = time.monotonic() + seconds, child.cpu_seconds(self._helpers)
        share, alive = self._share, child.cpu_seconds(helpers=True)
        most_alive = alive + seconds + (cpu_seconds or 0.0)  # of helpers, too, which may work without end
        while not pulsed(child.calls, child.process.pid, share, min(LOOK_SECONDS, end - time.monotonic())):
            if cpu_seconds is not None:
                cost, most = child.cpu_seconds(self._helpers) - before, cpu_seconds
                if pace is not None:
                    hurried, share = pace.limits(cost)
                    most, share = min(most, hurried), min(self._share, share)
                if cost > most:
                    self.close()
                    raise TookTooMuch(f"no result within {most:g} s of CPU")
                if alive + _SIGN_OF_LIFE < (used := child.cpu_seconds(helpers=True)) < most_alive:
                    alive, end = used, time.monotonic() + seconds
            if time.monotonic() >= end:
                self.close()
                raise CallTimeout(f"no result within {seconds:g} s{' of waiting' if cpu_seconds is not None else ''}")

    def close(self) -> None:
        """End the child and everything it has started."""
        self._kill_child()

    def end_unused(self, seconds: float) -> bool:
        """End the child where it has answered, and then done nothing for so long; true where it was ended.

        The next call starts another one. A child that waits for its first call holds little, and stays.
        """
        if not self._calls.acquire(blocking=False):
            return False
        try:
            if self._child is None or not self._answered or time.monotonic() - self._last_call < seconds:
                return False
            self._kill_child()
            return True
        finally:
            self._calls.release()

    def interrupt(self) -> None:
        """End the call that another thread is at: it raises ChildDied there. The only method for a second thread."""
        child = self._child
        if child is not None and child.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.process.pid, signal.SIGKILL)

    def _kill_child(self) -> tuple[int, int]:
        child, self._child = self._child, None
        return child.kill() if child else (0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Child:
    """One process, the connection that calls travel on, and a lifeline that is only ever closed.

    `inherited`: bytes that the kernel counts as the most it ever held from its first moment on. Linux keeps what who
    started it held, even across exec: less than that tells nothing of the child.
    """

    inherited = 0

    def __init__(self, make: bytes, memory_bytes: int, before: tuple[str, ...], name: str) -> None:
        self.calls, theirs = Pipe()
        lifeline, kept = os.pipe()
        self._lifeline = os.fdopen(kept, "wb", buffering=0)  # a file: a forgotten guard's end closes with it
        boot = _BOOT.format(path=sys.path, module=__name__, calls=theirs.fileno(), lifeline=lifeline)
        # Not multiprocessing's own start: it would import the parent's __main__ (with Ray: all of Ray) again.
        line, quiet = [*before, sys.executable, "-c", boot, name], subprocess.DEVNULL
        passed = (theirs.fileno(), lifeline)
        self.process = subprocess.Popen(
            line, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=passed, start_new_session=True
        )
        theirs.close()
        os.close(lifeline)
        self.calls.send((make, memory_bytes))

    def cpu_seconds(self, helpers: bool) -> float:
        """CPU used so far by the child and the programs it waited for; with `helpers`, also by those that still run."""
        return cpu_seconds_of(self.process.pid, helpers)

    def kill(self) -> tuple[int, int]:
        """End the whole group; how the child ended, and the most memory it ever held, in bytes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        most = 0
        if self.process.returncode is None:
            with contextlib.suppress(ChildProcessError):  # somebody else waited for it
                _, status, used = os.wait4(self.process.pid, 0)
                self.process.returncode, most = os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024
        code = self.process.wait()
        self.calls.close()
        self._lifeline.close()
        return code, most


def serve(calls: int, lifeline: int) -> None:
    """The child's side: make the object, then answer calls until the other end closes.

    An exception that is not an Unreadable ends the child, after its name was sent: a library that was surprised in
    the middle of a hostile file is not trusted with the next one.

    Args:
        lifeline: file descriptor of a pipe whose other end the parent holds and never writes to.
    """
    _die_with_parent(lifeline)
    connection: Connection[Any, Any] = Connection(calls)
    sys.excepthook = lambda kind, error, _: connection.send(
        ("full", "") if means_full(error) else ("died", f"{kind.__name__}: {error}"[:500])
    )
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    make, memory_bytes = connection.recv()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _set_memory_limit(memory_bytes)
    target = pickle.loads(make)()
    # What was imported stays: to look through it again for every few hundred words of a page took a tenth of the time.
    gc.freeze()
    gc.set_threshold(_GARBAGE_AFTER)
    connection.send(("ready", inherited))
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        connection.send(_answer_call(target, method, arguments))


@contextlib.contextmanager
def more_memory(memory_bytes: int) -> Iterator[None]:
    """In the child: let this process hold so much for a while, where that is more than it may now."""
    may, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if may == resource.RLIM_INFINITY or may >= memory_bytes:
        yield
        return
    _set_memory_limit(memory_bytes)
    try:
        yield
    finally:
        _set_memory_limit(may)


def _set_memory_limit(memory_bytes: int) -> None:
    """The soft limit alone: a program that this one starts has a limit of its own, which may be higher."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    soft = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, most))


def _answer_call(target: object, method: str, arguments: tuple[object, ...]) -> tuple[str, object]:
    try:
        return "value", getattr(target, method)(*arguments)
    except Unreadable as error:
        if means_full(error):
            return "full", ""  # the machine's fault, whatever a parser took it for
        return "unreadable", {"reason": error.reason, "detail": error.detail, "retryable": error.retryable}
    except MemoryError:
        return "starved", "MemoryError"


def _die_with_parent(lifeline: int) -> None:
    """Have the kernel kill this group when the parent's end of the lifeline closes, however the parent ends.

    PR_SET_PDEATHSIG would fire when the starting *thread* ends, and a watching thread would need the interpreter
    lock, which a stuck library may hold.
    """
    os.set_inheritable(lifeline, False)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
