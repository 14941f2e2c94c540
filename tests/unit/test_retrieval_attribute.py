"""What the passages are found to say of a claim that came without a quote, and what they are not."""

import pytest

from pipelines.documents.document import Span
from serve_apps.retrieval.answers.attribute import PassageSentences
from serve_apps.retrieval.search.query import SearchHit

GUIDE = """# Manual of the pump P-7

## Weight
The pump weighs 12 kilograms without oil. It is shipped on a wooden pallet by Meyer & Sons.

## Contacts

| City | Branch | Telephone |
|------|--------|-----------|
| Turin | Via Roma 5 | 0891-273011 |
| Genoa | Via Po 9 | 0891-273012 |
| Pavia | Door No. 11 | 0891-273013 |

- **Oil Exchange Procedure:**
  - Drain the tank before any other oil is filled in.

The pump is not suitable for drinking water but suitable for oil.
Meyer sold the licence to Kessler on 5 June. The board approved the budget for the new hall in Turin.
The motor weighs 40 kilograms and the frame weighs 90 kilograms.

## Spare parts

Order from the nearest:

- Depot in Pavia
- Or write to the Meyer workshop (see the card in the lid)

### Delivered with each
- Ceramic seal of 12 millimetres
- Brass valve of 30 millimetres
- Steel lever

- **Turin office**
  by post at Via Roma 5, gate 7
"""
OTHER = "The compressor weighs 50 kilograms. Its tank is tested every five years by an authorised inspector."


def passages(question: str = "What about it?") -> PassageSentences:
    texts = {"guide.md": GUIDE, "other.md": OTHER}
    return PassageSentences(
        question,
        [
            SearchHit(
                name, name, name, name, "md", 1, 1, 0, text, (), (Span(1, 0, len(text)),), (), None, "native", 1.0, {}
            )
            for name, text in texts.items()
        ],
    )


@pytest.mark.parametrize(
    ("claim", "said_by"),
    [
        ("Without oil the pump weighs 12 kilograms.", ["The pump weighs 12 kilograms without oil."]),
        ("It gets shipped by Meyer & Sons on a pallet.", ["It is shipped on a wooden pallet by Meyer & Sons."]),
        (
            "Oil Exchange Procedure: drain the tank before any other oil is filled in.",
            ["- **Oil Exchange Procedure:**", "- Drain the tank before any other oil is filled in."],
        ),
        (
            "The telephone of the branch in Turin is 0891-273011.",
            ["| City | Branch | Telephone |", "| Turin | Via Roma 5 | 0891-273011 |"],
        ),
        (
            "The telephone of the branch in Pavia, Door No. 11, is 0891-273013.",
            ["| City | Branch | Telephone |", "| Pavia | Door No. 11 | 0891-273013 |"],
        ),
        (
            "The pump is not suitable for drinking water but suitable for oil",
            ["The pump is not suitable for drinking water but suitable for oil."],
        ),
        ("On 5 June, the licence was sold to Kessler by Meyer.", ["Meyer sold the licence to Kessler on 5 June."]),
        (
            "The P-7 is shipped on a wooden pallet by Meyer & Sons.",  # named by the title above
            ["# Manual of the pump P-7", "It is shipped on a wooden pallet by Meyer & Sons."],
        ),
        (
            "Order from the nearest: Depot in Pavia, or write to the Meyer workshop (see the card in the lid).",
            ["Order from the nearest:\n\n- Depot in Pavia\n- Or write to the Meyer workshop (see the card in the lid)"],
        ),
        (
            "It comes with a ceramic seal of 12 millimetres, a brass valve of 30 millimetres and a steel lever.",
            ["- Ceramic seal of 12 millimetres\n- Brass valve of 30 millimetres\n- Steel lever"],
        ),
        (
            "The Turin office gets its post at Via Roma 5, gate 7.",
            ["- **Turin office**\n  by post at Via Roma 5, gate 7"],
        ),
    ],
)
def test_a_claim_is_given_the_sentence_that_says_it(claim: str, said_by: list[str]) -> None:
    assert [one.text.strip() for one in passages().supporting(claim)] == said_by


@pytest.mark.parametrize(
    "claim",
    [
        "The pump weighs 13 kilograms without oil.",
        "The pump weighs thirteen kilograms without oil.",
        "The pump weighs 12 tonnes without oil.",
        "The pump does not weigh 12 kilograms without oil.",
        "The pump is suitable for drinking water.",
        "The pump is suitable for drinking water but not suitable for oil.",
        "It is shipped on a wooden pallet by Kessler & Sons.",
        "Kessler sold the licence to Meyer on 5 June.",
        "Meyer sold the licence to Kessler on 5 May.",
        "The motor weighs 90 kilograms and the frame weighs 40 kilograms.",
        "The telephone of the branch in Turin is 0891-273012.",
        "Drain the tank after any other oil is filled in.",
        "The pump weighs 12 kilograms and has a warranty and a certificate.",
        "It comes with a ceramic seal of 30 millimetres, a brass valve of 12 millimetres and a steel lever.",
        "It comes with a ceramic valve of 12 millimetres, a brass seal of 30 millimetres and a steel lever.",
        "It comes with a ceramic seal of 12 millimetres, a brass valve of 30 millimetres and a copper lever.",
        "It comes with a ceramic seal of 12 millimetres, no brass valve of 30 millimetres and a steel lever.",
        "Order from the nearest: Depot in Pavia, or write to the Kessler workshop (see the card in the lid).",
        "The compressor is drained before any other oil is filled in by an inspector.",  # of two documents
        "Oil Exchange Procedure: Contacts",
        "# Manual of the pump P-7",
        "Here is what I found in the sources:",
        "Pump, oil.",
        "12",
        "",
    ],
)
def test_a_claim_that_says_more_or_something_else_is_given_none(claim: str) -> None:
    assert passages().supporting(claim) == []


def test_what_a_question_names_has_to_stand_in_the_sentence() -> None:
    """Where a document is missing, a model says of the thing that was asked for what is true of another."""
    claim = "The crane's tank is tested every five years by an authorised inspector."
    assert passages("How often is the crane tested?").supporting(claim) == []
    assert passages("How often is the tank tested?").supporting(claim.replace("crane's ", ""))


def test_without_passages_nothing_is_said() -> None:
    assert PassageSentences("What?", []).supporting("The pump weighs 12 kilograms.") == []
