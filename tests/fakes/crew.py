"""What a turn works with, in memory: tools that record, documents that are given, agents by name."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from cluster.basics.errors import AosError, NotFound
from cluster.basics.scope import Scope
from cluster.models.messages import ToolSpec
from configs.sections import AgentSettings
from pipelines.documents.document import Span
from serve_apps.agents import approval
from serve_apps.agents.approval import ApprovalPattern, ApprovalPolicy
from serve_apps.agents.turn.agent_loop import TurnServices
from serve_apps.agents.turn.delegation import AgentFinder
from serve_apps.agents.turn.knowledge import AgentKnowledge
from serve_apps.agents.turn_ports import AgentSnapshot, ChatModels
from serve_apps.retrieval.search.query import SearchHit, SearchQuery, SearchResults
from skills.framework.catalogue import ToolCatalog
from skills.framework.contract import CallEffect, Tool, ToolInvocation

SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "approvals.yaml"
AUTO = ApprovalPolicy([ApprovalPattern("*", "auto", {})])
ASK = ApprovalPolicy([ApprovalPattern("*", "ask", {})])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


@dataclass
class FakeTool:
    """A tool that records its calls and gives `answer`, an error, or what a function makes of the call."""

    name: str = "note"
    effect: CallEffect = CallEffect.READ
    answer: Any = "noted"
    parameters: Mapping[str, Any] = field(default_factory=lambda: TEXT)
    description: str = "Writes a note down."
    ran: list[ToolInvocation] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.parameters)

    async def run(self, call: ToolInvocation) -> Any:
        self.ran.append(call)
        await asyncio.sleep(self.seconds)
        given = self.answer(call) if callable(self.answer) else self.answer
        if isinstance(given, Exception):
            raise given
        return given


def hit(text: str, *, document: str = "d" * 32, filename: str = "lease.pdf", page: int = 2, at: int = 0) -> SearchHit:
    """A passage that is characters [at, at + len(text)) of a page."""
    return SearchHit(
        chunk_id=f"c{crc32(text.encode())}",
        document_id=document,
        version_id="e" * 32,
        filename=filename,
        doc_type="pdf",
        page=page,
        page_end=page,
        chunk_index=0,
        text=text,
        headings=(),
        spans=(Span(page, at, at + len(text)),),
        boxes=(),
        ocr_confidence=None,
        engine="native",
        score=0.9,
        scores={},
    )


@dataclass
class FakeSearch:
    """Finds what it was given, for everybody, or fails; `asked` records scopes and queries."""

    hits: Sequence[SearchHit] = ()
    failing: AosError | None = None
    asked: list[tuple[Scope, SearchQuery]] = field(default_factory=list)

    async def run(self, scope: Scope, query: SearchQuery) -> SearchResults:
        self.asked.append((scope, query))
        if self.failing is not None:
            raise self.failing
        hits = tuple(self.hits[: query.limit])
        return SearchResults(query, hits, len(hits), "bm25", "exact", "off: none", 3, None, {})


class FakePlaces:
    """One rectangle for each quote."""

    async def describe(self, scope: Scope, quotes: Sequence[Mapping[str, Any]]) -> Any:
        return [{"boxes": [[quote["page"], 0.1, 0.2, 0.3, 0.4]], "ocr_confidence": None} for quote in quotes]


class FakeAgents:
    """Agents by name."""

    def __init__(self, *agents: AgentSnapshot) -> None:
        self._agents = agents

    async def find(self, scope: Scope, name: str) -> AgentSnapshot:
        for agent in self._agents:
            if name in (agent.name, agent.id):
                return agent
        raise NotFound(f"agent {name}")


def crew(
    models: ChatModels,
    *tools: Tool,
    hits: Sequence[SearchHit] = (),
    policy: ApprovalPolicy | None = AUTO,
    agents: AgentFinder | None = None,
    search: FakeSearch | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    **settings: Any,
) -> TurnServices:
    """A crew; without a policy the list that is shipped decides; `settings` are those of AgentSettings."""
    return TurnServices(
        models,
        ToolCatalog(tools),
        AgentKnowledge(search or FakeSearch(hits)),
        FakePlaces(),
        policy or approval.load_policy(SHIPPED),
        AgentSettings(**settings),
        agents,
        clock,
    )
