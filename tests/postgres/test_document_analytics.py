"""Figures of all documents over HTTP: what one sees is counted, nothing else, and fast among very many."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Database, load_queries
from pipelines.documents.store import library
from pipelines.documents.usage.document_analytics import DocumentAnalytics
from tests.fakes.corpus import Book, Passage, load, open_generation, open_home
from tests.fakes.http import Api, Office, open_office

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def put(admin_dsn: str, scope: Scope, *books: Book, **columns: Any) -> list[str]:
    with psycopg.connect(admin_dsn) as connection:
        ids = load(connection, scope, open_generation(connection, scope), books)
        for column, value in columns.items():
            connection.execute(f"update documents set {column} = %s where id = any(%s)".encode(), [value, ids])
    return ids


def book(name: str, **more: Any) -> Book:
    return Book(name, [Passage(f"{name} one"), Passage(f"{name} two")], **more)


async def figures(client: httpx.AsyncClient) -> dict[str, Any]:
    reply = await client.get("/api/documents/analytics")
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def test_gw_11_documents_are_counted_by_state_kind_origin_and_day(
    api: Api, office: Office, admin_dsn: str
) -> None:
    """GW-11: totals, states, kinds, storage, chunks, uploads of 24 hours, success rate; nothing yet is no error."""
    client = await api.sign_in(office.emails[Role.VIEWER])
    nothing = await figures(client)
    assert (nothing["documents"], nothing["success_rate"], nothing["by_status"]) == (0, None, {})
    assert nothing["usage"]["never_used"] == 0 and nothing["usage"]["most_used"] == []
    now = api.parts.clock()
    put(admin_dsn, office.scope, book("a.pdf", file_type="pdf"), book("b.pdf", file_type="pdf"), upload_date=now)
    put(admin_dsn, office.scope, book("c.txt"), status="failed", upload_date=now - timedelta(hours=25))
    put(admin_dsn, office.scope, book("d.txt"), status="degraded", source_type="folder")
    put(admin_dsn, office.scope, book("e.txt"), status="processing")
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update document_versions set file_size = 1000, page_count = 3")
    found = await figures(client)
    totals = {name: found[name] for name in ("documents", "chunks", "pages", "storage_bytes", "uploads_24h")}
    assert totals == {"documents": 5, "chunks": 10, "pages": 15, "storage_bytes": 5000, "uploads_24h": 2}
    assert found["by_status"] == {"completed": 2, "degraded": 1, "failed": 1, "processing": 1}
    assert found["success_rate"] == 0.5, "of those whose reading has ended"
    assert found["by_type"] == {"txt": 3, "pdf": 2} and found["by_origin"] == {"upload": 4, "folder": 1}
    assert found["sources"] is None and found["workspaces"] is None
    assert found["at"].startswith(now.strftime("%Y-%m-%d"))


async def test_nobody_counts_documents_that_they_may_not_see(api: Api, office: Office, admin_dsn: str) -> None:
    """MT-01: neither their number nor their size, kind, name or source."""
    put(admin_dsn, office.scope, book("plain.txt"))
    (secret,) = put(admin_dsn, office.scope, book("secret.xyz", file_type="xyz", readers=("role:operator",)))
    source = str(uuid4())
    with psycopg.connect(admin_dsn) as connection:
        ids = {"s": source, "t": office.scope.tenant, "w": office.scope.workspace, "d": secret}
        connection.execute(
            "insert into sources (id, tenant_id, workspace_id, name, kind) values (%(s)s, %(t)s, %(w)s, 'vault',"
            " 'folder')",
            ids,
        )
        connection.execute(
            "insert into source_items (source_id, tenant_id, workspace_id, item_id, path, document_id)"
            " values (%(s)s, %(t)s, %(w)s, 'i', 'p', %(d)s)",
            ids,
        )
        connection.execute("insert into document_usage values (%(d)s, %(t)s, %(w)s, 7, 3, now())", ids)
    for role, seen in ((Role.VIEWER, 1), (Role.DEVELOPER, 1), (Role.OPERATOR, 2), (Role.ADMIN, 1)):
        client = await api.sign_in(office.emails[role])
        found, told = await figures(client), (await client.get("/api/documents/analytics")).text
        assert (found["documents"], found["chunks"]) == (seen, seen * 2), role
        assert ("xyz" in told, found["usage"]["rag_query_count"]) == (seen == 2, 7 * (seen == 2)), role
        assert ("secret" in told) == (seen == 2)
        if role in (Role.OPERATOR, Role.ADMIN):
            (one,) = found["sources"]
            assert (one["name"], one["documents"]) == ("vault", seen - 1), role
        else:
            assert found["sources"] is None and "vault" not in told


async def test_administrators_of_the_tenant_see_numbers_of_each_workspace(
    api: Api, office: Office, admin_dsn: str
) -> None:
    """All documents count there, whoever reads them: those who pay for the room know how much there is, and no name."""
    put(admin_dsn, office.scope, book("plain.txt"), book("secret.txt", readers=("user:boss@x.example",)))
    with psycopg.connect(admin_dsn) as connection:
        second = open_home(connection, "second", office.scope.tenant)
        stranger = open_office(admin_dsn)
    put(admin_dsn, second, book("other.txt"))
    put(admin_dsn, stranger.scope, book("foreign.txt"))
    client = await api.sign_in(office.emails[Role.ADMIN])
    found = await figures(client)
    shown = [(one["name"], one["documents"], one["completed"], one["chunks"]) for one in found["workspaces"]]
    assert shown == [("w", 2, 2, 4), ("second", 1, 1, 2)] and found["documents"] == 1
    told = (await client.get("/api/documents/analytics")).text
    assert "secret" not in told and "other.txt" not in told and "foreign" not in told
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update users set role = 'viewer' where email = %s", [office.emails[Role.ADMIN]])
    member = await api.sign_in(office.emails[Role.ADMIN])
    assert (await figures(member))["workspaces"] is None, "an administrator of the workspace alone"
    async with api.parts.database.transaction(office.scope) as tx:
        assert await tx.all("select * from documents_by_workspace(now())") == [], "without the role nothing, not by SQL"


MANY = 20_000


@pytest.fixture
def crowd(admin_dsn: str) -> tuple[Scope, Scope]:
    """A workspace with very many documents, half of them used, and a small one beside it."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        big, small = open_home(connection, "big"), open_home(connection, "small")
        load(connection, small, open_generation(connection, small), [book("one.txt")])
        fill(connection, big, MANY)
    return big, small


