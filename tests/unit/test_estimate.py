"""What a scan would take: a folder that is too large for the time is told as such."""

from pathlib import Path

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.ingest.estimate import estimate_scan, list_files, sample_files


def test_a_listing_ends_when_it_is_enough_and_says_so(tmp_path: Path) -> None:
    """A dry run walked whatever there was, in a thread that others waited for."""
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text("x")
    asked = iter([False, False, True])
    assert list_files(tmp_path, lambda: next(asked)) == ([tmp_path / f"{n}.txt" for n in range(2)], False)
    paths, complete = list_files(tmp_path, lambda: False)
    assert len(paths) == 5 and complete


def test_a_walk_that_finds_no_files_ends_when_it_is_enough(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / f"{n}" / "empty").mkdir(parents=True)
        (tmp_path / f".{n}").touch()
    asked: list[bool] = []

    def enough() -> bool:
        asked.append(len(asked) >= 3)
        return asked[-1]

    assert list_files(tmp_path, enough) == ([], False) and len(asked) == 4


def test_a_sample_ends_when_it_is_enough(tmp_path: Path) -> None:
    """Without a look at any file, where nobody waits any more."""
    with DocumentReader(ReadSettings(), OcrSettings()) as reader:
        assert sample_files(reader, [tmp_path / "a.txt"], lambda: True) == []
        assert len(sample_files(reader, [tmp_path / "a.txt"], lambda: False)) == 1


def test_what_was_not_walked_to_its_end_is_not_exact() -> None:
    assert estimate_scan(0, [], {}).exact and not estimate_scan(0, [], {}, complete=False).exact
