"""Golden sets of a workspace: what is asked, what is expected, and which of them guard the index."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from serve_apps.retrieval.golden.question_form import MOST_QUESTIONS, GoldenQuestion

MOST_SETS = 1_000


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Name of a set; with `gate` the next index has to find what it expects, at a recall of `least_recall`."""

    name: str
    description: str = ""
    gate: bool = False
    least_recall: float | None = None


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """Questions that are there now, and how many of those that were there before went."""

    total: int
    removed: int


class GoldenSets:
    """Statements about golden sets and their questions."""

    def __init__(self, database: Database) -> None:
        """Queries are read from sets.sql beside this file."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of sets by name, and how many there are."""
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["page"], **scope.keys, set=None, skip=skip, limit=limit)
            total = await tx.one(self._sql["count"], **scope.keys)
        return rows, int(total["total"]) if total else 0

    async def show(self, scope: Scope, set_id: str) -> Row:
        """One set; raises NotFound where there is none with this id."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["page"], **scope.keys, set=set_id, skip=0, limit=1)
        return _require_set(row, set_id)

    async def add(self, tx: Transaction, scope: Scope, facts: SetFacts) -> str:
        """A new set's id; raises Conflict where the name is taken, or there are too many sets."""
        total = await tx.one(self._sql["count"], **scope.keys)
        if total and total["total"] >= MOST_SETS:
            raise Conflict(f"a workspace has at most {MOST_SETS} golden sets")
        row = await tx.one(self._sql["add"], **scope.keys, **asdict(facts), user=scope.user)
        if row is None:
            raise Conflict(f"there is a golden set called {facts.name}", fix="Change that one, or choose another name.")
        return str(row["id"])

    async def change(self, tx: Transaction, scope: Scope, set_id: str, facts: SetFacts) -> None:
        """Give a set other facts; raises NotFound where there is none such, Conflict where the name is another's."""
        _require_set(await tx.one(self._sql["hold"], **scope.keys, set=set_id), set_id)
        if await tx.one(self._sql["change"], **scope.keys, set=set_id, **asdict(facts)) is None:
            raise Conflict(f"there is another golden set called {facts.name}")

    async def remove(self, tx: Transaction, scope: Scope, set_id: str) -> None:
        """Take a set away with its questions and its runs; raises NotFound where there is no such set."""
        _require_set(await tx.one(self._sql["remove"], **scope.keys, set=set_id), set_id)

    async def put(
        self, tx: Transaction, scope: Scope, set_id: str, questions: Sequence[GoldenQuestion], *, replace: bool = False
    ) -> ImportCounts:
        """Add questions, or change those with the same key; with `replace` no others stay.

        Raises NotFound where there is no such set, Invalid where there would be too many questions.
        """
        named = scope.keys | {"set": set_id}
        _require_set(await tx.one(self._sql["hold"], **named), set_id)
        keys = [one.key for one in questions]
        removed = await tx.run(self._sql["remove_others"], **named, keys=keys) if replace else 0
        rows = Jsonb([asdict(one) for one in questions])
        await tx.run(self._sql["put_questions"], **named, user=scope.user, questions=rows)
        await tx.run(self._sql["touched"], **named)
        total = await tx.one(self._sql["count_questions"], **named)
        count = int(total["total"]) if total else 0
        if count > MOST_QUESTIONS:
            raise Invalid(f"{count} questions; a set has at most {MOST_QUESTIONS}")
        return ImportCounts(count, removed)

    async def remove_question(self, tx: Transaction, scope: Scope, set_id: str, key: str) -> None:
        """Take one question away; results of earlier runs stay. Raises NotFound where there is none with this key."""
        if await tx.one(self._sql["remove_question"], **scope.keys, set=set_id, key=key) is None:
            raise NotFound(f"question {key}")
        await tx.run(self._sql["touched"], **scope.keys, set=set_id)

    async def questions(
        self, scope: Scope, set_id: str, skip: int = 0, limit: int = MOST_QUESTIONS
    ) -> tuple[list[GoldenQuestion], int]:
        """A page of questions in their order, and how many there are; raises NotFound where there is no such set."""
        await self.show(scope, set_id)
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["questions"], **scope.keys, set=set_id, skip=skip, limit=limit)
            total = await tx.one(self._sql["count_questions"], **scope.keys, set=set_id)
        return [_question_from_row(row) for row in rows], int(total["total"]) if total else 0


def _require_set(row: Row | None, set_id: str) -> Row:
    if row is None:
        raise NotFound(f"golden set {set_id}")
    return row


def _question_from_row(row: Row) -> GoldenQuestion:
    lists = {name: tuple(row[name]) for name in ("documents", "passages", "answers")}
    return GoldenQuestion(row["key"], row["question"], **lists, answerable=row["answerable"])
