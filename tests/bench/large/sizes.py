"""Memory and disk of the server that a corpus is in."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from cluster.state.db import embedded

# Table and index sizes by what they serve; `%s` is the generation.
_SIZES = """
select 'database', pg_database_size(current_database())
union all select 'vectors', pg_table_size(format('embeddings_%%s', %(generation)s::int)::regclass)
union all select 'graph', coalesce(pg_relation_size(to_regclass(format('embeddings_%%s_hnsw', %(generation)s::int))), 0)
union all select 'vectors'' other indexes', pg_indexes_size(format('embeddings_%%s', %(generation)s::int)::regclass)
    - coalesce(pg_relation_size(to_regclass(format('embeddings_%%s_hnsw', %(generation)s::int))), 0)
union all select 'chunks', pg_table_size('document_chunks')
union all select 'chunks'' indexes', pg_indexes_size('document_chunks')
union all select 'BM25', coalesce(pg_relation_size(to_regclass(keyword_index())), 0)
union all select 'pages, versions, documents', pg_total_relation_size('pages')
    + pg_total_relation_size('document_versions') + pg_total_relation_size('documents')
"""


def measure_disk(admin: str, generation: int) -> Mapping[str, int]:
    """Bytes by part; `BM25` is among the chunks' indexes."""
    with psycopg.connect(admin) as connection:
        return {name: int(size) for name, size in connection.execute(_SIZES, {"generation": generation}).fetchall()}


def measure_memory(state: Path) -> int:
    """Proportional memory (PSS) of the server with its sessions, in bytes."""
    servers = [process for process in embedded.server_processes(state) if process.name() == "postgres"]
    family = [one for server in servers for one in (server, *server.children(recursive=True))]
    return sum(one.memory_full_info().pss for one in family if one.is_running())


@contextmanager
def watched_memory(state: Path, seconds: float = 0.5) -> Iterator[list[int]]:
    """A list whose last entry is the most memory (PSS, bytes) that the server was seen to have while this lasts."""
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(seconds):
            with suppress(psutil.Error):  # a session has ended meanwhile
                most.append(max(most[-1], measure_memory(state)))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


def shared_buffers(admin: str) -> str:
    """As the server says."""
    with psycopg.connect(admin) as connection:
        row = connection.execute("show shared_buffers").fetchone()
    return str(row[0]) if row else "?"


def free_disk(folder: Path) -> int:
    """Bytes that are free where a folder is."""
    return psutil.disk_usage(str(folder)).free
