"""Changes in a folder: told by the kernel, found by looking again, or not known at all."""

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from cluster.basics.errors import NotFound, Permanent, TooLarge
from pipelines.documents.sources.files import iter_files
from pipelines.documents.sources.housekeeping import housekeeping_kind

WatchMode = Literal["events", "polling", "sweeping", "missing"]

_INOTIFY: Final = "anon_inode:inotify"
_DESCRIPTORS: Final = Path("/proc/self/fd")
_LIMITS: Final = Path("/proc/sys/fs/inotify")
_RAISE: Final = "Raise it with sysctl, or watch fewer folders; until then they are swept."
_MS: Final = 1
_TRIES: Final = 3
_REST_SECONDS: Final = 0.2
_SILENT: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre", "afs", "virtiofs", "vboxsf", "ncpfs"}
)
_OCTAL: Final = re.compile(r"\\([0-7]{3})")  # how mounts write spaces
_opening = threading.Lock()
"""Descriptors that are there after a watch was opened and not before are its own."""


class WatchLimitReached(Permanent):
    """No more folders can be watched."""

    code, status = "watch_limit", 507


@dataclass(frozen=True, slots=True)
class WatchState:
    """How a folder is watched: `why` it is not told of changes, and how many `folders` are looked at."""

    mode: WatchMode
    why: str | None = None
    folders: int = 0


class ChangeWatch(Protocol):
    """Port to what tells of changes in a folder. Its methods block, for a short time."""

    state: WatchState

    def look(self) -> bool:
        """Whether something may have changed since the last look. Raises OSError: it cannot be looked at any more."""

    def is_current(self) -> bool:
        """False where another watch would be told more. Raises OSError."""

    def close(self) -> None:
        """Look no more."""


class EventWatch:
    """The kernel tells (inotify, by `watchfiles`). Each folder is watched by itself, so that no link leads out of the
    root, none is entered twice, and how many there are is known beforehand.
    """

    def __init__(self, root: Path, folders: Sequence[Path]) -> None:
        """Raises WatchLimitReached: the kernel allows no more; OSError: a folder is gone."""
        self._root, self.state = root, WatchState("events", None, len(folders))
        for _ in range(_TRIES):  # a descriptor that is just being closed may have hidden ours
            self._seen = _identify(folders)
            self._notify, held = _open_notify(folders)
            if held is None or held >= len(set(self._seen.values())):
                return
            self._notify.close()
            time.sleep(_REST_SECONDS)
        raise WatchLimitReached(_limit_text("max_user_watches"), fix=_RAISE)

    def look(self) -> bool:
        """See `ChangeWatch`. What programs write for themselves is no change."""
        try:
            found = self._notify.watch(_MS, _MS, _MS, None)
        except WatchfilesRustInternalError as error:
            raise OSError(str(error)) from error
        return not isinstance(found, str) and any(self._counts(path) for _, path in found)

    def is_current(self) -> bool:
        """See `ChangeWatch`: whether the folders are those that are watched, and none came or was replaced."""
        try:
            return _identify(list_watched_folders(self._root, len(self._seen))) == self._seen
        except WatchLimitReached:
            return False

    def close(self) -> None:
        """See `ChangeWatch`."""
        self._notify.close()

    def _counts(self, path: str) -> bool:
        below = os.path.relpath(path, self._root)
        return not any(housekeeping_kind(part) for part in below.split("/") if part not in (".", ".."))


class PollWatch:
    """Where no events come: every file is looked at again, names, times and sizes, at intervals that follow the effort.

    `watchfiles` can poll, too, but takes no notice of a file that is replaced by an older one.
    """

    def __init__(self, root: Path, folders: int, why: str, seconds: float, clock: Callable[[], float]) -> None:
        """`seconds` between two looks; ten times as long as a look takes, where that is more."""
        self._root, self._seconds, self._clock = root, seconds, clock
        self.state = WatchState("polling", why, folders)
        self._seen: bytes | None = None
        self._next = clock()

    def look(self) -> bool:
        """See `ChangeWatch`. Looks before their time find nothing."""
        began = self._clock()
        if began < self._next:
            return False
        before, self._seen = self._seen, _digest_folder(self._root)
        self._next = began + max(self._seconds, 10 * (self._clock() - began))
        return before is not None and before != self._seen

    def is_current(self) -> bool:
        """See `ChangeWatch`."""
        return True

    def close(self) -> None:
        """Nothing is open."""


