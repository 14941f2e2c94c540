"""Archives and attachments: which members are taken, under which names, and what is said of the rest."""

import hashlib
import io
import os
import stat
import tarfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.containers.archive import MOST_RATIO
from pipelines.documents.extract.containers.members import MOST_NAME, clean_member_path
from pipelines.documents.extract.containers.unpacked import CONTAINERS, UnpackedMembers, failed_unpacking
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.sources.sniff import Kind, sniff_kind
from tests.fakes import files, outlook
from tests.fakes.containers import zip_bytes


def worker(**limits: int) -> ExtractionWorker:
    return ExtractionWorker(ReadSettings(**limits), OcrSettings(), files.transcriber)


def unpack(path: Path, **limits: int) -> UnpackedMembers:
    desk = worker(**limits)
    kind, _ = desk.survey(path, path.name)
    assert kind in CONTAINERS
    return desk.unpack(path, kind, path.parent / "staged")


def contents(found: UnpackedMembers) -> dict[str, bytes]:
    return {one.path: Path(one.staged).read_bytes() for one in found.members}


def listed(path: Path, **limits: int) -> str:
    desk = worker(**limits)
    kind, pages = desk.survey(path, path.name)
    return "\n".join(desk.page(path, kind, number).text for number in range(1, pages + 1))


def tar(path: Path, *parts: tuple[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in parts:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def said(found: UnpackedMembers) -> dict[CaveatKind, str]:
    assert all(one.whole for one in found.caveats)
    return {one.kind: one.detail for one in found.caveats}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/b.txt", "a/b.txt"),
        ("./a//b.txt", "a/b.txt"),
        ("a\\b.txt", "a/b.txt"),
        ("re\u202efdp.exe", "refdp.exe"),
        ("../etc/passwd", None),
        ("a/../../b", None),
        ("/etc/passwd", None),
        ("C:\\Windows\\x", None),
        ("", None),
        ("./", None),
    ],
)
def test_a_name_is_a_path_below_the_container_or_none(name: str, path: str | None) -> None:
    assert clean_member_path(name) == path


def test_a_zip_lists_its_files_and_hands_each_out(tmp_path: Path) -> None:
    path = files.package(tmp_path / "docs.zip", {"contract.txt": "One year.", "in/plan|a.txt": "x", "empty/": ""})
    text = listed(path)
    assert text.startswith("Files in this archive:\n\n| File | Bytes |\n") and "| contract.txt | 9 |" in text
    assert "| in/plan\\|a.txt | 1 |" in text and "empty" not in text
    found = unpack(path)
    assert contents(found) == {"contract.txt": b"One year.", "in/plan|a.txt": b"x"} and found.caveats == ()
    assert found.members[0].file_hash == hashlib.sha256(b"One year.").hexdigest()
    assert (found.members[1].filename, found.members[0].size) == ("plan|a.txt", 9)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_packed_or_not_is_read_as_well(tmp_path: Path, mode: str) -> None:
    suffix = mode.replace("w", ".tar").replace(":", ".")
    path = tar(tmp_path / f"docs{suffix}", ("a.txt", b"old"), ("b/c.txt", b"deep"), ("a.txt", b"new"), mode=mode)
    assert sniff_kind(path) is Kind.TAR
    assert "| b/c.txt | 4 |" in listed(path)
    found = unpack(path)
    assert contents(found) == {"a.txt": b"new", "b/c.txt": b"deep"}, "the last of a name counts, as for tar itself"
    assert said(found) == {CaveatKind.PASSED_OVER: "passed over: 1 earlier entries of a name that comes again"}
    assert len(list((tmp_path / "staged").iterdir())) == 2


