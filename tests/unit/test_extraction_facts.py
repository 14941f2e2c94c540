"""Extraction without a model: papers in several layouts and languages, and what is said of what is not found."""

import time
from typing import Any

import pytest

from pipelines.documents.document import Page
from serve_apps.retrieval.extraction.document_extractor import validate_extraction
from serve_apps.retrieval.extraction.extraction_result import Extraction, FieldState, judge_found
from serve_apps.retrieval.extraction.facts_route import extract_facts
from serve_apps.retrieval.extraction.schema_fields import read_schema
from tests.fakes.paperwork import PAPERS, Paper, rows_of, typeset, wanting


def extracted(pages: Any, schema: Any) -> Extraction:
    root = read_schema(schema)
    return validate_extraction(schema, judge_found(root, extract_facts(root, pages), pages, 0.6))


def state_of(found: Extraction, path: str) -> tuple[FieldState, str]:
    return next((one.state, one.reason) for one in found.fields if one.path == path)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_the_values_of_a_paper_are_found_by_their_names(paper: Paper) -> None:
    found = extracted(paper.pages, paper.schema)
    assert {name: found.data.get(name) for name in paper.truth} == paper.truth
    assert found.flaws == ()


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_each_value_leads_to_the_text_that_states_it(paper: Paper) -> None:
    texts = {page.number: page for page in paper.pages}
    for one in extracted(paper.pages, paper.schema).fields:
        if one.state in (FieldState.FOUND, FieldState.UNSURE):
            assert one.place is not None, one
            page = texts[one.place.page]
            assert page.text[one.place.start : one.place.end] == one.place.quote != ""
            assert bool(one.place.boxes) is bool(page.words)


def test_a_table_that_goes_on_over_pages_is_one_and_its_total_is_no_record() -> None:
    head = "| Lorry | Toll |\n| --- | --- |\n"
    pages = [
        typeset(head + "| Lorry 12 | 310 |\n| Lorry 15 | 90 |"),
        typeset(head + "| Lorry 19 | 60 |\n| Total | 460 |", 2),
    ]
    found = extracted(pages, wanting(tolls=rows_of(lorry="string", toll="number")))
    assert found.data["tolls"] == [
        {"lorry": "Lorry 12", "toll": 310},
        {"lorry": "Lorry 15", "toll": 90},
        {"lorry": "Lorry 19", "toll": 60},
    ]


def test_columns_that_no_heading_names_are_in_doubt() -> None:
    """A table in a language of its own: types and order tell the columns, and the result says so."""
    table = "| Vara | Mängd | Vikt |\n| --- | --- | --- |\n| Järn | 4 | 12,5 |\n| Kol | 7 | 80,0 |"
    found = extracted([typeset(table)], wanting(goods=rows_of(product="string", count="integer", mass="number")))
    assert found.data["goods"][0] == {"product": "Järn", "count": 4, "mass": 12.5}
    state, reason = state_of(found, "/goods/0/count")
    assert state is FieldState.UNSURE and "not by its heading" in reason


def test_two_labels_that_fit_alike_are_in_doubt() -> None:
    found = extracted([typeset("Order number: 17-A\nOrder number: 18-B")], wanting(orderNumber="string"))
    state, reason = state_of(found, "/orderNumber")
    assert state is FieldState.UNSURE and "could also be" in reason


def test_what_is_to_be_calculated_or_chosen_is_in_doubt() -> None:
    text = "Sum of fees: 12\n\n| Fee | Amount |\n| --- | --- |\n| Port | 7 |\n| Pilot | 5 |"
    schema = wanting(fees="number: sum of all fees", large=rows_of(fee="string", amount="number"))
    schema["properties"]["large"]["description"] = "only fees of 6 or more"
    found = extracted([typeset(text)], schema)
    assert "calculated" in state_of(found, "/fees")[1]
    assert "which these are is not judged" in state_of(found, "/large/0/fee")[1]


def test_what_is_not_stated_is_missing_and_named_by_the_schema() -> None:
    schema = wanting(total="number", due="string: YYYY-MM-DD") | {"required": ["total"]}
    found = extracted([typeset("A letter without figures, and nothing else.")], schema)
    assert found.data == {} and "required" in found.flaws[0]
    assert {one.state for one in found.fields} == {FieldState.MISSING}
    assert extracted([], schema).data == {}


def test_a_column_is_no_field_of_the_document() -> None:
    """One of many cells is not the balance, whatever its column is called."""
    table = "| Day | Balance |\n| --- | --- |\n| Monday | 12 |\n| Tuesday | 15 |"
    assert extracted([typeset(table)], wanting(balance="number")).data == {}


@pytest.mark.parametrize(
    "text",
    [
        "A" * 20_000,
        "A. " * 6_000,
        "\n" * 20_000,
        "a: " * 6_000,
        "1/1/2020 - " * 1_800,
        '("' * 9_000,
        "a\n" * 9_000,
        " " * 20_000 + "as Borrower",
        "No. " * 5_000,
        "| a " * 5_000,
        "A\t" * 9_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_a_page_that_is_built_to_take_long_does_not(text: str) -> None:
    schema = wanting(orderNumber="string", start="string: YYYY-MM-DD", total="number", borrower="string")
    began = time.perf_counter()
    extracted([Page(1, text)], schema)
    assert time.perf_counter() - began < 10
