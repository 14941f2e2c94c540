"""Lists and summaries: of what one may see, of what is linked to an agent, each line with its place."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest, ConnectionFallback, TokenUsage
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.answers.answerer import CitedAnswer, DocumentAnswerer
from serve_apps.retrieval.answers.generate import NOTHING
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query_writer import ModelSpend, WriterReply
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.models import FakeEmbedder
from tests.fakes.writer import FakeWriter

STORE = [
    "# The cold store\n\nThe cold store is kept at minus eighteen degrees. Its doors are alarmed at night.",
    "Grease the hinges of the doors every month. The compressor hums in the cellar.",
    "The cold store was built in 1987. Nobody enters the cold store alone.",
]
PUMP = ["Pump manual\n\nThe pump weighs twelve kilograms. Grease its bearing once a year."]
SECRET = ["The vault\n\nThe vault holds grease of gold."]
EMPTY = [""]


@dataclass
class Shelf:
    """A workspace with three documents, one of which only Bob may read."""

    admin: psycopg.Connection[Any]
    database: Database
    scope: Scope

    async def ask(
        self,
        question: str,
        agent: str | None = None,
        history: tuple[str, ...] = (),
        writer: FakeWriter | None = None,
        embedder: FakeEmbedder | None = None,
        scope: Scope | None = None,
    ) -> CitedAnswer:
        embedder = embedder or FakeEmbedder()
        search = SearchPipeline(self.database, embedder, None, SearchSettings(), RerankSettings())
        answerer = DocumentAnswerer(search, self.database, embedder, writer)
        return await answerer.ask(scope or self.scope, question, agent, history)


def book(name: str, pages: list[str], readers: tuple[str, ...] = ()) -> Book:
    passages = [Passage(text, page=n, vector=hash_vector(text)) for n, text in enumerate(pages, 1) if text]
    return Book(name, passages, [Sheet(text) for text in pages], readers=readers)


@pytest.fixture
async def shelf(admin_dsn: str, app_dsn: str) -> AsyncIterator[Shelf]:
    database = Database(app_dsn, size=3)
    await database.open()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        scope = corpus.open_home(admin)
        generation = corpus.open_generation(admin, scope)
        books = [book("cold-store.md", STORE), book("pump.pdf", PUMP), book("Vault.md", SECRET, ("user:bob",))]
        corpus.load(admin, scope, generation, books)
        yield Shelf(admin, database, scope)
    await database.close()


def filenames(answer: CitedAnswer) -> set[str]:
    return {one.filename for one in answer.citations}


async def test_or_03_all_documents_are_listed_with_the_line_each_begins_with(shelf: Shelf) -> None:
    """OR-03: by name, each with its place; what one may not read is neither named nor counted."""
    answer = await shelf.ask("list my documents")
    assert answer.mode == "extractive"
    assert answer.text.splitlines() == [
        "cold-store.md (3 pages): # The cold store [1]",
        "pump.pdf (1 page): Pump manual [2]",
        "2 in all.",
    ]
    assert [(one.quote, one.page, one.start) for one in answer.citations] == [
        ("# The cold store", 1, 0),
        ("Pump manual", 1, 0),
    ]
    bob = replace(shelf.scope, principals=("user:bob",))
    assert "Vault.md (1 page): The vault" in (await shelf.ask("list my documents", scope=bob)).text


async def test_an_agent_lists_its_documents_alone(shelf: Shelf) -> None:
    agent = corpus.open_agent(shelf.admin, shelf.scope, "a")
    assert (await shelf.ask("list my documents", agent)).mode == "not_found"
    shelf.admin.execute(
        "insert into document_agent_links select %s, id, tenant_id, workspace_id from documents where filename = %s",
        (agent, "pump.pdf"),
    )
    assert (await shelf.ask("list my documents", agent)).text.endswith("1 in all.")


async def test_documents_about_something_are_listed_each_with_what_it_says(shelf: Shelf) -> None:
    """The words of the command count against no sentence; a document that says nothing about it is not listed."""
    answer = await shelf.ask("list all documents that mention grease")
    lines = answer.text.splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == ["cold-store.md", "pump.pdf"]
    assert any("Grease the hinges of the doors every month. [" in line for line in lines)
    assert {one.page for one in answer.citations if one.filename == "cold-store.md"} == {2}
    assert (await shelf.ask("find the file on zeppelins")).mode == "not_found"


@pytest.mark.parametrize("request_", ["summarise cold-store.md", "Give me a summary of the cold store"])
async def test_or_03_a_document_is_summed_up_in_its_own_sentences(shelf: Shelf, request_: str) -> None:
    """OR-03: found by its file name or its title, in the order of the document, each sentence cited."""
    answer = await shelf.ask(request_)
    assert answer.mode == "extractive" and filenames(answer) == {"cold-store.md"}
    places = [(one.page, one.start) for one in answer.citations]
    assert places == sorted(places) and 2 <= len(places) <= 5
    assert all(f"{claim.text}" in " ".join(STORE) for claim in answer.claims)
    short = await shelf.ask(f"{request_} in one sentence")
    assert len(short.claims) == 1


async def test_a_document_that_was_spoken_of_is_summed_up(shelf: Shelf) -> None:
    said = ("How heavy is the pump?", "The pump weighs twelve kilograms. [1]")
    answer = await shelf.ask("Summarize that document in one sentence", history=said)
    assert filenames(answer) == {"pump.pdf"} and len(answer.claims) == 1
    assert (await shelf.ask("Summarize that document")).mode == "not_found", "nobody knows which"


async def test_a_part_of_a_document_is_a_question(shelf: Shelf) -> None:
    answer = await shelf.ask("Summarize the kilograms that the pump weighs")
    assert answer.text.startswith("The pump weighs twelve kilograms. [1]")
    assert "once a year" not in answer.text, "which a summary of the manual would hold"


async def test_a_summary_by_a_model_is_checked_as_every_answer_is(shelf: Shelf) -> None:
    def reply(request: ChatRequest) -> str:
        assert "<source n=1" in request.messages[1].content
        return 'It is kept at minus eighteen degrees. [1: "kept at minus eighteen degrees"]\nIt costs 900 euros.'

    answer = await shelf.ask("summarise cold-store.md", writer=FakeWriter(reply))
    assert (answer.mode, answer.model) == ("generated", "scripted-1")
    assert answer.text == "It is kept at minus eighteen degrees. [1]", "what no page says is not shown"
    away = await shelf.ask("summarise cold-store.md", writer=FakeWriter(failing=Unavailable("gone")))
    assert away.mode == "extractive" and "gone" in str(away.fallback)


async def test_what_a_model_took_for_a_summary_that_it_refused_is_told(shelf: Shelf) -> None:
    """Its tokens, and the connection that was left for it; the summary is the document's own, and says why."""
    spend = ModelSpend("second", TokenUsage(900, 7), 0.5)
    left = (ConnectionFallback("first", "second", "unavailable: gone"),)

    class Refusing(FakeWriter):
        async def write(self, *arguments: Any, **more: Any) -> WriterReply:
            return WriterReply(NOTHING, "scripted-1", spend, left)

    answer = await shelf.ask("summarise cold-store.md", writer=Refusing())
    assert (answer.mode, answer.spend, answer.left) == ("extractive", spend, left)
    assert "found no answer" in str(answer.fallback) and "first was left for second" in str(answer.fallback)


