"""Which messages ask for a list of documents or for a summary, and of what."""

import numpy as np
import pytest

from serve_apps.retrieval.overviews.central_sentences import choose_central
from serve_apps.retrieval.overviews.overview_request import OverviewRequest, find_overview_request


@pytest.mark.parametrize(
    ("message", "kind", "subject"),
    [
        ("list my documents", "list", ""),
        ("List the documents.", "list", ""),
        ("Please show me all files", "list", ""),
        ("Which documents do I have?", "list", ""),
        ("what files are uploaded?", "list", ""),
        ("Welche Dokumente gibt es?", "list", ""),
        ("Summarize the documents", "list", ""),
        ("list documents about parental leave", "list", "parental leave"),
        ("List all documents that mention the filter", "list", "the filter"),
        ("which documents talk about grease?", "list", "grease"),
        ("find the file on turbines", "list", "turbines"),
        ("Find file tax-return-1987.pdf", "list", "tax-return-1987.pdf"),
        ("Liste alle Dokumente zur Messung auf", "list", "Messung"),
        ("summarise control-room.md", "summary", "control-room.md"),
        ("Can you summarize the lease for me?", "summary", "the lease"),
        ("Give me a short summary of the employee handbook", "summary", "the employee handbook"),
        ("What is survey.pdf about?", "summary", "survey.pdf"),
        ("Summarize that document", "summary", ""),
        ("recap the report", "summary", ""),
        ("Fasse den Wartungsvertrag zusammen", "summary", "den Wartungsvertrag"),
    ],
)
def test_or_03_lists_and_summaries_are_asked_for_as_such(message: str, kind: str, subject: str) -> None:
    """OR-03: the subject is what is left of the command."""
    found = find_overview_request(message)
    assert found is not None and (found.kind, found.subject) == (kind, subject)


@pytest.mark.parametrize(
    "message",
    [
        "When does the lease end?",
        "Which document says when fire drills take place?",
        "Find the file that says who removed the asbestos",
        "find me the document with the serial number of the gearbox",
        "Summarize what the documents say about overtime",
        "search the documents for grease",
        "What is OCR?",
        "How do I save a document as PDF?",
        "I love documents",
        "",
        "list " * 200,
    ],
)
def test_questions_and_chat_are_no_overviews(message: str) -> None:
    assert find_overview_request(message) is None


def test_a_summary_is_as_long_as_it_is_asked_to_be() -> None:
    assert find_overview_request("Summarize that document in one sentence") == OverviewRequest("summary", "", 1)
    assert find_overview_request("summarise lease.md in three sentences") == OverviewRequest("summary", "lease.md", 3)
    assert find_overview_request("summarise lease.md in 99 sentences") == OverviewRequest("summary", "lease.md", 10)


def test_central_sentences_say_most_of_the_whole_and_not_the_same_twice() -> None:
    """Three sentences on one thing, two on another, one on nothing else: one of each of the two, in order."""
    axes = np.eye(4, dtype=np.float32)
    vectors = np.stack([axes[3], axes[0], axes[0], axes[0], axes[1], axes[1]])
    assert choose_central(vectors, 2) == [1, 4]
    assert choose_central(vectors[:0], 2) == [] and choose_central(np.zeros((2, 4), np.float32), 5) == [0, 1]
