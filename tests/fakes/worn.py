"""A server of its own whose indexes can be lost and damaged, with some documents and their question."""

from pathlib import Path

import psycopg

from cluster.basics.scope import Scope
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.settings import load_settings
from serve_apps.retrieval.cache.cache_scope import CorpusReader
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery, SearchResults, Strategy
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.models import FakeEmbedder

TRUSTED = "delete from keyword_index_made; insert into keyword_index_made values (pg_postmaster_start_time())"
FORCED = SearchSettings(exact_scope=0, fetch=10)  # a scope of more chunks is not small: its index is asked


async def opened(state: Path) -> tuple[str, Database]:
    """A server of its own, as it comes up: the owner's way in, and the application's pool."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    await apply_migrations(found.postgres_admin or "")
    database = Database(found.postgres)
    await database.open()
    return found.postgres_admin or "", database


def passage(text: str) -> Passage:
    return Passage(text, vector=hash_vector(text))


def fill(admin: str, *names: str, home: tuple[Scope, int] | None = None) -> tuple[Scope, int]:
    """Documents that have a word of their own and one in common, each written by itself as an upload is."""
    with psycopg.connect(admin, autocommit=True) as connection:
        scope = home[0] if home else corpus.open_home(connection)
        generation = home[1] if home else corpus.open_generation(connection, scope)
        if not home:
            rest = [passage(f"something else, {n}") for n in range(FORCED.fetch)]
            corpus.load(connection, scope, generation, [Book("rest.txt", rest)])
        for name in names:
            corpus.load(connection, scope, generation, [Book(f"{name}.txt", [passage(f"the {name} pump")])])
    return scope, generation


async def revision(database: Database, scope: Scope) -> int:
    """What is remembered of a workspace's searches holds as long as this stays the same."""
    corpus = await CorpusReader(database, "nobody").of(scope)
    assert corpus is not None
    return corpus.version


async def asked(database: Database, scope: Scope, strategy: Strategy = "keyword") -> tuple[set[str], SearchResults]:
    """The files that are found for the word they share."""
    search = SearchPipeline(database, FakeEmbedder(), None, FORCED, RerankSettings())
    results = await search.run(scope, SearchQuery("pump", strategy=strategy))
    return {hit.filename for hit in results.hits}, results


def garble(admin: str, state: Path, *indexes: str) -> None:
    """Write nonsense over all pages of indexes but the first, while the server is down."""
    with psycopg.connect(admin) as connection:
        paths = [connection.execute("select pg_relation_filepath(%s)", (name,)).fetchone() for name in indexes]
    embedded.stop_servers(state)
    for path in paths:
        assert path is not None
        with (state / "postgres" / path[0]).open("r+b") as file:
            size = file.seek(0, 2)
            file.seek(8192)
            file.write(bytes([85]) * (size - 8192))
