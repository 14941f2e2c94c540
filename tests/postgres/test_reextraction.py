"""A document is read again: a new version beside the old, from the request over HTTP down to the reader, and back."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.errors import LeaseLost
from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from pipelines.documents.document import FailureReason, Page, Unreadable
from pipelines.documents.extract.reader import FileSurvey
from pipelines.documents.sources.sniff import Kind
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench
from tests.fakes.reading import FormFeedReader, WorkerKilled

PAGES = ("The lighthouse was built in 1811.", "Its keeper was Anna Berg.", "The lamp burns whale oil.")


class ScanReader(FormFeedReader):
    """Reads as scans are read: another strategy or language gives another text. `broken` opens nothing."""

    broken = False

    def survey(
        self, path: Path, filename: str | None = None, *, encoding: str | None = None, language: str | None = None
    ) -> FileSurvey:
        if self.broken:
            raise Unreadable(FailureReason.CORRUPT, "the parser is broken")
        return super().survey(path, filename, encoding=encoding, language=language)

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        for page in super().read(path, kind, numbers, encoding=encoding, language=language):
            how = " ".join(filter(None, (self.strategy, "+".join(self.languages))))
            yield replace(page, text=f"{page.text} ({how})") if how and page.failure is None else page


@pytest.fixture
def reading(worker: Bench) -> Bench:
    worker.reader = ScanReader()
    return worker


async def scanned(client: httpx.AsyncClient, worker: Bench) -> str:
    """A scan of the folder, and the one document that there is then."""
    sent = await client.post("/api/documents/batch-scan", json={"path": "."})
    assert sent.status_code == 202, sent.text
    await worker.run(JobLane.BULK)
    (document,) = [str(one["id"]) for one in (await client.get("/api/documents/")).json()["items"]]
    return document


async def uploaded(client: httpx.AsyncClient, worker: Bench, *pages: str, name: str = "light.txt") -> str:
    sent = await client.post("/api/documents/upload", files={"file": (name, "\f".join(pages or PAGES).encode())})
    await worker.run(JobLane.SMALL)
    return str(sent.json()["document_id"])


async def reprocess(client: httpx.AsyncClient, document: str, key: str = "", **body: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return await client.post(f"/api/documents/{document}/reprocess", json=body, headers=headers)


async def read_again(client: httpx.AsyncClient, worker: Bench, document: str, **body: Any) -> dict[str, Any]:
    """The job, at its end."""
    answer = await reprocess(client, document, **body)
    assert answer.status_code == 202, answer.text
    assert await worker.run(JobLane.SMALL) == answer.json()["job_id"]
    job: dict[str, Any] = (await client.get(f"/api/jobs/{answer.json()['job_id']}")).json()
    return job


async def shown(client: httpx.AsyncClient, document: str) -> dict[str, Any]:
    body: dict[str, Any] = (await client.get(f"/api/documents/{document}")).json()
    return body


async def texts(client: httpx.AsyncClient, document: str, version: str = "") -> list[str]:
    whose = f"versions/{version}/" if version else ""
    found = [await client.get(f"/api/documents/{document}/{whose}pages/{n}") for n in range(1, len(PAGES) + 1)]
    return [answer.json()["text"] for answer in found]


def rows(admin_dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


async def test_gw_12_pages_are_read_again_into_a_new_version_and_the_others_are_taken_over(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    """GW-12: read, cut and embedded again; old citations lead to the old page; searches forget what they knew."""
    document = await uploaded(operator, reading)
    before, corpus = await shown(operator, document), "select corpus_version from workspaces order by 1 desc"
    old = rows(admin_dsn, corpus)
    job = await read_again(operator, reading, document, pages="2", strategy="tesseract", languages=["eng"])
    assert (job["state"], job["pages"]["expected"], job["outcome"]["completed"]) == ("completed", 1, 1)
    assert sorted((n, times) for (_, n), times in reading.reader.readings.items()) == [(1, 1), (2, 2), (3, 1)]
    after = await shown(operator, document)
    assert (after["status"], after["version_id"] != before["version_id"]) == ("completed", True)
    assert await texts(operator, document) == [PAGES[0], f"{PAGES[1]} (tesseract eng)", PAGES[2]]
    assert await texts(operator, document, before["version_id"]) == list(PAGES), "as an old citation has it"
    versions = (await operator.get(f"/api/documents/{document}/versions")).json()["items"]
    assert [one["current"] for one in versions] == [True, False]
    assert rows(admin_dsn, corpus) > old
    chunks = "select c.version_id = d.current_version, count(e.chunk_id) > 0 from document_chunks c"
    chunks += " join documents d on d.id = c.document_id left join embeddings e on e.chunk_id = c.id group by 1"
    assert rows(admin_dsn, chunks) == [(True, True)]


async def test_a_reading_that_comes_to_the_same_is_no_new_version(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    document = await uploaded(operator, reading)
    before = await shown(operator, document)
    job = await read_again(operator, reading, document)
    assert (job["state"], job["outcome"]["unchanged"], job["pages"]["done"]) == ("completed", 1, 3)
    assert set(reading.reader.readings.values()) == {2}, "it was really read"
    after = await shown(operator, document)
    assert after["version_id"] == before["version_id"]
    assert rows(admin_dsn, "select count(*), sum(pages) from document_versions, tenant_pages") == [(1, 3)]
    assert after["processed_date"] > before["processed_date"], "and cut and embedded"


async def test_what_stays_doubtful_is_told_though_nothing_changed(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading, "plain", "PICTURE here")
    job = await read_again(operator, reading, document)
    assert (job["state"], job["outcome"]["partial"], job["outcome"]["completed"]) == ("partial", 1, 0)
    failures = (await operator.get(f"/api/jobs/{job['id']}/failures")).json()
    assert [one["document_id"] for one in failures["caveats"]] == [document]


async def test_the_same_key_is_the_same_job_also_when_it_has_ended(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    document = await uploaded(operator, reading)
    asked = {"pages": "1,3", "strategy": "tesseract"}
    first = (await reprocess(operator, document, "once", **asked)).json()
    waiting = (await reprocess(operator, document, "once", **asked)).json()
    await reading.run(JobLane.SMALL)
    later = (await reprocess(operator, document, "once", **asked)).json()
    assert {one["job_id"] for one in (first, waiting, later)} == {first["job_id"]}
    assert [one["fresh"] for one in (first, waiting, later)] == [True, False, False]
    assert [one["status"] for one in (first, waiting, later)] == ["queued", "queued", "completed"]
    assert rows(admin_dsn, "select count(*) from document_versions") == [(2,)]
    other = await reprocess(operator, document, "once", pages="2")
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


async def test_a_key_leads_to_its_job_whatever_became_of_the_document(
    api: Api, operator: httpx.AsyncClient, reading: Bench, tmp_path: Path
) -> None:
    """Whoever lost the answer asks again, maybe when the file has gone or changed, or the document was renamed."""
    path = tmp_path / "scans" / "light.txt"
    path.write_text("\f".join(PAGES))
    document = await scanned(operator, reading)
    first = (await reprocess(operator, document, "once", pages="3")).json()
    await reading.run(JobLane.SMALL)
    path.write_text("one page")
    await scanned(operator, reading)
    assert (await reprocess(operator, document, "once", pages="3")).json()["job_id"] == first["job_id"]
    path.unlink()
    assert (await reprocess(operator, document, "once", pages="3")).json()["job_id"] == first["job_id"]
    assert (await reprocess(operator, document, "twice", pages="1")).status_code == 409


async def test_two_at_once_would_undo_each_other_so_the_second_is_told_of_the_first(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    document = await uploaded(operator, reading)
    answers = await asyncio.gather(*(reprocess(operator, document, pages=str(n)) for n in (1, 2, 3)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409]
    (accepted,) = [answer.json()["job_id"] for answer in answers if answer.status_code == 202]
    assert all(accepted in answer.json()["detail"] for answer in answers if answer.status_code == 409)
    assert rows(admin_dsn, "select count(*) from jobs where kind = 'process'") == [(1,)]
    await reading.run(JobLane.SMALL)
    assert (await reprocess(operator, document, pages="2")).status_code == 202


async def test_a_worker_that_is_killed_leaves_the_old_version_and_the_next_goes_on(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    """Killed while it reads and while it indexes: with the wishes of the request, and no page is read twice."""
    document = await uploaded(operator, reading)
    before = await shown(operator, document)
    started = (await reprocess(operator, document, strategy="tesseract", languages="eng")).json()
    reading.reader.die_before = lambda name, number: number == 2

    async def is_killed() -> None:
        claimed = await reading.claim(lane=JobLane.SMALL, lease=0.05)
        with pytest.raises(WorkerKilled):
            await reading.runner().turn(claimed, await reading.recipe(), lambda: False)
        seen = await shown(operator, document)
        assert (seen["version_id"], seen["status"]) == (before["version_id"], "completed")
        assert await texts(operator, document) == list(PAGES)
        await asyncio.sleep(0.1)

    await is_killed()
    reading.reader.die_before = lambda name, number: False
    embed = reading.embedder.embed

    async def ends_here(*_: Any) -> Any:
        raise WorkerKilled

    reading.embedder.embed = ends_here  # type: ignore[method-assign]
    await is_killed()
    reading.embedder.embed = embed  # type: ignore[method-assign]
    reading.reader.use((), None)
    assert await reading.run(JobLane.SMALL) == started["job_id"]
    assert await texts(operator, document) == [f"{page} (tesseract eng)" for page in PAGES]
    assert set(reading.reader.readings.values()) == {2}
    assert rows(admin_dsn, "select count(*) from document_versions") == [(2,)]


async def test_a_cancelled_reading_leaves_the_document_as_it_was_and_goes_on_when_resumed(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading)
    before = await shown(operator, document)
    started = (await reprocess(operator, document, strategy="tesseract")).json()
    cancelled = await operator.post(f"/api/jobs/{started['job_id']}/cancel")
    assert cancelled.json()["state"] == "cancelled"
    after = await shown(operator, document)
    same = ("version_id", "status", "failure")
    assert [after[name] for name in same] == [before[name] for name in same]
    await operator.post(f"/api/jobs/{started['job_id']}/resume")
    await reading.run(JobLane.SMALL)
    assert await texts(operator, document) == [f"{page} (tesseract)" for page in PAGES]


async def test_a_retry_reads_what_failed_as_the_request_asked(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading, "one", "FAIL", "three")
    assert (await shown(operator, document))["status"] == "partial"
    job = await read_again(operator, reading, document, pages="2-3", strategy="tesseract")
    assert (job["state"], job["outcome"]["partial"]) == ("partial", 1)
    reading.reader.fail_word = "never"
    reading.reader.use((), None)
    await operator.post(f"/api/jobs/{job['id']}/retry")
    await reading.run(JobLane.SMALL)
    assert await texts(operator, document) == ["one", "FAIL (tesseract)", "three (tesseract)"]
    assert (await shown(operator, document))["status"] == "completed"


async def test_a_page_that_was_good_and_fails_now_keeps_the_version_before(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    """An engine that is missing fails every page, a timeout one: neither takes from readers what they have."""
    document = await uploaded(operator, reading, "one", "WEAK two", "three")
    before = await shown(operator, document)
    reading.reader.fail_word = "WEAK"
    job = await read_again(operator, reading, document, strategy="tesseract")
    assert (job["state"], job["outcome"]["failed"], job["outcome"]["completed"]) == ("failed", 1, 0)
    after = await shown(operator, document)
    same = ("version_id", "status", "failure", "chunks")
    assert [after.get(name) for name in same] == [before.get(name) for name in same]
    assert await texts(operator, document) == ["one", "WEAK two", "three"]
    failed = (await operator.get(f"/api/jobs/{job['id']}/failures")).json()["items"]
    assert any("page 2 was not read" in one["failure"]["detail"] for one in failed)
    reading.reader.fail_word = "never"
    reading.reader.use((), None)
    await operator.post(f"/api/jobs/{job['id']}/retry")
    await reading.run(JobLane.SMALL)
    assert await texts(operator, document) == [f"{page} (tesseract)" for page in ("one", "WEAK two", "three")]


async def test_a_page_that_fails_again_and_nothing_else_is_no_new_version(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading, "one", "FAIL", "three")
    before = await shown(operator, document)
    for _ in range(2):
        job = await read_again(operator, reading, document)
        assert (job["state"], job["outcome"]["failed"]) == ("failed", 1)
    assert (await shown(operator, document))["version_id"] == before["version_id"]


async def test_a_page_that_failed_and_was_not_asked_for_stays_a_page_that_failed(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading, "one", "FAIL", "PICTURE")
    job = await read_again(operator, reading, document, pages="1", strategy="tesseract")
    after = await shown(operator, document)
    assert (job["state"], job["outcome"]["partial"], after["status"]) == ("partial", 1, "partial")
    assert (after["pages"]["failed"], after["pages"]["with_caveats"]) == (1, 1)
    assert await texts(operator, document) == ["one (tesseract)", "", "PICTURE"]


async def test_pages_that_are_cut_otherwise_now_are_all_read(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    """Page 2 of the version before would be another part of the file by now."""
    reading.reader.most_pages = 2
    document = await uploaded(operator, reading)
    reading.reader.most_pages = None
    job = await read_again(operator, reading, document, pages="2")
    assert (job["state"], job["pages"]["expected"]) == ("completed", 3)
    assert await texts(operator, document) == list(PAGES)


async def test_a_zombie_that_wakes_after_its_lease_writes_nothing_of_a_new_reading(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading)
    await reprocess(operator, document, strategy="tesseract")
    zombie = await reading.claim(lane=JobLane.SMALL, lease=0.01)
    await asyncio.sleep(0.05)
    await reading.run(JobLane.SMALL, owner="worker-2")
    version = (await shown(operator, document))["version_id"]
    reading.reader.use((), None)
    with pytest.raises(LeaseLost):
        await reading.runner().turn(zombie, await reading.recipe(), lambda: False)
    assert (await shown(operator, document))["version_id"] == version
    assert await texts(operator, document) == [f"{page} (tesseract)" for page in PAGES]


async def test_a_later_look_at_the_file_neither_undoes_it_nor_reads_anything(
    api: Api, operator: httpx.AsyncClient, reading: Bench, office: Office, tmp_path: Path
) -> None:
    """A scan at night finds the same bytes; other settings read each page again as it was asked to be."""
    (tmp_path / "scans" / "light.txt").write_text("\f".join(PAGES))
    document = await scanned(operator, reading)
    await read_again(operator, reading, document, pages="2", strategy="tesseract")
    version, count = (await shown(operator, document))["version_id"], sum(reading.reader.readings.values())
    await scanned(operator, reading)
    assert (await shown(operator, document))["version_id"] == version
    assert sum(reading.reader.readings.values()) == count == 4
    reading.read_fingerprint = "reader-2"
    await scanned(operator, reading)
    assert sum(reading.reader.readings.values()) == 7
    assert await texts(operator, document) == [PAGES[0], f"{PAGES[1]} (tesseract)", PAGES[2]]
    (tmp_path / "scans" / "light.txt").write_text("\f".join((*PAGES[:2], "The lamp is electric.")))
    await scanned(operator, reading)
    assert (await texts(operator, document))[2] == "The lamp is electric.", "other bytes are another version"


async def test_a_document_whose_pages_all_failed_recovers(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading, "FAIL 1", "FAIL 2", "FAIL 3")
    assert (await shown(operator, document))["status"] == "failed"
    reading.reader.fail_word = "never"
    job = await read_again(operator, reading, document)
    after = await shown(operator, document)
    assert (job["state"], after["status"], after["failure"]) == ("completed", "completed", None)
    assert await texts(operator, document) == ["FAIL 1", "FAIL 2", "FAIL 3"]


@pytest.mark.parametrize("origin", ["upload", "folder"])
async def test_a_document_that_could_not_be_opened_recovers(
    api: Api, operator: httpx.AsyncClient, reading: Bench, tmp_path: Path, origin: str
) -> None:
    """It has no version yet, so all of it is read, by the wishes of the request, and is the first."""
    assert isinstance(reading.reader, ScanReader)
    reading.reader.broken = True
    if origin == "upload":
        document = await uploaded(operator, reading)
    else:
        (tmp_path / "scans" / "light.txt").write_text("\f".join(PAGES))
        document = await scanned(operator, reading)
    assert (await shown(operator, document))["status"] == "failed"
    job = await read_again(operator, reading, document)
    assert job["state"] == "failed" and (await shown(operator, document))["failure"]["detail"]
    reading.reader.broken = False
    refused = await reprocess(operator, document, pages="1")
    assert (refused.status_code, refused.json()["fix"]) == (422, "Leave pages out.")
    job = await read_again(operator, reading, document, strategy="tesseract")
    after = await shown(operator, document)
    assert (job["state"], after["status"], after["failure"]) == ("completed", "completed", None)
    assert await texts(operator, document) == [f"{page} (tesseract)" for page in PAGES]
    versions = (await operator.get(f"/api/documents/{document}/versions")).json()["items"]
    assert [one["current"] for one in versions] == [True]


async def test_a_document_whose_first_reading_was_cancelled_recovers(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    sent = (await operator.post("/api/documents/upload", files={"file": ("a.txt", "\f".join(PAGES).encode())})).json()
    early = await reprocess(operator, sent["document_id"])
    assert (early.status_code, sent["job_id"] in early.json()["fix"]) == (409, True)
    claimed = await reading.claim(lane=JobLane.SMALL)
    await reading.runner().turn(claimed, await reading.recipe(), lambda: True)
    await reading.jobs.release(claimed.lease)
    await operator.post(f"/api/jobs/{sent['job_id']}/cancel")
    assert (await shown(operator, sent["document_id"]))["status"] == "failed"
    job = await read_again(operator, reading, sent["document_id"], pages="2", strategy="tesseract")
    assert (job["state"], job["pages"]["expected"]) == ("completed", 3), "what was never read is read, too"
    assert (await shown(operator, sent["document_id"]))["status"] == "completed"


async def test_a_file_that_is_gone_or_another_now_is_a_clear_problem(
    api: Api, operator: httpx.AsyncClient, reading: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "scans" / "light.txt"
    path.write_text("\f".join(PAGES))
    document = await scanned(operator, reading)
    version = (await shown(operator, document))["version_id"]
    path.write_text("\f".join(PAGES).replace("whale", "shale"))  # as long as before: the job finds it out
    job = await read_again(operator, reading, document)
    assert job["state"] == "failed"
    (failed,) = (await operator.get(f"/api/jobs/{job['id']}/failures")).json()["items"]
    assert (failed["failure"]["reason"], "ingest it again" in failed["failure"]["detail"]) == ("changed", True)
    path.write_text("shorter")
    refused = await reprocess(operator, document)
    assert (refused.status_code, refused.json()["code"], refused.json()["reason"]) == (409, "file_changed", "changed")
    path.unlink()
    refused = await reprocess(operator, document)
    assert (refused.status_code, refused.json()["code"]) == (409, "file_changed") and refused.json()["fix"]
    after = await shown(operator, document)
    assert (after["version_id"], after["status"]) == (version, "completed") and await texts(operator, document) == list(
        PAGES
    )


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ({"pages": "4"}, "invalid", "no page 4"),
        ({"pages": "0"}, "invalid", "no page 0"),
        ({"pages": "two"}, "invalid", "3,7-9"),
        ({"pages": "3", "encoding": "cp1250"}, "invalid", "Leave pages out"),
        ({"pages": ""}, "invalid", "pages are empty"),
        ({"pages": " "}, "invalid", "pages are empty"),
        ({"pages": "1-3,2"}, "invalid", "page 2 is named twice"),
        ({"strategy": "best"}, "invalid", "cascade"),
        ({"languages": ["eng", "xyz"]}, "language_not_installed", "tesseract-ocr-xyz"),
        ({"languages": "eng+../up"}, "invalid", "no name of a language"),
        ({"page": "3"}, "invalid", "page"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_the_way_out(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str, body: dict[str, Any], code: str, told: str
) -> None:
    document = await uploaded(operator, reading)
    refused = await reprocess(operator, document, **body)
    assert refused.status_code == 422 and told in refused.text, refused.text
    assert refused.json()["code"] == code
    assert rows(admin_dsn, "select count(*) from jobs where kind = 'process'") == [(0,)]


async def test_nobody_reads_a_document_again_that_is_not_theirs_to_change(
    api: Api, operator: httpx.AsyncClient, reading: Bench, office: Office, admin_dsn: str
) -> None:
    """404 from another tenant and for those who may not see it; 403 for those who only read."""
    document = await uploaded(operator, reading)
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    viewer, developer = [await api.sign_in(office.emails[role]) for role in (Role.VIEWER, Role.DEVELOPER)]
    assert (await reprocess(stranger, document)).status_code == 404
    assert (await reprocess(viewer, document)).status_code == 403
    rows(admin_dsn, "update documents set readers = '{user:boss@x.example}'")
    for client in (operator, developer):
        assert (await reprocess(client, document)).status_code == 404
    rows(admin_dsn, "update documents set readers = '{}'")
    assert (await reprocess(developer, document)).status_code == 202


async def test_whoever_waits_gets_the_end(api: Api, operator: httpx.AsyncClient, reading: Bench) -> None:
    document = await uploaded(operator, reading)
    url = f"/api/documents/{document}/process"
    early = await operator.post(url, params={"wait": 0.2})
    assert (early.status_code, early.json()["status"]) == (202, "queued")
    await reading.run(JobLane.SMALL)

    async def work() -> None:
        await asyncio.sleep(0.2)
        await reading.run(JobLane.SMALL)

    answer, _ = await asyncio.gather(operator.post(url, params={"wait": 20}), work())
    assert (answer.status_code, answer.json()["status"], answer.json()["document_id"]) == (200, "completed", document)


async def test_a_reading_that_a_newer_file_has_overtaken_changes_nothing_and_says_so(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    document = await uploaded(operator, reading)
    await reprocess(operator, document, strategy="tesseract")
    claimed = await reading.claim(lane=JobLane.SMALL)
    await reading.runner().turn(claimed, await reading.recipe(), lambda: True)  # surveyed
    newer = [*PAGES[:2], "The lamp is electric."]
    assert await uploaded(operator, reading, *newer) == document
    await reading.jobs.release(claimed.lease)
    await reading.run(JobLane.SMALL)
    assert await texts(operator, document) == newer and (await shown(operator, document))["status"] == "completed"
    job = (await operator.get(f"/api/jobs/{claimed.lease.job}")).json()
    assert (job["state"], job["outcome"]["unchanged"], job["outcome"]["failed"]) == ("failed", 0, 1)
    (failed,) = (await operator.get(f"/api/jobs/{job['id']}/failures")).json()["items"]
    assert (failed["document_id"], "newer version" in failed["failure"]["detail"]) == (document, True)
    assert rows(admin_dsn, "select count(*), sum(pages) from document_versions, tenant_pages") == [(2, 12)]


async def test_a_scan_beside_a_reading_does_not_discard_it(
    api: Api, operator: httpx.AsyncClient, reading: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    """Other settings since, so the scan has each page of the current version to read, too."""
    (tmp_path / "scans" / "light.txt").write_text("\f".join(PAGES))
    document = await scanned(operator, reading)
    before = await shown(operator, document)
    reading.read_fingerprint = "reader-2"
    started = (await reprocess(operator, document, strategy="tesseract")).json()
    claimed = await reading.claim(lane=JobLane.SMALL)
    await reading.runner().turn(claimed, await reading.recipe(), lambda: True)  # surveyed
    reading.reader.use((), None)
    await scanned(operator, reading)
    assert (await shown(operator, document))["version_id"] == before["version_id"]
    await reading.jobs.release(claimed.lease)
    assert await reading.run(JobLane.SMALL) == started["job_id"]
    assert await texts(operator, document) == [f"{page} (tesseract)" for page in PAGES]


async def test_pages_of_a_new_reading_count_against_the_quota(
    app_dsn: str, admin_dsn: str, tmp_path: Path, reading: Bench
) -> None:
    """They are stored beside the old; a tenant that has no room keeps what it has."""
    office = open_office(admin_dsn)
    async with serve(make_parts(app_dsn, tmp_path)) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        document = await uploaded(client, reading)
        before = await shown(client, document)
        reading.read = reading.read.model_copy(update={"tenant_pages": 5})
        job = await read_again(client, reading, document, strategy="tesseract")
        assert job["state"] == "failed"
        (failed,) = (await client.get(f"/api/jobs/{job['id']}/failures")).json()["items"]
        assert (failed["document_id"], failed["failure"]["reason"]) == (document, "too_large")
        assert await shown(client, document) == before, "nothing is said of the document"
        assert await texts(client, document) == list(PAGES)


async def test_an_older_job_does_not_read_into_a_version_that_was_replaced(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    """Its pages would reach nobody while it said that all is well."""
    sent = await operator.post("/api/documents/upload", files={"file": ("a.txt", b"one\fFAIL\fthree")})
    await reading.run(JobLane.SMALL)
    upload, document = sent.json()["job_id"], str(sent.json()["document_id"])
    await read_again(operator, reading, document, pages="1", strategy="tesseract")
    reading.reader.fail_word = "never"
    refused = await operator.post(f"/api/jobs/{upload}/retry")
    assert (refused.status_code, "reprocess" in refused.json()["fix"]) == (409, True)
    assert (await operator.get(f"/api/jobs/{upload}")).json()["state"] == "partial"
    reading.reader.use((), None)
    await read_again(operator, reading, document, pages="2")
    assert await texts(operator, document) == ["one (tesseract)", "FAIL", "three"]


async def test_a_retry_leaves_out_what_was_replaced_and_does_the_rest(
    api: Api, operator: httpx.AsyncClient, reading: Bench, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / "scans" / f"{name}.txt").write_text(f"{name}\fFAIL\fthree")
    scan = (await operator.post("/api/documents/batch-scan", json={"path": "."})).json()["job_id"]
    await reading.run(JobLane.BULK)
    items = (await operator.get("/api/documents/")).json()["items"]
    a, b = [str(one["id"]) for one in sorted(items, key=lambda one: str(one["filename"]))]
    await read_again(operator, reading, a, pages="1", strategy="tesseract")
    reading.reader.fail_word = "never"
    reading.reader.use((), None)
    assert (await operator.post(f"/api/jobs/{scan}/retry")).status_code == 202
    await reading.run(JobLane.BULK)
    assert [await texts(operator, one) for one in (a, b)] == [["a (tesseract)", "", "three"], ["b", "FAIL", "three"]]
    assert (await operator.get(f"/api/jobs/{scan}")).json()["state"] == "partial", "it has not mended the first"


async def test_a_resumed_job_does_not_read_beside_another_one(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading)
    jobs = [(await reprocess(operator, document, strategy="tesseract")).json()["job_id"]]
    claimed = await reading.claim(lane=JobLane.SMALL)
    await reading.runner().turn(claimed, await reading.recipe(), lambda: True)  # surveyed
    await reading.jobs.release(claimed.lease)
    await operator.post(f"/api/jobs/{jobs[0]}/cancel")
    reading.reader.use((), None)
    jobs.append((await reprocess(operator, document, strategy="cascade")).json()["job_id"])
    refused = await operator.post(f"/api/jobs/{jobs[0]}/resume")
    assert (refused.status_code, jobs[1] in refused.json()["detail"]) == (409, True)
    await reading.run(JobLane.SMALL)
    refused = await operator.post(f"/api/jobs/{jobs[0]}/resume")
    assert (refused.status_code, "newer" in refused.json()["detail"]) == (409, True)
    assert (await operator.get(f"/api/jobs/{jobs[0]}")).json()["state"] == "cancelled"
    assert await texts(operator, document) == [f"{page} (cascade)" for page in PAGES]


async def test_an_upload_that_is_resumed_does_not_read_beside_a_reading(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    sent = await operator.post("/api/documents/upload", files={"file": ("a.txt", "\f".join(PAGES).encode())})
    upload, document = sent.json()["job_id"], sent.json()["document_id"]
    await operator.post(f"/api/jobs/{upload}/cancel")
    started = (await reprocess(operator, document)).json()["job_id"]
    refused = await operator.post(f"/api/jobs/{upload}/resume")
    # Nothing of it is planned, so it is known by its request alone.
    assert (refused.status_code, started in refused.json()["detail"]) == (409, True)


async def test_a_scan_that_is_about_to_read_a_page_is_not_read_beside(
    api: Api, operator: httpx.AsyncClient, reading: Bench, tmp_path: Path
) -> None:
    """Pages that are taken over would be those from before the scan."""
    (tmp_path / "scans" / "light.txt").write_text("\f".join(PAGES))
    document = await scanned(operator, reading)
    reading.read_fingerprint = "reader-2"
    scan = (await operator.post("/api/documents/batch-scan", json={"path": "."})).json()["job_id"]
    claimed = await reading.claim(lane=JobLane.BULK)
    await reading.runner().turn(claimed, await reading.recipe(), lambda: True)  # surveyed
    refused = await reprocess(operator, document, pages="1")
    assert (refused.status_code, scan in refused.json()["detail"]) == (409, True)


@pytest.mark.parametrize("then", ["request", "upload"])
async def test_pages_of_a_cancelled_reading_do_not_count_for_good(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str, then: str
) -> None:
    """It may be resumed until a newer request, or newer bytes, replace it."""
    document = await uploaded(operator, reading)
    started = (await reprocess(operator, document, strategy="tesseract")).json()["job_id"]
    claimed = await reading.claim(lane=JobLane.SMALL)
    await reading.runner().turn(claimed, await reading.recipe(), lambda: True)  # surveyed
    await reading.jobs.release(claimed.lease)
    await operator.post(f"/api/jobs/{started}/cancel")
    pages = "select count(distinct v.id), min(t.pages) from document_versions v, tenant_pages t"
    assert rows(admin_dsn, pages) == [(2, 6)]
    if then == "request":
        await read_again(operator, reading, document, strategy="cascade")
    else:
        await uploaded(operator, reading, "another", "file")
    assert rows(admin_dsn, pages) == [(2, 6 if then == "request" else 5)]
    assert (await operator.post(f"/api/jobs/{started}/resume")).status_code == 409


async def test_a_request_that_is_repeated_in_vain_adds_no_version_each_time(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    document = await uploaded(operator, reading, "one", "FAIL", "three")
    for _ in range(3):
        await read_again(operator, reading, document, pages="2")
    assert rows(admin_dsn, "select count(*) from document_versions") == [(2,)], "the last may be tried again"
    reading.reader.fail_word = "never"
    await read_again(operator, reading, document, pages="2")
    assert await texts(operator, document) == ["one", "FAIL", "three"]
    assert rows(admin_dsn, "select count(*) from document_versions") == [(2,)]


async def test_a_version_that_readers_once_had_stays_for_its_citations(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading)
    for strategy in ("tesseract", "cascade"):
        await read_again(operator, reading, document, strategy=strategy)
    versions = (await operator.get(f"/api/documents/{document}/versions")).json()["items"]
    assert [one["current"] for one in versions] == [True, False, False]


async def test_a_retry_that_is_overtaken_leaves_the_version_that_readers_had(
    api: Api, operator: httpx.AsyncClient, reading: Bench
) -> None:
    document = await uploaded(operator, reading, "one", "FAIL", "three")
    job = await read_again(operator, reading, document, strategy="tesseract")
    cited = (await shown(operator, document))["version_id"]
    await operator.post(f"/api/jobs/{job['id']}/retry")
    claimed = await reading.claim(lane=JobLane.SMALL)
    reading.reader.use((), None)
    await uploaded(operator, reading, "another", "file")
    await reading.jobs.release(claimed.lease)
    await reading.run(JobLane.SMALL)
    await read_again(operator, reading, document, pages="1")
    assert (await texts(operator, document, cited))[0] == "one (tesseract)"


async def test_a_reading_that_comes_to_the_same_leaves_the_moment_and_the_job_of_the_first(
    api: Api, operator: httpx.AsyncClient, reading: Bench, admin_dsn: str
) -> None:
    """A quote leads to the job that read its page."""
    document = await uploaded(operator, reading)
    kept = "select number, read_at, attempts, ms from pages order by number"
    before = rows(admin_dsn, kept)
    reading.read_fingerprint = "reader-2"
    job = await read_again(operator, reading, document)
    assert job["outcome"]["unchanged"] == 1
    assert rows(admin_dsn, kept) == before
    assert rows(admin_dsn, "select count(distinct fingerprint) from pages") == [(1,)]
