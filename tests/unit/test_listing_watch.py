"""A listing ends with its worker, and where nothing more of it comes; whatever it has open is closed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import cast

import pytest

from pipelines.documents.sources.source_port import ListingPage, Source, SourceAway
from pipelines.documents.sync.listing_watch import ListingStopped, ListingWatch, closing_pages


class Slow:
    """Lists a page, and then nothing for ever."""

    closed = False

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        try:
            yield ListingPage(cursor=cursor)
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def collect(watch: ListingWatch, slow: Slow) -> int:
    seen = 0
    async with aclosing(watch.pages(cast(Source, slow), None)) as pages:
        async for _ in pages:
            seen += 1
    return seen


async def test_a_listing_that_hangs_ends_with_its_worker() -> None:
    slow, stops = Slow(), asyncio.Event()
    watch = ListingWatch(stops.is_set, 3600)
    asyncio.get_running_loop().call_later(0.1, stops.set)
    with pytest.raises(ListingStopped):
        await watch.run(collect(watch, slow))
    assert slow.closed


async def test_a_listing_of_which_nothing_more_comes_counts_as_away() -> None:
    slow = Slow()
    watch = ListingWatch(bool, 0.2)
    with pytest.raises(SourceAway, match="nothing more"):
        await watch.run(collect(watch, slow))
    assert slow.closed


async def test_whoever_needs_one_page_leaves_none_open() -> None:
    slow = Slow()
    async with closing_pages(cast(Source, slow), "7") as pages:
        async for page in pages:
            assert page.cursor == "7"
            break
    assert slow.closed
