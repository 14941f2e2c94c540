"""Finding, confining, hashing and recognising files."""

import hashlib
import os
import random
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from cluster.basics.errors import Forbidden, NotFound, TooLarge
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ingest.stages import FileTask, survey_file
from pipelines.documents.sources.files import ScanLimits, confine_path, hash_file, iter_files
from pipelines.documents.sources.sniff import Kind, sniff_kind
from tests.fakes import files
from tests.fakes.reading import FormFeedReader


def test_walk_is_sorted_and_skips_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/c.txt", ".hidden", ".git/config", "a/.x/y.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [str(path.relative_to(tmp_path)) for path in iter_files(tmp_path)] == ["a/c.txt", "a/z.txt", "b.txt"]
    assert list(iter_files(tmp_path / "b.txt")) == [tmp_path / "b.txt"]
    with pytest.raises(NotFound):
        list(iter_files(tmp_path / "absent"))


HOUSEKEEPING = {
    "lock_files": ["~$Plan.docx", ".~lock.Plan.odt#", "stock.laccdb"],
    "system_files": [".DS_Store", "._Plan.pdf", "desktop.ini", "Thumbs.db"],
    "temporary_files": ["~WRL0003.tmp"],
    "system_folders": ["$RECYCLE.BIN", "System Volume Information", "@eaDir", "#recycle", ".Trash-1000"],
    "hidden": [".profile"],
}


def test_what_systems_keep_on_a_share_is_passed_over_and_counted(tmp_path: Path) -> None:
    """Each scan of a share ended `partial`, and `desktop.ini` was a document."""
    (tmp_path / "sub").mkdir()
    kept = ["~draft.txt", "Thumbs.dbx", "desktop.txt", "plan~.docx", "sub/trash.txt"]
    for name in (*kept, *(name for kind, names in HOUSEKEEPING.items() for name in names if kind != "system_folders")):
        (tmp_path / name).write_text("x")
    for name in HOUSEKEEPING["system_folders"]:
        (tmp_path / "sub" / name).mkdir()
        (tmp_path / "sub" / name / "deleted.txt").write_text("x")
    passed: Counter[str] = Counter()
    assert sorted(str(path.relative_to(tmp_path)) for path in iter_files(tmp_path, passed=passed)) == sorted(kept)
    assert passed == {kind: len(names) for kind, names in HOUSEKEEPING.items()}
    assert list(iter_files(tmp_path / "desktop.ini")) == [tmp_path / "desktop.ini"], "who names a file means it"


