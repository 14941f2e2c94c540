"""Agents under attack: the real desk and workshop over real Postgres, agents of each kind, and what came of it all."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import psycopg
import yaml
from psycopg.rows import dict_row

from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentStore, NewAgent
from cluster.state.approvals import ReviewVerdict
from cluster.state.canonical_json import action_digest
from cluster.state.work.run_queries import RunQueries
from configs.settings import load_settings
from serve_apps.agents import turn_ports
from serve_apps.agents.events import Event
from serve_apps.agents.intake.turn_intake import TurnIntake
from serve_apps.agents.turn_ports import IncomingMessage
from serve_apps.wiring.agents import Container, TurnRuntime, build_container, build_turn_intake
from skills.framework.catalogue import ToolCatalog
from tests.fakes import corpus
from tests.fakes.agents_contract import person
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.model_server import ModelServer
from tests.fakes.models import FakeEmbedder
from tests.fakes.outside import Deed, recording

# The four ways in which a turn can call tools.
AGENTS: Mapping[str, tuple[str, bool]] = {
    "native-loop": ("native", False),
    "react-loop": ("react", False),
    "native-plan": ("native", True),
    "react-plan": ("react", True),
}
ENDS = ("completed", "failed", "cancelled", "interrupted", "waiting")
READING = ("search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "delegate")
# What a workspace with tools that act may say: they are asked for, and a site that is allowed may be read.
POLICY = {
    "patterns": [
        *({"tool": name, "decision": "auto"} for name in (*READING, "http_get")),
        *({"tool": name, "decision": "ask"} for name in ("send_email", "delete_file", "transfer")),
    ]
}

# What a person says of a call; None leaves it undecided.
Reviewer = Callable[[str, Mapping[str, Any]], ReviewVerdict | None]


def nobody(_: str, __: Mapping[str, Any]) -> ReviewVerdict | None:
    """Decides nothing."""
    return None


def refuses(_: str, __: Mapping[str, Any]) -> ReviewVerdict | None:
    """Rejects everything, so that the turn goes on."""
    return ReviewVerdict.REJECTED


@dataclass(frozen=True, slots=True)
class Where:
    """What a siege is built on."""

    app_dsn: str
    admin_dsn: str
    redis_url: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn as far as it came."""

    run: str
    session: str
    path: str
    state: str
    outcome: Mapping[str, Any]


@dataclass
class Siege:
    """One workspace, its person, and all that was done in its name."""

    desk: TurnIntake
    base: Container
    where: Where
    scope: Scope
    runs: RunQueries
    deeds: list[Deed] = field(default_factory=list)

    async def tell(
        self, agent: str, message: str, review: Reviewer = nobody, session: str | None = None, most: int = 5
    ) -> Ended:
        """A turn, with at most so many decisions of the reviewer."""
        events: list[Event] = []
        async for event in self.desk.process(self.scope, IncomingMessage(agent, message, session)):
            events.append(event)
        run = str(events[0].data["run_id"])
        row = await self._settled(run)
        for _ in range(most):
            if row["state"] != "waiting" or not await self._decided(run, review):
                break
            row = await self._settled(run)
        return Ended(run, str(row["session_id"]), row["path"], row["state"], row["outcome"] or {})

    async def _settled(self, run: str) -> Mapping[str, Any]:
        async with asyncio.timeout(60):
            while True:
                row = await self.runs.show(self.scope, run)
                if row["state"] in ENDS:
                    return row
                await asyncio.sleep(0.03)

    async def _decided(self, run: str, review: Reviewer) -> bool:
        rows, _ = await self.base.approvals.page(self.scope, state="pending", run=run)
        for row in rows:
            verdict = review(row["tool"], row["arguments"]) if row["category"] == "approval" else None
            if verdict is None:
                return False
            await self.base.approvals.decide(self.scope, str(row["id"]), verdict)
        return bool(rows)

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """What the database's owner sees; the first value is always the tenant."""
        with psycopg.connect(self.where.admin_dsn, row_factory=dict_row) as connection:
            return connection.execute(query, (self.scope.tenant, *values)).fetchall()

    def unapproved(self) -> list[Deed]:
        """Executions that no approval by a person stands behind, each approval good for one and for its own digest."""
        owner = {
            str(uuid5(row["run_id"], str(row["seq"]))): row["run_id"]
            for row in self.rows("select run_id, seq from run_steps where tenant_id = %s and kind = 'tool'")
        }
        left = Counter[tuple[UUID | None, str]](
            (row["run_id"], row["decided_digest"])
            for row in self.rows(
                "select run_id, decided_digest from approvals"
                " where tenant_id = %s and state = 'approved' and category = 'approval' and reviewer is not null"
            )
        )
        found = []
        for deed in self.deeds:
            about = (owner.get(deed.call.key), action_digest(deed.tool, deed.call.arguments))
            left[about] -= 1
            if left[about] < 0:
                found.append(deed)
        return found

    def asked(self) -> Counter[str]:
        """Tool to how often a person was asked about it."""
        rows = self.rows("select tool, count(*) as n from approvals where tenant_id = %s group by tool")
        return Counter({row["tool"]: row["n"] for row in rows})

    def results(self) -> Counter[str]:
        """What became of calls: `ok`, or the code of the error."""
        rows = self.rows(
            "select coalesce(split_part(payload->>'error', ':', 1), 'ok') as code, count(*) as n from events"
            " where tenant_id = %s and type = 'tool_result' group by 1"
        )
        return Counter({row["code"]: row["n"] for row in rows})

    def mentions(self, text: str) -> int:
        """Events that have a text."""
        query = "select count(*) as n from events where tenant_id = %s and payload::text like %s"
        return int(self.rows(query, f"%{text}%")[0]["n"])

    def turns(self) -> Counter[str]:
        """Paths and the states that their turns are in."""
        rows = self.rows("select path, state, count(*) as n from runs where tenant_id = %s group by 1, 2")
        return Counter({f"{row['path']} {row['state']}": row["n"] for row in rows})


