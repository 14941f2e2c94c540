"""Lists that come while their reader is busy are handed out together; an error, a stop or an end loses nothing."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from pipelines.documents.ingest.stages import gather_ahead, in_thread


class Source:
    """Lists of numbers, and how many of them were taken."""

    def __init__(self, *lists: list[int], error: Exception | None = None) -> None:
        self._lists, self._error = lists, error
        self.taken, self.closed = 0, False

    async def lists(self) -> AsyncGenerator[list[int]]:
        try:
            for one in self._lists:
                self.taken += 1
                yield one
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(50):
        await asyncio.sleep(0)


async def gathered(source: Source, most: int = 100) -> list[list[int]]:
    """What each write would have, each as slow as the source is quick."""
    found = []
    async for items in gather_ahead(source.lists(), most):
        found.append(items)
        await settle()
    return found


async def test_what_comes_during_a_write_is_written_together() -> None:
    found = await gathered(Source(*([n] for n in range(10))))
    assert [n for items in found for n in items] == list(range(10))
    assert len(found) <= 3


async def test_no_more_waits_than_is_allowed() -> None:
    source = Source(*([n, n] for n in range(50)))
    lists = gather_ahead(source.lists(), 6)
    assert len(await anext(lists)) <= 6
    await settle()
    assert source.taken <= 3 + 3 + 1  # handed out, waiting, and one in hand
    assert all(len(items) <= 6 for items in [items async for items in lists])


async def test_a_list_larger_than_that_passes_alone_and_an_empty_one_ends_nothing() -> None:
    found = await gathered(Source([1], [], list(range(9)), [], [2]), most=4)
    assert [n for items in found for n in items] == [1, *range(9), 2]


async def test_what_came_before_an_error_is_handed_out_first() -> None:
    found: list[int] = []
    with pytest.raises(ValueError, match="broken"):
        async for items in gather_ahead(Source([1], [2], error=ValueError("broken")).lists(), 10):
            found += items
            await settle()
    assert found == [1, 2]


async def test_whoever_stops_leaves_nothing_running() -> None:
    source = Source(*([n] for n in range(50)))
    lists = gather_ahead(source.lists(), 4)
    await anext(lists)
    await lists.aclose()
    assert source.closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_blocking_source_that_is_at_work_is_closed_after_its_step() -> None:
    """A generator that runs in a thread cannot be closed from another one."""
    going, closed = threading.Event(), threading.Event()

    def slow() -> Iterator[list[int]]:
        try:
            yield [1]
            going.wait(10)
            yield [2]
        finally:
            closed.set()

    async def lists() -> AsyncGenerator[list[int]]:
        async for one in in_thread(slow()):
            yield one

    ahead = gather_ahead(lists(), 4)
    assert await anext(ahead) == [1]
    await settle()
    asyncio.get_running_loop().call_later(0.05, going.set)
    await ahead.aclose()
    async with asyncio.timeout(5):
        await asyncio.to_thread(closed.wait)
