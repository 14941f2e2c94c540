"""People correct what was read: from the queue over HTTP to pages, chunks, vectors, answers, and later readings."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from PIL import Image

from cluster.basics.errors import NotFound, Unavailable
from cluster.basics.scope import Role
from cluster.models.ports import EmbeddingLane
from cluster.state.work.jobs import JobLane
from configs.sections_retrieval import GraphSettings, RerankSettings, SearchSettings
from pipelines.documents.graph.graph_rows import GraphStore
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.review.line_request import LineRequest
from pipelines.documents.review.page_corrector import PageCorrector
from pipelines.documents.review.review_queue import PageVersion, ReviewFilter, ReviewQueue
from serve_apps.http.routes.review.review_shapes import PageLinesShape
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.evals.correction_walk import CorrectionWalk
from tests.evals.eval_corrections import tell_figures
from tests.evals.report import Report
from tests.fakes.graphs import extractor
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench, LetterEmbedder, bench, worker_scope
from tests.fakes.scanned import ScannedReader
from tests.postgres.test_isolation import WALL

FILLER = "\n".join(f"The keeper wrote line {n} of the harbour journal that winter." for n in range(1, 61))
PAGES = (
    "The lighthouse was built in 1811.\nIts keepcr was Anna Berg.\n" + FILLER,
    "The lamp bums whale oil.\nRent is due on the first.\n" + FILLER,
    "| Item | Amount |\n| --- | --- |\n| Whale oil | l2 |\n| Wicks | 30 |\nNothing else.",
)


@dataclass
class CountingEmbedder(LetterEmbedder):
    """Counts what it embeds; `away` or `stalls` on demand."""

    texts: list[str] = field(default_factory=list)
    away: bool = False
    stalls: bool = False
    before: Any = None  # called before each embedding

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        if self.away:
            raise Unavailable("away")
        if self.stalls:
            await asyncio.sleep(3600)
        if self.before is not None:
            await self.before()
        self.texts += texts
        return await super().embed(texts, lane)


@dataclass
class Desk:
    """A scan that was read, an embedder that counts, and people of the office."""

    api: Api
    office: Office
    admin_dsn: str
    worker: Bench
    embedder: CountingEmbedder
    client: httpx.AsyncClient
    document: str

    async def lines(self, number: int = 1, client: httpx.AsyncClient | None = None) -> dict[str, Any]:
        sent = await (client or self.client).get(f"/api/documents/{self.document}/pages/{number}/lines")
        assert sent.status_code == 200, sent.text
        PageLinesShape.model_validate(sent.json())
        body: dict[str, Any] = sent.json()
        return body

    async def send(self, number: int, body: dict[str, Any], client: httpx.AsyncClient | None = None) -> httpx.Response:
        return await (client or self.client).post(
            f"/api/documents/{self.document}/pages/{number}/corrections", json=body
        )

    async def correct(self, number: int, line: int, text: str, **more: Any) -> dict[str, Any]:
        seen = (await self.lines(number))["page_version"]
        sent = await self.send(number, {"page_version": seen, "line": line, "text": text, **more})
        assert sent.status_code == 201, sent.text
        body: dict[str, Any] = sent.json()
        return body

    async def queue(self, client: httpx.AsyncClient | None = None, **wanted: Any) -> dict[str, Any]:
        sent = await (client or self.client).get("/api/review/pages", params={"below": 0.9, **wanted})
        assert sent.status_code == 200, sent.text
        body: dict[str, Any] = sent.json()
        return body

    async def found(self, words: str) -> list[str]:
        """Texts of passages that hold these words, as a search finds them."""
        sent = await self.client.post("/api/documents/search", json={"query": words, "limit": 20})
        assert sent.status_code == 200, sent.text
        return [hit["text"] for hit in sent.json()["results"] if words in hit["text"]]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.admin_dsn, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def state(self) -> list[tuple[Any, ...]]:
        """Everything that a correction writes."""
        return [
            *self.rows("select version_id, number, text, words::text, engine, revision from pages order by 1, 2"),
            *self.rows("select id, text, search_text, spans::text, boxes::text from document_chunks order by 1"),
            *self.rows("select chunk_id, embedding::text from embeddings order by 1"),
            *self.rows("select version_id, ordinal, content::text from page_tables order by 1, 2"),
            *self.rows("select count(*) from page_corrections"),
            *self.rows("select id, reads, tables_of_reads from document_versions order by 1"),
        ]

    def assert_index_is_whole(self) -> None:
        """Chunks say what their pages say, each has its vector, and the live index knows that it holds the text."""
        texts = {(version, n): text for version, n, text in self.rows("select version_id, number, text from pages")}
        chunks = self.rows(
            "select c.version_id, c.text, c.spans, c.search_text, e.embedding::text from document_chunks c"
            " join documents d on d.current_version = c.version_id left join embeddings e on e.chunk_id = c.id"
        )
        assert chunks
        for version, text, spans, search, vector in chunks:
            assert text == "\n".join(texts[version, page][start:end] for page, start, end in spans)
            assert text in search and vector is not None
        assert self.rows(
            "select m.reads = v.reads and m.embedded and v.tables_of_reads = v.reads from documents d"
            " join document_versions v on v.id = d.current_version join workspaces w on w.id = d.workspace_id"
            " join indexed_versions m on m.version_id = v.id and m.generation_id = w.generation_id"
        ) == [(True,)]


@pytest.fixture
async def desk(app_dsn: str, admin_dsn: str, tmp_path: Path) -> AsyncIterator[Desk]:
    embedder = CountingEmbedder()
    async with bench(app_dsn, tmp_path) as worker:
        worker.reader, worker.embedder = ScannedReader(unsure=("keepcr", "bums", "l2")), embedder
        search = SearchPipeline(worker.database, embedder, None, SearchSettings(), RerankSettings())
        answerer = DocumentAnswerer(search, worker.database, embedder)
        parts = make_parts(app_dsn, tmp_path, answerer=answerer, search=search, embedder=embedder)
        async with serve(parts) as api:
            office = open_office(admin_dsn)
            client = await api.sign_in(office.emails[Role.DEVELOPER])
            sent = await client.post("/api/documents/upload", files={"file": ("light.txt", "\f".join(PAGES).encode())})
            await worker.run(JobLane.SMALL)
            embedder.texts.clear()
            yield Desk(api, office, admin_dsn, worker, embedder, client, sent.json()["document_id"])


async def test_the_queue_lists_weak_pages_the_least_sure_first(desk: Desk) -> None:
    waiting = await desk.queue()
    assert [(one["page"], one["weak"][0]["text"], one["reasons"]) for one in waiting["items"]] == [
        (3, "| Whale oil | l2 |", ["confidence"]),
        (1, "Its keepcr was Anna Berg.", ["confidence"]),
        (2, "The lamp bums whale oil.", ["confidence"]),
    ]
    assert (waiting["total"], waiting["threshold"]) == (3, 0.9)
    weakest = [one["weakest_line"] for one in waiting["items"]]
    assert weakest == sorted(weakest)
    second = await desk.queue(skip=1, limit=1)
    assert [one["page"] for one in second["items"]] == [waiting["items"][1]["page"]] and second["total"] == 3
    assert (await desk.queue(skip=9))["total"] == 3
    for nothing in ({"below": 0.2}, {"reason": "caveat"}, {"search": "other"}, {"document_id": "0" * 32}):
        assert (await desk.queue(**nothing))["items"] == []
    assert (await desk.queue(search="LIGHT", document_id=desk.document, reason="confidence"))["total"] == 3


async def test_pages_from_before_an_update_are_weighed_when_the_queue_is_looked_at(desk: Desk) -> None:
    """Until then the mean of the page stands for its weakest line; pages without words never wait for it."""
    known = desk.rows("select number, weakest_line from pages order by 1")
    assert all(line is not None and line < 0.9 for _, line in known)
    desk.rows("update pages set weakest_line = null, confidence = case when number = 2 then 0.4 else 0.95 end")
    queue, worker = ReviewQueue(desk.worker.database), desk.office.scope
    named = {"below": 0.9, "document": None, "reason": None, "search": None, "reviewed": False}
    read = (worker, queue._sql["waiting"])
    rows = await desk.worker.database.read(*read, **named, workspace=worker.workspace, skip=0, limit=9)
    assert [(row["number"], row["weakest_line"]) for row in rows] == [(2, pytest.approx(0.4))]
    assert (await desk.queue())["total"] == 3
    assert desk.rows("select number, weakest_line from pages order by 1") == known
    desk.rows("update pages set words = '[]', confidence = 0.1 where number = 2")
    assert [one["page"] for one in (await desk.queue())["items"]] == [3, 1]
    desk.rows("update pages set weakest_line = null where number = 2")
    assert [one["page"] for one in (await desk.queue())["items"]] == [3, 1]
    desk.rows("update pages set engine = 'native+human' where number = 1")
    assert desk.rows("select weakest_line from pages where number = 1") == [(None,)]


async def test_a_worker_from_before_an_update_that_writes_a_page_changes_its_version(desk: Desk) -> None:
    """It does not count changes: whoever saw the page before is told, and it waits to be looked at again."""
    seen = (await desk.lines(2))["page_version"]
    await desk.client.put(f"/api/documents/{desk.document}/pages/2/review", json={"page_version": seen})
    for text in ("The lamp bums.", "The lamp bums."):  # the second time nothing changes
        desk.rows("update pages set text = %s, words = '[]' where number = 2", text)
    assert desk.rows("select revision, reviewed_at from pages where number = 2") == [(1, None)]
    sent = await desk.send(2, {"page_version": seen, "line": 0, "text": "The lamp burns."})
    assert (sent.status_code, sent.json()["code"]) == (409, "page_changed")


async def test_a_page_that_is_fine_leaves_the_queue_until_its_text_changes(desk: Desk) -> None:
    seen = (await desk.lines(2))["page_version"]
    place = f"/api/documents/{desk.document}/pages/2/review"
    for _ in range(2):
        assert (await desk.client.put(place, json={"page_version": seen})).status_code == 200
    assert [one["page"] for one in (await desk.queue())["items"]] == [3, 1]
    (marked,) = (await desk.queue(reviewed=True))["items"]
    assert (marked["page"], marked["reviewed_by"]) == (2, desk.office.emails[Role.DEVELOPER])
    assert (await desk.client.put(place, json={"page_version": f"{seen}1"})).json()["code"] == "page_changed"
    await desk.client.put(place, json={"page_version": seen, "fine": False})
    assert (await desk.queue())["total"] == 3
    assert desk.rows("select count(*) from audit where action = 'page.review'") == [(3,)]


async def test_a_correction_is_found_at_once_and_embeds_only_what_changed(desk: Desk) -> None:
    """Chunks around it keep their ids and vectors; the page says who changed what, when."""
    before = dict(desk.rows("select id, text from document_chunks"))
    vectors = dict(desk.rows("select chunk_id, embedding::text from embeddings"))
    began = time.perf_counter()
    made = await desk.correct(1, 1, "Its keeper was Anna Berg of Holm.")
    assert await desk.found("Its keeper was Anna Berg of Holm.")
    assert time.perf_counter() - began < 5
    assert (made["searchable"], made["fresh"]) == ("vectors", True)
    assert made["reembedded"] == len(desk.embedder.texts) - 1 <= 3, "and the question"
    after = dict(desk.rows("select id, text from document_chunks"))
    changed = {key for key in after if key not in before}
    assert len(before) > 4 and len(changed) == made["reembedded"] and len(after) == len(before)
    kept = dict(desk.rows("select chunk_id, embedding::text from embeddings"))
    assert {key: kept[key] for key in before.keys() & after.keys()} == {
        key: vectors[key] for key in before.keys() & after.keys()
    }
    desk.assert_index_is_whole()
    assert await desk.found("keepcr was") == []
    page = (await desk.client.get(f"/api/documents/{desk.document}/pages/1")).json()
    assert (page["engine"], page["text"].splitlines()[1]) == ("tesseract+human", "Its keeper was Anna Berg of Holm.")
    assert [one["page"] for one in (await desk.queue())["items"]] == [3, 2]
    history = (await desk.client.get(f"/api/documents/{desk.document}/pages/1/corrections")).json()
    (entry,) = history["items"]
    assert entry["text_before"] == "Its keepcr was Anna Berg."
    assert entry["text_after"] == "Its keeper was Anna Berg of Holm."
    assert (entry["user_email"], entry["unplaced"], history["total"]) == (desk.office.emails[Role.DEVELOPER], False, 1)
    assert desk.rows("select detail->>'page' from audit where action = 'page.correct'") == [("1",)]
    shown = (await desk.client.get(f"/api/documents/{desk.document}")).json()
    assert (shown["status"], shown["has_embeddings"], shown["chunk_count"]) == ("completed", True, len(after))


async def test_many_corrections_in_a_row_leave_an_index_as_whole_as_one(desk: Desk) -> None:
    for n, number, line in [(n, 1 + n % 2, 2 + 3 * n) for n in range(8)]:
        text = f"Corrected number {n} " + "with more words " * (n % 3)
        assert (await desk.correct(number, line, text))["reembedded"] <= 3
    desk.assert_index_is_whole()
    assert await desk.found("Corrected number 7")


async def test_facts_of_tables_follow(desk: Desk) -> None:
    line = next(one for one in (await desk.lines(3))["lines"] if "l2" in one["text"])
    word = next(start for start, text, _ in line["words"] if text == "l2")
    await desk.correct(3, line["line"], "12", word=word)
    desk.assert_index_is_whole()
    ((content,),) = desk.rows("select content from page_tables")
    assert [row[3] for row in content["rows"]] == [["Whale oil", "12"], ["Wicks", "30"]]
    seen = (await desk.lines(3))["page_version"]
    sent = await desk.send(3, {"page_version": seen, "line": line["line"], "text": "| x"})
    assert (sent.status_code, sent.json()["code"]) == (422, "invalid")


async def test_answers_show_the_corrected_text_and_say_that_it_was_corrected(desk: Desk) -> None:
    """Never a stale citation: also one further down, whose place has moved, and one of an older version."""
    asked = [(await desk.client.post("/api/ask", json={"question": q})).json() for q in ("What does the lamp burn?",)]
    (answer,) = asked
    assert [one["quote"] for one in answer["citations"]] == ["The lamp bums whale oil."]
    rent = (await desk.client.post("/api/ask", json={"question": "When is the rent due?"})).json()
    assert any("first" in one["quote"] for one in rent["citations"])
    await desk.correct(2, 0, "The lamp burns sperm whale oil.")
    why = (await desk.client.get(f"/api/answers/{answer['id']}/why")).json()
    (cited,) = why["citations"]
    assert (cited["quote"], cited["withheld"]) == ("The lamp burns sperm whale oil.", None)
    assert [one["text_before"] for one in cited["corrections"]] == ["The lamp bums whale oil."]
    assert cited["boxes"] and cited["ocr_confidence"] == 1.0
    asker = replace(desk.office.scope, principals=(f"user:{desk.office.emails[Role.DEVELOPER]}",))
    assert set(await desk.api.parts.answers.corrected_since(asker, [answer["id"]])) == {answer["id"]}
    assert await desk.api.parts.answers.corrected_since(open_office(desk.admin_dsn).scope, [answer["id"]]) == {}
    why = (await desk.client.get(f"/api/answers/{rent['id']}/why")).json()
    assert [one["quote"] for one in why["citations"]] == [one["quote"] for one in rent["citations"]], "only moved"
    assert all(one["corrections"] == [] for one in why["citations"])
    again = (await desk.client.post("/api/ask", json={"question": "What does the lamp burn?"})).json()
    assert [one["quote"] for one in again["citations"]] == ["The lamp burns sperm whale oil."]


async def test_an_answer_that_was_under_way_while_its_page_was_corrected_keeps_its_citation(desk: Desk) -> None:
    """Its page was loaded, a model wrote for a while, somebody corrected the page, and then the answer was stored."""
    answer = (await desk.client.post("/api/ask", json={"question": "What does the lamp burn?"})).json()
    await desk.correct(2, 0, "The lamp burns sperm oil.")
    await desk.correct(2, 0, "The lamp burns whale oil.")
    desk.rows("update answers set at = clock_timestamp() where id = %s", answer["id"])
    (cited,) = (await desk.client.get(f"/api/answers/{answer['id']}/why")).json()["citations"]
    assert (cited["quote"], cited["withheld"]) == ("The lamp burns whale oil.", None)
    assert [one["text_after"] for one in cited["corrections"]] == [
        "The lamp burns sperm oil.",
        "The lamp burns whale oil.",
    ]


async def test_a_message_is_told_of_corrections_since_its_run_began(desk: Desk) -> None:
    """Not since it was stored: its pages may be from before the correction."""
    answer = (await desk.client.post("/api/ask", json={"question": "What does the lamp burn?"})).json()
    await desk.correct(2, 0, "The lamp burns whale oil.")
    desk.rows("update answers set at = clock_timestamp() where id = %s", answer["id"])
    asker = replace(desk.office.scope, principals=(f"user:{desk.office.emails[Role.DEVELOPER]}",))
    stored = desk.api.parts.answers
    assert await stored.corrected_since(asker, [answer["id"]]) == {}, "it has no run"
    run_of(desk, answer["id"], began="1 hour")
    assert set(await stored.corrected_since(asker, [answer["id"]])) == {answer["id"]}
    desk.rows("update runs set started_at = clock_timestamp()")
    assert await stored.corrected_since(asker, [answer["id"]]) == {}


def run_of(desk: Desk, answer: str, began: str) -> None:
    """A run that gave an answer, begun so long ago."""
    ((user, agent),) = desk.rows(
        "with one as (insert into agents (tenant_id, workspace_id, name) select tenant_id, workspace_id, 'Keeper'"
        " from answers where id = %s returning id) select a.user_id, one.id from answers a, one where a.id = %s",
        answer,
        answer,
    )
    desk.rows(
        "with chat as (insert into sessions (tenant_id, workspace_id, agent_id, user_id)"
        " select tenant_id, workspace_id, %s, %s from answers where id = %s returning id, tenant_id, workspace_id)"
        " insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, input, seed, created_at)"
        " select %s, tenant_id, workspace_id, id, %s, %s, 'documents', '{}', 1, now() - %s::interval from chat",
        *(agent, user, answer, answer, agent, user, began),
    )
    desk.rows("update answers set run_id = id where id = %s", answer)


async def test_a_line_that_is_found_right_is_no_correction_of_answers(desk: Desk) -> None:
    """Its words are sure from then on, its page is another to whoever saw it before, and nothing else is forgotten."""
    answer = (await desk.client.post("/api/ask", json={"question": "What does the lamp burn?"})).json()
    asker = replace(desk.office.scope, principals=(f"user:{desk.office.emails[Role.DEVELOPER]}",))
    revision = "select revision, corpus_version from workspaces order by 1 desc limit 1"
    old = desk.rows(revision)
    made = await desk.correct(2, 0, "The lamp bums whale oil.")
    assert (made["fresh"], made["reembedded"]) == (True, 0) and desk.rows(revision) == old
    assert 2 not in [one["page"] for one in (await desk.queue())["items"]]
    (cited,) = (await desk.client.get(f"/api/answers/{answer['id']}/why")).json()["citations"]
    assert (cited["quote"], cited["corrections"]) == ("The lamp bums whale oil.", [])
    assert await desk.api.parts.answers.corrected_since(asker, [answer["id"]]) == {}
    desk.assert_index_is_whole()


async def test_caches_forget_what_rested_on_the_page(desk: Desk) -> None:
    revision = "select revision, corpus_version from workspaces order by 1 desc limit 1"
    old = desk.rows(revision)
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    assert desk.rows(revision) > old


async def test_two_editors_at_once_one_is_told_that_the_page_changed(desk: Desk) -> None:
    other = await desk.api.sign_in(desk.office.emails[Role.OPERATOR])
    seen = (await desk.lines(1))["page_version"]
    bodies = [{"page_version": seen, "line": 1, "text": f"Its keeper was Anna {name}."} for name in ("Berg", "Borg")]
    answers = await asyncio.gather(desk.send(1, bodies[0]), desk.send(1, bodies[1], other))
    assert sorted(one.status_code for one in answers) == [201, 409]
    lost = next(one for one in answers if one.status_code == 409).json()
    assert lost["code"] == "page_changed" and "page_version" in lost["fix"]
    assert desk.rows("select count(*) from page_corrections") == [(1,)]
    desk.assert_index_is_whole()


async def test_people_who_correct_several_pages_of_a_document_at_once_do_not_hinder_each_other(desk: Desk) -> None:
    pages = [(number, line) for number in (1, 2) for line in (5,)] + [(3, 2)]
    seen = {number: (await desk.lines(number))["page_version"] for number, _ in pages}
    texts = {3: "| Whale oil | 12 |"}
    bodies = [
        (number, {"page_version": seen[number], "line": line, "text": texts.get(number, f"Written on page {number}.")})
        for number, line in pages
    ]
    answers = await asyncio.gather(*(desk.send(number, body) for number, body in bodies))
    assert [one.status_code for one in answers] == [201, 201, 201], [one.text for one in answers]
    desk.assert_index_is_whole()


async def test_the_same_request_again_changes_nothing(desk: Desk) -> None:
    """Whoever lost the answer sends it again, also at the same time."""
    body = {"page_version": (await desk.lines(1))["page_version"], "line": 1, "text": "Its keeper was Anna Berg."}
    first = await asyncio.gather(*(desk.send(1, body) for _ in range(3)))
    state = desk.state()
    again = await desk.send(1, body)
    answers = [one.json() for one in (*first, again)]
    assert sorted(one.status_code for one in first) == [200, 200, 201] and again.status_code == 200
    assert {one["id"] for one in answers} == {answers[0]["id"]} and len({one["page_version"] for one in answers}) == 1
    assert desk.state() == state
    assert desk.rows("select count(*) from page_corrections") == [(1,)]


@pytest.mark.parametrize("word", ["1", "10", "100 E", "100 EUR"])
async def test_another_correction_of_the_same_word_is_no_repeat(desk: Desk, word: str) -> None:
    """What was seen is no more: a stale request that begins like what was made is told so."""
    await desk.correct(1, 1, "Rent: 1O0 EUR")
    shown = await desk.lines(1)
    at = next(start for start, text, _ in shown["lines"][1]["words"] if text == "1O0")
    body = {"page_version": shown["page_version"], "line": 1, "word": at, "text": "100"}
    assert (await desk.send(1, body)).status_code == 201
    assert (await desk.send(1, body)).status_code == 200
    sent = await desk.send(1, {**body, "text": word})
    assert (sent.status_code, sent.json()["code"]) == (409, "page_changed")
    first = next(start for start, text, _ in shown["lines"][1]["words"] if text == "Rent:")
    assert (await desk.send(1, {**body, "word": first, "text": "Rent:"})).status_code == 409


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"line": 1, "text": ""}, 422),
        ({"line": 1, "text": " \t "}, 422),
        ({"line": 1, "text": "x" * 1_000_001}, 413),
        ({"line": 1, "text": "x" * 19_000}, 413),
        ({"line": 1, "text": "two\nlines"}, 422),
        ({"line": 1, "text": "bell\u0007"}, 422),
        ({"line": 1, "text": "nul\u0000"}, 422),
        ({"line": 999, "text": "x"}, 422),
        ({"line": -1, "text": "x"}, 422),
        ({"line": 1, "text": "x", "word": 3}, 422),
        ({"line": 1, "text": "x", "more": 1}, 422),
        ({"line": 1, "text": "x", "page_version": "rubbish"}, 422),
        ({"line": 1, "text": "x", "page_version": "0" * 32 + ".0"}, 409),
    ],
)
async def test_garbage_is_refused_and_changes_nothing(desk: Desk, body: dict[str, Any], status: int) -> None:
    state = desk.state()
    sent = await desk.send(1, {"page_version": (await desk.lines(1))["page_version"], **body})
    assert sent.status_code == status, sent.text
    assert sent.json()["code"] and desk.state() == state and desk.embedder.texts == []


async def test_only_who_may_edit_documents_corrects_and_others_see_nothing_of_it(desk: Desk) -> None:
    """A viewer reads, another tenant gets 404, and a document with readers is none for anybody else."""
    body = {"page_version": (await desk.lines(1))["page_version"], "line": 1, "text": "x"}
    viewer = await desk.api.sign_in(desk.office.emails[Role.VIEWER])
    assert (await desk.send(1, body, viewer)).status_code == 403
    assert (await desk.queue(viewer))["total"] == 3
    stranger = await desk.api.sign_in(open_office(desk.admin_dsn).emails[Role.ADMIN])
    await _sees_nothing(desk, stranger, body)
    desk.rows("update documents set readers = '{user:boss@x.example}' where id = %s", desk.document)
    await _sees_nothing(desk, desk.client, body)
    assert desk.rows("select count(*) from page_corrections") == [(0,)]


async def _sees_nothing(desk: Desk, client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    place = f"/api/documents/{desk.document}/pages/1"
    assert (await desk.queue(client))["total"] == 0
    assert (await desk.send(1, body, client)).status_code == 404
    assert (await client.get(f"{place}/lines")).status_code == 404
    assert (await client.get(f"{place}/corrections")).status_code == 404
    mark = {"page_version": body["page_version"]}
    assert (await client.put(f"{place}/review", json=mark)).status_code == 404


async def test_corrections_of_a_document_with_readers_are_seen_by_them_alone(desk: Desk) -> None:
    """The wall holds in Postgres, and new vectors have the readers of the document."""
    me = f"user:{desk.office.emails[Role.DEVELOPER]}"
    for table, column in (("documents", "id"), ("document_chunks", "document_id"), ("embeddings", "document_id")):
        desk.rows(f"update {table} set readers = array[%s] where {column} = %s", me, desk.document)
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    assert desk.rows("select distinct readers from embeddings") == [([me],)]
    assert desk.rows("select distinct readers from document_chunks") == [([me],)]
    desk.assert_index_is_whole()
    assert await desk.found("Its keeper was Anna Berg.")
    other = await desk.api.sign_in(desk.office.emails[Role.OPERATOR])
    sent = await other.post("/api/documents/search", json={"query": "Its keeper was Anna Berg."})
    assert sent.json()["results"] == []


@pytest.mark.parametrize("how", ["away", "stalls"])
async def test_without_an_embedder_the_text_is_found_by_its_words_and_embedded_later(desk: Desk, how: str) -> None:
    setattr(desk.embedder, how, True)
    made = await desk.correct(1, 1, "Its keeper was Anna Berg.")
    assert (made["searchable"], made["reembedded"]) == ("words", 0)
    setattr(desk.embedder, how, False)
    assert await desk.found("Its keeper was Anna Berg.")
    assert (await desk.client.get(f"/api/documents/{desk.document}")).json()["status"] == "embedding_pending"
    await desk.worker.run(JobLane.BULK)
    assert (await desk.client.get(f"/api/documents/{desk.document}")).json()["status"] == "completed"
    desk.assert_index_is_whole()


async def test_a_kill_before_the_write_leaves_nothing_and_the_same_request_does_all(desk: Desk) -> None:
    """Killed when the new text is embedded and nothing is written yet."""
    state, seen = desk.state(), (await desk.lines(1))["page_version"]
    body = {"page_version": seen, "line": 1, "text": "Its keeper was Anna Berg."}
    reached = asyncio.Event()

    async def stall() -> None:
        reached.set()
        await asyncio.sleep(3600)

    desk.embedder.before = stall
    sent = asyncio.create_task(desk.send(1, body))
    await reached.wait()
    sent.cancel()
    await asyncio.gather(sent, return_exceptions=True)
    assert desk.state() == state
    desk.embedder.before = None
    assert (await desk.send(1, body)).status_code == 201
    desk.assert_index_is_whole()


async def test_a_kill_in_the_middle_of_the_write_leaves_nothing(desk: Desk) -> None:
    """Its connection ends after the page is written and before its chunks are: all of it goes."""
    state = desk.state()
    body = {"page_version": (await desk.lines(1))["page_version"], "line": 1, "text": "Its keeper was Anna Berg."}
    desk.rows(
        "create function die() returns trigger language plpgsql as $$ begin"
        " perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(5); return new; end $$;"
        " create trigger dies before update on document_chunks for each row execute function die()"
    )
    assert (await desk.send(1, body)).status_code >= 500
    desk.rows("drop trigger dies on document_chunks")
    assert desk.state() == state
    assert (await desk.send(1, body)).status_code == 201
    desk.assert_index_is_whole()


async def test_a_document_that_is_not_indexed_as_it_is_gets_a_job_for_it(desk: Desk) -> None:
    """Its text was read again and its index is not there yet: the page is corrected, the rest is the job's."""
    desk.rows("update document_versions set reads = reads + 1")
    made = await desk.correct(1, 1, "Its keeper was Anna Berg.")
    assert (made["searchable"], made["reembedded"]) == ("pending", 0)
    await desk.correct(2, 0, "The lamp burns whale oil.")
    assert desk.rows("select kind, payload->>'document_id' from jobs where state = 'queued'") == [
        ("process", desk.document)
    ]
    await desk.worker.run(JobLane.SMALL)
    desk.assert_index_is_whole()
    assert await desk.found("Its keeper was Anna Berg.") and await desk.found("The lamp burns whale oil.")