def test_an_archive_says_what_to_do_with_it(tmp_path: Path) -> None:
    archive = files.package(tmp_path / "a.zip", {"a.txt": "x"})
    (tmp_path / "b.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(40))
    data = bytearray(archive.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(mark) + flags] |= 1
    (tmp_path / "c.zip").write_bytes(data)
    (tmp_path / "d.zip").write_bytes(archive.read_bytes()[:40])
    said = []
    assert sniff_kind(archive) is Kind.ZIP
    for name in ("b.7z", "c.zip", "d.zip"):
        with pytest.raises(Unreadable) as refused:
            sniff_kind(tmp_path / name)
        said.append((refused.value.reason, "unpack it" in refused.value.detail))
    assert said == [(FailureReason.UNSUPPORTED, True), (FailureReason.ENCRYPTED, True), (FailureReason.CORRUPT, False)]


def test_walk_follows_no_link_out_and_no_loop(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (root / "a" / "own.txt").write_text("own")
    (root / "escape").symlink_to(outside)
    (root / "escape.txt").symlink_to(outside / "secret.txt")
    (root / "gone.txt").symlink_to(outside / "nothing.txt")
    (root / "a" / "loop").symlink_to(root)
    assert [path.name for path in iter_files(root)] == ["own.txt"]


def test_what_cannot_be_followed_is_handed_out_and_its_survey_says_why(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "endless").symlink_to(tmp_path / ("x" * 300))  # to look behind it fails, and not with "not found"
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "last.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe")  # whoever opens it waits for ever
    found = list(iter_files(tmp_path))
    assert [path.name for path in found] == ["broken", "endless", "itself", "last.txt"]
    surveyed = [survey_file(FormFeedReader(), FileTask(path.name, str(path), path.name)) for path in found]
    reasons = [one.failure.reason if one.failure else None for one in surveyed]
    assert reasons == [FailureReason.CHANGED, FailureReason.CHANGED, FailureReason.CHANGED, None]


@pytest.mark.parametrize("kind", [files.Barred, files.Sick, files.Away])
def test_a_folder_that_can_be_listed_but_not_entered_does_not_end_the_walk(
    tmp_path: Path, kind: type[files.Barred]
) -> None:
    """One folder without its x bit ended the worker's shift, again and again."""
    (tmp_path / "barred").mkdir()
    for name in ("a.txt", "barred/b.txt", "barred/c.txt", "d.txt"):
        (tmp_path / name).write_text("x")
    found = [str(path.relative_to(tmp_path)) for path in iter_files(kind(tmp_path))]
    assert found == ["a.txt", "barred/b.txt", "barred/c.txt", "d.txt"]
    with pytest.raises(NotFound, match="cannot be looked at"):
        list(iter_files(kind(tmp_path / "barred" / "b.txt")))


def test_walk_refuses_more_than_allowed(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("x")
    with pytest.raises(TooLarge):
        list(iter_files(tmp_path, ScanLimits(files=2)))


def test_confine_keeps_every_path_below_its_base(tmp_path: Path) -> None:
    """IN-13: the path guard."""
    base = tmp_path / "base"
    (base / "sub").mkdir(parents=True)
    (tmp_path / "base-twin").mkdir()
    (base / "link").symlink_to(tmp_path)
    assert confine_path(base, "sub") == (base / "sub").resolve()
    assert confine_path(base, str(base / "sub")) == (base / "sub").resolve()
    for path in ("..", "../base-twin", "/etc/passwd", "sub/../../x", "link/base-twin", "a\0b"):
        with pytest.raises(Forbidden):
            confine_path(base, path)


def test_hash_is_sha256_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc" * 10)
    assert hash_file(tmp_path / "f") == hashlib.sha256(b"abc" * 10).hexdigest()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", b"%PDF-1.4\n", Kind.PDF),
        ("a.pdf", b"junk before\n%PDF-1.4\n", Kind.PDF),
        ("noname", b"%PDF-1.4\n", Kind.PDF),
        ("a.txt", b"%PDF-1.4\n", Kind.PDF),
        ("a.jpg", b"\x89PNG\r\n\x1a\n\0\0", Kind.IMAGE),
        ("a.webp", b"RIFF\0\0\0\0WEBP", Kind.IMAGE),
        ("a.txt", "naïve".encode("cp1252"), Kind.TEXT),
        ("a.txt", "plain text".encode("utf-16-le"), Kind.TEXT),
        ("a.log", b"plain", Kind.TEXT),
        ("a.MD", b"# x", Kind.MARKDOWN),
        ("a.htm", b"<p>x", Kind.HTML),
        ("download", b"\n<!DOCTYPE html><p>x", Kind.HTML),
        ("a.csv", b"a,b", Kind.CSV),
        ("a.py", b"x = 1", Kind.CODE),
        ("a.eml", b"From: a@b.c\n\nx", Kind.EMAIL),
        ("a.rtf", b"{\\rtf1 x}", Kind.RTF),
        ("a.xls", OLE + "Workbook".encode("utf-16-le"), Kind.XLS),
        ("a.msg", OLE + "__properties_version1.0".encode("utf-16-le"), Kind.MSG),
    ],
)
def test_content_decides_and_the_name_says_which_sort_of_text(
    tmp_path: Path, name: str, data: bytes, kind: Kind
) -> None:
    """IN-02: the kinds."""
    path = tmp_path / "upload"
    path.write_bytes(data)
    assert sniff_kind(path, name) is kind


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", b"", FailureReason.EMPTY),
        ("a.pdf", b"\x89PNG\r\n\x1a\n\0\0", FailureReason.UNSUPPORTED),
        ("a.docx", b"just text", FailureReason.UNSUPPORTED),
        ("a.bin", bytes(range(256)) * 4, FailureReason.UNSUPPORTED),
        ("a.doc", OLE + "WordDocument".encode("utf-16-le"), FailureReason.UNSUPPORTED),
        ("a.xlsx", OLE + "EncryptedPackage".encode("utf-16-le"), FailureReason.ENCRYPTED),
    ],
)
def test_what_cannot_be_read_has_a_reason(tmp_path: Path, name: str, data: bytes, reason: FailureReason) -> None:
    path = tmp_path / "upload"
    path.write_bytes(data)
    with pytest.raises(Unreadable) as refused:
        sniff_kind(path, name)
    assert refused.value.reason is reason


