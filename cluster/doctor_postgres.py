"""The doctor's probe of Postgres: version, row-level security, extensions, damaged indexes."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from cluster.console.findings import GREEN, RED, YELLOW, HealthFinding
from cluster.state.db import embedded
from cluster.state.db.primary import connect_primary_blocking
from configs.sections import Settings

PGVECTOR_SAFE = (0, 8, 4)  # before: overflow in parallel builds, index damage by vacuum, errors on concurrent inserts
POSTGRES_OLDEST = 150_000
# Before, an index writes what it holds in memory as it came, unless these are 0 (pg_textsearch's pull request 360).
TEXTSEARCH_SORTED = (1, 2)
_WRITES = (
    "select name from pg_settings where setting <> '0'"
    " and name in ('pg_textsearch.bulk_load_threshold', 'pg_textsearch.memtable_spill_threshold') order by name"
)


def probe_postgres(settings: Settings) -> Iterable[HealthFinding]:
    """Its version and walls, its extensions, and indexes that are not asked."""
    application, fence = embedded.postgres_endpoints(settings)[0], embedded.timeline_fence(settings)
    with connect_primary_blocking(application, fence, connect_timeout=5) as connection:
        version = connection.info.server_version
        row = connection.execute(
            "select rolsuper or rolbypassrls,"
            " (select count(*) from pg_class where relrowsecurity and relforcerowsecurity)"
            " from pg_roles where rolname = current_user"
        ).fetchone()
        installed: dict[str, str] = dict(connection.execute("select extname, extversion from pg_extension").fetchall())
        writes = connection.execute(_WRITES).fetchall()
        worn, faults = _index_faults(connection)
    where = "external" if embedded.is_external(settings.postgres) else "embedded"
    if version < POSTGRES_OLDEST:
        yield HealthFinding("postgres", RED, f"version {version // 10000} is too old", "Use PostgreSQL 15 or newer.")
    else:
        yield HealthFinding("postgres", GREEN, f"{where}, version {version // 10000}.{version % 10000}")
    exempt, walled = row or (True, 0)
    if exempt or not walled:
        detail = "the application's role is exempt from row-level security" if exempt else "no table forces it"
        yield HealthFinding("row-level security", RED, detail, "Use a plain role in DATABASE_URL; then `aos up`.")
    else:
        yield HealthFinding("row-level security", GREEN, f"binds the application on {walled} tables")
    why = faults.pop("document_chunks_bm25", "Postgres was started again")
    yield from extension_findings(installed, why if worn else None, [name for (name,) in writes])
    for name, why in faults.items():
        by_hand = f"as its owner: reindex index concurrently {name}; select index_renewed('{name}');"
        fix = "Wait: a worker does it, half an hour a million chunks, once a day at most; without DATABASE_ADMIN_URL, "
        yield HealthFinding(
            "vector search", YELLOW, f"every vector is measured until {name} is made anew: {why}", fix + by_hand
        )


def _index_faults(connection: psycopg.Connection[Any]) -> tuple[bool, dict[str, str]]:
    """True where the keyword index is stale, and index faults by name; none where the schema is older."""
    if connection.execute("select to_regclass('index_faults') is null").fetchone() == (True,):
        return False, {}
    worn = connection.execute("select keyword_index_worn()").fetchone() == (True,)
    faults = connection.execute(
        "select name, what from index_faults where renewed is null"
        " and (name = 'document_chunks_bm25' or to_regclass(name) is not null) order by name"
    )
    return worn, dict(faults.fetchall())


def extension_findings(
    found: dict[str, str], worn: str | None = None, writes: Sequence[str] = ()
) -> Iterable[HealthFinding]:
    """Of `found`, name to version; `worn`: why the index for BM25 is not asked; `writes`: what lets it write."""
    vector = found.get("vector")
    if vector is None:
        yield HealthFinding("pgvector", RED, "not installed", "create extension vector; then `aos up`.")
    elif _numbered(vector) < PGVECTOR_SAFE:
        detail = f"{vector}: known flaws before 0.8.4; parallel builds are off, one writer per index"
        yield HealthFinding("pgvector", YELLOW, detail, "An external Postgres with pgvector 0.8.4 or newer has none.")
    else:
        yield HealthFinding("pgvector", GREEN, vector)
    if "pg_textsearch" not in found:
        yield HealthFinding("keyword search", YELLOW, "Postgres' own ranking: there is no pg_textsearch here")
    elif worn:
        detail = f"Postgres' own ranking, until the BM25 index is made anew: {worn}"
        fix = "Wait: a worker does it, a minute a million chunks; one that fails, once an hour at most."
        yield HealthFinding("keyword search", YELLOW, detail, fix)
    elif writes and _numbered(found["pg_textsearch"]) < TEXTSEARCH_SORTED:
        detail = f"BM25 by pg_textsearch {found['pg_textsearch']}, which passes over words that it has written unsorted"
        settings = ", ".join(f"{name} = 0" for name in writes)
        fix = f"pg_textsearch 1.2 or newer; until then {settings} in postgresql.conf, and a superuser as the owner."
        yield HealthFinding("keyword search", YELLOW, detail, fix)
    else:
        yield HealthFinding("keyword search", GREEN, f"BM25 by pg_textsearch {found['pg_textsearch']}")


def _numbered(version: str) -> tuple[int, ...]:
    """The numbers of a version, its additions (`-dev`) left out."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