def fill(connection: psycopg.Connection[Any], scope: Scope, many: int) -> None:
    named = {**scope.keys, "many": many}
    for statement in (
        "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, status, readers,"
        " current_version, chunk_count, upload_date)"
        " select 'd' || n, %(tenant)s, %(workspace)s, 'o' || n, n || '.txt', 'txt', 'upload', 'completed',"
        " case when n %% 10 = 0 then '{role:operator}'::text[] else '{}' end, 'v' || n, 3, now() - n * interval '1 s'"
        " from generate_series(1, %(many)s) n",
        "insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind, location,"
        " page_count) select 'v' || n, 'd' || n, %(tenant)s, %(workspace)s, 'h' || n, 1000, 'txt', 'l', 2"
        " from generate_series(1, %(many)s) n",
        "insert into document_usage select 'd' || n, %(tenant)s, %(workspace)s, n, 1, now()"
        " from generate_series(1, %(many)s, 2) n",
    ):
        connection.execute(statement, named)
    connection.execute("analyze")


async def explain(pool: Database, scope: Scope, query: str, **given: Any) -> str:
    rows = await pool.read(scope, "explain (costs off) " + query.split("\n", 1)[1], **scope.keys, **given)
    return "\n".join(row["QUERY PLAN"] for row in rows)


async def test_figures_and_lists_are_cheap_and_a_small_workspace_pays_for_no_big_one(
    app_dsn: str, crowd: tuple[Scope, Scope]
) -> None:
    big, small = crowd
    pool = Database(app_dsn, size=2, timeout=10)
    await pool.open()
    try:
        store = DocumentAnalytics(pool)
        for name in ("totals", "by_source", "use", "most_used"):
            plan = await explain(pool, small, store._sql[name], since=NOW, most=5)
            for table in ("documents", "document_versions", "document_usage"):
                assert f"Seq Scan on {table} " not in plan, f"{name}: {plan}"
        text = load_queries(library.__file__ and library.Path(library.__file__).with_suffix(".sql"))["list"]
        text = "\n" + text[text.index("select d.id") :]
        named = dict.fromkeys(("status", "file_type", "search", "since", "before", "parent", "used"))
        newest = await explain(pool, big, text, **named, sort="newest", skip=0, limit=50)
        assert "documents_workspace_id_upload_date_id_idx" in newest and "Seq Scan" not in newest, newest
        begun = time.perf_counter()
        found = await store.figures(big, datetime.now(UTC), sources=True, workspaces=False)
        taken = time.perf_counter() - begun
        assert (found.totals["documents"], found.use["used_documents"]) == (MANY * 9 // 10, MANY // 2)
        assert taken < 2, f"{taken:.2f} s"
    finally:
        await pool.close()
