"""Runs on a real database: a workspace with an agent and a session, and handlers that leave marks."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg

from cluster.basics.scope import Role, Scope, UserId
from cluster.basics.telemetry import Telemetry
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, ReplyDelta, TokenUsage, ToolCall
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database, Row, Transaction
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.run_record import NewRun
from cluster.state.work.runs import RunLedger
from configs.sections import AgentSettings
from serve_apps.agents.durable.run_loop import RunTiming, TurnRunner
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.intake.turn import dump_turn
from serve_apps.agents.turn_errors import ActionRejected
from serve_apps.agents.turn_ports import (
    AgentId,
    AgentSnapshot,
    Journal,
    RedoPolicy,
    RunId,
    Said,
    SessionId,
    Turn,
    TurnHandler,
    TurnOutcome,
    TurnPath,
)
from tests.fakes.ledger import new_workspace

QUICK = AgentSettings(lease_seconds=0.4, heartbeat_seconds=0.1, poll_seconds=0.05)
ACT = ModelReply("", (ToolCall("c1", "act", '{"to":"b"}'),), "tool_calls", TokenUsage(10, 5), "m", cost_usd=0.25)
FINAL = ModelReply("It is done.", usage=TokenUsage(20, 4), model="m", cost_usd=0.5)


@dataclass
class Outside:
    """The world that tools act on: one entry for each effect, with the key it came under."""

    acted: list[tuple[str, str, Any]] = field(default_factory=list)
    asked: int = 0
    before_act: Callable[[], None] = lambda: None
    after_act: Callable[[], None] = lambda: None

    async def act(self, run: str, key: str, arguments: Any) -> Any:
        self.before_act()
        self.acted.append((run, key, arguments))
        self.after_act()
        return {"done": True}

    def say(self, reply: ModelReply) -> AsyncIterator[Said]:
        async def saying() -> AsyncIterator[Said]:
            self.asked += 1
            for at in range(0, len(reply.content), 4):
                yield ReplyDelta(reply.content[at : at + 4])
            yield reply

        return saying()


def acting(outside: Any, redo: RedoPolicy = RedoPolicy.RECONCILE, *, ask: bool = True) -> TurnHandler:
    """The shape of an agent's turn: a model, an approved tool, a model."""

    async def handle(turn: Turn, journal: Journal) -> TurnOutcome:
        request = ChatRequest((*turn.history, ModelMessage("user", turn.message)))
        journal.emit(EventKind.STATUS, state="thinking")
        [item async for item in journal.stream("chat", request, lambda: outside.say(ACT))]
        arguments: Mapping[str, Any] = {"to": turn.message}
        try:
            if ask:
                arguments = await journal.ask("act", arguments, "it changes things")

            async def perform(key: str) -> Any:
                return await outside.act(turn.run, key, dict(arguments))

            result = await journal.step("tool", "act", dict(arguments), perform, redo=redo)
            journal.emit(EventKind.TOOL_RESULT, id="c1", name="act", result=result, approved=True)
        except ActionRejected as error:
            journal.emit(EventKind.TOOL_RESULT, id="c1", name="act", error=f"Action rejected: {error.detail}")
        text = ""
        async for item in journal.stream("chat", request, lambda: outside.say(FINAL), about={"round": 2}):
            if isinstance(item, ReplyDelta):
                text += item.text
                journal.emit_delta(item.text)
        journal.emit(EventKind.TEXT, text=text)
        return TurnOutcome(text, trace=({"step": "tool", "name": "act"},))

    return handle


async def remember(tx: Transaction, turn: Turn, outcome: TurnOutcome) -> None:
    """The answer as a message; the numbers are the tests' own."""
    await tx.run(
        "insert into messages (session_id, seq, tenant_id, workspace_id, role, content, run_id) select %(session)s,"
        " coalesce((select max(seq) from messages where session_id = %(session)s), 0) + 1, %(tenant)s, %(workspace)s,"
        " 'assistant', jsonb_build_object('text', %(text)s::text), %(run)s",
        session=turn.session,
        tenant=turn.scope.tenant,
        workspace=turn.scope.workspace,
        text=outcome.answer,
        run=turn.run,
    )


