"""Locks that statements of a migration take on tables, derived from their text alone.

Modes are those of PostgreSQL's manual, "Explicit Locking" and the pages of the commands; what nobody has to wait for
(ACCESS SHARE, ROW SHARE) is left out. Statements behind an `if` count as if they ran: it is the most that a migration
may lock. Only identifiers without blanks are understood, as the migrations have no others.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class LockMode(IntEnum):
    """Modes of table locks, the weakest first."""

    ROW_EXCLUSIVE = 1
    SHARE_UPDATE_EXCLUSIVE = 2
    SHARE = 3
    SHARE_ROW_EXCLUSIVE = 4
    EXCLUSIVE = 5
    ACCESS_EXCLUSIVE = 6

    @property
    def title(self) -> str:
        """As SQL spells it."""
        return self.name.replace("_", " ")

    @property
    def stops(self) -> str:
        """The statements of others that wait while it is held."""
        if self is LockMode.ACCESS_EXCLUSIVE:
            return "reads and writes"
        return "writes" if self >= LockMode.SHARE else "nothing but changes of the same rows"


class LockWork(StrEnum):
    """The work that is done while a lock is held: of its size depends how long."""

    MOMENT = "moment"  # the catalogue alone
    SCAN = "scan"  # each row is looked at
    ROWS = "rows"  # rows are changed, all of them at most
    INDEX = "index"
    REWRITE = "rewrite"  # the table and all its indexes
    GRAPH = "graph"  # an index over vectors


@dataclass(frozen=True, slots=True)
class TableLock:
    """A lock on one table, and what is done under it."""

    table: str
    mode: LockMode
    work: LockWork = LockWork.MOMENT


@dataclass(frozen=True, slots=True)
class StatementEffect:
    """The locks of one statement, in order, and why code from before would fail beside it; `known` of its kind."""

    locks: tuple[TableLock, ...] = ()
    breaks: tuple[str, ...] = ()
    known: bool = True


TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|(\$\w*\$).*?\1|\"[^\"]+\"|[\w.]+|::|[^\s\w]", re.DOTALL)
HARMLESS = re.compile(
    r"(create (or replace )?(function|view|extension|role|type|schema|sequence|temporary table)"
    r"|drop (function|type|role)|alter (function|extension|role|sequence|default)|grant|revoke|set|select|perform"
    r"|begin|declare|if|end|else|elsif|for|foreach|loop|return|raise|exception"
    r"|comment on (function|type|schema|extension|trigger|constraint|policy))\b"
)
VOLATILE = re.compile(r"default \(?\w*(gen_random_uuid|random|clock_timestamp|nextval|uuidv7|uuid_generate)\w* ?\(")
GRAPH = re.compile(r"using (hnsw|ivfflat|diskann|bm25)\b")
NAME = r"(?:public\.)?(\w+)"
INNER = re.compile(r"\b(grant|revoke|create|alter|drop|update|delete|insert|truncate|lock|execute|analyze|comment)\b")
_AE, _SRE, _SUE, _RE = (
    LockMode.ACCESS_EXCLUSIVE,
    LockMode.SHARE_ROW_EXCLUSIVE,
    LockMode.SHARE_UPDATE_EXCLUSIVE,
    LockMode.ROW_EXCLUSIVE,
)


def split_statements(text: str) -> list[list[str]]:
    """The statements of a script as tokens in lower case, without comments; bodies and strings are one token each."""
    found: list[list[str]] = [[]]
    for match in TOKEN.finditer(text):
        token = match.group()
        if token == ";":
            found.append([])
        elif not token.startswith(("--", "/*")):
            found[-1].append(token if token[0] in "'$" else token.lower().strip('"'))
    return [tokens for tokens in found if tokens]


def statement_effect(tokens: list[str], known: dict[str, str]) -> StatementEffect:
    """The effect of one statement.

    `known` are tables by the name of their index, and tables that a foreign key leads to by `TABLE.CONSTRAINT`; it
    learns those that are made.
    """
    if tokens[0] == "do":
        return _block_effect(next(token for token in tokens if token.startswith("$")), known)
    line = _line(tokens)
    if match := re.match(rf"alter table (?:if exists )?(?:only )?{NAME}(?: \*)? (.*)", line):
        return _altered(match[1], match[2], known)
    index = rf"create (unique )?index (concurrently )?(?:if not exists )?(?:(\w+) )?on (?:only )?{NAME} (.*)"
    if match := re.match(index, line):
        return _indexed(match, known)
    if match := re.match(r"drop index (concurrently )?(?:if exists )?(.*)", line):
        return _index_dropped(match, known)
    if match := re.match(rf"create (?:unlogged )?table (?:if not exists )?{NAME} \((.*)\)", line):
        _learn_keys(match[1], _top_level(match[2]), known)
    return _other_effect(line)


def _learn_keys(table: str, parts: Iterable[str], known: dict[str, str]) -> None:
    """Foreign keys of a table's columns and rules, by the names that they are given or get."""
    for part in parts:
        other = re.search(rf"references {NAME}", part)
        named = re.match(r"(?:add )?constraint (\w+)|(?:add )?(?:column )?(?:if not exists )?(\w+)", part)
        if other and named:
            known[f"{table}.{named[1] or f'{table}_{named[2]}_fkey'}"] = other[1]


