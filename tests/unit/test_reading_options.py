"""What a person asks of a reading: pages as numbers and ranges, languages in each way that they are written."""

import pytest

from cluster.basics.errors import Invalid
from pipelines.documents.document import document_id, version_id
from pipelines.documents.extract.reader import fingerprint_with
from pipelines.documents.ingest.arrivals import PagePlan
from pipelines.documents.ingest.slices import cut_slices
from pipelines.documents.ingest.stages import SurveyResult
from pipelines.documents.store.document_writes import FileArrival
from pipelines.documents.store.ocr_languages import fingerprint_in
from pipelines.documents.store.reading_options import (
    AS_SET,
    ReadingOptions,
    ReextractionRequest,
    parse_languages,
    parse_pages,
)


@pytest.mark.parametrize(
    ("text", "numbers"), [("3", (3,)), ("3,7-9", (3, 7, 8, 9)), (" 7 - 9 ", (7, 8, 9)), ("9, 1-3", (1, 2, 3, 9))]
)
def test_pages_are_numbers_and_ranges(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_pages(text, 9) == numbers


NO_PAGES = ("", " ", ",", "3,", "1 2", "a", "1-", "-3", "1--2", "1;2", "1.5", "٣", "1-2-3", "9" * 30, "1," * 3_000)


@pytest.mark.parametrize("text", NO_PAGES)
def test_other_text_is_no_list_of_pages(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_pages(text, 9)
    assert "3,7-9" in refused.value.hint


@pytest.mark.parametrize(("text", "outside"), [("0", "0"), ("10", "10"), ("1-12", "12"), ("0-3", "0"), ("11-12", "11")])
def test_a_page_outside_the_document_is_named(text: str, outside: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_pages(text, 9)
    assert f"no page {outside}:" in refused.value.detail and "9 pages" in refused.value.detail


@pytest.mark.parametrize(("text", "page"), [("9,1-3,2", "2"), ("4,4", "4"), ("1-9," * 900 + "1-9", "1")])
def test_a_page_is_named_once(text: str, page: str) -> None:
    """Ranges over ranges would be millions of numbers for a few characters."""
    with pytest.raises(Invalid, match=f"page {page} is named twice"):
        parse_pages(text, 9)


def test_a_range_does_not_run_backwards() -> None:
    with pytest.raises(Invalid, match="before it begins"):
        parse_pages("9-7", 9)


@pytest.mark.parametrize("told", ["deu+eng", "deu,eng", "deu, eng", ["deu", "eng"], ["deu+eng", "deu"]])
def test_languages_are_a_list_or_one_text(told: str | list[str]) -> None:
    assert parse_languages(told) == ("deu", "eng")


@pytest.mark.parametrize("told", ["../eng", "-l", "e", "deu eng", ["eng", "a;b"]])
def test_what_is_no_name_of_a_language_is_refused(told: str | list[str]) -> None:
    with pytest.raises(Invalid, match="no name of a language"):
        parse_languages(told)


def test_a_request_survives_the_payload_of_its_job() -> None:
    asked = ReextractionRequest("3,7-9", ReadingOptions("tesseract", ("deu", "eng")))
    assert ReextractionRequest.from_payload({"reading": asked.as_json()}) == asked
    assert ReextractionRequest.from_payload({"reading": {}}) == ReextractionRequest()
    assert ReextractionRequest.from_payload({"files": []}) is None


def test_ids_of_versions_that_were_there_stay_and_each_job_that_reads_again_has_its_own() -> None:
    document = document_id("w", "file:/a")
    assert version_id(document, "0" * 64) == "7621039abdb810279d03c63b0558fb27"
    assert len({version_id(document, "0" * 64, job) for job in (None, "one", "two", "")}) == 4


def plan(encoding: str | None = None, ocr: tuple[str, ...] = ()) -> PagePlan:
    arrival = FileArrival("file:/a", "a.pdf", "file:/a", encoding=encoding)
    return PagePlan("made", arrival, SurveyResult("k", "pdf", "0" * 64, 9, 1, 4), ocr)


def test_the_fingerprint_of_a_page_covers_how_a_person_asked_to_read_it() -> None:
    """Without a wish it is what it was before there were any."""
    assert plan("cp1250", ("deu",)).fingerprint(AS_SET) == fingerprint_with(fingerprint_in("made", ("deu",)), "cp1250")
    asked = (ReadingOptions("tesseract"), ReadingOptions("easyocr"), ReadingOptions(languages=("eng",)), AS_SET)
    assert len({plan(ocr=("deu",)).fingerprint(one) for one in asked}) == len(asked)
    assert plan(ocr=("deu",)).fingerprint(ReadingOptions(languages=("deu",))) == plan(ocr=("deu",)).fingerprint(AS_SET)


def test_pages_that_are_read_differently_do_not_travel_together() -> None:
    """A unit holds what its reading needs; the workspace's languages hold where a person named none."""
    version = version_id(document_id("w", "file:/a"), "0" * 64)
    options = {1: AS_SET, 2: ReadingOptions("tesseract"), 3: ReadingOptions("tesseract", ("eng",)), 4: AS_SET}
    units = plan(ocr=("deu",)).units(version, options)
    slices = cut_slices([(unit.payload, unit.payload["number"]) for unit in units], {"file:/a": "/a"}, 4)
    assert {(piece.numbers, piece.strategy, piece.ocr) for piece in slices} == {
        ((1, 4), None, ("deu",)),
        ((2,), "tesseract", ("deu",)),
        ((3,), "tesseract", ("eng",)),
    }
