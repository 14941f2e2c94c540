"""Who listens to Postgres is woken by what it tells, and by nothing else."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from cluster.state.work.work_bell import listen_quietly


class Told:
    """A connection whose socket is a pipe; counts how often it was read."""

    def __init__(self, *before: str) -> None:
        self.waiting, self.reads = deque(before), 0
        self.read, self.write = os.pipe()

    def fileno(self) -> int:
        return self.read

    async def notifies(self, *, timeout: float, stop_after: int | None = None) -> AsyncIterator[str]:
        self.reads += 1
        if timeout:
            self.waiting.extend(os.read(self.read, 100).decode().split())
        while self.waiting:
            yield self.waiting.popleft()

    def tell(self, word: str) -> None:
        os.write(self.write, f"{word} ".encode())


async def heard(connection: Any, seconds: float) -> list[str]:
    return [notice async for notice in listen_quietly(connection, seconds)]


async def test_it_sleeps_while_nothing_is_told() -> None:
    connection, began = Told(), time.monotonic()
    assert await heard(connection, 0.5) == []
    assert 0.45 <= time.monotonic() - began < 5
    assert connection.reads == 1, "`notifies` would have looked five times"


async def test_what_came_before_and_what_comes_is_heard_at_once() -> None:
    connection, times = Told("before"), []
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, connection.tell, "first")
    loop.call_later(0.2, connection.tell, "second")
    words, began = [], time.monotonic()
    async for word in listen_quietly(connection, 0.6):  # type: ignore[arg-type]
        words.append(word)
        times.append(time.monotonic() - began)
    assert words == ["before", "first", "second"]
    assert times[0] < 0.09 and 0.1 <= times[1] < 0.19 + 0.2


async def test_one_that_is_cancelled_leaves_no_reader_behind() -> None:
    connection = Told()
    task = asyncio.create_task(heard(connection, 60))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait({task})
    assert not asyncio.get_running_loop().remove_reader(connection.fileno())
