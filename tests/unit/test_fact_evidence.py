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


def test_a_choice_needs_no_likeness_in_meaning() -> None:
    question = question_shape("Is it open or closed?")
    found = rank_facts(question, FACTS, set(), [0.0] * len(FACTS))
    assert found[0].fact.value == "closed" and found[0].similarity == pytest.approx(0.6)
    assert all(one.similarity == 0.0 for one in found[1:])


PUMP = """# Works

## Pump

| Age: | 12 years | Maker: | Hale |
| --- | --- | --- | --- |

## Operator

| Name: | Ida Moss | Living Area: | 90 square metres |
| --- | --- | --- | --- |
| Destination: | Ely | Certificate: | Private |
"""


def likeness(question: str, value: str) -> float | None:
    facts, passages = find_facts(PUMP), ["The flat over the gate.", PUMP]
    found = rank_facts(question_shape(question), facts, {"works"}, [0.1] * len(facts), passages=passages)
    return next((one.similarity for one in found if one.fact.value == value), None)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How old is the pump?", "12 years"),
        ("How large is the flat?", "90 square metres"),
        ("Where is it going?", "Ely"),
    ],
)
def test_a_label_that_the_question_means_needs_no_likeness(question: str, value: str) -> None:
    assert likeness(question, value) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How old is the operator?", "12 years"),
        ("How old is the bridge?", "12 years"),
        ("How heavy is the pump?", "12 years"),
        ("Where is it going?", "Hale"),
    ],
)
def test_the_measure_of_another_thing_does(question: str, value: str) -> None:
    """The pump's age is not the operator's."""
    assert likeness(question, value) in (pytest.approx(0.1), None)


def test_a_section_that_repeats_the_title_of_the_document_is_no_heading() -> None:
    assert fact_heading(FACTS[0], {"boiler", "sheet"}) == "Owner's Age"
    assert fact_heading(FACTS[0], set()) == "Boiler sheet, Owner's Age"


def test_a_word_of_the_title_says_little() -> None:
    """Every fact of a boiler sheet is about the boiler."""
    pressure = next(one for one in ranked("What is the boiler pressure?") if one.fact.value == "12 bar")
    other = next(one for one in ranked("What is the boiler colour?") if one.fact.value == "12 bar")
    assert pressure.coverage > 0.9 and other.coverage < 0.3
