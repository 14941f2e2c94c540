"""What a scan would take: a folder that is too large for the time is told as such."""

from pathlib import Path

from pipelines.documents.ingest.estimate import estimate_scan, list_files


def test_a_listing_ends_when_it_is_enough_and_says_so(tmp_path: Path) -> None:
    """A dry run walked whatever there was, in a thread that others waited for."""
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text("x")
    asked = iter([False, False, True])
    assert list_files(tmp_path, lambda: next(asked)) == ([tmp_path / f"{n}.txt" for n in range(3)], False)
    assert list_files(tmp_path, lambda: True) == ([tmp_path / "0.txt"], False), "one file at least"
    paths, complete = list_files(tmp_path, lambda: False)
    assert len(paths) == 5 and complete


def test_what_was_not_walked_to_its_end_is_not_exact() -> None:
    assert estimate_scan(0, [], {}).exact and not estimate_scan(0, [], {}, complete=False).exact
