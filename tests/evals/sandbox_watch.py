"""Looks from outside whether a script got out: canary files, listeners, processes, the state of the host."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tests.evals.report import ROOT

PLACES = (Path("/"), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/dev"), Path("/etc"), Path.home(), ROOT)
START_SECONDS = 30.0
TREASURES = ("/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/group", "/etc/crontab", "/etc/ld.so.preload")


class Watch:
    """An open folder, listeners, a bystander and a snapshot; `changes` says what is no longer as it was."""

    def __init__(self) -> None:
        self.token, self.mark = secrets.token_hex(16), f"aos-escape-{secrets.token_hex(8)}"
        # Others may run scripts on this machine too. Ours are told by a limit that no process can raise again.
        self.files = 100 + secrets.randbelow(800)
        self.folder = Path(tempfile.mkdtemp(prefix="aos-watch-"))
        self.folder.chmod(0o777)
        (self.folder / "secret").write_text(self.token, encoding="utf-8")
        (self.folder / "secret").chmod(0o666)
        self.listeners = self._listen()
        self.victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(86400)"])
        self._until_it_sleeps()
        self.before = self._state()

    def _listen(self) -> list[socket.socket]:
        tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = tcp.getsockname()[1]
        made = [tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
        made[1].bind(("127.0.0.1", self.port))
        with contextlib.suppress(OSError):  # where there is no IPv6, nobody can come by it
            made.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for address in (str(self.folder / "socket"), "\0" + self.mark):
            made.append(socket.socket(socket.AF_UNIX))
            made[-1].bind(address)
            made[-1].listen()
        (self.folder / "socket").chmod(0o777)
        for one in made:
            one.setblocking(False)
        return made

    def payload(self) -> dict[str, Any]:
        """What an attack is told."""
        return {
            "folder": str(self.folder),
            "secret": str(self.folder / "secret"),
            "socket": str(self.folder / "socket"),
            "abstract": self.mark,
            "port": self.port,
            "victim": self.victim.pid,
            "host": os.getpid(),
            "root": str(ROOT),
            "mark": self.mark,
        }

    def changes(self, heard: str = "") -> list[str]:
        """Everything that shows an escape; `heard` is all that the script gave back, in any way."""
        found = [f"left {place / self.mark}" for place in PLACES if os.path.lexists(place / self.mark)]
        found += [f"changed {name}" for name, was in self.before.items() if self._state().get(name) != was]
        found += [f"reached {one.getsockname()!r}" for one in self.listeners if self._visited(one)]
        if self._touched():
            found.append("touched the bystander")
        below = {one.pid for one in psutil.Process().children(recursive=True)} - {self.victim.pid}
        found += [f"left process {pid}" for pid in sorted(below | self._fenced())]
        if self.token in heard:
            found.append("told the secret")
        return found

    def _state(self) -> dict[str, object]:
        state: dict[str, object] = {}
        for path in [*self.folder.iterdir(), *map(Path, TREASURES), Path(sysconfig.get_path("stdlib")) / "os.py"]:
            with contextlib.suppress(FileNotFoundError):
                seen = path.lstat()
                state[str(path)] = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_mode, seen.st_uid)
        state["names in the folder"] = sorted(path.name for path in self.folder.iterdir())
        state["content of the canary"] = (self.folder / "secret").read_text(encoding="utf-8")
        for name in ("sys/kernel/hostname", "self/mounts", "self/limits", "swaps", "modules"):
            with contextlib.suppress(FileNotFoundError):
                text = (Path("/proc") / name).read_text(encoding="utf-8")
                state[f"/proc/{name}"] = [line.split()[0] for line in text.splitlines()] if name == "modules" else text
        state["user"] = (os.getresuid(), os.getresgid())
        return state

    @staticmethod
    def _visited(listener: socket.socket) -> bool:
        try:
            if listener.type == socket.SOCK_DGRAM:
                listener.recv(1)
            else:
                listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def _until_it_sleeps(self) -> None:
        """One that still begins may wait for a disk, which looks as if somebody had done something to it."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and psutil.Process(self.victim.pid).status() != "sleeping":
            time.sleep(0.01)

    def _touched(self) -> bool:
        """Whether somebody did something to the bystander: on a busy machine a signal may still be on its way to it."""
        if self.victim.poll() is not None:
            return True
        lines = Path(f"/proc/{self.victim.pid}/status").read_text(encoding="utf-8").splitlines()
        told = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        pending = int(told["SigPnd"], 16) | int(told["ShdPnd"], 16)
        return pending != 0 or told["State"][0] not in "SR"

    def _fenced(self) -> set[int]:
        """Processes in another process namespace that have our odd limit of files, whoever their parent is by now."""
        here, found = Path("/proc/self/ns/pid").stat().st_ino, set()
        for pid in psutil.pids():
            with contextlib.suppress(OSError):
                limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
                if Path(f"/proc/{pid}/ns/pid").stat().st_ino != here and f" {self.files} " in limits:
                    found.add(pid)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.victim.kill()
        self.victim.wait()
        for one in self.listeners:
            one.close()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()
