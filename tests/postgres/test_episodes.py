"""ME-07 on a real database: earlier conversations are found by meaning, by their own user, within one vector space."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role, Scope, UserId
from cluster.state.audit import AuditLog
from cluster.state.conversations import ConversationSession, ConversationStore, ConversationSummary, SessionFact
from cluster.state.db.postgres import Database
from cluster.state.episodes import EpisodeStore
from configs.sections import MemorySettings
from serve_apps.agents.memory.compliance import ComplianceCheck
from serve_apps.agents.memory.episodic import EpisodicMemory
from serve_apps.agents.memory.memory_guard import guard_text
from serve_apps.agents.memory.recall import RecalledContext
from serve_apps.agents.memory.recent_messages import RecentMessages
from serve_apps.agents.memory.remember import ConversationMemory
from serve_apps.wiring.agents import TurnRuntime
from tests.fakes.ledger import new_workspace
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.fakes.models import FakeEmbedder
from tests.fakes.workplace import Workplace, workplace

pytestmark = pytest.mark.postgres

SETTINGS = MemorySettings(episodes=2, episode_similarity=0.4)
PUMP, MENU = "The bearing of pump seven was greased with lithium soap.", "The canteen serves soup on Monday."
ASKED = "Which soap did the bearing of pump seven get?"


@dataclass
class Mind:
    """One replica's memory, and one user with an agent."""

    db: Database
    kept: ConversationStore
    scope: Scope
    agents: tuple[str, str]
    embedder: FakeEmbedder

    @property
    def episodic(self) -> EpisodicMemory:
        return EpisodicMemory(self.db, EpisodeStore(), self.embedder, SETTINGS)

    @property
    def memory(self) -> ConversationMemory:
        history = RecentMessages(self.db, self.kept, None, SETTINGS, lambda: 0.0)
        compliance = ComplianceCheck(self.kept, AuditLog(self.db), SETTINGS.compliance_every)
        return ConversationMemory(self.db, self.kept, history, compliance, SETTINGS, self.episodic)

    async def session(self, scope: Scope | None = None, agent: int = 0) -> ConversationSession:
        scope = scope or self.scope
        async with self.db.transaction(scope) as tx:
            return await self.kept.open(tx, scope, None, self.agents[agent])

    async def said(self, *texts: str, scope: Scope | None = None, agent: int = 0) -> ConversationSession:
        """A conversation that was, with its episode."""
        scope, memory = scope or self.scope, self.memory
        session = await self.session(scope, agent)
        for text in texts:
            guarded = await guard_text(text, scope.tenant, session.id)
            async with self.db.transaction(scope) as tx:
                await memory.keep(tx, scope, session.id, "user", guarded)
        await self.kept_up(scope, session)
        return session

    async def kept_up(self, scope: Scope, session: ConversationSession) -> int:
        try:
            return await self.episodic.keep_up(scope, session.id)
        except Unavailable:
            return -1

    async def recall(self, message: str = ASKED, scope: Scope | None = None, agent: int = 0) -> RecalledContext:
        session = await self.session(scope, agent)
        return await self.memory.recall(scope or self.scope, session, message)


@pytest.fixture
async def mind(app_dsn: str, admin_dsn: str) -> AsyncIterator[Mind]:
    db = Database(app_dsn, size=4, timeout=20)
    await db.open()
    scope = replace(await new_workspace(admin_dsn), user=UserId(str(uuid4())), role=Role.DEVELOPER, principals=())
    agents = []
    for name in ("one", "two"):
        async with db.transaction(scope) as tx:
            row = await tx.one(
                "insert into agents (tenant_id, workspace_id, name) values (%(t)s, %(w)s, %(n)s) returning id",
                t=scope.tenant,
                w=scope.workspace,
                n=name,
            )
        assert row is not None
        agents.append(str(row["id"]))
    yield Mind(db, ConversationStore(db), scope, (agents[0], agents[1]), FakeEmbedder())
    await db.close()


async def test_me_07_an_earlier_conversation_is_found_by_meaning(mind: Mind) -> None:
    """ME-07: beside buffer and summary; the one that is near, not the one that is not; the trace says how."""
    await mind.said(PUMP)
    await mind.said(MENU)
    told = await mind.recall()
    assert PUMP in told.memory and MENU not in told.memory
    assert told.line == {"step": "memory", "episodes": 1, "facts": 0, "by": "meaning and words"}
    assert (await mind.recall("Entirely other things")).memory == ""


async def test_me_07_memories_have_the_prefix_of_passages_and_messages_that_of_questions(mind: Mind) -> None:
    """ME-07, EM-01: as the model was trained."""
    mind.embedder.prefixes = ("query: ", "passage: ")
    await mind.said(PUMP)
    await mind.recall()
    (_, remembered), *_, (_, asked) = mind.embedder.asked
    assert remembered[0].startswith("passage: ") and asked == [f"query: {ASKED}"]


async def test_me_07_nothing_is_embedded_where_nothing_is_known(mind: Mind) -> None:
    """ME-07: a first conversation costs no vector and says nothing of memory in its trace."""
    told = await mind.recall()
    assert (told.memory, told.line, mind.embedder.asked) == ("", None, [])


async def test_me_07_nobody_elses_and_no_other_agents_memory(mind: Mind, admin_dsn: str) -> None:
    """ME-07, AU-01: another user, another agent, another workspace: nothing, also where the query forgets to ask."""
    session = await mind.said(PUMP)
    other = replace(mind.scope, user=UserId(str(uuid4())))
    assert (await mind.recall(scope=other)).memory == "" and (await mind.recall(agent=1)).memory == ""
    elsewhere = replace(await new_workspace(admin_dsn), user=mind.scope.user)
    async with mind.db.transaction(elsewhere) as tx:
        assert await tx.all("select * from episodes") == []
    async with mind.db.transaction(mind.scope) as tx:
        assert [str(row["session_id"]) for row in await tx.all("select * from episodes")] == [session.id]


