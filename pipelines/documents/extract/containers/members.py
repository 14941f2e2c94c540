"""Members of a container: their names as safe paths, what is passed over and why, their bytes in a folder."""

import hashlib
import os
import re
import shutil
import tarfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from cluster.basics.disk import means_full
from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.extract.containers.unpacked import UnpackedMember, UnpackedMembers, unread_members
from pipelines.documents.extract.office.zip_package import DAMAGED
from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.sniff import Kind

BLOCK: Final = 1 << 20
MOST_NAME: Final = 500  # bytes of a member's path: it is part of a key in an index
_DRIVE: Final = re.compile(r"[A-Za-z]:/")


@dataclass(frozen=True, slots=True)
class ContainerEntry:
    """A file as its container lists it; `refusal` says why its bytes are not taken, `size` is what it claims."""

    name: str
    size: int
    read: Callable[[], Iterator[bytes]] = lambda: iter(())
    refusal: str = ""


class _TooMuch(Exception):
    """A member has more bytes than its container may unpack to."""


def clean_member_path(name: str) -> str | None:
    """The name as a path below its container, with `/`; None where it leads elsewhere or names nothing.

    Control and format signs go; among them are those that make a name read backwards.
    """
    text = unicodedata.normalize("NFC", name.replace("\\", "/"))
    if text.startswith("/") or _DRIVE.match(text):
        return None
    parts = ["".join(char for char in part if unicodedata.category(char)[0] != "C") for part in text.split("/")]
    kept = [part.strip() for part in parts if part.strip() not in ("", ".")]
    return None if not kept or ".." in kept else "/".join(kept)


def is_housekeeping(path: str) -> bool:
    """True where a system or a program left the file, or a folder above it, for itself."""
    return any(housekeeping_kind(part) is not None for part in path.split("/"))


def unpack_entries(
    entries: Iterable[ContainerEntry], kind: Kind, folder: Path | None, *, most: int, most_bytes: int
) -> UnpackedMembers:
    """Write the members of a container to a folder, which is emptied before; nothing is unpacked without one.

    Of several entries of one name the last counts, as for every program that unpacks.

    Args:
        most: members that are taken.
        most_bytes: that they may have together.
    """
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700)
    unpacker = _MemberUnpacker(folder, most, most_bytes)
    for entry in entries:
        unpacker.take(entry)
    # What was refused may have been taken at an earlier time: then nothing says that it is gone.
    whole = not unpacker.refused
    return UnpackedMembers(tuple(unpacker.members.values()), tuple(unpacker.caveats(kind)), whole)


@dataclass(slots=True)
class _MemberUnpacker:
    """Takes entries one by one, as a stream of them may come."""

    folder: Path | None
    most: int
    room: int
    members: dict[str, UnpackedMember] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    housekeeping: int = 0
    doubles: int = 0
    _count: int = 0

    def take(self, entry: ContainerEntry) -> None:
        path = clean_member_path(entry.name)
        if path is None:
            self._refuse(entry.name, "its name leads out of the container")
        elif is_housekeeping(path):
            self.housekeeping += 1
        elif len(path.encode()) > MOST_NAME:
            self._refuse(path, "its name is too long")
        elif entry.refusal:
            self._refuse(path, entry.refusal)
        elif self.folder is None:
            self._refuse(path, "containers are too deep within each other here")
        elif path not in self.members and len(self.members) >= self.most:
            self._refuse(path, f"only {self.most} are taken")
        else:
            self._write(path, entry, self.folder)

    def _write(self, path: str, entry: ContainerEntry, folder: Path) -> None:
        if entry.size > self.room:
            self._refuse(path, "together they unpack to more than one file may")
            return
        staged, self._count = folder / str(self._count), self._count + 1
        try:
            member = _write_member(path, entry, staged, self.room)
        except _TooMuch:
            staged.unlink(missing_ok=True)
            self._refuse(path, "together they unpack to more than one file may")
            return
        except (tarfile.TarError, *DAMAGED) as error:
            if means_full(error):
                raise
            staged.unlink(missing_ok=True)
            self._refuse(path, "it is damaged")
            return
        self.room -= member.size
        if (earlier := self.members.get(path)) is not None:
            self.doubles += 1
            Path(earlier.staged).unlink()
        self.members[path] = member

    def _refuse(self, name: str, why: str) -> None:
        shown = "".join(char if char.isprintable() else "?" for char in name[:80])
        self.refused.append(f"{shown} ({why})")

    def caveats(self, kind: Kind) -> Iterator[Caveat]:
        if (caveat := unread_members(kind, self.refused)) is not None:
            yield caveat
        notes = []
        if self.housekeeping:
            notes.append(f"{self.housekeeping} files that systems and programs keep for themselves")
        if self.doubles:
            notes.append(f"{self.doubles} earlier entries of a name that comes again")
        if notes:
            detail = "passed over: " + "; ".join(notes)
            yield Caveat(CaveatKind.PASSED_OVER, detail, self.housekeeping + self.doubles, whole=True)


def _write_member(path: str, entry: ContainerEntry, staged: Path, room: int) -> UnpackedMember:
    """Counted while the bytes come out, whatever the container says of them; on the disk before anybody is told."""
    state, size = hashlib.sha256(), 0
    with staged.open("wb") as file:
        for block in entry.read():
            size += len(block)
            if size > room:
                raise _TooMuch
            state.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return UnpackedMember(path, str(staged), state.hexdigest(), size)


def numbered_names(entries: Iterable[ContainerEntry]) -> Iterator[ContainerEntry]:
    """Entries with names of their own: letters carry several `image.png`, and each is another one."""
    taken: set[str] = set()
    for entry in entries:
        name, stem = entry.name, PurePosixPath(entry.name)
        number = 1
        while name in taken:
            number += 1
            name = str(stem.with_name(f"{stem.stem} ({number}){stem.suffix}")) if stem.name else f"{stem} ({number})"
        taken.add(name)
        yield replace(entry, name=name)
