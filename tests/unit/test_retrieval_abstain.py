"""When the evidence is not enough."""

import pytest

from pipelines.documents.document import Span
from serve_apps.retrieval.answers.abstain import LEAST_SCORE, Foreign, foreign, reason, supports
from serve_apps.retrieval.answers.evidence import Judged, Sentence
from serve_apps.retrieval.search.query import Hit
from serve_apps.retrieval.text.words import Name

NONE = Foreign()
HIT = Hit(
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


def judged(coverage: float, similarity: float | None) -> Judged:
    return Judged(Sentence(0, 1, 0, 4, "text"), coverage, similarity)


def test_names_are_looked_for_in_passages_and_their_titles() -> None:
    assert foreign("What is the rate of the ZX Bank gold loan?", [HIT]) == Foreign((Name(("zx", "bank")),), (), 0.0)
    strange = foreign("What is the rate of the Cendara gold loan?", [HIT])
    assert strange.unknown == strange.names and strange.share == 1.0 and strange.words == 0.25
    assert "Cendara" in strange.reason
    assert foreign("what is the rate", [HIT]) == NONE and NONE.share == NONE.cost == 0.0


def test_words_that_no_passage_has_cost_something() -> None:
    whole, half = foreign("loan rate", [HIT]), foreign("loan zeppelin", [HIT])
    assert (whole.words, half.words) == (0.0, 0.5) and half.cost > whole.cost
    border = judged(LEAST_SCORE, LEAST_SCORE)
    assert supports(border, whole) and not supports(border, half)


def test_a_question_about_somebody_unknown_needs_more_than_any_sentence_has() -> None:
    """Somebody else's gold loan is no answer, however alike the sentence is."""
    assert supports(judged(0.8, 0.8), NONE)
    assert not supports(judged(0.8, 0.8), foreign("What is the rate of the Cendara gold loan?", [HIT]))


@pytest.mark.parametrize(
    ("coverage", "similarity", "enough"),
    [
        (0.9, 0.05, False),
        (0.05, 0.9, False),
        (LEAST_SCORE, LEAST_SCORE, True),
        (0.36, 0.36, False),
        (0.9, None, True),
        (0.5, None, False),
    ],
)
def test_words_and_meaning_both_count(coverage: float, similarity: float | None, enough: bool) -> None:
    assert supports(judged(coverage, similarity), NONE) is enough


def test_the_reason_says_how_far_it_was() -> None:
    assert reason([], NONE) == "no passage was found"
    assert "31 %" in reason([judged(0.31, 0.2), judged(0.1, 0.1)], NONE).replace("%", " %")
    assert "speaks of" in reason([judged(0.9, 0.9)], foreign("Is Cendara open?", [HIT]))
