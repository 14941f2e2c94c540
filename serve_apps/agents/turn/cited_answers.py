"""Cited answers of agents, kept with the run that gave them: its id leads from a claim to the page it rests on."""

from cluster.state.db.postgres import Transaction
from serve_apps.agents.durable.run_loop import Kept as After
from serve_apps.agents.durable.run_loop import Remember
from serve_apps.agents.memory.memory_guard import masked
from serve_apps.agents.streams.masked_answer import mask_of_turn
from serve_apps.agents.turn_ports import Turn, TurnOutcome
from serve_apps.retrieval.answers.claims import of_lines, of_text
from serve_apps.retrieval.answers.stored_answers import AnswerRecord, StoredAnswers


def store_cited_answers(remember: Remember, answers: StoredAnswers) -> Remember:
    """As `remember`; an answer with citations is also stored as one, in the same transaction."""

    async def remembered(tx: Transaction, turn: Turn, outcome: TurnOutcome) -> After | None:
        after = await remember(tx, turn, outcome)
        if outcome.citations:
            kept = _cited_answer(turn, outcome, await masked(turn.message))
            await answers.put(tx, turn.scope, kept, mask_of_turn(turn))
        return after

    return remembered


def _cited_answer(turn: Turn, outcome: TurnOutcome, question: str) -> AnswerRecord:
    """The DOCUMENTS path says in its trace how it answered; elsewhere a model did. The question is as it is stored."""
    known = {int(one["n"]) for one in outcome.citations}
    traced = {str(line.get("step")): line for line in outcome.trace}
    documents, model = traced.get("documents", {}), traced.get("model", {})
    bases = documents.get("bases")
    claims = of_lines(outcome.answer, bases, known) if bases else of_text(outcome.answer, known)
    mode = "extractive" if documents.get("outcome") == "extractive" else "generated"
    return AnswerRecord(
        turn.run,
        question,
        mode,
        claims,
        outcome.citations,
        agent=turn.agent.id,
        run=turn.run,
        model=documents.get("model") or model.get("connection"),
        fallback=documents.get("fallback"),
        generation=documents.get("generation"),
        calculation=documents.get("calculation"),
        classification=outcome.classification,
    )
