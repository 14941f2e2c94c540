"""Queries that somebody writes over tables: what they may do, what stops them, and the rows each result is made of."""

from collections.abc import Sequence
from typing import Any

import pytest

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from serve_apps.retrieval.tables.relation import DocumentTables, Relation, build_relations
from serve_apps.retrieval.tables.sandboxed_sql import BadQuery
from serve_apps.retrieval.tables.table_catalogue import find_table_names, name_tables
from serve_apps.retrieval.tables.written_query import QueryResult, run_written_query

TOLLS = """Tolls of the ferry

| Lorry | Quay | Day | Toll | Tons |
| --- | --- | --- | --- | --- |
| Oak 1 | North | 2024-03-01 | 310.50 | 12 |
| Oak 2 | South | 2024-03-02 | 90.25 | 7 |
| Elm 3 | North | 2024-04-03 | 40.00 | 3 |
| Ash 4 | West | 2024-04-09 | 60.00 | 5 |
| Total | | | 500.75 | 27 |
"""
QUAYS = """Quays

| Quay | Keeper |
| --- | --- |
| North | Ada Quist |
| South | Ben Thorne |
"""
ENDLESS = "select count(*) from " + ", ".join(f"tolls t{n}" for n in range(24))


def document_of(text: str, name: str = "tolls.md", id_: str = "d" * 32) -> DocumentTables:
    return DocumentTables(id_, "v" * 32, name, tuple(find_tables(Page(1, text, (), "native", None))))


def relation_of(text: str) -> Relation:
    return build_relations([document_of(text)])[0]


def ask(sql: str, *, most: int = 50, seconds: float = 10.0) -> QueryResult:
    return run_written_query(
        sql, {"tolls": relation_of(TOLLS), "quays": relation_of(QUAYS)}, most=most, seconds=seconds
    )


def rows_behind(found: QueryResult, text: str = TOLLS) -> list[set[str]]:
    """The first cells of the rows that each row of a result is made of."""
    assert found.sources is not None
    return [{text[one.start : one.end].strip("| ").split(" |")[0] for one in source.places} for source in found.sources]


@pytest.mark.parametrize(
    ("sql", "rows", "behind"),
    [
        ('select "Lorry" from tolls where "Toll" > 80', [("Oak 1",), ("Oak 2",)], [{"Oak 1"}, {"Oak 2"}]),
        ('select sum("Toll") from tolls', [(500.75,)], [{"Oak 1", "Oak 2", "Elm 3", "Ash 4"}]),
        (
            'select "Quay", count(*) from tolls group by "Quay" order by 2 desc, 1',
            [("North", 2), ("South", 1), ("West", 1)],
            [{"Oak 1", "Elm 3"}, {"Oak 2"}, {"Ash 4"}],
        ),
        ('select max("Toll") from tolls', [(310.5,)], [{"Oak 1"}]),
        ('select distinct "Quay" from tolls order by 1 limit 1', [("North",)], [{"Oak 1", "Elm 3"}]),
        (
            'with q as (select "Quay", sum("Tons") as tons from tolls group by all) select * from q where tons > 6',
            [("North", 15), ("South", 7)],
            [{"Oak 1", "Elm 3"}, {"Oak 2"}],
        ),
        ('select * from (select "Lorry" from tolls) where "Lorry" like \'Elm%\'', [("Elm 3",)], [{"Elm 3"}]),
        (
            'select "Lorry" from tolls where "Tons" > 10 union all select "Lorry" from tolls where "Tons" < 4',
            [("Oak 1",), ("Elm 3",)],
            [{"Oak 1"}, {"Elm 3"}],
        ),
        (
            'select "Lorry", sum("Tons") over (order by "Day") from tolls qualify row_number() over () = 2',
            [("Oak 2", 19)],
            [{"Oak 2"}],
        ),
        ("select date_trunc('month', \"Day\")::date d, count(*) from tolls group by 1 having count(*) > 5", [], []),
        ("select row, is_total from tolls where is_total", [(4, True)], [{"Total"}]),
    ],
)
def test_each_row_of_a_result_has_the_rows_that_it_is_made_of(
    sql: str, rows: list[tuple[Any, ...]], behind: Sequence[set[str]]
) -> None:
    found = ask(sql)
    assert list(found.rows) == rows
    assert sorted(map(sorted, rows_behind(found))) == sorted(map(sorted, behind))


def test_a_join_has_the_rows_of_both_tables() -> None:
    found = ask('select t."Lorry", q."Keeper" from tolls t join quays q using ("Quay") where t."Tons" = 7')
    assert found.rows == (("Oak 2", "Ben Thorne"),) and found.sources is not None
    assert found.sources[0].rows == 2 and len(found.sources[0].places) == 2
    outer = ask('select count(*) from tolls t left join quays q using ("Quay") where q."Quay" is null')
    assert outer.rows == ((1,),) and rows_behind(outer) == [{"Ash 4"}]


