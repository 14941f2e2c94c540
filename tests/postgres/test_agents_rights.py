"""Rights that were taken away while a turn waited: over a real Postgres, alone and in a whole run."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Forbidden
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
from serve_apps.agents.intake.rights import NoMember, RightsCheck, RightsEnded
from serve_apps.agents.turn_ports import IncomingMessage, Journal, Turn, TurnOutcome, TurnPath
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
    admit = RightsCheck(IdentityStore(db), AuditLog(db)).carry
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


ENDINGS: Mapping[str, str] = {
    "deactivated": "update users set disabled = true where id = %(user)s",
    "membership removed": "delete from memberships where user_id = %(user)s",
    "role changed": "update memberships set role = 'viewer' where user_id = %(user)s",
    "group lapsed": "delete from group_members where user_id = %(user)s",
    "group deleted": "update groups set deleted_at = now() where id in (select group_id from group_members)",
    "signed out": "update refresh_tokens set ended_at = now() where user_id = %(user)s",
    "API key revoked": "update api_keys set revoked_at = now() where user_id = %(user)s",
    "account deleted": "delete from users where id = %(user)s",
}


def signed_in(admin_dsn: str) -> tuple[Scope, Scope]:
    """An operator in a group, with a login, and the same one with an API key."""
    scope = person(admin_dsn)
    of, session, key = {"user": scope.user, "tenant": scope.tenant}, uuid4(), uuid4()
    with psycopg.connect(admin_dsn) as admin:
        row = admin.execute("insert into groups (tenant_id, name) values (%(tenant)s, 'crane') returning id", of)
        group = row.fetchone()
        assert group is not None
        admin.execute(
            "insert into group_members (group_id, tenant_id, user_id) values (%(group)s, %(tenant)s, %(user)s)",
            {**of, "group": group[0]},
        )
        admin.execute(
            "insert into refresh_tokens (hash, family, tenant_id, user_id, workspace_id, expires_at)"
            " values (%(hash)s, %(session)s, %(tenant)s, %(user)s, %(workspace)s, now() + interval '1 day')",
            {**of, "hash": str(session), "session": session, "workspace": scope.workspace},
        )
        admin.execute(
            "insert into api_keys (id, tenant_id, workspace_id, user_id, name, prefix, hash, role)"
            " values (%(key)s, %(tenant)s, %(workspace)s, %(user)s, 'robot', 'p', %(hash)s, 'operator')",
            {**of, "key": key, "workspace": scope.workspace, "hash": str(key)},
        )
    scope = replace(scope, principals=(*scope.principals, "role:operator", "group:crane"))
    return replace(scope, credential=f"session:{session}"), replace(scope, credential=f"key:{key}")


@pytest.mark.parametrize("way", ENDINGS)
async def test_a_turn_ends_with_the_rights_that_it_began_with(
    db: CountingDatabase, admin_dsn: str, way: str, record_property: Callable[[str, object], None]
) -> None:
    """It is cancelled within five seconds, and so is nobody else's; the refusal is in the trail."""
    login, key = signed_in(admin_dsn)
    scope = key if way == "API key revoked" else login
    check, stopped = RightsCheck(IdentityStore(db), AuditLog(db)), asyncio.Event()

    async def endless(turn: Turn) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    running = asyncio.create_task(check.carry(turn("go on", scope=scope), endless))
    other = asyncio.create_task(check.carry(turn("go on", scope=person(admin_dsn)), endless))
    await asyncio.sleep(0.5)
    assert not running.done()
    with psycopg.connect(admin_dsn) as admin:
        admin.execute(ENDINGS[way], {"user": scope.user})
    began = time.monotonic()
    with pytest.raises(Forbidden) as refused:
        await asyncio.wait_for(running, 5)
    record_property(f"a run, {way}", round(time.monotonic() - began, 2))
    assert isinstance(refused.value, NoMember | RightsEnded) and stopped.is_set() and not other.done()
    other.cancel()
    await asyncio.wait({other})
    if way != "account deleted":
        entry, *_ = await AuditLog(db).page(scope)
        assert (entry["action"], entry["outcome"]) == ("run.carry", "denied")


async def test_who_signed_out_before_an_approval_is_not_in_its_way_but_a_revoked_key_is(
    db: CountingDatabase, admin_dsn: str
) -> None:
    """People go home while others decide; a key that was revoked may have been somebody else's."""
    login, key = signed_in(admin_dsn)
    with psycopg.connect(admin_dsn) as admin:
        admin.execute("update refresh_tokens set ended_at = now()")
        admin.execute("update api_keys set revoked_at = now()")
    seen = Seen()
    allowed = carrying(seen, MemoryJournal(), db)
    await allowed(login)
    with pytest.raises(RightsEnded):
        await allowed(key)
    assert seen.scopes == [login]


async def test_a_run_whose_user_is_disabled_stops_and_nothing_is_told_after_that(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: FilePath
) -> None:
    """The whole way, with a model that never comes to an end and a reader who stays."""
    with serve_model(Say("Many words. " * 50, between=0.05, after="forever")) as model:
        settings = load_settings(
            {
                "AOS_STATE_DIR": str(tmp_path),
                "DATABASE_URL": app_dsn,
                "REDIS_URL": redis_url,
                "LLM_BASE_URL": model.url,
                "LLM_DEFAULT_MODEL": "scripted-1",
            }
        )
        base = build_container(settings, FakeEmbedder(), None)
        workshop = TurnRuntime(settings, base)
        await base.database.open()
        await workshop.open()
        try:
            intake = build_turn_intake(settings, base, dict.fromkeys(TurnPath, workshop.carrier))
            scope, events = person(admin_dsn), []
            began = ended = 0.0
            async for event in intake.process(scope, IncomingMessage("assistant", "Write a very long story.")):
                events.append(event)
                if event.kind in (EventKind.TEXT, EventKind.DRAFT, EventKind.THINKING, EventKind.MODEL) and not began:
                    change(admin_dsn, GONE[1], scope)
                    began = time.monotonic()
                ended = time.monotonic()
            assert began and ended - began < 5, "the run went on"
            last = events[-1]
            assert (last.kind, last.data["code"]) == (EventKind.ERROR, "no_member")
            run = events[0].data["run_id"]
            stored = await RunQueries(base.database).events_after(scope, run, 0)
            await asyncio.sleep(1)
            assert await RunQueries(base.database).events_after(scope, run, 0) == stored
        finally:
            await workshop.close()
            await base.close()
            await base.database.close()


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
