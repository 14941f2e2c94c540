"""Which pages a model is shown: those that OCR reads badly, all where that is asked for, and none by default."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobLease, WorkUnit
from pipelines.documents.document import Box, CaveatKind, FailureReason, Page, Unreadable, VersionId, Word
from pipelines.documents.ingest.slices import ReadPage
from pipelines.documents.ingest.vision_step import MOST_SECONDS, VisionStep
from pipelines.documents.sources.sniff import Kind
from tests.fakes.ocr import FakeClock

SCOPE = Scope.of_worker("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002")
READ = ["tne", "crane", "wos", "inspectod", "befcre", "loading", "yesterdoy"]
WEAK = Page(1, " ".join(READ), tuple(Word(one, 0, Box(0, 0, 1, 1), 0.4) for one in READ), "tesseract", 0.4)


@dataclass
class Drawer:
    """Draws every page alike, or fails to."""

    error: Unreadable | None = None
    drawn: list[tuple[Path, Kind, int, int]] = field(default_factory=list)

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        self.drawn.append((path, kind, number, dpi))
        if self.error is not None:
            raise self.error
        return b"png"


@dataclass
class Looker:
    """Reads every page alike; each look costs `costs` seconds."""

    clock: FakeClock = field(default_factory=FakeClock)
    costs: float = 0
    looked: list[int] = field(default_factory=list)
    over: bool = False  # whether the work is to stop
    stops: str = ""  # "after" or "amid" its look at a page
    given_up: int = 0

    async def look(self, scope: Scope, job: str, page: Page, png: bytes) -> Page:
        assert png == b"png"
        self.looked.append(page.number)
        self.clock.now += self.costs
        self.over = bool(self.stops)
        if self.stops == "amid":
            try:
                await asyncio.sleep(60)
            finally:
                self.given_up += 1
        return replace(page, text="the crane", engine="vision")


async def improve(
    *pages: Page, looker: Looker | None, drawer: Drawer | None = None, forced: bool = False, **payload: Any
) -> list[Page]:
    clock = looker.clock if looker is not None else FakeClock()
    step = VisionStep(looker, drawer or Drawer(), below=0.6, max_pixels=1_500_000, forced=forced, clock=clock)
    read = [ReadPage(VersionId("v"), page) for page in pages]
    facts = {"location": "blob", "kind": "image", **payload}
    units = {one.key: WorkUnit(one.key, "v", "f", facts) for one in read}
    lease = JobLease("00000000-0000-0000-0000-000000000003", SCOPE, 1)
    told = await step.improve(lease, read, units, {"blob": "/tmp/scan.png"}, lambda: looker is not None and looker.over)
    return [one.page for one in told]


async def test_a_weak_page_is_drawn_and_shown_and_others_are_not() -> None:
    looker, drawer = Looker(), Drawer()
    good, native = replace(WEAK, number=2, confidence=0.9), Page(3, "born digital")
    failed = Page(4, "", engine="none", failure=Unreadable(FailureReason.CRASHED).as_failure("read"))
    pages = await improve(WEAK, good, native, failed, looker=looker, drawer=drawer)
    assert [page.engine for page in pages] == ["vision", "tesseract", "native", "none"] and looker.looked == [1]
    assert drawer.drawn == [(Path("/tmp/scan.png"), Kind.IMAGE, 1, 126)], "as many pixels as may be sent"


async def test_by_default_nothing_is_drawn_and_no_page_changes() -> None:
    drawer = Drawer()
    assert await improve(WEAK, looker=None, drawer=drawer) == [WEAK] and drawer.drawn == []


async def test_the_strategy_shows_every_page_that_ocr_read() -> None:
    good = replace(WEAK, confidence=0.95)
    assert [page.engine for page in await improve(good, Page(2, "x"), looker=Looker(), forced=True)] == [
        "vision",
        "native",
    ]
    (page,) = await improve(good, looker=Looker(), strategy="vision")
    assert page.engine == "vision", "also where a person asks for it for one document"
    (page,) = await improve(good, looker=Looker(), forced=True, strategy="tesseract")
    assert page.engine == "tesseract"


async def test_the_strategy_without_a_model_says_what_to_set() -> None:
    (page,) = await improve(WEAK, looker=None, forced=True)
    (caveat,) = page.caveats
    assert caveat.kind is CaveatKind.READING_WEAK and "AOS_VISION_CONNECTION" in caveat.detail


async def test_a_page_with_text_of_its_own_is_not_written_over() -> None:
    own = tuple(Word(f"word{n}", 6 * n, Box(0, 0, 1, 1), 1.0) for n in range(8))
    mixed = replace(WEAK, words=(*own, *WEAK.words))
    assert (await improve(mixed, looker=Looker()))[0].engine == "tesseract"


async def test_without_a_model_what_ocr_is_sure_of_is_no_worse_for_the_strategy() -> None:
    sure = replace(WEAK, confidence=0.97)
    assert await improve(sure, looker=None, forced=True) == [sure]


@pytest.mark.parametrize("words", [(), WEAK.words[:4], tuple(replace(one, confidence=0.1) for one in WEAK.words)])
async def test_a_page_with_too_few_words_to_compare_is_not_sent(words: tuple[Word, ...]) -> None:
    """A photo, a speckled blank: whatever a model says of it would be refused, time and again."""
    page = replace(WEAK, words=words)
    for forced in (False, True):
        looker, drawer = Looker(), Drawer()
        assert await improve(page, looker=looker, drawer=drawer, forced=forced) == [page]
        assert looker.looked == [] and drawer.drawn == []


async def test_once_the_work_is_to_stop_no_page_is_sent_and_the_others_are_left_unwritten() -> None:
    good = replace(WEAK, number=3, confidence=0.9)
    looker = Looker(stops="after")
    pages = await improve(WEAK, replace(WEAK, number=2), good, looker=looker)
    assert looker.looked == [1] and [page.number for page in pages] == [1, 3], "the second is read another time"
    stalled = Looker(stops="amid")
    assert await asyncio.wait_for(improve(WEAK, looker=stalled), 5) == [], "not even the answer is waited for"
    assert (stalled.looked, stalled.given_up) == ([1], 1)


async def test_a_page_that_cannot_be_drawn_says_so() -> None:
    (page,) = await improve(WEAK, looker=Looker(), drawer=Drawer(Unreadable(FailureReason.CHANGED, "the file is gone")))
    assert "the file is gone" in page.caveats[0].detail and page.text == WEAK.text


async def test_pages_that_arrive_together_are_not_held_up_for_ever() -> None:
    looker = Looker(costs=MOST_SECONDS + 1)
    pages = await improve(WEAK, replace(WEAK, number=2), looker=looker)
    assert looker.looked == [1] and "too slow" in pages[1].caveats[0].detail
