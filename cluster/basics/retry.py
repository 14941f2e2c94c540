"""When to try again: a pure list of waits, and the one loop that follows it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from cluster.basics.errors import Transient

Result = TypeVar("Result")

MODEL_WAITS = (2.0, 4.0, 8.0)  # four attempts, seconds between them


async def retrying(
    call: Callable[[], Awaitable[Result]],
    *,
    waits: Sequence[float],
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Call until it answers, at most once more than there are waits; only Transient is tried again.

    Raises:
        Transient: the last attempt's error.
    """
    for wait in waits:
        try:
            return await call()
        except Transient:
            await sleep(wait)
    return await call()