def test_names_that_lead_elsewhere_links_and_housekeeping_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("ok.txt", "../up.txt", "/root.txt", "x" * MOST_NAME + ".txt", "__MACOSX/._ok.txt", ".DS_Store"):
            archive.writestr(name, "text")
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    found = unpack(path)
    assert contents(found) == {"ok.txt": b"text"}
    (unread,) = [one for one in found.caveats if one.kind is CaveatKind.PARTS_SKIPPED]
    assert unread.count == 4
    for name in ("../up.txt (its name leads out", "/root.txt (", "(its name is too long)", "link (a link or a device)"):
        assert name in unread.detail
    assert "2 files that systems" in said(found)[CaveatKind.PASSED_OVER]
    packed = tar(tmp_path / "b.tar", ("ok.txt", b"x"), ("../../up.txt", b"y"))
    with tarfile.open(packed, "a") as archive:
        info = tarfile.TarInfo("door")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(info)
    assert contents(unpack(packed)) == {"ok.txt": b"x"}
    assert not (tmp_path.parent / "up.txt").exists()


def test_names_of_another_code_page_are_read(tmp_path: Path) -> None:
    path = files.package(tmp_path / "a.zip", {"Xbersicht der M\u00fcllgeb\u00fchren.txt": "x"})
    data = path.read_bytes().replace("M\u00fcllgeb\u00fchren".encode(), b"M\x81llgeb\x81hrenAA")
    for mark, at in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):  # not marked as UTF-8 any more
        start = data.find(mark) + at
        data = data[:start] + bytes([data[start] & ~0x08]) + data[start + 1 :]
    path.write_bytes(data)
    assert [one.path for one in unpack(path).members] == ["Xbersicht der M\u00fcllgeb\u00fchrenAA.txt"]


def test_limits_on_count_and_bytes_are_said(tmp_path: Path) -> None:
    path = files.package(tmp_path / "a.zip", {f"{n}.txt": "x" * 100 for n in range(9)})
    found = unpack(path, archive_members=2)
    assert sorted(contents(found)) == ["0.txt", "1.txt"]
    assert "only 2 are taken" in said(found)[CaveatKind.PARTS_SKIPPED] and found.caveats[0].count == 7
    assert "7 more files are not listed" in str(worker(archive_members=2)._open_file(path, Kind.ZIP).page(1).caveats)
    found = unpack(path, max_unpacked_bytes=350)
    assert len(found.members) == 3 and "more than one file may" in said(found)[CaveatKind.PARTS_SKIPPED]


def test_a_bomb_is_passed_over_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.bin", bytes(20 * 2**20))
        archive.writestr("ok.txt", "text")
    found = unpack(path)
    assert list(contents(found)) == ["ok.txt"]
    assert f"bomb.bin (it unpacks to more than {MOST_RATIO} times its size)" in said(found)[CaveatKind.PARTS_SKIPPED]
    packed = tar(tmp_path / "b.tar.gz", ("ok.txt", b"text"), ("bomb", bytes(20 * 2**20)), mode="w:gz")
    found = unpack(packed)
    assert list(contents(found)) == ["ok.txt"] and "bomb" in said(found)[CaveatKind.PARTS_SKIPPED]


def test_a_directory_that_lies_about_sizes_is_found_out(tmp_path: Path) -> None:
    path = files.package(tmp_path / "a.zip", {"a.txt": "x" * 5000, "b.txt": "fine"})
    data = bytearray(path.read_bytes())
    data[data.find(b"PK\x01\x02") + 24 :][:4] = (10).to_bytes(4, "little")
    at = data.find(b"PK\x01\x02") + 24
    data[at : at + 4] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    found = unpack(path)
    assert contents(found) == {"b.txt": b"fine"} and "a.txt (it is damaged)" in said(found)[CaveatKind.PARTS_SKIPPED]


def locked(path: Path, *names: str) -> Path:
    data = bytearray(path.read_bytes())
    for mark, flags, name_at in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = data.find(mark)
        while at >= 0:
            if any(data[at + name_at :].startswith(name.encode()) for name in names):
                data[at + flags] |= 1
            at = data.find(mark, at + 4)
    path.write_bytes(data)
    return path


