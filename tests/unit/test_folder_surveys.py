"""Dry runs look at few folders at a time, and stop when nobody waits for them any more."""

import asyncio
from pathlib import Path

import pytest

from configs.sections import ReadSettings
from serve_apps.http.admission import Crowded
from serve_apps.http.routes.scans.folder_surveys import FolderSurveys
from tests.fakes.slow_look import SlowLook


async def test_one_dry_run_more_than_may_run_is_refused_and_told_when_to_come_back() -> None:
    look = SlowLook()
    surveys = FolderSurveys(look, most=2)
    running = [asyncio.create_task(surveys.survey(ReadSettings(), Path())) for _ in range(2)]
    for _ in running:
        await asyncio.to_thread(look.begun.acquire, timeout=5)
    with pytest.raises(Crowded, match="2 folders are being looked at") as refused:
        await surveys.survey(ReadSettings(), Path())
    assert (refused.value.status, refused.value.retry_after) == (429, 20.0)
    look.let_go.set()
    assert [one.files for one in await asyncio.gather(*running)] == [1, 1]
    assert (await surveys.survey(ReadSettings(), Path())).complete, "there is room again"


async def test_a_dry_run_that_nobody_waits_for_stops_and_then_gives_its_place_back() -> None:
    look = SlowLook()
    surveys = FolderSurveys(look, most=1)
    running = asyncio.create_task(surveys.survey(ReadSettings(), Path()))
    await asyncio.to_thread(look.begun.acquire, timeout=5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(look.stopped.wait, 5)
    look.let_go.set()
    async with asyncio.timeout(5):
        while True:
            try:
                await surveys.survey(ReadSettings(), Path())
            except Crowded:
                await asyncio.sleep(0.01)
            else:
                return
