"""The same text is embedded once, however many ask for it at the same moment."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.models.ports import EmbeddingLane

Compute = Callable[[Sequence[str], EmbeddingLane], Awaitable[NDArray[np.float32]]]


class _SharedCall:
    """Texts on their way, and how many callers wait for at least one of them."""

    def __init__(self, texts: Sequence[str], lane: EmbeddingLane, work: Awaitable[NDArray[np.float32]]) -> None:
        self.rows = {text: row for row, text in enumerate(texts)}
        self.lane = lane
        self.task = asyncio.ensure_future(work)
        self.callers = 0


class SingleFlight:
    """Joins callers who ask for the same texts at the same time.

    Only what is under way is shared, nothing is kept: that one text came a little sooner tells a caller no more than
    that the machine is shared. A question never waits for bulk work, which may take its time; bulk work joins both.
    """

    def __init__(self, compute: Compute) -> None:
        """`compute` makes one row for each of several different texts."""
        self._compute = compute
        self._flights: dict[EmbeddingLane, dict[str, _SharedCall]] = {lane: {} for lane in EmbeddingLane}

    async def vectors(self, texts: Sequence[str], lane: EmbeddingLane) -> dict[str, NDArray[np.float32]]:
        """The vector of each text; the texts are different from each other.

        A caller who gives up stops the work only where nobody else waits for it. An error reaches everybody who waits.
        """
        found = {text: flight for text in texts if (flight := self._find_call(text, lane))}
        fresh = [text for text in texts if text not in found]
        if fresh:
            found |= dict.fromkeys(fresh, self._start_call(fresh, lane))
        flights = set(found.values())
        for flight in flights:
            flight.callers += 1
        try:
            for flight in flights:
                await asyncio.shield(flight.task)
        finally:
            for flight in flights:
                flight.callers -= 1
                if flight.callers == 0:
                    self._forget_call(flight)
                    flight.task.cancel()
        return {text: flight.task.result()[flight.rows[text]] for text, flight in found.items()}

    def _find_call(self, text: str, lane: EmbeddingLane) -> _SharedCall | None:
        found = self._flights[EmbeddingLane.QUESTION].get(text)
        return found or (self._flights[EmbeddingLane.BULK].get(text) if lane is EmbeddingLane.BULK else None)

    def _start_call(self, texts: Sequence[str], lane: EmbeddingLane) -> _SharedCall:
        flight = _SharedCall(texts, lane, self._compute(texts, lane))
        self._flights[lane].update(dict.fromkeys(texts, flight))

        def landed(task: asyncio.Future[NDArray[np.float32]]) -> None:
            self._forget_call(flight)
            if not task.cancelled():
                task.exception()  # seen, also where everybody has gone

        flight.task.add_done_callback(landed)
        return flight

    def _forget_call(self, flight: _SharedCall) -> None:
        """Nobody joins it any more."""
        under_way = self._flights[flight.lane]
        for text in flight.rows:
            if under_way.get(text) is flight:
                del under_way[text]
