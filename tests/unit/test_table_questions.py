"""Questions to tables: cells by their type, rows that sum others up, plain wordings as queries, and what they give."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import PageTable, TableKind, table_from_json, table_to_json
from serve_apps.retrieval.tables.calculation import Calculation, calculate
from serve_apps.retrieval.tables.cell_values import ColumnType, parse_number, type_column
from serve_apps.retrieval.tables.query_planning import QueryPlan, plan_query
from serve_apps.retrieval.tables.question_cues import find_cues
from serve_apps.retrieval.tables.relation import DocumentTables, Relation, build_relations
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery, run_queries
from serve_apps.retrieval.tables.schema_links import WordMeanings
from serve_apps.retrieval.tables.table_query import Aggregate, Operator
from serve_apps.retrieval.text.question_shape import comparison_attributes, question_shape
from serve_apps.retrieval.text.words import content_words

BOATS = """# Harbour dues

| Boat | Owner | Arrived | Berth | Dues |
| --- | --- | --- | --- | --- |
| Petrel | Ada Quist | 2024-03-02 | North Pier | 1,200 |
| Gannet | Ben Thorne | 2024-05-17 | South Pier | 800 |
| Dunlin | Ada Quist | 2025-01-09 | North Pier | 450 |
| Fulmar | Cora Vance | 2024-03-28 | South Pier | 2,050 |
| Total | | | | 4,500 |
"""


def tables_of(text: str, name: str = "dues.md", page: int = 1) -> DocumentTables:
    return DocumentTables(name, f"v-{name}", name, tuple(find_tables(Page(page, text, (), "native", None))))


def relation_of(text: str) -> Relation:
    return build_relations([tables_of(text)])[0]


def plan_of(
    question: str, text: str = BOATS, title: str = "Harbour dues", near: Mapping[tuple[str, str], float] | None = None
) -> QueryPlan | None:
    attributes = question_shape(question).attributes | comparison_attributes(question)
    meanings = WordMeanings({"dues.md": frozenset(content_words(title))}, attributes, near or {})
    return plan_query(question, find_cues(question), relation_of(text), meanings)


def answer_to(question: str, text: str = BOATS) -> Calculation:
    plan = plan_of(question, text)
    assert plan is not None
    found = calculate(plan)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("cell", "point", "value"),
    [
        ("1,200.50", ".", "1200.50"),
        ("1.200,50 €", ",", "1200.50"),
        ("(3,400)", ".", "-3400"),
        ("12-", ".", "-12"),
        ("$ 7", ".", "7"),
        ("12,34,567", ".", "1234567"),
        ("1 234", ".", "1234"),
    ],
)
def test_a_number_is_read_as_it_is_written(cell: str, point: str, value: str) -> None:
    found = parse_number(cell, point)
    assert found is not None and found.value == Decimal(value)


@pytest.mark.parametrize("cell", ["007", "12/08", "A-100", "1,2,3", "", "twelve", "1.2.3.4"])
def test_codes_and_words_are_no_numbers(cell: str) -> None:
    assert parse_number(cell) is None


def test_the_whole_column_tells_the_notation_of_each_cell() -> None:
    assert type_column(["1.250", "3,75", "12,00"]).values == (Decimal("1250"), Decimal("3.75"), Decimal("12.00"))
    days = type_column(["03/04/2024", "03/25/2024"])
    assert days.type is ColumnType.DATE and [str(day) for day in days.values] == ["2024-03-04", "2024-03-25"]


def test_a_table_survives_its_json() -> None:
    for table in find_tables(Page(3, BOATS, (), "native", None)):
        assert table_from_json(table_to_json(table)) == table


def test_a_row_stands_where_its_cells_stand() -> None:
    table = find_tables(Page(1, BOATS, (), "native", None))[0]
    row = table.rows[1]
    assert BOATS[row.start : row.end].startswith("Gannet") and BOATS[row.start : row.end].endswith("800")
    assert row.section == "Harbour dues"


def test_rows_that_sum_others_up_are_totals_by_name_and_by_their_numbers() -> None:
    assert relation_of(BOATS).totals == {4}
    unnamed = """| Line | Jan | Feb |
