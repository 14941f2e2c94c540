"""The academy where things happen at the same time: links and deletes while it reads, enrolments while it examines."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentStore
from cluster.state.audit import AuditLog
from cluster.state.work.jobs import JobLedger
from configs.sections_skills import AcademySettings
from pipelines.documents.document import document_id
from pipelines.documents.privacy.answer_masks import AnswerMask
from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.store.document_writes import FileArrival
from serve_apps.agents.academy.register import NotEnrolled
from serve_apps.agents.academy.school import Academy, as_report
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.cache.cached_search import AnswerPort
from skills.quiz import ExamAnswer, QuizQuestion, SourcePassage, mark_answer, quiz_result
from tests.fakes.campus import Campus, open_campus
from tests.fakes.ledger import worker_scope

INCIDENTS = "# Incidents\n\nThe engineer on call acknowledges a severity 1 incident within 15 minutes.\n"
QUESTION = {
    "question": "Within how many minutes is a severity 1 incident acknowledged?",
    "facts": ["15 minutes"],
    "source": "incidents.md",
}
QUIZ = {"questions": [QUESTION]}


@pytest.fixture
async def campus(app_dsn: str, admin_dsn: str, tmp_path: Path) -> AsyncIterator[Campus]:
    async with open_campus(app_dsn, admin_dsn, tmp_path) as made:
        yield made


@dataclass
class Interrupted:
    """Something happens before each answer."""

    answerer: AnswerPort
    before: Callable[[], Awaitable[Any]]

    async def ask(self, scope: Scope, question: str, agent_id: str | None) -> CitedAnswer:
        await self.before()
        return await self.answerer.ask(scope, question, agent_id)


def scope_of(campus: Campus) -> Scope:
    return worker_scope(campus.office.scope.tenant, campus.office.scope.workspace)


def school(campus: Campus, before: Callable[[], Awaitable[Any]]) -> Academy:
    parts = campus.api.parts
    asks, database = Interrupted(parts.answerer, before), parts.database
    return Academy(database, AgentStore(database), JobLedger(database), asks, AuditLog(database), AcademySettings())


async def documents(campus: Campus) -> dict[str, str]:
    return {one["filename"]: one["id"] for one in (await campus.client.get("/api/documents/")).json()["items"]}


@pytest.mark.parametrize("text", [INCIDENTS, INCIDENTS.replace("15", "20")])
async def test_ac_05_studying_leaves_links_and_deletes_to_people(campus: Campus, admin_dsn: str, text: str) -> None:
    """AC-05: what is unlinked or deleted while its job waits stays so, changed or not; readers stay."""
    await campus.scan(incidents=INCIDENTS, backups="Rehearsed every 90 days.", plan="A plan.")
    ids = await documents(campus)
    await campus.client.post("/api/agents", json={"name": "collector", "auto_link_uploads": True})
    with psycopg.connect(admin_dsn) as admin:
        admin.execute("update documents set readers = '{role:operator}' where id = %s", (ids["plan.md"],))
    assert (await campus.enrol(quiz=QUIZ)).status_code == 202
    for name in ("incidents.md", "backups.md", "plan.md"):
        (campus.scans / name).write_text(text)
    unlink = {"agent_id": campus.agent, "document_ids": [ids["incidents.md"]], "action": "unlink"}
    assert (await campus.client.post("/api/documents/links", json=unlink)).json()["changed"] == 1
    assert (await campus.client.delete(f"/api/documents/{ids['backups.md']}")).status_code in (200, 204)
    await campus.work()
    assert set(await documents(campus)) == {"incidents.md", "plan.md"}
    counts = {one["name"]: one["documents"] for one in (await campus.client.get("/api/agents")).json()["items"]}
    assert (counts["runner"], counts["collector"]) == (1, 0)
    with psycopg.connect(admin_dsn) as admin:
        kept = admin.execute("select readers, status from documents where id = %s", (ids["plan.md"],)).fetchone()
    assert kept == (["role:operator"], "completed")


async def test_a_refresh_never_adds_a_document(campus: Campus) -> None:
    """Deleted between the look at it and the write: neither a version nor a failure brings it back."""
    scope, store = scope_of(campus), campus.worker.store
    arrival = FileArrival("file:/gone.md", "gone.md", "file:/gone.md", refresh=True)
    version = {"version": "v", "file_hash": "h", "file_size": 1, "kind": "text", "page_count": 1}
    async with campus.worker.database.transaction(scope) as tx:
        assert not await store.add(tx, scope, arrival, version, 1000)
        gone = document_id(scope.workspace, arrival.origin)
        assert await tx.one("select id from documents where id = %(id)s", id=gone) is None


async def test_ac_05_the_jobs_of_a_due_time_are_there_once(campus: Campus) -> None:
    """AC-05: begun again after documents were linked, it waits for the jobs that it has."""
    await campus.scan(incidents=INCIDENTS)
    await campus.enrol(quiz=QUIZ)
    due, parts = str(uuid4()), campus.api.parts
    first = await parts.school.study(scope_of(campus), campus.agent, due)
    await campus.scan(backups="Rehearsed every 90 days.")
    assert await parts.school.study(scope_of(campus), campus.agent, due) == first and len(first) == 2


async def test_ac_01_enrolled_anew_while_it_is_examined_it_does_not_graduate(campus: Campus) -> None:
    """AC-01: the answers were those to another track; the report is kept, the standing is that of the new one."""
    await campus.scan(incidents=INCIDENTS)
    await campus.enrol("integration", QUIZ)
    await campus.work()
    made = await school(campus, lambda: campus.enrol("legal")).examine(scope_of(campus), campus.agent)
    assert made.result.passed and await campus.status() == made.status == "studying"
    shown = (await campus.client.get(f"{campus.path}/academy")).json()
    assert (shown["track"], shown["report"]["track"], shown["report"]["passed"]) == ("legal", "integration", True)


async def test_what_keeps_an_answer_away_rises_by_its_name(campus: Campus) -> None:
    async def away() -> None:
        raise Unavailable("the index is away")

    await campus.scan(incidents=INCIDENTS)
    await campus.enrol(quiz={"questions": [QUESTION, QUESTION]})
    await campus.work()
    with pytest.raises(Unavailable):
        await school(campus, away).examine(scope_of(campus), campus.agent)


async def test_ac_01_who_is_not_enrolled_does_not_study(campus: Campus) -> None:
    """AC-01: a schedule of an agent that nobody enrolled changes nothing."""
    with pytest.raises(NotEnrolled):
        await campus.api.parts.school.study(scope_of(campus), campus.agent, str(uuid4()))
    assert await campus.status() is None


async def test_ac_05_with_nothing_to_study_nobody_is_demoted(campus: Campus) -> None:
    """AC-05: an agent of the whole workspace, once graduated, whose workspace is empty now."""
    change = {"whole_workspace": True, "metadata": {"academy_status": "graduated"}}
    assert (await campus.client.patch(campus.path, json=change)).status_code == 200
    await campus.enrol(quiz=QUIZ)
    await campus.work()
    await campus.client.patch(campus.path, json={"metadata": {"academy_status": "graduated"}})
    told = await campus.client.post(f"{campus.path}/academy/quiz")
    assert (told.status_code, told.json()["code"]) == (409, "nothing_to_study")
    assert await campus.status() == "graduated"


def test_a_report_quotes_answers_as_they_are_shown() -> None:
    answer = ExamAnswer("x" * 590 + " a.b@example.org", (SourcePassage("to a.b@example.org.txt", 1, ""),))
    made = quiz_result([mark_answer(QuizQuestion(question="?", facts=("x",), source="a"), answer)], 0.5)
    assert "a.b@" in str(as_report(made))
    (told,) = as_report(made, AnswerMask([AnswerRule("mask")]))["questions"]
    assert "a.b" not in str(told) and told["cited"][0]["file"].startswith("to [email]")
