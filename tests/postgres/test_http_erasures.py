"""Erasures over HTTP: counted first, done with a receipt, refused to who may not, and while something is under way."""

from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from cluster.state.signed_receipts import verify_receipt
from tests.fakes.filled import admin_of, fill
from tests.fakes.http import Api, Office, open_office


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


def body(kind: str, *ids: str) -> dict[str, object]:
    return {"kind": kind, "ids": list(ids), "reason": "request 12"}


async def test_it_is_counted_then_done_and_its_receipt_is_fetched(
    admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 2, 1)
    asked = body("document", *filled.documents)
    counted = (await admin.post("/api/erasures", json=asked, params={"dry_run": True})).json()
    assert (counted["id"], counted["done"], counted["counts"]["documents"]) == (None, False, 2)
    assert (await admin.get("/api/erasures")).json()["total"] == 0
    assert (await admin.get("/api/documents/")).json()["total"] == 2
    done = await admin.post("/api/erasures", json=asked)
    assert done.status_code == 200 and (done.json()["done"], done.json()["finds"]) == (True, 0), done.text
    receipt = (await admin.get(f"/api/erasures/{done.json()['id']}/receipt")).json()
    key = (await admin.get("/api/erasures/key")).json()
    assert verify_receipt(receipt, key["public"]) == key["id"]
    assert receipt["erased"]["pages"] == 2 and receipt["asked_by"] == admin_of(admin_dsn, office)
    (listed,) = (await admin.get("/api/erasures")).json()["items"]
    assert (listed["gone"], listed["expected"]) == (2, 2) == (done.json()["gone"], done.json()["expected"])
    again = await admin.post("/api/erasures", json=asked)
    assert again.json() == done.json(), "its reply may have been lost"
    assert listed["finds"] == 0 and listed["subjects"] == sorted(filled.documents)
    assert (await admin.post(f"/api/erasures/{listed['id']}/probe")).json()["finds"] == 0
    with psycopg.connect(admin_dsn) as connection:  # somebody quotes it in a prompt: the probe tells, nobody changes it
        connection.execute("update agents set system_prompt = %s", (f"see {filled.documents[0]}",))
    looked = (await admin.post(f"/api/erasures/{listed['id']}/probe")).json()
    assert looked["places"] == {"agents": 1}
    assert (await admin.post("/api/erasures/replay", json={})).json()["items"][0]["again"] is None
    trail = (await admin.get("/api/audit", params={"action": "erasure"})).json()["items"]
    assert [one["action"] for one in trail] == ["erasure.finish", "erasure.begin"]
    assert (await admin.get("/api/audit", params={"verify": "chain"})).json()["intact"] is True


async def test_what_is_not_there_or_not_theirs_or_their_own_account_is_refused(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 1)
    stranger = open_office(admin_dsn)
    theirs = fill(admin_dsn, stranger, tmp_path, 1, 1, first=900)
    for asked in (
        body("document", "f" * 32),
        body("document", filled.documents[0], theirs.documents[0]),
        body("document", "\u2028 or 1=1"),
        body("person", theirs.people[0]),
        body("person", "nobody"),
        body("person", str(uuid4())),
    ):
        assert (await admin.post("/api/erasures", json=asked)).status_code == 404, asked
    own = await admin.post("/api/erasures", json=body("person", admin_of(admin_dsn, office)))
    assert (own.status_code, own.json()["code"]) == (409, "own_account")
    for wrong in (body("document"), body("agent", "x"), body("person", "x\x00"), {"kind": "person"}):
        assert (await admin.post("/api/erasures", json=wrong)).status_code == 422, wrong
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await operator.post("/api/erasures", json=body("document", *filled.documents))).status_code == 403
    forged = await admin.post("/api/erasures/replay", json={"receipts": [{"id": "x"}]})
    assert (forged.status_code, forged.json()["code"]) == (422, "forged_receipt")
    assert (await admin.get("/api/erasures")).json()["total"] == 0


async def test_what_is_under_way_is_waited_for(
    admin: httpx.AsyncClient, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    filled = fill(admin_dsn, office, tmp_path, 1, 1)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update runs set state = 'running'")
    for asked in (body("document", *filled.documents), body("person", *filled.people)):
        busy = await admin.post("/api/erasures", json=asked)
        assert busy.status_code == 409 and "has not ended" in busy.text
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update runs set state = 'completed'")
        connection.execute("update jobs set state = 'running'")
        connection.execute("update units set status = 'pending' where stage = 'survey'")
    busy = await admin.post("/api/erasures", json=body("document", *filled.documents))
    assert busy.status_code == 409 and "yet to read" in busy.text
    assert (await admin.get("/api/documents/")).json()["total"] == 1, "nothing went"
