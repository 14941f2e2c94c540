"""A child process that opens hostile files for us: bounded in time and memory, and replaceable."""

import contextlib
import fcntl
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Any, Self

from pipelines.documents.document import Reason, Unreadable

MEMORY_BYTES = 6 * 2**30
"""Data a child may hold (RLIMIT_DATA). EasyOCR with torch needs about 1.5 GiB, a large picture as much again.

The address space itself is not the measure: torch alone maps 4.6 GiB of libraries that cost no memory."""

_START_SECONDS = 180.0  # of which an idle child on a busy machine waits for most
_F_SETSIG = 10  # <fcntl.h>; the fcntl module does not name it
_BOOT = "import sys; sys.path[:] = {path!r}; from pipelines.documents.guard import serve; serve({calls}, {lifeline})"


class TookTooLong(Exception):
    """The call overran its deadline; the child was killed."""


class Died(Exception):
    """The child ended in the middle of a call; `cause` is its own error, empty where a signal took it."""

    def __init__(self, cause: str, code: int) -> None:
        """Keep what the child said, and how it ended (negative = signal)."""
        super().__init__(cause or f"ended with {code}")
        self.cause, self.code = cause, code


class Guard:
    """Calls methods of an object that lives in a child process.

    The child is started at the first call and kept. It leads its own process group, which is killed as a whole, so
    that programs it has started (tesseract) go with it; the kernel does the same when this process ends in any way.
    Not safe for use by two threads at once.
    """

    def __init__(
        self,
        make: Callable[[], object],
        *,
        memory_bytes: int = MEMORY_BYTES,
        name: str = "reader",
        before: tuple[str, ...] = (),
    ) -> None:
        """Start nothing yet.

        Args:
            make: makes the object; it is pickled and runs in the child.
            memory_bytes: data that the child may hold.
            name: the last word of its command line, for whoever looks at the processes.
            before: words before the command, such as `env NAME=VALUE`.
        """
        self._make = pickle.dumps(make)
        self._memory = memory_bytes
        self._before, self._name = before, name
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return self._child.process.pid if self._child else None

    def call(self, method: str, *arguments: object, seconds: float) -> Any:
        """What `method(*arguments)` of the child's object returns.

        Raises:
            TookTooLong: it took longer than `seconds`.
            Died: the child ended; the next call gets a fresh one.
            Unreadable: raised by the method.
        """
        try:
            child = self._child or self._start()
            child.calls.send((method, arguments))
            kind, value = self._receive(child, seconds)
        except (EOFError, ConnectionError) as error:
            raise Died("", self._bury()) from error
        if kind == "unreadable":
            reason, detail, retryable = value
            raise Unreadable(reason, detail, retryable=retryable)
        return value

    def _start(self) -> "_Child":
        """A child whose object is made; its start does not count against a call's deadline."""
        self._child = _Child(self._make, self._memory, self._before, self._name)
        self._receive(self._child, _START_SECONDS)
        return self._child

    def _receive(self, child: "_Child", seconds: float) -> tuple[str, Any]:
        if not child.calls.poll(seconds):
            self.close()
            raise TookTooLong(f"no result within {seconds:g} s")
        kind, value = child.calls.recv()
        if kind == "died":
            self._bury()
            raise Died(value, 1)
        return kind, value

    def close(self) -> None:
        """End the child and everything it has started."""
        self._bury()

    def _bury(self) -> int:
        child, self._child = self._child, None
        return child.kill() if child else 0

    def __enter__(self) -> Self:
        """Nothing is started before the first call."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class _Child:
    """One process, the connection that calls travel on, and a lifeline that is only ever closed."""

    def __init__(self, make: bytes, memory_bytes: int, before: tuple[str, ...], name: str) -> None:
        self.calls, theirs = Pipe()
        lifeline, kept = os.pipe()
        self._lifeline = os.fdopen(kept, "wb", buffering=0)  # a file: a forgotten guard's end closes with it
        boot = _BOOT.format(path=sys.path, calls=theirs.fileno(), lifeline=lifeline)
        # Not multiprocessing's own start: it would import the parent's __main__ (with Ray: all of Ray) again.
        self.process = subprocess.Popen(
            [*before, sys.executable, "-c", boot, name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), lifeline),
            start_new_session=True,
        )
        theirs.close()
        os.close(lifeline)
        self.calls.send((make, memory_bytes))

    def kill(self) -> int:
        """End the whole group and return how the child ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        self.calls.close()
        self._lifeline.close()
        return code


def serve(calls: int, lifeline: int) -> None:
    """The child's side: make the object, then answer calls until the other end closes.

    An exception that is not an Unreadable ends the child, after its name was sent: a library that was surprised in
    the middle of a hostile file is not trusted with the next one.

    Args:
        calls: file descriptor of the connection.
        lifeline: file descriptor of a pipe whose other end the parent holds and never writes to.
    """
    _die_with_parent(lifeline)
    connection: Connection[Any, Any] = Connection(calls)
    sys.excepthook = lambda kind, error, _: connection.send(("died", f"{kind.__name__}: {error}"[:500]))
    make, memory_bytes = connection.recv()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    target = pickle.loads(make)()
    connection.send(("ready", None))
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        connection.send(_answer(target, method, arguments))


def _answer(target: object, method: str, arguments: tuple[object, ...]) -> tuple[str, object]:
    try:
        return "value", getattr(target, method)(*arguments)
    except Unreadable as error:
        return "unreadable", (error.reason, error.detail, error.retryable)
    except MemoryError:
        return "unreadable", (Reason.BOMB, "it needs more memory than one file may have", False)


def _die_with_parent(lifeline: int) -> None:
    """Have the kernel kill this group when the parent's end of the lifeline closes, however the parent ends.

    PR_SET_PDEATHSIG would fire when the starting *thread* ends, and a watching thread would need the interpreter
    lock, which a stuck library may hold.
    """
    os.set_inheritable(lifeline, False)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
