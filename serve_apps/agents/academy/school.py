"""Enrol, ingest references, self-quiz, graduate: the four steps, each of which may be taken again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cluster.basics.errors import AosError, Conflict
from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentChange, AgentStore
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database, Row, Transaction
from cluster.state.work.jobs import JobLane, JobLedger
from configs.sections_skills import AcademySettings
from pipelines.documents.privacy.answer_masks import AnswerMask
from serve_apps.agents.academy.register import AcademyRegister, AcademyStatus, Enrolment, NotEnrolled
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.cache.cached_search import AnswerPort, MaskPolicy
from skills.quiz import (
    ExamAnswer,
    QuestionScore,
    Quiz,
    QuizQuestion,
    QuizResult,
    SourcePassage,
    Track,
    mark_answer,
    quiz_result,
    shipped_quiz,
)

KEY = "academy_status"  # in an agent's metadata
LOOK_SECONDS = 0.5
_EXCERPT = 600  # characters of an answer in a report


class StillReading(Conflict):
    """The references are still being read."""

    code = "academy_still_reading"
    fix = "Follow the job, then ask again; or give `wait`."


class NothingToStudy(Conflict):
    """None of the agent's documents can be searched."""

    code = "nothing_to_study"
    fix = "Import a .skill pack for the agent, or upload documents for it."


@dataclass(frozen=True, slots=True)
class ExaminationResult:
    """Result of an examination, and the agent's status after it."""

    track: Track
    result: QuizResult
    status: AcademyStatus
    report: dict[str, Any]


