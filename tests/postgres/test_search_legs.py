"""What search finds, under row-level security as the application's role."""

import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import AosError, Unavailable
from cluster.basics.scope import Scope
from cluster.models.model_errors import Unusable
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchFilters, SearchQuery, SearchResults
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.models import FakeEmbedder, FakeReranker

EXACT = SearchSettings()
INDEXED = SearchSettings(exact_scope=0, fetch=10)


def book(name: str, *texts: str, **more: Any) -> Book:
    return Book(name, [Passage(text, vector=hash_vector(text)) for text in texts], **more)


@dataclass
class Place:
    """A database with one indexed workspace."""

    admin: psycopg.Connection[Any]
    database: Database
    scope: Scope
    generation: int

    def add(self, *books: Book, **more: Any) -> list[str]:
        return corpus.load(self.admin, self.scope, self.generation, books, **more)

    def search(
        self, settings: SearchSettings = EXACT, failing: AosError | None = None, reranker: FakeReranker | None = None
    ) -> SearchPipeline:
        return SearchPipeline(self.database, FakeEmbedder(failing), reranker, settings, RerankSettings(candidates=3))

    async def ask(self, text: str, settings: SearchSettings = EXACT, **more: Any) -> SearchResults:
        return await self.search(settings).run(self.scope, SearchQuery(text, **more))


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


@pytest.fixture
async def place(admin: psycopg.Connection[Any], app_dsn: str) -> AsyncIterator[Place]:
    database = Database(app_dsn, size=3)
    await database.open()
    scope = corpus.open_home(admin)
    yield Place(admin, database, scope, corpus.open_generation(admin, scope))
    await database.close()


def files(results: SearchResults) -> list[str]:
    return [hit.filename for hit in results.hits]


async def test_a_hit_says_where_it_stands_and_what_each_stage_thought(place: Place) -> None:
    """VS-01: the whole way from a question to a passage with page, version and scores."""
    text = "The pump weighs twelve kilograms."
    sheets = [Sheet("Cover"), Sheet(f"Intro.\n\n{text}", "tesseract", 0.75)]
    place.add(
        Book("pump.pdf", [Passage(text, 2, ("Weights",), vector=hash_vector(text))], sheets, "pdf"),
        book("cats.txt", "Cats sleep for most of the day."),
    )
    results = await place.ask("How much does the pump weigh?")
    hit = results.hits[0]
    assert (hit.filename, hit.doc_type, hit.page, hit.page_end, hit.chunk_index) == ("pump.pdf", "pdf", 2, 2, 0)
    assert hit.text == text and hit.headings == ("Weights",) and hit.spans[0].start == 8
    assert hit.engine == "tesseract" and hit.ocr_confidence == pytest.approx(0.75)
    assert {"keyword_rank", "keyword_score", "vector_rank", "vector_score", "fused"} <= set(hit.scores)
    assert (results.keyword_engine, results.vector, results.generation) == ("bm25", "exact", place.generation)
    assert results.rerank.startswith("off: ") and results.fallback is None
    assert {"resolve", "keyword", "embed", "vector", "load", "total"} <= set(results.timings_ms)


async def test_exact_keyword_scores_are_bm25_over_the_scope(place: Place) -> None:
    """RE-02: k1 and b count, and so do frequency, rarity and length."""
    texts = ["pump pump oil", "pump", "oil valve gasket flange bearing", "cat"]
    place.add(book("a.txt", *texts))
    index = await ChunkRetriever(place.database, EXACT).resolve(place.scope, SearchQuery("x"))
    assert index is not None and index.small
    found = await ChunkRetriever(place.database, EXACT).keyword(place.scope, SearchQuery("pump oil"), index)
    lengths = [len(text) for text in texts]
    average, k1, b = sum(lengths) / 4, EXACT.k1, EXACT.b

    def score(text: str) -> float:
        total = 0.0
        for word in ("pump", "oil"):
            df, tf = sum(word in other.split() for other in texts), text.split().count(word)
            idf = math.log(1 + (4 - df + 0.5) / (df + 0.5))
            total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(text) / average))
        return total

    expected = sorted((score(text) for text in texts[:3]), reverse=True)
    assert [one.score for one in found] == pytest.approx(expected)


