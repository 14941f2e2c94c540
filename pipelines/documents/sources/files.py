"""Files on disk: find them, confine them, hash them."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.errors import Forbidden, NotFound, TooLarge
from pipelines.documents.sources.sniff import Kind, sniff

__all__ = ["Kind", "Limits", "confine", "hash_file", "sniff", "walk"]

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a folder one walk may cover; more is an error, never a silent cut."""

    files: int = 1_000_000
    depth: int = 64


def walk(root: Path, limits: Limits | None = None) -> Iterator[Path]:
    """Every regular file below `root`, in sorted order, so that two walks of one folder agree.

    Hidden names (leading dot) are skipped. A link is followed only while its target stays below `root`, and a
    folder is entered once, so that neither an escape nor a loop of links is possible. What cannot be entered or
    followed is handed out as if it were a file: opening it tells why, and nothing is passed over in silence.

    Args:
        root: a folder, or a single file, which is then the only result.
        limits: the default is `Limits()`.

    Raises:
        NotFound: `root` does not exist.
        TooLarge: there is more than `limits` allow.
    """
    limits = limits or Limits()
    base = root.resolve()
    if base.is_file():
        yield root
        return
    if not base.is_dir():
        raise NotFound(f"{root} is not a folder")
    for count, path in enumerate(_walk(root, base, {base}, limits.depth)):
        if count >= limits.files:
            raise TooLarge(f"{root} holds more than {limits.files} files")
        yield path


def _walk(folder: Path, base: Path, entered: set[Path], depth: int) -> Iterator[Path]:
    if depth < 0:
        raise TooLarge(f"{folder} is nested too deeply")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield folder  # a folder that may not be entered is one unreadable file: it is counted, and it has a reason
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = folder / entry.name
        try:
            target = path.resolve()
        except (OSError, RuntimeError):  # RuntimeError: a link that leads to itself, before Python 3.13
            yield path
            continue
        if entry.is_symlink() and not target.is_relative_to(base):
            continue
        if target.is_dir():
            if target not in entered:
                entered.add(target)
                yield from _walk(path, base, entered, depth - 1)
        elif target.is_file():
            yield path


def confine(base: Path, path: str) -> Path:
    """The resolved path, which is `base` or lies below it, links followed.

    Args:
        base: the folder that callers are confined to.
        path: relative to `base`, or absolute.

    Raises:
        Forbidden: it leads elsewhere.
    """
    if "\0" in path:
        raise Forbidden("the path is not valid")
    resolved = (base / path).resolve()
    if not resolved.is_relative_to(base.resolve()):
        raise Forbidden("the path lies outside the permitted folder")
    return resolved


def hash_file(path: Path) -> str:
    """SHA-256 of the bytes in hex, read in blocks of 1 MiB.

    Raises:
        OSError: the file cannot be read.
    """
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
