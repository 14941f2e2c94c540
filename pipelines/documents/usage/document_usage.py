"""Rows of what answers used: how often each document, and which of its passages; no question, and nobody who asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore

MOST_PASSAGES: Final = 100  # of one answer
_USE: Final = "use of documents"


@dataclass(frozen=True, slots=True)
class PassageUse:
    """A passage that an answer had before it; `cited` says whether the answer rests on it.

    `chunk` is "" where the answer rests on a table of the document; `relevance` is the score it was found with.
    """

    document: str
    chunk: str
    relevance: float | None
    cited: bool


@dataclass(frozen=True, slots=True)
class AnswerUse:
    """An answer, by its id (a UUID) and the worker's scope in its workspace, with what it used, and when."""

    scope: Scope
    answer: str
    passages: tuple[PassageUse, ...]
    at: datetime

    @property
    def use_id(self) -> UUID:
        """The same for an answer that is told again. It is made of the answer's id: who has that id can make it too, so
        nobody is shown it, and those who read the table beside the answers can tell which answer a use is of.
        """
        return uuid5(UUID(self.answer), _USE)


def passages_used(
    found: Iterable[PassageUse], cited: Iterable[PassageUse], *, whole: bool = True
) -> tuple[PassageUse, ...]:
    """Each passage once: those that are cited, with the score they were found with, then the others that were found.

    `whole`: without it the others were before nobody, and are left out.
    """
    found = list(found)
    scores = {(one.document, one.chunk): one.relevance for one in found}
    used: dict[tuple[str, str], PassageUse] = {}
    for one in [*cited, *(one for one in found if one.cited)]:
        key = (one.document, one.chunk)
        used[key] = PassageUse(*key, scores.get(key, one.relevance), True)
    for one in found if whole else ():
        used.setdefault((one.document, one.chunk), one)
    return tuple(used.values())[:MOST_PASSAGES]


class DocumentUsage(SqlStore, queries="document_usage.sql"):
    """Counts of use, and their newest rows."""

    async def add(self, scope: Scope, uses: Sequence[AnswerUse]) -> None:
        """Count answers of one workspace; one that was counted before changes nothing.

        A document that is deleted, or whose readers are changed, at this moment is passed over: nobody waits.
        """
        rows = [(use, passage) for use in uses for passage in use.passages]
        async with self._db.transaction(scope) as tx:
            await tx.run(
                self._sql["add"],
                **scope.keys,
                uses=[use.use_id for use, _ in rows],
                documents=[one.document for _, one in rows],
                chunks=[one.chunk for _, one in rows],
                scores=[None if one.relevance is None else float(one.relevance) for _, one in rows],
                cited=[one.cited for _, one in rows],
                at=[use.at for use, _ in rows],
            )

    async def newest(self, scope: Scope, document: str, most: int) -> list[Row]:
        """The passages of a document that answers used last."""
        return await self._db.read(scope, self._sql["newest"], **scope.keys, document=document, most=most)
