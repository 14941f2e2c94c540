"""Abstention: a question's names have to be known, and a sentence has to fit, or there is no answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.documents.chunk.language import PLAIN
from serve_apps.retrieval.answers.evidence import ScoredSentence
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.abbreviations import known_with_meanings
from serve_apps.retrieval.text.identifiers import KnownTerms
from serve_apps.retrieval.text.rule_languages import ENGLISH, RuleLanguage
from serve_apps.retrieval.text.values import blank_values, date_readings, find_dates
from serve_apps.retrieval.text.words import NameMention, content_words, find_names, is_unknown_name

# What a sentence needs to support an answer; the mean of both parts decides. It is the highest score at which questions
# to five companies' documents lose no more than one answer from the right document in a hundred; SQuAD's paragraphs
# were held out.
LEAST_SCORE = 0.40
SURE = 0.75  # from which on a sentence stands though a model found nothing; of most answers it is below 0.6
LEAST_COVERAGE_ALONE = 0.67  # without an embedder
# In languages that neither the rules nor the packaged embedder know: the least step of .05 at which, of questions about
# what is in no document, at most one in five is answered, in German, Spanish, Russian and Arabic each, which agree.
# Pairs of letters, of which a word is several, share less; chosen by Chinese alone.
LEAST_COVERAGE_ELSEWHERE = 0.25
LEAST_COVERAGE_PAIRS = 0.15
# Other words for a thing may be missing from the passages that answer; a name has no other words.
NAMES_COST = 0.5  # of the score where none of a question's names is known
WORDS_COST = 0.2  # of the score where none of its words is


class ScoredEvidence(Protocol):
    """A sentence or a fact and how well it answers a question."""

    @property
    def coverage(self) -> float:
        """Share of the question's words, 0 to 1."""

    @property
    def similarity(self) -> float | None:
        """Cosine to the question; None where no embedder answered."""

    @property
    def score(self) -> float:
        """Both together."""


@dataclass(frozen=True, slots=True)
class UncoveredTerms:
    """Names and words of a question that no passage speaks of."""

    names: tuple[NameMention, ...] = ()  # what it names
    unknown: tuple[NameMention, ...] = ()  # those of them that no passage knows
    words: float = 0.0  # share of all its words that no passage has, 0 to 1
    dates: tuple[str, ...] = ()  # that no passage says
    language: RuleLanguage = ENGLISH  # of the question

    @property
    def share(self) -> float:
        """Of the names, those that are unknown; 0 where nothing is named."""
        return len(self.unknown) / len(self.names) if self.names else 0.0

    @property
    def cost(self) -> float:
        """Score that a sentence has to make up for."""
        return NAMES_COST * self.share + WORDS_COST * self.words

    @property
    def reason(self) -> str:
        """For the reader."""
        missing = [*(name.shown for name in self.unknown), *self.dates]
        return f"no passage that was found speaks of {' or '.join(missing)}"


def find_uncovered_terms(
    question: str, hits: Sequence[SearchHit], meant: Sequence[str] | None = None, language: RuleLanguage = ENGLISH
) -> UncoveredTerms:
    """The names, dates and words of a question beside all that the passages and their titles say.

    `meant`: texts of the documents that it is about, where it says so; names and dates have to stand in these.
    `language`: that of the question; where a rule does not know it, what the rule is for counts as known.
    """
    dates = [one for one in find_dates(question) if one.kind == "date"]
    found = [text for hit in hits for text in (hit.text, *hit.titles)]
    known = KnownTerms.of(found if meant is None else meant, dated=bool(dates))
    there = known.words if meant is None else known.words | known_with_meanings(found)
    rest = blank_values(question, dates)
    asked = tuple(find_names(rest)) if language.has("names") else ()
    words = set(content_words(rest))
    strange = words - there if language.has("words") else set()
    unknown = tuple(one.shown for one in dates if not known.dates & set(date_readings(one)))
    missing = (len(strange) + len(unknown)) / (len(words) + len(dates)) if words or dates else 0.0
    strangers = tuple(name for name in asked if is_unknown_name(name.words, known.words))
    return UncoveredTerms(asked, strangers, missing, unknown, language)


def supports_answer(judged: ScoredEvidence, of_question: UncoveredTerms) -> bool:
    """A sentence supports an answer when it shares enough of the question's words and means something near to it."""
    if judged.similarity is None:
        return judged.coverage >= _least_coverage(of_question.language) + of_question.cost
    return judged.score >= LEAST_SCORE + of_question.cost


def _least_coverage(language: RuleLanguage) -> float:
    if language.has("meaning"):
        return LEAST_COVERAGE_ALONE
    return LEAST_COVERAGE_PAIRS if language.stemmer == PLAIN else LEAST_COVERAGE_ELSEWHERE


def abstention_reason(judged: Sequence[ScoredSentence], of_question: UncoveredTerms) -> str:
    """Reason for the abstention: no sentence was enough."""
    if of_question.unknown or of_question.dates:
        return of_question.reason
    if not judged:
        return "no passage was found"
    best = max(judged, key=lambda one: one.score)
    near = "" if best.similarity is None else f", with a similarity of {best.similarity:.2f}"
    return f"the best sentence covers {best.coverage:.0%} of what was asked{near}"
