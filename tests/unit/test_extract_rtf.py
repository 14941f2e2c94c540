"""RTF: what stands beside the text, and what lies in it."""

import io
from pathlib import Path

import openpyxl
import pytest

from pipelines.documents.document import CaveatKind
from tests.fakes import files
from tests.fakes.office import marks, related, text, word


def rtf(path: Path, body: str, fonts: str = r"{\fonttbl{\f0 T;}}") -> Path:
    path.write_bytes(rf"{{\rtf1\ansi\ansicpg1252{fonts}{body}}}".encode("latin-1"))
    return path


def png() -> bytes:
    buffer = io.BytesIO()
    files.picture().save(buffer, "PNG")
    return buffer.getvalue()


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book["Sheet"].append(["Item", "Qty"])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def object_data(data: bytes, kind: str = "Excel.Sheet.12") -> str:
    """An OLE 1.0 object ([MS-OLEDS] 2.2.5), as files hold it: in hex, on lines."""
    name = kind.encode() + b"\0"
    head = (0x501).to_bytes(4, "little") + (2).to_bytes(4, "little") + len(name).to_bytes(4, "little") + name
    digits = (head + bytes(8) + len(data).to_bytes(4, "little") + data).hex()
    lines = "\n".join(digits[at : at + 64] for at in range(0, len(digits), 64))
    return rf"{{\*\objclass {kind}}}{{\*\objdata {lines}}}"


def test_headers_footers_notes_and_boxes_are_read(tmp_path: Path) -> None:
    body = (
        r"{\headerl\pard Port of Leith\par}{\headerr\pard Port of Leith\par}{\footer\pard Rev. 7\par}"
        r"Berth nine{\footnote\pard Closed in May.}.\par"
        r"{\shp{\*\shpinst{\sp{\sn wzDescription}{\sv Map of the port}}{\shptxt\pard Pilot on channel 12\par}}"
        r"{\shprslt{\*\do{\dptxbxtext\pard Pilot on channel 12\par}}}}"
        r"{\*\do\dobxpage{\dptxbxtext\pard Old box\par}}{\shp{\*\shpinst{\sp{\sn gtextUNICODE}{\sv DRAFT}}}}"
    )
    path = rtf(tmp_path / "a.rtf", body)
    assert text(path).split("\n\n") == [
        *("Port of Leith", "Berth nine [Closed in May.].", "Pilot on channel 12", "[alt text] Map of the port"),
        *("Old box", "DRAFT", "Rev. 7"),
    ]
    assert marks(path) == {}


def test_a_box_in_a_header_and_one_nested_without_end(tmp_path: Path) -> None:
    box = r"{\shp{\*\shpinst{\shptxt %s}}}"
    assert text(rtf(tmp_path / "a.rtf", r"{\header " + box % "Ministry of Ports" + "}Text")) == (
        "Text\n\nMinistry of Ports"
    )
    deep = "core"
    for _ in range(3_000):
        deep = box % deep
    assert marks(rtf(tmp_path / "b.rtf", f"Text{deep}")) == {CaveatKind.PARTS_SKIPPED: 1}


@pytest.mark.parametrize(
    "picture",
    [
        r"{\*\shppict{\pict{\*\picprop{\sp}}\picw9\pngblip\bliptag7{\*\blipuid 00ff}%s}}{\nonshppict{\pict 01}}",
        r"{\shp{\*\shpinst{\sp{\sn pib}{\sv {\pict\pngblip %s}}}}{\shprslt{\pict\wmetafile8 01}}}",
    ],
)
def test_pictures_are_read_once(tmp_path: Path, picture: str) -> None:
    path = rtf(tmp_path / "a.rtf", f"Before\\par {picture % png().hex()} after")
    assert text(path).count("picture of 400 x 300") == 1 and marks(path) == {}


