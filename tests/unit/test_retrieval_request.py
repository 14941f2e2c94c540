"""What a request to the documents is about: its command words are none of its content."""

import time

import pytest

from serve_apps.retrieval.answers.document_request import LONGEST, extract_subject


@pytest.mark.parametrize(
    ("message", "about"),
    [
        ("Search the documents for the torque of the lid", "the torque of the lid"),
        ("Please search our docs and tell me how often the filter is changed", "how often the filter is changed"),
        ("Could you look in the files for the alarm code?", "the alarm code?"),
        ("find file about the Corvane turbine", "the Corvane turbine"),
        ("List all documents that mention asbestos", "asbestos"),
        ("which document mentions the serial number KX-4471?", "the serial number KX-4471?"),
        ("Is there a file on parental leave?", "parental leave?"),
        ("Summarize what the documents say about overtime", "overtime"),
        ("give me a short summary of the lease", "the lease"),
        ("According to our manual, how often must the oil be changed?", "how often must the oil be changed?"),
        ("What does the handbook say about noise?", "noise?"),
        ("look up the opening hours in the docs", "the opening hours"),
        ("Durchsuche die Dokumente nach der Kündigungsfrist", "der Kündigungsfrist"),
        ("Bitte suche in den Unterlagen nach dem Drehmoment", "dem Drehmoment"),
        ("Liste alle Dokumente zum Brandschutz auf", "Brandschutz"),
        ("Laut unserem Handbuch, wie oft wird das Öl gewechselt?", "wie oft wird das Öl gewechselt?"),
        ("Was steht im Vertrag über die Kündigung?", "die Kündigung?"),
        ("Fasse mir die Richtlinie zum Lärm zusammen", "die Richtlinie zum Lärm"),
    ],
)
def test_a_request_without_its_command(message: str, about: str) -> None:
    assert extract_subject(message) == about


@pytest.mark.parametrize(
    "message",
    [
        "search",
        "List the documents",
        "Can you search?",
        "Thanks for searching the documents!",
        "Liste alle Dokumente auf",
        "",
    ],
)
def test_a_command_alone_is_about_nothing(message: str) -> None:
    assert extract_subject(message) == ""


@pytest.mark.parametrize(
    "message",
    [
        "How heavy is the pump?",
        "In which year was the report on emissions published?",
        "Who wrote the report?",
        "What is the search engine of Corvane called?",
        "What files does the installer write?",
        "How many pages does the PDF have?",
        "What does the contract require?",
        "and what about its weight?",
    ],
)
def test_a_question_stays_as_it_is(message: str) -> None:
    """What a kind of document is called may be what a question asks about."""
    assert extract_subject(message) == message


def test_what_is_pasted_is_material_and_no_command() -> None:
    pasted = "Search the documents for the lid. " + "x" * LONGEST
    assert extract_subject(pasted) == pasted


@pytest.mark.parametrize(
    "part", ["search the documents ", "in the ", "please ", "a of ", "find me all the ", "zusammen "]
)
def test_a_message_made_to_be_slow_is_read_in_no_time(part: str) -> None:
    began = time.perf_counter()
    extract_subject((part * LONGEST)[:LONGEST])
    assert time.perf_counter() - began < 1.0
