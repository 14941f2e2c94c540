"""Segments of the write-ahead log: from the receiver's folder to a destination, and from there to a restore."""

import gzip
import re
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from cluster.state.backup.destination import BackupFailed, Destination

PARTIAL: Final = ".partial"
HISTORY: Final = ".history"
NAME: Final = re.compile(r"(?P<whole>[0-9A-F]{24}(\.partial)?|[0-9A-F]{8}\.history)")
AT_ONCE: Final = 8
SETTLED_SECONDS: Final = 1.0  # two writes within a tick of the clock leave the same time of change


class LogSpool:
    """The receiver's folder: whole segments go once and leave it, the one that fills goes again while it changes."""

    def __init__(self, folder: Path, place: Destination) -> None:
        """`folder` is made by the receiver."""
        self._folder, self._place = folder, place
        self._sent: dict[str, int] = {}

    def ship(self) -> None:
        """All that is there now. Raises BackupFailed."""
        while self._folder.is_dir() and not self._ship_listed():
            pass

    def clear(self) -> None:
        """Forget what is there."""
        for path in self._folder.glob("*"):
            path.unlink()
        self._sent.clear()

    def size(self) -> int:
        """Bytes."""
        return sum(path.stat().st_size for path in self._folder.iterdir()) if self._folder.is_dir() else 0

    def _ship_listed(self) -> bool:
        """False where a segment got another name meanwhile: it was full, and did not go."""
        for path in sorted(self._folder.iterdir()):
            try:
                stamp, now = path.stat().st_mtime_ns, time.time_ns()
                if self._sent.get(path.name) == stamp:
                    continue
                data = gzip.compress(path.read_bytes(), 1)
            except FileNotFoundError:
                return False
            self._place.put(f"wal/{path.name}.gz", data)
            if now - stamp > SETTLED_SECONDS * 1e9:
                self._sent[path.name] = stamp
            if not path.name.endswith(PARTIAL):
                self._place.side.delete(f"wal/{path.name}{PARTIAL}.gz")
                if not path.name.endswith(HISTORY):
                    path.unlink()
        return True


def logged(place: Destination) -> dict[str, str]:
    """Names of segments and histories, in order, and their keys; of a segment that is whole not its partial one."""
    found: dict[str, str] = {}
    for key in place.keys("wal"):  # the whole one sorts before its partial one, which is then older
        name = NAME.fullmatch(key.removeprefix("wal/").removesuffix(".gz"))
        if name is not None and key.endswith(".gz"):
            found.setdefault(name["whole"].removesuffix(PARTIAL), key)
    return found


def fetch_log(place: Destination, first: str, target: Path) -> tuple[int, str]:
    """Put every segment from `first` on into a folder, the one that was filling by its whole name.

    How many, and the last one before a gap, where there is one: what follows it cannot be reached from here.
    """
    target.mkdir(exist_ok=True)
    wanted, gap, number = dict[str, str](), "", segment_number(first) - 1
    for name, key in logged(place).items():
        if not name.endswith(HISTORY):
            if name[8:] < first[8:]:
                continue
            if segment_number(name) > number + 1:
                gap = f"{number >> 8:08X}{number & 0xFF:08X}"
                break
            number = segment_number(name)
        wanted[name] = key

    def fetch(one: tuple[str, str]) -> None:
        try:
            (target / one[0]).write_bytes(gzip.decompress(place.read(one[1])))
        except (OSError, EOFError, zlib.error) as error:
            fix = "`aos backup verify` names all such."
            raise BackupFailed(f"{one[1]} cannot be read: {error}", fix=fix) from error

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="log") as threads:
        return sum(1 for _ in threads.map(fetch, wanted.items())), gap


def segment_number(name: str) -> int:
    """Its place in the log, whatever the timeline."""
    return (int(name[8:16], 16) << 8) + int(name[16:24], 16)
