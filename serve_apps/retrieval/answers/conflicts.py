"""Sources that contradict each other, by rule: the same statement with another date, sum or quantity in it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from serve_apps.retrieval.answers.cite import CitationList
from serve_apps.retrieval.answers.claims import AnswerClaim, ConflictValue, SourceConflict
from serve_apps.retrieval.answers.evidence import EvidenceSentence, split_hits
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.values import TextValue, ValueKind, blank_values, find_values
from serve_apps.retrieval.text.words import NameMention, content_words, find_names

LEAST_ALIKE = 0.6  # Jaccard of the words around the values
LEAST_WORDS = 2  # that both have
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class SourceStatement:
    """A sentence taken apart."""

    sentence: EvidenceSentence
    values: tuple[TextValue, ...]
    words: frozenset[str]  # folded, without those of its values
    names: frozenset[NameMention]  # what it names
    titles: frozenset[str]  # folded words of the titles over it
    codes: frozenset[str]  # words of the titles that have letters and digits, such as part numbers
    years: frozenset[str]  # that the titles name
    headings: tuple[str, ...]
    document: str  # whose

    @classmethod
    def of(cls, sentence: EvidenceSentence, hit: SearchHit) -> "SourceStatement":
        """With the titles of the passage that it stands in."""
        found = tuple(find_values(sentence.text))
        rest = blank_values(sentence.text, found)
        over = " ".join(hit.titles)
        titles = frozenset(content_words(over))
        codes = frozenset(one for one in titles if one.isalnum() and not one.isalpha() and not one.isdigit())
        words, names = frozenset(content_words(rest)), frozenset(find_names(rest))
        years = frozenset(_YEAR.findall(over))
        return cls(sentence, found, words, names, titles, codes, years, hit.headings, hit.document_id)


def conflicting_values(
    question: str, one: SourceStatement, other: SourceStatement
) -> tuple[TextValue, TextValue] | None:
    """The values in which two statements contradict each other; None where they do not, or may speak of two things.

    They have to be of the same words and the same kinds of values, of which just one kind differs. Statements of the
    same document under different titles are about different things; so are those whose titles name other years or
    part numbers, or of whose titles the question names what is over one of them only.
    """
    if not one.values or _value_kinds(one) != _value_kinds(other) or one.names != other.names:
        return None
    common = one.words & other.words
    if len(common) < LEAST_WORDS or len(common) < LEAST_ALIKE * len(one.words | other.words):
        return None
    if one.years != other.years or one.codes != other.codes:
        return None
    if one.document == other.document and one.headings != other.headings:
        return None
    asked = set(content_words(question))
    if asked & (one.titles | one.words) != asked & (other.titles | other.words):
        return None
    kinds = dict.fromkeys(_value_kinds(one))
    different = [kind for kind in kinds if _value_amounts(one, kind) != _value_amounts(other, kind)]
    if len(different) != 1 or _value_amounts(one, different[0]) & _value_amounts(other, different[0]):
        return None
    return _first_value(one, different[0]), _first_value(other, different[0])


def find_contradictions(
    question: str, shown: SourceStatement, others: Sequence[SourceStatement]
) -> Iterator[tuple[TextValue, SourceStatement, TextValue]]:
    """Contradictions of a statement: (its value, the other statement, the other's value), each other value once."""
    seen: set[str] = set()
    for other in others:
        found = conflicting_values(question, shown, other)
        if found and found[1].amount not in seen:
            seen.add(found[1].amount)
            yield found[0], other, found[1]


def _value_kinds(one: SourceStatement) -> list[tuple[ValueKind, str]]:
    return sorted((value.kind, value.unit) for value in one.values)


def _value_amounts(one: SourceStatement, kind: tuple[ValueKind, str]) -> set[str]:
    return {value.amount for value in one.values if (value.kind, value.unit) == kind}


def _first_value(one: SourceStatement, kind: tuple[ValueKind, str]) -> TextValue:
    return next(value for value in one.values if (value.kind, value.unit) == kind)


def find_source_conflicts(
    question: str, cited: CitationList, claims: Sequence[AnswerClaim]
) -> tuple[SourceConflict, ...]:
    """Contradictions between cited sentences and others of the passages; the others are cited too."""
    if not any(find_values(one.quote) for one in cited.all):
        return ()
    sentences = split_hits(cited.hits)
    statements = [SourceStatement.of(one, cited.hits[one.hit]) for one in sentences]
    found: list[SourceConflict] = []
    told: set[int] = set()
    for n in dict.fromkeys(n for claim in claims for n in claim.citations):
        shown = _statement_around(cited.all[n - 1], statements, cited.hits)
        if shown is None or n in told:
            continue
        stated: list[ConflictValue] = []
        for own, other, value in find_contradictions(question, shown, statements):
            place = cited.sentence(other.sentence)
            if place is not None:
                stated = stated or [ConflictValue(own.shown, n)]
                stated.append(ConflictValue(value.shown, cited.number(place)))
        if stated:
            told |= {one.citation for one in stated}
            found.append(SourceConflict(tuple(stated)))
    return tuple(found)


def _statement_around(
    citation: Citation, statements: Sequence[SourceStatement], hits: Sequence[SearchHit]
) -> SourceStatement | None:
    """The statement that a quote is part of."""
    for one in statements:
        at = one.sentence
        same = hits[at.hit].version_id == citation.version_id and at.page == citation.page
        if same and at.start <= citation.start and citation.end <= at.end:
            return one
    return None
