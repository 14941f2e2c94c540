"""Answers over HTTP: kept, led back from each claim to page, engine, file and job; nobody reads what is not theirs."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope, UserId
from cluster.state.db.postgres import Database, Transaction
from cluster.state.work.jobs import JobLane
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.agents.durable.run_loop import Kept as After
from serve_apps.agents.turn.cited_answers import store_cited_answers
from serve_apps.agents.turn_ports import AgentId, RunId, Turn, TurnOutcome
from serve_apps.http.admission import AdmissionQueue
from serve_apps.retrieval.answers.answerer import CitedAnswer, DocumentAnswerer
from serve_apps.retrieval.answers.draft import ShowDraft
from serve_apps.retrieval.answers.stored_answers import StoredAnswers
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.fakes.agents import AGENT, turn
from tests.fakes.http import Api, Office, ScriptedAnswerer, make_parts, open_office, serve
from tests.fakes.ledger import Bench, bench

LEASE = b"The lease ends in May 2027. Rent is due on the first of each month.\n"
QUESTION = "When does the lease end?"


@dataclass
class Desk:
    """A document that a job has read, somebody who asks about it, and the owner of the database."""

    api: Api
    office: Office
    admin_dsn: str
    document: str
    job: str
    client: httpx.AsyncClient
    worker: Bench

    async def ask(self, question: str = QUESTION) -> dict[str, Any]:
        reply = await self.client.post("/api/ask", json={"question": question})
        assert reply.status_code == 200, reply.text
        body: dict[str, Any] = reply.json()
        return body

    async def why(self, answer: str, client: httpx.AsyncClient | None = None) -> dict[str, Any]:
        reply = await (client or self.client).get(f"/api/answers/{answer}/why")
        assert reply.status_code == 200, reply.text
        body: dict[str, Any] = reply.json()
        return body

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.admin_dsn, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def hide(self) -> None:
        for table, column in (("documents", "id"), ("document_chunks", "document_id"), ("embeddings", "document_id")):
            self.run(f"update {table} set readers = '{{user:boss@x.example}}' where {column} = %s", self.document)


@pytest.fixture
async def desk(app_dsn: str, admin_dsn: str, tmp_path: Path) -> AsyncIterator[Desk]:
    async with bench(app_dsn, tmp_path) as worker:
        search = SearchPipeline(worker.database, worker.embedder, None, SearchSettings(), RerankSettings())
        answerer = DocumentAnswerer(search, worker.database, worker.embedder)
        async with serve(make_parts(app_dsn, tmp_path, answerer=answerer)) as api:
            office = open_office(admin_dsn)
            client = await api.sign_in(office.emails[Role.DEVELOPER])
            yield await _furnished(api, office, admin_dsn, client, worker)


async def _furnished(api: Api, office: Office, admin_dsn: str, client: httpx.AsyncClient, worker: Bench) -> Desk:
    sent = (await client.post("/api/documents/upload", files={"file": ("lease.txt", LEASE)})).json()
    await worker.run(JobLane.SMALL)
    return Desk(api, office, admin_dsn, sent["document_id"], sent["job_id"], client, worker)


async def test_a_claim_leads_to_its_page_its_engine_its_file_and_its_job(desk: Desk) -> None:
    """With what was found on the way, stage by stage."""
    answer = await desk.ask()
    assert answer["mode"] == "extractive" and answer["abstained"] is None and answer["dropped"] == []
    assert 0.4 <= answer["support"] <= 1
    assert answer["claims"][0] == {"text": "The lease ends in May 2027.", "citations": [1], "basis": "extracted"}
    why = await desk.why(answer["id"])
    assert (why["question"], why["mode"], why["generation"] is None) == (QUESTION, "extractive", False)
    assert why["claims"][0] == {
        "text": "The lease ends in May 2027.",
        "citations": [1],
        "supported": True,
        "basis": "extracted",
    }
    cited = why["citations"][0]
    assert cited["quote"] == LEASE.decode()[cited["start"] : cited["end"]] == "The lease ends in May 2027."
    assert (cited["filename"], cited["page"], cited["engine"], cited["withheld"]) == ("lease.txt", 1, "native", None)
    assert (cited["file_hash"], cited["is_current"]) == (sha256(LEASE).hexdigest(), True)
    assert (cited["job"]["id"], cited["job"]["kind"], cited["job"]["state"]) == (desk.job, "upload", "completed")
    assert cited["chunk"]["id"] == answer["citations"][0]["chunk_id"] and cited["chunk"]["index"] == 0
    assert (await desk.client.get(cited["url"])).status_code == 200
    found = why["search"]["hits"][0]
    assert (found["document_id"], found["filename"]) == (desk.document, "lease.txt") and found["scores"]
    assert why["search"]["keyword_engine"] == "bm25" and "total" in why["search"]["timings_ms"]
    assert why["corpus_version"] == why["corpus_now"]


async def test_an_answer_is_for_who_asked_and_for_administrators(desk: Desk, admin_dsn: str) -> None:
    """MT-01: to everybody else it is not there."""
    answer = await desk.ask()
    for role, status in ((Role.VIEWER, 404), (Role.OPERATOR, 404), (Role.ADMIN, 200)):
        client = await desk.api.sign_in(desk.office.emails[role])
        assert (await client.get(f"/api/answers/{answer['id']}/why")).status_code == status, role
    foreign = await desk.api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    assert (await foreign.get(f"/api/answers/{answer['id']}/why")).status_code == 404
    assert (await desk.client.get(f"/api/answers/{uuid4()}/why")).status_code == 404
    assert (await desk.client.get("/api/answers/none/why")).status_code == 422


async def test_who_lost_a_document_reads_nothing_of_it_in_old_answers(desk: Desk) -> None:
    """MT-01: neither its passage nor its name, nor which it was."""
    answer = await desk.ask()
    desk.hide()
    for client in (desk.client, await desk.api.sign_in(desk.office.emails[Role.ADMIN])):
        reply = await client.get(f"/api/answers/{answer['id']}/why")
        assert "May" not in reply.text and "lease.txt" not in reply.text and desk.document not in reply.text
        why = reply.json()
        assert why["claims"][0] == {"text": None, "citations": [1], "supported": True, "basis": "extracted"}
        assert "gone" in why["citations"][0]["withheld"] and why["search"]["withheld"] >= 1
        assert why["search"]["hits"] == []


async def test_a_models_claim_stays_with_who_asked_when_its_passage_is_withheld(desk: Desk) -> None:
    """The claim was theirs to read; an administrator who may not read the document does not get it that way."""
    ((user, email),) = desk.run("select id::text, email from users where role = 'developer'")
    scope = replace(desk.office.scope, user=UserId(user), principals=(f"user:{email}", "role:developer"))
    run = RunId(str(uuid4()))
    answer = await desk.ask()
    outcome = TurnOutcome("It ends in May [1]. I hope.", citations=(answer["citations"][0],))
    await kept(desk.api.parts.database, turn(QUESTION, run=run, scope=scope, agent=a_agent()), outcome)
    why = await desk.why(run)
    assert [one["text"] for one in why["claims"]] == ["It ends in May.", "I hope."]
    assert [one["supported"] for one in why["claims"]] == [True, False]
    assert (why["mode"], why["run_id"], why["citations"][0]["quote"]) == (
        "generated",
        run,
        "The lease ends in May 2027.",
    )
    admin = await desk.api.sign_in(desk.office.emails[Role.ADMIN])
    assert (await desk.why(run, admin))["claims"][0]["text"] == "It ends in May."
    desk.hide()
    assert (await desk.why(run))["claims"][0]["text"] == "It ends in May."
    assert (await desk.why(run, admin))["claims"][0]["text"] is None
    assert "lease.txt" not in str(await desk.why(run))


def a_agent() -> Any:
    return replace(AGENT, id=AgentId(str(uuid4())))


async def kept(database: Database, asked: Turn, outcome: TurnOutcome) -> None:
    remembered: list[str] = []

    async def remember(tx: Transaction, turn: Turn, outcome: TurnOutcome) -> After | None:
        remembered.append(turn.run)
        return None

    keep = store_cited_answers(remember, StoredAnswers(database))
    for _ in range(2):  # the same run again changes nothing
        async with database.transaction(asked.scope) as tx:
            assert await keep(tx, asked, outcome) is None
    assert remembered == [asked.run] * 2


async def test_an_agents_extractive_answer_is_kept_without_its_passages(desk: Desk) -> None:
    answer = await desk.ask()
    ((user, email),) = desk.run("select id::text, email from users where role = 'developer'")
    scope = replace(desk.office.scope, user=UserId(user), principals=(f"user:{email}", "role:developer"))
    run = RunId(str(uuid4()))
    trace = ({"step": "documents", "outcome": "extractive", "sources": 1, "generation": 1},)
    outcome = TurnOutcome(answer["answer"], citations=tuple(answer["citations"]), trace=trace)
    await kept(desk.api.parts.database, turn(QUESTION, run=run, scope=scope, agent=a_agent()), outcome)
    why = await desk.why(run)
    assert (why["mode"], why["claims"][0]["text"]) == ("extractive", "The lease ends in May 2027.")
    nothing = replace(outcome, answer="Hello.", citations=())
    await kept(desk.api.parts.database, turn("Hi", run=RunId(str(uuid4())), scope=scope), nothing)
    assert len(desk.run("select id from answers")) == 2


async def test_an_agents_generated_answer_keeps_what_its_claims_rest_on_and_none_of_the_passages(desk: Desk) -> None:
    """Where a model says a passage word for word, or it was put in for what was left out, only the document has it."""
    answer = await desk.ask()
    ((user, email),) = desk.run("select id::text, email from users where role = 'developer'")
    scope = replace(desk.office.scope, user=UserId(user), principals=(f"user:{email}", "role:developer"))
    for basis in ("attributed", "extracted", "quoted"):
        run = RunId(str(uuid4()))
        trace = ({"step": "documents", "outcome": "generated", "sources": 1, "bases": [basis, "attributed"]},)
        text = "The lease ends in May 2027 [1]\nIt is over in May. [1]"
        outcome = TurnOutcome(text, citations=tuple(answer["citations"]), trace=trace)
        await kept(desk.api.parts.database, turn(QUESTION, run=run, scope=scope, agent=a_agent()), outcome)
        why = await desk.why(run)
        assert [one["basis"] for one in why["claims"]] == [basis, "attributed"] and why["mode"] == "generated"
        assert [one["text"] for one in why["claims"]] == ["The lease ends in May 2027.", "It is over in May."]
        assert (
            desk.run("select claims ->> 0 from answers where id::text = %s and claims::text like '%%2027%%'", run) == []
        )


async def test_no_passage_is_stored_with_an_answer(desk: Desk) -> None:
    """What is deleted leaves no copy behind."""
    answer = await desk.ask()
    operator = await desk.api.sign_in(desk.office.emails[Role.OPERATOR])
    assert (await operator.delete(f"/api/documents/{desk.document}")).status_code in (200, 204)
    for table in ("answers", "answer_citations"):
        ((row,),) = desk.run(f"select jsonb_agg(to_jsonb(t))::text from {table} t")
        assert "May" not in row and "lease.txt" not in row
    why = await desk.why(answer["id"])
    assert why["claims"][0]["text"] is None and "gone" in why["citations"][0]["withheld"]
    assert why["corpus_now"] > why["corpus_version"]


async def test_a_page_that_says_something_else_by_now_is_not_quoted(desk: Desk) -> None:
    answer = await desk.ask()
    desk.run("update pages set text = 'The lease was prolonged for good. Rent is due on the first of each month.'")
    cited = (await desk.why(answer["id"]))["citations"][0]
    assert (cited["quote"], cited["boxes"], cited["filename"]) == (None, [], "lease.txt")
    assert "something else" in cited["withheld"]


async def test_an_answer_keeps_its_passage_when_the_document_is_read_again(desk: Desk) -> None:
    """The new version says something else; the old one, and who read it, are still there."""
    answer = await desk.ask()
    read = desk.worker.reader.read
    desk.worker.reader.read = lambda *given, **told: (  # type: ignore[method-assign]
        replace(page, text=page.text.replace("May", "June")) for page in read(*given, **told)
    )
    again = await desk.client.post(f"/api/documents/{desk.document}/reprocess")
    assert again.status_code == 202, again.text
    await desk.worker.run(JobLane.SMALL)
    cited = (await desk.why(answer["id"]))["citations"][0]
    assert (cited["quote"], cited["is_current"], cited["withheld"]) == ("The lease ends in May 2027.", False, None)
    assert cited["job"]["id"] == desk.job
    shown = (await desk.client.get(cited["url"])).json()
    assert "May 2027" in shown["text"]
    later = await desk.ask()
    assert later["claims"][0]["text"] == "The lease ends in June 2027."
    cited = (await desk.why(later["id"]))["citations"][0]
    assert (cited["is_current"], cited["job"]["id"]) == (True, again.json()["job_id"])


async def test_a_page_that_was_taken_over_leads_to_the_job_that_read_it(desk: Desk) -> None:
    two = {"file": ("two.txt", b"The pier opens in March 2031.\fThe FLOOD gate is new.")}
    sent = (await desk.client.post("/api/documents/upload", files=two)).json()
    await desk.worker.run(JobLane.SMALL)
    read = desk.worker.reader.read
    desk.worker.reader.read = lambda *given, **told: (  # type: ignore[method-assign]
        replace(page, text=page.text.replace("FLOOD", "flood")) for page in read(*given, **told)
    )
    await desk.client.post(f"/api/documents/{sent['document_id']}/reprocess", json={"pages": "2"})
    await desk.worker.run(JobLane.SMALL)
    answer = await desk.ask("When does the pier open?")
    cited = (await desk.why(answer["id"]))["citations"][0]
    assert (cited["quote"], cited["is_current"]) == ("The pier opens in March 2031.", True)
    assert cited["job"]["id"] == sent["job_id"]


async def test_an_abstention_is_kept_with_its_reason(desk: Desk) -> None:
    answer = await desk.ask("What does Zanzibar charge for the lease?")
    assert (answer["mode"], answer["citations"], answer["claims"]) == ("not_found", [], [])
    assert "Zanzibar" in answer["abstained"] and answer["support"] is None
    assert (await desk.why(answer["id"]))["abstained"] == answer["abstained"]


async def test_questions_beyond_what_can_be_answered_are_told_when_to_come_back(
    app_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    """429 by the answers' own queue: searches go on, and so do questions once there is room."""
    seconds, begun, go_on = [0.0], asyncio.Event(), asyncio.Event()

    class Slow(ScriptedAnswerer):
        async def ask(
            self,
            scope: Scope,
            question: str,
            agent_id: str | None,
            history: tuple[str, ...] = (),
            draft: ShowDraft | None = None,
        ) -> CitedAnswer:
            if question == "held":
                begun.set()
                await go_on.wait()
            seconds[0] += 40.0
            return await super().ask(scope, question, agent_id, history, draft)

    parts = replace(
        make_parts(app_dsn, tmp_path, answerer=Slow()),
        ask_admission=AdmissionQueue(1, lambda: 60.0, lambda: seconds[0]),
    )
    async with serve(parts) as api:
        client = await api.sign_in(open_office(admin_dsn).emails[Role.DEVELOPER])

        async def ask(question: str) -> httpx.Response:
            return await client.post("/api/ask", json={"question": question})

        assert (await ask("first")).status_code == 200
        held = asyncio.create_task(ask("held"))
        await begun.wait()
        refused = await ask("second")
        found = await client.post("/api/documents/search", json={"query": "pump"})
        go_on.set()
        assert ((await held).status_code, (await ask("third")).status_code) == (200, 200)
    assert (refused.status_code, refused.json()["code"], found.status_code) == (429, "crowded", 200)
    assert int(refused.headers["retry-after"]) == 20


