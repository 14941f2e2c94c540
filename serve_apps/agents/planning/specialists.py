"""The six specialists, each only if planned: retrieval, reasoning, critique, memory, formula verification, action."""

import asyncio
from importlib import import_module
from typing import Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.models.routing.tasks import Task
from serve_apps.agents.events import EventKind
from serve_apps.agents.planning import action, prompts
from serve_apps.agents.planning.aloud import Reasoned, reason_aloud
from serve_apps.agents.planning.shape import PlanStep, StepExecutor, validation_problems
from serve_apps.agents.planning.work import PlannedTurn, StepResult
from serve_apps.agents.turn.knowledge import RETRIEVAL
from serve_apps.agents.turn.limits import in_time
from serve_apps.agents.turn.prompt import frame_passages
from serve_apps.agents.turn_ports import Json
from serve_apps.retrieval.search.query import LEAST_SIMILARITY, Strategy

FORMULA_SECONDS = 5.0
MOST_PASSAGES = 20
_CHUNK = ("n", "chunk_id", "score", "text")
_SHOWN = ("document_id", "version_id", "chunk_id", "filename", "page", "score")


class ClaimVerification(BaseModel):
    """One claim of a draft."""

    claim: str
    supported: bool
    source_chunk_id: str | None = None
    note: str = ""


class CritiqueReply(BaseModel):
    """Reply of the critique specialist."""

    model_config = ConfigDict(allow_inf_nan=False)
    verdict: Literal["approved", "needs_revision"]
    confidence: float = Field(0.9, ge=0, le=1)
    verifications: list[ClaimVerification] = []
    revision_instructions: str = ""


class MemoryFact(BaseModel):
    """Something worth remembering."""

    category: Literal["decision", "topic", "preference", "open_question", "other"] = "other"
    fact: str = Field(min_length=1)
    importance: Literal["high", "medium", "low"] = "medium"


class MemoryReply(BaseModel):
    """Reply of the memory specialist."""

    facts: list[MemoryFact] = Field([], max_length=50)
    summary: str = ""


class FormulaArgs(BaseModel):
    """Arguments of formula verification."""

    model_config = ConfigDict(allow_inf_nan=False)
    formula: str = Field(min_length=1, max_length=2_000)
    values: dict[str, float] = Field({}, max_length=50)
    result: float | None = None
    reference: str | None = Field(None, max_length=2_000)


async def carry_out(work: PlannedTurn, step: PlanStep) -> StepResult:
    """Run a step's specialist.

    Raises AosError of models, tools and searches, by name, ApprovalPending where a person has to decide first.
    """
    executor = StepExecutor(step.executor)
    match executor:
        case StepExecutor.RETRIEVAL:
            return await _retrieve_passages(work, step)
        case StepExecutor.REASONING:
            return await _write_answer(work, step)
        case StepExecutor.CRITIQUE:
            return await _critique_draft(work, step)
        case StepExecutor.MEMORY:
            return await _extract_facts(work, step)
        case StepExecutor.FORMULA:
            return await _verify_formula(work, step)
        case StepExecutor.ACTION:
            return await action.run_action(work, step)
        case _:
            assert_never(executor)


async def _retrieve_passages(work: PlannedTurn, step: PlanStep) -> StepResult:
    """{chunks: [{chunk_id, score, text, source}]} of the agent's documents; they become sources of the answer.

    The plan may name a strategy, `vector`, `keyword` or `hybrid`; documents take turns. A least similarity holds where
    meaning alone decides: what was found by its words may be far from the question.
    """
    if not work.turn.options.get("use_rag", True):
        return StepResult(step, error="refused: the documents are switched off for this turn")
    args = work.fill(step.args)
    query = str(args.get("query") or work.turn.message).strip()
    limit = args.get("top_k")
    limit = min(limit, MOST_PASSAGES) if type(limit) is int and limit > 0 else 5
    agent = work.turn.agent.id

    strategy = args.get("strategy")
    named: Strategy = strategy if strategy in ("vector", "keyword") else "hybrid"
    least = LEAST_SIMILARITY["conversation"] if named == "vector" else None

    async def search(_: str) -> Json:
        find = work.services.knowledge.find
        return await find(work.turn.scope, agent, query, limit, least, named, round_robin=True, least_share=0)

    request = {"query": query, "agent": agent, "limit": limit} | ({} if named == "hybrid" else {"strategy": named})
    found = await work.journal.step(RETRIEVAL, "plan", request, search)
    known = work.sources.add(found["passages"])
    work.journal.emit(
        EventKind.RETRIEVED,
        sources=[{"n": one.n, **{name: getattr(one, name) for name in _SHOWN}} for one in known],
        generation=found["generation"],
        fallback=found["fallback"],
    )
    chunks = [{name: getattr(one, name) for name in _CHUNK} | {"source": one.title} for one in known]
    return StepResult(step, {"chunks": chunks}, frame_passages(known, prompts.LONGEST_PASSAGE))