class SweepWatch:
    """Nobody tells: everything is listed now and then."""

    def __init__(self, state: WatchState, seconds: float, clock: Callable[[], float]) -> None:
        """`seconds` between two listings."""
        self.state, self._seconds, self._clock = state, seconds, clock
        self._next = clock() + seconds

    def look(self) -> bool:
        """See `ChangeWatch`: something may have."""
        if self._clock() < self._next:
            return False
        self._next = self._clock() + self._seconds
        return True

    def is_current(self) -> bool:
        """See `ChangeWatch`: what it lacks may be there by now."""
        return False

    def close(self) -> None:
        """Nothing is open."""


def list_watched_folders(root: Path, most: int) -> list[Path]:
    """The folder and all below it, each once and none outside, links followed; those that cannot be entered are left
    out: listing them tells why.

    Raises WatchLimitReached: there are more than `most`; OSError: the root cannot be listed.
    """
    base = root.resolve()
    entered, left, found = {base}, [root], list[Path]()
    while left:
        folder = left.pop()
        try:
            with os.scandir(folder) as entries:
                inner = [one for one in entries if not housekeeping_kind(one.name) and _is_folder(one)]
        except OSError:
            if folder == root:
                raise
            continue
        found.append(folder)
        if len(found) > most:
            raise WatchLimitReached(
                f"there are more than {most} folders to watch",
                fix="Raise AOS_SOURCES_WATCH_FOLDERS, or make a source of a part of it.",
            )
        for entry in inner:
            try:
                target = Path(entry.path).resolve()
            except (OSError, RuntimeError):  # RuntimeError: a link that leads to itself, before Python 3.13
                continue
            if target not in entered and target.is_relative_to(base):
                entered.add(target)
                left.append(Path(entry.path))
    return sorted(found)


def silent_mount(root: Path, mounts: str) -> str | None:
    """The type of a file system at or below a folder that does not tell of what other machines change, if there is one.

    `mounts`: what /proc/self/mountinfo says (proc(5)).
    """
    around, kind, inside = -1, "", None
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point, type_ = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4])), right.split()[0]
        if root.is_relative_to(point):
            if len(point.parts) >= around:  # of two mounts at one place the later covers the earlier
                around, kind = len(point.parts), type_
        elif point.is_relative_to(root) and _is_silent(type_):
            inside = type_
    return kind if _is_silent(kind) else inside


def _is_silent(kind: str) -> bool:
    return kind in _SILENT or kind.startswith("fuse.")


def _open_notify(folders: Sequence[Path]) -> tuple[RustNotify, int | None]:
    """With how many folders are watched in fact, None where the system does not tell: what the kernel refuses, the
    library passes over without a word.
    """
    with _opening:
        before = _inotify_descriptors()
        try:
            notify = RustNotify([str(one) for one in folders], False, False, 0, False, True)
        except WatchfilesRustInternalError as error:
            raise WatchLimitReached(_limit_text("max_user_instances"), fix=_RAISE) from error
        if not _DESCRIPTORS.is_dir():
            return notify, None
        return notify, sum(_count_watches(one) for one in _inotify_descriptors() - before)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _digest_folder(root: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    try:
        for path in iter_files(root):
            try:
                found = path.stat()
                told = f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"
            except OSError as error:
                told = f"error {error.errno}"
            digest.update(os.fsencode(path) + f"\0{told}\0".encode())
    except (NotFound, TooLarge) as error:
        raise OSError(error.detail) from error
    return digest.digest()


def _inotify_descriptors() -> set[str]:
    found = set[str]()
    for link in _DESCRIPTORS.iterdir() if _DESCRIPTORS.is_dir() else ():
        try:
            if str(link.readlink()) == _INOTIFY:
                found.add(link.name)
        except OSError:  # it was closed meanwhile
            continue
    return found


def _identify(folders: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    found = ((one, one.stat()) for one in folders)
    return {one: (stat.st_dev, stat.st_ino) for one, stat in found}


def _count_watches(descriptor: str) -> int:
    try:
        told = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    except OSError:
        return 0
    return sum(line.startswith("inotify ") for line in told.splitlines())


def _limit_text(name: str) -> str:
    try:
        most = (_LIMITS / name).read_text().strip()
    except OSError:
        most = "?"
    return f"the kernel allows no more watches (fs.inotify.{name} is {most} for all programs of this account)"
