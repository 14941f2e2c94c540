"""Terms of a question: the words that count, in an order that neither voice nor fronting changes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from serve_apps.retrieval.text.lexicon import (
    ASKING,
    BE,
    COMPARISONS,
    DATES,
    FIRST_PERSON,
    GENERIC,
    LIGHT,
    MARKERS,
    NEGATIONS,
    NUMERALS,
    ORDINALS,
    PAST,
    PRESENT,
    QUANTIFIERS,
    RELATIONS,
    SECOND_PERSON,
    SynonymLexicon,
    is_participle,
)
from serve_apps.retrieval.text.question_tokens import QuestionToken, spelled_out, split_tokens


class TermKind(StrEnum):
    """Kind of a term; it says what differs where two questions do."""

    NUMBER = "number"
    DATE = "date"
    NEGATION = "negation"
    COMPARISON = "comparison"
    RELATION = "relation"
    QUANTIFIER = "quantifier"
    ASKS = "question word"
    NAME = "name"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A word that counts."""

    text: str  # in lower case, as it was written; numbers and question words in one form
    kind: TermKind
    # what it may be an inflection of, itself included; numbers and identifiers are only themselves
    forms: frozenset[str]
    groups: frozenset[int] = frozenset()  # of synonyms that it belongs to; names have none
    marker: str = ""  # the last of the small words between it and the term before, such as `to` or `with`

    def agrees(self, other: "QuestionTerm") -> bool:
        """True where one may stand for the other."""
        return not self.forms.isdisjoint(other.forms) or not self.groups.isdisjoint(other.groups)


@dataclass(frozen=True, slots=True)
class QuestionWording:
    """A question, taken apart."""

    plain: tuple[str, ...]  # its words in lower case, without punctuation and politeness
    terms: tuple[QuestionTerm, ...]  # those that count, in the active voice and with what was fronted at the end
    small: tuple[str, ...]  # the words that hold them together, articles left out, and those that say little
    tense: str  # `past`, `present` or `mixed`, as its auxiliaries say; empty where they do not
    asks: str  # the question word that it begins with, if any
    persons: str  # who is spoken of, in order: `1` who asks, `2` who is asked; empty unless both are


_MEASURE = re.compile(r"(\d+(?:\.\d+)?)([a-z]{1,4})")
_SMALL = (LIGHT | GENERIC) - {"a", "an", "the"}
_SORTS = ((COMPARISONS, TermKind.COMPARISON), (RELATIONS, TermKind.RELATION), (QUANTIFIERS, TermKind.QUANTIFIER))
_PLAIN_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def take_apart(text: str, lexicon: SynonymLexicon) -> QuestionWording:
    """Read a question; pure, and the same for the same text."""
    tokens = list(split_tokens(spelled_out(text)))
    words = _words_of(tokens)
    active = [_to_active(_undo_fronting(sentence)) for sentence in _split_sentences(tokens)]
    terms = [term for sentence in active for term in _sentence_terms(sentence, lexicon)]
    past, present = not PAST.isdisjoint(words), not PRESENT.isdisjoint(words)
    persons = "".join("1" if word in FIRST_PERSON else "2" for word in words if word in FIRST_PERSON | SECOND_PERSON)
    return QuestionWording(
        words,
        tuple(terms),
        tuple(word for word in words if word in _SMALL),
        "mixed" if past and present else "past" if past else "present" if present else "",
        next((ASKING[word] for word in words[:3] if word in ASKING), ""),
        persons if len(set(persons)) == 2 else "",
    )


def plain_words(text: str) -> tuple[str, ...]:
    """The words of a question in lower case, without punctuation and politeness."""
    return _words_of(split_tokens(spelled_out(text)))


def _words_of(tokens: Iterable[QuestionToken]) -> tuple[str, ...]:
    return tuple(token.text for token in tokens if token.sort not in ("comma", "end"))


def _split_sentences(tokens: Sequence[QuestionToken]) -> Iterator[list[QuestionToken]]:
    sentence: list[QuestionToken] = []
    for token in tokens:
        if token.sort == "end":
            yield sentence
            sentence = []
        else:
            sentence.append(token)
    yield sentence


def _undo_fronting(sentence: Sequence[QuestionToken]) -> list[QuestionToken]:
    """Move a fronted phrase, up to the first comma and begun by a marker, to the end: `In May, who …`."""
    commas = [at for at, token in enumerate(sentence) if token.sort == "comma"]
    if commas and sentence[0].text in MARKERS and 1 < commas[0] < len(sentence) - 1:
        return [*sentence[commas[0] + 1 :], *sentence[: commas[0]]]
    return list(sentence)


def _to_active(sentence: Sequence[QuestionToken]) -> list[QuestionToken]:
    """`X is made by Y` as `Y makes X`, and `X can be made` as `make X`, as in `one can make X`: its first passive."""
    found = _find_passive(sentence)
    if found is None:
        return list(sentence)
    be, verb = found
    start = 0
    while start < be and (sentence[start].text in ("how", "when", "where", "why") or sentence[start].text in MARKERS):
        start += 1
    object_ = [*sentence[start:be], *sentence[be + 1 : verb]]
    rest = list(sentence[verb + 1 :])
    by = next((at for at, token in enumerate(rest) if token.text == "by"), None)
    if by is None or by + 1 == len(rest) or rest[by + 1].text.endswith("ing"):
        return [*sentence[:start], sentence[verb], *object_, *rest]
    end = by + 1
    while end < len(rest) and rest[end].text not in MARKERS and rest[end].sort != "comma":
        end += 1
    return [*sentence[:start], *rest[by + 1 : end], sentence[verb], *object_, *rest[:by], *rest[end:]]