async def _write_answer(work: PlannedTurn, step: PlanStep, instructions: str = "") -> StepResult:
    """{answer, steps, context_adequacy, confidence}; prose in place of JSON is an answer that nobody vouches for.

    That of a plan's last step is shown while it is written.
    """
    task = " ".join(part for part in (step.action, step.label, step.description) if part)
    if instructions:
        task = f"{task}\nRevise your draft: {instructions}"
    messages = prompts.step_prompt(
        prompts.REASONING, work.turn, task=task, results=_other_results(work, step), sources=work.sources.all()
    )
    told = await reason_aloud(work, step, messages) if work.last else None
    if isinstance(told, StepResult):
        return told
    found, said = await work.ask_for(Reasoned, Task.REASONING, messages, heard=told)
    if found is None:
        output = Reasoned(answer=said.strip() or "-", context_adequacy="insufficient", confidence=0.5)
        return StepResult(step, output.model_dump() | {"unread": True}, said.strip())
    return StepResult(step, found.model_dump(), found.answer)


async def _critique_draft(work: PlannedTurn, step: PlanStep) -> StepResult:
    """{verdict, confidence, verifications, revision_instructions}; a draft that needs it is revised once, at once."""
    draft = last_draft(work)
    if draft is None:
        return StepResult(step, error="no_draft: there is no answer to review yet")
    task, results = f"Review this draft:\n{draft.text}", _other_results(work, step)
    sources = work.sources.all()
    messages = prompts.step_prompt(prompts.CRITIQUE, work.turn, task=task, results=results, sources=sources)
    found, _ = await work.ask_for(CritiqueReply, Task.REASONING, messages)
    if found is None:
        return StepResult(step, {"verdict": "not_verified", "confidence": 0.0}, "The review could not be understood.")
    if found.verdict == "needs_revision":
        wanted = found.revision_instructions or "support each claim or leave it out"
        revised = await _write_answer(work, draft.step, wanted)
        draft.output, draft.text = revised.output, revised.text
    return StepResult(step, found.model_dump(), f"{found.verdict}. {found.revision_instructions}".strip())


async def _extract_facts(work: PlannedTurn, step: PlanStep) -> StepResult:
    """{facts, summary} of the conversation."""
    messages = prompts.step_prompt(prompts.MEMORY, work.turn, task=step.description or step.label)
    found, _ = await work.ask_for(MemoryReply, Task.EXTRACT, messages)
    if found is None:
        return StepResult(step, error="unread: the facts could not be read")
    text = "\n".join([*(f"- {one.category}: {one.fact}" for one in found.facts), found.summary]).strip()
    return StepResult(step, found.model_dump(), text or "nothing to remember")


async def _verify_formula(work: PlannedTurn, step: PlanStep) -> StepResult:
    """{verdict, confidence, explanation, corrected_formula}; its text is the formula that is to be used."""
    try:
        args = FormulaArgs.model_validate(work.fill(step.args))
    except ValidationError as error:
        return StepResult(step, error=f"bad_arguments: {validation_problems(error)}")
    given = args.model_dump()

    async def judge(_: str) -> Json:
        formulas = await asyncio.to_thread(import_module, "serve_apps.agents.planning.formula")  # sympy is 34 MB
        verified = asyncio.to_thread(formulas.verify_formula, args.formula, args.values, args.result, args.reference)
        return dict((await in_time(verified, FORMULA_SECONDS, "the formula")).data)

    judged = await work.journal.step("formula", "verify", given, judge)
    return StepResult(step, judged, str(judged["corrected_formula"] or args.formula))


def last_draft(work: PlannedTurn) -> StepResult | None:
    """The last answer that reasoning gave."""
    answers = [one for one in work.results.values() if one.step.executor == StepExecutor.REASONING and one.usable]
    return answers[-1] if answers else None


def _other_results(work: PlannedTurn, step: PlanStep) -> list[tuple[str, str]]:
    """Other steps' results that a step reads; passages are left out, as it is shown them as sources."""
    return [
        (name, text)
        for name, text in work.earlier(step)
        if work.results[name].step.executor != StepExecutor.RETRIEVAL and work.results[name].step is not step
    ]