async def test_jobs_that_do_something_else_do_not_stand_for_a_follow_up(desk: Desk) -> None:
    """Of an agent's documents alone; that reads anew and may come to nothing; that somebody begins right now."""
    worker = worker_scope(desk.office.scope.tenant, desk.office.scope.workspace)
    await desk.worker.enqueue(worker, "embed", {"agent_id": "0" * 32}, JobLane.BULK)
    desk.embedder.away = True
    for text in ("Its keeper was Anna Berg.", "Its keeper was Anna Berg of Holm."):
        await desk.correct(1, 1, text)
    waiting = "select payload->>'agent_id' from jobs where kind = 'embed' order by created_at"
    assert desk.rows(waiting) == [("0" * 32,), (None,)]
    desk.rows("update document_versions set reads = reads + 1")
    files = {"document_id": desk.document, "reading": {}, "files": [], "refresh": True}
    await desk.worker.enqueue(worker, "process", files, JobLane.SMALL)
    for text in ("The lamp burns sperm oil.", "The lamp burns whale oil."):
        assert (await desk.correct(2, 0, text))["searchable"] == "pending"
    plain = "select count(*) from jobs where kind = 'process' and not payload ? 'reading' and state = 'queued'"
    assert desk.rows(plain) == [(1,)]


async def test_a_job_that_somebody_begins_right_now_does_not_stand_for_a_follow_up(desk: Desk) -> None:
    """Its plan may be from before the correction; and one that stands for it is begun after its commit."""
    desk.embedder.away = True
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    count = "select count(*) from jobs where kind = 'embed'"
    with psycopg.connect(desk.admin_dsn) as claiming:
        claiming.execute("update jobs set owner = 'w' where kind = 'embed'")  # as claim_job, not committed yet
        await desk.correct(1, 1, "Its keeper was Anna Berg of Holm.")
        assert desk.rows(count) == [(2,)]
    await desk.correct(1, 1, "Its keeper was Anna Berg, Holm.")
    assert desk.rows(count) == [(2,)]


