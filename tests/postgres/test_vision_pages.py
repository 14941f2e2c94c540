"""A model looks at weak pages in whole jobs: a budget over workers and days, an outage, degraded pages read again."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from cluster.basics.errors import Conflict
from cluster.basics.scope import Scope
from cluster.state.work.jobs import JobId, JobLane
from configs.sections_reading import VisionSettings
from pipelines.documents.document import Box, Caveat, CaveatKind, Page, Word
from pipelines.documents.ingest.vision_step import VisionStep
from pipelines.documents.ocr.vision.vision_reader import with_doubt
from pipelines.documents.sources.sniff import Kind
from pipelines.documents.store.vision_budget import StoredVisionBudget, renew_job_budget
from serve_apps.http.routes.documents.jobs import READ_BETTER
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.reading import CAVEATS, FormFeedReader

JOB, OTHER = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
TEXT = "a page that reads well\fa page with some WEAK reading of words\fFAIL\fanother good page"


class WeakReader(FormFeedReader):
    """Pages with `WEAK` on them are OCR's, and read badly."""

    def read(self, path, kind, numbers, *, encoding=None, language=None):  # type: ignore[no-untyped-def]
        for page in super().read(path, kind, numbers, encoding=encoding, language=language):
            words = tuple(Word(text, 0, Box(0, 0, 1, 1), 0.3) for text in page.text.split())
            read = replace(page, engine="tesseract", confidence=0.3, words=words)
            yield read if "WEAK" in page.text else page


@dataclass
class Model:
    """Looks at pages: away at first, then it reads them."""

    away: bool = True
    looked: list[int] = field(default_factory=list)

    async def look(self, scope: Scope, job: str, page: Page, png: bytes) -> Page:
        self.looked.append(page.number)
        return (
            with_doubt(page, "no model answered", 0.6) if self.away else replace(page, text="in clear", engine="vision")
        )


class Drawer:
    """Draws every page alike."""

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        return b"png"


def step_of(model: Model) -> VisionStep:
    return VisionStep(model, Drawer(), below=0.6, max_pixels=10**6)


async def retry_degraded(ledger: Bench, scope: Scope, job: JobId) -> None:
    async with ledger.database.transaction(Scope.of_worker(scope.tenant, scope.workspace)) as tx:
        await ledger.desk.retry_doubtful(tx, scope, job, stage="read", last_stage="index", kinds=READ_BETTER)


