"""Quotes are found word for word or not at all."""

import pytest

from pipelines.documents.document import Box, Page, Word
from serve_apps.retrieval.answers.quote import describe_quote, locate_quote

TEXT = "The pump weighs\n12 kg.\nTOTAL: 9.50\nThe (old) pump [A+] was sold."


def test_white_space_is_folded() -> None:
    start, end = locate_quote("The pump  weighs 12 kg.", TEXT) or (0, 0)
    assert TEXT[start:end] == "The pump weighs\n12 kg."


@pytest.mark.parametrize(
    "quote", ["The pump weighs 13 kg.", "the pump weighs 12 kg", "", "   ", "weighs", "pump weighs"]
)
def test_what_the_page_does_not_say_or_what_proves_nothing_is_refused(quote: str) -> None:
    assert locate_quote(quote, TEXT) is None


def test_a_short_quote_may_be_a_whole_line() -> None:
    assert locate_quote("TOTAL: 9.50", TEXT) is not None


def test_a_quote_is_text_not_a_pattern() -> None:
    assert locate_quote("(old) pump [A+] was", TEXT) is not None
    assert locate_quote(".* .* .* .*", TEXT) is None


def test_only_the_passage_is_looked_at() -> None:
    assert locate_quote("The pump weighs 12", TEXT, 5, len(TEXT)) is None


def test_boxes_and_confidence_are_those_of_the_quoted_words() -> None:
    text = "one two\nthree"
    words = (
        Word("one", 0, Box(0.1, 0.1, 0.2, 0.12), 0.9),
        Word("two", 4, Box(0.3, 0.1, 0.4, 0.12), 0.7),
        Word("three", 8, Box(0.1, 0.2, 0.2, 0.22), 0.1),
    )
    boxes, sure = describe_quote(Page(3, text, words, "tesseract", 0.5), 0, 7)
    assert sure == pytest.approx(0.8) and len(boxes) == 1
    assert boxes[0].page == 3 and boxes[0].box == Box(0.1, 0.1, 0.4, 0.12)
    assert describe_quote(Page(3, text, words), 0, 7)[1] is None
    assert describe_quote(Page(3, text, words, "native+human"), 0, 7)[1] is None, (
        "nor does a correction make a scan of it"
    )
    assert describe_quote(Page(3, text, (), "easyocr", 0.5), 0, 7) == ((), 0.5)


def test_a_quote_neither_begins_nor_ends_within_a_word() -> None:
    page = "The tank holds 1200 litres."
    assert locate_quote("The tank holds 12", page) is None and locate_quote("he tank holds 1200", page) is None
    assert locate_quote("The tank holds 1200", page) == (0, 19)
