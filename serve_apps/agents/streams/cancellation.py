"""Clean-up under cancellation: model streams closed at once, writes run to their end."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

Result = TypeVar("Result")


@asynccontextmanager
async def closing_stream(said: AsyncIterator[Result]) -> AsyncIterator[AsyncIterator[Result]]:
    """A model that nobody listens to any more is closed at once, not when it is collected."""
    try:
        yield said
    finally:
        close = getattr(said, "aclose", None)
        if close is not None:
            await close()


async def run_to_completion(work: Coroutine[object, object, Result]) -> Result:
    """Goes on to its end when the turn is cancelled meanwhile, so that what was done is also known to be done.

    Whoever cancels waits for it a few seconds and then lets it be; its record is refused from then on.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task})
        raise
