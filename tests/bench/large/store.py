"""A server of the bench's own that a corpus grows in, through the product's schema; it can be left and gone on with."""

import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db import embedded
from cluster.state.db.embedded import StateEndpoints
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.settings import load_settings
from pipelines.documents.index.generations import IndexGenerations
from pipelines.documents.index.maintenance import IndexMaintenance
from tests.bench.large import sizes, synthetic
from tests.bench.large.curve import seconds_left, told_duration
from tests.bench.large.synthetic import EVERY, ScopeFilter, VectorMixture
from tests.bench.large.texts import STEMMERS, RealTexts
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage

# Rows are loaded without these and the indexes made afterwards: ten times quicker than keeping them up.
LATER = ("document_chunks_lexemes", "document_chunks_atoms")
EVERYBODY = "group:everybody"
WRITERS = 2
TOLD_SECONDS = 20.0  # between lines of progress

_LAYOUT = """
create table if not exists bench_blocks (number int primary key, seconds float8 not null);
create table if not exists bench_places
    (name text primary key, tenant uuid, workspace uuid, agent uuid, generation int);
create table if not exists bench_indexes (name text primary key, definition text not null);
create table if not exists bench_steps (size bigint, name text, seconds float8 not null, primary key (size, name));
"""


@dataclass(frozen=True, slots=True)
class Places:
    """Whose documents are where: scopes by tenant (None for the large one), agents by filter, and the generation."""

    scopes: Mapping[int | None, Scope]
    agents: Mapping[str, str]
    generation: int

    def of(self, one: ScopeFilter) -> tuple[Scope, str | None]:
        """Who asks in a filter, and through which agent."""
        if one.kind == "tenant":
            return self.scopes[one.every], None
        large = self.scopes[None]
        if one.kind == "readers":
            return Scope(large.tenant, large.workspace, (readers_group(one.every),)), None
        return Scope(large.tenant, large.workspace, ("*",)), self.agents.get(one.name)


def readers_group(every: int) -> str:
    """The group that may read a document of so many."""
    return f"group:one-in-{every}"


