"""Slow calls: what is shown while one waits, second by second, until the answer is there or one leaves."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

from serve_apps.ui.kit.html import SafeHtml, tag

TICK_SECONDS = 1.0


async def show_while_waiting(view: Awaitable[SafeHtml], what: str) -> AsyncIterator[SafeHtml]:
    """Progress notices while `view` is computed, then the view. Whoever leaves cancels the call, too."""
    task = asyncio.ensure_future(view)
    passed = 0.0
    try:
        while not task.done():
            yield _working_bar(what, passed)
            await asyncio.wait({task}, timeout=TICK_SECONDS)
            passed += TICK_SECONDS
        yield task.result()
    finally:
        if not task.done():
            task.cancel()


def _working_bar(what: str, seconds: float) -> SafeHtml:
    said = f"{what} {seconds:.0f} s" if seconds >= 1 else what
    return tag("div", tag("progress", aria_label=what), tag("span", said), class_="aos-working", role="status")