def test_a_locked_archive_is_encrypted_and_a_locked_member_is_passed_over(tmp_path: Path) -> None:
    parts: dict[str, str | bytes] = {"a.txt": "x", "b.txt": "y"}
    with pytest.raises(Unreadable) as refused:
        worker().survey(locked(files.package(tmp_path / "a.zip", parts), "a.txt", "b.txt"), None)
    assert refused.value.reason is FailureReason.ENCRYPTED
    found = unpack(locked(files.package(tmp_path / "b.zip", parts), "a.txt"))
    assert contents(found) == {"b.txt": b"y"}
    assert "a.txt (it is locked with a password)" in said(found)[CaveatKind.PARTS_SKIPPED]


def test_damaged_empty_and_cut_off_archives_say_so(tmp_path: Path) -> None:
    whole = files.package(tmp_path / "a.zip", {"a.txt": os.urandom(3000).hex(), "b.txt": "fine"})
    data = bytearray(whole.read_bytes())
    data[500:520] = bytes(20)
    whole.write_bytes(data)
    found = unpack(whole)
    assert contents(found) == {"b.txt": b"fine"} and "a.txt (it is damaged)" in said(found)[CaveatKind.PARTS_SKIPPED]
    (tmp_path / "cut.zip").write_bytes(data[:900])
    with pytest.raises(Unreadable) as refused:
        worker().survey(tmp_path / "cut.zip", None)
    assert refused.value.reason is FailureReason.CORRUPT
    with pytest.raises(Unreadable) as refused:
        worker().survey(files.package(tmp_path / "none.zip", {}), None)
    assert refused.value.reason is FailureReason.EMPTY
    packed = tar(tmp_path / "b.tar.gz", ("a.txt", b"x"), ("b.bin", os.urandom(200_000)), mode="w:gz")
    packed.write_bytes(packed.read_bytes()[:100_000])
    found = unpack(packed)
    assert contents(found) == {"a.txt": b"x"} and "damaged" in said(found)[CaveatKind.PARTS_SKIPPED]


@pytest.mark.parametrize(
    ("begin", "end", "put"),
    [(1124, None, b""), (1024, None, b""), (1024, 1536, os.urandom(512))],
    ids=["cut", "border", "torn"],
)
def test_a_tar_that_ends_too_early_says_so_and_tells_of_no_member_that_it_is_gone(
    tmp_path: Path, begin: int, end: int | None, put: bytes
) -> None:
    path = tar(tmp_path / "a.tar", ("a.txt", b"x"), ("b.txt", b"y"), ("c.txt", b"z"))
    data = path.read_bytes()
    path.write_bytes(data[:begin] + put + (b"" if end is None else data[end:]))
    found = unpack(path)
    assert contents(found) == {"a.txt": b"x"} and not found.whole
    assert "the rest of the archive (it is damaged)" in said(found)[CaveatKind.PARTS_SKIPPED]


def test_packages_of_programs_are_no_archives(tmp_path: Path) -> None:
    for part in ("[Content_Types].xml", "META-INF/MANIFEST.MF", "Index/Document.iwa"):
        with pytest.raises(Unreadable) as refused:
            sniff_kind(files.package(tmp_path / "a.bin", {part: "x", "b.txt": "y"}))
        assert refused.value.reason is FailureReason.UNSUPPORTED
    with pytest.raises(Unreadable, match="the content says zip"):
        sniff_kind(files.package(tmp_path / "a.docx", {"b.txt": "y"}))


def test_what_is_too_deep_is_said_and_not_unpacked(tmp_path: Path) -> None:
    inner = files.package(tmp_path / "inner.zip", {"a.txt": "x"}).read_bytes()
    outer = files.package(tmp_path / "outer.zip", {"inner.zip": inner})
    assert contents(unpack(outer)) == {"inner.zip": inner}
    found = worker().unpack(outer, Kind.ZIP, None)
    assert found.members == () and "inner.zip (containers are too deep" in said(found)[CaveatKind.PARTS_SKIPPED]


def test_an_earlier_attempt_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "staged").mkdir()
    (tmp_path / "staged" / "7").write_text("of an attempt that was killed")
    unpack(files.package(tmp_path / "a.zip", {"a.txt": "x"}))
    assert [one.name for one in (tmp_path / "staged").iterdir()] == ["0"]


