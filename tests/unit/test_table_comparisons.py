"""Comparisons without a model, over generated sheets, each figure checked against pandas; what is not plain is left."""

import random

import pandas as pd
import pytest

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from serve_apps.retrieval.tables.calculation import Calculation
from serve_apps.retrieval.tables.query_planning import plan_query
from serve_apps.retrieval.tables.question_cues import find_cues
from serve_apps.retrieval.tables.relation import DocumentTables, Relation, build_relations
from serve_apps.retrieval.tables.schema_links import WordMeanings
from serve_apps.retrieval.tables.table_comparison import compare_values, find_comparison
from serve_apps.retrieval.text.question_shape import question_shape
from serve_apps.retrieval.text.words import content_words

NAMES = ("Leeds", "York", "Hull", "Ripon")
YEARS = (2021, 2022, 2023)


def sheet(seed: int) -> pd.DataFrame:
    """Two rows of each depot and year, in any order."""
    rng = random.Random(seed)
    rows = [(name, year, rng.randint(10, 900), rng.randint(10, 900)) for name in NAMES for year in YEARS for _ in "ab"]
    rng.shuffle(rows)
    return pd.DataFrame(rows, columns=["Depot", "Year", "Revenue", "Costs"])


def relation_of(frame: pd.DataFrame) -> Relation:
    rows = [" | ".join(map(str, row)) for row in frame.itertuples(index=False)]
    total = " | ".join(str(frame[name].sum()) if name in ("Revenue", "Costs") else "" for name in frame.columns)
    lines = [" | ".join(frame.columns), " | ".join("---" for _ in frame.columns), *rows, f"Total{total}"]
    text = "# Sales of the depots\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n"
    tables = tuple(find_tables(Page(1, text, (), "native", None)))
    return build_relations([DocumentTables("d", "v", "sales.md", tables)])[0]


def ask(question: str, relation: Relation) -> Calculation | None:
    comparison = find_comparison(question)
    if comparison is None:
        return None
    about = WordMeanings({"sales.md": frozenset(content_words("Sales of the depots"))}, frozenset(), {})
    plans = []
    for part in comparison.questions:
        meanings = WordMeanings(about.titles, question_shape(part).attributes, {})
        plans.append(plan_query(part, find_cues(part), relation, meanings))
    found = [one for one in plans if one is not None]
    return compare_values(comparison, found) if len(found) == len(plans) else None


def summed(frame: pd.DataFrame, measure: str, **where: object) -> int:
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return int(frame[measure].sum())


GROWTH = (
    ("How much did the revenue grow from {a} to {b}?", "Revenue", {}),
    ("How much did revenue change between {a} and {b}?", "Revenue", {}),
    ("By how much did costs rise from {a} to {b}?", "Costs", {}),
    ("How much did the costs of {x} fall from {a} to {b}?", "Costs", {"Depot": "{x}"}),
    ("How much did revenue of {x} increase from {a} to {b}?", "Revenue", {"Depot": "{x}"}),
    ("What was the change in revenue of {x} between {a} and {b}?", "Revenue", {"Depot": "{x}"}),
    ("What is the growth in costs from {a} to {b}?", "Costs", {}),
    ("What is the difference in revenue between {a} and {b}?", "Revenue", {}),
)
LARGER = (
    ("Which had the higher revenue in {a}, {x} or {y}?", "Revenue", "{a}", max),
    ("Which had higher costs, {x} or {y}?", "Costs", "", max),
    ("Who had less revenue, {x} or {y} in {b}?", "Revenue", "{b}", min),
    ("Which has the lower costs for {b}: {x} or {y}?", "Costs", "{b}", min),
    ("Which was larger in revenue, {x} or {y}?", "Revenue", "", max),
)
DIFFERENCE = (
    ("What is the difference in revenue between {x} and {y}?", "Revenue", ""),
    ("What was the difference in costs between {x} and {y} in {a}?", "Costs", "{a}"),
    ("What is the difference in the costs between {x} and {y} for {b}?", "Costs", "{b}"),
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("form", "measure", "where"), GROWTH)
def test_growth_is_that_of_pandas(form: str, measure: str, where: dict[str, str], seed: int) -> None:
    frame, said = sheet(seed), {"x": NAMES[seed], "a": YEARS[0], "b": YEARS[1 + seed % 2]}
    conditions = {column: value.format(**said) for column, value in where.items()}
    found = ask(form.format(**said), relation_of(frame))
    before, after = (summed(frame, measure, Year=said[at], **conditions) for at in ("a", "b"))
    assert found is not None
    change, share = found.lines[0].text.partition(": ")[2].split(" ", 1)
    assert int(change) == after - before
    assert float(share.strip("()% ").replace("+", "")) == pytest.approx(100 * (after - before) / before, abs=0.06)
    rows = frame[frame.Year.isin([said["a"], said["b"]])]
    rows = rows[rows.Depot == said["x"]] if conditions else rows
    assert found.rows == len(rows) and found.totals_left_out == 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("form", "measure", "year", "end"), LARGER)
