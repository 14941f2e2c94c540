"""What keeps search quick: a kept plan for vectors, none for words, and legs that set out before they are told."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchFilters, SearchQuery
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from serve_apps.retrieval.search.statements import SQL
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import DIMENSION, FakeEmbedder

FORCED = SearchSettings(exact_scope=0, fetch=2)  # no scope is small: both legs use their indexes
KEPT = "select statement, generic_plans from pg_prepared_statements where statement like %(like)s"


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    """One connection, so that what is kept on it can be looked at."""
    found = Database(app_dsn, size=1)
    await found.open()
    yield found
    await found.close()


def books(*texts: str, **more: Any) -> list[Book]:
    return [Book(f"{text}.txt", [Passage(text, vector=hash_vector(text))], **more) for text in texts]


def make(pool: Database) -> SearchPipeline:
    return SearchPipeline(pool, FakeEmbedder(), None, FORCED, RerankSettings())


async def shown(search: SearchPipeline, scope: Scope, **more: Any) -> set[str]:
    return {hit.text for hit in (await search.run(scope, SearchQuery("the pump is red", **more))).hits}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan's steps, each before those it asks."""
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


async def test_the_keyword_query_is_not_kept_and_the_vector_query_keeps_one_plan(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """A prepared statement has pg_textsearch 1.0 score each row again; the vector query is planned once and for all."""
    scope = corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, books("pump one", "pump two", "pump three"))
    admin.execute("select index_generation(%s, 1)", (generation,))
    legs = ChunkRetriever(pool, FORCED)
    query = SearchQuery("pump", limit=2)
    index = await legs.resolve(scope, query)
    assert index is not None and index.graph and index.bm25 and not index.small
    for _ in range(12):
        assert len(await legs.keyword(scope, query, index)) == 2
        assert len(await legs.vector(scope, query, index, hash_vector("pump"))) == 2
    async with pool.transaction(scope) as tx:
        assert await tx.all(KEPT, like="%<@>%bm25query%") == []
        (kept,) = await tx.all(KEPT, like="%<=>%halfvec%")
    assert kept["generic_plans"] >= 5


async def test_the_kept_plan_walks_the_graph_of_its_generation(admin: psycopg.Connection[Any], pool: Database) -> None:
    """Made without values, beside another generation, with every condition of a filter still open."""
    scope = corpus.open_home(admin)
    corpus.open_generation(admin, dimension=8)
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, books(*(f"pump {n}" for n in range(200))))
    admin.execute("select index_generation(%s, 1)", (generation,))
    admin.execute("analyze")
    text = SQL["vector_indexed"].split("\n", 1)[1].replace("{halfvec}", f"halfvec({DIMENSION})")
    text = text.replace("%(generation)s", str(generation))
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    for number, name in enumerate(names, 1):
        text = text.replace(f"%({name})s", f"${number}")
    async with pool.transaction(scope) as tx:
        await tx.run("select set_config('enable_sort', 'off', true)")
        cursor = await tx.connection.execute(f"explain (generic_plan, costs off) {text}")
        rows = await cursor.fetchall()
    plan = "\n".join(row["QUERY PLAN"] for row in rows)
    assert f"Index Scan using embeddings_{generation}_hnsw" in plan
    assert "document_chunks_pkey" in plan
    assert "documents_pkey" in plan or "documents_of_workspace" in plan  # each finds the one document of a passage
    assert "Sort" not in plan
    assert not [table for table in ("documents", "document_chunks", "embeddings") if f"Seq Scan on {table} " in plan]


