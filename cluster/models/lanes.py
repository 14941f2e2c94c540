"""One piece of work at a time, and a waiting question goes before waiting bulk work."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from cluster.models.ports import Lane

Result = TypeVar("Result")


class Lanes:
    """A queue with two lanes in front of a model that can do one thing at a time."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting: dict[Lane, deque[asyncio.Future[None]]] = {lane: deque() for lane in Lane}

    async def run(self, lane: Lane, work: Callable[[], Result]) -> Result:
        """Do `work` in a thread when its turn has come.

        A caller that gives up while waiting loses its place; once the work has begun it is finished, because a thread
        cannot be stopped, and only then the next one begins.
        """
        await self._enter(lane)
        task = asyncio.create_task(asyncio.to_thread(work))
        task.add_done_callback(lambda _: self._leave())
        return await asyncio.shield(task)

    @asynccontextmanager
    async def turn(self, lane: Lane) -> AsyncIterator[None]:
        """The model is the caller's for the length of the block, which has to outlive every thread it starts."""
        await self._enter(lane)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, lane: Lane) -> None:
        if not self._busy:
            self._busy = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        for lane in (Lane.QUESTION, Lane.BULK):
            while self._waiting[lane]:
                turn = self._waiting[lane].popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._busy = False
