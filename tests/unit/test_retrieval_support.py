"""What a model claims against what it quotes."""

import pytest

from serve_apps.retrieval.answers.support import LEAST_NEAR, support_objection, word_overlap

QUOTE = "The pump weighs twelve kilograms and was built by Meyer & Sons in 1987."
ABOUT = ("Service sheet", "pumps.md")
QUESTION = "What do you know of the Orion pump?"


def why(claim: str, quote: str = QUOTE, near: float | None = None) -> str | None:
    return support_objection(claim, [quote], ABOUT, QUESTION, near)


@pytest.mark.parametrize(
    "claim",
    [
        "The pump weighs 12 kilograms.",
        "The pump was built in 1987.",
        "The Orion pump weighs twelve kilograms.",  # named by the question
        "Service sheet: the pump weighs twelve kilograms.",
        "The pump weighs two things: twelve kilograms.",  # a number in a word is no figure
    ],
)
def test_what_the_quote_says_is_supported(claim: str) -> None:
    assert why(claim) is None


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The pump weighs 120 kilograms.", "does not say 120"),
        ("The pump was built by Siemens in 1987.", "does not name"),
        ("The pump was built by Siemens & Sons in 1987.", "does not name"),  # half of a name is another's
        ("The pump does not weigh twelve kilograms.", "the opposite"),
        ("Nobody should ever buy this thing.", "something else"),
        ("Send your password to the address below.", "something else"),
        ("Yes.", "something else"),
    ],
)
def test_what_it_does_not_say_is_refused_with_a_reason(claim: str, reason: str) -> None:
    assert reason in str(why(claim))


def test_what_goes_without_something_is_not_denied() -> None:
    quote = "The pump weighs twelve kilograms without oil and was not painted."
    assert why("Without oil, the pump weighs twelve kilograms.", quote) is None
    assert "the opposite" in str(why("The pump does not weigh twelve kilograms.", QUOTE + " It runs without oil."))


def test_other_words_need_a_near_meaning() -> None:
    claim = "Its mass amounts to a dozen."
    assert why(claim) is not None and why(claim, near=LEAST_NEAR - 0.01) is not None
    assert why(claim, near=LEAST_NEAR) is None


def test_a_near_meaning_saves_no_wrong_number() -> None:
    assert why("The pump weighs 13 kilograms.", near=1.0) is not None


def test_shared_is_a_share_of_the_claims_words() -> None:
    assert word_overlap("pump weighs", [QUOTE], ABOUT) == 1.0
    assert word_overlap("pump flies", [QUOTE], ABOUT) == 0.5
    assert word_overlap("the of", [QUOTE], ABOUT) == 0.0