| --- | --- | --- |
| Bread | 10 | 12 |
| Milk | 5 | 6 |
| Food | 15 | 18 |
| Rent | 40 | 40 |
"""
    # Nothing says that Food is the two before it, so nothing of it is added up.
    assert relation_of(unnamed).totals == set() and relation_of(unnamed).doubtful == {2}
    assert plan_of("What is the total of Feb?", unnamed, "Budget") is None


def test_a_table_that_goes_on_over_pages_is_one_relation() -> None:
    first = "| Boat | Dues |\n| --- | --- |\n| Petrel | 10 |\n"
    later = "| Gannet | 20 |\n| --- | --- |\n| Dunlin | 30 |\n"
    pages = (*tables_of(first).tables, *tables_of(later, page=2).tables)
    (relation,) = build_relations([DocumentTables("d", "v", "dues.pdf", pages)])
    assert [str(value) for value in relation.column("Dues").values] == ["10", "20", "30"]
    place = relation.places[1][0]
    assert place.page == 2 and later[place.start : place.end].startswith("Gannet")


def test_what_goes_on_over_a_page_stands_under_the_title_of_the_page_before() -> None:
    """A title that only the first page has is no condition that leaves the second one out."""
    pages = (
        *tables_of("# Harbour report 2022\n\n| Boat | Dues |\n| --- | --- |\n| Petrel | 10 |\n").tables,
        *tables_of("| Boat | Dues |\n| --- | --- |\n| Gannet | 20 |\n", page=2).tables,
        *tables_of("| Boat | Dues |\n| --- | --- |\n| Dunlin | 40 |\n", page=4).tables,
    )
    (relation,) = build_relations([DocumentTables("d", "v", "dues.pdf", pages)])
    assert relation.sections == ("Harbour report 2022", "Harbour report 2022", "")
    two = build_relations([DocumentTables("d", "v", "dues.pdf", pages[:2])])[0]
    question = "What are the total dues in the harbour report?"
    plan = plan_query(question, find_cues(question), two, WordMeanings({"dues.pdf": frozenset()}, frozenset(), {}))
    assert plan is not None and (found := calculate(plan)) is not None
    assert found.rows == 2 and "30" in found.lines[0].text


def test_a_table_without_a_head_goes_on_from_the_page_before_or_has_no_relation() -> None:
    first = "| Boat | Due |\n| --- | --- |\n| Alma | 12.50 |\n| Berta | 30.00 |\n"
    bare = "| | |\n| --- | --- |\n| Carla | 7.50 |\n| Dora | 10.00 |\n"
    pages = (*tables_of(first).tables, *tables_of(bare, page=2).tables)
    (relation,) = build_relations([DocumentTables("d", "v", "dues.pdf", pages)])
    assert relation.column("Due").shown == ("12.50", "30.00", "7.50", "10.00")
    assert build_relations([tables_of(bare)]) == []


def test_forms_of_one_kind_are_a_row_each() -> None:
    forms = [
        tables_of(f"Name: {name}\nWeight: {weight} kg\nPort: {port}\n", f"{name}.md")
        for name, weight, port in (("Petrel", 900, "Cork"), ("Gannet", 1500, "Graz"), ("Dunlin", 1200, "Cork"))
    ]
    (relation,) = build_relations(forms)
    assert relation.kind is TableKind.FORM and relation.rows == 3
    assert relation.column("Weight").type is ColumnType.NUMBER and relation.column("Weight").unit == "kg"


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What are the total dues?", "Total Dues: 4,500 (4 rows)"),
        ("What are the total dues of the North Pier?", "Total Dues (Berth is North Pier): 1,650 (2 rows)"),
        ("How many boats are at the South Pier?", "Number of different Boat (Berth is South Pier): 2"),
        ("How many boats arrived in March 2024?", ": 2"),
        ("How much did Ada Quist pay in total?", "1,650 (2 rows)"),
        ("What is the average of the dues?", "Average Dues: 1,125"),
        ("Which boat has the highest dues?", "Boat: Fulmar, Dues: 2,050"),
        ("Which boat arrived most recently?", "Boat: Dunlin"),
        ("Which owner has the lowest total dues?", "Owner Ben Thorne: 800"),
        ("What are the dues of the Gannet?", "Dues: 800"),
        ("Who is the owner of the Fulmar?", "Owner: Cora Vance"),
    ],
)
def test_a_plain_question_is_calculated(question: str, says: str) -> None:
    found = answer_to(question)
    assert says in found.lines[0].text and found.lines[0].places


def test_a_list_names_every_row_that_fits_and_no_other() -> None:
    said = " ".join(line.text for line in answer_to("Which boats have dues over 1,000?").lines)
    assert "Petrel" in said and "Fulmar" in said and "Gannet" not in said and "Total" not in said


def test_each_group_has_a_line() -> None:
    lines = [line.text for line in answer_to("What are the total dues per owner?").lines]
    assert lines == ["Ada Quist: 1,650", "Ben Thorne: 800", "Cora Vance: 2,050"]


@pytest.mark.parametrize(
    "question",
    [
        "What are the total dues of the East Pier?",  # a name that the table does not know
        "Which boat sank in the storm of the century?",
        "How many sailors drowned?",
        "What are the dues of order 4711?",
        "Why do boats pay dues?",
    ],
)
def test_what_a_table_does_not_know_is_not_calculated(question: str) -> None:
    plan = plan_of(question)
    assert plan is None or calculate(plan) is None


def test_columns_that_are_named_by_the_same_words_are_not_guessed_between() -> None:
    text = "| Shop | Net amount | Gross amount |\n| --- | --- | --- |\n| Cork | 10 | 12 |\n| Graz | 20 | 24 |\n"
    assert plan_of("What is the total amount of the shops?", text, "Shops") is None
    plan = plan_of("What is the total gross amount of the shops?", text, "Shops")
    assert plan is not None and plan.query.measure == "Gross amount"


def test_the_query_is_shown_and_leaves_totals_out() -> None:
    found = answer_to("What are the total dues of the North Pier?")
    assert found.sql == 'select sum("Dues")\nfrom "dues.md"\nwhere not is_total and "Berth" = \'North Pier\''
    assert found.totals_left_out == 1 and found.rows == 2


def test_bounds_and_periods_are_no_ends_of_an_order() -> None:
    cues = find_cues("Which boats paid more than 1,000 euros after March 2024?")
    assert cues.aggregate is Aggregate.NONE and cues.lists
    assert [(one.operator, one.bound) for one in cues.comparisons] == [(Operator.OVER, Decimal(1000))]
    assert [str(one.first) for one in cues.periods] == ["2024-04-01"]
    assert find_cues("Which is the most recent invoice?").aggregate is Aggregate.LATEST


@pytest.mark.parametrize(
    "statement",
    [
        "select 1; select 2",
        'drop table "dues.md"',
        "copy \"dues.md\" to '/tmp/out.csv'",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "attach '/tmp/x.db' as x",
        "install httpfs",
        "set enable_external_access = true",
        "pragma database_list",
    ],
)
def test_only_one_select_over_the_tables_is_run(statement: str) -> None:
    with pytest.raises(BadQuery):
        run_queries({"dues.md": relation_of(BOATS)}, [statement])


def test_a_query_that_takes_too_long_ends() -> None:
    endless = "select count(*) from range(1000000000) a, range(1000000000) b where a.range * b.range % 7 = 3"
    with pytest.raises(BadQuery):
        run_queries({"dues.md": relation_of(BOATS)}, [endless], seconds=0.3)


def test_sums_are_exact() -> None:
    text = "| Item | Price |\n| --- | --- |\n" + "| Screw | 0.10 |\n" * 3
    assert "0.30" in answer_to("What is the total price?", text).lines[0].text


def test_a_part_of_a_page_table_without_a_head_is_none() -> None:
    assert find_tables(Page(1, "Nothing but a sentence.", (), "native", None)) == list[PageTable]()


def test_a_cell_that_says_more_than_its_number_is_compared_by_the_number() -> None:
    column = type_column(["85, Male", "61, Male", "32, Female"])
    assert column.type is ColumnType.NUMBER and column.values[0] == Decimal(85)
    assert type_column(["1500 ft / 75 ft", "3078 ft / 100 ft"]).unit == "ft"
    assert type_column(["1, 2, 3", "4, 5, 6"]).type is ColumnType.TEXT


def test_a_word_that_no_heading_has_is_looked_for_by_meaning_and_a_name_never_is() -> None:
    near = {("fee", "Dues"): 0.7, ("fee", "Boat"): 0.2, ("amsel", "Boat"): 0.9}
    plan = plan_of("What is the average fee?", near=near)
    assert plan is not None and plan.query.measure == "Dues"
    assert plan_of("What is the average fee?") is None
    assert plan_of("What is the average fee of the Amsel?", near=near) is None


def test_two_headings_that_are_alike_near_are_not_guessed_between() -> None:
    near = {("fee", "Dues"): 0.6, ("fee", "Berth"): 0.58}
    assert plan_of("What is the average fee?", near=near) is None


def test_a_unit_names_its_only_column() -> None:
    text = "| Catch | Weight (kg) | Boxes |\n| --- | --- | --- |\n| Cod | 40 | 2 |\n| Hake | 10 | 1 |\n"
    assert "Total Weight (kg): 50" in answer_to("How many kilos were there in total?", text).lines[0].text


def test_nothing_that_fits_is_counted_as_nothing_with_what_was_looked_at() -> None:
    found = answer_to("How many boats at the North Pier have dues over 9,000?")
    assert found.lines[0].text.endswith(": 0") and found.rows == 0 and len(found.lines[0].places) == 2


def test_a_word_among_numbers_is_compared_as_it_is_written() -> None:
    text = "| Club | Granted |\n| --- | --- |\n| Rowing | 400 |\n| Chess | declined |\n| Scouts | 300 |\n"
    (line,) = answer_to("Which club was declined?", text).lines
    assert "Chess" in line.text
    assert "700 (2 rows)" in answer_to("What is the total granted?", text).lines[0].text


def test_the_most_of_something_is_summed_where_its_rows_repeat() -> None:
    assert answer_to("Which owner paid the most dues?").lines[0].text == "Owner Cora Vance: 2,050"
    assert answer_to("Who owns the boat with the highest dues?").lines[0].text.startswith("Owner: Cora Vance")


TREES = """# Trees

