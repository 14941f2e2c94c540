"""Feedback on answers: a thumb and perhaps a word for each run, one of each person."""

from pathlib import Path
from typing import Literal

from cluster.basics.errors import NotFound
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries

Thumb = Literal["up", "down"]


class FeedbackStore:
    """Opinions; the caller has checked that the person may read the run."""

    def __init__(self, database: Database) -> None:
        """Queries are read from feedback.sql beside this file."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def give(self, tx: Transaction, scope: Scope, run: str, thumb: Thumb, word: str) -> Row:
        """The person's opinion, in place of an earlier one.

        Raises:
            NotFound: no such run in this scope.
        """
        row = await tx.one(self._sql["give"], **_run_values(scope, run), user=scope.user, thumb=thumb, word=word)
        if row is None:
            raise NotFound(f"run {run}")
        return row

    async def take_back(self, tx: Transaction, scope: Scope, run: str) -> bool:
        """Forget the person's opinion; False where there was none."""
        return await tx.one(self._sql["take_back"], **_run_values(scope, run), user=scope.user) is not None

    async def of_run(self, scope: Scope, run: str) -> list[Row]:
        """Every opinion of a run, the newest first."""
        return await self._db.read(scope, self._sql["of_run"], **_run_values(scope, run))


def _run_values(scope: Scope, run: str) -> dict[str, str]:
    return {"run": uuid_of(run, "run"), **scope.keys}
