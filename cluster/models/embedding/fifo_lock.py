"""One piece of work at a time, in the order in which they came."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

Result = TypeVar("Result")


class FifoLock:
    """A queue in front of a model that can do one thing at a time; outlives the event loop it was used in."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do `work` in a thread when its turn has come.

        A caller that gives up while waiting loses its place; once the work has begun it is finished, because a thread
        cannot be stopped, and only then the next one begins.
        """
        await self._acquire_lock()
        task = asyncio.create_task(asyncio.to_thread(work))
        task.add_done_callback(lambda _: self._release_lock())
        return await asyncio.shield(task)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The model is the caller's for the length of the block, which has to outlive every thread it starts."""
        await self._acquire_lock()
        try:
            yield
        finally:
            self._release_lock()

    async def _acquire_lock(self) -> None:
        if not self._busy:
            self._busy = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release_lock()
            raise

    def _release_lock(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False