async def test_an_uploaded_table_is_stored_summed_and_explained(desk: Desk) -> None:
    """From the file to the query that is shown; a second look at the same file stores nothing twice."""
    tolls = b"# Ferry tolls\n\n| Ferry | Toll |\n| --- | --- |\n| Heron | 120 |\n| Egret | 80 |\n| Total | 200 |\n"
    sent = (await desk.client.post("/api/documents/upload", files={"file": ("ferry-tolls.md", tolls)})).json()
    await desk.worker.run(JobLane.SMALL)
    again = await desk.client.post(f"/api/documents/{sent['document_id']}/process")
    assert again.status_code == 202, again.text
    await desk.worker.run(JobLane.SMALL)
    assert desk.run("select page, headings, row_count from page_tables") == [(1, ["ferry", "toll"], 3)]
    answer = await desk.ask("What is the total toll of all ferries?")
    assert answer["answer"] == "Total Toll: 200 (2 rows) [1] [2]" and answer["claims"][0]["basis"] == "calculated"
    assert [one["quote"] for one in answer["citations"]] == ["Heron | 120", "Egret | 80"]
    why = await desk.why(answer["id"])
    assert why["calculation"] == answer["calculation"] and why["claims"][0]["text"] == "Total Toll: 200 (2 rows)"
    assert why["calculation"]["sql"] == 'select sum("Toll")\nfrom "ferry-tolls.md"\nwhere not is_total'
    assert why["calculation"]["totals_left_out"] == 1 and why["calculation"]["rows"] == 2
