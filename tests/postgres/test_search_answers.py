"""Answers and their citations, from the application's role."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.postgres import Database
from configs.sections import LlmSettings, RerankSettings, SearchSettings
from pipelines.documents.document import Box, Word
from serve_apps.retrieval.answer import NOT_FOUND, Answer, Answerer
from serve_apps.retrieval.search import Search
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.models import FakeEmbedder

SCAN = "Service sheet\n\nThe pump weighs twelve kilograms. It is painted red."
WORDS = tuple(
    Word(word, SCAN.index(word), Box(0.1 * at, 0.5, 0.1 * at + 0.05, 0.52), 0.8)
    for at, word in enumerate(["The", "pump", "weighs", "twelve", "kilograms."], 1)
)
QUESTION = "How many kilograms does the pump weigh?"


@dataclass
class Desk:
    """A workspace with a scanned and a plain document."""

    admin: psycopg.Connection[Any]
    database: Database
    scope: Scope

    async def ask(
        self,
        question: str = QUESTION,
        reply: Callable[[httpx.Request], httpx.Response] | None = None,
        embedder: FakeEmbedder | None = None,
        agent: str | None = None,
    ) -> Answer:
        embedder = embedder or FakeEmbedder()
        search = Search(self.database, embedder, None, SearchSettings(), RerankSettings())
        llm = LlmSettings(base_url="http://model.test/v1" if reply else None, model="tiny")

        async def no_wait(seconds: float) -> None:
            assert seconds <= 15

        async with httpx.AsyncClient(transport=httpx.MockTransport(reply or _nobody)) as client:
            return await Answerer(search, self.database, embedder, llm, client, no_wait).ask(
                self.scope, question, agent
            )


def _nobody(request: httpx.Request) -> httpx.Response:
    raise AssertionError("no model is configured")


def says(text: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(200, json={"choices": [{"message": {"content": text}}]})


@pytest.fixture
async def desk(admin_dsn: str, app_dsn: str) -> AsyncIterator[Desk]:
    database = Database(app_dsn, size=3)
    await database.open()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        scope = corpus.open_home(admin)
        generation = corpus.open_generation(admin, scope)
        cats = "Cats sleep for most of the day. They hunt at night."
        books = [
            Book("scan.png", [Passage(SCAN, vector=hash_vector(SCAN))], [Sheet(SCAN, "tesseract", 0.4, WORDS)]),
            Book("cats.txt", [Passage(cats, vector=hash_vector(cats))]),
        ]
        corpus.load(admin, scope, generation, books)
        yield Desk(admin, database, scope)
    await database.close()


async def test_the_best_sentence_is_the_answer_with_its_place(desk: Desk) -> None:
    answer = await desk.ask()
    assert answer.mode == "extractive" and answer.model is None and answer.fallback is None
    assert answer.text.splitlines()[0] == "The pump weighs twelve kilograms. [1]"
    first = answer.citations[0]
    assert (first.n, first.filename, first.page) == (1, "scan.png", 1)
    assert first.quote == SCAN[first.start : first.end] == "The pump weighs twelve kilograms."
    assert first.ocr_confidence == pytest.approx(0.8) and len(first.boxes) == 1
    assert first.url == f"/api/documents/{first.document_id}/pages/1"
    assert all(f"[{one.n}]" in answer.text for one in answer.citations)


@pytest.mark.parametrize("question", ["Who was the first emperor of Rome?", "", "the of and", "zanzibar"])
async def test_what_nothing_supports_is_not_found(desk: Desk, question: str) -> None:
    answer = await desk.ask(question)
    assert (answer.mode, answer.text, answer.citations) == ("not_found", NOT_FOUND, ())


async def test_an_agent_answers_from_its_documents_alone(desk: Desk) -> None:
    """MT-05."""
    agent = corpus.open_agent(desk.admin, desk.scope, "a")
    assert (await desk.ask(agent=agent)).mode == "not_found"
    desk.admin.execute(
        "insert into document_agent_links select %s, id, tenant_id, workspace_id from documents where filename = %s",
        (agent, "scan.png"),
    )
    assert (await desk.ask(agent=agent)).citations[0].filename == "scan.png"


async def test_without_the_embedder_words_decide_and_the_answer_says_so(desk: Desk) -> None:
    answer = await desk.ask("pump weighs twelve kilograms", embedder=FakeEmbedder(Unavailable("away")))
    assert answer.mode == "extractive" and "away" in str(answer.fallback)
    assert (await desk.ask("pump emperor", embedder=FakeEmbedder(Unavailable("away")))).mode == "not_found"


async def test_a_stored_chunk_that_its_page_does_not_say_is_not_quoted(desk: Desk) -> None:
    desk.admin.execute("update pages set text = 'Something else stands here now, on all of this page.'")
    answer = await desk.ask()
    assert answer.mode == "not_found" and answer.citations == ()


async def test_a_generated_answer_shows_only_claims_whose_quotes_are_on_the_page(desk: Desk) -> None:
    answer = await desk.ask(
        reply=says(
            'The pump weighs twelve kilograms. [1: "pump weighs twelve  kilograms"]\n'
            'It is very old. [1: "built in the year 1899"]\n'
            'It costs 99 euros. [1: "It is painted red."]\n'
            'It is red. [7: "It is painted red."]\n'
            "No evidence at all."
        )
    )
    assert answer.mode == "generated" and answer.model == "tiny"
    assert answer.text == "The pump weighs twelve kilograms. [1]"
    assert [one.quote for one in answer.citations] == ["pump weighs twelve kilograms"]


async def test_claims_on_the_same_place_share_a_number(desk: Desk) -> None:
    line = 'It is red. [1: "It is painted red."]'
    answer = await desk.ask(reply=says(f'{line}\nPainted red. [1: "It is painted red."]'))
    assert answer.text == "It is red. [1]\nPainted red. [1]" and len(answer.citations) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (says("The pump is heavy, believe me."), "no claim of tiny"),
        (lambda request: httpx.Response(503), "503"),
        (lambda request: httpx.Response(429), "too much to do"),
        (lambda request: httpx.Response(401), "401"),
        (lambda request: httpx.Response(200, text="garbage"), "no chat completion"),
    ],
)
async def test_a_model_that_fails_leaves_the_documents_words(
    desk: Desk, reply: Callable[[httpx.Request], httpx.Response], why: str
) -> None:
    answer = await desk.ask(reply=reply)
    assert answer.mode == "extractive" and answer.citations and why in str(answer.fallback)


async def test_a_model_may_say_that_the_sources_do_not_tell(desk: Desk) -> None:
    answer = await desk.ask(reply=says("NOT IN THE SOURCES"))
    assert (answer.mode, answer.model) == ("not_found", "tiny")


async def test_documents_go_to_the_model_as_data(desk: Desk) -> None:
    bodies: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content.decode())
        return says("NOT IN THE SOURCES")(request)

    await desk.ask(reply=reply)
    system, user = httpx.Response(200, content=bodies[0]).json()["messages"]
    assert "kilograms" not in system["content"] and "The pump weighs twelve kilograms." in user["content"]