def _line(tokens: list[str]) -> str:
    """One line with single blanks; strings are empty, so that no word in them counts."""
    words = ["''" if token.startswith("'") else "$$" if token.startswith("$") else token for token in tokens]
    return " ".join(words).replace(" (", "(").replace("(", " (").replace("( ", "(").replace(" )", ")")


def _altered(table: str, rest: str, known: dict[str, str]) -> StatementEffect:
    effects = []
    for action in _top_level(rest):
        effects.append(_action(table, action))
        gone = re.match(r"drop constraint (?:if exists )?(\w+)", action)
        if gone and (other := known.get(f"{table}.{gone[1]}")):
            effects.append(StatementEffect((TableLock(other, _AE),)))
        _learn_keys(table, [action], known)
    locks = tuple(lock for effect in effects for lock in effect.locks)
    return StatementEffect(locks, tuple(why for effect in effects for why in effect.breaks))


def _top_level(text: str) -> Iterator[str]:
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield text[begin:place].strip()
            begin = place + 1
    yield text[begin:].strip()


def _action(table: str, action: str) -> StatementEffect:
    """One part of an ALTER TABLE."""
    other = re.search(rf"references {NAME}", action)
    referenced = (TableLock(other[1], _SRE),) if other else ()
    if action.startswith("validate constraint"):
        return StatementEffect((TableLock(table, _SUE, LockWork.SCAN),))
    if re.match(r"(set \(|reset \(|attach partition|alter (column )?\w+ set (statistics|\())", action):
        return StatementEffect((TableLock(table, _SUE),))
    if re.match(r"add (constraint \w+ )?foreign key", action):
        work = LockWork.MOMENT if "not valid" in action else LockWork.SCAN
        return StatementEffect((TableLock(table, _SRE, work), *referenced), _new_rule(table, action))
    if re.match(r"(enable|disable) (always |replica )?trigger", action):
        return StatementEffect((TableLock(table, _SRE),))
    if match := re.match(r"add (constraint \w+ )?(check|unique|primary key|exclude)", action):
        work = LockWork.SCAN if match[2] == "check" else LockWork.INDEX
        work = LockWork.MOMENT if "not valid" in action or "using index" in action else work
        return StatementEffect((TableLock(table, _AE, work),), _new_rule(table, action))
    if match := re.match(r"add (?:column )?(?:if not exists )?(\w+) ", action):
        return _column_added(table, match[1], action, referenced)
    if match := re.match(r"drop (?:column )?(?:if exists )?(?!constraint\b)(\w+)", action):
        return StatementEffect((TableLock(table, _AE),), (f"drops {table}.{match[1]}",))
    if re.match(r"rename (?!constraint\b)", action):
        return StatementEffect((TableLock(table, _AE),), (f"renames {table} {action.removeprefix('rename ')}",))
    if match := re.match(r"alter (?:column )?(\w+) (.*)", action):
        return _column_altered(table, match[1], match[2])
    return StatementEffect((TableLock(table, _AE),))


def _new_rule(table: str, action: str) -> tuple[str, ...]:
    named = re.match(r"add constraint (\w+)", action)
    return (f"adds the rule {named[1] if named else action.split()[1]} to {table}",)


def _column_added(table: str, column: str, action: str, referenced: tuple[TableLock, ...]) -> StatementEffect:
    work = LockWork.MOMENT
    if VOLATILE.search(action) or re.search(r"\) stored\b|\bserial\b|as identity", action):
        work = LockWork.REWRITE
    elif re.search(r"\b(unique|primary key)\b", action):
        work = LockWork.INDEX
    elif re.search(r"\bcheck \(", action) or (referenced and " default " in action):
        work = LockWork.SCAN
    needed = "not null" in action and not re.search(r"\b(default|generated)\b", action)
    why = (f"adds {table}.{column}, which may not be empty and has no default",) if needed else ()
    return StatementEffect((TableLock(table, _AE, work), *referenced), why)


def _column_altered(table: str, column: str, change: str) -> StatementEffect:
    if re.match(r"(set data )?type\b", change):
        return StatementEffect((TableLock(table, _AE, LockWork.REWRITE),), (f"changes the type of {table}.{column}",))
    if change.startswith("set not null"):
        return StatementEffect((TableLock(table, _AE, LockWork.SCAN),), (f"{table}.{column} may not be empty",))
    if change.startswith("drop default"):
        return StatementEffect((TableLock(table, _AE),), (f"{table}.{column} has no default any more",))
    return StatementEffect((TableLock(table, _AE),))


