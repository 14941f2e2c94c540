"""The DOCUMENTS path: an answer with its sources and citations, recorded once."""

from dataclasses import replace

import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from serve_apps.agents.documents import Documents
from serve_apps.agents.events import EventKind
from serve_apps.http.answers import CitationShape
from serve_apps.retrieval.answer import NOT_FOUND, Answer
from serve_apps.retrieval.query import Query, Results
from tests.fakes.agents import AGENT, SCOPE, MemoryJournal, turn
from tests.fakes.http import ScriptedAnswerer


async def test_an_answer_comes_with_sources_and_citations() -> None:
    """OR-03: DOCUMENTS answers by retrieval, from the agent's documents, under the user's scope."""
    answers, journal = ScriptedAnswerer(), MemoryJournal()
    outcome = await Documents(answers)(turn("/docs When does the lease end?"), journal)
    assert journal.kinds() == ["retrieved", "citation", "text"]
    assert journal.of(EventKind.RETRIEVED)[0]["sources"][0]["filename"] == "lease.pdf"
    cited = journal.of(EventKind.CITATION)[0]
    assert CitationShape.model_validate(cited).model_dump(mode="json") == cited
    assert outcome.answer == journal.of(EventKind.TEXT)[0]["text"] == "The lease ends in May. [1]"
    assert (outcome.citations, outcome.confidence) == ((cited,), 0.9)
    assert answers.asked == [(SCOPE, "When does the lease end?", AGENT.id)]


async def test_a_resumed_turn_does_not_ask_again() -> None:
    answers, journal = ScriptedAnswerer(), MemoryJournal()
    outcome = await Documents(answers)(turn("the document"), journal)
    walked = journal.again(replaying=True)
    assert await Documents(answers)(turn("the document"), walked) == outcome
    assert walked.events == journal.events
    assert len(answers.asked) == 1


class Silent(ScriptedAnswerer):
    """Finds nothing."""

    async def ask(self, scope: Scope, question: str, agent_id: str | None) -> Answer:
        results = Results(Query(question), (), 0, "bm25", "off", "off: none", None, "no index", {})
        return Answer(NOT_FOUND, "not_found", (), results, None, "no index")


class Away(ScriptedAnswerer):
    """Postgres is not there."""

    async def ask(self, scope: Scope, question: str, agent_id: str | None) -> Answer:
        raise Unavailable("Postgres went away")


async def test_without_support_it_says_so() -> None:
    journal = MemoryJournal()
    outcome = await Documents(Silent())(turn("the document"), journal)
    assert (outcome.answer, outcome.confidence, outcome.citations) == (NOT_FOUND, 0.5, ())
    assert journal.of(EventKind.RETRIEVED) == [{"sources": [], "generation": None, "fallback": "no index"}]


async def test_a_failure_is_recorded_with_its_name() -> None:
    journal = MemoryJournal()
    with pytest.raises(Unavailable):
        await Documents(Away())(turn("the document"), journal)
    with pytest.raises(Unavailable, match="went away"):
        await Documents(ScriptedAnswerer())(turn("the document"), journal.again(replaying=True))


async def test_a_message_of_another_scope_asks_in_that_scope() -> None:
    answers, other = ScriptedAnswerer(), replace(SCOPE, principals=("user:bob@example.org",))
    await Documents(answers)(turn("the document", scope=other), MemoryJournal())
    assert answers.asked[0][0] == other
