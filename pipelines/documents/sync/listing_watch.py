"""A watch over one listing: it ends where its worker is to stop, and where nothing more of it comes for too long."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from pipelines.documents.sources.source_port import ListingPage, Source, SourceAway

LOOK_SECONDS: Final = 0.5
GRACE_SECONDS: Final = 10.0  # for a listing that is cut off; a thread that hangs is left behind

Result = TypeVar("Result")


class ListingStopped(Exception):
    """The listing was ended because its worker is to stop; it is made again from its beginning."""


class ListingWatch:
    """Over one listing."""

    def __init__(
        self, ended: Callable[[], bool], quiet_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`ended` tells whether the worker is to stop; `quiet_seconds` is how long nothing more may come."""
        self._ended, self._quiet_seconds, self._clock = ended, quiet_seconds, clock
        self._heard_at = clock()

    async def pages(self, opened: Source, cursor: str | None) -> AsyncGenerator[ListingPage]:
        """Pages of the listing. Raises ListingStopped between two of them."""
        async with closing_pages(opened, cursor) as pages:
            async for page in pages:
                self._heard_at = self._clock()
                if self._ended():
                    raise ListingStopped
                yield page

    async def run(self, collecting: Coroutine[Any, Any, Result]) -> Result:
        """What collects the pages, to its end. Raises ListingStopped, SourceAway: nothing more came for too long."""
        work = asyncio.create_task(collecting)
        try:
            while not (await asyncio.wait({work}, timeout=LOOK_SECONDS))[0]:
                if self._ended():
                    raise ListingStopped
                if self._clock() - self._heard_at > self._quiet_seconds:
                    raise SourceAway(f"nothing more of its listing came for {self._quiet_seconds:g} s")
            return work.result()
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=GRACE_SECONDS)


@asynccontextmanager
async def closing_pages(opened: Source, cursor: str | None) -> AsyncIterator[AsyncIterator[ListingPage]]:
    """A listing that is over when the block is: whatever it has open is closed."""
    pages = opened.list_changes(cursor)
    try:
        yield pages
    finally:
        if isinstance(pages, AsyncGenerator):
            await pages.aclose()