def _indexed(match: re.Match[str], known: dict[str, str]) -> StatementEffect:
    unique, concurrently, name, table, rest = match.groups()
    columns = "_".join(re.findall(r"\w+", rest.partition("(")[2].partition(")")[0]))
    known[name or f"{table}_{columns}_idx"] = table
    work = LockWork.GRAPH if GRAPH.search(rest) else LockWork.INDEX
    mode = _SUE if concurrently else LockMode.SHARE
    why = (f"adds the rule {name or 'unique'} to {table}",) if unique else ()
    return StatementEffect((TableLock(table, mode, work),), why)


def _index_dropped(match: re.Match[str], known: dict[str, str]) -> StatementEffect:
    mode = _SUE if match[1] else _AE
    names = [part.strip().removeprefix("public.").split()[0] for part in match[2].split(",")]
    return StatementEffect(tuple(TableLock(known.get(name, f"of the index {name}"), mode) for name in names))


def _other_effect(line: str) -> StatementEffect:
    """What is neither an ALTER TABLE nor of an index."""
    if match := re.match(rf"create (?:or replace )?(?:constraint )?trigger \w+ .*? on {NAME} ", line):
        return StatementEffect((TableLock(match[1], _SRE),))
    if match := re.match(rf"(?:create|alter|drop) (?:policy|rule) (?:if exists )?\w+ on {NAME}", line):
        return StatementEffect((TableLock(match[1], _AE),))
    if match := re.match(rf"drop trigger (?:if exists )?\w+ on {NAME}", line):
        return StatementEffect((TableLock(match[1], _AE),))
    if match := re.match(rf"create (?:unlogged )?table (?:if not exists )?{NAME}", line):
        parent = re.search(rf"partition of {NAME}", line)
        others = [TableLock(one, _SRE) for one in re.findall(rf"references {NAME}", line) if one != match[1]]
        return StatementEffect((*others, *([TableLock(parent[1], _AE)] if parent else [])))
    if match := re.match(
        r"drop (?:table|view|materialized view) (?:if exists )?([\w., ]+?)(?: cascade| restrict)?$", line
    ):
        gone = [name.strip().removeprefix("public.") for name in match[1].split(",")]
        return StatementEffect(tuple(TableLock(name, _AE) for name in gone), tuple(f"drops {name}" for name in gone))
    if match := re.match(rf"truncate (?:table )?(?:only )?{NAME}", line):
        return StatementEffect((TableLock(match[1], _AE),), (f"empties {match[1]}",))
    if match := re.match(rf"comment on (?:table|column) {NAME}(?:\.\w+)?", line):
        return StatementEffect((TableLock(match[1].partition(".")[0], _SUE),))
    if match := re.match(rf"lock (?:table )?(?:only )?{NAME}(?: in ([a-z ]+) mode)?", line):
        held = (match[2] or "access exclusive").upper().replace(" ", "_")
        return StatementEffect((TableLock(match[1], LockMode[held]),) if held in LockMode.__members__ else ())
    if match := re.match(rf"(?:analyze|create statistics .*? from) {NAME}", line):
        return StatementEffect((TableLock(match[1], _SUE, LockWork.SCAN),))
    changed = re.findall(
        rf"\b(?:insert into|delete from(?: only)?|(?<!for )(?<!do )(?<!key )update(?: only)?) {NAME}", line
    )
    if changed and re.match(r"(with|insert|update|delete)\b", line):
        return StatementEffect(
            tuple(TableLock(table, _RE, LockWork.ROWS) for table in dict.fromkeys(changed) if table != "set")
        )
    return StatementEffect(known=bool(HARMLESS.match(line) or line.startswith("with ")))


def _block_effect(body: str, known: dict[str, str]) -> StatementEffect:
    """A DO block: each statement in it, and each text that it executes, for each name that it has in quotes."""
    inside = re.sub(r"^\$\w*\$|\$\w*\$$", "", body)
    names = re.findall(r"'(\w+)'", re.sub(r"--[^\n]*", "", inside))
    found: list[StatementEffect] = []
    for tokens in split_statements(inside):
        start = next((place for place, token in enumerate(tokens) if INNER.fullmatch(token)), None)
        if start is None:
            continue
        if tokens[start] != "execute":
            found.append(statement_effect(tokens[start:], known))
            continue
        quoted = [token[1:-1].replace("''", "'") for token in tokens[start:] if token.startswith("'")]
        text = "".join(quoted)
        for name in names if "%I" in text else [""]:
            for inner in split_statements(text.replace("%I", name).replace("%s", "true")):
                found.append(statement_effect(inner, known))
    return StatementEffect(
        tuple(dict.fromkeys(lock for effect in found for lock in effect.locks)),
        tuple(dict.fromkeys(why for effect in found for why in effect.breaks)),
        all(effect.known for effect in found),
    )
