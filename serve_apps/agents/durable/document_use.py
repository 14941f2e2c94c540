"""Documents that a run used: the passages that its steps put before it, and the counting once its answer is stored."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from cluster.basics.scope import Scope
from cluster.state.work.run_record import RunStep
from pipelines.documents.usage.document_usage import AnswerUse, PassageUse, passages_used
from pipelines.documents.usage.usage_recorder import UsageRecorder
from serve_apps.agents.turn_errors import NoModel
from serve_apps.agents.turn_ports import Turn, TurnOutcome
from serve_apps.retrieval.answers.answerer import HITS

# Of an answered turn and the passages that it found; must not wait.
CountUse = Callable[[Turn, TurnOutcome, Iterable[PassageUse]], None]

_RETRIEVAL, _TOOL = "retrieval", "tool"
# Others may call their results passages, too, of documents that there are or not.
_SEARCH_TOOLS: Final = ("search_knowledge", "semantic_search", "search_graph", "query_tables", "extract_fields")
_SEARCHES: Final = frozenset((_TOOL, name) for name in _SEARCH_TOOLS)


def passages_found(step: RunStep) -> list[PassageUse]:
    """The passages that a step gave its run to answer from; none where nothing in them was an answer."""
    value = (step.reply or {}).get("ok")
    if not isinstance(value, Mapping) or (step.kind != _RETRIEVAL and (step.kind, step.name) not in _SEARCHES):
        return []
    found = value.get("passages", ())
    if "mode" in value:  # retrieval answered by itself: by a model that had all of it, or by what it cites
        found = value.get("sources", ())[:HITS] if value["mode"] == "generated" else value.get("citations", ())
    calculated = (value.get("calculation") or {}).get("document_ids", ())
    return [
        *(PassageUse(str(one), "", None, True) for one in calculated),
        *(_passage(one, cited=False) for one in found if isinstance(one, Mapping) and one.get("document_id")),
    ]


def count_answers(recorder: UsageRecorder, clock: Callable[[], datetime]) -> CountUse:
    """Counts what answers of agents used. A turn that only says that it has no answer used nothing."""

    def count(turn: Turn, outcome: TurnOutcome, found: Iterable[PassageUse]) -> None:
        if not outcome.answer or any(line.get("outcome") == NoModel.code for line in outcome.trace):
            return
        cited = [_passage(one, cited=True) for one in outcome.citations]
        scope = Scope.of_worker(turn.scope.tenant, turn.scope.workspace)
        recorder.record(AnswerUse(scope, turn.run, passages_used(found, cited), clock()))

    return count


def _passage(one: Mapping[str, Any], *, cited: bool) -> PassageUse:
    score = one.get("score")
    relevance = float(score) if isinstance(score, int | float) else None
    return PassageUse(str(one["document_id"]), str(one.get("chunk_id") or ""), relevance, cited)
