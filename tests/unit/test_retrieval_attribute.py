"""What the passages are found to say of a claim that came without a quote, and what they are not."""

import pytest

from pipelines.documents.document import Span
from serve_apps.retrieval.attribute import Passages
from serve_apps.retrieval.query import Hit

GUIDE = """# Pump P-7

## Weight
The pump weighs 12 kilograms without oil. It is shipped on a wooden pallet by Meyer & Sons.

## Contacts
| City | Branch | Telephone |
| Turin | Via Roma 5 | 0891-273011 |
| Genoa | Via Po 9 | 0891-273012 |

- **Oil Exchange Procedure:**
  - Drain the tank before any other oil is filled in.

The pump is not suitable for drinking water.
"""
OTHER = "The compressor weighs 40 kilograms. Its tank is tested every five years by an inspector."


def passages(question: str = "What about the pump?") -> Passages:
    texts = {"guide.md": GUIDE, "other.md": OTHER}
    return Passages(
        question,
        [
            Hit(name, name, name, name, "md", 1, 1, 0, text, (), (Span(1, 0, len(text)),), (), None, "native", 1.0, {})
            for name, text in texts.items()
        ],
    )


@pytest.mark.parametrize(
    ("claim", "said_by"),
    [
        ("Without oil, the pump weighs 12 kilograms.", ["The pump weighs 12 kilograms without oil."]),
        ("It gets shipped by Meyer & Sons on a pallet.", ["It is shipped on a wooden pallet by Meyer & Sons."]),
        (
            "Oil Exchange Procedure: drain the tank before any other oil is filled in.",
            ["- Drain the tank before any other oil is filled in.", "- **Oil Exchange Procedure:**"],
        ),
        ("Its telephone number in Turin is 0891-273011.", ["| Turin | Via Roma 5 | 0891-273011 |",
                                                           "| City | Branch | Telephone |"]),
        ("The pump is not suitable for drinking water.", ["The pump is not suitable for drinking water."]),
    ],
)  # fmt: skip
def test_a_claim_is_given_the_fewest_sentences_that_say_it(claim: str, said_by: list[str]) -> None:
    assert [one.text.strip() for one in passages().supporting(claim)] == said_by


@pytest.mark.parametrize(
    "claim",
    [
        "The pump weighs 13 kilograms without oil.",
        "The pump does not weigh 12 kilograms without oil.",
        "The pump is suitable for drinking water.",
        "It is shipped on a wooden pallet by Kessler & Sons.",
        "The telephone number in Turin is 0891-273012.",
        "The pump weighs 12 kilograms and has a warranty and a certificate.",
        "The compressor is drained before any other oil is filled in by an inspector.",  # of two documents
        "Here is what I found in the sources:",
        "Pump, oil.",
        "12",
        "",
    ],
)
def test_a_claim_that_says_more_or_something_else_is_given_none(claim: str) -> None:
    assert passages().supporting(claim) == []


def test_a_question_lends_a_name_only_to_a_document_that_knows_it() -> None:
    claim = "The pump of Meyer weighs 12 kilograms without oil."
    assert passages("How heavy is the pump of Meyer?").supporting(claim)
    stranger = claim.replace("Meyer", "Zanzibar")
    assert passages(f"How heavy is it? {stranger}").supporting(stranger) == []


def test_without_passages_nothing_is_said() -> None:
    assert Passages("What?", []).supporting("The pump weighs 12 kilograms.") == []