class CorpusStore:
    """The state folder with its server, and what was done in it."""

    def __init__(self, folder: Path, cache: int | None = None) -> None:
        """Nothing is started yet; `cache` are the MiB of pages that stay in memory, where no others do."""
        self.folder, self._cache = folder, cache
        self._state = folder / "state"
        self.mixture = VectorMixture()
        self.endpoints = StateEndpoints("", None, "")

    async def open(self) -> Places:
        """Start the server, and lay out tenants, agents and the generation unless they are there."""
        self._state.mkdir(parents=True, exist_ok=True)
        self._start()
        if self._limit_cache():
            embedded.stop_servers(self._state)
            self._start()
        await apply_migrations(self.admin)
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(_LAYOUT)
            if connection.execute("select 1 from bench_places").fetchone() is None:
                with connection.transaction():
                    _lay_out(connection)
            return _places(connection)

    def _start(self) -> None:
        self.endpoints = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(self._state)}))

    def _limit_cache(self) -> bool:
        """True where the server has to be started again: it reads past the system's cache, or does so no longer."""
        wanted = {} if self._cache is None else {"shared_buffers": f"{self._cache}MB", "debug_io_direct": "data"}
        with psycopg.connect(self.admin, autocommit=True) as connection:
            query = "select name, setting from pg_file_settings where sourcefile like '%postgresql.auto.conf'"
            if dict(connection.execute(query).fetchall()) == wanted:
                return False
            connection.execute("alter system reset all")
            for name, value in wanted.items():
                connection.execute(f"alter system set {name} = '{value}'")
        return True

    def close(self) -> None:
        """Stop the server; the data stays."""
        embedded.stop_servers(self._state)

    @property
    def admin(self) -> str:
        """The owner's connection."""
        return self.endpoints.postgres_admin or ""

    @property
    def servers(self) -> Path:
        """The state directory that the server runs for."""
        return self._state

    def loaded(self) -> int:
        """Chunks that are there."""
        with psycopg.connect(self.admin) as connection:
            row = connection.execute("select count(*) from bench_blocks").fetchone()
        return (row[0] if row else 0) * synthetic.BLOCK * synthetic.CHUNKS

    def load(self, places: Places, texts: RealTexts, chunks: int) -> None:
        """Load the blocks that are missing, two at a time; each is there wholly or not at all."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            done = {row[0] for row in connection.execute("select number from bench_blocks")}
            missing = [number for number in synthetic.blocks_of(chunks) if number not in done]
            if not missing:
                return
            _set_indexes_aside(connection, places.generation)
        begun = told = time.monotonic()
        with ThreadPoolExecutor(WRITERS) as writers:
            tasks = [writers.submit(self._load_block, places, texts, number) for number in missing]
            try:
                for count, task in enumerate(tasks, 1):
                    task.result()
                    now = time.monotonic()
                    if now - told >= TOLD_SECONDS:
                        told = now
                        left = told_duration(seconds_left(count, len(tasks), now - begun))
                        print(f"loading: {count} of {len(tasks)} blocks, {left} left", file=sys.stderr, flush=True)
            finally:
                for task in tasks:
                    task.cancel()

    def _load_block(self, places: Places, texts: RealTexts, number: int) -> None:
        begun = time.monotonic()
        block = self.mixture.block(number)
        narrow, agents = self.mixture.narrow_topics(), _agent_filters()
        linked = {one.name: one.contains(block, narrow) for one in agents}
        shelves: dict[int | None, list[Book]] = {}
        for at, document in enumerate(block.numbers.tolist()):
            code = synthetic.language_of(document)
            vectors = block.vectors[at * synthetic.CHUNKS : (at + 1) * synthetic.CHUNKS]
            said = texts.chunks(document, synthetic.CHUNKS)
            passages = [
                Passage(text, vector=vector, language=STEMMERS[code])
                for text, vector in zip(said, vectors, strict=True)
            ]
            readers = [EVERYBODY, *(readers_group(every) for every in EVERY if document % every == 0)]
            in_agents = tuple(places.agents[name] for name, mask in linked.items() if mask[at])
            book = Book(f"{document}.txt", passages, readers=tuple(readers), agents=in_agents)
            shelves.setdefault(synthetic.tenant_of(document), []).append(book)
        with psycopg.connect(self.admin, autocommit=True) as connection, connection.transaction():
            for tenant, books in sorted(shelves.items(), key=lambda shelf: shelf[0] or 0):
                corpus.load(connection, places.scopes[tenant], places.generation, books)
            values = (number, time.monotonic() - begun)
            connection.execute("insert into bench_blocks values (%s, %s)", values)

    async def build(self, places: Places, database: Database, chunks: int) -> None:
        """Make the indexes that are missing, each by the product's own code where it has some."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute("set maintenance_work_mem = '1GB'")
            for name, definition in connection.execute("select name, definition from bench_indexes").fetchall():
                if connection.execute("select to_regclass(%s)", (name,)).fetchone() == (None,):
                    with self._timed(chunks, f"build {name}"):
                        connection.execute(definition)
        with self._timed(chunks, "build document_chunks_bm25"):
            await IndexMaintenance(database, self.admin).renew_words()
        with self._timed(chunks, "build hnsw"), sizes.watched_memory(self._state) as most:
            built = await IndexGenerations(database).grow(places.scopes[None], places.generation, 1)
        if built:
            self.record(chunks, "most memory while the graph was built, bytes", float(most[-1]))
        with self._timed(chunks, "analyze"), psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute("vacuum analyze")

    @contextmanager
    def _timed(self, size: int, name: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        taken = time.monotonic() - begun
        print(f"{size:,} chunks: {name} took {told_duration(taken)}", file=sys.stderr, flush=True)
        if taken > 0.5:  # what was there already takes no time
            self.record(size, name, taken)

    def record(self, size: int, name: str, seconds: float) -> None:
        """Keep how long a step took at a size, the last time."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(
                "insert into bench_steps values (%s, %s, %s)"
                " on conflict (size, name) do update set seconds = excluded.seconds",
                (size, name, seconds),
            )

    def load_seconds(self, chunks: int) -> float:
        """Seconds that loading so many chunks takes with two writers, whenever it was done."""
        query = "select coalesce(sum(seconds), 0) from bench_blocks where number < %s"
        with psycopg.connect(self.admin) as connection:
            row = connection.execute(query, (len(synthetic.blocks_of(chunks)),)).fetchone()
        return float(row[0]) / WRITERS if row else 0.0

    def steps(self) -> dict[tuple[int, str], float]:
        """Seconds by size and step."""
        with psycopg.connect(self.admin) as connection:
            return {(row[0], row[1]): row[2] for row in connection.execute("select * from bench_steps")}


def _agent_filters() -> list[ScopeFilter]:
    return [one for one in synthetic.all_filters() if one.kind in ("agent", "topics")]


def _lay_out(connection: psycopg.Connection[Any]) -> None:
    scopes = {tenant: corpus.open_home(connection, f"one-in-{tenant}") for tenant in (None, *EVERY)}
    generation = corpus.open_generation(connection, *scopes.values(), dimension=synthetic.DIMENSION)
    connection.execute("insert into bench_places (name, generation) values ('generation', %s)", (generation,))
    for tenant, scope in scopes.items():
        row = (f"tenant:{tenant or 0}", scope.tenant, scope.workspace)
        connection.execute("insert into bench_places (name, tenant, workspace) values (%s, %s, %s)", row)
    for one in _agent_filters():
        agent = corpus.open_agent(connection, scopes[None], one.name)
        connection.execute("insert into bench_places (name, agent) values (%s, %s)", (f"agent:{one.name}", agent))


def _places(connection: psycopg.Connection[Any]) -> Places:
    scopes: dict[int | None, Scope] = {}
    agents, generation = {}, 0
    for name, tenant, workspace, agent, number in connection.execute("select * from bench_places"):
        kind, _, rest = name.partition(":")
        if kind == "tenant":
            scopes[int(rest) or None] = Scope(TenantId(str(tenant)), WorkspaceId(str(workspace)), (EVERYBODY,))
        elif kind == "agent":
            agents[rest] = str(agent)
        else:
            generation = number
    return Places(scopes, agents, generation)


def _set_indexes_aside(connection: psycopg.Connection[Any], generation: int) -> None:
    """Let the indexes go that are made again after loading, those of words as they are defined."""
    with connection.transaction():
        connection.execute(
            "insert into bench_indexes select relname, pg_get_indexdef(oid) from pg_class where relname = any(%s)"
            " on conflict do nothing",
            (list(LATER),),
        )
        for name in (*LATER, "document_chunks_bm25", f"embeddings_{generation}_hnsw"):
            connection.execute(f"drop index if exists {name}")