async def read_again(desk: Desk, **body: Any) -> dict[str, Any]:
    """The job that reads the document again, at its end."""
    sent = await desk.client.post(f"/api/documents/{desk.document}/reprocess", json=body)
    assert sent.status_code == 202, sent.text
    await desk.worker.run(JobLane.SMALL)
    job: dict[str, Any] = (await desk.client.get(f"/api/jobs/{sent.json()['job_id']}")).json()
    return job


async def texts(desk: Desk) -> list[str]:
    return [(await desk.client.get(f"/api/documents/{desk.document}/pages/{n}")).json()["text"] for n in (1, 2, 3)]


async def test_corrections_survive_another_reading_by_another_engine(desk: Desk) -> None:
    """By the line's text where it reads the same, by its place where it reads otherwise; citations stay true."""
    answer = (await desk.client.post("/api/ask", json={"question": "What does the lamp burn?"})).json()
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    await desk.correct(2, 0, "The lamp burns sperm oil.")
    await desk.correct(2, 0, "The lamp burns whale oil.")
    version = (await desk.lines())["page_version"].partition(".")[0]
    assert isinstance(desk.worker.reader, ScannedReader)
    desk.worker.reader.misread = {"keepcr": "kecpcr", "bums": "hums", "winter": "wintcr"}
    job = await read_again(desk, pages="1-2")
    assert job["state"] == "completed", job
    assert (await desk.lines())["page_version"].partition(".")[0] != version
    one, two, _ = await texts(desk)
    assert one.splitlines()[1] == "Its keeper was Anna Berg." and two.splitlines()[0] == "The lamp burns whale oil."
    assert "wintcr" in one and "wintcr" in two, "it was really read"
    desk.assert_index_is_whole()
    assert (await desk.queue(reason="correction"))["total"] == 0
    why = (await desk.client.get(f"/api/answers/{answer['id']}/why")).json()
    assert [one["text_after"] for one in why["citations"][0]["corrections"]][-1:] == ["The lamp burns whale oil."]
    history = (await desk.client.get(f"/api/documents/{desk.document}/pages/2/corrections")).json()
    assert [one["text_after"] for one in history["items"]] == ["The lamp burns whale oil.", "The lamp burns sperm oil."]


