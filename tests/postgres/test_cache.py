"""The cache in front of search: whose it is, how long it holds, and what ends it, over Postgres and Valkey."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
from redis.asyncio import Redis

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentChange, AgentStore
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings
from pipelines.documents.document import Page, VersionId
from pipelines.documents.index.generations import IndexGenerations
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.document_writes import DocumentStore, FileArrival, StoredPage
from pipelines.documents.store.library import DocumentLibrary
from serve_apps.retrieval.search.query import LONGEST_QUESTION, ContextBudget, SearchFilters, SearchQuery
from tests.fakes import corpus
from tests.fakes.cached import Replica, plain_search, replica
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder, FakeReranker

QUESTION = "How long is the notice period of the lease in Oslo?"
IN_OTHER_WORDS = "Could you tell me how long the notice period of the lease in Oslo is?"
NEAR = CacheSettings(similarity_threshold=0.6)


@dataclass(frozen=True)
class Home:
    """A workspace with a lease that everybody may read, one for Ann, and an agent that knows the first."""

    scope: Scope
    generation: int
    lease: str
    secret: str
    agent: str

    def of(self, *principals: str) -> Scope:
        return replace(self.scope, principals=principals)


def book(name: str, text: str, **more: Any) -> Book:
    return Book(name, [Passage(text, vector=hash_vector(text))], **more)


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


@pytest.fixture
def home(admin: psycopg.Connection[Any]) -> Home:
    scope = corpus.open_home(admin)
    generation, agent = corpus.open_generation(admin, scope), corpus.open_agent(admin, scope, "lawyer")
    lease = book("lease.txt", "The notice period of the lease in Oslo is three months.", agents=(agent,))
    secret = book("secret.txt", "The notice period of the secret lease in Oslo is a day.", readers=("user:ann",))
    ids = corpus.load(admin, scope, generation, [lease, secret])
    return Home(scope, generation, ids[0], ids[1], agent)


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    found = Database(app_dsn, size=8)
    await found.open()
    yield found
    await found.close()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def first(pool: Database, redis: Redis) -> Replica:
    return replica(pool, redis, NEAR)


@pytest.fixture
def second(pool: Database, redis: Redis) -> Replica:
    return replica(pool, redis, NEAR)


async def test_the_same_question_is_worked_out_once_for_all_replicas(
    home: Home, first: Replica, second: Replica, pool: Database
) -> None:
    """SC-01, SC-03, SC-05: a hit is what the search would have found, and says where it comes from."""
    query = SearchQuery(QUESTION)
    made, again = await first.search.run(home.scope, query), await second.search.run(home.scope, query)
    worded = await second.search.run(home.scope, SearchQuery(IN_OTHER_WORDS))
    fresh = await plain_search(pool).run(home.scope, query)
    assert [one.cache.outcome for one in (made, again, worded) if one.cache] == ["miss", "hit", "hit"]
    assert made.cache is not None and made.cache.reason == "nothing is remembered"
    assert again.hits == made.hits == fresh.hits and again.total == fresh.total and again.query == query
    assert worded.hits == made.hits and worded.query.text == IN_OTHER_WORDS
    assert again.cache is not None and again.cache.similarity == 1.0 and again.cache.question == QUESTION
    assert worded.cache is not None and worded.cache.reason == "the same question in other words"
    assert worded.cache.similarity is not None and 0.6 < worded.cache.similarity < 1
    assert worded.cache.age_seconds is not None and 0 <= worded.cache.age_seconds < 60
    assert first.inner.asked == [QUESTION] and second.inner.asked == []
    assert {"cache", "total"} == set(again.timings_ms)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("How long is the notice period of the lease in Bergen?", "near, but another name: oslo / bergen"),
        ("How long is the notice period of the lease not in Oslo?", "near, but another negation: – / not"),
        ("How long is the lease of the notice period in Oslo?", "near, but another order of words"),
        ("Do whales sing?", "nothing is near enough"),
    ],
)
async def test_a_near_miss_is_a_miss(home: Home, first: Replica, other: str, why: str) -> None:
    """SC-01: similarity alone is not enough."""
    await first.search.run(home.scope, SearchQuery(QUESTION))
    found = await first.search.run(home.scope, SearchQuery(other))
    assert found.cache is not None and found.cache.outcome == "miss"
    swapped = " / ".join(reversed(why.rpartition(": ")[2].split(" / "))) if " / " in why else ""
    assert found.cache.reason in (why, why.rpartition(": ")[0] + ": " + swapped)
    assert found.cache.question == QUESTION and first.inner.asked == [QUESTION, other]


async def test_plain_similarity_decides_at_the_threshold(home: Home, pool: Database, redis: Redis) -> None:
    """SC-01, X-27: at least the threshold, not more than it."""
    vectors = await FakeEmbedder().embed([QUESTION, IN_OTHER_WORDS])
    cosine = float(vectors[0] @ vectors[1])
    for threshold, outcome in ((cosine - 1e-4, "hit"), (cosine + 1e-4, "miss")):
        one = replica(pool, redis, CacheSettings(similarity_threshold=threshold), made_with=outcome)
        await one.search.run(home.scope, SearchQuery(QUESTION))
        found = await one.search.run(home.scope, SearchQuery(IN_OTHER_WORDS))
        assert found.cache is not None and found.cache.outcome == outcome


@pytest.mark.parametrize(
    "settings", [CacheSettings(risk=0), CacheSettings(risk=0, similarity_threshold=0.1), CacheSettings()]
)
async def test_without_a_risk_or_a_measured_embedder_only_the_same_words_are_a_hit(
    home: Home, pool: Database, redis: Redis, settings: CacheSettings
) -> None:
    """The tests' embedder was never measured: the default risk says nothing of it."""
    one = replica(pool, redis, settings)
    await one.search.run(home.scope, SearchQuery(QUESTION))
    polite = await one.search.run(home.scope, SearchQuery(f"Please, {QUESTION.lower()}"))
    assert polite.cache is not None and polite.cache.outcome == "hit"
    other = await one.search.run(home.scope, SearchQuery("In Oslo, how long is the notice period of the lease?"))
    assert other.cache is not None
    assert (other.cache.outcome, other.cache.reason) == ("miss", "only the same words count")