def _find_passive(sentence: Sequence[QuestionToken]) -> tuple[int, int] | None:
    """Positions of a form of `be` and its participle: side by side, or around the subject of a question."""
    for at, token in enumerate(sentence):
        if token.text not in BE:
            continue
        verb = at + 1
        while verb < len(sentence) and (sentence[verb].text in BE | {"not"} or sentence[verb].text.endswith("ly")):
            verb += 1
        asks = at == 0 or (at == 1 and sentence[0].text in ASKING)
        while asks and verb < len(sentence) and not _is_participle(sentence[verb]):
            if sentence[verb].text in MARKERS or sentence[verb].sort == "comma":
                break
            verb += 1
        if verb < len(sentence) and _is_participle(sentence[verb]):
            last = verb + 1 == len(sentence)
            # After a subject that stands between both, a participle before a noun belongs to the noun.
            if not asks or verb == at + 1 or last or sentence[verb + 1].text in LIGHT | MARKERS:
                return at, verb
    return None


def _is_participle(token: QuestionToken) -> bool:
    return token.sort == "word" and not token.capital and is_participle(token.text)


def _sentence_terms(sentence: Sequence[QuestionToken], lexicon: SynonymLexicon) -> Iterator[QuestionTerm]:
    marker = ""
    for at, token in enumerate(sentence):
        follower = sentence[at + 1].text if at + 1 < len(sentence) else ""
        found = 0
        for term in _terms_of(token, follower, marker, lexicon):
            found += 1
            yield term
        marker = "" if found else token.text if token.text in MARKERS else marker


def _terms_of(token: QuestionToken, follower: str, marker: str, lexicon: SynonymLexicon) -> Iterator[QuestionTerm]:
    if token.sort == "number" or token.text in NUMERALS:
        yield from _number_terms(token.text, marker, lexicon)
    elif token.sort in ("code", "quoted") and token.text not in LIGHT:
        yield from _code_terms(token.text, marker, lexicon)
    elif token.sort == "unit" or token.text in DATES or (token.capital and token.text == "may"):
        kind = TermKind.WORD if token.sort == "unit" else TermKind.DATE
        yield QuestionTerm(token.text, kind, frozenset({token.text}), lexicon.of([token.text]), marker)
    elif token.sort == "word" and not _is_light(token, follower):
        yield _word_term(token, marker, lexicon)


def _is_light(token: QuestionToken, follower: str) -> bool:
    if token.text == "by":
        return follower.endswith("ing")
    return token.text in LIGHT and not (token.capital and token.text in ("it", "us", "who"))


def _word_term(token: QuestionToken, marker: str, lexicon: SynonymLexicon) -> QuestionTerm:
    word = token.text
    if word in ASKING:
        return QuestionTerm(ASKING[word], TermKind.ASKS, frozenset({ASKING[word]}), frozenset(), marker)
    if word in NEGATIONS:
        plain = "not" if word in ("no", "none") else word
        return QuestionTerm(plain, TermKind.NEGATION, frozenset({plain}), frozenset(), marker)
    forms, groups = lexicon.known(word)
    if token.capital:
        return QuestionTerm(word, TermKind.NAME, forms, frozenset(), marker)
    kind = next((kind for words, kind in _SORTS if word in words), TermKind.WORD)
    return QuestionTerm(word, kind, forms, groups, marker)


def _number_terms(text: str, marker: str, lexicon: SynonymLexicon) -> Iterator[QuestionTerm]:
    digits = NUMERALS.get(text, text.lstrip("$€£"))
    if _PLAIN_NUMBER.fullmatch(digits):
        whole, _, part = digits.replace(",", "").partition(".")
        part = part.rstrip("0")
        digits = f"{whole}.{part}" if part else whole
    yield QuestionTerm(digits, TermKind.NUMBER, frozenset({digits}), frozenset(), marker)
    if text[:1] in "$€£":
        yield QuestionTerm(text[0], TermKind.WORD, frozenset({text[0]}), lexicon.of([text[0]]), marker)


def _code_terms(text: str, marker: str, lexicon: SynonymLexicon) -> Iterator[QuestionTerm]:
    measure = _MEASURE.fullmatch(text)
    if measure and (groups := lexicon.of([measure[2]])):
        yield from _number_terms(measure[1], marker, lexicon)
        yield QuestionTerm(measure[2], TermKind.WORD, frozenset({measure[2]}), groups, marker)
    elif text in ORDINALS:
        yield QuestionTerm(ORDINALS[text], TermKind.COMPARISON, frozenset({ORDINALS[text]}), frozenset(), marker)
    else:
        name = text.removesuffix("()")
        yield QuestionTerm(name, TermKind.NAME, frozenset({name}), frozenset(), marker)
