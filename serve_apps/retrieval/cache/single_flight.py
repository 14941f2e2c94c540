"""One computation for all who ask for the same at the same moment; whoever goes away takes nobody along."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    """A computation under way and how many wait for it."""

    task: "asyncio.Task[T]"
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Computations under way in this process, by what is computed."""

    def __init__(self) -> None:
        """None yet."""
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def join(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The value for `key`, made by whoever asked first, and whether that was somebody else.

        A failure is everybody's who waits for it; who asks afterwards begins anew. The computation ends early only
        when all who wait for it have gone away.

        Raises:
            Whatever `make` raises.
        """
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            flight = _Flight(asyncio.create_task(_await_value(make)))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda task: self._collect_result(key, task))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), joined
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget_task(key, flight.task)
                flight.task.cancel()

    def __len__(self) -> int:
        return len(self._flights)

    def _collect_result(self, key: Hashable, task: "asyncio.Task[T]") -> None:
        self._forget_task(key, task)
        if not task.cancelled():
            task.exception()  # whoever waited has it; without anybody left the loop would complain

    def _forget_task(self, key: Hashable, task: "asyncio.Task[T]") -> None:
        if (flight := self._flights.get(key)) is not None and flight.task is task:
            del self._flights[key]


async def _await_value(make: Callable[[], Awaitable[T]]) -> T:
    return await make()