def test_pictures_in_bytes_are_read_and_do_not_disturb_the_text(tmp_path: Path) -> None:
    data = png() + b"}}{\\par"
    path = tmp_path / "a.rtf"
    path.write_bytes(rb"{\rtf1\ansi Before {\pict\pngblip\bin%d " % len(data) + data + rb"} after}")
    assert " ".join(text(path).split()) == "Before [picture] picture of 400 x 300 at None after"


def test_pictures_that_cannot_be_opened_are_told(tmp_path: Path) -> None:
    assert marks(rtf(tmp_path / "a.rtf", r"A {\pict\wmetafile8 010009}")) == {CaveatKind.PICTURES_UNREAD: 1}


def test_embedded_workbooks_are_read_behind_the_text(tmp_path: Path) -> None:
    shown = rf"{{\object\objemb{object_data(workbook())}{{\result {{\pict\wmetafile8 01}}}}}}"
    path = rtf(tmp_path / "a.rtf", f"Stock: {shown}")
    assert text(path).startswith("Stock:\n\n[embedded document Excel.Sheet.12]\n\n## Sheet: Sheet\n\n| Item | Qty |")
    assert marks(path) == {}


@pytest.mark.parametrize(
    "inner",
    [
        rf"\objemb{object_data(b'no file', 'Equation.3')}",
        rf"\objautlink{object_data(b'')}",
        rf"\objocx{object_data(b'', 'Forms.TextBox.1')}",
        r"\objemb",
    ],
)
def test_objects_that_are_not_read_are_told_and_shown_by_their_result(tmp_path: Path, inner: str) -> None:
    path = rtf(tmp_path / "a.rtf", rf"A {{\object{inner}{{\result {{\rtlch E = 7}}}}}} z")
    assert marks(path) == {CaveatKind.PARTS_SKIPPED: 1} and text(path) == "A E = 7 z"


def test_equations_are_told(tmp_path: Path) -> None:
    path = rtf(tmp_path / "a.rtf", r"A {\mmath{\*\moMath{\mr x}}{\mmathPict{\pict 01}}}")
    assert marks(path) == {CaveatKind.PARTS_SKIPPED: 1}


@pytest.mark.parametrize(
    ("field", "result", "shown"),
    [
        (r"\fftype1\ffres1\ffdefres0", "", "☒"),
        (r"\fftype1\ffres25\ffdefres1", "", "☒"),
        (r"\fftype1\ffres0\ffdefres1", "", "☐"),
        (r"\fftype2\ffres1{\*\ffl red}{\*\ffl green}", r"{\fldrslt }", "green"),
        (r"\fftype2\ffres1{\*\ffl red}{\*\ffl green}", r"{\fldrslt blue}", "blue"),
        (r"\fftype0{\*\ffdeftext Leith}", "", "Leith"),
        (r"\fftype0{\*\ffdeftext Leith}", r"{\fldrslt Oban}", "Oban"),
        (r"\fftype0{\*\ffdeftext Leith}", r"{\fldrslt \u8194 ?}", ""),
    ],
)
def test_form_fields_show_their_state(tmp_path: Path, field: str, result: str, shown: str) -> None:
    inner = rf"{{\field{{\*\fldinst {{ FORM {{\*\formfield{{{field}}}}}}}}}{result}}}"
    assert text(rtf(tmp_path / "a.rtf", f"At: {inner}")) == f"At: {shown}".rstrip()


def test_imported_rtf_is_read_with_what_stands_beside_it(tmp_path: Path) -> None:
    path = word(tmp_path / "a.docx", "<w:altChunk r:id='c' xmlns:r='x/relationships'/>")
    rtf(tmp_path / "c.rtf", rf"Berth nine{{\footnote Closed.}}{{\pict\pngblip {png().hex()}}}")
    chunk = (tmp_path / "c.rtf").read_bytes()
    path = related(path, "word/document.xml", {"c": ("aFChunk", "c.rtf")}, {"word/c.rtf": chunk})
    assert "Berth nine [Closed.]" in text(path) and "picture of 400 x 300" in text(path)
