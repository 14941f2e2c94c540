"""Folder surveys for dry runs: few at a time, each in a thread that stops with its time or with its client."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.ingest.estimate import SampledFile, list_files, sample_files
from serve_apps.http.admission import Crowded

MOST: Final = 2  # at a time, in one process
WALK_SECONDS: Final = 8.0
LOOK_SECONDS: Final = 12.0


@dataclass(frozen=True, slots=True)
class FolderSurvey:
    """Number of files found, whether those are all, the sample that was looked at, and by kind what was passed over."""

    files: int
    complete: bool
    seen: list[SampledFile]
    passed_over: Mapping[str, int]


SurveyFolder = Callable[[ReadSettings, Path, Callable[[], bool]], FolderSurvey]


def survey_folder(read: ReadSettings, root: Path, gone: Callable[[], bool]) -> FolderSurvey:
    """Walk and sample a folder until the time is over or nobody waits for it any more. Takes seconds: for a thread."""

    def deadline(seconds: float) -> Callable[[], bool]:
        end = time.monotonic() + seconds
        return lambda: gone() or time.monotonic() > end

    passed: Counter[str] = Counter()
    paths, complete = list_files(root, deadline(WALK_SECONDS), passed)
    # A reader of its own: a survey opens whatever lies there, and pages that people look at must not wait for it.
    with DocumentReader(read, OcrSettings()) as reader:
        return FolderSurvey(len(paths), complete, sample_files(reader, paths, deadline(LOOK_SECONDS)), passed)


class FolderSurveys:
    """`MOST` surveys at a time in one process; one more is refused at once."""

    def __init__(self, look: SurveyFolder = survey_folder, most: int = MOST) -> None:
        """`look` is told, when it asks, whether it may stop."""
        self._look, self._most, self._running = look, most, 0

    async def survey(self, read: ReadSettings, root: Path) -> FolderSurvey:
        """Survey a folder; a survey that is cancelled stops at the next file, and has its place until then.

        Raises Crowded: so many are under way.
        """
        if self._running >= self._most:
            raise Crowded(f"{self._running} folders are being looked at here", WALK_SECONDS + LOOK_SECONDS)
        self._running += 1
        gone = threading.Event()
        looking = asyncio.create_task(asyncio.to_thread(self._look, read, root, gone.is_set))
        looking.add_done_callback(self._free_place)
        try:
            return await asyncio.shield(looking)
        finally:
            gone.set()

    def _free_place(self, looked: asyncio.Task[FolderSurvey]) -> None:
        self._running -= 1
        if not looked.cancelled():
            looked.exception()  # whose client has left, nobody asks
