"""EX-18 on a real database: files that a turn names are looked up with the user's rights, once."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from cluster.basics.errors import NotFound
from cluster.basics.scope import Role
from serve_apps.agents.events import EventKind
from serve_apps.wiring.agents import TurnRuntime
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import make_parts, serve
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.fakes.workplace import Workplace, workplace

pytestmark = pytest.mark.postgres

TEXT = "The lease of the mill ends in May 2031."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("It ends in May.")) as served:
        yield served


@pytest.fixture
async def at(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> AsyncIterator[Workplace]:
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model) as made:
        yield made


def book(at: Workplace, admin_dsn: str, readers: list[str] | None = None) -> str:
    """A document's id."""
    with psycopg.connect(admin_dsn) as connection:
        generation = open_generation(connection, at.ann)
        load(connection, at.ann, generation, [Book("mill.txt", [Passage(TEXT, vector=hash_vector(TEXT))])])
        row = connection.execute(
            "select id from documents where workspace_id = %s and filename = 'mill.txt'", (at.ann.workspace,)
        ).fetchone()
        assert row is not None
        if readers is not None:
            for table, column in (("documents", "id"), ("document_chunks", "document_id")):
                connection.execute(f"update {table} set readers = %s where {column} = %s".encode(), (readers, row[0]))
    return str(row[0])


async def test_ex_18_a_named_file_is_told_to_the_model(at: Workplace, admin_dsn: str) -> None:
    """EX-18: with its workspace; frozen with the turn, so that a replay says the same."""
    document = book(at, admin_dsn)
    events = await at.tell("When does the lease of the mill end?", options={"documents": [document]})
    told = "\n".join(one["content"] or "" for one in at.model.chats[-1].body["messages"])
    assert "<context>" in told and "mill.txt" in told and TEXT in told
    (route,) = [event.data for event in events if event.kind is EventKind.ROUTE]
    assert route["rule"] == "named_files" and events[-1].kind is EventKind.DONE
    workshop = TurnRuntime(at.settings, at.base)
    assert (await workshop.replays.replay(at.ann, events[0].data["run_id"]))["same"] is True


async def test_ex_18_what_the_user_may_not_see_is_not_there(at: Workplace, admin_dsn: str) -> None:
    """EX-18, AU-01: another's document and none at all look alike, and no turn begins."""
    document = book(at, admin_dsn, ["user:somebody@else.example"])
    for missing in (document, "f" * 32):
        with pytest.raises(NotFound, match=missing):
            await at.tell("What is in it?", options={"documents": [missing]})
    assert at.model.chats == []


async def test_ex_18_over_http(at: Workplace, admin_dsn: str, app_dsn: str, tmp_path: Path) -> None:
    """EX-18: `document_ids`, checked; unknown ones are 404."""
    document = book(at, admin_dsn)
    async with serve(make_parts(app_dsn, tmp_path, orchestrator=at.desk)) as api:
        client = await api.sign_in(at.office.emails[Role.OPERATOR])
        body = {"message": "When does it end?", "document_ids": [document]}
        assert (await client.post("/api/chat/assistant", json=body)).json()["answer"] == "It ends in May."
        assert TEXT in str(at.model.chats[-1].body["messages"])
        gone = await client.post("/api/chat/assistant", json={**body, "document_ids": ["f" * 32]})
        assert gone.status_code == 404
        assert (await client.post("/api/chat/assistant", json={**body, "document_ids": ["x"]})).status_code == 422
