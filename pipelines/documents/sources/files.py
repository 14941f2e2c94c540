"""Files on disk: find them, confine them, hash them."""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.errors import Forbidden, NotFound, TooLarge
from pipelines.documents.sources.housekeeping import housekeeping_kind

LINKED: Final = "is a link now, or lies behind one"
"""Of a folder that was none when somebody said that it may be read."""


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """Limits of one folder scan; more is an error, never a silent cut."""

    files: int = 1_000_000
    depth: int = 64


def iter_files(
    root: Path,
    limits: ScanLimits = ScanLimits(),
    passed: Counter[str] | None = None,
    before_each: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """Every regular file below `root`, in sorted order, so that two walks of one folder agree.

    A folder is entered once, so that no loop of links is possible. What cannot be looked at, entered or followed is
    handed out as if it were a file: opening it tells why.

    Passed over, and counted in `passed` by their kind, are hidden names and what programs keep on shares for
    themselves; a folder of that sort counts once, with all that is in it. Without a word go pipes, sockets and devices,
    and what leads out of `root`, be it a link or in a folder that became one meanwhile: whoever is handed one of those
    would open what lies outside.

    Args:
        root: a folder, or a single file, which is then the only result; a resolved path, which is not followed anew.
        passed: where to count what was passed over.
        before_each: called before each entry, those that are passed over among them; what it raises ends the walk.

    Raises:
        NotFound: `root` does not exist, cannot be looked at, or is a link by now.
        TooLarge: there is more than `limits` allow.
    """
    passed = Counter() if passed is None else passed
    try:
        base = root.resolve()
        alone, within = base.is_file(), base.is_dir()
    except (OSError, RuntimeError) as error:  # RuntimeError: as in `_iter_folder`
        raise NotFound(f"{root} cannot be looked at: {error}") from error
    if os.fspath(base) != os.fspath(root.absolute()):
        raise NotFound(f"{root} {LINKED}")
    if alone:
        yield root
        return
    if not within:
        raise NotFound(f"{root} is not a folder")
    for count, path in enumerate(_iter_folder(root, base, {base}, limits.depth, passed, before_each)):
        if count >= limits.files:
            raise TooLarge(f"{root} holds more than {limits.files} files")
        yield path


def _iter_folder(
    folder: Path, base: Path, entered: set[Path], depth: int, passed: Counter[str], before_each: Callable[[], None]
) -> Iterator[Path]:
    if depth < 0:
        raise TooLarge(f"{folder} is nested too deeply")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield folder  # a folder that may not be entered is one unreadable file: it is counted, and it has a reason
        return
    for entry in entries:
        before_each()
        if (kind := housekeeping_kind(entry.name)) is not None:
            passed[kind] += 1
            continue
        path = folder / entry.name
        try:
            target = path.resolve()
            if not target.is_relative_to(base):
                continue
            # Both ask the file system, and only "there is none" means no: a folder that may be listed but not
            # entered, a sick disk and a mount that went away raise, and one such entry must not end the walk.
            within, is_file = target.is_dir(), target.is_file()
            broken = entry.is_symlink() and not target.exists()
        except (OSError, RuntimeError):  # RuntimeError: a link that leads to itself, before Python 3.13
            yield path
            continue
        if within and target not in entered:
            entered.add(target)
            yield from _iter_folder(path, base, entered, depth - 1, passed, before_each)
        elif is_file or broken:
            yield path


def confine_path(base: Path, path: str) -> Path:
    """The resolved path, which is the folder `base` or lies below it, links followed.

    `path` is relative to `base`, or absolute. Raises Forbidden: it leads elsewhere.
    """
    if "\0" in path:
        raise Forbidden("the path is not valid")
    resolved = (base / path).resolve()
    if not resolved.is_relative_to(base.resolve()):
        raise Forbidden("the path lies outside the permitted folder")
    return resolved


def unlinked_path(base: Path, path: str) -> Path | None:
    """The resolved path, as long as no part of it below the folder `base` is a link; None where one is.

    `path` is as in `confine_path`. Raises Forbidden: it leads out of `base`; OSError, RuntimeError: links in a circle.
    """
    resolved, root = confine_path(base, path), base.resolve()
    named, written = (Path(os.path.normpath(one.absolute())) for one in (base, base / path))
    for start in (named, root):
        if written.is_relative_to(start) and root / written.relative_to(start) == resolved:
            return resolved
    return None


def real_within(root: Path, path: Path) -> Path | None:
    """Where a path below the resolved folder `root` leads, by a path without links; None: out of it, or nowhere."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # RuntimeError: as in `_iter_folder`
        return None
    return real if real.is_relative_to(root) else None


def open_within(base: Path, path: Path) -> BinaryIO:
    """The regular file below `base`, judged by what was opened: links may have been swapped since it was listed.

    `base` is a resolved path, which is not followed anew: it may have been swapped, too.

    Raises Forbidden: it leads out of `base`, or is a pipe or a device; OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not wait for a writer
    with cleanup_on_error(partial(os.close, descriptor)):
        opened = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not opened.is_relative_to(base):
            raise Forbidden("the path lies outside the permitted folder")
        return os.fdopen(descriptor, "rb")


def hash_file(path: Path) -> str:
    """SHA-256 of the bytes in hex, read block by block. Raises OSError: the file cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
