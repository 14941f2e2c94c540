"""Personal data in answers: masked or marked on its way to the reader, also where it comes in pieces."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.privacy.kinds import PersonalDataMatch
from pipelines.documents.privacy.mask_cuts import next_cut
from pipelines.documents.privacy.personal_data import find_personal_data, widened

AROUND = 200  # characters before a piece that may say what a number in it is
_CLASS = "classification"  # a field that says of which class a source is
_BIG = 10**7  # smaller numbers have too few digits for any kind
# Names of fields that say nothing of what stands in them, though they have words of calling and writing.
_PLAIN = frozenset({"text", "answer", "quote", "message", "content", "excerpt", "result", "detail", "note", "label"})
# Fields whose values are ours, and which a client needs as they are.
_OURS = frozenset(
    {"id", "n", "url", "page", "start", "end", "boxes", "score", "scores", "spans", "digest", "generation", "seq", "ms"}
    | {"document_id", "version_id", "chunk_id", "run_id", "session_id", "agent_id", "document_ids", "expires_at", "at"}
    | {"fingerprint", "file_hash", "kind", "tier", "step", _CLASS}
)
# Fields below which the names are those of tools: what we exempt elsewhere may be anything there.
_FOREIGN = frozenset({"result", "arguments"})
_WORD = re.compile(r"[a-z_]{1,40}")  # a name that holds no personal data
_IDENTIFIER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")


class AnswerMask:
    """The mask of one answer. What is shown of a text is a function of the text alone, however it was cut into pieces.

    Attributes:
        masked, marked: how many finds of each kind were taken away from the answer, or only counted in it.
    """

    def __init__(self, rules: Sequence[AnswerRule]) -> None:
        """`rules`: of each find the strictest one counts."""
        self._rules = tuple(rules)
        self._classes: set[str] = set()
        self.masked: Counter[str] = Counter()
        self.marked: Counter[str] = Counter()

    def of_source(self, classification: str | None) -> "AnswerMask":
        """The mask of what comes from one source alone."""
        one = AnswerMask(self._rules)
        one.note_sources({_CLASS: classification})
        return one

    def note_sources(self, value: Any) -> None:
        """Learn of which classes the sources are that an answer may rest on."""
        self._classes |= classes_in(value)

    def text(self, text: str, *, counted: bool = False, unknown: bool = False) -> str:
        """The whole text as it is shown; `counted`: it is the answer. `unknown`: nobody knows yet what it rests on."""
        pieces, at = [], 0
        while at < len(text):
            end = next_cut(text, at) or len(text)
            pieces.append(self.piece(text, at, end, counted=counted, unknown=unknown))
            at = end
        return "".join(pieces)

    def piece(self, text: str, start: int, end: int, *, counted: bool = False, unknown: bool = False) -> str:
        """text[start:end] as it is shown, where both are cuts of `next_cut`."""
        before, shown = text[max(0, start - AROUND) : start], text[start:end]
        edge = len(before)
        # What is masked may bring two neighbours together that make a new find; each round takes more characters away.
        for round_ in count():
            found = [one for one in find_personal_data(before + shown) if one.start >= edge]
            masked = [one for one in found if self._action(one, unknown) == "mask"]
            if counted:
                self.masked.update(str(one.kind) for one in masked)
                if round_ == 0:
                    self.marked.update(str(one.kind) for one in found if self._action(one, unknown) == "mark")
            if not masked:
                break
            wide = widened(masked, round_, edge + len(shown))
            # What stands before the edge was shown already.
            shown = _without(shown, [replace(one, start=max(edge, one.start)) for one in wide], edge)
        return shown

    def json(self, value: Any, name: str = "", *, unknown: bool = False, foreign: bool = False) -> Any:
        """A JSON value as it is shown; the name of a field may say what stands in it.

        `foreign`: the names of its fields are not ours, as in what tools are given and say; names are masked there.
        """
        foreign = foreign or name in _FOREIGN
        if name in _OURS and (not foreign or _is_identifier(value)):
            return value
        if isinstance(value, str):
            return self._field(value, name, unknown)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _BIG:
            shown = self.json(str(value), name, unknown=unknown, foreign=foreign)
            return value if shown == str(value) else shown
        if isinstance(value, Mapping):
            shown = {}
            for key, inner in value.items():
                told = self._name(str(key), shown, unknown) if foreign else key
                shown[told] = self.json(inner, str(key), unknown=unknown, foreign=foreign)
            return shown
        if isinstance(value, list | tuple):
            return [self.json(inner, name, unknown=unknown, foreign=foreign) for inner in value]
        return value

    def _field(self, value: str, name: str, unknown: bool) -> str:
        lead = f"{name.replace('_', ' ')}: " if name and name not in _PLAIN else ""
        shown = self.text(lead + value, unknown=unknown)
        if not shown.startswith(lead):
            lead = self.text(lead, unknown=unknown)  # the name has personal data in it itself
            shown = self.text(lead + value, unknown=unknown)
        return shown[len(lead) :] if shown.startswith(lead) else self.text(value, unknown=unknown)

    def _name(self, name: str, others: Mapping[str, Any], unknown: bool) -> str:
        """The name of a field as it is shown, another than those of `others`: no field takes the place of another."""
        shown = name if _WORD.fullmatch(name) else self.text(name, unknown=unknown)
        again = (f"{shown} ({number})" for number in count(2))
        return shown if shown not in others else next(one for one in again if one not in others)

    @property
    def takes(self) -> bool:
        """Something may be taken away."""
        return any(rule.action == "mask" for rule in self._rules)

    @property
    def told(self) -> dict[str, dict[str, int]]:
        """What an answer says of it: finds by kind, under `masked` and `marked`; empty where there was none."""
        counts = {"masked": self.masked, "marked": self.marked}
        return {name: dict(sorted(found.items())) for name, found in counts.items() if found}

    def _action(self, one: PersonalDataMatch, unknown: bool) -> str:
        classes = None if unknown else frozenset(self._classes)
        actions = {rule.action for rule in self._rules if rule.covers(one.kind, classes)}
        return "mask" if "mask" in actions else "mark" if "mark" in actions else "none"


class MaskedDeltas:
    """A text that is shown while it is written: its last words are held back until nothing can be cut in two."""

    def __init__(self, mask: AnswerMask, *, unknown: bool = False) -> None:
        """`unknown` as of `AnswerMask.text`."""
        self._mask, self._unknown = mask, unknown
        self._text, self._at, self._looked = "", 0, 0

    def feed(self, text: str) -> str:
        """What can be shown now that this has come."""
        self._text += text
        shown = []
        while (end := next_cut(self._text, self._at, self._looked)) is not None:
            shown.append(self._mask.piece(self._text, self._at, end, unknown=self._unknown))
            self._at = self._looked = end
        self._looked = max(self._at, len(self._text) - 1)  # what comes next decides on the last place alone
        return "".join(shown)

    def reset(self) -> None:
        """Another text begins."""
        self._text, self._at, self._looked = "", 0, 0


def classes_in(value: Any) -> set[str]:
    """The classes that a JSON value says its sources are of."""
    if isinstance(value, Mapping):
        own = {found} if isinstance(found := value.get(_CLASS), str) else set()
        return own.union(*map(classes_in, value.values()))
    return set().union(*map(classes_in, value)) if isinstance(value, list | tuple) else set()


def _is_identifier(value: Any) -> bool:
    """True for a number, a UUID and a hexadecimal digest."""
    return isinstance(value, int | float) or (isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None)


def _without(text: str, found: Sequence[PersonalDataMatch], edge: int) -> str:
    pieces, at = [], 0
    for one in found:
        pieces += [text[at : one.start - edge], f"[{one.kind}]"]
        at = one.end - edge
    return "".join([*pieces, text[at:]])
