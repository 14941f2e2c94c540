"""The whole way of a question, with a memory of vectors: what is asked again in a workspace is not embedded again."""

import time
from pathlib import Path

import psycopg

from cluster.models.embedding.vectors_cache import VectorCache
from cluster.models.ports import EmbeddingLane
from cluster.state.db.postgres import Database
from configs.sections_retrieval import EmbeddingSettings, RerankSettings, SearchSettings
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder
from tests.fakes.valkey import client, valkey

TEXT = "The pump weighs twelve kilograms. It is painted red."
QUESTION = "How many kilograms does the pump weigh?"


async def test_what_is_asked_again_in_a_workspace_is_not_embedded_again(
    admin_dsn: str, app_dsn: str, tmp_path: Path
) -> None:
    """EM-08: searches and answers share it, another workspace does not, and without Redis answers are the same."""
    inner = FakeEmbedder()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        scopes = [corpus.open_home(admin, name) for name in ("one", "two")]
        generation = corpus.open_generation(admin, *scopes)
        for scope in scopes:
            corpus.load(admin, scope, generation, [Book("pump.txt", [Passage(TEXT, vector=hash_vector(TEXT))])])
    database = Database(app_dsn, size=3)
    await database.open()
    with valkey(tmp_path) as server:
        async with client(server.url) as redis:
            embedder = VectorCache(inner, redis, EmbeddingSettings(), time.time)
            search = SearchPipeline(database, embedder, None, SearchSettings(), RerankSettings())
            answerer = DocumentAnswerer(search, database, embedder)
            first = await answerer.ask(scopes[0], QUESTION)
            asked = [text for _, texts in inner.asked for text in texts]
            assert first.mode == "extractive" and asked.count(QUESTION) == 1
            assert {lane for lane, _ in inner.asked} == {EmbeddingLane.QUESTION}
            again = await answerer.ask(scopes[0], QUESTION)
            assert [text for _, texts in inner.asked for text in texts] == asked
            await answerer.ask(scopes[1], QUESTION)
            assert [text for _, texts in inner.asked for text in texts] == [*asked, *asked]
            server.kill()
            without = await answerer.ask(scopes[0], QUESTION)
    await database.close()
    assert first.text == again.text == without.text and without.fallback is None
