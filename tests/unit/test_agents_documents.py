"""The DOCUMENTS path: an answer with its sources and citations, recorded once, or GENERAL in its stead."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.messages import ModelMessage, ModelReply
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning.planned_path import GeneralHandler
from serve_apps.agents.turn.documents_path import DocumentsHandler
from serve_apps.agents.turn_errors import NoModel, NoReply
from serve_apps.http.routes.agents.answers import CitationShape
from serve_apps.retrieval.answers.answerer import NOT_FOUND, CitedAnswer
from serve_apps.retrieval.answers.claims import DroppedClaim
from serve_apps.retrieval.answers.draft import ShowDraft
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from tests.fakes.agents import AGENT, SCOPE, MemoryJournal, ScriptedModels, calls, turn
from tests.fakes.crew import FakeTool, crew
from tests.fakes.http import ScriptedAnswerer


def general(*lines: Any) -> GeneralHandler:
    return GeneralHandler(
        crew(ScriptedModels(otherwise=lines[0]) if len(lines) == 1 else ScriptedModels(*lines), FakeTool())
    )


NOBODY = GeneralHandler(crew(ScriptedModels(failing=NoModel("none is configured"))))


async def test_an_answer_comes_with_sources_and_citations() -> None:
    """OR-03: DOCUMENTS answers by retrieval, from the agent's documents, under the user's scope."""
    answers, journal = ScriptedAnswerer(), MemoryJournal()
    outcome = await DocumentsHandler(answers, NOBODY)(turn("/docs When does the lease end?"), journal)
    assert journal.kinds() == ["retrieved", "citation", "text"]
    assert journal.of(EventKind.RETRIEVED)[0]["sources"][0]["filename"] == "lease.pdf"
    cited = journal.of(EventKind.CITATION)[0]
    assert CitationShape.model_validate(cited).model_dump(mode="json") == cited
    assert outcome.answer == journal.of(EventKind.TEXT)[0]["text"] == "The lease ends in May. [1]"
    assert (outcome.citations, outcome.confidence) == ((cited,), 0.9)
    assert answers.asked == [(SCOPE, "When does the lease end?", AGENT.id)]


async def test_a_resumed_turn_does_not_ask_again() -> None:
    answers, journal = ScriptedAnswerer(), MemoryJournal()
    outcome = await DocumentsHandler(answers, NOBODY)(turn("the document"), journal)
    walked = journal.again(replaying=True)
    assert await DocumentsHandler(answers, NOBODY)(turn("the document"), walked) == outcome
    assert walked.events == journal.events
    assert len(answers.asked) == 1


@dataclass
class Silent(ScriptedAnswerer):
    """Finds nothing; `before` is what had been said when it was asked."""

    before: list[tuple[str, ...]] = field(default_factory=list)

    async def ask(
        self,
        scope: Scope,
        question: str,
        agent_id: str | None,
        history: tuple[str, ...] = (),
        draft: ShowDraft | None = None,
    ) -> CitedAnswer:
        self.asked.append((scope, question, agent_id))
        self.before.append(history)
        results = SearchResults(SearchQuery(question), (), 0, "bm25", "off", "off: none", None, "no index", {})
        return CitedAnswer(NOT_FOUND, "not_found", (), results, None, "no index", abstained="no passage was found")


class Away(ScriptedAnswerer):
    """Postgres is not there."""

    async def ask(
        self,
        scope: Scope,
        question: str,
        agent_id: str | None,
        history: tuple[str, ...] = (),
        draft: ShowDraft | None = None,
    ) -> CitedAnswer:
        raise Unavailable("Postgres went away")


async def test_ex_14_what_verification_takes_out_is_traced_and_lowers_confidence() -> None:
    """EX-14, KB: a sentence that nothing supports; a greeting that is dropped lowers nothing."""
    whole = await ScriptedAnswerer().ask(SCOPE, "When does it end?", None)

    @dataclass
    class Given:
        dropped: tuple[DroppedClaim, ...]

        async def ask(self, *_: Any) -> CitedAnswer:
            return replace(whole, mode="generated", model="m", dropped=self.dropped)

    said = DroppedClaim("The rent is nine million euros.", "unsupported")
    outcome = await DocumentsHandler(Given((said,)), NOBODY)(turn("When does it end?"), MemoryJournal())
    assert outcome.confidence == 0.6
    (line,) = [one for one in outcome.trace if one["step"] == "claim_removed"]
    assert line == {"step": "claim_removed", "text": said.text, "why": "unsupported"}
    greeted = await DocumentsHandler(Given((DroppedClaim("Hi!", "x"),)), NOBODY)(
        turn("When does it end?"), MemoryJournal()
    )
    assert greeted.confidence == 0.9 and all(one["step"] != "claim_removed" for one in greeted.trace)


async def test_where_the_documents_have_nothing_the_agent_goes_on_as_general() -> None:
    """Visible as a fallback, in the trace too; the words of the command do not reach the model."""
    journal, models = MemoryJournal(), ScriptedModels("I know: it ends in May.")
    outcome = await DocumentsHandler(Silent(), GeneralHandler(crew(models, FakeTool())))(
        turn("/docs When does it end?"), journal
    )
    assert outcome.answer == "I know: it ends in May." and outcome.confidence == 0.9
    why = "no passage was found"
    assert journal.of(EventKind.FALLBACK) == [{"left": "documents", "taken": "general", "why": why}]
    assert outcome.trace[0]["outcome"] == "not_found" and outcome.trace[0]["handed_to"] == "general"
    assert models.asked[0][1].messages[-1].content == "When does it end?"
    walked = journal.again(replaying=True)
    assert (
        await DocumentsHandler(Silent(), GeneralHandler(crew(models, FakeTool())))(
            turn("/docs When does it end?"), walked
        )
        == outcome
    )
    assert walked.events == journal.events and len(models.asked) == 1


async def test_general_has_its_tools_when_the_documents_have_nothing() -> None:
    tool, models = FakeTool(), ScriptedModels(calls(("note", {"text": "x"})), "Noted.")
    outcome = await DocumentsHandler(Silent(), GeneralHandler(crew(models, tool)))(turn("/docs /chat"), MemoryJournal())
    assert outcome.answer == "Noted." and len(tool.ran) == 1


async def test_without_a_model_it_says_what_it_can_do() -> None:
    journal = MemoryJournal()
    outcome = await DocumentsHandler(Silent(), NOBODY)(turn("the document"), journal)
    assert "nothing about this in the documents: no passage was found" in outcome.answer
    assert "No language model is configured" in outcome.answer and "LLM_BASE_URL" in outcome.answer
    assert (outcome.confidence, outcome.citations) == (0.5, ())
    assert journal.of(EventKind.RETRIEVED) == [{"sources": [], "generation": None, "fallback": "no index"}]
    assert journal.of(EventKind.TEXT) == [{"text": outcome.answer}]


@pytest.mark.parametrize("dead", [Unavailable("it is down"), ModelReply("")])
async def test_a_model_that_never_replied_ends_the_run_with_that_reason(dead: Any) -> None:
    """That the documents have nothing is said of the documents alone."""
    journal = MemoryJournal()
    with pytest.raises(NoReply if isinstance(dead, ModelReply) else Unavailable):
        await DocumentsHandler(Silent(), general(dead))(turn("the document"), journal)
    assert journal.of(EventKind.TEXT) == []


async def test_a_follow_up_is_asked_together_with_what_was_said() -> None:
    said = (ModelMessage("user", "When does the lease end?"), ModelMessage("assistant", "In May."))
    answers = Silent()
    for message in (
        "And what does the document say about its rent?",
        "Which document is about the new pump of Corvane?",
    ):
        await DocumentsHandler(answers, general("Hm."))(turn(message, history=said), MemoryJournal())
    assert answers.before == [("When does the lease end?", "In May."), ()]


async def test_a_failure_is_recorded_with_its_name() -> None:
    journal = MemoryJournal()
    with pytest.raises(Unavailable):
        await DocumentsHandler(Away(), NOBODY)(turn("the document"), journal)
    with pytest.raises(Unavailable, match="went away"):
        await DocumentsHandler(ScriptedAnswerer(), NOBODY)(turn("the document"), journal.again(replaying=True))


async def test_a_message_of_another_scope_asks_in_that_scope() -> None:
    answers, other = ScriptedAnswerer(), replace(SCOPE, principals=("user:bob@example.org",))
    await DocumentsHandler(answers, NOBODY)(turn("the document", scope=other), MemoryJournal())
    assert answers.asked[0][0] == other
