"""A database from before, with documents in it: migrated to the present, it is found, read and changed as any other."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.approvals import ApprovalStore, ReviewVerdict
from cluster.state.audit import AuditLog
from cluster.state.db.migrate import apply_migrations
from cluster.state.db.migration_files import read_migrations
from cluster.state.db.postgres import Database
from cluster.state.work.jobs import JobLane
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.runs import RunLedger
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector, load, open_generation
from tests.fakes.http import Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench, bench, worker_scope
from tests.fakes.older_state import OlderState, empty_database, predecessors, restore_state, until
from tests.fakes.older_states.make_states import BOOKS, HALF, ITEMS, PAGES, book
from tests.fakes.runs import Outside, Stage, acting
from tests.fakes.shelves import Shelf, shelf_kind, sync_bench
from tests.fakes.webhook_desk import WebhookDesk
from tests.fakes.webhook_desk import until as until_true
from tests.fakes.webhook_receiver import receiving

DOCUMENTS = 300
WORDS = ("tolls", "ferries", "cranes")


@pytest.fixture
def empty(endpoints: Any) -> Iterator[tuple[str, str]]:
    with empty_database(endpoints) as made:
        yield made


@pytest.fixture(params=predecessors())
async def upgraded(empty: tuple[str, str], tmp_path: Path, request: pytest.FixtureRequest) -> OlderState:
    """What earlier code left, under the schema of now."""
    state = await restore_state(request.param, empty, tmp_path)
    before = state.counts()
    assert before == state.facts["counts"], "it is all there"
    applied = await apply_migrations(state.owner)
    assert applied and applied[0][:4] > request.param
    assert state.counts() == before, "no row is lost or doubled"
    return state


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


@pytest.mark.parametrize("last", predecessors())
async def test_no_migration_that_a_predecessor_has_applied_was_edited(
    empty: tuple[str, str], tmp_path: Path, last: str
) -> None:
    state = await restore_state(last, empty, tmp_path)
    now = {one.name: one.hash for one in read_migrations()}
    assert {name: now.get(name) for name in state.facts["migrations"]} == state.facts["migrations"]


async def test_a_job_that_earlier_code_left_half_done_goes_on(upgraded: OlderState, tmp_path: Path) -> None:
    """Pages that were read are not read again, and what was indexed before is found beside what is indexed now."""
    half = upgraded.facts["half"]
    scope = worker_scope(upgraded.facts["documents"]["tenant"], upgraded.facts["documents"]["workspace"])
    upgraded.rows("update jobs set lease_until = clock_timestamp() - interval '1 hour' where state = 'running'")
    kept = upgraded.rows("select count(*) from pages where workspace_id = %s", scope.workspace)[0][0]
    async with bench(upgraded.application, tmp_path / "bench") as ledger:
        assert str(await ledger.run(JobLane.SMALL)) == half["job"]
        ended = await ledger.desk.show(scope, half["job"])
        assert (ended["state"], ended["failures"]) == ("completed", {})
        assert sum(ledger.reader.readings.values()) == (BOOKS + HALF) * PAGES - kept < HALF * PAGES
        await found_by_words_and_vectors(ledger, scope)
    pages = "select count(*), count(distinct (document_id, number)) from pages where workspace_id = %s"
    assert upgraded.rows(pages, scope.workspace) == [((BOOKS + HALF) * PAGES,) * 2]


async def found_by_words_and_vectors(ledger: Bench, scope: Scope) -> None:
    search = SearchPipeline(ledger.database, ledger.embedder, None, SearchSettings(), RerankSettings())
    for number in (2, BOOKS + HALF - 1):
        wanted = book(number).split("\f")[1]
        results = await search.run(scope, SearchQuery(wanted, strategy="keyword"))
        assert results.hits[0].filename == f"{number}.txt"
    results = await search.run(scope, SearchQuery("harbour", strategy="vector", limit=50))
    assert {hit.filename for hit in results.hits} == {f"{number}.txt" for number in range(BOOKS + HALF)}
    assert results.fallback is None


async def test_an_approval_that_waited_through_the_upgrade_is_carried_out_once(upgraded: OlderState) -> None:
    facts = upgraded.facts["runs"]
    named = facts["scope"]
    principals = ("user:ann@example.org", "role:operator")
    scope = Scope(
        TenantId(named["tenant"]), WorkspaceId(named["workspace"]), principals, UserId(named["user"]), Role.OPERATOR
    )
    database, outside = Database(upgraded.application, size=4, timeout=20), Outside()
    await database.open()
    audit = AuditLog(database)
    parts = RunLedger(database), ApprovalStore(database, audit), RunQueries(database), audit
    here = Stage(database, *parts, scope, facts["agent"], facts["session"])
    turns = [replace(here.turn(), run=run) for run in facts["ids"]]
    for turn, verdict in zip(turns, (ReviewVerdict.APPROVED, ReviewVerdict.REJECTED), strict=False):
        (asked,) = await here.pending(turn)
        await here.approvals.decide(scope, str(asked["id"]), verdict)
    for _ in range(2):  # the second looks for what the first left
        async with here.sweeping(acting(outside)):
            assert [await here.until(turn, "completed") for turn in turns[:2]] == ["completed"] * 2
    assert [(run, arguments) for run, _, arguments in outside.acted] == [(facts["ids"][0], {"to": "b"})]
    assert await here.state(turns[2]) == "waiting" and len(await here.pending(turns[2])) == 1
    await database.close()


async def test_events_that_waited_through_the_upgrade_are_delivered_once_and_in_order(upgraded: OlderState) -> None:
    facts = upgraded.facts["webhook"]
    home = facts["office"]
    emails = {Role(role): email for role, email in home["emails"].items()}
    office = Office(home["name"], Scope(TenantId(home["tenant"]), WorkspaceId(home["workspace"])), emails)
    database = Database(upgraded.application, size=6, timeout=10)
    await database.open()
    with receiving() as receiver:
        receiver.secrets.append(facts["secret"])
        desk = WebhookDesk(upgraded.application, upgraded.owner, database, office, receiver)
        await desk.run("update webhooks set url = %s where id = %s", receiver.url, facts["id"])
        await desk.pass_time(hours=2)
        await desk.open()
        await until_true(lambda: desk.states() == {"delivered": 10})
        assert receiver.by_subject("job_id") == {job: ["job.queued", "job.finished"] for job in facts["jobs"]}
        assert len(receiver.ids) == len(set(receiver.ids)) == 10 and receiver.refused == 0
        later = await desk.jobs(1)
        await until_true(lambda: len(receiver.ids) == 12)
        assert receiver.by_subject("job_id")[later[0]] == ["job.queued", "job.finished"]
        await desk.close()
    await database.close()


async def test_a_source_that_earlier_code_read_is_not_read_again(upgraded: OlderState, tmp_path: Path) -> None:
    facts = upgraded.facts["source"]
    scope, shelf = worker_scope(facts["tenant"], facts["workspace"]), Shelf()
    for number in range(ITEMS):
        shelf.put(f"i{number}", f"Item {number} tells of lighthouse {number}.")
    async with bench(upgraded.application, tmp_path / "bench") as ledger:
        await ledger.rows(scope, "update jobs set state = 'cancelled' where state = 'running' returning id")
        sources = sync_bench(ledger, scope, None, shelf_kind(shelf))
        assert await sources.sync(facts["id"]) == {"listed": ITEMS, "unchanged": ITEMS} and shelf.read == []
        shelf.put("new", "A new lighthouse.")
        shelf.drop("i0")
        counts = await sources.sync(facts["id"])
        assert (counts["added"], counts["removed"], shelf.read) == (1, 1, ["new"])
        assert (await sources.documents("user:x@x")).keys() == {f"i{n}.txt" for n in range(1, ITEMS)} | {"new.txt"}
