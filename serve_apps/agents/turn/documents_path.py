"""The DOCUMENTS path: the answer that retrieval gives, as one recorded step; where it has none, GENERAL goes on."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from cluster.basics.errors import AosError
from pipelines.documents.privacy.answer_rules import UNKNOWN_CLASS
from pipelines.documents.store.page_codec import placed_to_json
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.path_router import command_of
from serve_apps.agents.turn.knowledge import class_of
from serve_apps.agents.turn.limits import ENDINGS
from serve_apps.agents.turn_errors import NoModel
from serve_apps.agents.turn_ports import Journal, Json, Turn, TurnHandler, TurnOutcome, TurnPath
from serve_apps.retrieval.answers.answerer import COMMAND_ONLY, CitedAnswer
from serve_apps.retrieval.answers.claims import left_out
from serve_apps.retrieval.answers.follow_up import LAST, is_follow_up
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.answers.stored_answers import calculation_json
from serve_apps.retrieval.cache.cached_search import AnswerPort
from serve_apps.retrieval.overviews.overview_request import find_overview_request
from serve_apps.retrieval.search.query import SearchHit

SURE, DOUBTED = 0.9, 0.6  # confidence, and where something that a model wrote was taken out
SHOWN_CLAIM = 200  # characters of what was taken out
NEAREST = 5  # documents that are named where none answers
_CITED = ("n", "chunk_id", "document_id", "version_id", "filename", "page", "quote", "start", "end", "ocr_confidence")
_FOUND = ("chunk_id", "document_id", "version_id", "filename", "page", "score")
_ALONE = (
    "No language model is configured, so I can only show what is there: sentences of the documents that answer a "
    "question asked in their words, passages by their words and meaning (/search), and figures of this workspace such "
    "as documents, jobs and runs (/metrics). Summaries, conversation and tasks need a model: an administrator adds a "
    "connection, or sets LLM_BASE_URL and LLM_DEFAULT_MODEL."
)


class DocumentsHandler:
    """A `Handler`."""

    def __init__(self, answers: AnswerPort, general: TurnHandler) -> None:
        """`answers` checks every quote against its page before it gives it; `general` goes on where it has none."""
        self._answers, self._general = answers, general

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """Answer with citations. Where nothing supports an answer, FALLBACK says so and the turn goes on as GENERAL.

        Raises:
            ApprovalPending: a person has to decide first.
            Unavailable, Overloaded: of Postgres, as recorded.
            OverBudget, NoReply, Unavailable, Overloaded, Invalid: GENERAL has no model that answers.
        """
        _, question = command_of(turn.message)
        said = tuple(one.content for one in turn.history[-LAST:])
        overview = find_overview_request(question)
        leans = is_follow_up(question) or (overview is not None and not overview.subject)
        history = said if leans else ()

        async def ask(_: str) -> Json:
            return _as_json(await self._answers.ask(turn.scope, question, turn.agent.id, history, journal.draft))

        request: dict[str, Json] = {"question": question, "agent": turn.agent.id}
        request |= {"history": list(history)} if history else {}
        given = await journal.step("retrieval", "answer", request, ask)
        named = ("model", "fallback", "generation", "calculation")
        told = {name: given[name] for name in named if given.get(name) is not None}
        bases = given.get("bases", ())  # a run from before it was recorded has none
        line = {"step": "documents", "outcome": given["mode"], "sources": len(given["sources"]), "bases": bases, **told}
        _emit_model_call(journal, given)
        if given["mode"] == "not_found":
            return await self._handed_over(replace(turn, message=question or turn.message), journal, given, line)
        _emit_retrieved(journal, given)
        for cited in given["citations"]:
            journal.emit(EventKind.CITATION, **cited)
        journal.emit(EventKind.TEXT, text=given["text"])
        dropped = given.get("dropped", ())
        sure = DOUBTED if dropped and given["mode"] == "generated" else SURE
        removed = ({"step": "claim_removed", **one} for one in dropped)
        return TurnOutcome(given["text"], "stop", sure, tuple(given["citations"]), (line, *removed))

    async def _handed_over(self, turn: Turn, journal: Journal, given: Json, line: dict[str, Json]) -> TurnOutcome:
        """Outcome of GENERAL after a fallback; without a model, the nearest documents."""
        why = given.get("why") or given["text"]
        journal.emit(EventKind.FALLBACK, left=str(TurnPath.DOCUMENTS), taken=str(TurnPath.GENERAL), why=why)
        line = {**line, "handed_to": str(TurnPath.GENERAL), "why": why}
        try:
            outcome = await self._general(turn, journal)
        except ENDINGS:
            raise
        except AosError as error:
            if error.code != NoModel.code:  # recorded errors keep their code, not their class
                raise
        else:
            return replace(outcome, trace=(line, *outcome.trace))
        _emit_retrieved(journal, given)
        text = "\n\n".join([_nearest_text(given["sources"], why), _ALONE])
        journal.emit(EventKind.TEXT, text=text)
        return TurnOutcome(text, "stop", 0.5, (), (line, {"step": "model", "outcome": NoModel.code}))


def _emit_model_call(journal: Journal, given: Json) -> None:
    """Tell which connections were left for another, which one wrote the answer, and what that took."""
    for left in given.get("left", ()):
        journal.emit(EventKind.FALLBACK, **left)
    if spent := given.get("spent"):
        tokens = {name: spent[name] for name in ("prompt_tokens", "completion_tokens", "cost_usd", "connection")}
        journal.emit(EventKind.USAGE, **tokens)


def _emit_retrieved(journal: Journal, given: Json) -> None:
    told = {name: given[name] for name in ("sources", "generation", "fallback", "classification") if name in given}
    journal.emit(EventKind.RETRIEVED, **told)


def _nearest_text(sources: Sequence[Json], why: str) -> str:
    """Text that names the nearest documents, without the claim that they answer."""
    if why == COMMAND_ONLY:
        return f"I did not search the documents: {why}."
    if not sources:
        return f"I found nothing about this in the documents: {why}."
    shown = dict.fromkeys(f"- {one['filename']}, page {one['page']}" for one in sources)
    return "\n".join(
        ["No sentence of the documents answers this by itself. Nearest to it are:", *list(shown)[:NEAREST]]
    )


def _as_json(answer: CitedAnswer) -> Json:
    return {
        "text": answer.text,
        "why": answer.abstained,
        "mode": answer.mode,
        "dropped": [{"text": one.text[:SHOWN_CLAIM], "why": one.why} for one in answer.dropped if left_out([one])],
        "bases": [one.basis for one in answer.claims],
        "model": answer.model,
        "fallback": answer.fallback,
        "generation": answer.search.generation,
        "sources": [_source_data(n, hit) for n, hit in enumerate(answer.search.hits, 1)],
        "citations": [_citation_data(cited) for cited in answer.citations],
        **({"calculation": calculation_json(answer.calculation)} if answer.calculation else {}),
        # It is made of rows of other documents than those that were found.
        **({"classification": UNKNOWN_CLASS} if answer.calculation else {}),
        **({"spent": answer.spend.figures} if answer.spend else {}),
        **({"left": [asdict(one) for one in answer.left]} if answer.left else {}),
    }


def _source_data(n: int, hit: SearchHit) -> Json:
    return {"n": n, **{name: getattr(hit, name) for name in _FOUND}, **class_of(hit)}


def _citation_data(cited: Citation) -> Json:
    """The data of a CITATION event: the same fields as the HTTP API's citations."""
    boxes = [[one.page, one.box.x0, one.box.y0, one.box.x1, one.box.y1] for one in cited.boxes]
    told = {"boxes": boxes, "caveats": placed_to_json(cited.caveats), "url": cited.url}
    return {**{name: getattr(cited, name) for name in _CITED}, **told}