async def test_the_keyword_leg_finds_what_the_vectors_do_not(place: Place) -> None:
    """B-07: a passage without any vector is found by its words."""
    place.add(Book("plain.txt", [Passage("Reorder number QX-1147 of the gasket.")]))
    results = await place.ask("QX-1147")
    assert files(results) == ["plain.txt"] and "vector_rank" not in results.hits[0].scores


async def test_filters(place: Place) -> None:
    """RE-05: type, part of the filename in any case, both dates, documents; alone and together."""
    day = datetime(2026, 5, 5, tzinfo=UTC)
    place.add(book("Pump-Manual.md", "The pump is red.", file_type="md", uploaded=day))
    ids = place.add(book("notes.txt", "The pump is blue."))

    async def with_filters(**conditions: Any) -> list[str]:
        return sorted(files(await place.ask("pump", filters=SearchFilters(**conditions))))

    assert await with_filters() == ["Pump-Manual.md", "notes.txt"]
    assert await with_filters(doc_type="md") == ["Pump-Manual.md"]
    assert await with_filters(source_file="MANUAL") == ["Pump-Manual.md"]
    assert await with_filters(source_file="%") == []
    assert await with_filters(upload_date_from=day) == ["Pump-Manual.md"]
    assert await with_filters(upload_date_to=datetime(2026, 5, 4, tzinfo=UTC)) == ["notes.txt"]
    assert await with_filters(document_ids=(ids[0],)) == ["notes.txt"]
    assert await with_filters(document_ids=()) == []
    assert await with_filters(doc_type="md", source_file="notes") == []


@pytest.mark.parametrize("settings", [EXACT, INDEXED])
async def test_an_agent_sees_the_documents_linked_to_it(place: Place, settings: SearchSettings) -> None:
    """MT-05: and no others, on both paths."""
    agent, idle = (corpus.open_agent(place.admin, place.scope, name) for name in ("a", "b"))
    place.add(book("linked.txt", "The pump is red.", agents=(agent,)), book("other.txt", "The pump is blue."))
    place.admin.execute("select index_generation(%s, 1)", (place.generation,))
    assert files(await place.ask("pump", settings, agent_id=agent)) == ["linked.txt"]
    assert files(await place.ask("pump", settings, agent_id=idle)) == []
    assert len(files(await place.ask("pump", settings))) == 2


@pytest.mark.parametrize("settings", [EXACT, INDEXED])
async def test_only_the_current_version_and_the_live_cut_are_seen(place: Place, settings: SearchSettings) -> None:
    place.add(book("a.txt", "The pump is new."))
    place.add(book("a.txt", "The pump is old.", version="0"), known=True)
    place.add(book("b.txt", "The pump was cut otherwise."), chunker="other")
    place.admin.execute("select index_generation(%s, 1)", (place.generation,))
    results = await place.ask("pump", settings)
    assert [hit.text for hit in results.hits] == ["The pump is new."]


@pytest.mark.parametrize("why", [Unavailable("the embedder is away"), Unusable("the embedder is away: no such key")])
async def test_an_embedder_that_fails_leaves_the_words_and_says_so(place: Place, why: AosError) -> None:
    place.add(book("a.txt", "The pump is red."))
    search = place.search(failing=why)
    results = await search.run(place.scope, SearchQuery("pump", min_similarity=0.1))
    assert files(results) == ["a.txt"] and results.vector == "off"
    assert "the embedder is away" in str(results.fallback) and "min_similarity was not applied" in str(results.fallback)


