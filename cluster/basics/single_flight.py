"""Single-flight: one computation for all who ask for the same at the same moment; whoever goes away takes nobody along.

Only what is under way is shared, nothing is kept: that a value came a little sooner tells a caller no more than that
the machine is shared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Call(Generic[K, T]):
    """A computation under way, and how many callers wait for at least one of its values."""

    keys: Sequence[K]
    task: "asyncio.Task[Mapping[K, T]]"
    under_way: "dict[K, _Call[K, T]]"
    callers: int = 0

    def retire(self) -> None:
        """Nobody joins it any more."""
        for key in self.keys:
            if self.under_way.get(key) is self:
                del self.under_way[key]


class SingleFlight(Generic[K, T]):
    """Computations under way in this process, by what is computed."""

    def __init__(self, before: "Self | None" = None) -> None:
        """None yet; those of `before` are joined, too, and never the other way round."""
        self._calls: dict[K, _Call[K, T]] = {}
        self._before = before

    async def join(self, key: K, make: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The value for `key`, made by whoever asked first, and whether that was somebody else.

        A failure of `make` is everybody's who waits for it; who asks afterwards begins anew. The computation ends early
        only when all who wait for it have gone away.
        """
        joined = self._find_call(key) is not None

        async def make_one(_: Sequence[K]) -> Mapping[K, T]:
            return {key: await make()}

        return (await self.join_all([key], make_one))[key], joined

    async def join_all(
        self, keys: Sequence[K], make: Callable[[Sequence[K]], Awaitable[Mapping[K, T]]]
    ) -> Mapping[K, T]:
        """As `join`, for several different keys: `make` gets in one call those that nobody makes yet."""
        calls = {key: call for key in keys if (call := self._find_call(key)) is not None}
        fresh = [key for key in keys if key not in calls]
        if fresh:
            calls |= dict.fromkeys(fresh, self._start_call(fresh, make))
        several = set(calls.values())
        for call in several:
            call.callers += 1
        try:
            for call in several:
                await asyncio.shield(call.task)
        finally:
            for call in several:
                call.callers -= 1
                if not call.callers and not call.task.done():
                    call.retire()
                    call.task.cancel()
        return {key: call.task.result()[key] for key, call in calls.items()}

    def __len__(self) -> int:
        return len(self._calls)

    def _find_call(self, key: K) -> _Call[K, T] | None:
        found = self._before._find_call(key) if self._before is not None else None
        return found or self._calls.get(key)

    def _start_call(self, keys: Sequence[K], make: Callable[[Sequence[K]], Awaitable[Mapping[K, T]]]) -> _Call[K, T]:
        async def made() -> Mapping[K, T]:
            return await make(keys)

        call = _Call(keys, asyncio.create_task(made()), self._calls)
        self._calls.update(dict.fromkeys(keys, call))

        def landed(task: "asyncio.Task[Mapping[K, T]]") -> None:
            call.retire()
            if not task.cancelled():
                task.exception()  # seen, also where everybody has gone: the loop would complain

        call.task.add_done_callback(landed)
        return call
