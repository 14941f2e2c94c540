"""Insights: what is said of a table, checked against pandas, and what is never said."""

import random

import pandas as pd
import pytest

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from serve_apps.retrieval.tables.insights import FAR, Insight, InsightKind, find_insights
from serve_apps.retrieval.tables.relation import DocumentTables, Relation, build_relations
from serve_apps.retrieval.tables.sandboxed_sql import run_queries


def relation_of(text: str) -> Relation:
    tables = tuple(find_tables(Page(1, text, (), "native", None)))
    return build_relations([DocumentTables("d", "v", "catch.md", tables)])[0]


def table(heads: str, *rows: str) -> str:
    line = " | ".join("---" for _ in heads.split("|"))
    return "\n".join(["Catch", "", f"| {heads} |", f"| {line} |", *(f"| {row} |" for row in rows), ""])


def said(text: str) -> dict[InsightKind, Insight]:
    return {one.kind: one for one in find_insights("catch", relation_of(text))[0]}


CATCH = table(
    "Boat | Year | Tons",
    "Petrel | 2021 | 12",
    "Gannet | 2021 | 14",
    "Petrel | 2022 | 13",
    "Gannet | 2022 | 15",
    "Petrel | 2023 | 11",
    "Gannet | 2023 | 140",
    "Total | | 205",
)


def test_what_stands_out_is_said_with_its_rows() -> None:
    found = said(CATCH)
    assert found[InsightKind.LARGEST].text == "The largest Tons is 140: Gannet 2023."
    assert found[InsightKind.SMALLEST].text == "The smallest Tons is 11: Petrel 2023."
    assert found[InsightKind.SHARE].text == "Gannet 2023 has 68.3 % of all Tons: 140 of 205, the sum of 6 rows."
    assert found[InsightKind.CHANGE].text == "Tons went from 26 (2021) to 151 (2023): +125, +480.8 %."
    assert found[InsightKind.OUTLIER].text == "Tons: Gannet 2023 (140) is far from the others."
    assert found[InsightKind.CHANGE].rows == (0, 1, 4, 5) and found[InsightKind.OUTLIER].rows == (5,)


def test_each_statement_is_what_its_query_gives() -> None:
    relation = relation_of(CATCH)
    for one in find_insights("catch", relation)[0]:
        (rows,) = run_queries({"catch": relation}, [one.sql])
        told = {row for first, *_ in rows for row in (first if isinstance(first, list) else [first])}
        assert told == set(one.rows) and "is_total" in one.sql


@pytest.mark.parametrize("seed", range(12))
def test_figures_are_those_of_pandas(seed: int) -> None:
    rng = random.Random(seed)
    values = [rng.randint(1, 60) for _ in range(rng.randint(6, 30))]
    if seed % 2:
        values[rng.randrange(len(values))] = 5_000
    rows = [f"Crew{n:02}x | 2024-{1 + n % 12:02}-{1 + n // 12:02} | {value}" for n, value in enumerate(values)]
    found = said(table("Crew | Day | Hours", *rows))
    frame = pd.Series(values)
    if (frame == frame.max()).sum() == 1:
        assert found[InsightKind.LARGEST].rows == (int(frame.idxmax()),)
    share = round(100 * frame.max() / frame.sum(), 1)
    assert f"{share} %" in found[InsightKind.SHARE].text
    mad = (frame - frame.median()).abs().median()
    score = 0.6745 * (frame - frame.median()) / mad if mad else frame * 0
    far = set(score[score.abs() > float(FAR)].index)
    assert set(found[InsightKind.OUTLIER].rows if InsightKind.OUTLIER in found else ()) == far


def test_rates_are_neither_shared_nor_summed() -> None:
    rates = said(table("Boat | Year | Price per ton", "A | 2021 | 3", "B | 2021 | 4", "A | 2022 | 5", "B | 2022 | 7"))
    assert set(rates) == {InsightKind.LARGEST, InsightKind.SMALLEST}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (table("Boat | Owner", "A | x", "B | y", "C | z"), "No column of numbers"),
        (table("Boat | Tons", "A | 1", "B | 2"), "nothing can be said"),
        (table("Boat | Tons", "A | 1", "B | 2", "Total | 3"), "nothing can be said"),
        (table("Order no | Boat", "501 | A", "502 | B", "503 | C"), "No column of numbers"),
    ],
)
def test_of_texts_codes_and_few_rows_nothing_is_said(text: str, words: str) -> None:
    found, notes = find_insights("catch", relation_of(text))
    assert found == [] and words in notes[0]


def test_what_many_rows_share_does_not_stand_out() -> None:
    same = said(table("Boat | Tons", *(f"B{n} | 5" for n in range(8))))
    assert InsightKind.LARGEST not in same and InsightKind.OUTLIER not in same


def test_where_a_row_may_sum_others_up_no_share_is_said() -> None:
    rows = ("Bread | 10 | 12", "Milk | 5 | 6", "Food | 15 | 18", "Rent | 40 | 40")
    found, notes = find_insights("catch", relation_of(table("Line | Jan | Feb", *rows)))
    assert InsightKind.SHARE not in {one.kind for one in found} and "may sum others up" in notes[0]


@pytest.mark.parametrize("names", [("Median", "mad"), ("mad", "middle"), ("median", "spread"), ("z", "score")])
def test_a_column_may_be_called_as_a_query_calls_its_own(names: tuple[str, str]) -> None:
    rows = [f"A{n}b | {n} | {n * 2}" for n in (3, 4, 5, 6, 7, 500)]
    found = said(table(f"Boat | {names[0]} | {names[1]}", *rows))
    assert found[InsightKind.OUTLIER].rows == (5,)


@pytest.mark.parametrize("heading", ["Age", "Temperature", "Rating", "Score"])
def test_what_rows_do_not_have_together_is_not_shared(heading: str) -> None:
    found = said(table(f"Who | {heading}", "Ada | 40", "Ben | 30", "Cleo | 27"))
    assert InsightKind.SHARE not in found and InsightKind.LARGEST in found
