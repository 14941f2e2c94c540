"""Feedback on answers: a thumb and perhaps a word for each run, one of each person."""

from typing import Literal

from cluster.basics.ids import scoped_id
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction

Thumb = Literal["up", "down"]


class FeedbackStore(SqlStore, queries="feedback.sql"):
    """Opinions; the caller has checked that the person may read the run."""

    async def give(self, tx: Transaction, scope: Scope, run: str, thumb: Thumb, word: str) -> Row:
        """The person's opinion, in place of an earlier one. Raises NotFound where there is none."""
        values = {**scoped_id(scope, "run", run), "user": scope.user, "thumb": thumb, "word": word}
        return await tx.required(f"run {run}", self._sql["give"], **values)

    async def take_back(self, tx: Transaction, scope: Scope, run: str) -> bool:
        """Forget the person's opinion; False where there was none."""
        return await tx.one(self._sql["take_back"], **scoped_id(scope, "run", run), user=scope.user) is not None

    async def of_run(self, scope: Scope, run: str) -> list[Row]:
        """Every opinion of a run, the newest first."""
        return await self._db.read(scope, self._sql["of_run"], **scoped_id(scope, "run", run))
