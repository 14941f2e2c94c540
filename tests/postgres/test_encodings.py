"""A person says in which encoding a text is, and it is read so: from the API down to the reader, and from then on."""

from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope
from cluster.state.work.jobs import JobLane
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench

CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy."
POLISH = "Zażółć gęślą jaźń"


async def uploaded(client: httpx.AsyncClient, worker: Bench, data: bytes, name: str = "dopis.txt") -> str:
    sent = await client.post("/api/documents/upload", files={"file": (name, data)})
    await worker.run(JobLane.SMALL)
    return str(sent.json()["document_id"])


async def text_of(client: httpx.AsyncClient, document: str) -> str:
    return str((await client.get(f"/api/documents/{document}/content")).json()["content"])


@pytest.fixture
def latin(worker: Bench) -> Bench:
    """Guesses wrongly where nobody says better."""
    worker.reader.guess = "latin-1"
    return worker


async def test_a_text_is_read_again_in_the_encoding_that_a_person_sets(
    api: Api, operator: httpx.AsyncClient, latin: Bench, admin_dsn: str
) -> None:
    document = await uploaded(operator, latin, CZECH.encode("cp1250"))
    url = f"/api/documents/{document}"
    assert await text_of(operator, document) != CZECH
    answer = await operator.post(f"{url}/process", json={"encoding": "Windows-1250"})
    assert answer.status_code == 202
    assert await latin.run(JobLane.SMALL) == answer.json()["job_id"]
    assert await text_of(operator, document) == CZECH
    shown = (await operator.get(url)).json()
    assert (shown["metadata"], shown["status"]) == ({"encoding": "cp1250"}, "completed")
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute("select text from document_chunks").fetchall() == [(CZECH,)]

    again = (await operator.post(f"{url}/process", json={"encoding": "cp1250"})).json()
    await latin.run(JobLane.SMALL)
    job = (await operator.get(f"/api/jobs/{again['job_id']}")).json()
    assert (job["state"], job["outcome"]["unchanged"], job["pages"]["expected"]) == ("completed", 1, 1)

    await operator.post(f"{url}/process", json={"encoding": "auto"})
    await latin.run(JobLane.SMALL)
    assert await text_of(operator, document) != CZECH and (await operator.get(url)).json()["metadata"] == {}


async def test_what_was_set_holds_for_every_later_look_at_the_file(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """A scan at night must not take back what somebody set in the morning; nor does it touch the file beside it."""
    ledger.reader.guess = "latin-1"
    (tmp_path / "a.txt").write_bytes(POLISH.encode("cp1250"))
    (tmp_path / "b.txt").write_bytes(POLISH.encode("cp1250"))
    await ledger.scan(scope, tmp_path)
    await ledger.rows(
        scope, "update documents set metadata = '{\"encoding\": \"cp1250\"}' where filename = 'a.txt' returning id"
    )
    await ledger.scan(scope, tmp_path)
    texts = "select d.filename, p.text from pages p join documents d on d.id = p.document_id order by 1"
    read = {row["filename"]: row["text"] for row in await ledger.rows(scope, texts)}
    assert read["a.txt"] == POLISH != read["b.txt"]
    job = await ledger.scan(scope, tmp_path)
    assert "read" not in (await ledger.desk.show(scope, job))["progress"], "it is read once with it"


async def test_the_workspaces_language_is_told_to_the_reader(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    await ledger.rows(scope, "update workspaces set language = 'hungarian' returning id")
    await ledger.scan(scope, tmp_path)
    assert set(ledger.reader.told) == {(None, "hu")}


@pytest.mark.parametrize("name", ["base64", "rot13", "cp9999", "../os", "", "x" * 41, "a\u0000"])
async def test_what_is_no_encoding_is_refused_with_what_would_be_one(
    api: Api, operator: httpx.AsyncClient, latin: Bench, name: str
) -> None:
    document = await uploaded(operator, latin, b"plain")
    refused = await operator.post(f"/api/documents/{document}/process", json={"encoding": name})
    assert refused.status_code == 422 and "ncoding" in refused.text and refused.json()["fix"]
    assert (await operator.get(f"/api/documents/{document}")).json()["metadata"] == {}


async def test_who_may_not_see_a_document_sets_nothing_of_it(
    api: Api, office: Office, operator: httpx.AsyncClient, latin: Bench, admin_dsn: str
) -> None:
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    document = await uploaded(developer, latin, b"plain")
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update documents set readers = %s", (["user:boss@x.example"],))
    for name in ("cp1250", "base64"):
        answer = await operator.post(f"/api/documents/{document}/process", json={"encoding": name})
        assert answer.status_code == 404