| Tree | Grade | Felled | Year planted | Seen | Height |
| --- | --- | --- | --- | --- | --- |
| T-1 | A | Yes | 1931 | 2024-01-02 | 10 |
| T-2 | B | No | 1975 | 2024-01-03 | 20 |
| T-3 | B | Yes | 1988 | 2024-01-04 | 30 |
"""


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("How many trees have the grade B?", ": 2"),
        ("How many trees are of grade A?", ": 1"),
        ("How many trees are felled (Yes)?", ": 2"),
        ("How many trees have a year planted before 1980?", ": 2"),
        ("What is the average height per tree?", "Average Height: 20"),
    ],
)
def test_short_values_years_and_rows_of_their_own_are_understood(question: str, says: str) -> None:
    (line,) = answer_to(question, TREES).lines
    assert says in line.text


def test_several_columns_that_are_asked_for_are_all_shown() -> None:
    (line,) = answer_to("What are the grade and the height of T-3?", TREES).lines
    assert "Grade: B" in line.text and "Height: 30" in line.text


def test_numbers_that_only_number_the_rows_are_no_measure() -> None:
    text = "| Candidate | Written |\n| --- | --- |\n| 101 | 85 |\n| 102 | 70 |\n| 103 | 91 |\n"
    found = answer_to("How many candidates have 80 or more written?", text)
    assert found.lines[0].text.endswith("(Written at least 80): 2")


@pytest.mark.parametrize(
    "question",
    [
        "How many boats are not at the North Pier?",
        "What are the total dues of all boats other than the Petrel?",
        "How many boats have dues under 500 or over 2,000?",
        "How many boats arrived in 2024 and 2025?",
        "Which are the top 3 boats by dues?",
        "What are the total dues per person?",
        "What are the highest dues per berth?",
        "Which owner has the most entries?",
        "What are the total dues of Max Weber?",
        "How many boats have dues over 2 tonnes of fish?",
        "How many boats arrived on 9999-12-31?",
    ],
)
def test_a_question_with_a_condition_that_is_not_understood_is_not_calculated(question: str) -> None:
    plan = plan_of(question)
    assert plan is None or calculate(plan) is None


def test_at_least_is_a_bound_and_no_end_of_an_order() -> None:
    assert answer_to("How many boats have dues of at least 800?").lines[0].text.endswith("(Dues at least 800): 3")


def test_a_period_says_on_which_side_of_it() -> None:
    assert answer_to("What are the total dues after Q1 2024?").lines[0].text.endswith(": 1,250 (2 rows)")


def small_table(*rows: str) -> str:
    """A Markdown table of lines of cells."""
    first, *others = (f"| {row} |" for row in rows)
    return "\n".join([first, "|" + " --- |" * (first.count("|") - 1), *others]) + "\n"


@pytest.mark.parametrize(
    ("rows", "question"),
    [
        # A column that is named and not used; a value that stands in two columns; a bound in another unit.
        (("Invoice | Paid | Amount", "1a | yes | 10", "2a | no | 50"), "How many invoices are paid?"),
        (("From | To", "Paris | Cork", "Cork | Paris"), "How many flights go to Paris?"),
        (("Load | Weight", "Coal | 900 kg", "Ore | 2500 kg"), "Which loads have a weight over 2 t?"),
        # Several units, numbers that can be read in two ways, and one that is not sure.
        (("Fee | Sum", "a | 100 €", "b | 200 $"), "What is the total sum?"),
        (("Fee | Sum", "a | 1.250", "b | 980"), "What is the total sum?"),
        (("Flat | Rent", "a | 120", "b | ca. 300", "c | 50"), "What is the total rent?"),
        # Which of two days a month is of, nobody says.
        (("Load | Booked | Shipped", "a1 | 2024-03-01 | 2024-04-01"), "How many loads were there in March 2024?"),
        # Rows that may be the sum of others.
        (("Team | Wins | Draws", "A | 1 | 1", "B | 2 | 0", "C | 3 | 1"), "What is the total of wins?"),
    ],
)
def test_a_figure_in_doubt_is_none(rows: tuple[str, ...], question: str) -> None:
    plan = plan_of(question, small_table(*rows), "Table of flights, loads and fees")
    assert plan is None or calculate(plan) is None


def test_totals_are_told_by_their_name_wherever_it_stands_and_a_firm_may_be_called_total() -> None:
    text = "| Item | Unit | Sum |\n| --- | --- | --- |\n| Nail | box | 20 |\n| Saw | one | 15 |\n| | Total | 35 |\n"
    assert "35 (2 rows)" in answer_to("What is the total sum?", text).lines[0].text
    north = "| Shop | Sum |\n| --- | --- |\n| A | 20 |\n| B | 15 |\n| North Total | 35 |\n"
    assert "35 (2 rows)" in answer_to("What is the total sum?", north).lines[0].text
    firms = "| Firm | Sum |\n| --- | --- |\n| Alder | 4 |\n| Birch | 6 |\n| Total SA | 20 |\n"
    assert plan_of("What is the total sum?", firms, "Firms") is None  # whether it is one nobody can tell


def test_copies_of_a_document_count_once_and_a_firms_notation_is_its_own() -> None:
    text = "| Fee | Sum |\n| --- | --- |\n| a | 10 |\n| b | 20 |\n"
    (relation,) = build_relations([tables_of(text, "t.md"), tables_of(text, "copy of t.md")])
    assert relation.rows == 2
    german = "| Fee | Sum |\n| --- | --- |\n| c | 1.250,50 |\n| d | 3,75 |\n"
    (both,) = build_relations([tables_of(text, "t.md"), tables_of(german, "de.md")])
    assert both.column("Sum").values == (Decimal(10), Decimal(20), Decimal("1250.50"), Decimal("3.75"))


def test_headings_that_sql_takes_for_one_are_told_apart() -> None:
    text = "| Row | row | Document | Is_Total |\n| --- | --- | --- | --- |\n| a | 1 | x | 5 |\n| b | 2 | y | 6 |\n"
    relation = relation_of(text)
    assert run_queries({"t": relation}, ['select count(*) from "t"']) == [[(2,)]]
    assert len({one.name.casefold() for one in relation.columns}) == 4


def test_an_average_has_all_of_its_digits_and_empty_groups_are_left_out() -> None:
    text = (
        "| Fee | Kind | Sum |\n| --- | --- | --- |\n| a | x | 617283945061728400000001 |\n| b | x | 3 |\n| c | y | |\n"
    )
    (line,) = answer_to("What is the average sum?", text).lines
    assert "308,641,972,530,864,200,000,002" in line.text
    assert [one.text[:2] for one in answer_to("What is the total sum per kind?", text).lines] == ["x:"]


def test_a_number_of_a_title_and_a_noun_with_more_beside_it_are_no_count_of_all_rows() -> None:
    text = "# Rights, Article 6\n\n" + small_table("Right | Article", "access | 15", "erasure | 17")
    assert plan_of("How many legal bases does Article 6 have?", text, "Legal bases, Article 6") is None
    assert (
        plan_of("How many rights does the Regulation of the Union grant?", text, "Rights regulation union grant")
        is None
    )
    plan = plan_of("How many rights are there?", text, "Rights")
    assert plan is not None and plan.query.aggregate is Aggregate.COUNT
