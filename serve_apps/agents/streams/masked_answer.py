"""The answer of a run as its workspace's policies show it: every event, every piece, and the outcome."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from cluster.state.canonical_json import normalize_json
from pipelines.documents.privacy.answer_masks import AnswerMask, MaskedDeltas
from pipelines.documents.privacy.answer_rules import rules_from_json
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn_ports import Turn, TurnOutcome

ANSWERS: Final = "answer_rules"  # of a turn's options: the rules that it began with
# What says how a turn goes, and what a person decides on: who approves an action sees the action. A DONE is made of an
# outcome that is masked already.
_AS_IT_IS = frozenset(
    {EventKind.STATUS, EventKind.ROUTE, EventKind.MODEL, EventKind.USAGE, EventKind.DONE}
    | {EventKind.APPROVAL_REQUIRED, EventKind.APPROVAL_DECIDED, EventKind.INPUT_GIVEN}
)


def mask_of_turn(turn: Turn) -> AnswerMask | None:
    """The mask of a turn's answer; None where nothing is looked for."""
    rules = rules_from_json(turn.options.get(ANSWERS, ()))
    return AnswerMask(rules) if rules else None


class MaskedAnswer:
    """What a run tells, without what its reader is not to see."""

    def __init__(self, mask: AnswerMask) -> None:
        """`mask` counts what the answer has."""
        self._mask = mask
        self._deltas, self._drafts = MaskedDeltas(mask), MaskedDeltas(mask, unknown=True)
        self._texts: list[tuple[str, str]] = []

    def event(self, kind: EventKind, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data of a whole event."""
        if kind in _AS_IT_IS:
            return data
        self._mask.note_sources(data)
        if kind is EventKind.FALLBACK:
            self._drafts.reset()  # whoever is asked instead begins anew
        if kind is not EventKind.TEXT:
            return normalize_json(self._mask.json(data))
        shown = self._mask.text(str(data["text"]), counted=True)
        self._texts.append((str(data["text"]), shown))
        self._drafts.reset()
        return {**data, "text": shown}

    def mask_delta(self, text: str) -> str:
        """What of a text that is being written can be shown now."""
        return self._deltas.feed(text) if self._mask.takes else text

    def draft(self, text: str) -> str:
        """As `mask_delta`; of a draft nobody knows yet what it rests on."""
        return self._drafts.feed(text) if self._mask.takes else text

    def restart_text(self) -> None:
        """What is shown from here on is another text."""
        self._deltas.reset()

    def outcome(self, outcome: TurnOutcome) -> TurnOutcome:
        """The outcome as it is told and stored. Calls of the client's own tools stay: it would call with masks."""
        same = outcome.answer == "".join(raw for raw, _ in self._texts)
        answer = "".join(shown for _, shown in self._texts) if same else self._mask.text(outcome.answer, counted=True)
        citations, trace = (tuple(self._mask.json(one)) for one in (outcome.citations, outcome.trace))
        told = self._mask.told
        return replace(outcome, answer=answer, citations=citations, trace=trace, personal_data=told)
