"""One computation for all who ask the same at the same moment."""

import asyncio

import pytest

from cluster.basics.single_flight import SingleFlight


class Work:
    """Counts how often it was begun and ended early; `gate` holds it."""

    def __init__(self) -> None:
        self.gate, self.begun, self.ended = asyncio.Event(), 0, 0

    async def __call__(self) -> int:
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.ended += 1
            raise
        return self.begun


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_hundred_equal_questions_cost_one() -> None:
    """SC-03."""
    flights, work = SingleFlight[str, int](), Work()
    asked = [asyncio.create_task(flights.join("q", work)) for _ in range(100)]
    other = asyncio.create_task(flights.join("another", work))
    await settle()
    work.gate.set()
    found = await asyncio.gather(*asked)
    assert sorted(joined for _, joined in found) == [False] + [True] * 99
    assert {value for value, _ in found} == {2} and (await other)[1] is False
    assert work.begun == 2 and len(flights) == 0


async def test_a_failure_is_everybodys_once() -> None:
    flights, calls = SingleFlight[str, int](), 0

    async def fail() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        raise LookupError("no")

    found = await asyncio.gather(*(flights.join("q", fail) for _ in range(5)), return_exceptions=True)
    assert calls == 1 and all(isinstance(one, LookupError) for one in found)
    with pytest.raises(LookupError):
        await flights.join("q", fail)
    assert calls == 2


async def test_who_goes_away_takes_nobody_along() -> None:
    flights, work = SingleFlight[str, int](), Work()
    first, second = (asyncio.create_task(flights.join("q", work)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    assert first.cancelled() and not second.done() and work.ended == 0
    work.gate.set()
    assert await second == (1, True)


async def test_what_nobody_waits_for_any_more_ends_and_can_be_asked_again() -> None:
    flights, work = SingleFlight[str, int](), Work()
    asked = [asyncio.create_task(flights.join("q", work)) for _ in range(2)]
    await settle()
    for one in asked:
        one.cancel()
    await settle()
    assert work.ended == 1 and len(flights) == 0
    again = asyncio.create_task(flights.join("q", work))
    await settle()
    work.gate.set()
    assert await again == (2, False)
