"""Store of the academy: enrolments of agents in tracks, and a report of each examination."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.work.jobs import JobId
from skills.quiz import Quiz, QuizResult, Track, quiz_of


class AcademyStatus(StrEnum):
    """Academy status of an agent, kept as `academy_status` in its metadata."""

    ENROLLED = "enrolled"
    STUDYING = "studying"
    GRADUATED = "graduated"
    DEMOTED = "demoted"


class NotEnrolled(Conflict):
    """This agent is not enrolled."""

    code = "not_enrolled"
    fix = "POST /api/agents/{id}/academy/enrol with a track."


@dataclass(frozen=True, slots=True)
class Enrolment:
    """Track and quiz an agent studies; `own_quiz`: its enroller brought it; `jobs` ingest its references."""

    track: Track
    quiz: Quiz
    own_quiz: bool
    jobs: tuple[str, ...]
    at: datetime


class AcademyRegister:
    """Every statement about enrolments and reports."""

    def __init__(self, database: Database) -> None:
        """Queries are read from register.sql beside this file."""
        self._db = database
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def enrol(self, tx: Transaction, scope: Scope, agent: str, quiz: Quiz, *, own: bool) -> None:
        """Write down what an agent studies."""
        values = {"track": quiz.track, "quiz": Jsonb(quiz.model_dump(mode="json")), "own": own, "user": scope.user}
        await tx.run(self._sql["enrol"], **_agent_params(scope, agent), **values)

    async def enrolment(self, scope: Scope, agent: str) -> Enrolment | None:
        """The agent's enrolment; None where it is not enrolled."""
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["enrolment"], **_agent_params(scope, agent))
        if row is None:
            return None
        jobs = tuple(str(job) for job in row["jobs"])
        return Enrolment(Track(row["track"]), quiz_of(row["quiz"]), row["own_quiz"], jobs, row["enrolled_at"])

    async def await_jobs(self, tx: Transaction, scope: Scope, agent: str, jobs: Sequence[str]) -> None:
        """Write down what has to end before the agent is examined."""
        await tx.run(self._sql["jobs"], **_agent_params(scope, agent), jobs=list(jobs))

    async def refresh(self, tx: Transaction, scope: Scope, agent: str, quiz: Quiz) -> None:
        """Take the pack's quiz as it ships now; one that somebody brought stays."""
        await tx.run(self._sql["refresh"], **_agent_params(scope, agent), quiz=Jsonb(quiz.model_dump(mode="json")))

    async def references(self, scope: Scope, agent: str) -> list[dict[str, str]]:
        """{origin, filename, location} of the agent's documents whose files lie in folders."""
        return await self._db.read(scope, self._sql["references"], **_agent_params(scope, agent))

    async def held(self, tx: Transaction, scope: Scope, agent: str) -> datetime | None:
        """Time of the agent's enrolment, its row locked until the transaction ends; None where not enrolled."""
        row = await tx.one(self._sql["held"], **_agent_params(scope, agent))
        return None if row is None else row["enrolled_at"]

    async def job_of(self, tx: Transaction, scope: Scope, key: str) -> JobId | None:
        """The job that carries this idempotency key; None where there is none yet."""
        row = await tx.one(self._sql["job_of"], key=key, **scope.keys)
        return None if row is None else JobId(str(row["id"]))

    async def readable(self, scope: Scope, agent: str) -> bool:
        """True if the agent, asked by this caller, finds a document; a whole-workspace agent may read any."""
        return bool(await self._db.read(scope, self._sql["readable"], **_agent_params(scope, agent)))

    async def unfinished(self, scope: Scope, agent: str, jobs: Sequence[str]) -> list[str]:
        """Unfinished jobs among these and among others' uploads for the agent's documents."""
        named = _agent_params(scope, agent)
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["unfinished"], **named, jobs=list(jobs))
            rows += await tx.all(self._sql["uploads"], **named)
        return list(dict.fromkeys(str(row["id"]) for row in rows))

    async def report(
        self,
        tx: Transaction,
        scope: Scope,
        agent: str,
        track: Track,
        result: QuizResult,
        status: AcademyStatus,
        told: dict[str, Any],
        due: str | None,
    ) -> bool:
        """Keep a report; False where the due time has one already."""
        row = await tx.one(
            self._sql["report"],
            **_agent_params(scope, agent),
            track=track,
            score=result.score,
            mark=result.pass_mark,
            passed=result.passed,
            status=status,
            report=Jsonb(told),
            due=due,
            user=scope.user,
        )
        return row is not None

    async def of_due(self, scope: Scope, due: str) -> Row | None:
        """The report of a due time; None where it has none."""
        async with self._db.transaction(scope) as tx:
            return await tx.one(self._sql["of_due"], due=due, **scope.keys)

    async def last(self, scope: Scope, agent: str) -> Row | None:
        """The latest report; None where the agent was never examined."""
        async with self._db.transaction(scope) as tx:
            return await tx.one(self._sql["last"], **_agent_params(scope, agent))


def _agent_params(scope: Scope, agent: str) -> dict[str, str]:
    """The agent within its scope; raises NotFound where an id is no UUID, which names no agent."""
    return {"agent": uuid_of(agent, "agent"), **scope.keys}
