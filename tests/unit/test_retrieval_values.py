"""Values of sentences: the same in every spelling, different where they differ."""

import random

import pytest

from serve_apps.retrieval.text.values import blank_values, find_numbers, find_values


def told(text: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.unit, one.amount) for one in find_values(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It weighs 12 kg.", [("quantity", "kg", "12")]),
        ("It weighs twelve kilograms.", [("quantity", "kilogram", "12")]),
        ("It weighs 12 kilograms.", [("quantity", "kilogram", "12")]),
        ("A fee of 2.5 % applies.", [("percent", "", "2.5")]),
        ("A fee of 2.5 percent applies.", [("percent", "", "2.5")]),
        ("It costs $1,200.50 now.", [("money", "usd", "1200.5")]),
        ("It costs 1,200.50 dollars now.", [("money", "usd", "1200.5")]),
        ("It costs Rs. 5 lakh.", [("money", "inr", "500000")]),
        ("It costs ₹5,00,000.", [("money", "inr", "500000")]),
        ("Due on 1 May 2024.", [("date", "", "2024-05-01")]),
        ("Due on May 1st, 2024.", [("date", "", "2024-05-01")]),
        ("Due on 2024-05-01.", [("date", "", "2024-05-01")]),
        ("Due in May 2024.", [("date", "", "2024-05")]),
        ("Founded in 1999 and sold.", [("year", "", "1999")]),
        ("It opens at 9:30 am.", [("time", "", "09:30")]),
        ("It opens at 9 p.m. daily.", [("time", "", "21:00")]),
        ("A 30-day notice.", [("quantity", "day", "30")]),
        ("Between 10 and 20.", [("number", "", "10"), ("number", "", "20")]),
        ("One of the pumps is red.", []),
        ("Nothing at all.", []),
        ("Revenue was 3 million euros.", [("money", "eur", "3000000")]),
        ("It holds 0.125 l.", [("quantity", "l", "0.125")]),
    ],
)
def test_values_have_one_spelling(text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert told(text) == wanted


def test_values_stand_where_they_are_written() -> None:
    text = "On 1 May 2024 it weighed 12 kg, 5 % more than in 2020."
    for one in find_values(text):
        assert text[one.start : one.end] == one.shown
    assert blank_values(text, find_values(text)).split() == ["On", "it", "weighed", ",", "more", "than", "in", "."]


def test_numbers_are_compared_whatever_they_count() -> None:
    assert find_numbers("12 kg in May 2024") == {"12", "5", "2024"}
    assert find_numbers("two options and 3 more", digits_only=True) == {"3"}


def test_any_text_has_values_or_none_and_quickly() -> None:
    chance = random.Random(4)
    letters = "0123456789.,:-/% $€₹kgmayMAY'\"\n\u202f\u00a0"
    for _ in range(500):
        text = "".join(chance.choice(letters) for _ in range(chance.randrange(200)))
        for one in find_values(text):
            assert text[one.start : one.end] == one.shown
    assert len(find_values("9" * 20_000)) <= 1
