"""A bounded folder of local copies: readers need a file, and storage elsewhere has none."""

import fcntl
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final
from uuid import uuid4

import psutil

from cluster.basics.disk import DiskRoom

UNUSED_SECONDS: Final = 3600.0  # after which a copy goes, room or not: what was erased elsewhere must not stay here
LEFT_SECONDS: Final = 24 * 3600.0  # after which nobody of another machine still uses or writes a file
FOLDERS: Final = ("files", "used", "locks", "staging")


class FileCache:
    """Copies by name. Whoever opens one has a link of their own: it stays until they are done, whatever is evicted."""

    def __init__(self, folder: Path, most_bytes: int, room: DiskRoom | None = None) -> None:
        """`folder` is made on first use; `most_bytes` counts what nobody uses; `room` refuses what has none."""
        self._folder, self._most, self._room = folder, most_bytes, room or DiskRoom(folder)
        self._host = socket.gethostname().replace(".", "-")
        self._mine = f"{self._host}.{os.getpid()}.{uuid4().hex}"
        self._lock, self._users = Lock(), Counter[str]()

    @property
    def staging(self) -> Path:
        """A folder for bytes on their way out."""
        return self._folder / "staging"

    @contextmanager
    def open(self, key: str, fetch: Callable[[Path], int]) -> Iterator[Path]:
        """The copy, fetched where it is not here: by one of those who ask at a time, the others wait for it.

        Args:
            fetch: writes the bytes into a file, and tells the time (ns) that it is to have.

        Raises DiskFull, and what `fetch` raises; nothing stays behind then.
        """
        for name in FOLDERS:
            (self._folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        copy = self._copy(key)
        # The same name each time: a reader that has it open still knows it again.
        used = self._folder / "used" / f"{self._mine}.{copy.name}"
        if not self._take(copy, used):
            with (self._folder / "locks" / copy.name[:2]).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self._take(copy, used):
                    self._fetch(copy, fetch)
                    if not self._take(copy, used):
                        raise FileNotFoundError(2, "it was deleted meanwhile", str(copy))
            self.evict()
        try:
            yield used
        finally:
            self._give_back(used)

    def forget(self, key: str) -> None:
        """Remove a copy; whoever has it open keeps it until they are done."""
        self._copy(key).unlink(missing_ok=True)

    def evict(self) -> None:
        """Remove what was not used for an hour, and what was used the longest ago where all is too much.

        Also what processes that were killed have left behind.
        """
        for place in self.leftovers(time.time()):
            place.unlink(missing_ok=True)
        copies = []
        for place in _files_in(self._folder / "files"):
            with suppress(FileNotFoundError):
                if not place.suffix:  # the others are being fetched
                    facts = place.stat()
                    copies.append((facts.st_atime_ns, facts.st_size, place))
        total = sum(size for _, size, _ in copies)
        for _, size, place in sorted(copies):
            if total <= self._most:
                break
            place.unlink(missing_ok=True)
            total -= size

    def leftovers(self, now: float) -> list[Path]:
        """Copies that were not used for an hour at this moment (seconds since the epoch), and what processes that were
        killed have left behind: half a copy, or a link of their own.
        """
        found = []
        for place in _files_in(self._folder / "files"):
            with suppress(FileNotFoundError):
                facts = place.stat()
                is_copy = not place.suffix  # the others are being fetched, or were
                since, limit = (facts.st_atime, UNUSED_SECONDS) if is_copy else (facts.st_ctime, LEFT_SECONDS)
                if now - since > limit:
                    found.append(place)
        for place in _files_in(self._folder / "used"):
            host, _, rest = place.name.partition(".")
            pid = rest.partition(".")[0]
            with suppress(FileNotFoundError):
                ours = host == self._host and pid.isdigit()
                if not psutil.pid_exists(int(pid)) if ours else now - place.lstat().st_ctime > LEFT_SECONDS:
                    found.append(place)
        return found

    def _take(self, copy: Path, used: Path) -> bool:
        """Whether there was a copy to have a link to; its use is noted."""
        with self._lock:
            if not self._users[used.name]:
                try:
                    os.link(copy, used)
                except FileNotFoundError:
                    return False
            self._users[used.name] += 1
        os.utime(used, ns=(time.time_ns(), used.stat().st_mtime_ns))
        return True

    def _give_back(self, used: Path) -> None:
        with self._lock:
            self._users[used.name] -= 1
            if self._users[used.name] <= 0:
                del self._users[used.name]
                used.unlink(missing_ok=True)

    def _fetch(self, copy: Path, fetch: Callable[[Path], int]) -> None:
        self._room.require()
        unfinished = copy.with_name(f"{copy.name}.{uuid4().hex}.part")
        try:
            with self._room.writing():
                mtime = fetch(unfinished)
            os.utime(unfinished, ns=(time.time_ns(), mtime))
            unfinished.rename(copy)
        finally:
            unfinished.unlink(missing_ok=True)

    def _copy(self, key: str) -> Path:
        return self._folder / "files" / sha256(key.encode()).hexdigest()


def _files_in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
