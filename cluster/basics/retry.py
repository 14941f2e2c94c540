"""Retries: a pure list of waits between attempts, and the one loop that follows it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from cluster.basics.errors import Transient

Result = TypeVar("Result")

MODEL_WAITS = (2.0, 4.0, 8.0)  # four attempts, seconds between them
LONGEST_WAIT = 15.0  # seconds


def waits_of(attempts: int) -> tuple[float, ...]:
    """The seconds between so many attempts: 2, 4, 8, then 15 each."""
    return tuple(min(2.0**n, LONGEST_WAIT) for n in range(1, attempts))


async def call_with_retries(
    call: Callable[[], Awaitable[Result]], *, waits: Sequence[float], sleep: Callable[[float], Awaitable[None]]
) -> Result:
    """Call until it answers, at most once more than there are waits; only Transient is tried again.

    What was tried again already, further down, is not: four attempts of four would be sixteen.

    Raises Transient: the last attempt's error.
    """
    for wait in waits:
        try:
            return await call()
        except Transient as error:
            if error.tried_again:
                raise
            await sleep(wait)
    return await call()
