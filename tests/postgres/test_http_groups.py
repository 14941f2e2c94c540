"""Groups of people; documents for a group are for who belongs to it now, and for nobody else."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore, WorkspaceMember
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import Api, Office, open_office
from tests.fakes.listening import listening
from tests.fakes.token_ends import LIMIT_SECONDS, parts_for

COPIES = ("document_chunks", "embeddings")


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


async def user_id(admin: httpx.AsyncClient, email: str) -> str:
    (found,) = (await admin.get("/api/users", params={"q": email, "everywhere": True})).json()["items"]
    return str(found["id"])


async def group(admin: httpx.AsyncClient, name: str, *emails: str, **more: Any) -> str:
    made = await admin.post("/api/groups", json={"name": name, **more})
    assert made.status_code == 201, made.text
    for email in emails:
        path = f"/api/groups/{made.json()['id']}/members/{await user_id(admin, email)}"
        assert (await admin.put(path)).status_code == 204
    return str(made.json()["id"])


def put(admin_dsn: str, office: Office, name: str, *readers: str) -> str:
    """A document with two chunks that are embedded."""
    passages = [Passage(f"{name}: {word}.", vector=hash_vector(word)) for word in ("tolls", "ferries")]
    with psycopg.connect(admin_dsn) as connection:
        generation = open_generation(connection, office.scope)
        (document,) = load(connection, office.scope, generation, [Book(name, passages, readers=readers)])
    return document


async def seen(client: httpx.AsyncClient) -> list[str]:
    return sorted(one["filename"] for one in (await client.get("/api/documents/")).json()["items"])


async def rows_seen(app_dsn: str, member: WorkspaceMember | None) -> dict[str, int]:
    """Rows of documents and of what is copied from them, under row-level security alone: no query names readers."""
    assert member is not None
    database = Database(app_dsn)
    await database.open()
    try:
        async with database.transaction(member.scope) as tx:
            tables = ("documents", "pages", *COPIES)
            return {name: int((await tx.only(f"select count(*) as n from {name}"))["n"]) for name in tables}
    finally:
        await database.close()


async def test_groups_are_listed_made_joined_left_and_deleted(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    viewer = office.emails[Role.VIEWER]
    made = await group(admin, " Finance Team ", viewer)
    await group(admin, "audit")
    body = (await admin.get("/api/groups", params={"limit": 1})).json()
    assert ([one["name"] for one in body["items"]], body["total"]) == (["audit"], 2)
    (found,) = (await admin.get("/api/groups", params={"q": "FINANCE"})).json()["items"]
    assert (found["name"], found["members"]) == ("finance team", 1)
    (member,) = (await admin.get(f"/api/groups/{made}/members")).json()["items"]
    assert (member["email"], member["disabled"]) == (viewer, False)
    path = f"/api/groups/{made}/members/{member['id']}"
    assert (await admin.put(path)).status_code == 204, "a second time is no error"
    assert (await admin.delete(path)).status_code == 204
    assert (await admin.delete(path)).status_code == 404
    for name in ("a,b", "", "x" * 101, "tab\tbed"):
        assert (await admin.post("/api/groups", json={"name": name})).status_code == 422
    trail = (await admin.get("/api/audit", params={"action": "group.join"})).json()["items"]
    assert [(one["object"], one["detail"]["user"]) for one in trail] == [(made, member["id"])] * 2


async def test_a_deleted_group_keeps_its_name_and_comes_back_empty_where_that_is_wanted(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """Who makes another of its name would else be given what documents are for the one that is gone."""
    viewer = office.emails[Role.VIEWER]
    first = await group(admin, "audit", viewer)
    put(admin_dsn, office, "a.txt", "group:audit")
    client = await api.sign_in(viewer)
    assert await seen(client) == ["a.txt"]
    assert (await admin.delete(f"/api/groups/{first}")).status_code == 204
    assert await seen(client) == []
    assert (await admin.get("/api/groups")).json()["total"] == 0
    refused = await admin.post("/api/groups", json={"name": "Audit"})
    assert (refused.status_code, refused.json()["code"]) == (409, "group_name_taken")
    again = await group(admin, "audit", restore=True)
    assert again == first and await seen(client) == [], "it has no members"
    assert (await admin.post("/api/groups", json={"name": "audit", "restore": True})).status_code == 409


async def test_documents_of_a_group_are_for_who_belongs_to_it_now(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str, app_dsn: str
) -> None:
    """Every table, with no query that names readers; the next request after leaving sees nothing."""
    viewer, developer = office.emails[Role.VIEWER], office.emails[Role.DEVELOPER]
    inside, outside = await api.sign_in(viewer), await api.sign_in(developer)
    document = put(admin_dsn, office, "a.txt", "group:audit", "user:boss@x.example")
    assert await seen(inside) == await seen(outside) == []
    made = await group(admin, "audit", viewer)
    other = open_office(admin_dsn)  # has a group of the same name
    await group(await api.sign_in(other.emails[Role.ADMIN]), "audit", other.emails[Role.VIEWER])
    assert (await seen(inside), await seen(outside)) == (["a.txt"], [])
    assert await seen(await api.sign_in(other.emails[Role.VIEWER])) == []
    assert (await outside.get(f"/api/documents/{document}")).status_code == 404
    identity = IdentityStore(api.parts.database)
    people = {}
    for email in (viewer, developer):
        known = await identity.credentials(email)
        assert known is not None
        people[email] = await identity.member(known.tenant, known.user)
    all_of_it = {"documents": 1, "pages": 1, "document_chunks": 2, "embeddings": 2}
    assert await rows_seen(app_dsn, people[viewer]) == all_of_it
    assert await rows_seen(app_dsn, people[developer]) == dict.fromkeys(all_of_it, 0)
    await admin.delete(f"/api/groups/{made}/members/{await user_id(admin, viewer)}")
    assert await seen(inside) == []


async def test_readers_are_changed_in_every_copy_and_members_of_an_archive_follow(
    api: Api, admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    await group(admin, "audit", office.emails[Role.VIEWER])
    parent, child = put(admin_dsn, office, "letters.zip"), put(admin_dsn, office, "letter.txt")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update documents set parent_id = %s where id = %s", (parent, child))
        before = owner.execute("select corpus_version from workspaces where id = %s", (office.scope.workspace,))
        version = before.fetchone()
    changed = await operator.put(f"/api/documents/{parent}/readers", json={"readers": ["Group:Audit", "group:audit"]})
    assert changed.json() == {"document_id": parent, "readers": ["group:audit"], "members_changed": 1}
    with psycopg.connect(admin_dsn) as owner:
        for table in ("documents", *COPIES):
            found = owner.execute(f"select distinct readers from {table}".encode()).fetchall()
            assert found == [(["group:audit"],)], table
        after = owner.execute("select corpus_version from workspaces where id = %s", (office.scope.workspace,))
        assert after.fetchone() != version, "what was remembered of searches is old"
    assert (await seen(viewer), await seen(operator)) == (["letter.txt", "letters.zip"], [])
    hidden = await operator.put(f"/api/documents/{parent}/readers", json={"readers": []})
    assert hidden.status_code == 404, "an operator changes what they see"
    assert (await admin.put(f"/api/documents/{parent}/readers", json={"readers": []})).status_code == 200
    assert await seen(operator) == ["letter.txt", "letters.zip"]
    trail = (await admin.get("/api/audit", params={"action": "document.readers"})).json()["items"]
    assert [(one["detail"]["before"], one["detail"]["after"]) for one in trail] == [
        (["group:audit"], []),
        ([], ["group:audit"]),
    ]


async def test_a_file_of_an_archive_has_the_readers_of_the_archive(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """Opened wider than that, it would show what who may not see the archive must not see."""
    parent, child = put(admin_dsn, office, "letters.zip", "role:admin"), put(admin_dsn, office, "a.txt", "role:admin")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update documents set parent_id = %s where id = %s", (parent, child))
    refused = await admin.put(f"/api/documents/{child}/readers", json={"readers": []})
    assert (refused.status_code, refused.json()["code"]) == (409, "of_an_archive")


async def test_an_upload_is_no_new_version_of_a_document_that_is_for_others_by_now(
    api: Api, admin: httpx.AsyncClient, operator: httpx.AsyncClient, office: Office
) -> None:
    """A private file would be shown to everybody, and whoever does not see a document would replace it."""
    developer = await api.sign_in(office.emails[Role.DEVELOPER])

    async def upload(name: str, content: bytes, **form: str) -> httpx.Response:
        sent = {"file": (name, content)}
        return await developer.post("/api/documents/upload", files=sent, data=form)

    private = (await upload("plan.txt", b"first", readers="user:ben@x.example")).json()["document_id"]
    opened = (await upload("policy.txt", b"second")).json()["document_id"]
    assert (await admin.put(f"/api/documents/{private}/readers", json={"readers": []})).status_code == 200
    closed = await operator.put(f"/api/documents/{opened}/readers", json={"readers": ["role:operator"]})
    assert closed.status_code == 200
    for name, form in (("plan.txt", {"readers": "user:ben@x.example"}), ("policy.txt", {})):
        refused = await upload(name, b"third", **form)
        assert (refused.status_code, refused.json()["code"]) == (409, "other_readers"), name
    assert (await upload("policy-2.txt", b"third")).status_code == 202


async def test_readers_that_nobody_could_be_are_refused(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    document = put(admin_dsn, office, "a.txt")
    for reader, code in (
        ("group:nobody", "unknown_group"),
        ("audit", "invalid"),
        ("role:king", "invalid"),
        ("group:a,b", "invalid"),
    ):
        refused = await admin.put(f"/api/documents/{document}/readers", json={"readers": [reader]})
        assert (refused.status_code, refused.json()["code"]) == (422, code) and refused.json()["fix"]
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    form = {"readers": "group:nobody"}
    sent = await developer.post("/api/documents/upload", files={"file": ("b.txt", b"text")}, data=form)
    assert (sent.status_code, sent.json()["code"]) == (422, "unknown_group")
    missing = await admin.put(f"/api/documents/{'0' * 32}/readers", json={"readers": []})
    assert missing.status_code == 404


async def test_an_administrator_is_told_why_somebody_does_not_see_a_document(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    viewer, developer = office.emails[Role.VIEWER], office.emails[Role.DEVELOPER]
    await group(admin, "audit", viewer)
    document = put(admin_dsn, office, "a.txt", "group:audit")
    path = f"/api/documents/{document}/access"

    async def told(email: str) -> tuple[bool, str]:
        body = (await admin.get(path, params={"email": email})).json()
        return body["may_see"], body["why"]

    assert await told(viewer) == (True, "its readers name group:audit")
    refused, why = await told(developer)
    assert not refused and "group:audit" in why
    assert (await told("nobody@x.example"))[1] == "nobody of this tenant has this address"
    stranger = open_office(admin_dsn).emails[Role.VIEWER]
    assert await told(stranger) == (False, "nobody of this tenant has this address"), "other tenants are not told of"
    assert (await admin.delete(f"/api/users/{await user_id(admin, developer)}")).status_code == 204
    assert "no member of this workspace" in (await told(developer))[1]
    assert (await (await api.sign_in(viewer)).get(path, params={"email": viewer})).status_code == 403


async def test_groups_and_people_of_other_tenants_do_not_exist(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    made = await group(admin, "audit")
    other = open_office(admin_dsn)
    foreign = await api.sign_in(other.emails[Role.ADMIN])
    mole = await user_id(foreign, other.emails[Role.VIEWER])
    assert (await admin.put(f"/api/groups/{made}/members/{mole}")).status_code == 404
    mine = await user_id(admin, office.emails[Role.VIEWER])
    for method, path in (
        ("PUT", f"/api/groups/{made}/members/{mole}"),
        ("DELETE", f"/api/groups/{made}/members/{mine}"),
        ("GET", f"/api/groups/{made}/members"),
        ("DELETE", f"/api/groups/{made}"),
    ):
        assert (await foreign.request(method, path)).status_code == 404
    assert (await admin.put(f"/api/groups/{uuid4()}/members/{mine}")).status_code == 404
    assert (await admin.get(f"/api/groups/{made}/members")).json()["total"] == 0


@pytest.fixture
def url(app_dsn: str, tmp_path: Path) -> Iterator[str]:
    with listening(parts_for(app_dsn, tmp_path, pause=0.2)) as found:
        yield found


async def test_an_open_stream_ends_when_its_reader_leaves_a_group(url: str, admin_dsn: str) -> None:
    """It was begun with rights that are gone; the token goes on for what is left."""
    office = open_office(admin_dsn)
    login = {"email": office.emails[Role.VIEWER], "password": "a quiet harbour 7"}
    async with httpx.AsyncClient(base_url=url, timeout=30) as door:
        token = (await door.post("/api/auth/login", json=login)).json()["access_token"]
        boss = (await door.post("/api/auth/login", json=login | {"email": office.emails[Role.ADMIN]})).json()
        admin = httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {boss['access_token']}"}, timeout=30)
        reader = httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        async with admin, reader:
            made = await group(admin, "audit", login["email"])
            other = await group(admin, "crew")
            body = {"message": "How high are the tolls?", "stream": True}
            async with reader.stream("POST", "/api/chat/assistant", json=body) as stream:
                assert stream.status_code == 200, await stream.aread()
                lines = stream.aiter_lines()
                await anext(lines)
                await admin.put(f"/api/groups/{other}/members/{await user_id(admin, login['email'])}")
                await asyncio.sleep(1)  # five looks
                left = time.monotonic()
                await admin.delete(f"/api/groups/{made}/members/{await user_id(admin, login['email'])}")
                async with asyncio.timeout(2 * LIMIT_SECONDS):
                    last = [line async for line in lines]
            assert time.monotonic() - left < LIMIT_SECONDS and last, "who joins a group loses nothing"
            assert any("credential_ended" in line for line in last)
            assert (await reader.get("/api/documents/")).status_code == 200