async def test_a_reading_that_comes_to_the_same_stays_no_new_version(desk: Desk) -> None:
    await desk.correct(1, 1, "Its keeper was Anna Berg of Holm.")
    version = (await desk.lines())["page_version"]
    job = await read_again(desk)
    assert (job["state"], job["outcome"]["unchanged"]) == ("completed", 1)
    assert (await desk.lines())["page_version"] == version
    desk.assert_index_is_whole()


async def test_corrections_survive_a_new_revision_of_the_reader(desk: Desk) -> None:
    """Read in place, as after an update: the same version, and the editor's page is another by then."""
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    seen = (await desk.lines())["page_version"]
    desk.worker.read_fingerprint = "reader-2"
    assert isinstance(desk.worker.reader, ScannedReader)
    desk.worker.reader.misread = {"winter": "wintcr"}
    find = "select d.origin, d.filename, v.location from documents d join document_versions v on v.document_id = d.id"
    ((origin, filename, location),) = desk.rows(find)
    files = [{"origin": origin, "filename": filename, "location": location}]
    worker = worker_scope(desk.office.scope.tenant, desk.office.scope.workspace)
    await desk.worker.enqueue(worker, "process", {"files": files, "refresh": True}, JobLane.SMALL)
    await desk.worker.run(JobLane.SMALL)
    assert "wintcr" in (await texts(desk))[0] and (await texts(desk))[0].splitlines()[1] == "Its keeper was Anna Berg."
    sent = await desk.send(1, {"page_version": seen, "line": 1, "text": "x"})
    assert (sent.status_code, sent.json()["code"]) == (409, "page_changed")
    desk.assert_index_is_whole()