def letter(subject: str = "S", *attachments: tuple[bytes, str, str]) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@x.example", subject
    message.set_content("Hello.")
    for data, kind, name in attachments:
        main, _, sub = kind.partition("/")
        message.add_attachment(data, maintype=main, subtype=sub, filename=name)
    return message


def test_what_is_attached_to_a_letter_comes_out(tmp_path: Path) -> None:
    message = letter(
        "S",
        (b"%PDF-1.4", "application/pdf", "Pr\u00fcfplan.pdf"),
        (b"one", "application/pdf", "image.pdf"),
        (b"two", "application/pdf", "image.pdf"),
        (b"a;b", "text/csv", "C:\\docs\\list.csv"),
        (b"tnef", "application/ms-tnef", "winmail.dat"),
        (b"sign", "application/pkcs7-signature", "smime.p7s"),
    )
    message.add_attachment(bytes(30_000), maintype="image", subtype="png", disposition="inline", filename="scan.png")
    message.add_attachment(bytes(300), maintype="image", subtype="png", disposition="inline", filename="logo.png")
    message.add_attachment(letter("Rates: 4/5", (b"x", "application/pdf", "r.pdf")))
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    found = unpack(tmp_path / "a.eml")
    out = contents(found)
    assert list(out) == [*("Pr\u00fcfplan.pdf", "image.pdf", "image (2).pdf", "list.csv", "scan.png", "Rates: 4_5.eml")]
    assert (out["image (2).pdf"], out["list.csv"].strip()) == (b"two", b"a;b")
    assert "winmail.dat (attachments in Outlook's own form (TNEF))" in said(found)[CaveatKind.ATTACHMENTS_UNREAD]
    (tmp_path / "inner.eml").write_bytes(out["Rates: 4_5.eml"])
    inner = unpack(tmp_path / "inner.eml")
    assert contents(inner) == {"r.pdf": b"x"} and inner.caveats == ()
    assert "From: a@x.example\nSubject: Rates: 4/5\n\nHello." in listed(tmp_path / "inner.eml")


def test_a_letter_of_which_nobody_can_tell_what_is_attached_says_so() -> None:
    found = failed_unpacking(Kind.EMAIL, Unreadable(FailureReason.TIMEOUT, "no result"))
    assert not found.whole and "timeout: no result" in said(found)[CaveatKind.ATTACHMENTS_UNREAD]


def test_an_archive_whose_first_file_is_a_pdf_is_an_archive(tmp_path: Path) -> None:
    """It lies there uncompressed, with the signature of a PDF near the beginning of the archive."""
    (tmp_path / "a.zip").write_bytes(zip_bytes({"a.pdf": b"%PDF-1.4 x"}))
    assert sniff_kind(tmp_path / "a.zip") is Kind.ZIP
    assert sniff_kind(tar(tmp_path / "a.tar", ("a.pdf", b"%PDF-1.4 x"))) is Kind.TAR
    assert sniff_kind(tar(tmp_path / "b.tar", ("BM.txt", b"x"))) is Kind.TAR


def test_what_is_attached_to_a_message_of_outlook_comes_out(tmp_path: Path) -> None:
    """A message within another is no file that could stand alone: it is read in its place, its attachments come out."""
    inner = outlook.message("Inner", "The inner text.", outlook.attached_file("deep.txt", b"deep"), enclosed=True)
    path = outlook.write_compound(
        tmp_path / "a.msg",
        outlook.message(
            "Plans",
            "Hello.",
            outlook.attached_file("C:\\docs\\plan.txt", b"x" * 9_000),
            outlook.attached_file("logo.png", b"l" * 100, "image/png", "c1"),
            outlook.attached_file("scan.png", b"s" * 30_000, "image/png", "c2"),
            outlook.attached_message(inner),
        ),
    )
    assert "Hello.\n\nEnclosed letter:\n\nSubject: Inner\n\nThe inner text." in listed(path)
    found = unpack(path)
    assert contents(found) == {"plan.txt": b"x" * 9_000, "scan.png": b"s" * 30_000, "deep.txt": b"deep"}
    assert found.caveats == ()
