"""Windows of many callers in batches that suit a model: of like length, within a budget, questions apart from bulk."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Overloaded
from cluster.basics.priority import lower_thread_priority
from cluster.models.embedding.sentence_tokens import Window
from cluster.models.ports import EmbeddingLane

Encode = Callable[[Sequence[Window]], NDArray[np.float32]]


@dataclass(slots=True, eq=False)
class _Call:
    """One caller's windows."""

    windows: Sequence[Window]
    waiting: deque[int]  # indices of those that no batch has yet, the longest first
    tokens: int  # how many those have
    done: asyncio.Future[None]
    rows: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # their vectors, as far as they are known


class EmbeddingBatcher:
    """Gathers what several callers wait for into batches, and lets one batch of each lane at a time through a model.

    On a CPU a question waits for no bulk batch: bulk work has a thread of its own, which gives way while a question is
    computed; on a GPU it waits for one at most. Callers of a lane take turns, so that one text waits for a batch of
    each other caller and not for all their texts. The windows of a batch are at most twice as long as its shortest
    one: more padding costs more than another pass.
    """

    def __init__(self, encode: Encode, budget: int, limit: int, *, idle: bool = True) -> None:
        """`encode` is called in a thread, with one batch of at most `budget` tokens, padding included.

        Who comes while `limit` tokens wait in a lane is refused. With `idle`, bulk work gives way to everything else.
        """
        self._encode, self._budget, self._limit = encode, budget, limit
        behind = ThreadPoolExecutor(1, initializer=lower_thread_priority if idle else None)
        self._threads = {EmbeddingLane.QUESTION: ThreadPoolExecutor(1), EmbeddingLane.BULK: behind}
        self._calls: dict[EmbeddingLane, deque[_Call]] = {lane: deque() for lane in EmbeddingLane}
        self._work: dict[EmbeddingLane, asyncio.Task[None]] = {}

    def waiting(self, lane: EmbeddingLane) -> int:
        """Tokens that wait in a lane."""
        return sum(call.tokens for call in self._calls[lane])

    async def vectors(self, windows: Sequence[Window], lane: EmbeddingLane) -> NDArray[np.float32]:
        """The model's vector of each window, in order: shape (len(windows), dimension); at least one window.

        A caller that gives up takes along what no batch has yet.

        Raises Overloaded: too many tokens wait in this lane.
        """
        if (waiting := self.waiting(lane)) >= self._limit:
            raise Overloaded(f"{waiting} tokens wait to be embedded already")
        order = sorted(range(len(windows)), key=lambda at: len(windows[at]), reverse=True)
        done = asyncio.get_running_loop().create_future()
        call = _Call(windows, deque(order), sum(map(len, windows)), done)
        self._calls[lane].append(call)
        if lane not in self._work or self._work[lane].done():
            self._work[lane] = asyncio.create_task(self._run_lane(lane))
        try:
            await done
        finally:
            if call.waiting:
                self._calls[lane].remove(call)
        return np.stack([call.rows[at] for at in range(len(windows))])

    async def _run_lane(self, lane: EmbeddingLane) -> None:
        """Batch after batch, until nobody waits in the lane."""
        while self._calls[lane]:
            batch = self._take_batch(self._calls[lane])
            windows = [call.windows[at] for call, at in batch]
            task = asyncio.create_task(self._compute_batch(lane, windows))
            await asyncio.wait([task])
            _deliver_rows(batch, task)

    async def _compute_batch(self, lane: EmbeddingLane, windows: Sequence[Window]) -> NDArray[np.float32]:
        # Within a task, so that a thread that cannot be started is an error of the batch and not of all who wait.
        return await asyncio.get_running_loop().run_in_executor(self._threads[lane], self._encode_windows, windows)

    def _take_batch(self, calls: deque[_Call]) -> list[tuple[_Call, int]]:
        """The next batch: of the caller whose turn it is, filled up with what others have of the same length."""
        batch: list[tuple[_Call, int]] = []
        longest = shortest = 0
        for call in list(calls):
            while call.waiting:
                size = len(call.windows[call.waiting[0]])
                wide, narrow = max(longest, size), min(shortest or size, size)
                if batch and (wide * (len(batch) + 1) > self._budget or wide > 2 * narrow):
                    break
                longest, shortest = wide, narrow
                batch.append((call, call.waiting.popleft()))
                call.tokens -= size
            if not call.waiting:
                calls.remove(call)
        if calls and calls[0] is batch[0][0]:
            calls.rotate(-1)
        return batch

    def _encode_windows(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        vectors = self._encode(windows)
        if len(vectors) != len(windows):
            raise RuntimeError(f"the model gave {len(vectors)} vectors for {len(windows)} windows")
        return vectors


def _deliver_rows(batch: Sequence[tuple[_Call, int]], task: asyncio.Task[NDArray[np.float32]]) -> None:
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
