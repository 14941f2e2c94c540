"""Use of documents in answers: counted once, beside the answers, seen by who sees the document, gone with it."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from redis.asyncio import Redis

from cluster.basics.scope import Role, Scope
from cluster.models.connections.configured import ConfiguredConnections
from cluster.state.db.postgres import Database
from cluster.state.work.jobs import JobLane
from cluster.state.work.run_record import RunStep, StepState
from configs.sections import Settings
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.usage.document_usage import MOST_PASSAGES, AnswerUse, DocumentUsage, PassageUse, passages_used
from pipelines.documents.usage.usage_recorder import UsageRecorder
from serve_apps.agents.durable.document_use import count_answers, passages_found
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn_errors import NoModel
from serve_apps.agents.turn_ports import Journal, Turn, TurnOutcome
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.wiring.cache import ClockSources, ModelHelpers, build_caching
from tests.fakes.agents import turn
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation, open_home
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve
from tests.fakes.ledger import bench
from tests.fakes.runs import Stage, stage
from tests.postgres.test_retention import counts as due_counts
from tests.postgres.test_retention import keep

NOW = datetime(2026, 11, 20, tzinfo=UTC)
LEASE = b"The lease ends in May 2027. Rent is due on the first of each month.\n"
QUESTION = "When does the lease end?"


def books(names: str, **more: Any) -> list[Book]:
    return [Book(f"{name}.txt", [Passage(f"{name} says so", vector=hash_vector(name))], **more) for name in names]


def rows(admin_dsn: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(admin_dsn) as connection:
        return connection.execute(query.encode(), values).fetchall()


def counts(admin_dsn: str) -> dict[str, tuple[int, int]]:
    found = rows(
        admin_dsn,
        "select d.filename, u.rag_query_count, u.cited_count from document_usage u join documents d on"
        " d.id = u.document_id",
    )
    return {name: (asked, cited) for name, asked, cited in found}


@pytest.fixture
def shelf(admin_dsn: str) -> tuple[Scope, list[str]]:
    with psycopg.connect(admin_dsn) as connection:
        home = open_home(connection)
        ids = load(connection, home, open_generation(connection, home), books("abc"))
    return Scope.of_worker(home.tenant, home.workspace), ids


@pytest.fixture
async def pool(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=3, timeout=5)
    await made.open()
    yield made
    await made.close()


def use(scope: Scope, *passages: PassageUse, answer: str = "", at: datetime = NOW) -> AnswerUse:
    return AnswerUse(scope, answer or str(uuid4()), passages, at)


def test_a_cited_passage_keeps_its_score_and_a_flood_is_cut() -> None:
    found = [PassageUse("d", "c1", 0.5, False), PassageUse("d", "c2", 0.4, False)]
    used = passages_used(found, [PassageUse("d", "c2", None, True), PassageUse("e", "", None, True)])
    assert used == (
        PassageUse("d", "c2", 0.4, True),
        PassageUse("e", "", None, True),
        PassageUse("d", "c1", 0.5, False),
    )
    assert passages_used(found, used[:1], whole=False) == used[:1]
    assert len(passages_used([PassageUse("d", f"c{n}", 0.1, False) for n in range(1_000)], ())) == MOST_PASSAGES


async def test_in_20_an_answer_counts_once_for_each_document_cited_or_only_before_it(
    pool: Database, shelf: tuple[Scope, list[str]], admin_dsn: str
) -> None:
    """IN-20: rag_query_count, last_accessed and context_usage; what is told twice is counted once."""
    scope, (a, b, _) = shelf
    store = DocumentUsage(pool)
    first = use(scope, PassageUse(a, "c1", 0.9, True), PassageUse(a, "c2", 0.2, False), PassageUse(b, "c3", 0.1, False))
    later = use(scope, PassageUse(b, "c3", 0.3, True), at=datetime(2026, 11, 21, tzinfo=UTC))
    await store.add(scope, [first, first])
    await store.add(scope, [later, first])
    assert counts(admin_dsn) == {"a.txt": (1, 1), "b.txt": (2, 1)}
    kept = await store.newest(scope, b, 10)
    assert [(one["chunk_id"], one["used_in_response"], one["used_at"]) for one in kept] == [
        ("c3", True, later.at),
        ("c3", False, NOW),
    ]
    told = rows(admin_dsn, "select row_to_json(u)::text from context_usage u")
    assert first.answer not in json.dumps(told), "no row leads to the answer, and so to who asked"


async def test_a_document_that_is_gone_or_being_deleted_holds_nobody_up(
    pool: Database, shelf: tuple[Scope, list[str]], admin_dsn: str
) -> None:
    scope, (a, b, c) = shelf
    store, elsewhere = DocumentUsage(pool), Scope.of_worker(scope.tenant, type(scope.workspace)(str(uuid4())))
    with psycopg.connect(admin_dsn) as deleting:
        deleting.execute("select from documents where id = %s for update", [a])
        both = use(
            scope, PassageUse(a, "c1", 0.9, True), PassageUse(b, "c2", 0.9, True), PassageUse("gone", "c", 1, True)
        )
        await asyncio.wait_for(store.add(scope, [both]), 5)
    assert counts(admin_dsn) == {"b.txt": (1, 1)}
    await store.add(elsewhere, [use(elsewhere, PassageUse(c, "c1", 0.9, True))])
    assert counts(admin_dsn) == {"b.txt": (1, 1)}, "another workspace's document is not counted"
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("delete from documents where id = %s", [b])
    assert counts(admin_dsn) == {} and rows(admin_dsn, "select from context_usage") == []


async def test_many_replicas_count_the_same_documents_without_losing_or_locking(
    app_dsn: str, shelf: tuple[Scope, list[str]], admin_dsn: str
) -> None:
    scope, ids = shelf
    databases = [Database(app_dsn, size=2, timeout=10) for _ in range(3)]
    for one in databases:
        await one.open()
    try:
        turns = [ids, ids[::-1], ids[1:] + ids[:1]]
        batches = [
            [use(scope, *(PassageUse(id_, "c", 0.5, n == 0) for n, id_ in enumerate(order))) for _ in range(40)]
            for order in turns
        ]
        adding = (DocumentUsage(one).add(scope, batch) for one, batch in zip(databases, batches, strict=True))
        await asyncio.wait_for(asyncio.gather(*adding), 20)
    finally:
        for one in databases:
            await one.close()
    assert {name: asked for name, (asked, _) in counts(admin_dsn).items()} == dict.fromkeys(
        ("a.txt", "b.txt", "c.txt"), 120
    )


async def test_uses_wait_while_the_database_is_away_and_are_written_once(
    app_dsn: str, shelf: tuple[Scope, list[str]], admin_dsn: str
) -> None:
    """No answer waits: `record` returns at once, what waits is bounded, and a second try counts nothing twice."""
    scope, (a, *_) = shelf
    database = Database(app_dsn, size=2, timeout=0.2)  # not open: every try fails
    recorder = UsageRecorder(database, every=0.01, most=3)
    for _ in range(5):
        recorder.record(use(scope, PassageUse(a, "c1", 0.9, True)))
    recorder.record(use(scope))  # an answer that used nothing
    await asyncio.sleep(0.1)
    assert (recorder.waiting, recorder.lost) == (3, 2)
    await database.open()
    try:
        await recorder.flush()
        await recorder.flush()
        assert counts(admin_dsn) == {"a.txt": (3, 3)} and recorder.waiting == 0
        recorder.record(use(scope, PassageUse(a, "c1", 0.9, False)))
        await recorder.close()
        assert counts(admin_dsn) == {"a.txt": (4, 3)}, "what waits is written at the end"
        recorder.record(use(scope, PassageUse(a, "c1", 0.9, False)))
        assert (recorder.waiting, recorder.lost) == (0, 3)
    finally:
        await database.close()


async def test_a_use_that_cannot_be_written_does_not_stand_in_the_way(
    pool: Database, shelf: tuple[Scope, list[str]], admin_dsn: str
) -> None:
    scope, (a, b, _) = shelf
    elsewhere = replace(scope, workspace=type(scope.workspace)(str(uuid4())))
    recorder = UsageRecorder(pool, every=0.01)
    recorder.record(use(elsewhere, PassageUse(a, "nul\x00", 0.9, True)))
    recorder.record(use(scope, PassageUse(b, "c1", 0.9, True)))
    await recorder.flush()
    assert counts(admin_dsn) == {"b.txt": (1, 1)} and recorder.lost == 1
    await recorder.close()


@pytest.fixture
async def asked(app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path) -> AsyncIterator[tuple[Api, Office, str]]:
    """A document that a job has read, and answers from it with a real cache in front of them."""
    redis = Redis.from_url(redis_url)
    async with bench(app_dsn, tmp_path) as worker:
        search = SearchPipeline(worker.database, worker.embedder, None, SearchSettings(), RerankSettings())
        answerer = DocumentAnswerer(search, worker.database, worker.embedder)
        clock = ClockSources(lambda: 1.0, lambda: 1.0, lambda: uuid4().hex)
        helpers = ModelHelpers("assistant", ConfiguredConnections())
        made = build_caching(Settings(), worker.database, redis, worker.embedder, search, answerer, clock, helpers)
        async with serve(make_parts(app_dsn, tmp_path, answerer=made.answerer)) as api:
            office = open_office(admin_dsn)
            client = await api.sign_in(office.emails[Role.DEVELOPER])
            sent = (await client.post("/api/documents/upload", files={"file": ("lease.txt", LEASE)})).json()
            await client.post("/api/documents/upload", files={"file": ("idle.txt", b"Bread is baked at night.\n")})
            await worker.run(JobLane.SMALL)
            await worker.run(JobLane.SMALL)
            yield api, office, sent["document_id"]
    await redis.aclose()


async def ask(client: httpx.AsyncClient, question: str = QUESTION) -> dict[str, Any]:
    reply = await client.post("/api/ask", json={"question": question})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def test_in_20_answers_show_in_the_document_in_lists_and_in_its_figures(
    asked: tuple[Api, Office, str], admin_dsn: str
) -> None:
    """A remembered answer is a use like any other; one that says nothing, a search and a why are none."""
    api, office, document = asked
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    fresh = (await client.get(f"/api/documents/{document}")).json()
    assert (fresh["rag_query_count"], fresh["last_accessed"], fresh["context_usage"]) == (0, None, [])
    answers = [await ask(client), await ask(client)]
    assert [one["mode"] for one in answers] == ["extractive", "extractive"]
    assert (await ask(client, "Who invented the airship hangar of Lakehurst?"))["mode"] == "not_found"
    await client.post("/api/documents/search", json={"query": QUESTION})
    await client.get(f"/api/answers/{answers[0]['id']}/why")
    await api.parts.usage.flush()
    shown = (await client.get(f"/api/documents/{document}")).json()
    assert (shown["rag_query_count"], shown["cited_count"]) == (2, 2) and shown["last_accessed"]
    newest = shown["context_usage"][0]
    assert newest["used_in_response"] and newest["page"] == 1 and newest["relevance_score"] is not None
    assert set(newest) == {"chunk_id", "page", "relevance_score", "used_in_response", "used_at"}
    # Who has an answer's id can make the id of its use, as the table says of itself; the API shows that to nobody.
    uses = {str(AnswerUse(office.scope, one["id"], (), datetime.now(UTC)).use_id) for one in answers}
    assert {use for (use,) in rows(admin_dsn, "select distinct use_id::text from context_usage")} == uses
    assert not any(use in json.dumps(shown) for use in uses)
    about = "select col_description('context_usage'::regclass, 1)"
    assert "can make it" in rows(admin_dsn, about)[0][0]

    async def listed(**query: Any) -> list[tuple[str, int]]:
        body = (await client.get("/api/documents/", params=query)).json()
        assert body["total"] == len(body["items"])
        return [(one["filename"], one["rag_query_count"]) for one in body["items"]]

    assert [name for name, _ in await listed()] == ["idle.txt", "lease.txt"]
    assert (await listed(sort="most_used"))[0] == ("lease.txt", 2)
    assert (await listed(sort="never_used")) == [("idle.txt", 0), ("lease.txt", 2)]
    assert (await listed(used=True), await listed(used=False)) == ([("lease.txt", 2)], [("idle.txt", 0)])
    found = (await client.get("/api/documents/analytics")).json()["usage"]
    assert (found["used_documents"], found["never_used"], found["rag_query_count"]) == (1, 1, 2)
    assert [one["filename"] for one in found["most_used"]] == ["lease.txt"]
    assert (await client.get("/api/documents/", params={"sort": "best"})).status_code == 422


async def test_erasing_a_person_leaves_nothing_of_them_in_the_use(
    asked: tuple[Api, Office, str], admin_dsn: str
) -> None:
    """Neither who asked nor what: only that the document was used."""
    api, office, _ = asked
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    answer = await ask(client)
    await api.parts.usage.flush()
    kept = (
        "select row_to_json(u)::text from context_usage u union all select row_to_json(u)::text from document_usage u"
    )
    found = rows(admin_dsn, kept)
    ((user,),) = rows(admin_dsn, "select id::text from users where email = %s", office.emails[Role.DEVELOPER])
    told = json.dumps(found)
    assert found and not any(one in told for one in (user, office.emails[Role.DEVELOPER], answer["id"], "lease"))


async def test_who_may_not_read_a_document_does_not_learn_of_its_use(
    asked: tuple[Api, Office, str], admin_dsn: str
) -> None:
    """MT-01: not by its page, not by figures, not by rows that are asked for by its id."""
    api, office, document = asked
    client = await api.sign_in(office.emails[Role.DEVELOPER])
    await ask(client)
    await api.parts.usage.flush()
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update documents set readers = '{user:boss@x.example}' where id = %s", [document])
    for role in Role:
        other = await api.sign_in(office.emails[role])
        assert (await other.get(f"/api/documents/{document}")).status_code == 404
        figures = (await other.get("/api/documents/analytics")).json()
        assert document not in json.dumps(figures) and "lease.txt" not in json.dumps(figures)
        assert figures["usage"]["used_documents"] <= 1 and figures["documents"] == 1
    scope = replace(office.scope, principals=("role:admin",))
    async with api.parts.database.transaction(scope) as tx:
        for table in ("document_usage", "context_usage"):
            assert await tx.all(f"select 1 from {table} where document_id = %(d)s", d=document) == []


@pytest.fixture
async def here(app_dsn: str, admin_dsn: str) -> AsyncIterator[Stage]:
    async with stage(app_dsn, admin_dsn) as made:
        yield made


async def test_a_run_that_is_taken_up_counts_once_and_what_foreign_tools_say_counts_nothing(
    here: Stage, admin_dsn: str
) -> None:
    """What a step found counts, performed or on record; only the turn that is answered is counted."""
    with psycopg.connect(admin_dsn) as connection:
        a, b, c = load(connection, here.scope, open_generation(connection, here.scope), books("abc"))
    recorder, answered, searched = UsageRecorder(here.database), asyncio.Event(), list[str]()

    async def handle(turn: Turn, journal: Journal) -> TurnOutcome:
        async def found(key: str) -> Any:
            searched.append(key)
            return {"passages": [{"document_id": one, "chunk_id": "c", "score": 0.5} for one in (a, b)]}

        async def foreign(_: str) -> Any:
            return {"passages": [{"document_id": c, "chunk_id": "c"}]}

        await journal.step("retrieval", "recall", {"query": "q"}, found)
        await journal.step("tool", "search_knowledge", {"query": "q"}, found)
        await journal.step("tool", "somebodys_tool", {"query": "q"}, foreign)
        journal.emit(EventKind.STATUS, state="thinking")
        await answered.wait()
        return TurnOutcome("So it is. [1]", citations=({"n": 1, "document_id": a, "chunk_id": "c"},))

    begun, count = await here.begin(), count_answers(recorder, lambda: NOW)
    first = here.runner(handle, "one", count_use=count)
    events = first.run(begun, await first.claim(begun))
    async for event in events:
        if event.data.get("state") == "thinking":
            break
    await events.aclose()  # type: ignore[attr-defined]  # a generator: whoever reads leaves
    assert await here.state(begun) == "interrupted" and recorder.waiting == 0
    answered.set()
    second = here.runner(handle, "two", count_use=count)
    assert [event async for event in second.run(begun, await second.claim(begun))]
    assert await here.state(begun) == "completed" and len(searched) == 2
    await recorder.close()
    assert counts(admin_dsn) == {"a.txt": (1, 1), "b.txt": (1, 0)}


@pytest.mark.parametrize(("mode", "found"), [("generated", {"d", "e"}), ("extractive", {"d"}), ("not_found", set())])
def test_what_a_model_had_before_it_counts_and_what_was_only_looked_at_does_not(mode: str, found: set[str]) -> None:
    given = {
        "mode": mode,
        "sources": [{"document_id": one, "chunk_id": "c", "score": 0.5} for one in "de"],
        "citations": [{"document_id": "d", "chunk_id": "c"}] if mode != "not_found" else [],
    }
    step = RunStep(1, "retrieval", "answer", {}, "h", StepState.DONE, reply={"ok": given})
    assert {one.document for one in passages_found(step)} == found
    calculated = {**given, "calculation": {"document_ids": ["t"]}}
    step = replace(step, reply={"ok": calculated})
    assert PassageUse("t", "", None, True) in passages_found(step)


def test_a_turn_that_has_no_answer_used_nothing() -> None:
    recorder = UsageRecorder(Database("", size=1, timeout=1))
    count, found = count_answers(recorder, lambda: NOW), [PassageUse("d", "c", 0.5, False)]
    count(turn(), TurnOutcome(""), found)
    count(turn(), TurnOutcome("Nearest are:", trace=({"step": "model", "outcome": NoModel.code},)), found)
    assert recorder.waiting == 0


async def test_retention_takes_the_passages_of_old_answers_and_leaves_the_counts(
    app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office
) -> None:
    """They go with `traces`; a hold on a document keeps those of the answers that used it."""
    clock = Clock()
    with psycopg.connect(admin_dsn) as connection:
        a, b, _ = load(connection, office.scope, open_generation(connection, office.scope), books("abc"))
    scope = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    async with serve(make_parts(app_dsn, tmp_path, clock)) as api:
        long_ago = clock.now - timedelta(days=20)
        store = api.parts.document_usage
        await store.add(scope, [use(scope, PassageUse(a, "c1", 0.9, True), PassageUse(a, "c2", 1, False), at=long_ago)])
        await store.add(scope, [use(scope, PassageUse(b, "c1", 0.9, True), at=long_ago)])
        await store.add(scope, [use(scope, PassageUse(a, "c1", 0.9, True), at=clock.now)])
        admin = await api.sign_in(office.emails[Role.ADMIN])
        hold = {"kind": "document", "object_id": b, "name": "case", "reason": "r"}
        assert (await admin.post("/api/legal-holds", json=hold)).status_code == 201
        await keep(admin, "traces", 10)
        assert await due_counts(admin, dry_run=True) == {"traces": (1, 1, 0)}
        assert await due_counts(admin, dry_run=False) == {"traces": (1, 1, 1)}
        kept = rows(admin_dsn, "select document_id, used_at from context_usage order by used_at")
        assert kept == [(b, long_ago), (a, clock.now)]
        assert counts(admin_dsn) == {"a.txt": (2, 2), "b.txt": (1, 1)}


RECORDING = """
import asyncio, json, sys
from datetime import UTC, datetime
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from pipelines.documents.usage.document_usage import AnswerUse, PassageUse
from pipelines.documents.usage.usage_recorder import UsageRecorder