async def test_an_outage_leaves_a_page_degraded_and_only_that_is_read_again(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    model, ledger.reader = Model(), WeakReader()
    ledger.vision = step_of(model)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(TEXT)
    job = await ledger.scan(scope, tmp_path / "in")
    pages = await ledger.rows(scope, "select number, engine, text, caveats from pages order by number")
    assert [page["engine"] for page in pages] == ["native", "tesseract", "native", "native"]
    assert pages[1]["caveats"][0]["kind"] == CaveatKind.READING_WEAK and "WEAK" in pages[1]["text"]
    assert [row["status"] for row in await ledger.rows(scope, "select status from documents")] == ["partial"]
    model.away = False
    await retry_degraded(ledger, scope, job)
    await ledger.run()
    assert model.looked == [2, 2]
    assert dict(ledger.reader.readings) == {("a.txt", 1): 1, ("a.txt", 2): 2, ("a.txt", 3): 1, ("a.txt", 4): 1}
    (page,) = await ledger.rows(scope, "select engine, text, caveats from pages where number = 2")
    assert (page["engine"], page["text"], page["caveats"]) == ("vision", "in clear", [])
    chunks = await ledger.rows(scope, "select text from document_chunks where text like %(part)s", part="%in clear%")
    assert len(chunks) == 1, "it is found by the model's words"
    progress = await ledger.rows(scope, "select done, failed, ended_degraded from job_progress where stage = 'read'")
    assert progress == [{"done": 3, "failed": 1, "ended_degraded": 0}]
    with pytest.raises(Conflict, match="degraded"):
        await retry_degraded(ledger, scope, job)


async def test_degraded_pages_are_read_again_over_http(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path
) -> None:
    worker.reader.caveats = {**CAVEATS, "BLURRED": Caveat(CaveatKind.LANGUAGE_MISSING, "the letters look Thai")}
    (tmp_path / "scans" / "a.txt").write_text("good\fBLURRED here\fDOUBT there")
    job = (await operator.post("/api/documents/batch-scan", json={"path": "."})).json()["job_id"]
    await worker.run()
    assert (await operator.get(f"/api/jobs/{job}")).json()["state"] == "partial"
    worker.reader.caveats = {}
    retried = await operator.post(f"/api/jobs/{job}/retry", params={"degraded": True})
    assert retried.status_code == 202, retried.text
    await worker.run()
    assert dict(worker.reader.readings) == {("a.txt", 1): 1, ("a.txt", 2): 2, ("a.txt", 3): 1}
    assert (await operator.get(f"/api/jobs/{job}")).json()["state"] == "partial", "a table is no better read again"
    assert (await operator.post(f"/api/jobs/{job}/retry", params={"degraded": True})).status_code == 409


async def test_the_budget_of_a_job_and_of_a_day_is_shared_and_never_exceeded(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    today = datetime(2030, 1, 2, 12, tzinfo=UTC)
    settings = VisionSettings(pages_per_job=3, pages_per_day=5)
    budget = StoredVisionBudget(ledger.database, settings, lambda: today)
    first = await asyncio.gather(*(budget.take(scope, JOB, 1000) for _ in range(6)))
    assert sorted(map(bool, first)) == [False] * 3 + [True] * 3
    assert "one job" in next(filter(None, first))
    second = [await budget.take(scope, OTHER, 1000) for _ in range(3)]
    assert [bool(why) for why in second] == [False, False, True] and "one day" in second[-1]
    assert await budget.take(await new_workspace(admin_dsn), OTHER, 1000) == "", "another workspace has its own"
    tomorrow = StoredVisionBudget(ledger.database, settings, lambda: today.replace(day=3))
    assert await tomorrow.take(scope, OTHER, 1000) == ""
    assert "one job" in await tomorrow.take(scope, JOB, 1000), "a job has its pages once, however long it takes"
    async with ledger.database.transaction(scope) as tx:
        await renew_job_budget(tx, scope, JOB)
    assert [bool(await tomorrow.take(scope, JOB, 1000)) for _ in range(4)] == [False] * 3 + [True], "or for each retry"
    assert "one day" in await budget.take(scope, OTHER[:-1] + "c", 1000), "and a day has no more for that"


@pytest.mark.parametrize("engine", ["vision", "vision+human"])
async def test_a_retry_while_the_model_is_away_leaves_what_it_has_read(
    ledger: Bench, scope: Scope, tmp_path: Path, engine: str
) -> None:
    model, ledger.reader = Model(away=False), WeakReader()
    ledger.vision = step_of(model)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(TEXT)
    job = await ledger.scan(scope, tmp_path / "in")
    doubt = """update pages set caveats = '[{"kind": "reading_weak", "detail": "", "weight": "unsure", "count": 1}]',
        engine = %(engine)s where engine = 'vision' returning id"""
    (page,) = await ledger.rows(scope, doubt, engine=engine)
    await ledger.rows(scope, "update units set outcome = 'degraded' where key = %(key)s returning key", key=page["id"])
    model.away = True
    await retry_degraded(ledger, scope, job)
    await ledger.run()
    assert model.looked == [2, 2]
    (page,) = await ledger.rows(scope, "select engine, text from pages where number = 2")
    assert (page["engine"], page["text"]) == (engine, "in clear")


async def test_a_job_that_stops_while_a_model_looks_leaves_its_pages_to_be_read(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    over = [False]

    class Stopping(Model):
        async def look(self, scope: Scope, job: str, page: Page, png: bytes) -> Page:
            over[0] = True
            return await super().look(scope, job, page, png)

    model, ledger.reader = Stopping(away=False), WeakReader()
    ledger.vision = step_of(model)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(
        "WEAK reading with some words upon it\fWEAK reading with other words upon it"
    )
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    claimed = await ledger.claim()
    await ledger.runner().turn(claimed, await ledger.recipe(), lambda: over[0], lambda: over[0])
    assert model.looked == [1]
    assert [row["number"] for row in await ledger.rows(scope, "select number from pages")] == [1]
    left = await ledger.rows(scope, "select attempts from units where stage = 'read' and status = 'pending'")
    assert left == [{"attempts": 0}], "which costs them no attempt"


async def test_a_slice_that_is_over_gives_up_no_page_that_is_shown(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """Looks last longer than a slice: each would be begun, paid for and given up again."""
    model, ledger.reader = Model(away=False), WeakReader()
    ledger.vision = step_of(model)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("WEAK reading with some words upon it")
    await ledger.enqueue(scope, "scan", {"root": str(tmp_path / "in"), "agent_id": None})
    claimed = await ledger.claim()
    await ledger.runner().turn(claimed, await ledger.recipe(), lambda: bool(ledger.reader.readings))
    pages = await ledger.rows(scope, "select text from pages")
    assert (model.looked, pages) == ([1], [{"text": "in clear"}])


async def test_reading_again_with_a_model_is_refused_where_none_is_named(
    operator: httpx.AsyncClient, worker: Bench
) -> None:
    sent = await operator.post("/api/documents/upload", files={"file": ("a.txt", b"some text")})
    await worker.run(JobLane.SMALL)
    path = f"/api/documents/{sent.json()['document_id']}/reprocess"
    refused = await operator.post(path, json={"strategy": "vision"})
    assert refused.status_code == 422 and "AOS_VISION_CONNECTION" in refused.json()["fix"]


async def test_a_workspace_does_not_see_what_another_spent(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    budget = StoredVisionBudget(ledger.database, VisionSettings(), lambda: datetime.now(UTC))
    await budget.take(scope, JOB, 1000)
    query = "select sum(pages)::int as pages, sum(pixels)::int as pixels from vision_pages"
    assert await ledger.rows(scope, query) == [{"pages": 1, "pixels": 1000}]
    assert await ledger.rows(await new_workspace(admin_dsn), query) == [{"pages": None, "pixels": None}]
