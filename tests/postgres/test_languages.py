"""Languages from the upload to the index: detected for each chunk, fixed by an operator, and detected again."""

import asyncio

import httpx
import psycopg
import pytest

from cluster.state.work.jobs import JobLane
from pipelines.documents.chunk import language
from tests.fakes.http import Api
from tests.fakes.ledger import Bench

GERMAN = "Die Häuser am Hafen wurden im vergangenen Sommer verkauft, wie der Makler in seinem Bericht schreibt."
ENGLISH = "The houses at the harbour were repaired by the two carpenters who had been hired during last summer."
CHINESE = "本厂锅炉的最高允许温度为二百度。巡检员李红梅每两周检查一次。"


async def uploaded(client: httpx.AsyncClient, worker: Bench, name: str, text: str) -> None:
    sent = await client.post("/api/documents/upload", files={"file": (name, text.encode())})
    assert sent.status_code == 202
    await worker.run(JobLane.SMALL)


@pytest.fixture
def shelf(admin_dsn: str) -> "Shelf":
    return Shelf(admin_dsn)


class Shelf:
    """What is in the index."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def languages(self) -> dict[str, str]:
        sql = "select d.filename, c.language from document_chunks c join documents d on d.id = c.document_id"
        with psycopg.connect(self._dsn) as connection:
            return dict(connection.execute(sql).fetchall())

    def present(self) -> set[str]:
        with psycopg.connect(self._dsn) as connection:
            rows = connection.execute("select unnest(stemmers) from workspaces").fetchall()
        return {str(row[0]) for row in rows}


async def test_each_upload_is_cut_in_its_own_language_until_one_is_fixed(
    api: Api, operator: httpx.AsyncClient, worker: Bench, shelf: Shelf
) -> None:
    await uploaded(operator, worker, "de.txt", GERMAN)
    await uploaded(operator, worker, "en.txt", ENGLISH)
    assert shelf.languages() == {"de.txt": "german", "en.txt": "english"}
    assert shelf.present() == {"german", "english"}

    fixed = await operator.put("/api/search/language", json={"language": "english"})
    assert fixed.json()["chunks"] == 1
    await uploaded(operator, worker, "zh.txt", CHINESE)
    assert set(shelf.languages().values()) == {"english"} == shelf.present()

    again = await operator.put("/api/search/language", json={"language": "auto"})
    assert again.json()["chunks"] == 2 and (await operator.get("/api/search/language")).json()["language"] == "auto"
    assert shelf.languages() == {"de.txt": "german", "en.txt": "english", "zh.txt": "simple"}
    assert shelf.present() == {"german", "english", "simple"}


async def test_the_detector_is_read_in_a_thread_and_once() -> None:
    """Its model takes a second to read, in which the event loop would answer nobody; searches that meet wait for it."""
    language._detector.cache_clear()
    ticks, waiting = 0, asyncio.create_task(language.prepare_detector())
    while not waiting.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 3 and language._detector.cache_info().currsize == 1
    await language.prepare_detector()
    assert language._detector.cache_info().misses == 1


async def test_a_document_that_is_read_again_keeps_its_language(
    api: Api, operator: httpx.AsyncClient, worker: Bench, shelf: Shelf
) -> None:
    await uploaded(operator, worker, "de.txt", GERMAN)
    sent = await operator.post("/api/documents/reindex-all", json={})
    assert sent.status_code == 202
    await worker.run(JobLane.BULK)
    assert shelf.languages() == {"de.txt": "german"} and shelf.present() == {"german"}
