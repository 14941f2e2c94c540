"""Migrations as files: their text and hash, what each locks, for how long, and whether old code runs beside it.

From 0110 on a file says both itself, in comment lines at its head; what it leaves out is derived (`ddl_locks`):

    -- Held locks: jobs ACCESS EXCLUSIVE, moment; pages SHARE, 20 s/GiB.       or: -- Held locks: none.
    -- Old code: runs beside it.                                              or: -- Old code: needs a stop: WHY.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from cluster.basics.errors import InvalidSettings
from cluster.state.db.ddl_locks import (
    LockMode,
    LockWork,
    StatementEffect,
    TableLock,
    split_statements,
    statement_effect,
)

FOLDER = Path(__file__).parents[1] / "migrations"
VERSION_NEEDED = "a version that has this migration: `aos --version` names the last one that it has"
GIB = 2**30
MOMENT_SECONDS = 0.02
# Seconds for a GiB of a table with its indexes: twice what two cores and a warm cache take; a slow disk takes longer.
SECONDS_A_GIB: Mapping[LockWork, float] = MappingProxyType(
    {
        LockWork.MOMENT: 0.0,
        LockWork.SCAN: 5.0,
        LockWork.ROWS: 100.0,
        LockWork.INDEX: 80.0,
        LockWork.REWRITE: 90.0,
        LockWork.GRAPH: 600.0,
    }
)
_HEAD = re.compile(r"\A(?:--[^\n]*\n|\s*\n)*")
_LOCKS = re.compile(r"^-- Held locks: (.+?)\.?$", re.MULTILINE)
_OLD_CODE = re.compile(r"^-- Old code: (runs beside it|needs a stop: .+?)\.?$", re.MULTILINE)
_LOCK = re.compile(r"(\w+) ([A-Z ]+?), (moment|[\d.]+ s/GiB)")


@dataclass(frozen=True, slots=True)
class DeclaredLock:
    """A lock as a file's head declares it; `seconds_a_gib` of the table's size."""

    table: str
    mode: LockMode
    seconds_a_gib: float


@dataclass(frozen=True, slots=True)
class HeldLock:
    """The strongest lock of a migration on one table, held from its statement until the migration's end."""

    table: str
    mode: LockMode
    seconds: float


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One file.

    Attributes:
        effects: of its statements, in order.
        declared: locks that its head declares; None where it declares none of them, not even that there are none.
        stop: why code from before has to be stopped, as its head says; "" where it runs beside it, None where the head
            says neither.
        made: tables that it makes itself.
        breaks: why code from before would fail beside it, as derived.
        unread: how its statements begin that no rule knows.
    """

    name: str
    text: str
    effects: tuple[StatementEffect, ...]
    declared: tuple[DeclaredLock, ...] | None
    stop: str | None
    made: frozenset[str]
    breaks: tuple[str, ...]
    unread: tuple[str, ...]

    @property
    def hash(self) -> str:
        """Of the text, as `schema_migrations` keeps it."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def needs_stop(self) -> tuple[str, ...]:
        """Why code from before may not run beside it; empty where it may."""
        if self.stop is None:
            return self.breaks
        return (self.stop,) if self.stop else ()

    def locks(self) -> Iterator[TableLock]:
        """All that it takes on tables that others may have in use, in order."""
        return (lock for effect in self.effects for lock in effect.locks if lock.table not in self.made)

    def held_locks(self, sizes: Mapping[str, int]) -> list[HeldLock]:
        """The locks on the tables of `sizes` (bytes, indexes included), each with how long it is held at most."""
        begun: dict[str, float] = {}
        modes: dict[str, LockMode] = {}
        passed = 0.0
        for lock in self.locks():
            if lock.table in sizes:
                begun.setdefault(lock.table, passed)
                modes[lock.table] = max(lock.mode, modes.get(lock.table, lock.mode))
            passed += MOMENT_SECONDS + SECONDS_A_GIB[lock.work] * sizes.get(lock.table, 0) / GIB
        held = {table: HeldLock(table, modes[table], passed - begin) for table, begin in begun.items()}
        for said in self.declared or ():
            if said.table in sizes:
                seconds = MOMENT_SECONDS + said.seconds_a_gib * sizes[said.table] / GIB
                held[said.table] = HeldLock(said.table, said.mode, seconds)
        return sorted(held.values(), key=lambda one: (-one.mode, one.table))

    def new_bytes(self, sizes: Mapping[str, int]) -> int:
        """Disk that it takes at most: a table that is rewritten or changed stands there twice until it has ended."""
        written = {lock.table for lock in self.locks() if lock.work not in (LockWork.MOMENT, LockWork.SCAN)}
        return sum(sizes.get(table, 0) for table in written)


