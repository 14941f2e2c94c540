"""Guest side of the sandbox: drops its rights, waits for one script, answers once, and ends.

Started as `python -I -S -B -c <this text> <settings as JSON>`; it uses the standard library alone. Its standard input
is a socket: it takes a line `ready`, brings one job as JSON up to its end, and takes one answer, a line of JSON.
Nothing here is the wall: whatever a script does to this file's objects, it stays behind the kernel's layers.
"""

import builtins
import ctypes
import json
import linecache
import os
import resource
import signal
import struct
import sys
import time
import traceback
from types import TracebackType
from typing import Any

TALK = 0
NAME = "skill.py"
UNSHARE_USER = 0x10000000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
CAPABILITY_VERSION_3 = 0x20080522
ASKED_BY_C = ("time", "_strptime", "unicodedata")
NOT_OFFERED = ("open", "input", "breakpoint")


def lock_down(settings: dict[str, Any]) -> None:
    """Give up rights for good, one after the other. What fails is seen from outside, and no job comes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if settings["become"] is not None:
        os.setgroups([])
        os.setresgid(*[settings["become"]] * 3)
        os.setresuid(*[settings["become"]] * 3)
        libc.unshare(UNSHARE_USER)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # where no fence is between it and who started it
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header, nothing = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), bytes(24)
    libc.capset(header, nothing)
    for name, most in settings["limits"].items():
        resource.setrlimit(getattr(resource, name), (most, most))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    code = bytes.fromhex(settings["filter"])
    if code:
        held = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
        libc.prctl(PR_SET_SECCOMP, 2, ctypes.c_char_p(program), 0, 0)


class ImportGuard:
    """The import and the builtins that a script gets: its author is told early and by name what is not offered."""

    def __init__(self, allowed: list[str]) -> None:
        """Offer these modules; `*` offers all that can be found."""
        self.allowed = allowed

    def namespace(self) -> dict[str, Any]:
        """The globals in which a script starts."""
        if "*" in self.allowed:
            offered: Any = builtins
        else:
            offered = dict(vars(builtins))
            offered["__import__"] = self.load
            offered.update({name: self.refusing(name) for name in NOT_OFFERED})
        return {"__name__": "skill", "__file__": NAME, "__builtins__": offered}

    def load(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """Import what is allowed. Raises ForbiddenImport: it is not."""
        # Functions in C ask in the name of who calls them, and with a list where a statement has a tuple or None.
        if name in ASKED_BY_C and isinstance(fromlist, list):
            return __import__(name)
        if level or name.partition(".")[0] not in self.allowed:
            raise BlockedImport(f"{name or '.'} may not be imported here; these may: {', '.join(self.allowed)}")
        return __import__(name, globals, locals, fromlist, level)

    def refusing(self, name: str) -> Any:
        """A function that only refuses."""

        def refused(*_: Any, **__: Any) -> Any:
            raise BlockedImport(f"{name}() is not offered here")

        return refused


class BlockedImport(ImportError):
    """Raised inside a script only."""


class AnswerCapture:
    """Whatever a script raises becomes its answer, also what is no Exception and what cannot be printed."""

    def __init__(self) -> None:
        """Keep a little memory back: to tell that there is no more takes some."""
        self.answer: dict[str, Any] = {}
        self.reserve: bytearray | None = bytearray(1 << 20)

    def __enter__(self) -> "AnswerCapture":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.reserve = None
        if kind is None or error is None:
            return False
        self.answer = {"error": kind.__name__}
        if issubclass(kind, MemoryError):
            self.answer = {"error": "MemoryError", "memory": True}
        elif issubclass(kind, BlockedImport):
            self.answer = {"error": str(error), "forbidden": True, "trace": script_frames(error)}
        else:
            said = "".join(traceback.format_exception_only(kind, error)).strip()
            self.answer = {"error": said, "trace": script_frames(error)}
        return True


def script_frames(error: BaseException) -> str:
    """The traceback's frames that are the script's own."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__, limit=200) if frame.filename == NAME]
    return "".join(traceback.format_list(own[-20:]))


def run_script(job: dict[str, Any]) -> str:
    """Run the script's `run` on the payload; the answer, as JSON, has `value`, or `error` and why."""
    source = job["source"]
    linecache.cache[NAME] = (len(source), None, source.splitlines(keepends=True), NAME)
    with AnswerCapture() as answering:
        space = ImportGuard(job["imports"]).namespace()
        exec(compile(source, NAME, "exec", dont_inherit=True), space)
        run = space.get("run")
        if not callable(run):
            return json.dumps({"error": "the script defines no `def run(payload)`"})
        value = run(job["payload"])
        if not isinstance(value, dict):
            return json.dumps({"error": f"run(payload) gave back {type(value).__name__}, not a dict"})
        return json.dumps({"value": value}, allow_nan=False)
    return json.dumps(answering.answer)


def read_all(descriptor: int) -> bytes:
    """Read up to the end."""
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def main() -> None:
    """Lock, wait, work, answer."""
    settings = json.loads(sys.argv[1])
    sys.argv[:] = [NAME]
    sys.orig_argv[:] = [NAME]
    os.environ.clear()  # noqa: TID251 (nothing is read: a script finds it empty)
    for name in settings["ready"]:
        __import__(name)
    lock_down(settings)
    os.write(TALK, b"ready\n")
    if not (sent := read_all(TALK)):
        os._exit(0)
    streams = (sys.stdout, sys.stderr)
    left = run_script(json.loads(sent)).encode() + b"\n"
    for stream in streams:
        if not stream.closed:
            stream.flush()
    while left:
        left = left[os.write(TALK, left) :]
    while True:  # ended from outside, so that the fence sees it end and nothing is left for the machine's init to reap
        time.sleep(60)


if __name__ == "__main__":
    main()
