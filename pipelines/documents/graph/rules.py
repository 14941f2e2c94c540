"""Entities by rule: known names, short forms, legal forms, titles, offices, places, and what stands beside a name.

Confidences are those of the specification: 0.6 where the name itself or a clear word beside it says what it is, 0.5
where only its form does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipelines.documents.graph import clues, context_rules
from pipelines.documents.graph.context_rules import LIKELY, SURE
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.graph.model import EntityType
from pipelines.documents.graph.names import find_expansion
from pipelines.documents.graph.places import Gazetteer
from pipelines.documents.graph.word_spans import SentenceSpan, WordSpan, are_adjacent

_LONGEST_RUN = 8
_SHORT = re.compile(r"[A-Z][A-Z0-9&]{1,9}s?")
_ACRONYM = re.compile(r"[A-Z]{2,5}s?")
_MIXED = re.compile(r"(?!Mc|Mac|De[A-Z]|Di[A-Z]|Le[A-Z]|La[A-Z]|Van[A-Z]|O'|D')[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*")


@dataclass(frozen=True, slots=True)
class NameOccurrence:
    """A name in a sentence: characters [start, end) of the page."""

    # None where only its capitals say that it is a name; its confidence is 0 where not even they do.
    type: EntityType | None
    name: str
    start: int
    end: int
    confidence: float
    alias: str | None = None  # the short form that stands in brackets behind it


class EntityRules:
    """Finds names in sentences; the same text gives the same names, in time linear in its length."""

    def __init__(self, lexicon: NameLexicon, gazetteer: Gazetteer) -> None:
        self._lexicon, self._gazetteer = lexicon, gazetteer

    def find(self, text: str, sentence: SentenceSpan) -> list[NameOccurrence]:
        """Names in the order of their places; none overlap."""
        words, taken = sentence.words, bytearray(len(sentence.words))
        found = [*self._find_definitions(text, words, taken), *self._find_known(text, sentence, taken)]
        for first, last in _capitalised_runs(text, words, taken):
            found += self._resolve_run(text, sentence, first, last, taken)
        return sorted(found, key=lambda one: one.start)

    def _find_definitions(self, text: str, words: Sequence[WordSpan], taken: bytearray) -> Iterator[NameOccurrence]:
        """`Long Form (LF)`: one thing with two names."""
        for at in range(2, len(words)):
            word = words[at]
            around = text[words[at - 1].end : word.start].strip() + text[word.end : word.end + 1]
            if around != "()" or not _SHORT.fullmatch(word.text):
                continue
            begin = max(0, at - 10)
            while begin < at - 1 and not all(are_adjacent(text, one, two) for one, two in pairwise(words[begin:at])):
                begin += 1
            first = find_expansion(word.text, [one.text for one in words[begin:at]])
            if first is None:
                continue
            name = text[words[begin + first].start : words[at - 1].end]
            taken[begin + first : at + 1] = b"\1" * (at + 1 - begin - first)
            kind, start = self._long_form_type(name), words[begin + first].start
            yield NameOccurrence(kind, name, start, word.end, SURE, word.text)

    def _long_form_type(self, long: str) -> EntityType:
        if known := self._lexicon.term(long):
            return known.type
        parts = [word.casefold() for word in long.split()]
        is_body = long[0].isupper() and (parts[-1] in clues.BODIES - clues.WEAK_BODIES or parts[0] in clues.BODY_HEADS)
        return EntityType.ORGANIZATION if is_body else EntityType.CONCEPT

    def _find_known(self, text: str, sentence: SentenceSpan, taken: bytearray) -> Iterator[NameOccurrence]:
        words = sentence.words
        for first, last, term in self._lexicon.find(text, words):
            body = term.type in (EntityType.ORGANIZATION, EntityType.PRODUCT)
            if any(taken[first:last]) or (body and last - first == 1 and _is_part_of_name(text, words, first)):
                continue
            taken[first:last] = b"\1" * (last - first)
            start, end = words[first].start, words[last - 1].end
            yield NameOccurrence(term.type, text[start:end], start, end, SURE)

    def _resolve_run(
        self, text: str, sentence: SentenceSpan, first: int, last: int, taken: bytearray
    ) -> Iterator[NameOccurrence]:
        """Occurrence that a run of capitalised words [first, last) names, if any; a name may go on behind it."""
        words = sentence.words
        first, last = self._trim_run(words, first, last)
        if first >= last:
            return
        kind, first, last, confidence = self._classify_run(text, sentence, first, last)
        shouts = all(word.text.isupper() for word in words)
        coded = last < len(words) and words[last].text.isdigit() and are_adjacent(text, words[last - 1], words[last])
        if kind is None and last - first == 1 and not (shouts or coded) and _is_acronym(words[first].text):
            kind, confidence = EntityType.CONCEPT, LIKELY
        if kind is None and sentence.titled:
            return  # its capitals say nothing
        if kind is None:  # where a sentence or a label begins, capitals say less
            confidence = 0.0 if first == 0 or text[words[last - 1].end : words[last - 1].end + 1] == ":" else LIKELY
        taken[first:last] = b"\1" * (last - first)
        start, end = words[first].start, words[last - 1].end
        yield NameOccurrence(kind, text[start:end], start, end, confidence)

    def _trim_run(self, words: Sequence[WordSpan], first: int, last: int) -> tuple[int, int]:
        """Without words that are large because a sentence begins, unless they begin the name of a place."""
        opens = first == 0
        while first < last:
            plain = words[first].text.casefold()
            if plain not in clues.PLAIN or (not opens and len(plain) > 4):
                break
            place = self._gazetteer.at([word.text for word in words[first:last]], 0)
            if place is not None and place[0] > 1:
                break
            first += 1
        while last - first > 1 and words[last - 1].text.casefold() in clues.PLAIN:
            last -= 1
        return first, last

    def _classify_run(
        self, text: str, sentence: SentenceSpan, first: int, last: int
    ) -> tuple[EntityType | None, int, int, float]:
        """(type, first word, word after the last, confidence); the first rule that fits decides."""
        words, titled = sentence.words, sentence.titled
        run = [word.text for word in words[first:last]]
        tail, size = run[-1].casefold(), last - first
        if size > 1 and run[-1] in clues.LEGAL_FORMS:
            return EntityType.ORGANIZATION, first, last, SURE
        if longer := context_rules.legal_form(text, words, last):
            return EntityType.ORGANIZATION, first, longer, SURE
        if tail in clues.BODY_HEADS and (longer := context_rules.of_what(text, words, last)):
            return EntityType.ORGANIZATION, first, longer, SURE
        if size > 1 and tail in clues.STREETS:
            return EntityType.LOCATION, first, last, LIKELY
        if size > 1 and tail in clues.BODIES and not (titled and tail in clues.WEAK_BODIES):
            return EntityType.ORGANIZATION, first, last, LIKELY
        if person := context_rules.titled_person(text, words, first, last):
            return EntityType.PERSON, *person, SURE
        if size > 1 and tail in clues.PRODUCTS and size <= 4:
            return EntityType.PRODUCT, first, last, LIKELY
        if place := self._place_confidence(text, words, first, last):
            return EntityType.LOCATION, first, last, place
        confidence = 0.0 if titled else context_rules.person_confidence(text, words, first, last)
        if confidence:
            return EntityType.PERSON, first, last, confidence
        if not titled and context_rules.is_body(text, words, first, last):
            return EntityType.ORGANIZATION, first, last, LIKELY
        if size == 1 and (_MIXED.fullmatch(run[0]) or context_rules.is_version(words, first)):
            return EntityType.TECHNOLOGY, first, last, LIKELY
        if size <= 3 and not titled and (longer := context_rules.version_end(text, words, last)):
            return EntityType.TECHNOLOGY, first, longer, LIKELY
        return None, first, last, 0.0

    def _place_confidence(self, text: str, words: Sequence[WordSpan], first: int, last: int) -> float:
        """Confidence that a run is the name of a place; 0 where it is none."""
        run = [word.text for word in words[first:last]]
        if len(run) > 1 and run[0].casefold() in clues.SIDES and self._gazetteer.at(run, 1):
            run = run[1:]
        found = self._gazetteer.at(run, 0)
        if found is None or found[0] != len(run):
            return 0.0
        if found[1].sure or context_rules.word_before(text, words, first) in clues.PLACE_BEFORE:
            return SURE
        behind = words[last].text if last < len(words) and text[words[last - 1].end : words[last].start] == ", " else ""
        return SURE if behind and self._gazetteer.at([word.text for word in words[last : last + 4]], 0) else 0.0


def _is_acronym(word: str) -> bool:
    short = word.rstrip("s")
    return bool(_ACRONYM.fullmatch(word)) and short not in clues.NO_ACRONYMS and short.casefold() not in clues.OFFICES


def _is_part_of_name(text: str, words: Sequence[WordSpan], at: int) -> bool:
    """True where a known name is only a part of another name: `Amazon Basin`, `Mount Apple`."""
    before = at > 1 and are_adjacent(text, words[at - 1], words[at]) and _is_name(words[at - 1])
    behind = at + 1 < len(words) and are_adjacent(text, words[at], words[at + 1]) and _is_name(words[at + 1])
    return before or behind


def _is_name(word: WordSpan) -> bool:
    return word.text[0].isupper() and word.text.casefold() not in clues.PLAIN


def _capitalised_runs(text: str, words: Sequence[WordSpan], taken: bytearray) -> Iterator[tuple[int, int]]:
    """[first, last) of words that are large, side by side, and not taken yet."""
    at = 0
    while at < len(words):
        if taken[at] or not context_rules.is_capitalised(words[at]):
            at += 1
            continue
        end = at + 1
        while end < min(len(words), at + _LONGEST_RUN) and not taken[end] and context_rules.is_capitalised(words[end]):
            last, word = words[end - 1], words[end]
            if not (are_adjacent(text, last, word) or context_rules.is_abbreviation(text, last, word)):
                break
            end += 1
        yield at, end
        at = end
