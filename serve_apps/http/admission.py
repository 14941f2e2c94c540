"""Admission control for searches and answers: bounds a queue by its measured service time and refuses the rest."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from cluster.basics.cleanup import cleanup_on_error
from cluster.basics.errors import Overloaded

NEWEST = 0.1  # of the mean of service times is what the last request took


class Crowded(Overloaded):
    """More requests wait than can be answered in time."""

    code = "crowded"
    fix = "Try again after the seconds in Retry-After."

    def __init__(self, detail: str, retry_after: float) -> None:
        """`retry_after`: seconds after which there is room, as far as is known."""
        super().__init__(detail)
        self.retry_after = max(1.0, retry_after)


class AdmissionQueue:
    """A queue in front of some places; first come, first served.

    Who comes is told at once how it stands: the requests ahead, shared among the places, each for as long as requests
    take on average (an exponentially weighted mean of those that had a place), and its own after that (Little 1961).
    Where that is longer than `seconds`, or turns out to be, it is refused. Nothing is refused while a place is free.
    """

    def __init__(self, places: int, seconds: Callable[[], float], clock: Callable[[], float]) -> None:
        """`places` requests run at a time; an answer may take `seconds`; `clock` gives seconds that only grow."""
        self._free, self._places, self._seconds, self._clock = places, places, seconds, clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._service = 0.0

    @property
    def expected(self) -> float:
        """Seconds after which whoever comes now would have its answer."""
        rounds = 0.0 if self._free else (len(self._waiting) + 1) / self._places
        return (rounds + 1) * self._service

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place for as long as the block runs. Raises Crowded: the answer would come too late."""
        if not self._free:
            await self._wait_for_place()
        else:
            self._free -= 1
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            self._service += (took - self._service) * (NEWEST if self._service else 1)
            self._release_place()

    async def _wait_for_place(self) -> None:
        expected, most = self.expected, self._seconds()
        if expected > most:
            raise Crowded(f"{len(self._waiting)} requests wait; an answer would take {expected:.0f} s", expected - most)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            with cleanup_on_error(partial(self._give_up, turn)):
                async with asyncio.timeout(max(most - self._service, 0)):
                    await turn
        except TimeoutError:  # nobody but the limit raises one: who gives a place has no error to give
            raise Crowded(f"no place became free within {most:g} s", self.expected) from None

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._release_place()  # it was given a place, and will not use it
        elif turn in self._waiting:
            self._waiting.remove(turn)

    def _release_place(self) -> None:
        """Hand the place on to the next one who still waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