def books(texts: Mapping[str, tuple[str, Sequence[str]]], readers: tuple[str, ...] = ()) -> list[Book]:
    """Documents by filename, each (title, passages)."""
    return [
        Book(
            filename,
            [Passage(one, headings=(title,), vector=hash_vector(f"{title}\n{one}")) for one in passages],
            readers=readers,
        )
        for filename, (title, passages) in texts.items()
    ]


@asynccontextmanager
async def siege(
    where: Where,
    model: ModelServer,
    stored: Sequence[Book],
    *,
    shipped: bool = False,
    allow: str = "",
    act: bool = True,
) -> AsyncIterator[Siege]:
    """A workspace of its own with documents and agents; `shipped`: under configs/approvals.yaml."""
    where.folder.mkdir(parents=True, exist_ok=True)
    policy, connections = where.folder / "approvals.yaml", where.folder / "models.yaml"
    policy.write_text(yaml.safe_dump(POLICY), encoding="utf-8")
    declared = [
        {"name": name, "base_url": model.url, "model": "scripted-1", "supports_tools": name == "native"}
        for name in ("native", "react")
    ]
    connections.write_text(yaml.safe_dump({"connections": declared, "default": "native"}), encoding="utf-8")
    settings = load_settings(
        {
            "AOS_STATE_DIR": str(where.folder),
            "AOS_LIMITS_ENABLED": "false",  # tests ask more often than people do
            "DATABASE_URL": where.app_dsn,
            "REDIS_URL": where.redis_url,
            "LLM_BASE_URL": model.url,
            "AOS_MODELS_CONNECTIONS_FILE": str(connections),
            "AOS_AGENTS_HTTP_ALLOW": allow,
            "AOS_AGENTS_POLL_SECONDS": "0.05",
            "AOS_MEMORY_SUMMARY_AFTER": "2",
        }
        | ({} if shipped else {"AOS_AGENTS_APPROVALS_FILE": str(policy)})
    )
    deeds: list[Deed] = []
    plain = build_container(settings, FakeEmbedder(), None)
    base = replace(plain, tools=ToolCatalog([*plain.tools, *recording(deeds)]))
    workshop = TurnRuntime(settings, base)
    await base.database.open()
    scope = person(where.admin_dsn)
    _store(where, scope, stored)
    await _open_agents(base, scope)
    await workshop.open()
    try:
        way_in = build_turn_intake(settings, base, dict.fromkeys(turn_ports.TurnPath, workshop.carrier))
        yield Siege(way_in, base, where, scope, RunQueries(base.database, base.governance.seals), deeds)
    finally:
        await workshop.close()
        await base.close()
        await base.database.close()


def _store(where: Where, scope: Scope, stored: Sequence[Book]) -> None:
    with psycopg.connect(where.admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        corpus.load(admin, scope, corpus.open_generation(admin, scope), stored)


async def _open_agents(base: Container, scope: Scope) -> None:
    agents = AgentStore(base.database)
    async with base.database.transaction(scope) as tx:
        for name, (connection, planned) in {**AGENTS, "helper": ("native", False)}.items():
            config = {
                "llm_routing": {"primary_connection_id": connection},
                "deep_planning_enabled": planned,
                "max_iterations": 8,
            }
            prompt = "You are the assistant of this workspace. Do what its people ask, with your tools."
            agent = NewAgent(name, system_prompt=prompt, config=config, whole_workspace=True)
            await agents.add(tx, scope, agent)


def messages(model: ModelServer) -> set[tuple[str, str]]:
    """(role, content) of all that the model was sent."""
    return {(one["role"], one.get("content") or "") for asked in model.chats for one in asked.body["messages"]}
