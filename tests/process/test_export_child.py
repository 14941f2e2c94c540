"""The exporter's child: what it may write, and its end in the middle of a call."""

import resource
import threading
import time
from pathlib import Path

import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.export.pdf_export import LayerCounts, make_searchable_pdf_worker
from pipelines.documents.export.searchable_pdf import SearchablePdfWorker
from pipelines.documents.guarded_child import ChildDied, GuardedChild
from pipelines.documents.sources.sniff import Kind
from tests.fakes.scans import write_scan


class TightWorker(SearchablePdfWorker):
    """May write next to nothing."""

    def most_written(self) -> int:
        """Bytes of a file that its maker lets it write."""
        return resource.getrlimit(resource.RLIMIT_FSIZE)[0]

    def save(self, target: Path) -> LayerCounts:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        return super().save(target)

    def work_without_end(self) -> None:
        """Until it is ended."""
        while True:
            pass


def make_tight() -> object:
    read = ReadSettings(max_file_bytes=2**30)
    make_searchable_pdf_worker(read, OcrSettings())
    return TightWorker(read, OcrSettings())


def test_a_pdf_that_grows_beyond_what_may_be_written_is_refused_as_too_large(tmp_path: Path) -> None:
    with GuardedChild(make_tight) as guard:
        assert guard.call("most_written", seconds=60) == 2**31
        guard.call("open", write_scan(tmp_path / "scan.pdf"), Kind.PDF, tmp_path / "part", seconds=60)
        with pytest.raises(Unreadable) as caught:
            guard.call("save", tmp_path / "out.pdf", seconds=60)
    assert caught.value.reason is FailureReason.TOO_LARGE


def test_a_call_ends_when_another_thread_interrupts_it() -> None:
    guard, ended = GuardedChild(make_tight), list[BaseException]()
    guard.warm_up()

    def call() -> None:
        try:
            guard.call("work_without_end", seconds=60)
        except ChildDied as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.2)
    guard.interrupt()
    thread.join(10)
    assert len(ended) == 1 and guard.pid is None
    guard.interrupt()
    guard.close()
