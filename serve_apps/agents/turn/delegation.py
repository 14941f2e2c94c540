"""Delegation: another agent's turn inside this one's journal, so that one walk resumes both."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol
from uuid import UUID, uuid5

from cluster.basics.errors import Permanent
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest
from cluster.state.agent_store import AgentStore
from cluster.state.db.postgres import Database
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import NobodyToAsk
from serve_apps.agents.intake.toolset import AGENT, freeze_skills, narrow_agent
from serve_apps.agents.turn.limits import TurnAllowance
from serve_apps.agents.turn.tool_call import as_text
from serve_apps.agents.turn_ports import (
    AgentId,
    AgentSnapshot,
    Journal,
    Json,
    Perform,
    RedoPolicy,
    RunId,
    Said,
    Saying,
    Turn,
    TurnOutcome,
)
from skills.framework.execution_scope import ExecutionScope as Scoped
from skills.framework.manifest import Manifest
from skills.framework.skill_store import SkillStore

# What a turn is told of those below it; texts and citations are the other agent's answer, which comes as a result.
_KEPT = frozenset(EventKind) - {EventKind.TEXT, EventKind.CITATION, EventKind.RETRIEVED, EventKind.PLAN, EventKind.DONE}

# Carries a turn out within an allowance: the loop itself.
CarryOut = Callable[[Turn, Journal, TurnAllowance], Awaitable[TurnOutcome]]


class TooDeep(Permanent):
    """Delegation goes no deeper."""

    code, status = "too_deep", 409


class DelegationCycle(Permanent):
    """This agent is already at work above."""

    code, status = "cycle", 409


class AgentFinder(Protocol):
    """The agents of a workspace."""

    async def find(self, scope: Scope, name: str) -> AgentSnapshot:
        """An agent by its id or its display name. Raises NotFound: there is no such agent here."""
        ...


class StoredAgents:
    """Agents as they are stored now, with the skills that they have now."""

    def __init__(self, database: Database, agents: AgentStore, skills: SkillStore) -> None:
        """`skills` keeps what each was given."""
        self._db, self._agents, self._skills = database, agents, skills

    async def find(self, scope: Scope, name: str) -> AgentSnapshot:
        """As `AgentFinder.find`."""
        async with self._db.transaction(scope) as tx:
            row = await self._agents.look_up(tx, scope, name)
            skills = await self._skills.attached_in(tx, scope, str(row["id"]))
        config = freeze_skills(row["config"], skills)
        return AgentSnapshot(AgentId(str(row["id"])), row["name"], row["system_prompt"], row["description"], config)


class InnerJournal:
    """A journal for a turn inside another: its steps are the outer run's, under its agent's name; events say whose."""

    def __init__(self, outer: Journal, run: RunId, agent: str) -> None:
        """`run` is the inner turn's id, which ids of calls are derived from."""
        self._outer, self._run, self._agent = outer, run, agent

    @property
    def run(self) -> RunId:
        """The inner turn's."""
        return self._run

    @property
    def seed(self) -> int:
        """The outer run's."""
        return self._outer.seed

    @property
    def spent_ms(self) -> int:
        """The outer run's: time is shared."""
        return self._outer.spent_ms

    def emit(self, kind: EventKind, **data: Json) -> Event:
        """Tell it as the other agent's doing; what would be taken for this turn's own answer is not told."""
        if kind not in _KEPT:
            return Event(0, kind, data)
        return self._outer.emit(kind, **{"agent": self._agent, **data})

    def emit_delta(self, text: str) -> None:
        """Nothing: the answer comes as a result."""

    def draft(self, text: str) -> None:
        """Nothing, as of pieces."""

    async def step(
        self, kind: str, name: str, request: Json, perform: Perform, *, redo: RedoPolicy = RedoPolicy.REPEAT
    ) -> Json:
        """The outer journal's; kinds and names stay, approvals and spending are found by them."""
        return await self._outer.step(kind, name, request, perform, redo=redo)

    def stream(self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None) -> AsyncIterator[Said]:
        """The outer journal's."""
        return self._outer.stream(f"{self._agent}/{name}", request, saying, about=about)

    async def ask(self, tool: str, arguments: Mapping[str, Json], reason: str) -> Mapping[str, Json]:
        """The outer journal's; the reason names who wants it."""
        return await self._outer.ask(tool, arguments, f"Delegated to {self._agent}. {reason}")

    async def inquire(self, question: Mapping[str, Json]) -> str:
        """Never: whom a task was delegated to does not know who talks to the delegating agent."""
        raise NobodyToAsk(f"{self._agent} was delegated to")