async def test_people_share_what_they_both_may_see_and_nothing_else(home: Home, first: Replica) -> None:
    """SC-06: principals that no document names part nobody; those that one names do."""
    query = SearchQuery(QUESTION)
    ann = await first.search.run(home.of("user:ann", "role:viewer"), query)
    bob = await first.search.run(home.of("user:bob", "role:viewer"), query)
    eve = await first.search.run(home.of("user:eve", "role:admin"), query)
    assert {hit.document_id for hit in ann.hits} == {home.lease, home.secret}
    assert {hit.document_id for hit in bob.hits} == {home.lease} == {hit.document_id for hit in eve.hits}
    assert [one.cache.outcome for one in (ann, bob, eve) if one.cache] == ["miss", "miss", "hit"]


async def test_other_workspaces_agents_and_filters_have_entries_of_their_own(
    home: Home, admin: psycopg.Connection[Any], first: Replica
) -> None:
    """SC-04."""
    other = corpus.open_home(admin, "other", home.scope.tenant)
    admin.execute("update workspaces set generation_id = %s where id = %s", (home.generation, other.workspace))
    asked = [
        (home.scope, SearchQuery(QUESTION)),
        (home.scope, SearchQuery(QUESTION, agent_id=home.agent)),
        (home.scope, SearchQuery(QUESTION, filters=SearchFilters(doc_type="pdf"))),
        (home.scope, SearchQuery(QUESTION, limit=3)),
        (other, SearchQuery(QUESTION)),
    ]
    found = [await first.search.run(scope, query) for scope, query in asked]
    assert [len(one.hits) for one in found] == [1, 1, 0, 1, 0]
    assert all(one.cache and one.cache.outcome == "miss" for one in found)
    again = [await first.search.run(scope, query) for scope, query in asked]
    assert [one.cache.outcome for one in again if one.cache] == ["hit"] * 5
    assert [one.hits for one in again] == [one.hits for one in found]


Change = Callable[[Database, Home], Awaitable[None]]


async def deletes(pool: Database, home: Home) -> None:
    async with pool.transaction(home.scope) as tx:
        await DocumentLibrary(pool).delete(tx, home.scope, home.lease)


async def unlinks(pool: Database, home: Home) -> None:
    async with pool.transaction(home.scope) as tx:
        assert await AgentLinks(pool).unlink(tx, home.scope, home.agent, [home.lease]) == 1


async def links(pool: Database, home: Home) -> None:
    ann = home.of("user:ann")
    async with pool.transaction(ann) as tx:
        assert await AgentLinks(pool).link(tx, ann, home.agent, [home.secret]) == 1