def test_the_larger_of_two_is_that_of_pandas(form: str, measure: str, year: str, end: object, seed: int) -> None:
    frame, said = sheet(seed), {"x": NAMES[seed], "y": NAMES[seed + 1], "a": YEARS[0], "b": YEARS[2]}
    when = {"Year": int(year.format(**said))} if year else {}
    values = {name: summed(frame, measure, Depot=name, **when) for name in (said["x"], said["y"])}
    found = ask(form.format(**said), relation_of(frame))
    assert found is not None
    name, apart = found.lines[0].text.split(", by ")
    assert name == (max if end is max else min)(values, key=lambda one: values[one])
    low, high = sorted(values.values())
    assert int(apart) == high - low
    assert found.chart is not None and dict(found.chart.points) == {one: float(values[one]) for one in values}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("form", "measure", "year"), DIFFERENCE)
def test_a_difference_is_that_of_pandas(form: str, measure: str, year: str, seed: int) -> None:
    frame, said = sheet(seed), {"x": NAMES[seed], "y": NAMES[seed + 1], "a": YEARS[0], "b": YEARS[2]}
    when = {"Year": int(year.format(**said))} if year else {}
    first, last = (summed(frame, measure, Depot=said[at], **when) for at in ("x", "y"))
    found = ask(form.format(**said), relation_of(frame))
    assert found is not None and found.lines[0].text.endswith(f": {abs(first - last)}")
    assert "union all" in found.sql


@pytest.mark.parametrize(
    "question",
    [
        "How much did the profit grow from 2021 to 2022?",
        "How much did revenue grow from 2021 to 2029?",
        "How much did the revenue of Paris grow from 2021 to 2022?",
        "Which had the higher revenue in 2022, Leeds or Paris?",
        "Which had the higher margin, Leeds or York?",
        "Which is larger, Leeds or York?",
        "What is the difference in revenue between Leeds and Leeds?",
        "What is the difference in revenue without taxes between Leeds and York?",
        "How much did revenue grow from 2021 to 2022 and 2023?",
        "Which had the higher revenue, Leeds, York or Hull?",
        "How much did revenue grow?",
        "What is the total revenue of Leeds in 2022?",
        "How much did revenue grow from 2021 to 2021?",
    ],
)
def test_what_the_table_does_not_know_or_nobody_says_plainly_is_not_compared(question: str) -> None:
    assert ask(question, relation_of(sheet(0))) is None


@pytest.mark.parametrize(
    ("question", "measure", "year"),
    [
        ("Which depot made more revenue in 2022, Leeds or York?", "Revenue", 2022),
        ("Was the revenue of Leeds larger than that of York in 2021?", "Revenue", 2021),
        ("Compare the costs of Leeds and York in 2023.", "Costs", 2023),
        ("What is the difference between the costs of Leeds and York in 2021?", "Costs", 2021),
        ("How much more revenue did Leeds have than York in 2022?", "Revenue", 2022),
        ("Which has the larger revenue, Leeds or York, in 2023?", "Revenue", 2023),
    ],
)
def test_the_same_is_asked_in_other_words(question: str, measure: str, year: int) -> None:
    frame = sheet(7)
    values = [summed(frame, measure, Depot=name, Year=year) for name in ("Leeds", "York")]
    found = ask(question, relation_of(frame))
    assert found is not None and found.chart is not None
    assert [value for _, value in found.chart.points] == values
    assert found.lines[0].text.endswith(str(abs(values[0] - values[1])))


def test_without_a_measure_the_only_one_is_compared() -> None:
    frame = sheet(1).drop(columns=["Costs"])
    found = ask("Which is larger, Leeds or York in 2022?", relation_of(frame))
    values = {name: summed(frame, "Revenue", Depot=name, Year=2022) for name in ("Leeds", "York")}
    assert found is not None
    assert found.lines[0].text.startswith(max(values, key=lambda one: values[one]))


def test_prices_of_several_rows_are_not_added_up() -> None:
    frame = sheet(2).rename(columns={"Revenue": "Unit price"})
    assert ask("What is the difference in unit price between Leeds and York?", relation_of(frame)) is None