@dataclass
class Stage:
    """A workspace with its collaborators."""

    database: Database
    runs: RunLedger
    approvals: ApprovalStore
    desk: RunQueries
    audit: AuditLog
    scope: Scope
    agent: str
    session: str
    settings: AgentSettings = QUICK

    def turn(self, message: str = "b", **other: Any) -> Turn:
        agent = AgentSnapshot(AgentId(self.agent), "keeper", "Be careful.")
        made = Turn(RunId(str(uuid4())), self.scope, SessionId(self.session), agent, message)
        return replace(made, **other)

    async def begin(self, message: str = "b", *, attended: bool = True, **other: Any) -> Turn:
        """A turn with its run on record."""
        turn = self.turn(message, **other)
        new = NewRun(turn.run, turn.session, self.agent, turn.path, dump_turn(turn), UUID(turn.run).int >> 65, attended)
        async with self.database.transaction(self.scope) as tx:
            await self.runs.create(tx, self.scope, new, self.settings.lease_seconds)
        return turn

    def runner(self, handler: TurnHandler, owner: str = "runner-1", **other: Any) -> TurnRunner:
        handlers = dict.fromkeys(TurnPath, handler)
        timing = RunTiming(time.monotonic, lambda: datetime.now(UTC))
        return TurnRunner(
            other.pop("runs", self.runs),
            self.approvals,
            handlers,
            self.settings,
            owner=owner,
            timing=timing,
            remember=other.pop("remember", remember),
            audit=AuditLog(self.database),
            telemetry=Telemetry.off(),
            count_use=other.pop("count_use", None),
        )

    async def carry(self, turn: Turn, handler: TurnHandler, owner: str = "runner-1") -> list[Event]:
        """All events that a reader sees."""
        runner = self.runner(handler, owner)
        lease = await runner.claim(turn)
        return [event async for event in runner.run(turn, lease)]

    @asynccontextmanager
    async def sweeping(self, handler: TurnHandler, owner: str = "background") -> AsyncIterator[None]:
        """Somebody carries out what nobody reads."""
        stop = asyncio.Event()
        task = asyncio.create_task(self.runner(handler, owner).sweep(stop))
        try:
            yield
        finally:
            stop.set()
            await task

    async def state(self, turn: Turn) -> str:
        return str((await self.desk.show(self.scope, turn.run))["state"])

    async def until(self, turn: Turn, *states: str, seconds: float = 10) -> str:
        deadline = time.monotonic() + seconds
        while (state := await self.state(turn)) not in states:
            assert time.monotonic() < deadline, f"it is {state}, not one of {states}"
            await asyncio.sleep(0.02)
        return state

    async def pending(self, turn: Turn | None = None) -> list[Row]:
        rows, _ = await self.approvals.page(self.scope, state="pending", run=None if turn is None else turn.run)
        return rows

    async def stored(self, turn: Turn) -> list[tuple[int, str, Any]]:
        rows = await self.desk.events_after(self.scope, turn.run, 0, 10_000)
        return [(row["seq"], row["type"], row["payload"]) for row in rows]

    async def rows(self, query: str, **values: Any) -> list[Row]:
        async with self.database.transaction(self.scope) as tx:
            return await tx.all(query, **values)


@asynccontextmanager
async def stage(app_dsn: str, admin_dsn: str, *, tenant: str = "", size: int = 4) -> AsyncIterator[Stage]:
    """A database as the application role sees it, with an agent, a user and a session."""
    worker = await new_workspace(admin_dsn, tenant)
    scope = Scope(
        worker.tenant, worker.workspace, ("user:ann@example.org", "role:operator"), UserId(str(uuid4())), Role.OPERATOR
    )
    database = Database(app_dsn, size=size, timeout=20)
    await database.open()
    try:
        async with database.transaction(scope) as tx:
            named = {"tenant": scope.tenant, "workspace": scope.workspace}
            agent = await tx.one(
                "insert into agents (tenant_id, workspace_id, name) values (%(tenant)s, %(workspace)s, 'keeper')"
                " returning id",
                **named,
            )
            assert agent is not None
            session = await tx.one(
                "insert into sessions (tenant_id, workspace_id, agent_id, user_id)"
                " values (%(tenant)s, %(workspace)s, %(agent)s, %(user)s) returning id",
                agent=agent["id"],
                user=scope.user,
                **named,
            )
            assert session is not None
        audit = AuditLog(database)
        yield Stage(
            database,
            RunLedger(database),
            ApprovalStore(database, audit),
            RunQueries(database),
            audit,
            scope,
            str(agent["id"]),
            str(session["id"]),
        )
    finally:
        await database.close()


def events_of(admin_dsn: str, run: str) -> list[tuple[int, str, Any]]:
    """A run's stored events, whoever it belongs to."""
    with psycopg.connect(admin_dsn) as connection:
        return connection.execute(
            "select seq, type, payload from events where stream = %s order by seq", (f"run:{run}",)
        ).fetchall()
