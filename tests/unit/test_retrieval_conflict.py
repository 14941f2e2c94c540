"""Sources that contradict each other, and those that only seem to."""

from dataclasses import replace

import pytest

from pipelines.documents.document import Span
from serve_apps.retrieval.answers.conflicts import SourceStatement, conflicting_values, find_contradictions
from serve_apps.retrieval.answers.evidence import EvidenceSentence
from serve_apps.retrieval.search.query import SearchHit

QUESTION = "How long is the notice period?"


def hit(filename: str, *headings: str) -> SearchHit:
    return SearchHit(
        "c", filename, "v", filename, "md", 1, 1, 0, "", headings, (Span(1, 0, 1),), (), None, "native", 1.0, {}
    )


def says(text: str, filename: str = "a.md", *headings: str) -> SourceStatement:
    return SourceStatement.of(EvidenceSentence(0, 1, 0, len(text), text), hit(filename, *headings))


def shown(question: str, one: SourceStatement, other: SourceStatement) -> tuple[str, str] | None:
    found = conflicting_values(question, one, other)
    assert (found is None) == (conflicting_values(question, other, one) is None)
    return found and (found[0].shown, found[1].shown)


def test_the_same_statement_with_another_value_is_a_conflict() -> None:
    one, other = says("The notice period is 30 days."), says("The notice period is 60 days.", "b.md")
    assert shown(QUESTION, one, other) == ("30 days", "60 days")
    one, other = says("The contract ends on 1 May 2027."), says("The contract ends on 2027-06-01.", "b.md")
    assert shown("When does the contract end?", one, other) == ("1 May 2027", "2027-06-01")
    one, other = says("The notice period is thirty days."), says("The notice period is 60 days.", "a.md")
    assert shown(QUESTION, one, other) == ("thirty days", "60 days")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The notice period is 30 days.", "The notice period is thirty days."),  # the same, spelt otherwise
        ("The notice period is 30 days.", "The probation period lasts 60 days."),  # something else
        ("The notice period is 30 days.", "The notice period is long."),  # no value
        ("The notice period is 30 days.", "The notice period is 4 weeks."),  # another unit: not compared
        ("The notice period of Berlin is 30 days.", "The notice period of Paris is 60 days."),  # another subject
        ("The notice period was 30 days in 2020.", "The notice period was 60 days in 2024."),  # another time
        ("The notice period is 30 days.", "The notice period is 30 or 60 days."),  # one admits the other
    ],
)
def test_what_may_both_be_true_is_none(one: str, other: str) -> None:
    assert shown(QUESTION, says(one), says(other, "b.md")) is None


def test_titles_tell_what_a_statement_is_about() -> None:
    text, other = "The allowance is 23 kg of baggage.", "The allowance is 32 kg of baggage."
    asked = "How much baggage is the allowance in economy?"
    assert shown(asked, says(text, "economy.md"), says(other, "business.md")) is None
    assert shown("How much baggage is the allowance?", says(text, "one.md"), says(other, "two.md")) is not None
    assert shown(asked, says(text, "fares.md", "Economy"), says(other, "fares.md", "Business")) is None
    assert shown(asked, says(text, "report-2023.md"), says(other, "report-2024.md")) is None
    assert shown("baggage allowance", says(text, "X200.md"), says(other, "X300.md")) is None


def test_each_other_value_is_told_once() -> None:
    one = says("The notice period is 30 days.")
    others = [
        replace(says(f"The notice period is {days} days.", f"{name}.md"), document=name)
        for name, days in (("b", 60), ("c", 30), ("d", 60), ("e", 90))
    ]
    assert [value.shown for _, _, value in find_contradictions(QUESTION, one, others)] == ["60 days", "90 days"]