async def test_what_was_said_of_other_bytes_is_not_put_on_a_source_that_changed(desk: Desk) -> None:
    """Also not where one of its lines reads as the old one did: the new file may say so. The old bytes keep it."""
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    await desk.correct(2, 0, "The lamp burns whale oil.")
    changed = "\f".join(PAGES).replace("keepcr was Anna", "keepcr is Ole").replace("1811", "1812")
    for content, lines in (
        (changed, ("Its keepcr is Ole Berg.", "The lamp bums whale oil.")),
        ("\f".join(PAGES), ("Its keeper was Anna Berg.", "The lamp burns whale oil.")),
    ):
        await desk.client.post("/api/documents/upload", files={"file": ("light.txt", content.encode())})
        await desk.worker.run(JobLane.SMALL)
        one, two, _ = await texts(desk)
        assert (one.splitlines()[1], two.splitlines()[0]) == lines
        assert (await desk.queue(reason="correction"))["total"] == 0, "nothing was lost: the source says otherwise"


async def test_a_correction_made_while_a_changed_source_is_read_is_not_put_on_it(desk: Desk) -> None:
    changed = "\f".join(PAGES).replace("1811", "1812").encode()
    sent = await desk.client.post("/api/documents/upload", files={"file": ("light.txt", changed)})
    job = await desk.worker.claim(lane=JobLane.SMALL)
    stages, corrected = desk.worker.here(), False

    async def index(scope: Any, versions: Any) -> Any:
        nonlocal corrected
        found = await desk.worker.indexer().index(scope, versions)
        if not corrected:  # its pages are read, and readers have the old ones
            corrected = True
            await desk.correct(2, 0, "The lamp burns whale oil.")
        yield found

    stages.index = index  # type: ignore[method-assign]
    desk.worker.stages = stages
    runner = desk.worker.runner()
    await desk.worker.finish(job, runner)
    assert corrected and (await desk.client.get(f"/api/jobs/{sent.json()['job_id']}")).json()["state"] == "completed"
    one, two, _ = await texts(desk)
    assert "1812" in one and two.splitlines()[0] == "The lamp bums whale oil."
    assert (await desk.queue(reason="correction"))["total"] == 0


