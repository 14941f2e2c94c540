"""Workspaces and tenants are deleted with all that is theirs, by who may, and by nobody by accident."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import PASSWORD, Api, Office, open_office


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


def left(admin_dsn: str, column: str, value: str) -> dict[str, int]:
    """Rows that belong to it, by table; the audit trail is not looked at."""
    with psycopg.connect(admin_dsn) as connection:
        tables = connection.execute(
            "select c.table_name from information_schema.columns c join information_schema.tables t using (table_name)"
            " where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name = %s",
            (column,),
        ).fetchall()
        found = {}
        for (table,) in tables:
            ((count,),) = connection.execute(
                f"select count(*) from {table} where {column} = %s".encode(), (value,)
            ).fetchall()
            if count and table != "audit":
                found[table] = count
    return found


async def filled(admin: httpx.AsyncClient, admin_dsn: str, office: Office, api: Api) -> str:
    """A second workspace with a document, its vectors, an upload with its job, an agent and a key."""
    made = (await admin.post("/api/workspaces", json={"name": "claims"})).json()["id"]
    inside = {"X-Workspace": made}
    await admin.post("/api/agents", json={"name": "Clerk"}, headers=inside)
    await admin.post("/api/api-keys", json={"name": "robot"}, headers=inside)
    sent = await admin.post("/api/documents/upload", files={"file": ("a.txt", b"some text")}, headers=inside)
    assert sent.status_code == 202
    with psycopg.connect(admin_dsn) as connection:
        scope = type(office.scope)(office.scope.tenant, made, office.scope.principals, office.scope.user, Role.ADMIN)
        text = "The lease ends in May."
        load(
            connection,
            scope,
            open_generation(connection, scope),
            [Book("b.txt", [Passage(text, vector=hash_vector(text))])],
        )
    return str(made)


async def test_a_workspace_goes_with_all_that_is_in_it_once_its_name_is_given(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    made = await filled(admin, admin_dsn, office, api)
    folder = tmp_path / "blobs" / office.scope.tenant / made
    assert len(list(folder.iterdir())) == 1
    before = left(admin_dsn, "workspace_id", office.scope.workspace)

    looked = (await admin.delete(f"/api/workspaces/{made}")).json()
    assert (looked["deleted"], looked["name"], looked["workspaces"][0]["documents"]) == (False, "claims", 2)
    assert looked["workspaces"][0]["open_jobs"] == 1
    wrong = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "Claims"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid")
    busy = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "claims"})
    assert (busy.status_code, busy.json()["code"]) == (409, "workspace_busy")

    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update jobs set state = 'cancelled' where workspace_id = %s", (made,))
    gone = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "claims"})
    assert (gone.status_code, gone.json()["deleted"]) == (200, True), gone.text
    assert left(admin_dsn, "workspace_id", made) == {} and not folder.exists()
    assert left(admin_dsn, "workspace_id", office.scope.workspace) == before, "the others keep what is theirs"
    admin = await api.sign_in(office.emails[Role.ADMIN])  # a membership of theirs is gone, and with it the token
    assert (await admin.delete(f"/api/workspaces/{made}")).status_code == 404
    trail = (await admin.get("/api/audit", params={"action": "workspace.delete"})).json()["items"]
    assert [(one["object"], one["detail"]["documents"]) for one in trail] == [(made, 2)]


async def test_a_tenant_goes_with_its_people_and_its_trail_stays(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str
) -> None:
    child = (await admin.post("/api/tenants", json={"name": "acme", "admin_email": "boss@acme.example"})).json()
    looked = (await admin.delete(f"/api/tenants/{child['id']}")).json()
    assert (looked["deleted"], [one["name"] for one in looked["workspaces"]]) == (False, ["default"])
    gone = await admin.delete(f"/api/tenants/{child['id']}", params={"confirm": "acme"})
    assert gone.json()["deleted"] is True, gone.text
    assert left(admin_dsn, "tenant_id", child["id"]) == {}
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select 1 from tenants where id = %s", (child["id"],)).fetchall() == []
    again = await admin.post("/api/tenants", json={"name": "acme", "admin_email": "boss@acme.example"})
    assert again.status_code == 201, "its name and its people's addresses are free again"


async def test_who_may_not_and_what_is_not_theirs(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """Nobody deletes the workspace they stand in, a stranger's, a tenant beside theirs, or one with tenants below."""
    here = await admin.delete(f"/api/workspaces/{office.scope.workspace}", params={"confirm": "w"})
    assert (here.status_code, here.json()["code"]) == (409, "own_workspace")
    stranger = open_office(admin_dsn)
    for path in (f"workspaces/{stranger.scope.workspace}", f"tenants/{stranger.scope.tenant}", f"tenants/{uuid4()}"):
        assert (await admin.delete(f"/api/{path}", params={"confirm": "w"})).status_code == 404
    assert left(admin_dsn, "workspace_id", stranger.scope.workspace)
    child = (await admin.post("/api/tenants", json={"name": "mid", "admin_email": "m@mid.example"})).json()
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("insert into tenants (name, parent_id) values ('low', %s)", (child["id"],))
    refused = await admin.delete(f"/api/tenants/{child['id']}", params={"confirm": "mid"})
    assert (refused.status_code, refused.json()["code"]) == (409, "tenant_has_children")
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await operator.delete(f"/api/tenants/{child['id']}")).status_code == 403