def read_migrations(folder: Path = FOLDER) -> list[MigrationFile]:
    """All files of a folder, in order. Raises InvalidSettings where a head cannot be read."""
    known: dict[str, str] = {}
    return [
        _read_file(path.name, path.read_text(encoding="utf-8"), known) for path in sorted(folder.glob("[0-9]*.sql"))
    ]


def last_migration(folder: Path = FOLDER) -> str:
    """The name of the newest file, which says more of code than the number of its release; empty without any."""
    return max((path.name for path in folder.glob("[0-9]*.sql")), default="")


def _read_file(name: str, text: str, known: dict[str, str]) -> MigrationFile:
    statements = split_statements(text)
    effects = tuple(statement_effect(tokens, known) for tokens in statements)
    made = frozenset(_made_tables(statements))
    head = _HEAD.match(text)
    top = "" if head is None else head.group()
    unread = tuple(" ".join(t[:4]) for t, effect in zip(statements, effects, strict=True) if not effect.known)
    breaks = tuple(_lasting(effects, statements, made))
    return MigrationFile(name, text, effects, _declared(name, top), _stop(top), made, breaks, unread)


def _declared(name: str, head: str) -> tuple[DeclaredLock, ...] | None:
    said = _LOCKS.search(head)
    if said is None:
        return None
    if said[1] == "none":
        return ()
    found = []
    for part in said[1].split(";"):
        match = _LOCK.fullmatch(part.strip())
        mode = "" if match is None else match[2].replace(" ", "_")
        if match is None or mode not in LockMode.__members__:
            raise InvalidSettings(
                f"{name}: the lock cannot be read: {part.strip()}", fix="TABLE MODE, moment | N s/GiB"
            )
        found.append(
            DeclaredLock(match[1], LockMode[mode], 0.0 if match[3] == "moment" else float(match[3].split()[0]))
        )
    return tuple(found)


def _stop(head: str) -> str | None:
    said = _OLD_CODE.search(head)
    if said is None:
        return None
    return said[1].removeprefix("needs a stop: ") if said[1].startswith("needs") else ""


def _made_tables(statements: Sequence[list[str]]) -> Iterator[str]:
    for tokens in statements:
        made = re.match(
            r"create (?:unlogged |temporary )?table (?:if not exists )?(?:public\.)?(\w+)", " ".join(tokens)
        )
        if made:
            yield made[1]


def _lasting(
    effects: Sequence[StatementEffect], statements: Sequence[list[str]], made: frozenset[str]
) -> Iterator[str]:
    """Why old code would fail: not for tables, columns and rules that the same file makes, or makes anew."""
    lines = [" ".join(tokens) for tokens in statements]
    whole = "\n".join(lines)
    added = {(table, column) for table, column in re.findall(r"(\w+)\.(\w+)", " ".join(_added_columns(lines)))}
    for effect, line in zip(effects, lines, strict=True):
        for why in effect.breaks:
            table = (effect.locks[0].table if effect.locks else "").removeprefix("public.")
            rule = re.match(r"adds the rule (\w+) to", why)
            if table in made or (rule and f"drop constraint {rule[1]}" in whole):
                continue
            named = set(re.findall(r"\w+", line.partition("(")[2].partition(")")[0]))
            if rule and named & {column for of, column in added if of == table}:
                continue
            yield why
    for name, kinds in re.findall(r"^drop function (?:if exists )?(\w+)(?: \( (.*?) ?\))?", whole, re.MULTILINE):
        again = re.findall(rf"^create (?:or replace )?function {name} \( (.*?) ?\) returns", whole, re.MULTILINE)
        if not any(_kinds(one) == _kinds(kinds) for one in again):
            yield f"drops the function {name}"


def _kinds(arguments: str) -> list[str]:
    """Types of a list of arguments, which may be named and have defaults."""
    parts = [part.strip().partition(" default ")[0] for part in arguments.split(",")]
    return [re.sub(r"^.* (?=\w+( \[ \])?$)", "", part) for part in parts if part]


def _added_columns(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if match := re.match(r"alter table (?:if exists )?(?:only )?(?:public\.)?(\w+) ", line):
            for column in re.findall(
                r"\badd (?:column )?(?!constraint\b|check\b|unique\b|foreign\b|primary\b)(\w+)", line
            ):
                yield f"{match[1]}.{column}"
