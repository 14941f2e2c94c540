"""Which searches may wait: by how long they take, and how many are before them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from serve_apps.http.admission import AdmissionQueue, Crowded


class Clock:
    """Seconds that a test adds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def held(admission: AdmissionQueue, count: int) -> AsyncIterator[asyncio.Event]:
    """So many searches that hold their places, or wait for them, until the event is set."""
    over, inside = asyncio.Event(), []

    async def search() -> None:
        async with admission.place():
            inside.append(1)
            await over.wait()

    tasks = [asyncio.create_task(search()) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    try:
        yield over
    finally:
        over.set()
        await asyncio.gather(*tasks)


async def took(admission: AdmissionQueue, clock: Clock, seconds: float, times: int = 1) -> None:
    for _ in range(times):
        async with admission.place():
            clock.seconds += seconds


async def test_who_comes_is_told_by_the_measured_time_and_the_queue() -> None:
    """With two places and two seconds a search, eight may wait: the ninth's answer would come after 12 s."""
    clock = Clock()
    admission = AdmissionQueue(2, lambda: 10.0, clock)
    await took(admission, clock, 2.0)
    async with held(admission, 2 + 8):
        assert admission.expected == pytest.approx((9 / 2 + 1) * 2)
        with pytest.raises(Crowded) as refused:
            await took(admission, clock, 0)
    assert (refused.value.status, refused.value.code) == (429, "crowded")
    assert refused.value.retry_after == pytest.approx(1.0)
    assert "8 requests wait" in refused.value.detail


async def test_quicker_searches_let_more_wait() -> None:
    """The limit is no fixed number."""
    clock = Clock()
    admission = AdmissionQueue(2, lambda: 10.0, clock)
    await took(admission, clock, 2.0)
    await took(admission, clock, 0.05, times=80)
    assert admission.expected < 0.06
    async with held(admission, 300):
        assert admission.expected < 10


async def test_a_place_that_is_free_is_given_however_long_searches_take() -> None:
    clock = Clock()
    admission = AdmissionQueue(2, lambda: 10.0, clock)
    await took(admission, clock, 60.0)
    async with held(admission, 1):
        assert admission.expected > 10.0
        await took(admission, clock, 60.0)


async def test_who_waits_longer_than_was_thought_is_refused_too() -> None:
    """Nothing was measured before: the first searches hang, and those behind them are not left waiting."""
    admission = AdmissionQueue(1, lambda: 0.05, Clock())
    async with held(admission, 1):
        with pytest.raises(Crowded, match="no place became free"):
            async with admission.place():
                pass
    async with admission.place():
        pass  # nothing is left of it


async def test_a_caller_who_leaves_gives_the_place_on() -> None:
    admission = AdmissionQueue(1, lambda: 10.0, Clock())
    async with held(admission, 1) as over:
        waiting = [asyncio.create_task(_once(admission)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        over.set()
        await asyncio.sleep(0)
        waiting[1].cancel()  # perhaps just as it is given the place
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not waiting[2].cancelled()
    await _once(admission)
    assert admission.expected == 0.0


async def _once(admission: AdmissionQueue) -> None:
    async with admission.place():
        await asyncio.sleep(0)
