"""A database from before, with documents in it: migrated to the present, it is found, read and changed as any other."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cluster.basics.scope import Role
from cluster.state.db.migrate import FOLDER, apply_migrations
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector, load, open_generation
from tests.fakes.http import Office, make_parts, open_office, serve

DOCUMENTS = 300
WORDS = ("tolls", "ferries", "cranes")


@pytest.fixture
def empty(endpoints: Any) -> Iterator[tuple[str, str]]:
    """Connection strings of the owner and of the application, for a database without a table."""
    name = f"old_{uuid4().hex[:12]}"
    with psycopg.connect(endpoints.postgres_admin, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    yield make_conninfo(endpoints.postgres_admin, dbname=name), make_conninfo(endpoints.postgres, dbname=name)
    with psycopg.connect(endpoints.postgres_admin, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)".encode())


def until(last: str, place: Path) -> Path:
    """The migrations up to one of them."""
    place.mkdir()
    for path in FOLDER.glob("[0-9]*.sql"):
        if path.name[:4] <= last:
            shutil.copy(path, place / path.name)
    return place


def furnish(owner: str) -> Office:
    """As the program of that time left it: documents for everybody and for some, with pages, chunks and vectors."""
    office = open_office(owner)
    books = [
        Book(
            f"{number}.txt",
            [Passage(f"{number}: {word}.", vector=hash_vector(word)) for word in WORDS],
            [Sheet(f"{number}: all of it.")],
            readers=(f"user:{office.emails[Role.VIEWER]}",) if number % 3 == 0 else (),
        )
        for number in range(DOCUMENTS)
    ]
    with psycopg.connect(owner) as connection:
        load(connection, office.scope, open_generation(connection, office.scope), books)
    return office


@pytest.mark.parametrize("last", ["0040", "0046"])
async def test_what_was_there_before_an_upgrade_is_there_after_it(
    empty: tuple[str, str], tmp_path: Path, last: str
) -> None:
    owner, application = empty
    await apply_migrations(owner, until(last, tmp_path / "old"))
    office = furnish(owner)
    applied = await apply_migrations(owner)
    assert applied and applied[0][:4] > last and await apply_migrations(owner) == []
    (tmp_path / "scans").mkdir()
    async with serve(make_parts(application, tmp_path)) as api:
        viewer, operator = (
            await api.sign_in(office.emails[Role.VIEWER]),
            await api.sign_in(office.emails[Role.OPERATOR]),
        )
        admin = await api.sign_in(office.emails[Role.ADMIN])
        for client, number in ((viewer, DOCUMENTS), (operator, DOCUMENTS - DOCUMENTS // 3)):
            assert (await client.get("/api/documents/")).json()["total"] == number
        (found,) = (await viewer.get("/api/documents/", params={"search": "299.txt"})).json()["items"]
        page = (await viewer.get(f"/api/documents/{found['id']}/pages/1")).json()
        assert page["text"] == "299: all of it."
        assert (await viewer.get("/api/review/pages")).status_code == 200
        made = (await admin.post("/api/groups", json={"name": "keepers"})).json()["id"]
        readers = {"readers": ["group:keepers"]}
        changed = await operator.put(f"/api/documents/{found['id']}/readers", json=readers)
        assert changed.status_code == 200, changed.text
        assert (await viewer.get("/api/documents/")).json()["total"] == DOCUMENTS - 1
        users = (await admin.get("/api/users", params={"q": "viewer"})).json()["items"]
        assert (await admin.put(f"/api/groups/{made}/members/{users[0]['id']}")).status_code == 204
        assert (await viewer.get("/api/documents/")).json()["total"] == DOCUMENTS
        assert (await operator.delete(f"/api/documents/{found['id']}")).status_code == 404
        assert (await viewer.get(f"/api/documents/{found['id']}/content")).status_code == 200
    with psycopg.connect(owner) as connection:
        for table, rows in (("document_chunks", DOCUMENTS * len(WORDS)), ("embeddings", DOCUMENTS * len(WORDS))):
            count = connection.execute(f"select count(*) from {table}".encode()).fetchone()
            assert count == (rows,), table
