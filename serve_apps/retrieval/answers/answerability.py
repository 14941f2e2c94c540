"""Answerability: what a question supposes, and whether a sentence and its passage say otherwise.

A question may share all of its words with a passage that does not answer it: it asks for what was not done where the
passage says what was, for the lowest where it speaks of the highest, about 1745 where it tells of 1755, or how many
where it says that there were some (kinds of unanswerable questions in Rajpurkar et al. 2018, "Know What You Don't
Know"). Nothing here is learned from examples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from serve_apps.retrieval.answers.evidence import ScoredSentence
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.contraries import are_contrary
from serve_apps.retrieval.text.identifiers import Identifier
from serve_apps.retrieval.text.lexicon import NEGATIONS, base_forms
from serve_apps.retrieval.text.values import find_dates
from serve_apps.retrieval.text.words import is_content_word, word_tokens

_NOT = re.compile(r"\b(?:not|never|cannot)\b|n['’]t\b")
# Behind these stands a condition or a reason, and what it denies is not what is asked for.
_CLAUSE = re.compile(r"\b(?:if|when|while|because|unless|although|though|since|so that|in case|that|why)\b")
_MINE = re.compile(r"\b(?:i|we|my|our)\b")
_FORMAL = re.compile(r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|may|might|shall)\b")
# Words that deny without a `not`.
_DENIAL_TEXT = """
prohibit forbid ban deny refuse reject exclude except exempt fail avoid prevent unable stop cease restrict lack miss
absent void instead only limit remain decline oppose disallow ineligible invalid
"""
_DENIALS = frozenset(_DENIAL_TEXT.split())
_DENYING = re.compile(r"(?:un(?!der|it|i[fqv])|non)[^\W\d_]{4,}|[^\W\d_]{3,}less")
# At the beginning: `What happens when …` asks for no time, and `When is …` and `When must …` for a condition, too.
_ASKS_TIME = re.compile(
    r"\W*(?:(?:since|until|till|by|from|in|on|at|during)\s+)?"
    r"(?:when\s+(?:did|was|were|had)\b|(?:what|which)\s+(?:year|date|month|day|century)\b)"
)
_ASKS_WHICH = re.compile(r"\W*(?:\w+\s+)?(?:who|whom|whose|what|which|where|how)\b")
_TAG = re.compile(r"\b\w+n['’]t\s+(?:it|they|you|he|she|we|there)\W*$")
_ASKS_NUMBER = re.compile(
    r"\W*(?:\w+\s+)?(?:how\s+(?:many|much|old|long|far|tall|heavy)\b"
    r"|(?:what|which)\s+(?:percentage|percent|number|share)\s+of\b)"
)
_TIME_TEXT = """
january february march april may june july august september october november december spring summer autumn winter
monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday now recently immediately soon once
daily weekly monthly quarterly annually yearly century decade year month week day hour minute moment during after before
until when while as upon war era age end beginning start night morning noon afternoon evening time reign anniversary
"""
_TIME_WORDS = frozenset(_TIME_TEXT.split())
_NUMBER_TEXT = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half quarter third
no none zero many few several once twice both double triple single majority pair couple free unlimited permanent
indefinite lifetime until as up include inclusive complimentary metre meter kilometre kilometer centimetre centimeter
millimetre inch foot feet yard mile litre liter gallon pint gram gramme kilogram kilo tonne ton ounce hectare acre
euro dollar pound cent penny degree volt watt bar
"""
_NUMBER_WORDS = frozenset(_NUMBER_TEXT.split())
# Words that tell an English sentence: of another language nothing here knows how it denies or counts.
_ENGLISH = frozenset(["the", "of", "and", "is", "are", "were", "to", "by", "with", "for", "has", "have", "a"])
NEARLY = 0.85  # of the best one's score: others are never shown beside it
INSTEAD = 0.93  # of the score of a best sentence that contradicts, for another to answer in its place
NEAR = 6  # words between a denial and what it denies
# Where a thing is differs by how it is told: `into` beside `to`, `over` beside `under the reign of`.
_PLACE_TEXT = "in into on onto up down over under inside outside all some none always never near far"
_PLACES = frozenset(_PLACE_TEXT.split())
_ORDINAL_TEXT = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
sixteenth seventeenth eighteenth nineteenth twentieth
"""
_ORDINALS = tuple(_ORDINAL_TEXT.split())
_TIMES = re.compile(
    rf"\b(?:(?P<decade>[12]\d\d0)['’]?s|(?:(?:in|since|until|before|after|around|year)\s+)(?P<early>1[0-4]\d\d)"
    rf"|(?:(?P<nth>\d{{1,2}})(?:st|nd|rd|th)|(?P<worded>{'|'.join(_ORDINALS)}))[\s-]century)\b"
)

AskedKind = Literal["time", "number", "other"]


@dataclass(frozen=True, slots=True)
class TimePeriod:
    """A year, a decade or a century."""

    shown: str
    first: int  # year
    last: int


@dataclass(frozen=True, slots=True)
class QuestionSuppositions:
    """What a question takes for granted."""

    asks: AskedKind
    negated: bool  # it asks for what is not
    denied: str  # the word that it denies; empty where none is next to the `not`
    words: tuple[str, ...]  # in lower case, those that may have an opposite
    periods: tuple[TimePeriod, ...]  # that it speaks of

    @classmethod
    def of(cls, question: str, named: Sequence[Identifier] = ()) -> "QuestionSuppositions":
        """Suppositions of a question; `named`: what its documents are known by, which is no condition any more."""
        rest = question
        for one in named:
            rest = rest[: one.start] + " " * (one.end - one.start) + rest[one.end :]
        words = tuple(one.text.casefold() for one in word_tokens(rest) if one.text.casefold() not in _PLACES)
        negated = _is_negated(rest)
        lower = question.casefold()
        asks: AskedKind = "time" if _ASKS_TIME.match(lower) else "number" if _ASKS_NUMBER.match(lower) else "other"
        return cls(asks, negated, _denied_word(rest) if negated else "", words, _periods(rest))

    def find_contradiction(self, sentence: str, passage: str, document: "DocumentContext") -> str | None:
        """What the sentence says against them, for the reader; None where nothing does.

        `passage`: what stands around it. `document`: all that was found of its document: a year that another page says
        is none that it leaves out.
        """
        own = [one.text.casefold() for one in word_tokens(sentence)]
        is_english = not _ENGLISH.isdisjoint(own)
        if self.negated and is_english:
            return None if _denies(own, self.denied) else "it asks for what is not, and the passage says what is"
        if is_english and not self._states_kind(sentence, own):
            return f"it asks for a {self.asks}, and what the passage says of it has none"
        if self.words and (pair := self._find_opposite(own, document)):
            return f"the passage says “{pair[1]}” where the question says “{pair[0]}”"
        return self._find_other_time(passage, document)

    def _states_kind(self, sentence: str, own: Sequence[str]) -> bool:
        """True where the sentence states a value of the kind that is asked for, in figures or in words."""
        announces = sentence.rstrip("*_ ").endswith(":")  # a list, which is quoted with it
        if self.asks == "other" or announces or any(char.isdigit() for char in sentence):
            return True
        words = _TIME_WORDS if self.asks == "time" else _NUMBER_WORDS | (_TIME_WORDS if "long" in self.words else set())
        return any(not words.isdisjoint(base_forms(word)) for word in own)

    def _find_opposite(self, own: Sequence[str], document: "DocumentContext") -> tuple[str, str] | None:
        forms = {word: base_forms(word) for word in own}
        for word in self.words:
            mine = base_forms(word)
            for other, others in forms.items():
                if are_contrary(mine, others) and not mine & document.forms:
                    return word, other
        return None

    def _find_other_time(self, passage: str, document: "DocumentContext") -> str | None:
        """A year or period of the question that the document leaves out while the passage tells of others."""
        told = _periods(passage) if self.periods else ()
        first = min((one.first for one in self.periods), default=0)  # of several it asks for all between them
        last = max((one.last for one in self.periods), default=0)
        if not told or any(one.first <= last and first <= one.last for one in (*told, *document.periods)):
            return None
        return f"the passage speaks of {told[0].shown} and not of {' and '.join(one.shown for one in self.periods)}"


class DocumentContext:
    """What was found of a document: the base forms of its words and the times it speaks of, each worked out once."""

    def __init__(self, texts: Sequence[str]) -> None:
        """`texts`: its passages, their titles and its file name."""
        self._text = " ".join(texts)

    @cached_property
    def forms(self) -> frozenset[str]:
        """Base forms of all words."""
        words = {one.text.casefold() for one in word_tokens(self._text)}
        return frozenset[str]().union(*map(base_forms, words))

    @cached_property
    def periods(self) -> tuple[TimePeriod, ...]:
        """Years, decades and centuries."""
        return _periods(self._text)


def drop_contradicted(
    fit: Sequence[ScoredSentence], asked: QuestionSuppositions, hits: Sequence[SearchHit]
) -> tuple[list[ScoredSentence], str | None]:
    """The sentences that do not contradict the question, and why there are none, where that is so.

    Where the best one does, it is about what was asked, and one that is much worse is no answer in its place; another
    document's about another year may be as good.
    """
    best = max(fit, key=lambda one: one.score, default=None)
    if best is None:
        return [], None
    near = [one for one in fit if one.score >= NEARLY * best.score]
    found = dict[str, list[str]]()
    for hit in hits:
        found.setdefault(hit.document_id, [hit.filename]).extend((hit.text, *hit.titles))
    documents = {document: DocumentContext(texts) for document, texts in found.items()}
    said = {
        id(one): asked.find_contradiction(
            one.sentence.text, hits[one.sentence.hit].text, documents[hits[one.sentence.hit].document_id]
        )
        for one in near
    }
    why = said[id(best)]
    least = INSTEAD * best.score if why else 0.0
    kept = [one for one in fit if said.get(id(one)) is None and one.score >= least]
    return kept, None if kept else why


def _is_negated(question: str) -> bool:
    """True where the main clause of an English question denies: `What was not …`, `Who didn't …`.

    Whoever speaks of himself tells what is wrong, or what should not happen: `How do I ensure that it does not …`.
    """
    words = question.strip().casefold()
    first = words.partition(" ")[0]
    later = _CLAUSE.search(words, len(first))
    if not _ASKS_WHICH.match(words) or _TAG.search(words) or _MINE.search(words):
        return False  # of a thing that is or is not so, to say that it is answers as well
    main = words[: later.start()] if later else words
    return _NOT.search(main) is not None and (_FORMAL.search(main) is not None or "n't" in main or "n’t" in main)


def _denied_word(question: str) -> str:
    """The first word behind `not` that says something: `recover` in `What didn't recover`."""
    found = _NOT.search(question.casefold())
    behind = question[found.end() :] if found else ""
    return next((one.text.casefold() for one in word_tokens(behind) if is_content_word(one)), "")


def _denies(words: Sequence[str], denied: str) -> bool:
    """True where a sentence denies something: what the question does, where it says that at all."""
    forms = base_forms(denied)
    if any(are_contrary(forms, base_forms(word)) for word in words):
        return True
    denials = [at for at, word in enumerate(words) if _is_denial(word, forms)]
    said = [at for at, word in enumerate(words) if denied and not forms.isdisjoint(base_forms(word))]
    if not said:
        return bool(denials)
    return any(abs(at - other) <= NEAR for at in denials for other in said)


def _is_denial(word: str, but: frozenset[str]) -> bool:
    own = base_forms(word)
    if word in NEGATIONS or word in ("t", "cannot") or _DENYING.fullmatch(word):
        return own.isdisjoint(but)
    return not own.isdisjoint(_DENIALS) and own.isdisjoint(but)


def _periods(text: str) -> tuple[TimePeriod, ...]:
    """Years, decades and centuries of a text."""
    found = [TimePeriod(one.amount[:4], int(one.amount[:4]), int(one.amount[:4])) for one in find_dates(text)]
    for one in _TIMES.finditer(text.casefold()):
        if one["decade"]:
            first = int(one["decade"])
            found.append(TimePeriod(one[0], first, first + (99 if first % 100 == 0 else 9)))
        elif one["early"]:
            found.append(TimePeriod(one["early"], int(one["early"]), int(one["early"])))
        else:
            number = int(one["nth"]) if one["nth"] else _ORDINALS.index(one["worded"]) + 1
            found.append(TimePeriod(one[0], 100 * (number - 1), 100 * number))
    return tuple(found)