async def test_vectors_of_another_model_are_not_compared(place: Place) -> None:
    place.add(book("a.txt", "The pump is red."))
    place.admin.execute("update generations set embedder = 'another'")
    results = await place.ask("pump")
    assert results.vector == "off" and "re-index" in str(results.fallback) and files(results) == ["a.txt"]
    place.admin.execute("update generations set embedder = 'fake', embedder_fingerprint = 'other weights'")
    results = await place.ask("pump")
    assert results.vector == "off" and "re-index" in str(results.fallback), "weights count, not their name"
    place.admin.execute("update generations set embedder = 'fake', embedder_fingerprint = 'fake-1'")
    wrong = await place.search().run(place.scope, SearchQuery("pump"), hash_vector("pump")[:3])
    assert wrong.vector == "off" and "dimensions" in str(wrong.fallback)


async def test_a_given_vector_saves_the_call_to_the_embedder(place: Place) -> None:
    place.add(book("a.txt", "The pump is red."))
    search = place.search(failing=Unavailable("must not be asked"))
    results = await search.run(place.scope, SearchQuery("pump"), hash_vector("pump"))
    assert results.vector == "exact" and results.fallback is None


async def test_the_cross_encoder_orders_the_head_and_the_tail_follows(place: Place) -> None:
    """X-23: on wherever a reranker is present."""
    place.add(book("a.txt", *(f"pump number {n} {'red ' * n}" for n in range(6))))
    search = place.search(reranker=FakeReranker())
    results = await search.run(place.scope, SearchQuery("pump number red", limit=6))
    assert results.rerank == "on" and len(results.hits) == 6
    judged = [hit.scores["rerank"] for hit in results.hits if "rerank" in hit.scores]
    assert len(judged) == 3 and judged == sorted(judged, reverse=True)
    assert all("rerank" not in hit.scores for hit in results.hits[3:])
    assert results.hits[0].score == results.hits[0].scores["rerank"]


async def test_least_similarity_holds_for_hits_of_either_leg(place: Place) -> None:
    """X-24: the caller's threshold, compared with the cosine of the chunk itself."""
    place.add(book("near.txt", "pump oil"), book("far.txt", "pump " + " ".join(f"word{n}" for n in range(60))))
    results = await place.ask("pump oil", SearchSettings(fetch=1), limit=1, min_similarity=0.9)
    assert files(results) == ["near.txt"]
    assert all(hit.scores["vector_score"] >= 0.9 for hit in results.hits)
    assert files(await place.ask("pump oil", min_similarity=1.0)) in ([], ["near.txt"])


@pytest.mark.parametrize("settings", [EXACT, INDEXED])
@pytest.mark.parametrize(
    "text", ["", "  ", "the of and", "\x00", "' | & ! \\ :* <-> ()", "pump\x00 \\' red", "🙂" * 5000]
)
async def test_any_text_is_a_question(place: Place, settings: SearchSettings, text: str) -> None:
    place.add(book("a.txt", "The pump's 'oil' is \\ red & blue."))
    results = await place.ask(text, settings)
    assert results.total <= 1
    assert ("pump" in text) <= (files(results) == ["a.txt"])


async def test_a_workspace_that_was_never_indexed_finds_nothing(place: Place) -> None:
    fresh = corpus.open_home(place.admin, "fresh", place.scope.tenant)
    results = await place.search().run(fresh, SearchQuery("pump"))
    assert results.hits == () and results.generation is None and results.fallback == "nothing is indexed yet"


async def test_no_connection_is_held_while_a_model_is_called(place: Place, app_dsn: str) -> None:
    """The only connection is free whenever a model works."""
    place.add(book("a.txt", "The pump is red."))
    database = Database(app_dsn, size=1, timeout=5)
    await database.open()

    class Asking(FakeEmbedder, FakeReranker):
        async def embed(self, texts: Any, lane: Any = None) -> Any:
            async with database.transaction(place.scope) as tx:
                await tx.one("select 1")
            return await FakeEmbedder().embed(texts)

        async def score(self, query: str, texts: Any) -> Any:
            async with database.transaction(place.scope) as tx:
                await tx.one("select 1")
            return await FakeReranker().score(query, texts)

    search = SearchPipeline(database, Asking(), Asking(), EXACT, RerankSettings())
    try:
        results = await search.run(place.scope, SearchQuery("pump"))
        assert results.rerank == "on" and files(results) == ["a.txt"]
    finally:
        await database.close()
