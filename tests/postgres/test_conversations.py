"""Conversations: whose they are, gapless numbers, facts and summaries, in two tenants."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Conflict, Forbidden, NotFound
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.conversations import (
    ConversationSession,
    ConversationStore,
    ConversationSummary,
    NewMessage,
    SessionFact,
)
from cluster.state.db.postgres import Database
from tests.fakes.ledger import new_workspace


@pytest.fixture
async def db(app_dsn: str) -> AsyncIterator[Database]:
    made = Database(app_dsn, size=8, timeout=20)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def kept(db: Database) -> ConversationStore:
    return ConversationStore(db)


async def somebody(admin_dsn: str, role: Role = Role.VIEWER) -> Scope:
    """A user of a workspace of their own."""
    return colleague(await new_workspace(admin_dsn), role)


def colleague(scope: Scope, role: Role = Role.VIEWER) -> Scope:
    return replace(scope, user=UserId(str(uuid4())), role=role, principals=())


def add_agent(admin_dsn: str, scope: Scope, name: str) -> str:
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute(
            "insert into agents (tenant_id, workspace_id, name) values (%s, %s, %s) returning id",
            (scope.tenant, scope.workspace, name),
        ).fetchone()
    assert row is not None
    return str(row[0])


async def opened(db: Database, kept: ConversationStore, scope: Scope, wanted: str | None = None) -> ConversationSession:
    async with db.transaction(scope) as tx:
        return await kept.open(tx, scope, wanted, None)


async def say(
    db: Database, kept: ConversationStore, scope: Scope, session: ConversationSession, *texts: str
) -> list[int]:
    async with db.transaction(scope) as tx:
        stored = await kept.append(tx, scope, session.id, [NewMessage("user", text) for text in texts])
    return [message.seq for message in stored]


async def test_gw_20_a_client_may_name_its_sessions(db: Database, kept: ConversationStore, admin_dsn: str) -> None:
    """GW-20: the same name is the same session, of one user in one workspace."""
    scope = await somebody(admin_dsn)
    first, again = await opened(db, kept, scope, "tab-1"), await opened(db, kept, scope, "tab-1")
    assert first.id == again.id and first.key == "tab-1"
    assert (await opened(db, kept, scope, first.id)).id == first.id
    assert (await opened(db, kept, scope)).id != (await opened(db, kept, scope)).id
    for other in (colleague(scope), await somebody(admin_dsn)):
        assert (await opened(db, kept, other, "tab-1")).id != first.id
    at_once = await asyncio.gather(*(opened(db, kept, scope, "tab-2") for _ in range(10)))
    assert len({session.id for session in at_once}) == 1


async def test_mt_03_nobody_gets_at_anothers_session(db: Database, kept: ConversationStore, admin_dsn: str) -> None:
    """MT-03, ME-08: another user of the workspace finds nothing, an administrator reads, a foreigner finds nothing."""
    scope = await somebody(admin_dsn)
    session = await opened(db, kept, scope)
    await say(db, kept, scope, session, "a secret")
    nosy, boss, foreign = colleague(scope), colleague(scope, Role.ADMIN), await somebody(admin_dsn, Role.ADMIN)
    assert [m.text for m in await kept.messages(boss, session.id)] == ["a secret"]
    assert (await kept.page(boss, everyone=True))[1] == 1 and (await kept.page(boss))[1] == 0
    with pytest.raises(Forbidden):
        await kept.page(nosy, everyone=True)
    for other in (nosy, foreign):
        for read in (kept.show, kept.messages):
            with pytest.raises(NotFound):
                await read(other, session.id)
    for other in (nosy, boss, foreign):
        with pytest.raises(NotFound):
            await opened(db, kept, other, session.id)
        with pytest.raises(NotFound):
            await say(db, kept, other, session, "mine now")
        async with db.transaction(other) as tx:
            with pytest.raises(NotFound):
                await kept.delete(tx, other, session.id)
            with pytest.raises(NotFound):
                await kept.change(tx, other, session.id, title="mine now")
            assert await kept.learn(tx, other, session.id, [SessionFact("other", "low", "mine now")]) == 0
            await kept.summarise(tx, other, session.id, ConversationSummary(9, "mine now"))
    async with db.transaction(scope) as tx:
        assert await kept.summary(tx, scope, session.id) is None
    for wrong in ("no uuid", str(uuid4())):
        with pytest.raises(NotFound):
            await kept.show(scope, wrong)


async def test_me_02_twenty_writers_leave_no_gap(db: Database, kept: ConversationStore, admin_dsn: str) -> None:
    """ME-02: messages of one session are numbered from 1 without a gap, whoever writes at the same time."""
    scope = await somebody(admin_dsn)
    session, other = await opened(db, kept, scope), await opened(db, kept, scope)
    numbers = await asyncio.gather(*(say(db, kept, scope, session, f"{n} a", f"{n} b") for n in range(20)))
    assert sorted(n for pair in numbers for n in pair) == list(range(1, 41))
    assert all(b == a + 1 for a, b in numbers), "what was said together stays together"
    assert await say(db, kept, scope, other, "alone") == [1]
    async with db.transaction(scope) as tx:
        last = await kept.last(tx, scope, session.id, upto=39, limit=5)
    assert [m.seq for m in last] == [35, 36, 37, 38, 39]
    shown = await kept.show(scope, session.id)
    assert shown.messages == 40 and shown.title in {f"{n} a" for n in range(20)}


async def test_what_is_rolled_back_was_never_said(db: Database, kept: ConversationStore, admin_dsn: str) -> None:
    scope = await somebody(admin_dsn)
    session = await opened(db, kept, scope)
    with pytest.raises(ZeroDivisionError):
        async with db.transaction(scope) as tx:
            await kept.append(tx, scope, session.id, [NewMessage("user", "no")])
            raise ZeroDivisionError
    assert await say(db, kept, scope, session, "yes") == [1]


async def test_a_closed_session_takes_nothing_until_it_is_opened_again(
    db: Database, kept: ConversationStore, admin_dsn: str
) -> None:
    scope = await somebody(admin_dsn)
    session = await opened(db, kept, scope, "k")
    async with db.transaction(scope) as tx:
        await kept.change(tx, scope, session.id, title="Over", status="closed")
    shown = await kept.show(scope, session.id)
    assert (shown.title, shown.status) == ("Over", "closed")
    for wanted in ("k", session.id):
        with pytest.raises(Conflict):
            await opened(db, kept, scope, wanted)
    with pytest.raises(Conflict):
        await say(db, kept, scope, session, "still there?")
    async with db.transaction(scope) as tx:  # a turn that ran while it was closed
        assert len(await kept.append(tx, scope, session.id, [NewMessage("assistant", "the answer")])) == 1
    async with db.transaction(scope) as tx:
        await kept.change(tx, scope, session.id, status="open")
    assert await say(db, kept, scope, session, "back") == [2]


async def test_deleting_is_for_good_but_not_beside_a_running_turn(
    db: Database, kept: ConversationStore, admin_dsn: str
) -> None:
    scope = await somebody(admin_dsn)
    session = await opened(db, kept, scope)
    await say(db, kept, scope, session, "hello")
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed)"
            " values (gen_random_uuid(), %s, %s, %s, %s, %s, 'general', 'waiting', '{}', 1)",
            (scope.tenant, scope.workspace, session.id, add_agent(admin_dsn, scope, "a"), scope.user),
        )
    with pytest.raises(Conflict):
        async with db.transaction(scope) as tx:
            await kept.delete(tx, scope, session.id)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update runs set state = 'completed'")
    async with db.transaction(scope) as tx:
        await kept.delete(tx, scope, session.id)
    with pytest.raises(NotFound):
        await kept.messages(scope, session.id)


async def test_me_06_facts_are_kept_once_and_follow_the_user_to_the_same_agent(
    db: Database, kept: ConversationStore, admin_dsn: str
) -> None:
    """ME-06, ME-07, X-29: facts by importance; known to the same agent only, of the same user."""
    scope = await somebody(admin_dsn)
    agent, stranger = add_agent(admin_dsn, scope, "keeper"), add_agent(admin_dsn, scope, "stranger")
    async with db.transaction(scope) as tx:
        first, second = (await kept.open(tx, scope, None, agent), await kept.open(tx, scope, None, agent))
        elsewhere = await kept.open(tx, scope, None, stranger)
        facts = [SessionFact("topic", "low", "boats"), SessionFact("decision", "high", "we sail on Monday")]
        assert await kept.learn(tx, scope, first.id, facts) == 2
        assert await kept.learn(tx, scope, first.id, facts) == 0
        assert [f.text for f in await kept.facts(tx, scope, first.id)] == ["we sail on Monday", "boats"]
        assert [f.text for f in await kept.known(tx, scope, second, 1)] == ["we sail on Monday"]
        assert await kept.known(tx, scope, elsewhere, 9) == []
    other = colleague(scope)
    async with db.transaction(other) as tx:
        theirs = await kept.open(tx, other, None, agent)
        assert await kept.known(tx, other, theirs, 9) == []


async def test_a_late_summary_does_not_replace_a_newer_one(
    db: Database, kept: ConversationStore, admin_dsn: str
) -> None:
    scope = await somebody(admin_dsn)
    session = await opened(db, kept, scope)
    async with db.transaction(scope) as tx:
        for summary in (
            ConversationSummary(30, "to thirty"),
            ConversationSummary(60, "to sixty"),
            ConversationSummary(30, "late"),
        ):
            await kept.summarise(tx, scope, session.id, summary)
        assert await kept.summary(tx, scope, session.id) == ConversationSummary(60, "to sixty")