async def test_a_correction_that_has_no_place_any_more_is_told_in_the_queue(desk: Desk) -> None:
    line = (await desk.lines(3))["lines"][-1]
    await desk.correct(3, line["line"], "Nothing more.")
    reader = desk.worker.reader
    assert isinstance(reader, ScannedReader)
    reader.misread = {"\nNothing else.": ""}
    await read_again(desk, pages="3")
    (waiting,) = (await desk.queue(reason="correction"))["items"]
    assert (waiting["page"], waiting["reasons"]) == (3, ["confidence", "correction"])
    await read_again(desk, pages="1")
    assert [one["page"] for one in (await desk.queue(reason="correction"))["items"]] == [3], "it was taken over"
    reader.misread = {}
    await read_again(desk, pages="3")
    assert (await desk.queue(reason="correction"))["total"] == 0
    assert (await texts(desk))[2].endswith("Nothing more.")


async def test_a_page_that_is_being_read_again_has_the_correction_when_readers_get_it(desk: Desk) -> None:
    """Pages that were taken over or read already, and those that are still to be read; nothing is refused meanwhile."""
    sent = await desk.client.post(f"/api/documents/{desk.document}/reprocess", json={"pages": "2"})
    job = await desk.worker.claim(lane=JobLane.SMALL)
    runner, once = desk.worker.runner(), iter((False, True))
    turn = await runner.turn(job, await desk.worker.recipe(), lambda: next(once, True))
    assert not turn.ended
    await desk.correct(1, 1, "Its keeper was Anna Berg.")
    await desk.correct(2, 0, "The lamp burns whale oil.")
    desk.assert_index_is_whole()
    while not turn.ended:
        job = await desk.worker.jobs.reload(job)
        turn = await runner.turn(job, await desk.worker.recipe(), lambda: False)
    assert (await desk.client.get(f"/api/jobs/{sent.json()['job_id']}")).json()["state"] == "completed"
    one, two, _ = await texts(desk)
    assert one.splitlines()[1] == "Its keeper was Anna Berg." and two.splitlines()[0] == "The lamp burns whale oil."
    desk.assert_index_is_whole()
    assert await desk.found("The lamp burns whale oil.")