class Academy:
    """Agents study what is linked to them, and are examined on what they can find there."""

    def __init__(
        self,
        database: Database,
        agents: AgentStore,
        jobs: JobLedger,
        answerer: AnswerPort,
        audit: AuditLog,
        settings: AcademySettings,
        *,
        mask: MaskPolicy | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Collaborators are injected; `answerer` is asked as many questions at a time as the settings say. `mask` is
        that of the answers that reports quote.
        """
        self._db, self._agents, self._jobs, self._answerer = database, agents, jobs, answerer
        self._audit, self._settings, self._sleep, self._mask = audit, settings, sleep, mask
        self._register = AcademyRegister(database)

    @property
    def pass_mark(self) -> float:
        """Score to be reached where a quiz names none."""
        return self._settings.pass_mark

    async def enrol(self, scope: Scope, agent: str, track: Track, quiz: Quiz | None) -> list[str]:
        """Begin a track; returns the jobs that read and embed the agent's references. Raises NotFound where there is no
        such agent, or no quiz ships for the track and none was given, BadQuiz where the quiz is of another track.
        """
        await self._agents.show(scope, agent)
        studied = shipped_quiz(track) if quiz is None else quiz.model_copy(update={"track": track})
        async with self._db.transaction(scope) as tx:
            await self._register.enrol(tx, scope, agent, studied, own=quiz is not None)
            await self._set_status(tx, scope, agent, AcademyStatus.ENROLLED)
            detail = {"track": str(track), "questions": len(studied.questions)}
            await self._audit.record(tx, scope, "academy.enrol", agent, detail=detail)
        return await self.study(scope, agent, None)

    async def study(self, scope: Scope, agent: str, due: str | None) -> list[str]:
        """Read changed references again and embed what lacks vectors; the jobs that do it, also those of before.

        `due`: of a schedule: the same jobs answer it when it is begun again. Raises NotFound or NotEnrolled where there
        is nothing it could study for; nothing was written then.
        """
        await self._require_enrolment(scope, agent)
        files = await self._register.references(scope, agent)
        async with self._db.transaction(scope) as tx:
            jobs = []
            key = due and f"academy:{due}:read"
            if key and (begun := await self._register.job_of(tx, scope, key)):
                jobs.append(begun)  # what it reads may have changed since: it is the same job for all that
            elif files:
                payload = {"files": files, "agent_id": agent, "refresh": True}
                jobs.append((await self._jobs.enqueue(tx, scope, "upload", JobLane.BULK, payload, key)).job)
            key = due and f"academy:{due}:embed"
            jobs.append((await self._jobs.enqueue(tx, scope, "embed", JobLane.BULK, {"agent_id": agent}, key)).job)
            await self._register.await_jobs(tx, scope, agent, jobs)
            row = await self._agents.look_up(tx, scope, agent)
            if row["metadata"].get(KEY) not in (AcademyStatus.GRADUATED, AcademyStatus.DEMOTED):
                await self._set_status(tx, scope, agent, AcademyStatus.STUDYING)
        return [str(job) for job in jobs]

    async def wait(self, scope: Scope, agent: str, seconds: float) -> list[str]:
        """Until the agent's references are read; which jobs have not ended when the time is up."""
        enrolment = await self._require_enrolment(scope, agent)
        left = seconds
        while open_ := await self._register.unfinished(scope, agent, enrolment.jobs):
            if left <= 0:
                return open_
            await self._sleep(LOOK_SECONDS)
            left -= LOOK_SECONDS
        return []

    async def examine(self, scope: Scope, agent: str, due: str | None = None, wait: float = 0) -> ExaminationResult:
        """Ask every question of the quiz, mark the answers, and let the agent graduate, go on, or be demoted.

        Raises NotEnrolled, StillReading or NothingToStudy where it cannot be examined now.
        """
        enrolment = await self._require_enrolment(scope, agent)
        if open_ := await self.wait(scope, agent, wait):
            raise StillReading(f"job {', job '.join(open_)}")
        row = await self._agents.show(scope, agent)
        if not await self._register.readable(scope, agent):
            raise NothingToStudy(row["name"])
        quiz = enrolment.quiz
        if not enrolment.own_quiz:
            quiz = shipped_quiz(enrolment.track)
        marks = await self._mark_answers(scope, agent, quiz)
        made = quiz_result(marks, quiz.pass_mark or self._settings.pass_mark)
        return await self._record_result(scope, agent, enrolment, quiz, made, due)

    async def standing(self, scope: Scope, agent: str) -> tuple[Row, Enrolment | None, Row | None]:
        """The agent, what it studies, and its latest report; raises NotFound where there is no such agent here."""
        row = await self._agents.show(scope, agent)
        return row, await self._register.enrolment(scope, agent), await self._register.last(scope, agent)

    async def reported(self, scope: Scope, due: str) -> Row | None:
        """The report of a due time; None where it has none."""
        return await self._register.of_due(scope, due)

    async def _mark_answers(self, scope: Scope, agent: str, quiz: Quiz) -> list[QuestionScore]:
        room = asyncio.Semaphore(self._settings.questions_at_once)

        async def one(question: QuizQuestion) -> QuestionScore:
            async with room:
                return mark_answer(question, as_quiz_answer(await self._answerer.ask(scope, question.question, agent)))

        try:
            async with asyncio.TaskGroup() as asking:
                tasks = [asking.create_task(one(question)) for question in quiz.questions]
        except ExceptionGroup as group:
            known, unknown = group.split(AosError)
            if known is None or unknown is not None:
                raise
            raise _first_error(known) from group
        return [task.result() for task in tasks]

    async def _record_result(
        self, scope: Scope, agent: str, enrolment: Enrolment, quiz: Quiz, made: QuizResult, due: str | None
    ) -> ExaminationResult:
        """Report, standing and trail, in one transaction; who was enrolled anew meanwhile gets the report alone."""
        mask = None if self._mask is None else await self._mask(scope)
        told = await asyncio.to_thread(as_report, made, mask)
        async with self._db.transaction(scope) as tx:
            current = await self._register.held(tx, scope, agent) == enrolment.at
            row = await self._agents.look_up(tx, scope, agent)
            before = row["metadata"].get(KEY)
            status = standing_after(before, passed=made.passed)
            if not current:
                status = AcademyStatus(before) if before in set(AcademyStatus) else AcademyStatus.ENROLLED
            kept = await self._register.report(tx, scope, agent, enrolment.track, made, status, told, due)
            if kept and current:
                await self._register.refresh(tx, scope, agent, quiz)
                await self._set_status(tx, scope, agent, status)
                detail = {"track": str(enrolment.track), "score": round(made.score, 3)} | {
                    "from": before,
                    "to": str(status),
                }
                await self._audit.record(tx, scope, "academy.examine", agent, detail=detail)
        return ExaminationResult(enrolment.track, made, status, told)

    async def _require_enrolment(self, scope: Scope, agent: str) -> Enrolment:
        found = await self._register.enrolment(scope, agent)
        if found is None:
            await self._agents.show(scope, agent)
            raise NotEnrolled(f"agent {agent}")
        return found

    async def _set_status(self, tx: Transaction, scope: Scope, agent: str, status: AcademyStatus) -> None:
        await self._agents.change(tx, scope, agent, AgentChange(metadata={KEY: str(status)}))


def _first_error(group: ExceptionGroup[AosError]) -> AosError:
    found = group.exceptions[0]
    return _first_error(found) if isinstance(found, ExceptionGroup) else found


def standing_after(before: object, *, passed: bool) -> AcademyStatus:
    """Status after an examination: a pass graduates; a failed graduate is demoted until it passes again."""
    if passed:
        return AcademyStatus.GRADUATED
    fell = before in (AcademyStatus.GRADUATED, AcademyStatus.DEMOTED)
    return AcademyStatus.DEMOTED if fell else AcademyStatus.STUDYING


def as_quiz_answer(answer: CitedAnswer) -> ExamAnswer:
    """An answer as quizzes see it."""
    return ExamAnswer(
        answer.text,
        tuple(SourcePassage(one.filename, one.page, one.quote) for one in answer.citations),
        tuple(SourcePassage(hit.filename, hit.page, hit.text) for hit in answer.search.hits),
        answer.mode,
    )


def as_report(made: QuizResult, mask: AnswerMask | None = None) -> dict[str, Any]:
    """Examination report as JSON: each question with its answer, and the facts it missed and why.

    `mask`: what of answers and of names of files it shows.
    """

    def shown(text: str) -> str:
        return text if mask is None else mask.text(text, unknown=True)

    return {
        "questions": [
            {
                "question": one.question.question,
                "source": one.question.source,
                "answer": shown(one.answer.text)[:_EXCERPT],
                "mode": one.answer.mode,
                "cited": [{"file": shown(place.file), "page": place.page} for place in one.answer.cited],
                "found": one.found,
                "expected": one.expected,
                "right_source": one.right_source,
                "missed": [{"fact": missed.fact, "why": str(missed.why)} for missed in one.missed],
            }
            for one in made.marks
        ]
    }