def test_packages_are_told_apart_by_their_parts(tmp_path: Path) -> None:
    for part, kind in (
        ("word/document.xml", Kind.DOCX),
        ("ppt/presentation.xml", Kind.PPTX),
        ("xl/workbook.xml", Kind.XLSX),
    ):
        assert sniff_kind(files.package(tmp_path / "upload", {part: "<x/>"}), f"a.{kind}") is kind
    assert sniff_kind(files.package(tmp_path / "upload", {"mimetype": "application/epub+zip"}), "a.epub") is Kind.EPUB
    bent = files.bent_lzma(tmp_path / "bent.epub", "mimetype", b"application/epub+zip")
    assert sniff_kind(bent) is Kind.EPUB
    damaged = tmp_path / "damaged.docx"
    damaged.write_bytes(b"PK\x03\x04" + bytes(50))
    assert sniff_kind(damaged) is Kind.DOCX  # so that reading says CORRUPT
    assert sniff_kind(files.package(tmp_path / "some.zip", {"a.txt": "x"})) is Kind.ZIP


def test_a_zip_with_a_huge_directory_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    entry = b"PK\x01\x02" + bytes(42)
    count = 17 * 2**20 // len(entry)
    end = b"PK\x05\x06" + bytes(8) + (count * len(entry)).to_bytes(4, "little") + bytes(6)
    path = tmp_path / "a.docx"
    path.write_bytes(b"PK\x03\x04" + bytes(26) + entry * count + end)
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable, match="16 MiB") as refused:
            sniff_kind(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert refused.value.reason is FailureReason.BOMB


def test_cs_04_documents_and_code_are_read_and_fonts_and_programs_are_told(tmp_path: Path) -> None:
    """CS-04: what it names is read. Better than it: pictures are read by OCR and not skipped; and what cannot be read
    is told by its content as the failure of its file, whatever its name is, so that nobody misses it.
    """
    noise = random.Random(4).randbytes(4000)
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w:document/>")
    texts = dict.fromkeys(("txt", "md", "py", "js", "ts", "java", "json", "csv"), b"toll,noon\n1,2\n")
    heads = {
        "png": b"\x89PNG\r\n\x1a\n",
        "ttf": b"\0\1\0\0\0\x0c",
        "woff2": b"wOF2\0\1\0\0",
        "exe": b"MZ\x90\0\3",
        "bin": b"",
    }
    for ending, data in {**texts, "pdf": b"%PDF-1.7\n", **{one: head + noise for one, head in heads.items()}}.items():
        (tmp_path / f"a.{ending}").write_bytes(data)
    kinds = {ending: sniff_kind(tmp_path / f"a.{ending}") for ending in ("pdf", "docx", "png", *texts)}
    assert kinds == {
        **{"pdf": Kind.PDF, "docx": Kind.DOCX, "png": Kind.IMAGE, "txt": Kind.TEXT, "md": Kind.MARKDOWN},
        **dict.fromkeys(("py", "js", "ts", "java", "json"), Kind.CODE),
        "csv": Kind.CSV,
    }
    for ending in ("ttf", "woff2", "exe", "bin"):
        with pytest.raises(Unreadable) as caught:
            sniff_kind(tmp_path / f"a.{ending}")
        assert caught.value.reason is FailureReason.UNSUPPORTED, ending
