"""Cleans up after work that fails half-way, however it fails: what it holds until then nobody else would give back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager


@contextmanager
def cleanup_on_error(cleanup: Callable[[], object]) -> Iterator[None]:
    """Call `cleanup` where the block raises or is cancelled; its error goes on. Nothing happens where it ends well."""
    with ExitStack() as unless_done:
        unless_done.callback(cleanup)
        yield
        unless_done.pop_all()


@asynccontextmanager
async def async_cleanup_on_error(cleanup: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """As `cleanup_on_error`, of what is awaited; a cancellation of the block does not cut it short."""
    async with AsyncExitStack() as unless_done:
        unless_done.push_async_callback(cleanup)
        yield
        unless_done.pop_all()