def test_what_hides_its_rows_is_answered_and_says_so() -> None:
    found = ask('select "Lorry" from tolls union select "Quay" from quays')
    assert len(found.rows) == 6 and found.sources is None
    assert any("cannot be told" in note for note in found.notes)


def test_totals_are_left_out_and_said_unless_the_query_names_them() -> None:
    assert ask('select sum("Tons") from tolls').notes == (
        "1 row of tolls that sum others up left out; name is_total in the query to have them.",
    )
    both = ask('select is_total, sum("Tons") from tolls group by all order by 1')
    assert both.rows == ((False, 27), (True, 27)) and both.notes == ()


def test_columns_have_types_and_units() -> None:
    units = relation_of("Fees\n\n| Who | Fee |\n| --- | --- |\n| Ada | 12 € |\n| Ben | 7 € |\n")
    found = run_written_query('select "Who", "Fee", current_date as d, [1] as l from fees', {"fees": units}, most=5)
    assert [(one.type, one.unit) for one in found.columns] == [
        ("text", ""),
        ("number", "€"),
        ("date", ""),
        ("other", ""),
    ]


def test_more_rows_than_are_shown_are_said() -> None:
    found = ask("select * from tolls t1, tolls t2, tolls t3", most=7)
    assert len(found.rows) == 7 and any("first 7 rows" in note for note in found.notes)
    assert len(ask("select range from range(1000000000) limit 900000000", most=3).rows) == 3


@pytest.mark.parametrize(
    "sql",
    [
        "delete from tolls",
        "drop table tolls",
        "insert into tolls select * from tolls",
        "create table x as select 1",
        "attach '/tmp/x.db'",
        "copy tolls to '/tmp/x.csv'",
        "install httpfs",
        "set memory_limit = '100GB'",
        "pragma database_list",
        "select 1; select 2",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/*')",
        "select * from duckdb_settings()",
        "select * from information_schema.tables",
        "with a as (select * from read_blob('/etc/passwd')) select * from a",
        'select (select count(*) from "https://example.org/x.parquet")',
        "select * from tolls where exists (from sniff_csv('/etc/passwd'))",
        "describe tolls",
        "selec 1",
        "\x00",
        "",
        "(" * 4_000,
        "select " + "(" * 3_000 + "1" + ")" * 3_000,
    ],
)
def test_what_is_no_question_to_the_tables_is_refused(sql: str) -> None:
    with pytest.raises(BadQuery) as caught:
        ask(sql)
    assert caught.value.detail and caught.value.hint


def test_an_unknown_column_or_table_names_the_nearest() -> None:
    with pytest.raises(BadQuery) as column:
        ask('select "Lorri" from tolls')
    assert '"Lorry"' in column.value.hint
    with pytest.raises(BadQuery) as table:
        ask("select * from toll")
    assert "tolls, quays" in table.value.hint


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (ENDLESS, "too long"),
        ("select repeat('x', 4000000000) from tolls", "memory"),
        ("select max(len(a || a || a || a)) from (select repeat('x', 800000000) as a from tolls)", "memory"),
        ("with recursive x as (select 1 a union all select a + 1 from x) select max(a) from x", "too long"),
        ("select list(a.range) from range(1000000000) a", ""),
    ],
)
def test_what_takes_too_much_is_ended(sql: str, words: str) -> None:
    """Neither the time nor the memory of this process is spent: the query has its own."""
    with pytest.raises(BadQuery) as caught:
        ask(sql, seconds=2.0)
    assert words in caught.value.detail and "earlier" in caught.value.hint


def test_tables_are_named_by_file_document_and_page() -> None:
    (one,) = name_tables(document_of(TOLLS, "Tolls, May 2024 (final).md", "1a2b3c4d" * 4))
    assert one.name == "tolls_may_2024_final_1a2b3c4d_p1"
    names = [it.name for it in name_tables(document_of(f"{TOLLS}\n\n{QUAYS}", "2024.xlsx", "1a2b3c4d" * 4))]
    assert names == ["t_2024_1a2b3c4d_p1", "t_2024_1a2b3c4d_p1_2"]
    sql = f'select * from {names[0]} a join "{names[1].upper()}" b using (q) join {names[0]}_all c on true'
    assert find_table_names(sql) == [names[0], names[1], f"{names[0]}_all"]
    (odd,) = name_tables(document_of(TOLLS, "日本.csv", "0" * 32))
    assert find_table_names(odd.name) == [odd.name]
