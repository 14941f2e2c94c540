"""Search leaks nothing, gives small tenants all their hits, and its hot queries use their indexes."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import Vector
from psycopg.types.json import Jsonb

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.store.library import DocumentLibrary
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import BM25, ChunkRetriever
from serve_apps.retrieval.search.statements import KEYWORD_INDEXES, PLANNER, SQL, IndexGeneration, RetrieverQueries
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import DIMENSION, FakeEmbedder

WORDS = [f"word{n}" for n in range(400)]
QUESTION = "word1 word2 word3 word4 pump"
FORCED = SearchSettings(exact_scope=0, fetch=10)


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    found = Database(app_dsn, size=3)
    await found.open()
    yield found
    await found.close()


def shelf(count: int, prefix: str, **more: Any) -> list[Book]:
    """`count` documents of ten chunks; every chunk has ten words of four hundred, and the pump."""
    rng = np.random.default_rng(7)
    texts = [[f"pump {' '.join(rng.choice(WORDS, 10))}" for _ in range(10)] for _ in range(count)]
    return [
        Book(f"{prefix}{number}.txt", [Passage(text, vector=hash_vector(text)) for text in ten], **more)
        for number, ten in enumerate(texts)
    ]


def values(scope: Scope, generation: int, **more: Any) -> dict[str, Any]:
    return {
        "tenant": scope.tenant,
        "workspace": scope.workspace,
        "type": None,
        "file": None,
        "from": None,
        "to": None,
        "documents": None,
        "agent": None,
        "depth": 10,
        "room": 11,
        "chunker": corpus.CHUNKER,
        "generation": generation,
        "text": QUESTION,
        "vector": Vector(hash_vector(QUESTION)),
        "k1": 0.9,
        "b": 0.4,
        "exact_scope": 10,
        "ids": [],
        "rules": None,
        "language": "english",
        "own": None,
        "known": None,
        "walk": 0,
        "words": 500,
        "many": 1_000_000,
        "most": 100,
        "few": False,
        "linked": None,
        "filtered": False,
        "codes": ["word1"],
        "phrases": ["pump"],
        "among": None,
    } | more


def filled_in(name: str) -> str:
    """The query, of the index for BM25 as it is first called."""
    parts = {"halfvec": f"halfvec({DIMENSION})", "condition": KEYWORD_INDEXES[BM25], "index": BM25}
    return re.sub(r"\{(halfvec|condition|index)\}", lambda place: parts[place[1]], SQL[name])


async def explain(pool: Database, scope: Scope, name: str, given: dict[str, Any]) -> str:
    query = filled_in(name).split("\n", 1)[1]
    planner = PLANNER | {"enable_sort": "off" if name.endswith("indexed") else "on", "hnsw.ef_search": "100"}
    rows = await pool.read(scope, f"explain (costs off) {query}", planner, **given)
    return "\n".join(row["QUERY PLAN"] for row in rows)


def as_owner(admin: psycopg.Connection[Any], scope: Scope, name: str, given: dict[str, str]) -> str:
    """The plan of a definer's function: its body, the arguments written in, with its owner's rights."""
    row = admin.execute("select prosrc, proargnames from pg_proc where proname = %s", (name,)).fetchone()
    assert row is not None
    known = {
        "most": "10",
        "among": "null::text[]",
        "r_language": "'english'",
        "r_chunker": f"'{corpus.CHUNKER}'",
    } | given
    body = row[0]
    for argument in row[1]:
        if argument not in ("wanted", "id", "document_id"):
            body = re.sub(rf"\b{argument}\b", known.get(argument, "null"), body)
    for setting, value in (("tenant", scope.tenant), ("workspace", scope.workspace)):
        admin.execute("select set_config(%s, %s, false)", (f"aos.{setting}", value))
    return "\n".join(line[0] for line in admin.execute(f"explain (costs off) {body}"))


async def test_small_tenants_get_all_their_hits_and_hot_queries_use_their_indexes(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """VS-01, VS-04 (pgvector, X-32): beside a tenant with 4,000 chunks, one with 10 gets k results from each leg."""
    big, small = corpus.open_home(admin, "big"), corpus.open_home(admin, "small")
    generation = corpus.open_generation(admin, big, small)
    corpus.load(admin, big, generation, shelf(400, "big"))
    corpus.load(admin, small, generation, shelf(1, "small"))
    admin.execute("select index_generation(%s, 1)", (generation,))
    admin.execute("analyze")

    for settings in (SearchSettings(exact_scope=1000), FORCED):
        found = await SearchPipeline(pool, FakeEmbedder(), None, settings, RerankSettings()).run(
            small, SearchQuery(QUESTION)
        )
        assert len(found.hits) == 10 and found.total == 10
        assert all({"keyword_rank", "vector_rank"} <= set(hit.scores) for hit in found.hits)
        assert {hit.filename for hit in found.hits} == {"small0.txt"}

    plan = await explain(pool, big, "keyword_indexed", values(big, generation))
    assert "Index Scan using document_chunks_bm25" in plan and "Sort" not in plan and "Seq Scan" not in plan
    assert plan.count("Limit") == 2, "the index scores a few more than are wanted, for those that are hidden"
    plan = await explain(pool, big, "vector_indexed", values(big, generation))
    assert f"Index Scan using embeddings_{generation}_hnsw" in plan and "Sort" not in plan and "Seq Scan" not in plan
    plan = await explain(pool, small, "keyword_exact", values(small, generation))
    assert "Seq Scan on document_chunks" not in plan
    plan = await explain(pool, big, "keyword_exact", values(big, generation))
    assert "document_chunks_document" not in plan, "of a version's chunks the document is known"
    plan = await explain(pool, big, "keyword_exact", values(big, generation, few=True))  # a reader's, which are listed
    assert "document_chunks_version_id_chunker_chunk_index_key" in plan and "document_chunks_document" not in plan
    plan = await explain(pool, small, "vector_exact", values(small, generation))
    assert "_hnsw" not in plan and "Seq Scan on embeddings" not in plan
    ids = [row[0] for row in admin.execute("select id from document_chunks limit 10")]
    plan = await explain(pool, big, "passages", values(big, generation, ids=ids))
    assert (
        "document_chunks_pkey" in plan
        and ("documents_pkey" in plan or "documents_of_workspace" in plan)
        and "pages" not in plan
    )
    plan = await explain(pool, big, "resolve", values(big, generation))
    assert "documents_workspace_id_upload_date_id_idx" in plan and "Sort" not in plan
    plan = as_owner(admin, big, "holding_literally", {"codes": "array['word1']", "phrases": "array['word1 word2']"})
    assert "document_chunks_atoms" in plan and "document_chunks_lexemes" in plan
    assert "Seq Scan on document_chunks" not in plan
    # A planner that takes the documents of a scope for a few would go through all of them for a phrase.
    admin.execute("update pg_class set reltuples = 75 * reltuples where relname = 'document_chunks'")
    admin.execute("update pg_class set reltuples = 1 where relname = 'documents'")
    plan = as_owner(admin, big, "holding_literally", {"codes": "'{}'::text[]", "phrases": "array['word1 word2']"})
    joins = plan[plan.rindex("Function Scan on unnest") :].replace("owner_1", "documents")
    assert joins.index("document_chunks_lexemes") < joins.index(" on documents")


async def test_words_of_a_long_chunk_are_in_its_row_and_not_looked_up_elsewhere(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """Half of an exact ranking was that: it reads the words of every chunk of a scope, and text of none."""
    scope = corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    long = " ".join(f"pump{n} valve{n * 7}" for n in range(90))
    corpus.load(admin, scope, generation, [Book("long.txt", [Passage(f"{long} {n}") for n in range(10)])])
    ((apart, texts, row),) = admin.execute(
        "select count(pg_column_toast_chunk_id(lexemes)), count(pg_column_toast_chunk_id(text)),"
        " max(pg_column_size(lexemes)) from document_chunks"
    ).fetchall()
    assert (apart, texts) == (0, 10) and row > 1000
    found = await SearchPipeline(pool, FakeEmbedder(), None, SearchSettings(), RerankSettings()).run(
        scope, SearchQuery("pump7 valve49")
    )
    assert len(found.hits) == 10


async def test_quoted_phrases_are_found_in_whatever_may_be_searched(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    scope = corpus.open_home(admin)
    agent = corpus.open_agent(admin, scope, "assistant")
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, [Book(f"free{n}.txt", [Passage("the red pump")]) for n in range(3)])
    linked = [Book(f"mine{n}.txt", [Passage("a red pump"), Passage("pump, red")], agents=(agent,)) for n in range(2)]
    mine = corpus.load(admin, scope, generation, linked)

    async def found(**more: Any) -> list[str]:
        given = values(scope, generation, codes=[], phrases=["Red pump"], **more)
        return sorted(row["document_id"] for row in await pool.read(scope, SQL["literal"], **given))

    assert len(await found()) == 5
    assert await found(agent=agent) == await found(documents=mine) == sorted(mine)
    assert await found(agent=agent, documents=mine[:1]) == mine[:1] and await found(documents=[]) == []
    assert len(await found(most=2)) == 2
    admin.execute("update agents set whole_workspace = true where id = %s", (agent,))
    assert len(await found(agent=agent)) == 5


async def test_indexed_and_exact_keyword_ranking_agree(admin: psycopg.Connection[Any], pool: Database) -> None:
    """RE-02: where the scope is the whole table both paths have the same statistics, but for how length is counted."""
    scope = corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, shelf(100, "a"))
    admin.execute("analyze")
    query, indexed, exact = (
        SearchQuery("word5 word6"),
        ChunkRetriever(pool, FORCED),
        ChunkRetriever(pool, SearchSettings(fetch=10)),
    )
    by_index, by_scan = await indexed.resolve(scope, query), await exact.resolve(scope, query)
    assert (
        isinstance(by_index, IndexGeneration)
        and isinstance(by_scan, IndexGeneration)
        and by_scan.small
        and not by_index.small
    )
    assert by_index.keyword_engine == by_scan.keyword_engine == "bm25"
    ranked = [await legs.keyword(scope, query, index) for legs, index in ((indexed, by_index), (exact, by_scan))]
    assert len(ranked[0]) == len(ranked[1]) == 10
    assert [one.score for one in ranked[0]] == pytest.approx([one.score for one in ranked[1]], rel=0.15)


async def test_row_level_security_alone_keeps_tenants_apart(admin: psycopg.Connection[Any], pool: Database) -> None:
    """Every query of search, asked for A's workspace inside B's scope, finds nothing; nor without a scope."""
    ours, theirs = corpus.open_home(admin, "a"), corpus.open_home(admin, "b")
    neighbour = corpus.open_home(admin, "a2", ours.tenant)
    generation = corpus.open_generation(admin, ours, theirs, neighbour)
    corpus.load(admin, ours, generation, shelf(20, "a"))
    admin.execute("select index_generation(%s, 1)", (generation,))
    parent = Jsonb({"parent": {"ordinal": 0, "first": 0, "last": 0, "spans": [[1, 0, 9]]}})
    admin.execute("update document_chunks set metadata = %s", (parent,))
    ids = [row[0] for row in admin.execute("select id from document_chunks")]
    given = values(ours, generation, ids=ids)
    names = set(SQL) - {"resolve"}
    assert {"keyword_indexed", "keyword_exact", "keyword_full_text", "vector_indexed", "vector_exact"} <= names
    assert "literal" in names
    for name in names:
        query = filled_in(name)
        for scope, seen in ((ours, True), (theirs, False), (neighbour, False), (None, False)):
            async with pool.transaction(scope) as tx:
                rows = await tx.all(query, **given)
            assert bool(rows) is seen, f"{name} in {scope}"


@pytest.mark.parametrize("settings", [SearchSettings(), FORCED])
@pytest.mark.parametrize("bm25", [True, False])
async def test_readers_see_what_is_meant_for_them(
    admin: psycopg.Connection[Any], pool: Database, settings: SearchSettings, bm25: bool
) -> None:
    """On every path, with and without pg_textsearch."""
    scope = corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, [*shelf(2, "all"), *shelf(2, "ann", readers=("user:ann@x.org",))])
    if not bm25:
        admin.execute("drop index document_chunks_bm25")
    search = SearchPipeline(pool, FakeEmbedder(), None, settings, RerankSettings())

    async def seen(*principals: str) -> set[str]:
        whose = Scope(scope.tenant, scope.workspace, principals)
        found = await search.run(whose, SearchQuery(QUESTION, limit=10))
        assert found.keyword_engine == ("bm25" if bm25 or settings is not FORCED else "full_text")
        assert any("keyword_rank" in hit.scores for hit in found.hits)
        return {hit.filename[:3] for hit in found.hits}

    assert await seen() == await seen("user:bob@x.org", "role:viewer") == {"all"}
    assert await seen("user:ann@x.org") == await seen("*") == {"all", "ann"}


async def counted(pool: Database, scope: Scope, generation: int, **more: Any) -> dict[str, Any]:
    (row,) = await pool.read(scope, SQL["resolve"], **values(scope, generation, **more))
    return row


async def test_a_scope_that_is_narrow_beside_all_vectors_is_measured_exactly(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """At 4,000 vectors and a walk of 200 a scope is narrow up to the root of 800,000, whoever names its documents."""
    scope, other = corpus.open_home(admin, "a"), corpus.open_home(admin, "b")
    agent = corpus.open_agent(admin, scope, "assistant")
    generation = corpus.open_generation(admin, scope, other)
    corpus.load(admin, scope, generation, shelf(80, "mine", agents=(agent,)))
    corpus.load(admin, scope, generation, shelf(20, "more"))
    corpus.load(admin, other, generation, shelf(300, "theirs"))
    admin.execute("select index_generation(%s, 1)", (generation,))
    admin.execute("analyze")
    found = {}
    for name, asked in {"agent": agent, "workspace": None}.items():
        row = await counted(pool, scope, generation, exact_scope=100, walk=200, agent=asked)
        found[name] = row["small"], row["narrow"]
    assert found == {"agent": (False, True), "workspace": (False, False)}
    row = await counted(pool, scope, generation, exact_scope=100, walk=200, words=800, agent=agent)
    assert (row["small"], row["narrow"]) == (True, True), "words are ranked exactly as far as they may be"
    row = await counted(pool, scope, generation, exact_scope=100, walk=0, words=800, agent=agent)
    assert (row["small"], row["narrow"]) == (False, False), (
        "without a walk to compare with, only what is small is exact"
    )
    # Eighty links: more than are listed of a reader, and few enough to hold no more chunks than are scanned.
    for limit, found in {1_000: (True, True, True), 79: (False, False, False), 80: (True, False, False)}.items():
        row = await counted(pool, scope, generation, exact_scope=limit, words=limit, agent=agent, most=10)
        assert (row["few"], row["small"], row["narrow"]) == found
    some = [
        row[0] for row in admin.execute("select id from documents where filename like 'mine%%' order by id limit 9")
    ]
    for asked in (None, agent):
        row = await counted(pool, scope, generation, exact_scope=100, walk=200, documents=some, agent=asked)
        assert (row["small"], row["narrow"]) == (True, True), "a list is counted by its documents"
    row = await counted(pool, scope, generation, exact_scope=100, walk=200, documents=some * 40)
    assert not row["small"]
    queries = RetrieverQueries(SearchSettings(exact_scope=0))
    assert queries.count(scope, SearchQuery("x"), None).values["walk"] == 0
    legs = ChunkRetriever(pool, SearchSettings(exact_scope=100, fetch=50))
    index = await legs.resolve(scope, SearchQuery("x", agent_id=agent))
    assert index is not None and not index.small and index.vector_engine == "hnsw", "1,000 vectors would be measured"
    legs = ChunkRetriever(pool, SearchSettings(exact_scope=100))
    index = await legs.resolve(scope, SearchQuery("x", agent_id=agent))
    assert index is not None and index.small and index.narrow and index.vector_engine == "exact"


async def test_the_few_documents_of_a_reader_are_looked_up_and_hold_the_wall(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    ours, theirs = corpus.open_home(admin, "a"), corpus.open_home(admin, "b")
    generation = corpus.open_generation(admin, ours, theirs)
    corpus.load(admin, ours, generation, shelf(40, "others", readers=("user:bob@x.org",)))
    corpus.load(admin, ours, generation, shelf(2, "ann", readers=("user:ann@x.org",)))
    corpus.load(admin, ours, generation, shelf(1, "all"))
    corpus.load(admin, theirs, generation, shelf(3, "ann", readers=("user:ann@x.org",)))
    admin.execute("analyze")
    ann = Scope(ours.tenant, ours.workspace, ("user:ann@x.org",))
    assert (await counted(pool, ann, generation, many=0, most=3))["few"] is True
    assert (await counted(pool, ann, generation, many=0, most=2))["few"] is False, "there are three"
    assert (await counted(pool, ann, generation, most=3))["few"] is False, "among few documents nobody has to look"
    everybody = Scope(ours.tenant, ours.workspace, ("*",))
    assert (await counted(pool, everybody, generation, many=0))["few"] is False
    for name in ("vector_exact", "keyword_exact"):
        sought, looked_up = [
            await pool.read(ann, SQL[name], **values(ann, generation, few=few, most=3, depth=100))
            for few in (False, True)
        ]
        assert sought == looked_up and len(sought) == 30
    for scope in (ann, everybody, None):
        async with pool.transaction(scope) as tx:
            row = await tx.only("select listed_documents(null, 3) as ids")
        assert len(row["ids"] or ()) == (3 if scope is ann else 0)
    agent = corpus.open_agent(admin, ours, "assistant")
    corpus.load(admin, ours, generation, shelf(2, "linked", agents=(agent,)))
    legs = ChunkRetriever(pool, SearchSettings(exact_scope=100))
    for whole, found in ((False, 20), (True, 50)):
        admin.execute("update agents set whole_workspace = %s where id = %s", (whole, agent))
        index = await legs.resolve(ann, SearchQuery("x", agent_id=agent))
        assert index is not None and index.few is not whole, "of an agent its links, of a reader only among many"
        index = replace(index, few=True)
        near = await legs.vector(ann, SearchQuery("x", agent_id=agent), index, hash_vector(QUESTION))
        assert len(near) == found, "where it may search all, the list is the reader's"
    for scope, most, count in ((ours, 3, 2), (ours, 1, None), (theirs, 3, 0)):
        async with pool.transaction(scope) as tx:
            ids = (await tx.only("select listed_documents(%(agent)s, %(most)s) as ids", agent=agent, most=most))["ids"]
        assert (None if ids is None else len(ids)) == count, "links of another tenant are nobody's"
    stranger = Scope(theirs.tenant, theirs.workspace, ("user:eve@x.org",))
    async with pool.transaction(stranger) as tx:
        assert (await tx.only("select listed_documents(null, 3) as ids"))["ids"] == []


async def test_a_list_of_few_documents_finds_all_that_its_index_would(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """Links narrow what is walked and what is measured alike, and a file's type does within them."""
    scope = corpus.open_home(admin)
    agent = corpus.open_agent(admin, scope, "assistant")
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, [*shelf(6, "linked", agents=(agent,)), *shelf(30, "free")])
    corpus.load(admin, scope, generation, shelf(2, "sheet", agents=(agent,), file_type="xlsx"))
    admin.execute("select index_generation(%s, 1)", (generation,))
    admin.execute("analyze")
    for more in ({}, {"type": "xlsx", "filtered": True}):
        given = values(scope, generation, agent=agent, depth=80, **more)
        rows = {}
        for name in ("vector_indexed", "vector_exact"):
            query = filled_in(name)
            settings = {"hnsw.iterative_scan": "relaxed_order", "enable_sort": "on"}
            rows[name] = {row["id"] for row in await pool.read(scope, query, settings, **given)}
        assert rows["vector_indexed"] == rows["vector_exact"] and len(rows["vector_exact"]) == (20 if more else 80)
    admin.execute("update agents set whole_workspace = true where id = %s", (agent,))
    found = await pool.read(scope, SQL["vector_exact"], **values(scope, generation, agent=agent, depth=1_000))
    assert len(found) == 380


