"""The suite's own runner: every folder is run once, and what is counted is what happened."""

from pathlib import Path

from tests import suite


def test_each_folder_of_tests_belongs_to_one_run() -> None:
    """What the others name, the last leaves out; so a new folder cannot be forgotten."""
    runs = suite.runs()
    named = [folder for name, folders in runs.items() if name != "rest" for folder in folders]
    assert runs["rest"] == ["tests", *(f"--ignore={folder}" for folder in named)]
    assert all((suite.ROOT / folder).is_dir() for folder in named)


def test_the_browser_shares_no_run_with_tests_that_need_an_event_loop() -> None:
    """Playwright leaves a loop running in its thread: every asynchronous test after it would fail."""
    (beside,) = (folders for folders in suite.runs().values() if "tests/acceptance" in folders)
    files = [file for folder in beside for file in Path(suite.ROOT, folder).rglob("test_*.py")]
    assert suite.ROOT / "tests" / "acceptance" / "console" / "test_walk.py" in files
    assert [file.name for file in files if "async def" in file.read_text(encoding="utf-8")] == []


def test_errors_count_as_failures_and_a_run_that_broke_off_counts_nothing(tmp_path: Path) -> None:
    counts = tmp_path / "counts.xml"
    assert suite.counted(counts) == {}
    counts.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>')
    assert suite.counted(counts) == {"passed": 3, "failed": 3, "skipped": 3}


def test_only_a_few_failed_tests_are_forgiven() -> None:
    assert suite.forgivable([0, 1, 1], [[], ["a"], ["b", "c"]])
    assert not suite.forgivable([1, 1], [["a", "b"], ["c", "d"]]), "too many"
    assert not suite.forgivable([0, 2], [["a"], []]), "a run broke off"
    assert not suite.forgivable([1, 1], [["a"], []]), "a run failed, and none of its tests did"


def test_failed_tests_are_named_as_pytest_names_them(tmp_path: Path) -> None:
    counts = tmp_path / "counts.xml"
    counts.write_text(
        '<testsuites><testsuite><testcase classname="tests.unit.test_suite" name="test_a[b.c-1]"><failure/></testcase>'
        '<testcase classname="tests.unit.test_suite.TestOf" name="test_d"><error/></testcase>'
        '<testcase classname="tests.unit.test_suite" name="test_fine"/></testsuite></testsuites>'
    )
    assert suite.failures(counts) == [
        "tests/unit/test_suite.py::test_a[b.c-1]",
        "tests/unit/test_suite.py::TestOf::test_d",
    ]
    assert suite.failures(tmp_path / "none.xml") == []
