"""The pipeline around the legs: what each stage does to the hits, what it says of itself, and that it can be off."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import EnhanceSettings, PackSettings, RerankSettings, SearchSettings
from serve_apps.retrieval.search.expand import QueryEnhancer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import BUDGETS, ContextBudget, SearchFilters, SearchQuery, SearchResults
from serve_apps.retrieval.search.rerank import WriterJudge
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder, FakeReranker, TiredEmbedder
from tests.fakes.writer import FakeWriter

SEVERAL = "Compare the pump and the valve"
FILLER = "It is delivered with a printed manual, two keys and a bag of screws, and it is tested before it leaves us. "


def book(name: str, *texts: str, **more: Any) -> Book:
    return Book(name, [Passage(text, vector=hash_vector(text)) for text in texts], **more)


@dataclass
class Place:
    """A database with one indexed workspace."""

    admin: psycopg.Connection[Any]
    database: Database
    scope: Scope
    generation: int

    def add(self, *books: Book) -> list[str]:
        return corpus.load(self.admin, self.scope, self.generation, books)

    async def ask(self, text: str, writer: FakeWriter | None = None, **more: Any) -> SearchResults:
        made = {name: more.pop(name) for name in ("enhancer", "others", "packing") if name in more}
        settings, reranker = more.pop("settings", SearchSettings()), more.pop("reranker", None)
        embedder, vector = more.pop("embedder", FakeEmbedder()), more.pop("vector", None)
        if writer is not None:
            made.setdefault("enhancer", QueryEnhancer(writer, EnhanceSettings()))
        search = SearchPipeline(self.database, embedder, reranker, settings, RerankSettings(), **made)
        return await search.run(self.scope, SearchQuery(text, **more), vector)


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


@pytest.fixture
async def place(admin: psycopg.Connection[Any], app_dsn: str) -> AsyncIterator[Place]:
    database = Database(app_dsn, size=6)
    await database.open()
    scope = corpus.open_home(admin)
    yield Place(admin, database, scope, corpus.open_generation(admin, scope))
    await database.close()


def files(results: SearchResults) -> list[str]:
    return [hit.filename for hit in results.hits]


def stage(results: SearchResults, name: str) -> Any:
    return next(one for one in results.stages if one.name == name)


async def test_what_a_model_makes_of_a_question_is_searched_for(place: Place) -> None:
    """RE-04, RE-07: the sub-questions' hits are fused with the question's own, by chunk (B-04)."""
    place.add(book("pump.txt", "The pump weighs twelve kilograms."), book("cat.txt", "Gaskets are made of rubber."))
    writer = FakeWriter({"questions": ["What are gaskets made of?", "How heavy is a pump?"]})
    alone = await place.ask(SEVERAL, writer, enhance=False)
    assert alone.variations == () and not stage(alone, "enhance").on
    found = await place.ask(SEVERAL, writer)
    assert found.variations == ("What are gaskets made of?", "How heavy is a pump?") and found.fallback is None
    gaskets = next(hit for hit in found.hits if hit.filename == "cat.txt")
    assert {"keyword:2_rank", "vector:2_rank", "vector:3_rank"} <= set(gaskets.scores)
    assert gaskets.scores["fused"] > next(hit for hit in alone.hits if hit.filename == "cat.txt").scores["fused"]
    assert stage(found, "enhance").on and "6 lists" in stage(found, "fuse").detail and "variations" in found.timings_ms


async def test_a_passage_goes_to_the_vectors_and_concepts_to_the_words(place: Place) -> None:
    """RE-06, RE-08: each where it helps; the passage is embedded."""
    place.add(book("pump.txt", "The pump weighs twelve kilograms."))
    writer, embedder = FakeWriter({"passage": "A pump weighs some kilograms.", "concepts": ["mass"]}), FakeEmbedder()
    found = await place.ask("tell me about pumps", writer, embedder=embedder)
    assert found.variations == ("A pump weighs some kilograms.", "tell me about pumps mass")
    named = {name for hit in found.hits for name in hit.scores}
    assert "vector:2_rank" in named and not {"keyword:2_rank", "vector:3_rank"} & named
    assert ["A pump weighs some kilograms."] in [texts for _, texts in embedder.asked]


async def test_a_question_and_its_variations_have_the_prefix_of_questions(place: Place) -> None:
    """EM-01: as E5 and its like were trained, and words are searched for without it."""
    place.add(book("pump.txt", "The pump weighs twelve kilograms."))
    writer, embedder = FakeWriter({"questions": ["How heavy is a pump?"]}), FakeEmbedder(prefixes=("query: ", ""))
    found = await place.ask(SEVERAL, writer, embedder=embedder)
    assert sorted(texts for _, texts in embedder.asked) == [[f"query: {SEVERAL}"], ["query: How heavy is a pump?"]]
    assert files(found) == ["pump.txt"]


async def test_the_weight_of_variations_is_a_setting(place: Place) -> None:
    """RE-04: read and used (B-03)."""
    place.add(book("pump.txt", "The pump is red."), book("valve.txt", "The valve is blue and old."))
    reply = {"questions": ["valve blue old"]}
    scores = []
    for weight in (0.0, 1.0, 5.0):
        enhancer = QueryEnhancer(FakeWriter(reply), EnhanceSettings(weight=weight))
        found = await place.ask(SEVERAL, enhancer=enhancer)
        scores.append(next(hit for hit in found.hits if hit.filename == "valve.txt").scores["fused"])
    assert scores[0] < scores[1] < scores[2]


async def test_help_that_fails_is_told_and_the_search_goes_on(place: Place) -> None:
    """RE-01: off with the reason in the result."""
    place.add(book("pump.txt", "The pump is red."))
    found = await place.ask(SEVERAL, FakeWriter(failing=Unavailable("the model is away")))
    assert files(found) == ["pump.txt"] and found.fallback == "not enhanced: the model is away"
    assert (stage(found, "enhance").on, stage(found, "enhance").detail) == (False, "the model is away")
    without = await place.ask(SEVERAL)
    assert without.fallback is None and stage(without, "enhance").detail == "no language model is connected"
    lost = await place.ask(SEVERAL, FakeWriter({"questions": ["What is red?"]}), embedder=TiredEmbedder())
    assert files(lost) == ["pump.txt"] and "variations by their words only" in str(lost.fallback)


async def test_a_strategy_runs_its_leg_alone(place: Place) -> None:
    """RE-26: keyword search is not the vector search under another name (B-07)."""
    place.add(book("words.txt", "QX-1147 gasket"), Book("plain.txt", [Passage("the gasket of QX-1147 is blue")]))
    both, near, words = [await place.ask("gasket QX-1147", strategy=one) for one in ("hybrid", "vector", "keyword")]
    assert set(files(both)) == set(files(words)) == {"words.txt", "plain.txt"} and files(near) == ["words.txt"]
    assert (near.keyword_engine, near.vector) == ("off", "exact") and (words.keyword_engine, words.vector) == (
        "bm25",
        "off",
    )
    assert not any("vector_rank" in hit.scores for hit in words.hits)
    assert not any("keyword_rank" in hit.scores for hit in near.hits)
    assert not stage(near, "keyword").on and not stage(words, "vector").on
    away = await place.ask("gasket", strategy="vector", embedder=FakeEmbedder(Unavailable("away")))
    assert away.hits == () and "nothing was searched" in str(away.fallback)


async def test_documents_take_turns(place: Place) -> None:
    """RE-26: round-robin among four times as many candidates as are wanted."""
    place.add(
        book("a.txt", *(f"pump {'pump ' * n}" for n in range(1, 5))), book("b.txt", "a pump and much else besides")
    )
    plain = await place.ask("pump", limit=4, strategy="keyword")
    turns = await place.ask("pump", limit=4, strategy="keyword", round_robin=True)
    assert files(plain) == ["a.txt"] * 4 and files(turns) == ["a.txt", "b.txt", "a.txt", "a.txt"]
    assert stage(turns, "round_robin").on and turns.total == plain.total == 5


async def test_many_passages_of_a_document_do_not_hide_another(place: Place) -> None:
    """RE-19: nearly as good is enough for another document; who wants the best passages wherever they stand says so."""
    place.add(
        book("a.txt", "pump pump pump", "pump pump of it", "pump pump in it"), book("b.txt", "pump pump of it all")
    )
    by_default = await place.ask("pump", limit=4, strategy="keyword")
    best = await place.ask("pump", limit=4, strategy="keyword", spread=False)
    off = await place.ask("pump", limit=4, strategy="keyword", settings=SearchSettings(spread=0))
    assert files(by_default) == ["a.txt", "b.txt", "a.txt", "a.txt"]
    assert files(best) == files(off) == ["a.txt"] * 3 + ["b.txt"]
    assert "10% less" in stage(by_default, "spread").detail and "spread" not in [one.name for one in best.stages]


async def test_a_follow_up_is_searched_for_with_what_was_said(place: Place) -> None:
    """RE-26: the last two messages lead it in, and a vector that was made of the question alone is not used."""
    place.add(book("pump.txt", "The pump of the boiler is ninety."), book("cat.txt", "Cats sleep."))
    history = ("We bought a boiler pump.", "Indeed.")
    assert (await place.ask("how much does it cost?", strategy="keyword")).hits == ()
    assert files(await place.ask("how much does it cost?", strategy="keyword", history=history)) == ["pump.txt"]
    found = await place.ask("how much does it cost?", history=history, vector=hash_vector("Cats sleep."))
    assert files(found)[0] == "pump.txt" and found.query.text == "how much does it cost?"
    writer = FakeWriter({"questions": ["x"]})
    led = await place.ask("compare it", writer, history=history)
    assert writer.asked == [] and "read together" in stage(led, "enhance").detail


async def test_a_context_is_packed_within_its_budget(place: Place) -> None:
    """RE-15, RE-21: from more candidates than hits are shown, one stage more."""
    place.add(*(book(f"{name}.txt", *(f"The pump {n} of {name}. {FILLER * 3}" for n in range(4))) for name in "abc"))
    found = await place.ask("pump", limit=2, budget=ContextBudget(500, 3))
    packed = found.packed
    assert packed is not None and len(found.hits) == 2 and len(packed.chunks) == 3
    assert packed.total_tokens <= 500 and packed.diversity_score == 1.0 and 0 < packed.information_gain < 1
    assert packed.formatted_context.startswith("### Source 1: ") and stage(found, "pack").kept == 3
    assert "pack" in found.timings_ms and (await place.ask("pump")).packed is None
    few = await place.ask("pump", budget=BUDGETS["chat"], packing=PackSettings(candidates=2))
    assert few.packed is not None and len(few.packed.chunks) == 2
    same = await place.ask("pump", budget=ContextBudget(500, 3), packing=PackSettings(diversity_factor=0.0))
    assert same.packed is not None and same.packed.information_gain != packed.information_gain
    nothing = await place.ask("zebra", filters=SearchFilters(doc_type="pdf"), budget=ContextBudget())
    assert nothing.packed is not None and nothing.packed.chunks == ()


async def test_the_judge_can_be_left_out_and_its_fallback_shows(place: Place) -> None:
    """RE-10, RE-11, X-23: by the request; where the cross-encoder is away a language model judges, and that is told."""
    away = FakeReranker(Unavailable("the replica died"))
    place.add(book("a.txt", "The pump is red."), book("b.txt", "A pump, a pump, a pump!"))
    on = await place.ask("pump red", reranker=FakeReranker())
    off = await place.ask("pump red", reranker=FakeReranker(), rerank=False)
    assert on.rerank == "on" and off.rerank == "off: not asked for"
    assert "judge" in on.hits[0].scores and "judge" not in off.hits[0].scores
    writer = FakeWriter({"scores": [0.0, 1.0]})
    found = await place.ask("pump red", reranker=away, others=(WriterJudge(writer, RerankSettings(llm=True)),))
    assert found.rerank == "on: the language model; the replica died" and files(found) == files(off)[::-1]
    gone = await place.ask("pump red", reranker=away)
    assert gone.rerank == "off: the replica died" and files(gone) == files(off)


async def test_every_stage_says_what_it_did(place: Place) -> None:
    """RE-01, RE-24: in order, with what was left after it, and a time for each that ran."""
    place.add(book("a.txt", "The pump is red."), book("b.txt", "Cats sleep."))
    found = await place.ask(
        "pump red", min_similarity=0.3, budget=ContextBudget(), explain=True, reranker=FakeReranker()
    )
    assert " ".join(one.name for one in found.stages) == "enhance keyword vector fuse filter rerank spread pack"
    assert [one.on for one in found.stages] == [False] + [True] * 7
    assert stage(found, "fuse").kept == 2 and stage(found, "filter").kept == 1
    assert {"resolve", "enhance", "keyword", "vector", "rerank", "load", "pack", "total"} <= set(found.timings_ms)
    assert [one.chunk_id for one in found.considered] == [hit.chunk_id for hit in found.hits]
    assert (await place.ask("pump red")).considered == ()


async def test_the_search_holds_no_connection_while_a_model_is_asked(place: Place, app_dsn: str) -> None:
    """RE-01: the only connection is free whenever a model writes or judges."""
    place.add(book("a.txt", "The pump is red."))
    database = Database(app_dsn, size=1, timeout=5)
    await database.open()

    class Reading(FakeWriter):
        async def write(self, *arguments: Any) -> Any:
            async with database.transaction(place.scope) as tx:
                await tx.one("select 1")
            return await super().write(*arguments)

    reply = {"questions": ["Is the pump red?"], "scores": [1.0]}
    writer = Reading(reply)
    enhancer, judge = QueryEnhancer(writer, EnhanceSettings()), WriterJudge(writer, RerankSettings(llm=True))
    search = SearchPipeline(
        database, FakeEmbedder(), None, SearchSettings(), RerankSettings(), enhancer=enhancer, others=(judge,)
    )
    try:
        found = await search.run(place.scope, SearchQuery(SEVERAL))
        assert found.rerank == "on: the language model" and found.variations and found.fallback is None
    finally:
        await database.close()
