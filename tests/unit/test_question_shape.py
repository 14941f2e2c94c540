"""Questions taken apart: what they name, the kind of value they ask for, and the nouns a form writes for it."""

import pytest

from serve_apps.retrieval.text.abbreviations import known_with_meanings
from serve_apps.retrieval.text.identifiers import KnownTerms, find_identifiers
from serve_apps.retrieval.text.question_shape import question_shape
from serve_apps.retrieval.text.values import date_readings, find_values


@pytest.mark.parametrize(
    ("question", "measures", "nouns"),
    [
        ("How old is the boiler?", True, {"age"}),
        ("How warm does the oil get?", True, {"temperatur"}),
        ("Where was the parcel sent?", False, {"destination", "recipient"}),
        ("Where is the valve?", False, {"location", "plac", "addres", "sit"}),
        ("When was it tested?", False, {"dat", "tim"}),
        ("What is the serial number?", False, set[str]()),
    ],
)
def test_a_question_word_stands_for_the_nouns_of_a_form(question: str, measures: bool, nouns: set[str]) -> None:
    shape = question_shape(question)
    assert shape.measures is measures and shape.attributes == nouns


def test_a_choice_is_answered_by_one_of_its_words() -> None:
    assert question_shape("Was the valve open or closed?").choices == {"open", "clos"}
    assert not question_shape("What does the open or closed valve do?").choices


def test_what_names_the_document_is_no_part_of_what_is_asked() -> None:
    question = "How heavy is the load of truck K7713 at Ely on 3 May 2024?"
    shape = question_shape(question, find_identifiers(question))
    assert shape.text == "How heavy is the load of at on" and shape.words == {"heavy", "load"}


def test_identifiers_are_names_dates_and_long_numbers() -> None:
    found = find_identifiers("What did invoice 47110 of Acme Tools say about 12 pumps on 05/12/2023?")
    assert [one.shown for one in found] == ["47110", "Acme Tools", "05/12/2023"]
    assert found[2].dates == {"2023-12-05", "2023-05-12"}


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("05/12/2023", ("2023-12-05", "2023-05-12")),
        ("12/17/2007", ("2007-12-17",)),
        ("17.12.2007", ("2007-12-17",)),
        ("2007-12-05", ("2007-12-05",)),
        ("December 5, 2007", ("2007-12-05",)),
    ],
)
def test_a_date_in_figures_is_read_both_ways_where_it_can_be(text: str, readings: tuple[str, ...]) -> None:
    (value,) = find_values(text)
    assert date_readings(value) == readings


def test_abbreviations_are_known_by_their_meaning_and_the_other_way_round() -> None:
    assert {"new", "york"} <= known_with_meanings(["Albany, NY"]) and "ny" in known_with_meanings(["In New York"])
    assert "oregon" not in known_with_meanings(["this or that"])
    assert {"chief", "executiv", "officer"} <= known_with_meanings(["The CEO resigned."])


def test_a_text_knows_the_month_and_the_year_of_its_dates() -> None:
    known = KnownTerms.of(["Signed on 12/08/2007 in Ocala, FL"])
    asked = "What was signed in Florida on December 8, 2007, and what in 2009?"
    assert [known.has(one) for one in find_identifiers(asked)] == [True, True, False]
