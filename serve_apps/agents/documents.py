"""The DOCUMENTS path: the answer that retrieval gives, with its sources and citations, as one recorded step."""

from typing import Protocol

from cluster.basics.scope import Scope
from pipelines.documents.codec import placed_to_json
from serve_apps.agents.events import EventKind
from serve_apps.agents.ports import Journal, Json, Outcome, Turn
from serve_apps.agents.route import command_of
from serve_apps.retrieval.answer import Answer
from serve_apps.retrieval.query import Hit
from serve_apps.retrieval.quote import Citation

_CITED = ("n", "chunk_id", "document_id", "version_id", "filename", "page", "quote", "start", "end", "ocr_confidence")
_FOUND = ("chunk_id", "document_id", "version_id", "filename", "page", "score")


class Answers(Protocol):
    """Answers from the documents; `retrieval.answer.Answerer` is the one with an index."""

    async def ask(self, scope: Scope, question: str, agent_id: str | None) -> Answer:
        """Answer from what the scope may see and, with an agent, from what is linked to it."""
        ...


class Documents:
    """A `Handler`."""

    def __init__(self, answers: Answers) -> None:
        """`answers` checks every quote against its page before it gives it."""
        self._answers = answers

    async def __call__(self, turn: Turn, journal: Journal) -> Outcome:
        """Answer with citations, or say that nothing supports an answer.

        Raises:
            Unavailable, Overloaded: of Postgres, as recorded.
        """
        _, question = command_of(turn.message)

        async def ask(_: str) -> Json:
            return _as_json(await self._answers.ask(turn.scope, question, turn.agent.id))

        given = await journal.step("retrieval", "answer", {"question": question, "agent": turn.agent.id}, ask)
        journal.emit(
            EventKind.RETRIEVED,
            sources=given["sources"],
            generation=given["generation"],
            fallback=given["fallback"],
        )
        for cited in given["citations"]:
            journal.emit(EventKind.CITATION, **cited)
        journal.emit(EventKind.TEXT, text=given["text"])
        told = {name: given[name] for name in ("model", "fallback", "generation") if given[name] is not None}
        bases = given.get("bases", ())  # a run from before it was recorded has none
        line = {"step": "documents", "outcome": given["mode"], "sources": len(given["sources"]), "bases": bases, **told}
        found = given["mode"] != "not_found"
        return Outcome(given["text"], "stop", 0.9 if found else 0.5, tuple(given["citations"]), (line,))


def _as_json(answer: Answer) -> Json:
    return {
        "text": answer.text,
        "mode": answer.mode,
        "bases": [one.basis for one in answer.claims],
        "model": answer.model,
        "fallback": answer.fallback,
        "generation": answer.search.generation,
        "sources": [_source(n, hit) for n, hit in enumerate(answer.search.hits, 1)],
        "citations": [_citation(cited) for cited in answer.citations],
    }


def _source(n: int, hit: Hit) -> Json:
    return {"n": n, **{name: getattr(hit, name) for name in _FOUND}}


def _citation(cited: Citation) -> Json:
    """The data of a CITATION event: the same fields as the HTTP API's citations."""
    boxes = [[one.page, one.box.x0, one.box.y0, one.box.x1, one.box.y1] for one in cited.boxes]
    told = {"boxes": boxes, "caveats": placed_to_json(cited.caveats), "url": cited.url}
    return {**{name: getattr(cited, name) for name in _CITED}, **told}
