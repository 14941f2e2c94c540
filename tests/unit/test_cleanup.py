"""Work that fails half-way is cleaned up after, and its own error is the one that rises."""

import asyncio

import pytest

from cluster.basics.cleanup import async_cleanup_on_error, cleanup_on_error


def test_work_that_ends_well_keeps_what_it_made() -> None:
    done: list[str] = []

    def work() -> str:
        with cleanup_on_error(lambda: done.append("undone")):
            return "made"  # a return from the block is no failure

    assert work() == "made" and done == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_work_that_fails_is_undone_however_it_fails(error: type[BaseException]) -> None:
    done: list[str] = []
    with pytest.raises(error), cleanup_on_error(lambda: done.append("undone")):
        raise error
    assert done == ["undone"]


async def test_work_that_is_cancelled_is_undone_to_the_end() -> None:
    done: list[str] = []

    async def undo() -> None:
        await asyncio.sleep(0)
        done.append("undone")

    async def work() -> None:
        async with async_cleanup_on_error(undo):
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert done == ["undone"]


async def test_an_error_that_nobody_could_undo_says_what_was_behind_it() -> None:
    async def undo() -> None:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as found:
        async with async_cleanup_on_error(undo):
            raise ValueError("first")
    assert isinstance(found.value.__context__, ValueError)
