"""Windows of many callers in batches that suit a model: of like length, within a budget, questions before bulk work."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Overloaded
from cluster.models.encoder import Window
from cluster.models.lanes import Lanes
from cluster.models.pace import Pace
from cluster.models.ports import Lane

Encode = Callable[[Sequence[Window]], NDArray[np.float32]]


@dataclass(slots=True, eq=False)
class _Call:
    """One caller's windows.

    Attributes:
        waiting: indices of those that no batch has yet, the longest first.
        tokens: how many those have.
        rows: their vectors, as far as they are known.
    """

    windows: Sequence[Window]
    waiting: deque[int]
    tokens: int
    done: asyncio.Future[None]
    rows: dict[int, NDArray[np.float32]] = field(default_factory=dict)


class Batching:
    """Gathers what several callers wait for into batches, and lets one batch at a time through a model.

    Callers of a lane take turns, so that one text waits for a batch of each other caller and not for all their texts.
    The windows of a batch are at most twice as long as its shortest one: more padding costs more than another pass.
    """

    def __init__(self, encode: Encode, lanes: Lanes, pace: Pace, limit: int, clock: Callable[[], float]) -> None:
        """Nothing runs yet.

        Args:
            encode: what the model does; called in a thread, with one batch.
            lanes: who else uses the model.
            pace: how large a batch may be.
            limit: tokens that may wait in a lane; who comes while there are as many is refused.
            clock: seconds that only grow.
        """
        self._encode, self._lanes, self._pace = encode, lanes, pace
        self._limit, self._clock = limit, clock
        self._calls: dict[Lane, deque[_Call]] = {lane: deque() for lane in Lane}
        self._work: asyncio.Task[None] | None = None

    def waiting(self, lane: Lane) -> int:
        """Tokens that wait in a lane."""
        return sum(call.tokens for call in self._calls[lane])

    async def vectors(self, windows: Sequence[Window], lane: Lane) -> NDArray[np.float32]:
        """What the model makes of each window, in order: shape (len(windows), dimension); at least one window.

        A caller that gives up takes along what no batch has yet.

        Raises:
            Overloaded: too many tokens wait in this lane.
        """
        if (waiting := self.waiting(lane)) >= self._limit:
            raise Overloaded(f"{waiting} tokens wait to be embedded already")
        if lane is Lane.QUESTION:
            self._pace.asked()
        order = sorted(range(len(windows)), key=lambda at: len(windows[at]), reverse=True)
        done = asyncio.get_running_loop().create_future()
        call = _Call(windows, deque(order), sum(map(len, windows)), done)
        self._calls[lane].append(call)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run())
        try:
            await done
        finally:
            if call.waiting:
                self._calls[lane].remove(call)
        return np.stack([call.rows[at] for at in range(len(windows))])

    async def _run(self) -> None:
        """Batch after batch, until nobody waits."""
        while any(self._calls.values()):
            async with self._lanes.turn(self._next()):
                lane = self._next()
                batch = self._take(self._calls[lane], self._pace.budget(lane))
                if not batch:
                    continue
                windows = [call.windows[at] for call, at in batch]
                begun = self._clock()
                task = asyncio.ensure_future(asyncio.to_thread(self._encoded, windows))
                await asyncio.wait([task])
            if task.exception() is None:
                self._pace.took(len(windows) * max(map(len, windows)), self._clock() - begun)
            _deliver(batch, task)

    def _next(self) -> Lane:
        return Lane.QUESTION if self._calls[Lane.QUESTION] else Lane.BULK

    def _take(self, calls: deque[_Call], budget: int) -> list[tuple[_Call, int]]:
        """The next batch: of the caller whose turn it is, filled up with what others have of the same length."""
        batch: list[tuple[_Call, int]] = []
        longest = shortest = 0
        for call in list(calls):
            while call.waiting:
                size = len(call.windows[call.waiting[0]])
                wide, narrow = max(longest, size), min(shortest or size, size)
                if batch and (wide * (len(batch) + 1) > budget or wide > 2 * narrow):
                    break
                longest, shortest = wide, narrow
                batch.append((call, call.waiting.popleft()))
                call.tokens -= size
            if not call.waiting:
                calls.remove(call)
        if calls and calls[0] is batch[0][0]:
            calls.rotate(-1)
        return batch

    def _encoded(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        vectors = self._encode(windows)
        if len(vectors) != len(windows):
            raise RuntimeError(f"the model gave {len(vectors)} vectors for {len(windows)} windows")
        return vectors


def _deliver(batch: Sequence[tuple[_Call, int]], task: asyncio.Task[NDArray[np.float32]]) -> None:
    """Hand out the rows, or to every caller of the batch the error."""
    error = task.exception()
    for row, (call, at) in enumerate(batch):
        if call.done.done():
            continue
        if error is not None:
            call.done.set_exception(error)
        else:
            call.rows[at] = task.result()[row]
            if len(call.rows) == len(call.windows):
                call.done.set_result(None)