async def auto_links(pool: Database, home: Home) -> None:
    ann = home.of("user:ann")
    async with pool.transaction(ann) as tx:
        await AgentStore(pool).change(tx, ann, home.agent, AgentChange(auto_link_uploads=True))
        await AgentLinks(pool).auto_link(tx, ann, home.secret)


async def widens(pool: Database, home: Home) -> None:
    async with pool.transaction(home.scope) as tx:
        await AgentStore(pool).change(tx, home.scope, home.agent, AgentChange(whole_workspace=True))


async def removes_the_agent(pool: Database, home: Home) -> None:
    async with pool.transaction(home.scope) as tx:
        await AgentStore(pool).delete(tx, home.scope, home.agent)


async def switches(pool: Database, home: Home) -> None:
    async with pool.transaction(home.scope) as tx:
        row = await tx.one("select open_generation('fake', 'fake-1', 512, 'other', 'next', true) as id")
        assert row is not None
        await IndexGenerations(pool).use(tx, home.scope, row["id"])


async def shows_it_to_bob(pool: Database, home: Home) -> None:
    worker = Scope.of_worker(home.scope.tenant, home.scope.workspace)
    async with pool.transaction(worker) as tx:
        await tx.run("update documents set readers = '{user:ann,user:bob}' where id = %(id)s", id=home.secret)


async def reads_again(pool: Database, home: Home) -> None:
    worker = Scope.of_worker(home.scope.tenant, home.scope.workspace)
    async with pool.transaction(worker) as tx:
        row = await tx.one("select current_version as id from documents where id = %(id)s", id=home.lease)
        assert row is not None
        page = StoredPage(VersionId(row["id"]), Page(1, "Quite another text."))
        await DocumentStore(pool).put_pages(tx, worker, [page], "again")


async def links_a_scan(pool: Database, home: Home) -> None:
    worker = Scope.of_worker(home.scope.tenant, home.scope.workspace)
    arrival = FileArrival("upload:secret.txt", "secret.txt", "blob:none", home.agent)
    assert arrival.document(worker) == home.secret
    async with pool.transaction(worker) as tx:
        await DocumentStore(pool).link(tx, worker, arrival)


CHANGES: list[Change] = [
    deletes,
    unlinks,
    links,
    auto_links,
    widens,
    removes_the_agent,
    switches,
    shows_it_to_bob,
    reads_again,
    links_a_scan,
]


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__ for change in CHANGES])
async def test_every_change_of_what_can_be_found_ends_what_was_remembered(
    home: Home, first: Replica, second: Replica, pool: Database, change: Change
) -> None:
    """SC-06: also in replicas that heard nothing of it; the text alone would still be a hit."""
    query, ann = SearchQuery(QUESTION, agent_id=home.agent), home.of("user:ann")
    await first.search.run(ann, query)
    assert (await second.search.run(ann, query)).cache is not None
    await change(pool, home)
    found = await second.search.run(ann, query)
    fresh = await plain_search(pool).run(ann, query)
    assert found.cache is not None and found.cache.outcome != "hit" and found.hits == fresh.hits


async def test_linking_what_is_linked_changes_nothing(home: Home, first: Replica, pool: Database) -> None:
    await first.search.run(home.scope, SearchQuery(QUESTION))
    async with pool.transaction(home.scope) as tx:
        assert await AgentLinks(pool).link(tx, home.scope, home.agent, [home.lease]) == 0
    found = await first.search.run(home.scope, SearchQuery(QUESTION))
    assert found.cache is not None and found.cache.outcome == "hit"


async def test_what_was_found_while_the_corpus_changed_is_never_served(
    home: Home, first: Replica, second: Replica, pool: Database
) -> None:
    """SC-06: it is kept under the number that was read before anything was worked out."""
    first.inner.after = asyncio.Event()
    slow = asyncio.create_task(first.search.run(home.scope, SearchQuery(QUESTION)))
    await first.inner.found.wait()
    await deletes(pool, home)
    first.inner.after.set()
    assert [hit.document_id for hit in (await slow).hits] == [home.lease]
    found = await second.search.run(home.scope, SearchQuery(QUESTION))
    assert found.hits == () and found.cache is not None and found.cache.outcome == "miss"
    assert (await first.search.run(home.scope, SearchQuery(QUESTION))).hits == ()


