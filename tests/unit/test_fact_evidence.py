"""Facts as evidence: by their headings, by the kind of their value, and by the choices of a question."""

import pytest

from pipelines.documents.facts.find_facts import find_facts
from serve_apps.retrieval.answers.fact_evidence import RankedFact, fact_heading, rank_facts
from serve_apps.retrieval.text.question_shape import question_shape

SHEET = """# Boiler sheet

| Owner's Age: | 64 | Location: | Ely |
| --- | --- | --- | --- |
| Boiler: | B-7713 | Boiler Pressure: | 12 bar |
| Valve State: | closed | Destination of Steam: | North hall |
| Empty Weight: | 900 kg | Rooms Heated: | 14 |
"""
FACTS = find_facts(SHEET)


def ranked(question: str) -> list[RankedFact]:
    return rank_facts(question_shape(question), FACTS, {"boiler", "sheet"}, [None] * len(FACTS))


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How old is the owner?", "64"),
        ("Where is it?", "Ely"),
        ("Where is the steam going?", "North hall"),
        ("How heavy is the empty boiler?", "900 kg"),
        ("How many rooms are heated?", "14"),
        ("What is the boiler pressure?", "12 bar"),
        ("Is the valve open or closed?", "closed"),
    ],
)
def test_the_fact_that_a_question_asks_for_comes_first(question: str, value: str) -> None:
    assert ranked(question)[0].fact.value == value


def test_a_value_that_only_repeats_the_question_is_no_answer() -> None:
    assert not [one for one in ranked("Who built boiler B-7713?") if one.fact.value == "B-7713"]


def test_a_value_of_another_kind_is_no_answer() -> None:
    assert {one.fact.value for one in ranked("How many rooms are heated?")} == {"14"}
    assert "Ely" not in {one.fact.value for one in ranked("How heavy is it?")}


def test_a_choice_needs_no_likeness_in_meaning() -> None:
    question = question_shape("Is it open or closed?")
    found = rank_facts(question, FACTS, set(), [0.0] * len(FACTS))
    assert found[0].fact.value == "closed" and found[0].similarity == pytest.approx(0.6)
    assert all(one.similarity == 0.0 for one in found[1:])


def test_a_section_that_repeats_the_title_of_the_document_is_no_heading() -> None:
    assert fact_heading(FACTS[0], {"boiler", "sheet"}) == "Owner's Age"
    assert fact_heading(FACTS[0], set()) == "Boiler sheet, Owner's Age"


def test_a_word_of_the_title_says_little() -> None:
    """Every fact of a boiler sheet is about the boiler."""
    pressure = next(one for one in ranked("What is the boiler pressure?") if one.fact.value == "12 bar")
    other = next(one for one in ranked("What is the boiler colour?") if one.fact.value == "12 bar")
    assert pressure.coverage > 0.9 and other.coverage < 0.3