class TurnDelegations:
    """`skills.delegate`'s port, bound to one turn."""

    def __init__(
        self,
        turn: Turn,
        journal: Journal,
        agents: AgentFinder,
        carry_out: CarryOut,
        allowance: TurnAllowance,
        deepest: int,
    ) -> None:
        """`allowance` is the turn's own: what is used below is taken from it."""
        self._turn, self._journal, self._agents = turn, journal, agents
        self._carry_out, self._allowance, self._deepest = carry_out, allowance, deepest
        self._made = 0

    async def carry_out(self, agent: str, task: str) -> Any:
        """The other agent's {agent, answer, finish_reason, citations}; a citation has caveats where its page has.

        Raises:
            NotFound: the workspace has no such agent.
            TooDeep, DelegationCycle: it goes no further.
            ApprovalPending: a person has to decide about one of its calls.
        """
        turn = self._turn
        self._may_go_deeper()

        async def find(_: str) -> Json:
            return asdict(await self._agents.find(turn.scope, agent))

        other = AgentSnapshot(**await self._journal.step(AGENT, "find", {"agent": agent}, find))
        above = (*turn.ancestors, turn.agent.id)
        if other.id in above:
            raise DelegationCycle(f"{other.name} waits for this answer itself")
        return await self._run_inside(other, other.id, task, above)

    async def carry_out_skill(self, skill: Manifest, scope: Scoped, arguments: Mapping[str, Any]) -> Any:
        """As `carry_out`, by the agent itself, with the skill's text and tools; arguments are data, never prompt.

        Raises:
            TooDeep: it goes no further.
            ApprovalPending: a person has to decide about one of its calls.
        """
        self._may_go_deeper()
        given = "\n".join(f"{name}: {as_text(value)}" for name, value in arguments.items())
        other = narrow_agent(self._turn.agent, skill, scope)
        return await self._run_inside(other, skill.name, given or skill.description, self._turn.ancestors)

    def _may_go_deeper(self) -> None:
        turn = self._turn
        if turn.depth >= self._deepest:
            raise TooDeep(f"{turn.agent.name} was delegated to {turn.depth} deep, and {self._deepest} is the most")

    async def _run_inside(self, other: AgentSnapshot, key: str, task: str, above: tuple[AgentId, ...]) -> Any:
        """Another's turn inside this one; `key` tells its id from those of the others."""
        turn = self._turn
        self._made += 1
        run = RunId(str(uuid5(UUID(turn.run), f"{self._made} {key}")))
        options = {name: turn.options[name] for name in ("use_rag",) if name in turn.options}
        below: dict[str, Any] = {"depth": turn.depth + 1, "ancestors": above, "options": options}
        inner = Turn(run, turn.scope, turn.session, other, task, base_tools=turn.base_tools, **below)
        outcome = await self._carry_out(inner, InnerJournal(self._journal, run, other.name), self._allowance)
        told = ("n", "filename", "page", "quote", "caveats")
        cited = [{name: one[name] for name in told if one.get(name)} for one in outcome.citations]
        ended = {"answer": outcome.answer, "finish_reason": outcome.finish_reason}
        return {"agent": other.name, **ended, "citations": cited}
