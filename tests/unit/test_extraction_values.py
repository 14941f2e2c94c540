"""Values of extractions: texts as numbers, days and choices, and pages as the ground that values stand on."""

import time
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.extraction_result import FieldState, FoundValue, TextPlace, judge_found
from serve_apps.retrieval.extraction.ground_values import DocumentWords, ground_value
from serve_apps.retrieval.extraction.records.list_records import find_priced_lines
from serve_apps.retrieval.extraction.records.structured_text import read_structure
from serve_apps.retrieval.extraction.schema_fields import SchemaField, read_schema
from serve_apps.retrieval.extraction.typed_values import convert_text
from tests.fakes.paperwork import typeset, wanting

DAY: Any = {"type": "string", "format": "date"}


def field_of(given: Any) -> SchemaField:
    return read_schema(wanting(it=given)).properties[0]


@pytest.mark.parametrize(
    ("given", "text", "value"),
    [
        ("number", "$1,200.50", 1200.5),
        ("number", "1.200,50 €", 1200.5),
        ("number", "(310.00)", -310),
        ("number", "$300,000 Each Occurrence", 300000),
        ("number: as a positive number", "-12.50", 12.5),
        ("integer", "12.5", None),
        ("integer", "0012", None),
        ("number", "none", None),
        ("boolean", "Ja", True),
        ("boolean", "☐", False),
        ("boolean", "perhaps", None),
        (DAY, "March 30, 2020", "2020-03-30"),
        (DAY, "3. März 2024", "2024-03-03"),
        (DAY, "9 avril 2024", "2024-04-09"),
        (DAY, "3 de mayo de 2024", "2024-05-03"),
        (DAY, "03.05.24", "2024-05-03"),
        (DAY, "2025-10-23T02:36:03Z", "2025-10-23"),
        (DAY, "31.02.2024", None),
        (DAY, "2024-13-45T00:00", None),
        (DAY, "2024-13-45T00:00, that is 3 May 2024", "2024-05-03"),
        (DAY, "3 May 2024, printed 2024-06-01T10:00", "2024-05-03"),
        ({"enum": ["open", "closed"]}, "CLOSED", "closed"),
        ({"enum": ["A", "B"]}, "Coverage B - Other", "B"),
        ({"enum": ["A", "B"]}, "Neither", None),
        ("string: code, e.g. HO-3", "HO-3 - Special Form", "HO-3"),
        ("string: without the letter prefix", "(A) Dwelling", "Dwelling"),
        ("string", "Weather:", None),
        ("string", " ", None),
    ],
)
def test_a_text_is_the_value_that_its_field_wants(given: Any, text: str, value: Any) -> None:
    found = convert_text(field_of(given), text)
    assert (None if found is None else found.value) == value


@pytest.mark.parametrize(("text", "doubt"), [("3/4/2024", True), ("30/4/2024", False), ("03.04.2024", False)])
def test_a_day_that_can_be_read_in_two_ways_is_in_doubt(text: str, doubt: bool) -> None:
    found = convert_text(field_of(DAY), text)
    assert found is not None and bool(found.doubt) is doubt
    told = convert_text(field_of(DAY), text, (text, "25/12/2024"))
    assert told is not None and not told.doubt


PAGES = [typeset("Invoice INV-12 of 3. May 2024\nTotal due: 1.250,00 EUR\nItem 12 costs 12.50"), typeset("Page 12", 2)]


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("inv 12", "INV-12"),
        (1250, "1.250,00"),
        (12.5, "12.50"),
        ("2024-05-03", "3. May 2024"),
        ("Total due 1", None),
        ("12.5", "12.50"),
        ("Harbour", None),
        (99, None),
    ],
)
def test_a_value_is_found_in_any_notation_or_is_in_doubt(value: Any, quote: str | None) -> None:
    found = ground_value(field_of("string"), value, DocumentWords(PAGES))
    if quote is None:
        assert found.place is None and found.doubt == "stands nowhere in the document"
    else:
        assert found.place is not None
        assert PAGES[found.place.page - 1].text[found.place.start : found.place.end] == quote


@pytest.mark.parametrize(
    ("value", "text", "state"),
    [
        (500, "Fee -500.00", "sign"),
        (-500, "Fee 500.00", "sign"),
        (-500, "Fee -500.00", ""),
        (-500, "Fee (500.00)", ""),
        (500, "Fee - 500.00", ""),
        (500, "Fee (500 units)", ""),
        ("-500", "Fee 500", "sign"),
        ("500", "Fee -500", "sign"),
        ("-500", "Fee -500", ""),
        ("500", "INV-500", ""),
        ("1.5", "Pages 1-5", "nowhere"),
        ("030-123", "030–123", ""),
        ("030 123", "030\n123", ""),
        ("12 kg", "12 lb", "nowhere"),
        ("2024-05-03 or later", "3 May 2024", "nowhere"),
        (10**30, "1", "nowhere"),
    ],
)
def test_a_sign_and_what_is_between_digits_are_part_of_a_value(value: Any, text: str, state: str) -> None:
    found = ground_value(field_of("string"), value, DocumentWords([typeset(text)]))
    assert (state in found.doubt) if state else not found.doubt, found
    assert (found.place is None) is (state == "nowhere")


def test_a_number_that_is_wanted_without_its_sign_is_where_it_has_one() -> None:
    found = ground_value(field_of("number: as a positive number"), 500, DocumentWords([typeset("Fee -500.00")]))
    assert found.place is not None and not found.doubt


def test_every_day_of_a_page_is_found_whatever_stands_before_it() -> None:
    text = "Date: 3 May 2024\nprinted 2024-06-01T10:00\n2024-13-45T00:00 9 avril 2024, 03.05.24 and 3/4/2024"
    words = DocumentWords([typeset(text)])
    found = {day: [text[one.start : one.end] for one in words.find_day(date.fromisoformat(day))] for day in DAYS}
    assert found == DAYS


