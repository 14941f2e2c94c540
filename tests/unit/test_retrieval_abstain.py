"""When the evidence is not enough."""

import pytest

from pipelines.documents.document import Span
from serve_apps.retrieval.answers.abstain import (
    LEAST_SCORE,
    UncoveredTerms,
    abstention_reason,
    find_uncovered_terms,
    supports_answer,
)
from serve_apps.retrieval.answers.evidence import EvidenceSentence, ScoredSentence
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.words import NameMention

NONE = UncoveredTerms()
HIT = SearchHit(
    "c",
    "d",
    "v",
    "ZX Bank loans.md",
    "md",
    1,
    1,
    0,
    "The gold loan has a rate of 9 %. It needs no guarantor.",
    ("Gold loan",),
    (Span(1, 0, 50),),
    (),
    None,
    "native",
    1.0,
    {},
)


def judged(coverage: float, similarity: float | None) -> ScoredSentence:
    return ScoredSentence(EvidenceSentence(0, 1, 0, 4, "text"), coverage, similarity)


def test_names_are_looked_for_in_passages_and_their_titles() -> None:
    assert find_uncovered_terms("What is the rate of the ZX Bank gold loan?", [HIT]) == UncoveredTerms(
        (NameMention(("zx", "bank")),), (), 0.0
    )
    strange = find_uncovered_terms("What is the rate of the Cendara gold loan?", [HIT])
    assert strange.unknown == strange.names and strange.share == 1.0 and strange.words == 0.25
    assert "Cendara" in strange.reason
    assert find_uncovered_terms("what is the rate", [HIT]) == NONE and NONE.share == NONE.cost == 0.0


def test_words_that_no_passage_has_cost_something() -> None:
    whole, half = find_uncovered_terms("loan rate", [HIT]), find_uncovered_terms("loan zeppelin", [HIT])
    assert (whole.words, half.words) == (0.0, 0.5) and half.cost > whole.cost
    border = judged(LEAST_SCORE, LEAST_SCORE)
    assert supports_answer(border, whole) and not supports_answer(border, half)


def test_a_question_about_somebody_unknown_needs_more_than_any_sentence_has() -> None:
    """Somebody else's gold loan is no answer, however alike the sentence is."""
    assert supports_answer(judged(0.8, 0.8), NONE)
    assert not supports_answer(
        judged(0.8, 0.8), find_uncovered_terms("What is the rate of the Cendara gold loan?", [HIT])
    )


@pytest.mark.parametrize(
    ("coverage", "similarity", "enough"),
    [
        (0.7, 0.05, False),
        (0.05, 0.7, False),
        (0.9, 0.05, True),
        (LEAST_SCORE, LEAST_SCORE, True),
        (0.36, 0.36, False),
        (0.9, None, True),
        (0.5, None, False),
    ],
)
def test_words_and_meaning_both_count(coverage: float, similarity: float | None, enough: bool) -> None:
    assert supports_answer(judged(coverage, similarity), NONE) is enough


def test_the_reason_says_how_far_it_was() -> None:
    assert abstention_reason([], NONE) == "no passage was found"
    assert "31 %" in abstention_reason([judged(0.31, 0.2), judged(0.1, 0.1)], NONE).replace("%", " %")
    assert "speaks of" in abstention_reason([judged(0.9, 0.9)], find_uncovered_terms("Is Cendara open?", [HIT]))
