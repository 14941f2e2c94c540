"""Has the BM25 index made anew before it would write to disk what it holds in memory, which it writes as it came."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster.basics.errors import Unavailable
from cluster.state.db.postgres import Database, load_queries

log = logging.getLogger(__name__)

_SQL: Final = load_queries(Path(__file__).with_suffix(".sql"))
_TABLE: Final = "document_chunks"
_TRIES: Final = 3
_PAUSE: Final = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class RefreshLimits:
    """When the index is made anew, and when places of rows that went are given back.

    Attributes:
        waiting: share of all chunks that may be in memory, `least_waiting` at least and `most_waiting` at most. Each
            takes 2.3 KB there, and is looked at by every question that has one of its words: 20,000 take 4 ms and
            40,000 take 11 (eight words, p50), as long as a whole search.
        gone: share of all rows that may have gone, `least_gone` at least.
        few_waiting: chunks in memory with which places are given back: a vacuum writes them.
    """

    waiting: float = 0.2
    least_waiting: int = 10_000
    most_waiting: int = 40_000
    gone: float = 0.2
    least_gone: int = 1_000
    few_waiting: int = 100


class KeywordRefresh:
    """For pg_textsearch before 1.2, whose index is sound where it was made at one go, and in memory.

    What it writes from memory later is not sorted, as its search takes it to be: words of a chunk are passed over then,
    and a question may never end.
    """

    def __init__(
        self,
        database: Database,
        limits: RefreshLimits | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`database` is the application's."""
        self._database, self._limits, self._sleep = database, limits or RefreshLimits(), sleep

    async def refresh(self) -> bool:
        """Make the index anew if it is time; True where another is asked from now on.

        Who writes chunks waits for as long as it takes, 48 s for a million; who asks goes on. It rests four times as
        long before the next one.

        Raises:
            Unavailable: Postgres cannot be reached, or the table is held by others for too long.
            psycopg.Error: it cannot be made, or is damaged.
        """
        if not await self._answer("needs_care") or (state := await self._read_state()) is None:
            return False
        limits, waiting = self._limits, state["waiting"]
        cluttered = state["cluttering"] >= max(limits.least_gone, limits.gone * state["chunks"])
        most = min(max(limits.least_waiting, limits.waiting * state["chunks"]), limits.most_waiting)
        due = state["written"] or waiting > most or (cluttered and waiting > limits.few_waiting)
        taken = due and state["rested"] and await self._replace()
        return (cluttered and await self._give_places_back()) or taken

    async def _replace(self) -> bool:
        await self._answer("make_spare")
        for _ in range(_TRIES):
            taken = await self._answer("take_spare")
            if taken is not False:
                if taken:
                    log.info("the keyword index was made anew beside the one that was asked")
                return bool(taken)
            await self._sleep(_PAUSE)
        raise Unavailable(
            f"{_TABLE} is held by others: the new keyword index is not asked yet",
            fix="Wait: once a long query or a dump has ended, a worker tries again.",
        )

    async def _give_places_back(self) -> bool:
        """True where what was in memory had to be written for it, and another index is asked at once."""
        state = await self._read_state()
        if state is None or state["written"] or state["waiting"] > self._limits.few_waiting:
            return False
        if await self._database.vacuum(_TABLE):
            async with self._database.transaction() as tx:
                await tx.run(_SQL["given_back"], gone=state["gone"])
        state = await self._read_state()
        return state is not None and state["written"] and await self._replace()

    async def _read_state(self) -> dict[str, Any] | None:
        async with self._database.transaction() as tx:
            return await tx.one(_SQL["state"])

    async def _answer(self, query: str) -> bool | None:
        answer: bool | None = await query_answer(self._database, _SQL[query])
        return answer


async def query_answer(database: Database, query: str, **values: Any) -> Any:
    """The `answer` of a query's row, None without one; it takes as long as it takes."""
    async with database.transaction() as tx:
        await tx.run("set local statement_timeout = 0")
        row = await tx.one(query, **values)
    return row["answer"] if row else None