async def test_a_backup_that_is_put_back_brings_no_number_twice(
    home: Home, first: Replica, admin: psycopg.Connection[Any]
) -> None:
    """SC-05: as often changed as then, but otherwise."""
    ((before,),) = admin.execute("select revision from workspaces where id = %s", (home.scope.workspace,)).fetchall()
    change = "update workspaces set corpus_version = corpus_version + 1"
    admin.execute(change)
    gone = await first.search.run(home.scope, SearchQuery(QUESTION))
    admin.execute("delete from document_chunks")  # as in the backup, of which nobody was told
    admin.execute("update workspaces set revision = %s", (before,))
    admin.execute(change)
    found = await first.search.run(home.scope, SearchQuery(QUESTION))
    assert len(gone.hits) == 1 and not found.hits
    assert found.cache is not None and found.cache.outcome == "miss"


@pytest.mark.parametrize(
    "change",
    [
        "insert into llm_connections (tenant_id, workspace_id, name, base_url, provider, model)"
        " select tenant_id, id, 'local', 'http://127.0.0.1:1/v1', 'openai', 'm' from workspaces",
        "insert into system_settings (key, value)"
        " select 'default_llm_connection_id:' || id, to_jsonb('local'::text) from workspaces",
        """update agents set config = '{"llm_routing": {"primary_connection_id": "local"}}'""",
    ],
)
async def test_another_language_model_is_another_place(
    home: Home, first: Replica, admin: psycopg.Connection[Any], change: str
) -> None:
    """SC-04: the model may have helped to find, or have judged."""
    query = SearchQuery(QUESTION, agent_id=home.agent)
    admin.execute("update agents set name = 'assistant'")  # pays for who asks without an agent, too
    asked = (query, SearchQuery(QUESTION))
    seen = [[(await first.search.run(home.scope, one)).cache for one in asked] for _ in range(2)]
    admin.execute(change)
    seen += [[(await first.search.run(home.scope, one)).cache for one in asked] for _ in range(2)]
    outcomes = [[one.outcome for one in both if one] for both in seen]
    assert outcomes == [["miss"] * 2, ["hit"] * 2, ["miss"] * 2, ["hit"] * 2]


async def test_a_late_entry_does_not_replace_a_newer_one(
    home: Home, first: Replica, second: Replica, pool: Database
) -> None:
    first.inner.after = asyncio.Event()
    slow = asyncio.create_task(first.search.run(home.scope, SearchQuery(QUESTION)))
    await first.inner.found.wait()
    await unlinks(pool, home)
    other = SearchQuery("How long is the notice period?")
    await second.search.run(home.scope, other)
    first.inner.after.set()
    late = await slow
    assert late.cache is not None and "not remembered: the documents changed meanwhile" in late.cache.reason
    found = await second.search.run(home.scope, other)
    assert found.cache is not None and found.cache.outcome == "hit"


async def test_two_hundred_equal_questions_at_two_replicas_cost_one(
    home: Home, first: Replica, second: Replica
) -> None:
    """SC-03."""
    asked = [one.search.run(home.scope, SearchQuery(QUESTION)) for _ in range(100) for one in (first, second)]
    found = await asyncio.gather(*asked)
    assert len(first.inner.asked) + len(second.inner.asked) == 1
    assert all(one.hits == found[0].hits and len(one.hits) == 1 for one in found)
    assert sum(one.cache is not None and one.cache.shared for one in found) == 198


