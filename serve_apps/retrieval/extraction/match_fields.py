"""Matches fields to candidates: by the words of names, descriptions and labels, and by whether the value fits."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import FoundValue, TextPlace
from serve_apps.retrieval.extraction.field_words import FieldWords, best_agreement, split_name
from serve_apps.retrieval.extraction.schema_fields import SchemaField
from serve_apps.retrieval.extraction.time_limit import NOT_IN_TIME, UNLIMITED, TimeLimit
from serve_apps.retrieval.extraction.typed_values import TypedValue, convert_text, states_day, wants_day

LEAST: Final = 0.5  # score from which on a candidate is taken
SURE: Final = 0.68  # and from which on without a doubt
CLOSE: Final = 0.03  # of scores of two candidates that nothing tells apart
AROUND: Final = 0.75  # weight of a word that stands only around a candidate, not in its label
BY_DESCRIPTION: Final = 0.92  # weight of a match by the description's words instead of the name's
_CALCULATED = re.compile(
    r"\b(?:sum|average|mean|median|count|difference|ratio) of\b|\b(?:computed|calculated)\b"
    r"|\bnumber of \w+ (?:whose|that|with|where)\b",
    re.IGNORECASE,
)
_DAY_WORDS = ("date", "day", "datum", "on", "at")
_SUM_WORDS = ("amount", "value", "sum", "number", "price")
_CODE_WORDS = ("number", "no", "id", "code", "reference", "identifier")
_NAME_WORDS = ("name", "text", "title")


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """A candidate for a field, and how well it fits, 0 to 1."""

    field: SchemaField
    candidate: FieldCandidate
    typed: TypedValue
    score: float

    @property
    def place(self) -> TextPlace:
        """Of the characters that the value was made of."""
        start = self.candidate.place.start
        return TextPlace(self.candidate.place.page, start + self.typed.start, start + self.typed.end)


class CandidatePool:
    """Candidates by the words of their labels and of what is around them."""

    def __init__(self, candidates: Iterable[FieldCandidate]) -> None:
        self._all = [(one, split_name(one.label), split_name(one.around)) for one in candidates]
        self._by_word: dict[str, list[int]] = {}
        for at, (_, label, around) in enumerate(self._all):
            for word in {*label, *around}:
                self._by_word.setdefault(word, []).append(at)

    def named(self, words: FieldWords) -> Iterator[tuple[FieldCandidate, tuple[str, ...], tuple[str, ...]]]:
        """Those of which a word means what one of a field's does, with their words."""
        wanted = {*words.name, *words.description}
        known = {at for word, places in self._by_word.items() if best_agreement(word, wanted) for at in places}
        return (self._all[at] for at in sorted(known))


def match_fields(
    fields: Sequence[SchemaField], pool: CandidatePool, context: str = "", limit: TimeLimit = UNLIMITED
) -> Mapping[str, FoundValue]:
    """The values of fields by their names; a candidate is the value of one field only.

    Args:
        context: names of the objects that the fields are in.
        limit: fields whose turn comes after it have no value, and say so.
    """
    made, found = dict[str, FoundValue](), list[FieldMatch]()
    for field in fields:
        if limit.is_over:
            made[field.name] = FoundValue(None, None, "facts", NOT_IN_TIME)
        else:
            found += rank_candidates(field, pool, context)
    chosen: dict[str, FieldMatch] = {}
    taken: set[tuple[int, int, int]] = set()
    for match in sorted(found, key=lambda one: -one.score):
        key = (match.place.page, match.place.start, match.place.end)
        if match.field.name not in chosen and key not in taken:
            chosen[match.field.name] = match
            taken.add(key)
    for name, match in chosen.items():
        rivals = [one for one in found if one.field.name == name and one.typed.value != match.typed.value]
        made[name] = FoundValue(match.typed.value, match.place, "facts", _doubt_of(match, rivals))
    return made


def rank_candidates(field: SchemaField, pool: CandidatePool, context: str = "") -> list[FieldMatch]:
    """The candidates that may be a field's value, best first."""
    words, outer = FieldWords.of(field), split_name(context)
    found = []
    for one, label, around in pool.named(words):
        score = score_label(field, words, one, label, around, outer)
        if score < LEAST:
            continue
        typed = convert_text(field, one.text, one.beside)
        if typed is not None and typed.value not in ("", None):
            found.append(FieldMatch(field, one, typed, score))
    return sorted(found, key=lambda one: -one.score)


def score_label(
    field: SchemaField,
    words: FieldWords,
    one: FieldCandidate,
    label: Sequence[str],
    around: Sequence[str] = (),
    outer: Sequence[str] = (),
) -> float:
    """How well what a candidate is called fits what a field is called, 0 to 1.

    `label`, `around`: the words of the candidate's own; `outer`: of the objects that the field is in.
    """
    if not label and not around:
        return 0.0
    implied = _implied_words(field, one.text)
    by_name = _both_ways(words.name, (*words.description, *outer), label, around, implied)
    told = tuple(dict.fromkeys((*words.description, *words.name)))
    by_description = _both_ways(words.description, told, label, around, implied) if words.description else 0.0
    bonus = 0.06 * max((best_agreement(word, (*label, *around)) for word in outer), default=0.0)
    return min(1.0, max(by_name, BY_DESCRIPTION * by_description) * one.weight + bonus)


def _both_ways(
    wanted: Sequence[str], also: Sequence[str], label: Sequence[str], around: Sequence[str], implied: Sequence[str]
) -> float:
    """Mean of how much of what is wanted is said, and how much of what the label says is wanted."""
    said = 0.0
    shares = []
    for word in wanted:
        spoken = max(best_agreement(word, label), AROUND * best_agreement(word, around))
        said = max(said, spoken)
        shares.append(max(spoken, best_agreement(word, implied)))
    # What only its form implies is no name: a date is not the one that is wanted because it is a date.
    if said < AROUND * 0.7 or not shares:
        return 0.0
    own = label or around
    precise = [max(best_agreement(word, wanted), 0.85 * best_agreement(word, also)) for word in own]
    return 0.55 * sum(shares) / len(shares) + 0.45 * sum(precise) / len(precise)


def _implied_words(field: SchemaField, text: str) -> tuple[str, ...]:
    """Words of a field's name that the form of a value says as well."""
    found: tuple[str, ...] = ()
    if wants_day(field) and states_day(text):
        found += _DAY_WORDS
    if field.types & {"number", "integer"}:
        found += _SUM_WORDS
    elif any(char.isdigit() for char in text) and not states_day(text):
        found += _CODE_WORDS
    elif text[:1].isupper():
        found += _NAME_WORDS
    return found


def _doubt_of(match: FieldMatch, rivals: Sequence[FieldMatch]) -> str:
    reasons = [match.typed.doubt] if match.typed.doubt else []
    if _CALCULATED.search(match.field.description):
        reasons.append("it is to be calculated, and this is a value as it stands there")
    close = [one for one in rivals if one.score >= match.score - CLOSE]
    if close:
        reasons.append(f"could also be {str(close[0].typed.value)[:80]!r}, whose label fits as well")
    elif match.score < SURE:
        reasons.append(f"its label {' '.join(match.candidate.label.split())[:80]!r} fits only in part")
    return "; ".join(reasons)
