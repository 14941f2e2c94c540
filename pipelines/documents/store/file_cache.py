"""A bounded folder of local copies: readers need a file, and storage elsewhere has none."""

import fcntl
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final
from uuid import uuid4

import psutil

from cluster.basics.disk import DiskRoom

UNUSED_SECONDS: Final = 3600.0  # after which a copy goes, room or not: what was erased elsewhere must not stay here
LEFT_SECONDS: Final = 24 * 3600.0  # after which nobody of another machine still uses or writes a file
TIDY_SECONDS: Final = 300.0  # between two looks for what is unused
FOLDERS: Final = ("files", "used", "locks", "staging")

log = logging.getLogger("aos.blob_cache")


class FileCache:
    """Copies by name. Whoever opens one has a link of their own: it stays until they are done, whatever is evicted.

    Every process that uses it tidies it, in a thread that runs for as long as there are copies.
    """

    def __init__(
        self, folder: Path, most_bytes: int, room: DiskRoom | None = None, tidy_seconds: float = TIDY_SECONDS
    ) -> None:
        """`folder` is made on first use; `most_bytes` counts what nobody uses; `room` refuses what has none."""
        self._folder, self._most, self._room = folder, most_bytes, room or DiskRoom(folder)
        self._tidy_seconds = tidy_seconds
        self._tidier: Thread | None = None
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
        is_here = self._take(copy, used)
        if not is_here:
            with _lock_of(self._folder / "locks" / copy.name):
                if not self._take(copy, used):
                    self._fetch(copy, used, fetch)
        try:
            if not is_here:
                self.evict()
            self._begin_tidying()
            yield used
        finally:
            self._give_back(used)

    def forget(self, key: str) -> None:
        """Remove a copy; whoever has it open keeps it until they are done."""
        self._copy(key).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Evict now, and from now on again and again until no copy is left."""
        self.evict()
        if _files_in(self._folder / "files"):
            self._begin_tidying()

    def _begin_tidying(self) -> None:
        with self._lock:
            if self._tidier is None:
                self._tidier = Thread(target=self._keep_tidy, name="blob-cache", daemon=True)
                self._tidier.start()

    def _keep_tidy(self) -> None:
        pause = Event()  # which nobody sets: the thread ends by itself, or with the process
        while not pause.wait(self._tidy_seconds):
            try:
                self.evict()
            except OSError as error:  # the next turn tries again
                log.warning("the blob cache cannot be tidied: %s", error)
            with self._lock:
                if not self._users and not _files_in(self._folder / "files"):
                    self._tidier = None
                    return

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
        killed have left behind: half a copy, a lock, or a link of their own.
        """
        found = []
        for place in _files_in(self._folder / "files"):
            with suppress(FileNotFoundError):
                facts = place.stat()
                is_copy = not place.suffix  # the others are being fetched, or were
                since, limit = (facts.st_atime, UNUSED_SECONDS) if is_copy else (facts.st_ctime, LEFT_SECONDS)
                if now - since > limit:
                    found.append(place)
        for place in _files_in(self._folder / "locks"):  # whoever still waits for one looks whether it is the same
            with suppress(FileNotFoundError):
                if now - place.stat().st_ctime > LEFT_SECONDS:
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

    def _fetch(self, copy: Path, used: Path, fetch: Callable[[Path], int]) -> None:
        """A link to it is had before others see it: whoever evicts it at once takes it from nobody."""
        self._room.require()
        unfinished = copy.with_name(f"{copy.name}.{uuid4().hex}.part")
        try:
            with self._room.writing():
                mtime = fetch(unfinished)
            os.utime(unfinished, ns=(time.time_ns(), mtime))
            if not self._take(unfinished, used):
                raise FileNotFoundError(2, "it was deleted meanwhile", str(copy))
            try:
                unfinished.rename(copy)
            except OSError:
                self._give_back(used)
                raise
        finally:
            unfinished.unlink(missing_ok=True)

    def _copy(self, key: str) -> Path:
        return self._folder / "files" / sha256(key.encode()).hexdigest()


@contextmanager
def _lock_of(place: Path) -> Iterator[None]:
    """Held by one at a time, for one file: who wants another one never waits for a fetch that takes long.

    The file goes with whoever held it; those who waited for it find another there, or none, and begin anew.
    """
    while True:
        with place.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_still(lock.fileno(), place):
                continue
            try:
                yield
            finally:
                place.unlink(missing_ok=True)
            return


def _is_still(opened: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened), place.stat())
    except FileNotFoundError:
        return False


def _files_in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