async def test_where_uploads_cannot_be_removed_nothing_is_gone_and_the_same_call_finishes_it(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    made = await filled(admin, admin_dsn, office, api)
    folder = tmp_path / "blobs" / office.scope.tenant / made
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update jobs set state = 'cancelled' where workspace_id = %s", (made,))
    kept, before = folder.with_name("kept"), left(admin_dsn, "workspace_id", made)
    folder.rename(kept)
    folder.write_text("in the way")  # a folder is expected: it cannot be entered
    refused = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "claims"})
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable"), refused.text
    assert left(admin_dsn, "workspace_id", made) == before
    folder.unlink()
    kept.rename(folder)
    gone = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "claims"})
    assert gone.json()["deleted"] and not folder.exists() and left(admin_dsn, "workspace_id", made) == {}


async def test_what_redis_remembers_of_a_workspace_is_forgotten(endpoints: Any, app_dsn: str, tmp_path: Path) -> None:
    from redis.asyncio import Redis

    from cluster.state.db.postgres import Database
    from pipelines.documents.store.blobs import FolderBlobs
    from serve_apps.governance.workspace_eraser import DataEraser
    from serve_apps.retrieval.cache.cache_scope import registry_of

    redis = Redis.from_url(endpoints.redis)
    tenant, gone, kept = (str(uuid4()) for _ in range(3))
    for workspace in (gone, kept):
        await redis.set(f"aos:memory:{tenant}:{workspace}:s1", "said")
        await redis.set(f"aos:vectors:{tenant}:{workspace}:x", "vector")
        await redis.set(f"aos:folders:{tenant}:{workspace}:x", "[]")
        await redis.sadd(registry_of(workspace), f"rag_cache:-:{workspace}")  # type: ignore[misc]
        await redis.set(f"rag_cache:-:{workspace}:entry", "answer")
    await DataEraser(Database(app_dsn), FolderBlobs(tmp_path), redis).forget(tenant, gone)
    names = [key.decode() async for key in redis.scan_iter(match="*")]
    assert not [name for name in names if gone in name] and len([name for name in names if kept in name]) == 5
    await redis.aclose()


async def test_who_deletes_a_workspace_stays_signed_in_and_so_does_everybody_elsewhere(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    """Only tokens of that workspace end; their sessions go on in another one by a refresh."""
    made = (await admin.post("/api/workspaces", json={"name": "short"})).json()["id"]
    colleague = office.emails[Role.DEVELOPER]
    joined = await admin.post(
        "/api/users", json={"email": colleague, "role": "developer"}, headers={"X-Workspace": made}
    )
    assert joined.status_code in (200, 201), joined.text
    other = await api.sign_in(colleague)
    gone = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "short"})
    assert gone.json()["deleted"] is True
    assert (await admin.get("/api/workspaces")).status_code == 200
    assert (await other.get("/api/documents/")).status_code == 200
    assert (await admin.get("/api/documents/", headers={"X-Workspace": made})).status_code == 404


