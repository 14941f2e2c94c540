"""Queries that somebody writes over tables: what they may do, what stops them, and the rows each result is made of."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.documents.document import Page
from pipelines.documents.facts.find_facts import find_tables
from pipelines.documents.facts.page_table import TableKind
from serve_apps.retrieval.tables import written_query
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
    tables = {"tolls": relation_of(TOLLS), "quays": relation_of(QUAYS)}
    return asyncio.run(run_written_query(sql, tables, most=most, seconds=seconds))


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
        ('select "Lorry" from tolls qualify row_number() over (order by "Toll") = 2', [("Ash 4",)], [{"Ash 4"}]),
        ('select max("Toll"), min("Toll") from tolls', [(310.5, 40)], [{"Oak 1", "Elm 3"}]),
        ('select arg_max("Lorry", "Tons"), min(row) from tolls', [("Oak 1", 0)], [{"Oak 1"}]),
        ('select max("Toll") filter (where "Quay" = \'West\') from tolls', [(60,)], [{"Ash 4"}]),
        ('select sum("Toll") filter (where "Tons" < 6) as s from tolls', [(100,)], [{"Elm 3", "Ash 4"}]),
        (
            'select max("Tons"), sum("Toll") filter (where "Tons" < 6) from tolls',
            [(12, 100)],
            [{"Oak 1", "Elm 3", "Ash 4"}],
        ),
        ('select max(nullif("Toll", 310.5) * 2) from tolls', [(180.5,)], [{"Oak 2"}]),
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


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ('select (select sum("Toll") from tolls)', [(500.75,)]),
        ('select "Lorry", "Toll" > (select avg("Toll") from tolls) from tolls where row = 0', [("Oak 1", True)]),
        (
            'select "Lorry", sum("Tons") over (order by "Day") from tolls qualify row_number() over () = 2',
            [("Oak 2", 19)],
        ),
        ('with w as (select sum("Tons") over () as s from tolls) select max(s) from w', [(27,)]),
    ],
)
def test_values_of_other_rows_are_not_said_to_be_of_a_rows_own(sql: str, rows: list[tuple[Any, ...]]) -> None:
    """A window or a query within takes in rows that are not those of the row it stands in."""
    found = ask(sql)
    assert list(found.rows) == rows and found.sources is None
    assert any("cannot be told" in note for note in found.notes)


_PAIR = """with a as (select "Quay", "Toll" from tolls), b as (select "Quay", "Keeper" from quays) """


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (f'{_PAIR} select "Quay", "Keeper" from a natural join b where "Toll" = 90.25', [("South", "Ben Thorne")]),
        (f'{_PAIR} select "Keeper" from a natural left join b where "Toll" = 90.25', [("Ben Thorne",)]),
        (
            'with a as (select "Quay" from tolls), b as (select * from a union select * from a) '
            "select (select count(*) from b)",
            [(3,)],
        ),
        ('with c as (select "Quay" from tolls) select (select count(*) from (select distinct * from c))', [(3,)]),
        ('with a as (select "Quay" from tolls) select count(distinct a) from a', [(3,)]),
        ('select s from (select "Quay" from tolls limit 1) s', [({"Quay": "North"},)]),
        ("select columns('.*') from (select \"Quay\" from tolls limit 1)", [("North",)]),
        ('with a as (select "Quay" from tolls where row = 0) select * from a', [("North",)]),
    ],
)
def test_rows_are_those_of_the_query_as_it_was_written(sql: str, rows: list[tuple[Any, ...]]) -> None:
    """Asking which rows a result is made of changes neither its rows nor its columns."""
    found = ask(sql)
    assert list(found.rows) == rows
    assert "__rows" not in {one.name for one in found.columns}


@pytest.mark.parametrize(
    "sql",
    [
        "select range(300000) x from range(5)",
        "select list(repeat('x', 2000)) from range(3000)",
        "select {'a': range(3000), 'b': [range(3000)]} from range(10)",
    ],
)
def test_long_values_are_cut(sql: str) -> None:
    assert len(json.dumps(ask(sql).rows)) < 1_000_000


@pytest.mark.parametrize(
    "sql",
    [
        "select repeat('x', 2000), repeat('y', 2000) from range(1000)",
        "select [range(100) for i in range(100)] from range(50)",
        f"select {', '.join(['[]'] * 900)} from range(1000)",
    ],
)
def test_a_result_that_is_too_large_is_refused_with_what_to_do(sql: str) -> None:
    with pytest.raises(BadQuery) as caught:
        ask(sql, most=1000)
    assert "too large" in caught.value.detail and caught.value.hint


def test_no_more_of_an_answer_is_read_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written_query, "MOST_READ", 1_000)
    assert ask("select 'x'").rows == (("x",),)
    with pytest.raises(BadQuery, match="too large"):
        ask("select repeat('x', 1000) from range(20)")


async def test_a_query_that_is_cancelled_leaves_no_process() -> None:
    asked = asyncio.create_task(run_written_query(ENDLESS, {"tolls": relation_of(TOLLS)}, most=5, seconds=60.0))
    await asyncio.sleep(2)
    begun = _children()
    assert begun
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not begun & _children()


def _children() -> set[str]:
    tasks = Path("/proc/self/task").iterdir()
    return {child for one in tasks for child in (one / "children").read_text().split()}


def test_a_value_that_cannot_be_shown_is_called_so() -> None:
    with pytest.raises(BadQuery) as caught:
        ask("select interval '99999999 years'")
    assert "cannot be shown" in caught.value.detail and "memory" not in caught.value.detail


def test_totals_are_left_out_and_said_unless_the_query_names_them() -> None:
    assert ask('select sum("Tons") from tolls').notes == (
        "1 row of tolls that sum others up left out; name is_total in the query to have them.",
    )
    both = ask('select is_total, sum("Tons") from tolls group by all order by 1')
    assert both.rows == ((False, 27), (True, 27)) and both.notes == ()


DOUBTED = """Fees