async def test_the_definers_function_takes_no_scope_from_its_caller(admin: psycopg.Connection[Any]) -> None:
    """Its arguments narrow; tenant, workspace and readers come from the settings that the policies read."""
    row = admin.execute(
        "select proargnames, prosecdef, proconfig from pg_proc where proname = 'rank_full_text'"
    ).fetchone()
    assert row is not None and row[1] and "search_path=public, pg_temp" in row[2]
    assert not {"tenant", "workspace", "readers", "principals"} & {name.removeprefix("r_") for name in row[0]}
    others = admin.execute(
        "select count(*) from pg_proc where proname in ('searchable_documents', 'any_word') and prosecdef"
    ).fetchone()
    assert others == (0,)


async def test_what_looks_up_for_a_caller_is_planned_for_what_it_is_asked(admin: psycopg.Connection[Any]) -> None:
    """Postgres 18 keeps plans of functions: one for all questions took ten seconds where its own takes four ms."""
    rows = admin.execute(
        "select proname, proconfig from pg_proc p join pg_language l on l.oid = p.prolang"
        " where l.lanname = 'sql' and prosecdef and 'depth' = any(proargnames) or proname = 'holding_literally'"
    ).fetchall()
    assert {name for name, _ in rows} == {"holding_literally", "rank_full_text", "entities_named"}
    assert all("plan_cache_mode=force_custom_plan" in config for _, config in rows)


async def test_stats_tell_what_is_in_effect(admin: psycopg.Connection[Any], pool: Database) -> None:
    """VS-03: model, dimension, indexes, and how much is embedded, of this workspace alone."""
    scope, other = corpus.open_home(admin, "a"), corpus.open_home(admin, "b")
    empty = await DocumentLibrary(pool).stats(scope, None)
    assert (empty["generation"]["embedder"], empty["chunks"], empty["embeddings"]) == (None, 0, 0)
    generation = corpus.open_generation(admin, scope, other)
    corpus.load(admin, scope, generation, [*shelf(1, "a"), Book("plain.txt", [Passage("not embedded")])])
    corpus.load(admin, other, generation, shelf(2, "b"))
    found = await DocumentLibrary(pool).stats(scope, None)
    live = found["generation"]
    assert (live["embedder"], live["dimension"], live["id"]) == ("fake", DIMENSION, generation)
    assert (found["chunks"], found["embeddings"]) == (11, 10)
    assert (live["keyword_engine"], live["vector_index"]) == ("bm25", "exact")
    admin.execute("select index_generation(%s, 1)", (generation,))
    assert (await DocumentLibrary(pool).stats(scope, None))["generation"]["vector_index"] == "hnsw"
