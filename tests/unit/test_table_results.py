"""Results of queries over tables as models and terminals get them, and how many of their places are looked up."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from cluster.console.commands.documents.table_commands import render_insights, render_result, render_tables
from cluster.state.canonical_json import normalize_json
from serve_apps.agents.turn.table_context import AgentTables
from serve_apps.agents.turn.tool_call import OUTPUT, as_text
from serve_apps.retrieval.tables import table_workbench
from serve_apps.retrieval.tables.relation import RowPlace
from serve_apps.retrieval.tables.table_workbench import MOST_PLACES, CitedResult, TableWorkbench
from serve_apps.retrieval.tables.written_query import QueryResult, ResultColumn, ResultSource
from tests.fakes.agents import SCOPE


def place(n: int) -> RowPlace:
    return RowPlace("d" * 32, "v" * 32, "tolls.md", 1, n, n + 1)


def result_of(groups: int, each: int, cell: str = "x") -> QueryResult:
    sources = tuple(ResultSource(tuple(place(at * each + n) for n in range(each)), each) for at in range(groups))
    rows = tuple((f"{cell}{at}",) for at in range(groups))
    return QueryResult("select", ("t",), (ResultColumn("name", "text"),), rows, sources, ("a note",))


class Store:
    """Cites whatever it is asked for."""

    async def cite_places(self, scope: Any, places: Sequence[RowPlace]) -> Mapping[RowPlace, Any]:
        return {one: SimpleNamespace(n=n) for n, one in enumerate(places, 1)}


async def cited(monkeypatch: pytest.MonkeyPatch, result: QueryResult) -> CitedResult:
    async def given(*args: Any, **named: Any) -> QueryResult:
        return result

    monkeypatch.setattr(table_workbench, "run_written_query", given)
    bench: Any = TableWorkbench(Store())  # type: ignore[arg-type]  # of a store only this much is used here
    monkeypatch.setattr(bench, "_open_relations", given)
    found: CitedResult = await bench.run_query(SCOPE, "select 1", None, aliases={})
    return found


async def test_each_row_is_cited_before_any_is_cited_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await cited(monkeypatch, result_of(50, 10))
    assert len(found.cited) == MOST_PLACES
    assert all(any(one in found.cited for one in source.places) for source in found.result.sources or ())
    assert any(f"first {MOST_PLACES}" in note for note in found.result.notes)
    few = await cited(monkeypatch, result_of(5, 2))
    assert len(few.cited) == 10 and few.result.notes == ("a note",)


async def test_a_query_holds_its_place_until_its_work_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that goes away frees no place for another while a thread still calculates for it."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def works() -> None:
        asyncio.run_coroutine_threadsafe(ended.wait(), loop).result()

    waiting = asyncio.create_task(table_workbench._finish_thread(works))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.sleep(0.05)
    assert not waiting.done()
    ended.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_model_reads_notes_and_whole_rows_however_many_there_are() -> None:
    class Bench:
        async def run_query(self, *args: Any, **named: Any) -> CitedResult:
            return CitedResult(result_of(50, 10, "y" * 60), {})

    tables = AgentTables(Bench(), None)  # type: ignore[arg-type]  # of a workbench only this much is used here
    found = await tables.query(SCOPE, "agent", "select 1")
    told = as_text(normalize_json({name: value for name, value in found.items() if name != "passages"}))
    assert len(told) <= OUTPUT
    seen = json.loads(told)
    assert "a note" in seen["notes"] and any("of 50 rows" in note for note in seen["notes"])
    assert found["classification"] == "?", "it is made of rows of documents that nobody names"
    assert seen["rows"][0] == ["y" * 60 + "0"] and len(seen["rows"]) > 10 and seen["sql"] == "select 1"


def shown(drawn: Any) -> str:
    console = Console(width=200, force_terminal=False)
    with console.capture() as caught:
        console.print(drawn)
    return caught.get()


EVIL = "a\x1b]0;owned\x07b\x9b31mc\x00d"


def test_a_terminal_obeys_nothing_that_documents_say() -> None:
    result = {
        "columns": [{"name": EVIL, "unit": EVIL}],
        "rows": [[EVIL]],
        "sources": [{"rows": 1, "citations": [1]}],
        "citations": [{"n": 1, "filename": EVIL, "page": 1}],
        "notes": [EVIL],
    }
    insights = {
        "insights": [{"text": EVIL, "sql": EVIL, "rows": 1, "citations": [1]}],
        "notes": [EVIL],
        "citations": result["citations"],
    }
    column = {"name": EVIL, "unit": "", "type": "text"}
    table = {"name": "t", "filename": EVIL, "page": 1, "rows": 1, "columns": [column]}
    listing = {"items": [table], "unseen": 0, "documents": 1}
    for drawn in (render_result(result), render_insights(insights), render_tables(listing)):
        said = shown(drawn)
        assert not set(said) & set("\x00\x07\x1b\x9b") and "a]0;ownedb31mcd" in said


def test_a_row_without_a_citation_still_names_its_document() -> None:
    source = {"rows": 4, "filenames": ["tolls.md"], "citations": []}
    result = {"columns": [{"name": "n", "unit": ""}], "rows": [[1]], "sources": [source], "citations": [], "notes": []}
    assert "tolls.md, … (4 rows)" in shown(render_result(result))
