"""The reader: every page gets an answer, whatever the file or the engine does."""

import functools
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from cluster.basics.priority import ProcessPriority
from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.extract.reader import DocumentReader, extraction_fingerprint
from pipelines.documents.sources.sniff import Kind
from tests.fakes import files
from tests.fakes.apart import apart


@pytest.fixture
def three_frames(tmp_path: Path) -> Path:
    path = tmp_path / "three.tiff"
    first, *rest = (files.picture(size=(300 + number, 200)) for number in range(3))
    first.save(path, save_all=True, append_images=rest)
    return path


def reading(make_engine: Callable[..., object], seconds: float = 30) -> DocumentReader:
    return DocumentReader(ReadSettings(page_seconds=seconds), OcrSettings(), make_engine)  # type: ignore[arg-type]


def test_survey_then_pages_then_a_picture(three_frames: Path) -> None:
    with reading(files.transcriber) as reader:
        survey = reader.survey(three_frames)
        assert (survey.kind, survey.pages, survey.size) == (Kind.IMAGE, 3, three_frames.stat().st_size)
        assert survey.file_hash == hashlib.sha256(three_frames.read_bytes()).hexdigest()
        pages = list(reader.read(three_frames, survey.kind, (3, 1)))
        assert [page.number for page in pages] == [3, 1]
        assert pages[0].text.startswith("picture of 302 x 200")
        assert (pages[0].engine, pages[0].confidence, pages[0].ms) == ("tesseract", 0.9, 7)
        assert reader.picture(three_frames, survey.kind, 2, 100).startswith(b"\x89PNG")
        missing = next(reader.read(three_frames, survey.kind, [4]))
        assert missing.failure is not None and missing.failure.reason is FailureReason.CHANGED
        child = reader.child
        survey = reader.survey(three_frames, "renamed.png")
        assert survey.pages == 3 and reader.child == child