| Who | Fee |
| --- | --- |
| Ada | 12 |
| Ben | 7 |
| All | 19 |
| Cleo | 5 |
"""


def test_totals_are_those_of_the_tables_whose_is_total_is_named() -> None:
    sql = (
        'select t."Lorry", (select sum("Tons") from tolls) from quays q, tolls t where not q.is_total and t."Tons" > 20'
    )
    assert ask(sql).rows == ()
    named = ask('select "Quay" from quays where not is_total union all select "Lorry" from tolls where "Tons" > 20')
    assert named.rows == (("North",), ("South",)) and any("1 row of tolls" in note for note in named.notes)
    through = ask('with a as (select * from tolls) select "Tons" from a where is_total')
    assert through.rows == ((27,),)


def test_rows_that_may_be_totals_are_said_also_where_totals_are_named() -> None:
    doubted = replace(relation_of(DOUBTED), doubtful=frozenset({2}))
    for sql in ('select sum("Fee") from fees', 'select sum("Fee") from fees where not is_total'):
        found = asyncio.run(run_written_query(sql, {"fees": doubted}, most=5))
        assert any("may sum others up" in note for note in found.notes), sql


def test_a_form_is_cited_by_the_fields_that_are_asked_for_and_filled() -> None:
    texts = ("Tenant: Ada Quist\nRent: 900\nKeys: 2\n", "Tenant: Ben Thorne\nRent: 700\nKeys:\n")
    documents = [document_of(text, f"{n}.md", f"{n}" * 32) for n, text in enumerate(texts)]
    (form,) = (one for one in build_relations(documents) if one.kind is TableKind.FORM)

    def places_of(sql: str) -> list[int]:
        found = asyncio.run(run_written_query(sql, {"form": form}, most=5))
        return [len(one.places) for one in found.sources or ()]

    filled = [sum(bool(column.shown[row]) for column in form.columns) for row in range(form.rows)]
    assert places_of("select * from form order by row") == filled
    assert places_of('select "Rent" from form order by row') == [1] * form.rows


def test_columns_have_types_and_units() -> None:
    units = relation_of("Fees\n\n| Who | Fee |\n| --- | --- |\n| Ada | 12 € |\n| Ben | 7 € |\n")
    sql = 'select "Who", "Fee", current_date as d, [1] as l from fees'
    found = asyncio.run(run_written_query(sql, {"fees": units}, most=5))
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
        'with "information_schema.tables" as (select 1) select * from information_schema.tables',
        "with sqlite_master as (select * from sqlite_master) select * from sqlite_master",
        "with recursive sqlite_master as (select * from sqlite_master) select * from sqlite_master",
        "with recursive s as (select 1 union all select 1 from sqlite_master), sqlite_master as (select 1) from s",
        'with recursive sqlite_master as (select name from sqlite_master union all (select "x" from sqlite_master)) '
        "select * from sqlite_master",
        'with "\u017fqlite_master" as (select 1) select * from sqlite_master',
        "with a as (with sqlite_master as (select 1) select 1) select * from sqlite_master",
        'with "/etc/x.csv" as (select 1) select * from "/etc/x".csv',
        "select current_setting('secret_directory')",
        "select \"Current_Setting\"('secret_directory') from tolls",
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
