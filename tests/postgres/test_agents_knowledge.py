"""A turn over stored documents: what the agent is linked to, quotes with their rectangles, agents to delegate to."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentStore
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.document import Box, Word
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn.delegation import StoredAgents
from serve_apps.agents.turn.general_path import run_conversation
from serve_apps.agents.turn.knowledge import AgentKnowledge
from serve_apps.agents.turn.quotes import StoredPlaces
from serve_apps.agents.turn_ports import AgentId, TurnOutcome
from serve_apps.retrieval.search.pipeline import SearchPipeline
from skills.framework.skill_store import SkillStore
from tests.fakes import corpus
from tests.fakes.agents import AGENT, MemoryJournal, ScriptedModels, turn
from tests.fakes.corpus import Book, Passage, Sheet, hash_vector
from tests.fakes.crew import crew
from tests.fakes.models import FakeEmbedder

pytestmark = pytest.mark.postgres

SCAN = "Service sheet\n\nThe pump weighs twelve kilograms. It is painted red."
WORDS = tuple(
    Word(word, SCAN.index(word), Box(0.1 * at, 0.5, 0.1 * at + 0.05, 0.52), 0.8)
    for at, word in enumerate(["The", "pump", "weighs", "twelve", "kilograms."], 1)
)


@dataclass
class House:
    admin: psycopg.Connection[Any]
    database: Database
    scope: Scope
    agent: str

    async def ask(self, scope: Scope | None = None) -> tuple[TurnOutcome, MemoryJournal]:
        models = ScriptedModels('It weighs twelve [1: "The pump weighs twelve kilograms."].')
        search = SearchPipeline(self.database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
        with_crew = replace(crew(models), knowledge=AgentKnowledge(search), places=StoredPlaces(self.database))
        asked = turn("How much does the pump weigh?", scope=scope or self.scope)
        journal = MemoryJournal()
        agent = replace(AGENT, id=AgentId(self.agent))
        return await run_conversation(replace(asked, agent=agent), journal, with_crew), journal

    def link(self) -> None:
        self.admin.execute(
            "insert into document_agent_links select %s, id, tenant_id, workspace_id from documents", (self.agent,)
        )


@pytest.fixture
async def house(admin_dsn: str, app_dsn: str) -> AsyncIterator[House]:
    database = Database(app_dsn, size=2)
    await database.open()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        corpus.own_bm25(admin)
        scope = corpus.open_home(admin)
        generation = corpus.open_generation(admin, scope)
        sheet = Sheet(SCAN, "tesseract", 0.4, WORDS)
        corpus.load(admin, scope, generation, [Book("scan.png", [Passage(SCAN, vector=hash_vector(SCAN))], [sheet])])
        yield House(admin, database, scope, corpus.open_agent(admin, scope, "reader"))
    await database.close()


async def test_an_agent_without_links_sees_no_document(house: House) -> None:
    """EX-02: linked documents only; a quote of what was not retrieved is no citation."""
    outcome, journal = await house.ask()
    assert journal.of(EventKind.RETRIEVED)[0]["sources"] == [] and outcome.citations == ()


async def test_a_quote_has_its_rectangle_on_the_page(house: House) -> None:
    """EX-02: the words are those of the stored page, with the boxes and the confidence of its words."""
    house.link()
    outcome, journal = await house.ask()
    assert outcome.answer == "It weighs twelve [1]."
    cited = journal.of(EventKind.CITATION)[0]
    assert SCAN[cited["start"] : cited["end"]] == cited["quote"] == "The pump weighs twelve kilograms."
    assert cited["boxes"] == [[1, 0.1, 0.5, pytest.approx(0.55), 0.52]]
    assert cited["ocr_confidence"] == pytest.approx(0.8)


async def test_places_are_walled(house: House) -> None:
    """EX-02: in another workspace the same ids have no place; neither has a text that the page does not say."""
    house.link()
    _, journal = await house.ask()
    quote = journal.of(EventKind.CITATION)[0]
    places, other = StoredPlaces(house.database), corpus.open_home(house.admin, "other")
    assert await places.describe(other, [quote]) == [None]
    assert (await places.describe(house.scope, [quote, {**quote, "quote": "something else"}]))[1] is None


async def test_agents_are_found_by_name_or_id(house: House) -> None:
    """EX-07: within the workspace."""
    agents = StoredAgents(house.database, AgentStore(house.database), SkillStore(house.database))
    found = await agents.find(house.scope, "reader")
    assert found.id == house.agent and (await agents.find(house.scope, house.agent)) == found
    for scope, name in ((house.scope, "nobody"), (corpus.open_home(house.admin, "other"), "reader")):
        with pytest.raises(NotFound):
            await agents.find(scope, name)
