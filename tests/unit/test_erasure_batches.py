"""Runs go in batches that never part what is found by one another."""

from random import Random
from typing import Any

from serve_apps.governance.record_sweep import MarkedRecords, run_batches


def run(number: int, session: int, parent: int | None = None) -> dict[str, Any]:
    return {"id": f"r{number}", "session": f"s{session}", "parent": None if parent is None else f"r{parent}"}


def test_a_conversation_and_a_delegation_are_never_apart() -> None:
    about = [run(1, 1), run(2, 2), run(3, 1), run(4, 3, parent=2), run(5, 4, parent=4), run(6, 5)]
    batches = list(run_batches(about, 2))
    assert sorted(one for batch in batches for one in batch) == ["r1", "r2", "r3", "r4", "r5", "r6"]
    together = [{"r1", "r3"}, {"r2", "r4", "r5"}]
    assert all(any(group <= set(batch) for batch in batches) for group in together)
    assert list(run_batches([], 2)) == []
    assert list(run_batches([run(1, 1, parent=9)], 2)) == [["r1"]], "what is above it is not among them"


def test_any_forest_of_runs_comes_out_once_and_whole() -> None:
    rng = Random(7)
    for _ in range(50):
        about = [run(n, rng.randrange(12), rng.choice([None, *range(n)])) for n in range(40)]
        batches = list(run_batches(about, 5))
        place = {one: at for at, batch in enumerate(batches) for one in batch}
        assert len(place) == 40 == sum(map(len, batches))
        first: dict[str, int] = {}
        for one in about:
            assert first.setdefault(one["session"], place[one["id"]]) == place[one["id"]]
            assert one["parent"] is None or place[one["parent"]] == place[one["id"]]


def test_long_conversations_apart_fill_batches() -> None:
    batches = list(run_batches([run(n, n) for n in range(250)], 100))
    assert [len(batch) for batch in batches] == [100, 100, 50]


def test_rows_are_parted_table_by_table() -> None:
    found = MarkedRecords({"units": [{"key": n} for n in range(5)], "events": [{"seq": 1}], "facts": []})
    parts = [(table, len(rows)) for part in found.parts(2) for table, rows in part.rows.items()]
    assert parts == [("units", 2), ("units", 2), ("units", 1), ("events", 1)]