def test_an_idle_reader_and_one_of_texts_hold_no_ocr(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("Nothing in here is a picture.\n", encoding="utf-8")
    with DocumentReader(ReadSettings(), OcrSettings()) as reader:
        reader.warm_up()
        maps = Path(f"/proc/{reader.child}/maps")
        assert "/python" in maps.read_text() and "/cv2/" not in maps.read_text()
        assert next(reader.read(path, Kind.TEXT, [1])).text == "Nothing in here is a picture."
        assert "/cv2/" not in maps.read_text()
        page = tmp_path / "page.png"
        files.picture(size=(300, 200)).save(page)
        list(reader.read(page, Kind.IMAGE, [1]))
        assert "/cv2/" in maps.read_text()


def test_a_page_that_hangs_or_kills_its_process_fails_alone_and_a_kill_from_outside_fails_none(tmp_path: Path) -> None:
    path = tmp_path / "nine.tiff"
    first, *rest = (files.picture(size=(300 + number, 200)) for number in range(1, 10))
    first.save(path, save_all=True, append_images=rest)
    once = functools.partial(files.killed_once, str(tmp_path / "killed"))
    troubles: dict[int, Callable[[], None]] = {2: files.hang, 4: files.segfault, 6: files.killed_always, 8: once}
    with reading(files.troubled(troubles), seconds=2) as reader:
        pages = list(reader.read(path, Kind.IMAGE, range(1, 10)))
    reasons = {page.number: page.failure.reason for page in pages if page.failure}
    assert reasons == {2: FailureReason.TIMEOUT, 4: FailureReason.CRASHED, 6: FailureReason.CRASHED}
    assert all(page.failure.stage == "read" and page.failure.retryable for page in pages if page.failure)
    assert (tmp_path / "killed").exists()
    assert [page.text.split()[2] if page.text else "" for page in pages] == [
        *("301", "", "303", "", "305", "", "307", "308", "309")
    ]


def test_limits_and_absent_files_have_their_reasons(tmp_path: Path, three_frames: Path) -> None:
    def reason(settings: ReadSettings, path: Path) -> FailureReason:
        with DocumentReader(settings, OcrSettings(), files.transcriber) as reader, pytest.raises(Unreadable) as refused:
            reader.survey(path)
        return refused.value.reason

    assert reason(ReadSettings(max_file_bytes=10), three_frames) is FailureReason.TOO_LARGE
    assert reason(ReadSettings(max_pages=2), three_frames) is FailureReason.TOO_LARGE
    assert reason(ReadSettings(), tmp_path / "absent.pdf") is FailureReason.CHANGED


def test_a_file_that_goes_away_between_survey_and_reading_has_changed(three_frames: Path) -> None:
    with reading(files.transcriber) as reader:
        kind = reader.survey(three_frames).kind
        three_frames.unlink()
        pages = list(reader.read(three_frames, kind, (1, 2)))
    assert [page.failure and page.failure.reason for page in pages] == [FailureReason.CHANGED, FailureReason.CHANGED]


def test_the_fingerprint_follows_what_changes_the_text_and_nothing_else() -> None:
    base = extraction_fingerprint(ReadSettings(), OcrSettings())
    assert base == extraction_fingerprint(ReadSettings(page_seconds=9, readers=4), OcrSettings())
    assert base != extraction_fingerprint(ReadSettings(part_chars=5_000), OcrSettings())
    assert base != extraction_fingerprint(ReadSettings(min_useful_text=10), OcrSettings())
    assert base != extraction_fingerprint(ReadSettings(), OcrSettings(dpi=200))


def test_bulk_reading_runs_behind_everything_else_and_may_take_longer(three_frames: Path) -> None:
    """The child has the kernel's idle class, and its session the last place; a page that waited is not given up."""
    late = files.troubled({2: functools.partial(time.sleep, 4)})
    for priority, policy in (
        (ProcessPriority.IDLE, os.SCHED_IDLE),
        (ProcessPriority.LOW, os.SCHED_OTHER),
        (ProcessPriority.NORMAL, os.SCHED_OTHER),
    ):
        behind = priority is not ProcessPriority.NORMAL
        with DocumentReader(ReadSettings(page_seconds=2), OcrSettings(), late, priority=priority) as reader:
            reader.survey(three_frames)
            assert reader.child is not None and os.sched_getscheduler(reader.child) == policy
            assert os.sched_getscheduler(0) == os.SCHED_OTHER
            if (group := Path(f"/proc/{reader.child}/autogroup")).exists():
                assert group.read_text().endswith("nice 19\n") is behind
            assert (os.getpriority(os.PRIO_PROCESS, reader.child) == 19) is (priority is ProcessPriority.LOW)
            (page,) = reader.read(three_frames, Kind.IMAGE, [2])
            assert (page.failure is None) is behind


def test_a_page_that_uses_up_its_cpu_is_given_up_for_good(three_frames: Path) -> None:
    busy = files.troubled({2: files.spin})
    with DocumentReader(ReadSettings(cpu_seconds=0.5), OcrSettings(), busy) as reader:
        pages = list(reader.read(three_frames, Kind.IMAGE, (1, 2, 3)))
    assert [page.failure.reason if page.failure else None for page in pages] == [None, FailureReason.TIMEOUT, None]
    failure = pages[1].failure
    assert failure is not None and not failure.retryable and "AOS_READ_CPU_SECONDS" in failure.detail


@apart
def test_a_page_that_unpacks_to_more_than_the_memory_of_a_file_is_a_bomb_and_harms_no_other(
    tmp_path: Path, three_frames: Path
) -> None:
    """pdfium ends its process where it gets no memory; the machine has more than a file may have."""
    bomb = tmp_path / "bomb.pdf"
    bomb.write_bytes(files.pdf_of_content(b"0 0 m 9 9 l S\n" * 100_000, 250))
    assert bomb.stat().st_size < 3_000_000
    limit = 256 * 2**20
    with DocumentReader(ReadSettings(memory_bytes=limit), OcrSettings(), files.transcriber) as reader:
        kind = reader.survey(bomb).kind
        (page,) = reader.read(bomb, kind, [1])
        assert page.failure is not None and page.failure.reason is FailureReason.BOMB and not page.failure.retryable
        assert "256 MiB" in page.failure.detail and "AOS_READ_MEMORY_BYTES" in page.failure.detail
        assert reader.survey(three_frames).pages == 3


@apart
def test_a_coloured_scan_of_a_large_sheet_fits_into_the_memory_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sheet.pdf"
    Image.effect_mandelbrot((3300, 4680), (-3, -2.5, 2, 2.5), 50).convert("RGB").save(path, "PDF", resolution=100.0)
    with reading(files.transcriber) as reader:
        survey = reader.survey(path)
        (page,) = reader.read(path, survey.kind, [1])
    assert page.failure is None and page.text.startswith("picture of")


def test_a_child_that_earlier_files_have_filled_is_replaced_before_a_file_is_refused(three_frames: Path) -> None:
    """Page 1 leaves 200 MiB behind, as a library does that keeps what it has; page 2 alone fits."""
    greedy = files.troubled({1: files.keep_200_mib, 2: files.take_200_mib})
    settings = OcrSettings(memory_bytes=2**28 + 2**27)
    with DocumentReader(ReadSettings(memory_bytes=2**28 + 2**27), settings, greedy) as reader:
        pages = list(reader.read(three_frames, Kind.IMAGE, (1, 2)))
    assert [page.failure for page in pages] == [None, None]


def test_scans_are_read_in_the_languages_of_their_workspace(three_frames: Path) -> None:
    """One child serves workspaces of different languages; each has an engine with its own."""
    with reading(files.polyglot) as reader:
        told = []
        for languages in ((), ("deu", "eng"), ("ara",), ()):
            reader.use(languages)
            told += [page.text for page in reader.read(three_frames, Kind.IMAGE, (1, 2))]
        assert told == ["auto", "auto", "deu+eng", "deu+eng", "ara", "ara", "auto", "auto"]


def test_scans_are_read_by_the_strategy_that_a_person_asks_for(three_frames: Path) -> None:
    """And the next ones as the settings say again."""
    with reading(files.strategic) as reader:
        told = []
        for languages, strategy in (((), None), ((), "tesseract"), (("deu",), "easyocr"), ((), None)):
            reader.use(languages, strategy)
            told += [page.text for page in reader.read(three_frames, Kind.IMAGE, (1,))]
        assert told == ["cascade auto", "tesseract auto", "easyocr deu", "cascade auto"]


def test_members_are_unpacked_in_the_child_and_a_container_that_went_away_says_so(tmp_path: Path) -> None:
    path, staging = files.package(tmp_path / "a.zip", {"a.txt": "one", "in/b.txt": "two"}), tmp_path / "staged"
    with reading(files.transcriber) as reader:
        kind = reader.survey(path).kind
        found = reader.unpack(path, kind, staging)
        assert [(one.path, Path(one.staged).read_text()) for one in found.members] == [
            ("a.txt", "one"),
            ("in/b.txt", "two"),
        ]
        path.unlink()
        lost = reader.unpack(path, kind, staging)
        assert not lost.whole and not lost.members and "not read" in lost.caveats[0].detail
        assert not staging.exists(), "half of it would only take room"