async def test_a_page_that_was_read_again_and_waits_for_its_index_gets_the_correction_too(desk: Desk) -> None:
    sent = await desk.client.post(f"/api/documents/{desk.document}/reprocess", json={})
    assert isinstance(desk.worker.reader, ScannedReader)
    desk.worker.reader.misread = {"winter": "wintcr"}
    job = await desk.worker.claim(lane=JobLane.SMALL)
    stages, runner = desk.worker.here(), desk.worker.runner()
    corrected = False

    async def index(scope: Any, versions: Any) -> Any:
        nonlocal corrected
        found = await desk.worker.indexer().index(scope, versions)
        if not corrected:  # between the cut of the new version and its write
            corrected = True
            await desk.correct(1, 1, "Its keeper was Anna Berg.")
        yield found

    stages.index = index  # type: ignore[method-assign]
    desk.worker.stages = stages
    runner = desk.worker.runner()
    await desk.worker.finish(job, runner)
    assert corrected and (await desk.client.get(f"/api/jobs/{sent.json()['job_id']}")).json()["state"] == "completed"
    one, *_ = await texts(desk)
    assert one.splitlines()[1] == "Its keeper was Anna Berg." and "wintcr" in one
    desk.assert_index_is_whole()


async def test_the_graph_of_a_corrected_document_is_made_again_once(desk: Desk) -> None:
    """One small job for several corrections; nothing is embedded for it."""
    stage = GraphStage(desk.worker.jobs, GraphStore(desk.worker.database), extractor, GraphSettings())
    desk.worker.graph = stage
    worker = worker_scope(desk.office.scope.tenant, desk.office.scope.workspace)
    await desk.worker.enqueue(worker, "process", {"document_id": desk.document}, JobLane.SMALL)
    await desk.worker.run(JobLane.SMALL)
    desk.embedder.texts.clear()
    await desk.correct(1, 1, "Its keeper worked for Aventro Motors and used PostgreSQL.")
    await desk.correct(1, 2, "Another line.")
    embedded = list(desk.embedder.texts)
    assert desk.rows("select kind from jobs where state = 'queued'") == [("graph",)]
    await desk.worker.run(JobLane.SMALL)
    assert desk.rows("select state from jobs where kind = 'graph'") == [("completed",)]
    assert desk.embedder.texts == embedded
    assert ("postgresql",) in desk.rows("select lower(name) from entity_mentions")
    assert desk.rows(
        "select g.reads = v.reads from graph_versions g join document_versions v on v.id = g.version_id"
    ) == [(True,)]