DAYS = {
    "2024-05-03": ["3 May 2024", "03.05.24"],
    "2024-06-01": ["2024-06-01"],
    "2024-04-09": ["9 avril 2024"],
    "2024-04-03": ["3/4/2024"],
    "2024-03-04": ["3/4/2024"],
}


def test_thousands_of_values_are_looked_for_in_seconds() -> None:
    lines = "\n".join(f"Item {n} costs {n * 7}.25 on {n % 28 + 1}.{n % 12 + 1}.2024" for n in range(300))
    words = DocumentWords([typeset(lines, number) for number in range(1, 11)])
    number, day = field_of("number"), field_of(DAY)
    began = time.process_time()
    for n in range(3_000):
        ground_value(number, n * 7 + 0.25, words, [TextPlace(1, 0, 4)])
        ground_value(day, f"2024-{n % 12 + 1:02d}-{n % 28 + 1:02d}", words)
    assert time.process_time() - began < 10


def test_a_short_value_that_stands_in_many_places_is_taken_from_the_nearest_or_in_doubt() -> None:
    words = DocumentWords(PAGES)
    assert "nothing tells which" in ground_value(field_of("number"), 12, words).doubt
    near = ground_value(field_of("number"), 12, words, [TextPlace(2, 0, 4)])
    assert near.place is not None and near.place.page == 2 and not near.doubt


def test_a_truth_value_is_always_for_a_person() -> None:
    assert ground_value(field_of("boolean"), True, DocumentWords(PAGES)).doubt


def test_days_and_numbers_of_garbage_end() -> None:
    words = DocumentWords([Page(1, "1" * 20_000 + " 1." * 5_000 + "/" * 20_000)])
    assert not list(words.find_number(Decimal(7))) and not list(words.find_day(date(2024, 1, 1)))


def test_a_value_has_its_page_box_confidence_and_quote() -> None:
    page = typeset("Total 12.50", engine="tesseract", confidence=0.9)
    blurred = typeset("Total 12.50", engine="tesseract", confidence=0.4)
    root = read_schema(wanting(total="number", date=DAY))
    found = {"total": FoundValue(12.5, TextPlace(1, 6, 11))}
    total, day = judge_found(root, found, [page], 0.6).fields
    assert total.place is not None and total.place.quote == "12.50" and total.place.ocr_confidence == pytest.approx(0.9)
    (box,) = total.place.boxes
    assert box.page == 1 and box.box.x0 == pytest.approx(0.06)
    assert (total.state, day.state, day.reason) == (FieldState.FOUND, FieldState.MISSING, "not found")
    low = judge_found(root, found, [blurred], 0.6)
    assert (low.fields[0].state, low.fields[0].reason) == (FieldState.UNSURE, "low OCR confidence 0.40")
    assert low.data == {"total": 12.5}


XML = '<?xml version="1.0"?>\n<r é="1"><n>Grüße &amp; Küsse</n><v a="7">\n  12 </v>'


@pytest.mark.parametrize(
    "text", [XML + "</r>", XML + "<broken", '{"r": {"n": "Gr\\u00fc", "v": [12, 7.5, null, true]}']
)
def test_elements_have_their_places_also_before_a_break(text: str) -> None:
    structure = read_structure([Page(1, text)])
    assert structure is not None
    leaves = {(one.name, one.text): structure.place(one) for one in structure.root.leaves()}
    (value,) = [place for (name, held), place in leaves.items() if (name, held) == ("v", "12")]
    assert value is not None and text[value.start : value.end] == "12"


def test_a_text_that_is_no_structure_is_none_and_entities_are_left_alone() -> None:
    assert read_structure([Page(1, "No structure < here")]) is None and read_structure([]) is None
    bomb = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><r><x>&b;</x></r>'
    assert read_structure([Page(1, bomb)]) is None
    deep = "<a>" * 5_000 + "x" + "</a>" * 5_000
    assert read_structure([Page(1, deep)]) is None
    assert read_structure([Page(1, "[" * 100_000)]) is None


def test_a_structure_that_is_built_to_take_long_does_not() -> None:
    declared = "".join(f"<!ATTLIST e a{n} CDATA 'x'>" for n in range(100))
    texts = [
        f"<?xml version='1.0'?><!DOCTYPE r [{declared}]><r>{'<e>1</e>' * 20_000}</r>",
        "<r><a>" + "x\n" * 300_000 + "</a></r>",
        "<r>" + "<a>x\n</a>y\n" * 20_000 + "<a>never closed\n",
    ]
    began = time.process_time()
    for text in texts:
        structure = read_structure([Page(1, text)])
        assert structure is not None and not any(one.name.startswith("a1") for one in structure.root.walk())
    assert time.process_time() - began < 10


def test_a_line_that_only_looks_priced_is_soon_none() -> None:
    lines = ["a" + " " * 4_000 + "|", "a " * 2_000 + "1|", "a" + " ." * 190 + "1|", " " * 4_000 + "1"]
    began = time.process_time()
    assert find_priced_lines([Page(1, "\n".join(lines * 50))]) == []
    assert time.process_time() - began < 2
    rows = find_priced_lines([Page(1, "  2 x Rope @ 1.50  3.00 A \nLamp .... 4.00*\nSail  9.00  \n")])[0].rows
    assert [[None if cell is None else cell.text.strip() for cell in row] for row in rows] == [
        ["2", "Rope", "1.50", "3.00"],
        [None, "Lamp", None, "4.00"],
        [None, "Sail", None, "9.00"],
    ]