async def main():
    dsn, tenant, workspace, document, *answers = sys.argv[1:]
    database = Database(dsn, size=1, timeout=10)
    await database.open()
    recorder, scope = UsageRecorder(database, every=0.2), Scope.of_worker(tenant, workspace)
    for answer in answers:
        recorder.record(AnswerUse(scope, answer, (PassageUse(document, "c", 0.5, True),), datetime.now(UTC)))
        print("recorded", flush=True)
        await asyncio.sleep(1.5)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_kill_loses_the_last_moment_and_what_is_told_again_is_counted_once(
    app_dsn: str, shelf: tuple[Scope, list[str]], admin_dsn: str
) -> None:
    """`kill -9` right after an answer: the one before it is written, and a second process counts neither twice."""
    scope, (a, *_) = shelf
    answers = [str(uuid4()), str(uuid4())]
    command = [sys.executable, "-c", RECORDING, app_dsn, scope.tenant, scope.workspace, a, *answers]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert [first.stdout.readline() for _ in answers] == [b"recorded\n"] * 2
        first.kill()
    (asked, _) = counts(admin_dsn)["a.txt"]
    assert 1 <= asked <= 2
    with subprocess.Popen(command, stdout=subprocess.PIPE) as second:
        deadline = time.monotonic() + 60
        while counts(admin_dsn)["a.txt"] != (2, 2):
            assert second.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1)
        second.kill()
    assert counts(admin_dsn) == {"a.txt": (2, 2)}