async def test_row_level_security_alone_keeps_corrections_apart(desk: Desk) -> None:
    """MT-01: the second wall, without the first, which the queries have."""
    made = await desk.correct(1, 1, "Its keeper was Anna Berg.")
    stranger = open_office(desk.admin_dsn).scope
    corrector, queue = PageCorrector(*_parts_of(desk)), ReviewQueue(desk.worker.database)
    for part in (corrector, corrector._index, corrector._queue, queue):
        before: Any = part._sql
        part._sql = {name: WALL.sub("true", text) for name, text in before.items()}
        assert any(before[name] != part._sql[name] for name in before)
    assert await queue.waiting(stranger, ReviewFilter(0.9), 0, 10) == ([], 0)
    assert await queue.history(stranger, desk.document, 1, 0, 10) == ([], 0)
    with pytest.raises(NotFound):
        await queue.page(stranger, desk.document, 1)
    seen = PageVersion.parse(made["page_version"])
    with pytest.raises(NotFound):
        await corrector.correct(stranger, desk.document, 1, seen, LineRequest(1, "x"))
    assert desk.rows("select count(*) from page_corrections") == [(1,)]


def _parts_of(desk: Desk) -> tuple[Any, Any, Any, Any]:
    parts = desk.api.parts
    return desk.worker.database, parts.jobs, parts.audit, desk.embedder


async def test_the_picture_of_a_page_shows_how_sure_ocr_was_of_its_words(desk: Desk) -> None:
    white = BytesIO()
    Image.new("RGB", (400, 400), "white").save(white, "PNG")
    desk.api.parts.pictures._drawer = WhitePages(white.getvalue())  # type: ignore[assignment]
    place = f"/api/documents/{desk.document}/pages/1/image"
    plain, drawn = await desk.client.get(place), await desk.client.get(place, params={"overlay": "confidence"})
    assert (plain.content, drawn.headers["content-type"]) == (white.getvalue(), "image/png")
    assert len(Image.open(BytesIO(drawn.content)).getcolors(100_000) or ()) > 3
    assert drawn.headers["cache-control"] == plain.headers["cache-control"]
    assert (await desk.client.get(place, params={"overlay": "rubbish"})).status_code == 422
    other = place.replace("pages/1", "pages/9")
    assert (await desk.client.get(other, params={"overlay": "confidence"})).status_code == 404


@dataclass
class WhitePages:
    """Draws the same page always."""

    png: bytes

    def picture(self, *_: Any) -> bytes:
        return self.png

    def close(self) -> None:
        """Nothing was started."""


async def test_random_corrections_under_running_questions_are_found_soon_and_nothing_goes_stale(desk: Desk) -> None:
    """The figures of `make eval-corrections`, without Ray."""
    async with asyncio.timeout(120):
        figures = await CorrectionWalk(desk.client, random.Random(3), askers=1).run(6)
    assert len(figures.seconds) == 6 and figures.slowest <= 5, figures.seconds
    assert max(figures.reembedded) <= 3 and sum(figures.reembedded) >= 6
    assert figures.stale == [] and figures.citations > 12 and figures.corrected > 0
    desk.assert_index_is_whole()
    report = Report("corrections")
    tell_figures(report, figures, 6)
    assert all(one.holds for one in report.figures if one.goal)
    figures.stale.append("old")
    judged = Report("corrections")
    tell_figures(judged, figures, 200)
    assert [one.name for one in judged.figures if one.goal and not one.holds] == ["corrections", "stale citations"]