class Late:
    """A connection whose claims arrive when they are let go."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self.claiming, self.go = redis, asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._redis, name)

    async def set(self, *args: Any, **more: Any) -> Any:
        self.claiming.set()
        await self.go.wait()
        return await self._redis.set(*args, **more)


async def test_what_another_replica_finished_between_look_and_turn_is_not_worked_out_again(
    home: Home, first: Replica, pool: Database, redis: Redis
) -> None:
    """SC-03: who finds nothing and then has the turn may come too late for both."""
    late: Any = Late(redis)
    second = replica(pool, late)
    waiting = asyncio.create_task(second.search.run(home.scope, SearchQuery(QUESTION)))
    await late.claiming.wait()
    told = await first.search.run(home.scope, SearchQuery(QUESTION))
    late.go.set()
    found = await waiting
    assert second.inner.asked == [] and found.hits == told.hits
    assert found.cache is not None and found.cache.outcome == "hit"


async def test_a_replica_that_dies_at_work_holds_nobody_up(home: Home, pool: Database, redis: Redis) -> None:
    settings = CacheSettings(wait_seconds=0.3)
    dead, alive = replica(pool, redis, settings), replica(pool, redis, settings)
    dead.inner.before = asyncio.Event()
    stuck = asyncio.create_task(dead.search.run(home.scope, SearchQuery(QUESTION)))
    await dead.inner.begun.wait()
    found = await asyncio.wait_for(alive.search.run(home.scope, SearchQuery(QUESTION)), 5)
    assert len(found.hits) == 1 and alive.inner.asked == [QUESTION]
    stuck.cancel()


async def test_a_search_that_fails_is_not_remembered(home: Home, first: Replica) -> None:
    first.inner.failing = Unavailable("gone")
    with pytest.raises(Unavailable):
        await first.search.run(home.scope, SearchQuery(QUESTION))
    first.inner.failing = None
    found = await first.search.run(home.scope, SearchQuery(QUESTION))
    assert len(found.hits) == 1 and found.cache is not None and found.cache.outcome == "miss"


async def test_what_was_found_without_the_embedder_is_not_remembered(home: Home, pool: Database, redis: Redis) -> None:
    broken = replica(pool, redis, embedder=FakeEmbedder(Unavailable("no weights")))
    for _ in range(2):
        found = await broken.search.run(home.scope, SearchQuery(QUESTION))
        assert found.cache is not None and found.cache.outcome == "bypass" and "embedder" in found.cache.reason
    well = await replica(pool, redis).search.run(home.scope, SearchQuery(QUESTION))
    assert well.cache is not None and well.cache.outcome == "miss" and well.vector != "off"
    found = await broken.search.run(home.scope, SearchQuery(QUESTION))
    assert found.cache is not None and found.cache.outcome == "hit", "the same words need no vector"


async def test_what_was_found_without_its_judge_is_not_remembered(home: Home, pool: Database, redis: Redis) -> None:
    """Everybody would have had the unjudged order for a day, because one call failed."""
    judge = FakeReranker(Unavailable("a replica failed"))
    one = replica(pool, redis, reranker=judge)
    unjudged = await one.search.run(home.scope, SearchQuery(QUESTION))
    assert unjudged.cache is not None and "not remembered: rerank off" in unjudged.cache.reason
    judge.failing = None
    judged, again = (
        await one.search.run(home.scope, SearchQuery(QUESTION)),
        await one.search.run(home.scope, SearchQuery(QUESTION)),
    )
    assert judged.rerank == "on" and judged.cache is not None and judged.cache.outcome == "miss"
    assert again.rerank == "on" and again.cache is not None and again.cache.outcome == "hit"


async def test_of_questions_that_are_longer_than_what_is_compared_nothing_is_remembered(
    home: Home, first: Replica
) -> None:
    """Two that differ only behind it would have had one answer."""
    same = f"{QUESTION} ".ljust(LONGEST_QUESTION, "x")
    for end in (" In days?", " In hours?"):
        found = await first.search.run(home.scope, SearchQuery(same + end))
        assert found.cache is not None and found.cache.outcome == "bypass" and "4,000" in found.cache.reason
    assert len(first.inner.asked) == 2


async def test_who_does_not_wait_for_help_leaves_nothing_to_who_does(home: Home, first: Replica) -> None:
    hurried, patient = SearchQuery(QUESTION, patience_ms=50), SearchQuery(QUESTION)
    found = [await first.search.run(home.scope, one) for one in (hurried, patient, hurried)]
    assert [one.cache.outcome for one in found if one.cache] == ["miss", "miss", "hit"]


async def test_a_context_that_is_remembered_carries_the_words_of_who_asks_now(home: Home, first: Replica) -> None:
    for text in (QUESTION, IN_OTHER_WORDS):
        found = await first.search.run(home.scope, SearchQuery(text, budget=ContextBudget(500)))
        assert found.packed is not None and found.packed.query == text
    assert first.inner.asked == [QUESTION]


async def test_an_entry_lives_as_long_as_it_is_told(home: Home, pool: Database, redis: Redis) -> None:
    """SC-02, SC-04."""
    now = [1000.0]
    one = replica(pool, redis, CacheSettings(ttl_seconds=60), now=lambda: now[0])
    await one.search.run(home.scope, SearchQuery(QUESTION))
    keys = [key.decode() async for key in redis.scan_iter("rag_cache:-:*")]
    assert len(keys) == 3 and all([0 < await redis.ttl(key) <= 60 for key in keys])
    now[0] += 59
    assert (found := await one.search.run(home.scope, SearchQuery(QUESTION))).cache and found.cache.outcome == "hit"
    assert found.cache.age_seconds == 59
    now[0] += 2
    assert (found := await one.search.run(home.scope, SearchQuery(QUESTION))).cache and found.cache.outcome == "miss"


async def test_garbage_is_dropped_and_counted(home: Home, first: Replica, redis: Redis) -> None:
    """SC-05: whoever writes into Redis can at most make the cache useless."""
    await first.search.run(home.scope, SearchQuery(QUESTION))
    (entry,) = [key async for key in redis.scan_iter("rag_cache:-:*:*") if not key.endswith(b":version")]
    raw = await redis.get(entry)
    assert raw is not None
    for bad in (b"", b"\xff" * 50, raw[:-10], raw.replace(b'"identity":"', b'"identity":"0'), b"{}\n{}"):
        await redis.set(entry, bad)
        found = await first.search.run(home.scope, SearchQuery(QUESTION))
        assert len(found.hits) == 1 and found.cache is not None and found.cache.outcome == "miss", bad
    index = entry.rpartition(b":")[0]
    await redis.zadd(index, {b"no head": 9e15, b"x" * 60: 9e15})
    assert len((await first.search.run(home.scope, SearchQuery("Something else?"))).hits) >= 0
    await redis.delete(index)
    await redis.set(index, "no list")
    assert len((await first.search.run(home.scope, SearchQuery(QUESTION + "?"))).hits) == 1
    await redis.delete(index + b":version")
    await redis.lpush(index + b":version", "no number")
    assert len((await first.search.run(home.scope, SearchQuery("Is the notice period long?"))).hits) == 1
    assert (await first.cache.get_stats(home.scope.workspace)).garbage >= 6
    for _ in range(2):
        found = await first.search.run(home.scope, SearchQuery("Is the notice period short?"))
    assert found.cache is not None and found.cache.outcome == "hit", "it has mended itself"


async def test_what_is_remembered_can_be_counted_and_forgotten(
    home: Home, first: Replica, second: Replica, admin: psycopg.Connection[Any], redis: Redis
) -> None:
    """SC-03, GW-16: by workspace or by agent; other workspaces keep theirs."""
    other = corpus.open_home(admin, "other")
    admin.execute("update workspaces set generation_id = %s where id = %s", (home.generation, other.workspace))
    asked = [(home.scope, None), (home.scope, home.agent), (other, None)]
    for scope, agent in asked * 2:
        await first.search.run(scope, SearchQuery(QUESTION, agent_id=agent))
    await second.search.run(home.scope, SearchQuery(QUESTION.replace("Oslo", "Bergen")))
    await second.cache.get_stats(home.scope.workspace)
    stats = await first.cache.get_stats(home.scope.workspace)
    assert (stats.hits, stats.misses, stats.refused, stats.stored) == (2, 3, 1, 3)
    assert sum(stats.refusals.values()) == 1 and all(":" not in what for what in stats.refusals)
    assert (stats.entries, stats.places, stats.hit_rate) == (3, 2, 0.4)
    assert await second.cache.invalidate(home.scope.workspace, home.agent) == 1
    found = [await first.search.run(scope, SearchQuery(QUESTION, agent_id=agent)) for scope, agent in asked]
    assert [one.cache.outcome for one in found if one.cache] == ["hit", "miss", "hit"]
    assert await first.cache.invalidate(home.scope.workspace) == 3
    found = [await second.search.run(scope, SearchQuery(QUESTION, agent_id=agent)) for scope, agent in asked]
    assert [one.cache.outcome for one in found if one.cache] == ["miss", "miss", "hit"]


async def test_a_full_place_forgets_its_oldest(home: Home, pool: Database, redis: Redis) -> None:
    one = replica(pool, redis, CacheSettings(entries=3))
    for n in range(5):
        await one.search.run(home.scope, SearchQuery(f"What is lease number {n}?"))
    assert (await one.cache.get_stats(home.scope.workspace)).entries == 3
    outcomes = []
    for n in (4, 3, 2, 0):
        found = await one.search.run(home.scope, SearchQuery(f"What is lease number {n}?"))
        outcomes.append(found.cache.outcome if found.cache else "")
    assert outcomes == ["hit", "hit", "hit", "miss"]
    entries = [key async for key in redis.scan_iter("rag_cache:-:*:????????????????")]
    assert len(entries) == 3