async def test_a_login_of_a_workspace_that_is_deleted_goes_on_in_another(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    made = (await admin.post("/api/workspaces", json={"name": "oldest"})).json()["id"]
    with psycopg.connect(admin_dsn) as connection:  # a login leads to the oldest
        connection.execute("update workspaces set created_at = created_at - interval '1 year' where id = %s", (made,))
    body = {"email": office.emails[Role.ADMIN], "password": PASSWORD}
    login = (await api.client.post("/api/auth/login", json=body)).json()
    assert login["workspace_id"] == made
    inside = {"Authorization": f"Bearer {login['access_token']}"}
    elsewhere = inside | {"X-Workspace": office.scope.workspace}
    deleted = await api.client.delete(f"/api/workspaces/{made}", params={"confirm": "oldest"}, headers=elsewhere)
    assert deleted.json()["deleted"] is True
    assert (await api.client.get("/api/documents/", headers=elsewhere)).status_code == 200
    ended = await api.client.get("/api/documents/", headers=inside)
    assert (ended.status_code, ended.json()["code"]) == (401, "credential_ended")
    fresh = await api.client.post("/api/auth/refresh", json={"refresh_token": login["refresh_token"]})
    assert (fresh.status_code, fresh.json()["workspace_id"]) == (200, office.scope.workspace)
    now = {"Authorization": f"Bearer {fresh.json()['access_token']}"}
    assert (await api.client.get("/api/documents/", headers=now)).status_code == 200
    assert (await admin.get("/api/documents/")).status_code == 200


async def test_who_is_taken_out_of_a_workspace_loses_their_tokens_all_the_same(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    other = await api.sign_in(office.emails[Role.VIEWER])
    (user,) = [
        one for one in (await admin.get("/api/users")).json()["items"] if one["email"] == office.emails[Role.VIEWER]
    ]
    assert (await admin.delete(f"/api/users/{user['id']}")).status_code in (200, 204)
    assert (await other.get("/api/documents/")).status_code == 401


async def test_what_is_held_in_it_keeps_a_workspace_and_anything_held_a_tenant(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office
) -> None:
    made = await filled(admin, admin_dsn, office, api)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update jobs set state = 'cancelled' where workspace_id = %s", (made,))
        (document,) = connection.execute("select id from documents where workspace_id = %s limit 1", (made,)).fetchall()
    hold = (
        "insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by) values (%s, %s, %s, 'c', 'r', %s)"
    )
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(hold, (office.scope.tenant, "document", document[0], uuid4()))
    before = left(admin_dsn, "workspace_id", made)
    kept = await admin.delete(f"/api/workspaces/{made}", params={"confirm": "claims"})
    assert (kept.status_code, kept.json()["code"]) == (409, "legal_hold")
    assert left(admin_dsn, "workspace_id", made) == before

    body = {"name": "below", "admin_email": f"{uuid4()}@below.example"}
    below = (await admin.post("/api/tenants", json=body)).raise_for_status().json()
    tenant = below["id"]
    with psycopg.connect(admin_dsn) as connection:
        (person,) = connection.execute("select id from users where tenant_id = %s", (tenant,)).fetchall()
        connection.execute(hold, (tenant, "person", str(person[0]), uuid4()))
    before = left(admin_dsn, "tenant_id", tenant)
    kept = await admin.delete(f"/api/tenants/{tenant}", params={"confirm": "below"})
    assert (kept.status_code, kept.json()["code"]) == (409, "legal_hold")
    assert left(admin_dsn, "tenant_id", tenant) == before
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update legal_holds set released_at = now(), released_by = held_by, release_reason = 'r'")
    assert (await admin.delete(f"/api/tenants/{tenant}", params={"confirm": "below"})).status_code == 200
    trail = (await admin.get("/api/audit", params={"action": "tenant.delete"})).json()["items"]
    assert [(one["object"], one["outcome"]) for one in trail] == [(tenant, "done")], "in the trail of who did it"
    assert left(admin_dsn, "tenant_id", tenant).keys() <= {"legal_holds"}
