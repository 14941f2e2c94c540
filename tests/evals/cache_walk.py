"""A long random walk of questions and changes over real Postgres and Valkey: what the cache serves is what is there."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from redis.asyncio import Redis

from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentChange, AgentStore
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings
from pipelines.documents.document import Chunk, Page, Span, document_id, version_id
from pipelines.documents.index.generations import IndexedVersion, IndexGenerations, WriteTarget
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.document_writes import DocumentStore, FileArrival, StoredPage
from pipelines.documents.store.library import DocumentLibrary
from serve_apps.retrieval.search.query import SearchFilters, SearchQuery, SearchResults
from tests.fakes import corpus
from tests.fakes.cached import Replica, plain_search, replica
from tests.fakes.corpus import hash_vector

PEOPLE = ("ann", "bob", "eve")
ROLES = ("viewer", "developer", "operator")
GROUPS = ("crane", "dock")
READERS = (*(f"user:{one}" for one in PEOPLE), "role:operator", *(f"group:{one}" for one in GROUPS))
OPERATIONS = {"ask": 84, "search": 6, "write": 3, "delete": 1, "grant": 2, "revoke": 2, "move": 2}
WORDINGS = ("{}", "{}", "{}", "Could you please tell me, {}", "hello, {}", "{} thanks")

# Who may see which documents, asked by the owner, whom no policy binds: the judge is not what is judged.
VISIBLE = """select d.id from documents d
where d.workspace_id = %(workspace)s and (d.readers = '{}' or d.readers && %(principals)s)
  and (%(agent)s::uuid is null or exists (select from agents a where a.id = %(agent)s and a.whole_workspace)
       or exists (select from document_agent_links l where l.agent_id = %(agent)s and l.document_id = d.id))"""


@dataclass
class Home:
    """A workspace: its scope, generation, agents, documents by id, and what roles and groups everybody has in it."""

    scope: Scope
    generation: int
    agents: list[str]
    documents: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=lambda: dict.fromkeys(PEOPLE, "viewer"))
    groups: dict[str, set[str]] = field(default_factory=lambda: {one: set() for one in PEOPLE})

    def of(self, person: str) -> Scope:
        """The scope of somebody as it is now."""
        groups = (f"group:{name}" for name in sorted(self.groups[person]))
        return replace(self.scope, principals=(f"user:{person}", f"role:{self.roles[person]}", *groups))

    @property
    def worker(self) -> Scope:
        """The scope of a job."""
        return Scope.of_worker(self.scope.tenant, self.scope.workspace)


@dataclass
class Tally:
    """What came of the walk; `stale` and `foreign` are answers that should not have been given."""

    operations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    stale: int = 0
    foreign: int = 0
    hit_ms: list[float] = field(default_factory=list)
    made_ms: list[float] = field(default_factory=list)


class Walk:
    """Asks at two replicas of one cache, and changes what can be found."""

    def __init__(
        self,
        admin: psycopg.Connection[Any],
        database: Database,
        redis: Redis,
        texts: Sequence[str],
        questions: Sequence[str],
        seed: int,
    ) -> None:
        """`texts` become documents."""
        self._admin, self._db, self._rng = admin, database, random.Random(seed)
        self._texts, self._questions = texts, questions
        self._replicas: tuple[Replica, ...] = tuple(replica(database, redis, CacheSettings()) for _ in range(2))
        self._plain = plain_search(database)
        self._library, self._links, self._agents = DocumentLibrary(database), AgentLinks(database), AgentStore(database)
        self._store, self._generations = DocumentStore(database), IndexGenerations(database)
        self._homes: list[Home] = []
        self._written = 0
        self.tally = Tally()

    async def open(self) -> None:
        """Three workspaces of two tenants, with documents."""
        for name in ("one", "two", "three"):
            tenant = self._homes[0].scope.tenant if name == "two" else None
            scope = corpus.open_home(self._admin, name, tenant)
            generation = corpus.open_generation(self._admin, scope)
            agents = [corpus.open_agent(self._admin, scope, agent) for agent in ("clerk", "lawyer")]
            self._homes.append(Home(scope, generation, agents))
        for home in self._homes:
            for _ in range(15):
                await self._write(home)

    async def step(self) -> None:
        """One random operation."""
        home = self._rng.choice(self._homes)
        name = self._rng.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
        self.tally.operations[name] += 1
        await getattr(self, f"_{name}")(home)

    async def _ask(self, home: Home) -> None:
        rng = self._rng
        scope = home.of(rng.choice(PEOPLE))
        text = rng.choice(WORDINGS).format(rng.choice(self._questions))
        filters = SearchFilters(doc_type="txt") if rng.random() < 0.05 else SearchFilters()
        query = SearchQuery(text, 5, rng.choice((None, None, None, *home.agents)), filters)
        began = time.perf_counter()
        found = await rng.choice(self._replicas).search.run(scope, query)
        took = (time.perf_counter() - began) * 1000
        decision = found.cache
        assert decision is not None
        self.tally.outcomes[decision.outcome] += 1
        (self.tally.hit_ms if decision.outcome == "hit" else self.tally.made_ms).append(took)
        if decision.outcome == "hit" or rng.random() < 0.2:  # a miss is what the same search finds at the same moment
            asked = decision.question if decision.outcome == "hit" and decision.question else text
            fresh = await self._plain.run(scope, replace(query, text=asked))
            self.tally.stale += _shown(found) != _shown(fresh)
        self._count_foreign(scope, query, found)

    async def _search(self, home: Home) -> None:
        """Without a cache."""
        rng = self._rng
        scope = home.of(rng.choice(PEOPLE))
        query = SearchQuery(rng.choice(self._questions), 5, rng.choice((None, *home.agents)), SearchFilters())
        self._count_foreign(scope, query, await self._plain.run(scope, query))

    def _count_foreign(self, scope: Scope, query: SearchQuery, found: SearchResults) -> None:
        values = {"workspace": scope.workspace, "principals": list(scope.principals), "agent": query.agent_id}
        visible = {row[0] for row in self._admin.execute(VISIBLE, values).fetchall()}
        self.tally.foreign += any(hit.document_id not in visible for hit in found.hits)

    async def _move(self, home: Home) -> None:
        """Somebody joins a group, or leaves it."""
        person, group = self._rng.choice(PEOPLE), self._rng.choice(GROUPS)
        home.groups[person] ^= {group}

    async def _write(self, home: Home) -> None:
        """A new document, or other content of one that is there; as a job writes it."""
        rng, scope = self._rng, home.worker
        again = rng.choice(sorted(home.documents)) if home.documents and rng.random() < 0.4 else None
        self._written += 1
        filename = home.documents[again] if again else f"{self._written}.txt"
        readers = () if again or rng.random() < 0.6 else (rng.choice(READERS),)
        text = rng.choice(self._texts)[:1_500]
        arrival = FileArrival(f"upload:{filename}", filename, "blob:none", rng.choice((None, *home.agents)), readers)
        document = document_id(scope.workspace, arrival.origin)
        version = version_id(document, str(self._written))
        facts = {"version": version, "file_hash": str(self._written), "file_size": 1, "kind": "txt", "page_count": 1}
        async with self._db.transaction(scope) as tx:
            await self._store.add(tx, scope, arrival, facts, 1_000_000)
            await self._store.put_pages(tx, scope, [StoredPage(version, Page(1, text))], "walk")
        _, reads = await self._store.load_pages(scope, version)
        chunk = Chunk(0, text, (Span(1, 0, len(text)),))
        indexed = IndexedVersion(version, (chunk,), hash_vector(text)[None, :], reads)
        async with self._db.transaction(scope) as tx:
            assert await self._generations.write(tx, scope, indexed, WriteTarget(home.generation, corpus.CHUNKER))
        home.documents[document] = filename

    async def _delete(self, home: Home) -> None:
        if len(home.documents) < 5:
            return
        document = self._rng.choice(sorted(home.documents))
        async with self._db.transaction(home.worker) as tx:
            await self._library.delete(tx, home.worker, document)
        del home.documents[document]

    async def _grant(self, home: Home) -> None:
        rng, scope = self._rng, home.worker
        chosen = rng.sample(sorted(home.documents), min(3, len(home.documents)))
        kind = rng.choice(("link", "link", "reader", "role", "agent"))
        if kind == "role":
            home.roles[rng.choice(PEOPLE)] = rng.choice(ROLES)
        elif kind == "reader":
            await self._reread(home, chosen[0], None if rng.random() < 0.2 else rng.choice(READERS))
        else:
            async with self._db.transaction(scope) as tx:
                if kind == "link":
                    await self._links.link(tx, scope, rng.choice(home.agents), chosen)
                else:
                    await self._agents.change(tx, scope, rng.choice(home.agents), AgentChange(whole_workspace=True))

    async def _revoke(self, home: Home) -> None:
        rng, scope = self._rng, home.worker
        chosen = rng.sample(sorted(home.documents), min(3, len(home.documents)))
        kind = rng.choice(("unlink", "unlink", "reader", "role", "agent"))
        if kind == "role":
            home.roles[rng.choice(PEOPLE)] = "viewer"
        elif kind == "reader":
            await self._reread(home, chosen[0], rng.choice(READERS), alone=True)
        else:
            async with self._db.transaction(scope) as tx:
                if kind == "unlink":
                    await self._links.unlink(tx, scope, rng.choice(home.agents), chosen)
                else:
                    await self._agents.change(tx, scope, rng.choice(home.agents), AgentChange(whole_workspace=False))

    async def _reread(self, home: Home, document: str, reader: str | None, *, alone: bool = False) -> None:
        """Other readers, as the API changes them: one more, this one alone, or with None the whole workspace."""
        row = self._admin.execute("select readers from documents where id = %s", (document,)).fetchone()
        assert row is not None
        readers = [] if reader is None else [reader] if alone else sorted({*row[0], reader})
        async with self._db.transaction(home.worker) as tx:
            await self._library.change_readers(tx, home.worker, document, readers)

    async def hits(self, count: int) -> list[float]:
        """Milliseconds of hits, the question's vector given."""
        home, took = self._homes[0], []
        asked = [(SearchQuery(question), hash_vector(question)) for question in self._questions]
        search = self._replicas[0].search
        for query, vector in asked:
            await search.run(home.of("ann"), query, vector)
        for n in range(count):
            query, vector = asked[n % len(asked)]
            worded = replace(query, text=f"Please tell me, {query.text}") if n % 2 else query
            began = time.perf_counter()
            found = await search.run(home.of("ann"), worded, vector)
            if found.cache is not None and found.cache.outcome == "hit":  # a machine's hiccup may be a bypass
                took.append((time.perf_counter() - began) * 1000)
        return took


def _shown(found: SearchResults) -> list[tuple[str, str, str]]:
    return [(hit.chunk_id, hit.version_id, hit.text) for hit in found.hits]