@pytest.mark.parametrize("request_", ["What is the compressor about?", "Summarise my report", "summarise a document"])
async def test_no_document_is_summed_up_that_was_not_named(shelf: Shelf, request_: str) -> None:
    """The title of a section names a part; `my report` names nothing."""
    sections = [
        Passage(f"{text}", headings=("Manual", head), vector=hash_vector(text))
        for head, text in (("Compressor", "It hums all day."), ("Doors", "They are alarmed."))
    ]
    with psycopg.connect(shelf.admin.info.dsn, autocommit=True) as admin:
        row = admin.execute("select id from generations").fetchone()
        assert row is not None
        corpus.load(admin, shelf.scope, row[0], [Book("store-manual.md", sections)])
    assert len((await shelf.ask(request_)).claims) < 2


async def test_small_talk_is_no_document_that_was_spoken_of(shelf: Shelf) -> None:
    answer = await shelf.ask("Summarise that document", history=("Hi", "Hello! How are you today?"))
    assert answer.mode == "not_found"


async def test_without_the_embedder_a_summary_is_the_beginning_and_says_so(shelf: Shelf) -> None:
    answer = await shelf.ask("summarise cold-store.md in two sentences", embedder=FakeEmbedder(Unavailable("away")))
    assert len(answer.claims) == 2 and "its first sentences" in str(answer.fallback)


async def test_pages_without_words_are_listed_by_name(shelf: Shelf) -> None:
    with psycopg.connect(shelf.admin.info.dsn, autocommit=True) as admin:
        admin.execute("update pages set text = E' \\n--\\n' where text like 'Pump%%'")
    answer = await shelf.ask("list my documents")
    assert "pump.pdf (1 page)" in answer.text.splitlines()
