"""Rights that were taken away while a turn waited: over a real Postgres, alone and in a whole run."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import psycopg
import pytest

from cluster.basics.scope import Role, Scope
from cluster.basics.telemetry import Telemetry
from cluster.state.approvals import ReviewVerdict
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore
from cluster.state.work.run_queries import RunQueries
from configs.settings import load_settings
from serve_apps.agents.durable.run_loop import carried_out
from serve_apps.agents.durable.traced import TurnTracer
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.rights import NoMember, RightsCheck
from serve_apps.agents.turn_ports import Journal, Turn, TurnOutcome, TurnPath
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake
from tests.fakes.agents import MemoryJournal, turn
from tests.fakes.agents_contract import Bench, person
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder

GONE = ["delete from memberships where user_id = %s", "update users set disabled = true where id = %s"]


class CountingDatabase(Database):
    """Counts transactions."""

    opened = 0

    def transaction(self, scope: Scope | None = None) -> Any:
        self.opened += 1
        return super().transaction(scope)


class Seen:
    """A handler that remembers in which scopes it was called."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        self.scopes.append(turn.scope)
        return TurnOutcome("done")


def carrying(seen: Seen, journal: MemoryJournal, db: CountingDatabase) -> Callable[[Scope], Awaitable[TurnOutcome]]:
    """Carries a turn of a scope out, as a runner does."""
    admit = RightsCheck(IdentityStore(db), AuditLog(db)).narrow_turn
    return lambda scope: carried_out(seen, turn("go on", scope=scope), journal, TurnTracer(Telemetry.off()), admit)


def change(admin_dsn: str, statement: str, scope: Scope) -> None:
    with psycopg.connect(admin_dsn) as admin:
        assert admin.execute(statement, (scope.user,)).rowcount == 1


@pytest.fixture
async def db(app_dsn: str) -> AsyncIterator[CountingDatabase]:
    made = CountingDatabase(app_dsn, size=2, timeout=20)
    await made.open()
    yield made
    await made.close()


async def test_a_turn_has_the_rights_that_its_user_still_has(db: CountingDatabase, admin_dsn: str) -> None:
    """Unchanged they stay, also a key's that are fewer than its user's; one query, and nothing in the journal."""
    seen, journal, operator = Seen(), MemoryJournal(), person(admin_dsn)
    allowed = carrying(seen, journal, db)
    operator = replace(operator, principals=(*operator.principals, "role:operator"))
    key = replace(operator, principals=(operator.principals[0], "role:viewer"), role=Role.VIEWER)
    system = Scope.of_worker(operator.tenant, operator.workspace)
    for scope in (operator, key):
        await allowed(scope)
    assert seen.scopes == [operator, key] and db.opened == 2
    await allowed(system)
    assert seen.scopes[-1] == system and db.opened == 2 and not journal.records
    change(admin_dsn, "update memberships set role = 'viewer' where user_id = %s", operator)
    await allowed(operator)
    assert (seen.scopes[-1].role, seen.scopes[-1].principals) == (Role.VIEWER, operator.principals[:1])
    change(admin_dsn, "update memberships set role = 'admin' where user_id = %s", operator)
    await allowed(operator)
    assert seen.scopes[-1] == operator, "nobody gains rights in the middle of a turn"


@pytest.mark.parametrize("statement", GONE)
async def test_who_is_no_member_any_more_is_refused_by_name(
    db: CountingDatabase, admin_dsn: str, statement: str
) -> None:
    seen, scope = Seen(), person(admin_dsn)
    change(admin_dsn, statement, scope)
    with pytest.raises(NoMember, match=str(scope.user)):
        await carrying(seen, MemoryJournal(), db)(scope)
    (entry,) = await AuditLog(db).page(scope)
    assert (entry["action"], entry["outcome"], entry["detail"]) == ("run.carry", "denied", {"reason": "no_member"})
    assert not seen.scopes


async def test_an_approved_call_of_somebody_disabled_meanwhile_is_not_made(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: FilePath
) -> None:
    """The whole way: a run waits, its user is disabled, a person approves, and the run fails by name."""
    asked = Say(calls=(Use("http_get", {"url": "http://127.0.0.1:9/gauge"}),))
    with serve_model(Say("Let me read it."), asked, Say("It shows 4.2 bar.")) as model:
        settings = load_settings(
            {
                "AOS_STATE_DIR": str(tmp_path),
                "DATABASE_URL": app_dsn,
                "REDIS_URL": redis_url,
                "LLM_BASE_URL": model.url,
                "LLM_DEFAULT_MODEL": "scripted-1",
                "AOS_LLM_SUPPORTS_TOOLS": "true",
                "AOS_AGENTS_HTTP_ALLOW": "127.0.0.1:9",
                "AOS_AGENTS_POLL_SECONDS": "0.05",
            }
        )
        base = build_container(settings, FakeEmbedder(), None)
        workshop = TurnRuntime(settings, base)
        await base.database.open()
        await workshop.open()
        try:
            way_in, runs = (
                build_turn_intake(settings, base, dict.fromkeys(TurnPath, workshop.carrier)),
                RunQueries(base.database, base.governance.seals),
            )
            bench = Bench(way_in, runs, base.approvals, model, "", person(admin_dsn))
            events = await bench.tell("Read the gauge at the north gate.")
            assert events[-1].kind is EventKind.APPROVAL_REQUIRED, events
            run, approval = events[0].data["run_id"], events[-1].data["approval"]["id"]
            await bench.state(run, "waiting")
            change(admin_dsn, GONE[1], bench.scope)
            await base.approvals.decide(bench.scope, approval, ReviewVerdict.APPROVED)
            assert await bench.state(run, "completed", "failed") == "failed"
            assert (await runs.show(bench.scope, run))["error"]["code"] == "no_member"
            stored = await runs.events_after(bench.scope, run, 0)
            assert "tool_result" not in {row["type"] for row in stored} and len(model.chats) == 2
        finally:
            await workshop.close()
            await base.close()
            await base.database.close()