async def test_me_07_a_silent_embedder_leaves_words_alone_and_the_trace_says_so(mind: Mind) -> None:
    """ME-07: what was told meanwhile is written all the same, and gets its vector behind the next turn."""
    mind.embedder.failing = Unavailable("no replica")
    session = await mind.said(PUMP)
    told = await mind.recall()
    assert PUMP in told.memory and told.line is not None
    assert (told.line["by"], told.line["why"]) == ("words", f"unavailable: {Unavailable().title}")
    mind.embedder.failing = None
    assert await mind.kept_up(mind.scope, session) == 1 and await mind.kept_up(mind.scope, session) == 0
    assert (await mind.recall()).line == {"step": "memory", "episodes": 1, "facts": 0, "by": "meaning and words"}


async def test_me_07_vectors_of_another_embedder_are_made_anew_and_never_compared(mind: Mind) -> None:
    """ME-07, X-04: another fingerprint is another space; words find it until it is embedded again."""
    session = await mind.said(PUMP)
    paraphrase = "seven pump bearing soap"
    mind.embedder = FakeEmbedder(fingerprint="fake-2")
    async with mind.db.transaction(mind.scope) as tx:
        shown = await mind.kept.open(tx, mind.scope, None, mind.agents[0])
    found = await mind.episodic.recall(mind.scope, shown, paraphrase, [])
    assert [one.similarity for one in found.episodes] == [None]
    assert await mind.kept_up(mind.scope, session) == 1
    found = await mind.episodic.recall(mind.scope, shown, paraphrase, [])
    assert all(one.similarity is not None and one.similarity > 0.4 for one in found.episodes) and found.episodes


async def test_me_07_facts_are_found_by_meaning_too(mind: Mind) -> None:
    """ME-06, ME-07: one low fact among a hundred important ones."""
    session = await mind.said("Good morning to you")
    noise = [SessionFact("topic", "high", f"Entry {n} concerns matter {n}.") for n in range(120)]
    async with mind.db.transaction(mind.scope) as tx:
        await mind.kept.learn(tx, mind.scope, session.id, [*noise, SessionFact("other", "low", PUMP)])
    assert PUMP not in (await mind.recall()).memory
    await mind.kept_up(mind.scope, session)
    told = await mind.recall(PUMP)
    assert PUMP in told.memory


async def test_me_07_an_episode_follows_its_conversation(mind: Mind) -> None:
    """ME-07: with each message, and with its summary; late writers change nothing."""
    session = await mind.said(MENU)
    async with mind.db.transaction(mind.scope) as tx:
        await mind.kept.summarise(tx, mind.scope, session.id, ConversationSummary(1, "They spoke of soup."))
    guarded = await guard_text(PUMP, mind.scope.tenant, session.id)
    async with mind.db.transaction(mind.scope) as tx:
        await mind.memory.keep(tx, mind.scope, session.id, "user", guarded)
    await mind.kept_up(mind.scope, session)
    async with mind.db.transaction(mind.scope) as tx:
        (row,) = await tx.all("select text, upto_seq from episodes")
        await EpisodeStore().write(tx, mind.scope, session.id, 1, "an older one")
        (same,) = await tx.all("select text, upto_seq from episodes")
    assert row == same == {"text": f"They spoke of soup.\n{PUMP}", "upto_seq": 2}


async def test_me_07_what_is_deleted_is_not_remembered(mind: Mind, admin_dsn: str) -> None:
    """ME-07: with its session, and with its workspace."""
    session = await mind.said(PUMP, "Remember that I like short answers.")
    async with mind.db.transaction(mind.scope) as tx:
        await mind.kept.delete(tx, mind.scope, session.id)
    assert (await mind.recall()).memory == ""
    await mind.said(PUMP)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("delete from workspaces where id = %s", (mind.scope.workspace,))
        count = connection.execute(
            "select count(*) from episodes where workspace_id = %s", (mind.scope.workspace,)
        ).fetchone()
    assert count == (0,)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


async def test_me_07_a_turn_is_told_of_an_earlier_conversation_and_its_trace_says_so(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> None:
    """ME-07: from one conversation to the next, through the whole way in; a replay says the same."""
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model) as at:
        await at.tell(f"/chat {PUMP}", "first")
        async with asyncio.timeout(20):
            await _embedded(at)
        events = await at.tell(f"/chat {ASKED}", "second")
        (line,) = [one for one in events[-1].data["agent_trace"] if one["step"] == "memory"]
        assert line == {"step": "memory", "episodes": 1, "facts": 0, "by": "meaning and words"}
        told = at.model.chats[-1].body["messages"]
        assert any(PUMP in one["content"] and "<memory>" in one["content"] for one in told if one["role"] == "user")
        workshop = TurnRuntime(at.settings, at.base)
        assert (await workshop.replays.replay(at.ann, events[0].data["run_id"]))["same"] is True


async def _embedded(at: Workplace) -> None:
    """Once what was said behind a turn has its vector."""
    while True:
        async with at.base.database.transaction(at.ann) as tx:
            if await tx.all("select 1 from episodes where embedding is not null"):
                return
        await asyncio.sleep(0.05)


async def test_me_07_personal_data_in_an_episode_is_masked(mind: Mind) -> None:
    """ME-07, SE-02: an episode is made of what was stored, which is guarded."""
    await mind.said("My mail is ann@example.org and the bearing of pump seven got soap.")
    async with mind.db.transaction(mind.scope) as tx:
        (row,) = await tx.all("select text from episodes")
    assert "ann@example.org" not in row["text"] and "pump seven" in row["text"]
