"""JSON lines in files: a folder a tenant, a new file each day and at a size, on the disk before they are confirmed."""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from cluster.state.audit_export.chain import ChainedEntry, parse_json
from cluster.state.audit_export.sinks import CollectorAway, entry_line
from configs.audit_sinks import FileSink

SUFFIX = ".jsonl"
_TAIL = 2**20


class FileCollector:
    """An `AuditSink` that writes files `audit-<first number>-<day>.jsonl`; nothing is written twice, whoever is killed.

    What the files themselves hold at their end tells what they have: a line that was cut off is taken away.
    """

    def __init__(self, settings: FileSink, clock: Callable[[], datetime]) -> None:
        """Nothing is made yet; `clock` gives the moment in UTC."""
        self._settings, self._clock = settings, clock

    async def send(self, tenant: str, entries: Sequence[ChainedEntry]) -> None:
        """See `AuditSink`."""
        try:
            await asyncio.to_thread(self._append, tenant, entries)
        except (OSError, ValueError) as error:
            raise CollectorAway(f"{self._settings.folder}: {error}") from error

    def _append(self, tenant: str, entries: Sequence[ChainedEntry]) -> None:
        """Raises OSError, or ValueError where the newest file does not end in an entry."""
        folder = self._settings.folder / tenant
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        newest = max(folder.glob(f"audit-*{SUFFIX}"), default=None)
        have = 0 if newest is None else _mend_end(newest)
        lines = [entry_line(entry, self._settings.format).encode() + b"\n" for entry in entries if entry.seq > have]
        if not lines:
            return
        first = next(entry.seq for entry in entries if entry.seq > have)
        day = f"{self._clock():%Y-%m-%d}"
        is_full = newest is not None and newest.stat().st_size >= self._settings.max_bytes
        if newest is None or is_full or not newest.stem.endswith(day):
            newest = folder / f"audit-{first:012d}-{day}{SUFFIX}"
        with os.fdopen(os.open(newest, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(folder)


def _mend_end(path: Path) -> int:
    """The number of the last whole entry of a file, 0 where it has none; what follows it is cut off.

    Raises ValueError: its last line is none of ours.
    """
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        window, tail = 0, b""
        while window < size and tail.count(b"\n") < 2:
            window = min(window * 2 or _TAIL, size)
            file.seek(size - window)
            tail = file.read(window)
        whole = tail[: tail.rfind(b"\n") + 1]
        if len(whole) < len(tail):
            file.truncate(size - len(tail) + len(whole))
        if not whole:
            return int(path.stem.split("-")[1]) - 1
    entry = ChainedEntry.from_json(parse_json(whole[:-1].rpartition(b"\n")[2].decode()))
    return entry.seq


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
