"""The last step of reading a page: one that OCR read badly is shown to a multimodal model."""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from cluster.basics.disk import means_full
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLease, WorkUnit
from pipelines.documents.document import Page, Unreadable
from pipelines.documents.ingest.slices import SHARED_FILES, FileAccess, ReadPage
from pipelines.documents.ocr.vision.agreement import FEW, count_comparable
from pipelines.documents.ocr.vision.vision_reader import with_doubt
from pipelines.documents.sources.sniff import Kind

FORCED: Final = "vision"
MOST_SECONDS: Final = 240.0  # for the pages that arrive together: a Dataset that nobody reads from counts as stalled
STOP_SECONDS: Final = 0.5  # between two looks whether the work is to stop
NATIVE_SHARE: Final = 0.5  # of a page's words: with more of its own text there is no scan to transcribe
_SQUARE_INCHES = 8.5 * 11
NOT_SET = "no model is named that could look at it: set vision.connection (AOS_VISION_CONNECTION)"


class PageDrawer(Protocol):
    """Draws pages: pipelines.documents.extract.reader.DocumentReader."""

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        """A PNG of one page. Raises Unreadable."""


class PageLooker(Protocol):
    """Looks at pages: pipelines.documents.ocr.vision.vision_reader.VisionReader."""

    async def look(self, scope: Scope, job: str, page: Page, png: bytes) -> Page:
        """See `VisionReader.look`."""


class VisionStep:
    """Shows pages to a model, one after the other; a page that needs none passes as it is."""

    def __init__(
        self,
        looker: PageLooker | None,
        drawer: PageDrawer,
        *,
        below: float,
        max_pixels: int,
        forced: bool = False,
        clock: Callable[[], float] = time.monotonic,
        files: FileAccess = SHARED_FILES,
    ) -> None:
        """Nothing is drawn or asked yet.

        Args:
            looker: None where no model is named: then only pages for which one is insisted on say so.
            drawer: is asked by one page at a time.
            below: mean confidence under which a page is shown.
            max_pixels: of a picture.
            forced: whether every page that OCR read is shown (ocr.strategy).
            files: opens what `paths` lead to.
        """
        self._looker, self._drawer, self._below, self._forced, self._clock = looker, drawer, below, forced, clock
        self._files = files
        self._dpi = max(36, min(300, int(math.sqrt(max_pixels / _SQUARE_INCHES))))
        self._lock = asyncio.Lock()

    async def improve(
        self,
        lease: JobLease,
        pages: Sequence[ReadPage],
        units: Mapping[str, WorkUnit],
        paths: Mapping[str, str],
        ended: Callable[[], bool],
    ) -> list[ReadPage]:
        """The pages, those that a model could read better in its words.

        Once the job has `ended` here no page is sent any more, and those that were to be shown are left out: they are
        read another time. `paths` leads from locations to files.
        """
        began, read = self._clock(), []
        for one in pages:
            payload = units[one.key].payload
            forced = self._forced if payload.get("strategy") is None else payload["strategy"] == FORCED
            page = one.page
            if self._is_shown(page, forced):
                if self._looker is None:
                    page = with_doubt(page, NOT_SET, self._below)
                elif self._clock() - began > MOST_SECONDS:
                    why = "the model for it is too slow for all pages that were read with it"
                    page = with_doubt(page, why, self._below)
                else:
                    shown = await _unless_ended(self._show(self._looker, lease, page, payload, paths), ended)
                    if shown is None:
                        continue
                    page = shown
            read.append(replace(one, page=page))
        return read

    def _is_shown(self, page: Page, forced: bool) -> bool:
        if page.failure is not None or page.confidence is None or page.is_native or page.engine == "none":
            return False
        native = sum(word.confidence == 1.0 for word in page.words)
        if native > NATIVE_SHARE * len(page.words):
            return False
        if count_comparable(page.words) < FEW:  # a photo, a speckled sheet: no answer could be believed
            return False
        return forced or (self._looker is not None and page.confidence < self._below)

    async def _show(
        self, looker: PageLooker, lease: JobLease, page: Page, payload: Mapping[str, Any], paths: Mapping[str, str]
    ) -> Page:
        reference, kind = paths[str(payload["location"])], Kind(payload["kind"])
        try:
            # A thread cannot be stopped: who gives up meanwhile leaves the lock with it.
            png = await asyncio.shield(self._draw(reference, kind, page.number))
        except (Unreadable, OSError) as error:
            if means_full(error):
                raise
            return with_doubt(page, f"it cannot be drawn: {error}"[:200], self._below)
        return await looker.look(lease.scope, lease.job, page, png)

    async def _draw(self, reference: str, kind: Kind, number: int) -> bytes:
        def drawn() -> bytes:
            with self._files.open_reference(reference) as path:
                return self._drawer.picture(path, kind, number, self._dpi)

        async with self._lock:
            return await asyncio.to_thread(drawn)


async def _unless_ended(look: Coroutine[Any, Any, Page], ended: Callable[[], bool]) -> Page | None:
    """What a look comes to; None where it was given up, or not begun, because the job has ended here."""
    if ended():
        look.close()
        return None
    task = asyncio.create_task(look)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=STOP_SECONDS)
            if not task.done() and ended():
                return None
        return task.result()
    finally:
        task.cancel()
        await asyncio.wait({task})