async def test_passages_of_a_table_just_filled_are_looked_up_one_by_one(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """Without statistics the planner joined every document of the workspace: a second for ten passages of 20,000."""
    scope = corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    text = "pump " * 200
    filled = [Book(f"{n}.txt", [Passage(f"{text} {m}") for m in range(5)]) for n in range(1_000)]
    corpus.load(admin, scope, generation, filled)
    query = f"explain (analyze, format json)\n{SQL['passages']}"
    async with pool.transaction(scope) as tx:
        ids = [row["id"] for row in await tx.all("select id from document_chunks order by md5(id) limit 10")]
        (row,) = await tx.all(query, tenant=scope.tenant, workspace=scope.workspace, ids=ids, rules=None)
    walked = {
        node["Relation Name"]: node["Actual Rows"] * node["Actual Loops"]
        for node in nodes(row["QUERY PLAN"][0]["Plan"])
        if "Relation Name" in node
    }
    assert walked == {"document_chunks": 10, "documents": 10}


async def test_legs_that_set_out_for_a_generation_that_was_replaced_set_out_again(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """The first search remembers where it went; the switch is one row, and holds for the very next one."""
    scope = corpus.open_home(admin)
    first = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, first, books("the pump is red"))
    search = make(pool)
    assert await shown(search, scope) == await shown(search, scope) == {"the pump is red"}
    second = corpus.open_generation(admin, scope, chunker="other")
    corpus.load(admin, scope, second, books("a red pump, cut anew", version="2"), chunker="other")
    results = await search.run(scope, SearchQuery("the pump is red"))
    assert results.generation == second and [hit.text for hit in results.hits] == ["a red pump, cut anew"]
    admin.execute("update workspaces set generation_id = null")
    assert (await search.run(scope, SearchQuery("the pump is red"))).fallback == "nothing is indexed yet"


async def test_a_leg_that_fails_on_its_way_to_what_is_gone_is_not_heard(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    scope = corpus.open_home(admin)
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, books("the pump is red", "the pump is blue", "the pump is old"))
    search, query = make(pool), SearchQuery("pump", limit=2)
    assert (await search.run(scope, query)).keyword_engine == "bm25"
    admin.execute("drop index document_chunks_bm25")
    results = await search.run(scope, query)
    assert results.keyword_engine == "full_text" and "keyword_rank" in results.hits[0].scores


async def test_what_is_remembered_is_of_one_scope_and_one_filter(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """MT-01: what was resolved for one workspace, reader or filter sends nobody else's legs anywhere."""
    scope, other = corpus.open_home(admin, "a"), corpus.open_home(admin, "b")
    generation = corpus.open_generation(admin, scope)
    corpus.load(admin, scope, generation, books("the pump is red", readers=("user:ann@x.org",)))
    ann = Scope(scope.tenant, scope.workspace, ("user:ann@x.org",))
    search, legs, query = make(pool), ChunkRetriever(pool, FORCED), SearchQuery("the pump is red")
    assert await shown(search, ann) == await shown(search, ann) == {"the pump is red"}
    assert await shown(search, scope) == await shown(search, other) == set()
    assert await shown(search, ann, filters=SearchFilters(doc_type="pdf")) == set()
    index = await legs.resolve(ann, query)
    assert index is not None and legs.last(ann, query) == index
    assert legs.last(scope, query) is None and legs.last(other, query) is None
    assert legs.last(ann, SearchQuery("pump", filters=SearchFilters(doc_type="pdf"))) is None


async def test_what_may_be_searched_is_counted_once_for_each_state_of_the_corpus(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """A write makes another state; so do links to an agent."""
    scope = corpus.open_home(admin)
    generation, agent = corpus.open_generation(admin, scope), corpus.open_agent(admin, scope, "a")
    corpus.load(admin, scope, generation, books("pump one", "pump two", "pump three"))
    legs, query, linked = (
        ChunkRetriever(pool, FORCED),
        SearchQuery("pump", limit=2),
        SearchQuery("pump", limit=2, agent_id=agent),
    )

    async def small(asked: SearchQuery = query) -> bool:
        index = await legs.resolve(scope, asked)
        assert index is not None
        return index.small

    assert not await small() and not await small() and await small(linked)
    admin.execute("delete from documents where filename = 'pump three.txt'")
    admin.execute("insert into document_agent_links select %s, id, tenant_id, workspace_id from documents", (agent,))
    assert not await small()
    admin.execute("update workspaces set corpus_version = corpus_version + 1")
    assert await small() and await small()
    assert await small(linked)


async def test_an_agent_of_the_whole_workspace_searches_as_people_do(
    admin: psycopg.Connection[Any], pool: Database
) -> None:
    """No document is looked up for it; one with links finds only those, whatever was remembered before."""
    scope = corpus.open_home(admin)
    generation, agent = corpus.open_generation(admin, scope), corpus.open_agent(admin, scope, "a")
    corpus.load(admin, scope, generation, books("pump one", "pump two", "pump three"))
    admin.execute(
        "insert into document_agent_links select %s, id, tenant_id, workspace_id from documents"
        " where filename = 'pump one.txt'",
        (agent,),
    )
    search, legs, query = make(pool), ChunkRetriever(pool, FORCED), SearchQuery("pump", limit=2, agent_id=agent)
    index = await legs.resolve(scope, query)
    assert index is not None and not index.whole
    assert await shown(search, scope, agent_id=agent) == {"pump one"}
    admin.execute("update agents set whole_workspace = true")
    admin.execute("update workspaces set corpus_version = corpus_version + 1")
    index = await legs.resolve(scope, query)
    assert index is not None and index.whole
    assert await shown(search, scope, agent_id=agent) == {"pump one", "pump two", "pump three"}
    admin.execute("update agents set whole_workspace = false")
    admin.execute("update workspaces set corpus_version = corpus_version + 1")
    assert await shown(search, scope, agent_id=agent) == {"pump one"}
