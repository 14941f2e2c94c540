"""Remarks, form fields and embedded files of a PDF."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, Page
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from tests.fakes import files
from tests.fakes.files import Dictated, Transcriber

Sheet = Any
LINE = "The valve in hall 3 is opened by hand before the pump is started."


def read(path: Path, engine: Transcriber | None = None) -> Page:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: engine or Transcriber())
    kind, _ = desk.survey(path, None)
    page = desk.page(path, kind, 1)
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    return page


def annotated(path: Path, *annotations: str, text: str = LINE) -> Path:
    content = f"BT /F1 11 Tf 40 540 Td ({text}) Tj ET".encode()
    return files.raw_pdf(path, content, page="/Annots[" + "".join(f"<</Type/Annot{a}>>" for a in annotations) + "]")


def test_remarks_are_read_and_marked_as_what_they_are(tmp_path: Path) -> None:
    page = read(
        annotated(
            tmp_path / "a.pdf",
            "/Subtype/FreeText/Rect[40 400 200 420]/DA(/F1 10 Tf)/Contents(Hall 5, not hall 3)",
            "/Subtype/Text/Rect[40 500 60 520]/T(Brandauer)/Contents(Approved on 4 March)",
            "/Subtype/Highlight/Rect[63 536 90 552]/QuadPoints[60 552 92 552 60 536 92 536]/Contents(Which one?)",
            "/Subtype/Link/Rect[40 536 90 552]/Contents(no remark)",
            "/Subtype/Text/F 2/Rect[40 500 60 520]/Contents(hidden)",
            "/Subtype/Highlight/Rect[63 536 90 552]/QuadPoints[60 552 92 552 60 536 92 536]",
        )
    )
    assert page.text.split("\n\n") == [
        LINE,
        "[Remark on “valve”: Which one?]",
        "[Remark by Brandauer: Approved on 4 March]",
        "[Remark: Hall 5, not hall 3]",
    ]
    assert next(word for word in page.words if word.text == "March]").box.y0 == pytest.approx(80 / 600, abs=0.01)


def test_a_remark_on_a_page_without_text_is_read_beside_what_ocr_reads(tmp_path: Path) -> None:
    path = annotated(tmp_path / "a.pdf", "/Subtype/Text/Rect[40 500 60 520]/Contents(Paid)", text="")
    data = path.read_bytes().replace(b"BT /F1 11 Tf 40 540 Td () Tj ET", b"0 0 m 300 300 l 9 w S      ".ljust(31))
    path.write_bytes(data)
    assert read(path, Dictated("The scan")).text == "The scan\n\n[Remark: Paid]"


def test_a_value_stands_beside_its_label_and_a_tick_before_it(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        form = sheet.acroForm
        for y, label in ((500, "Full name:"), (470, "Vessel:"), (440, "Cargo:"), (380, "Remarks"), (300, "Flag:")):
            sheet.drawString(40, y, label)
        form.textfield(name="who", value="Philippa Osei", x=120, y=496, width=200, height=18)
        form.textfield(name="vessel", value="MV Halcyon Tern", x=120, y=466, width=200, height=18)
        form.checkbox(name="yes", checked=True, x=120, y=438, size=14)
        sheet.drawString(140, 440, "yes")
        form.checkbox(name="no", checked=False, x=200, y=438, size=14)
        sheet.drawString(220, 440, "no")
        form.textfield(name="remarks", value="Port ladder bent", x=40, y=350, width=300, height=20)
        form.choice(name="flag", value="Norway", options=["Norway", "Chile"], x=120, y=296, width=100, height=18)

    lines = [line for line in read(files.pdf(tmp_path / "a.pdf", draw)).text.splitlines() if line]
    assert lines == [
        "Full name: Philippa Osei",
        "Vessel: MV Halcyon Tern",
        "Cargo: [x] yes [ ] no",
        "Remarks",
        "Port ladder bent",
        "Flag: Norway",
    ]


def test_radio_buttons_show_which_one_is_chosen(tmp_path: Path) -> None:
    def draw(sheet: Sheet) -> None:
        for y, value in ((500, "sea"), (470, "land")):
            sheet.acroForm.radio(name="way", value=value, selected=value == "land", x=40, y=y - 3, size=14)
            sheet.drawString(70, y, f"by {value}")

    assert read(files.pdf(tmp_path / "a.pdf", draw)).text.splitlines() == ["[ ] by sea", "[x] by land"]


def test_embedded_files_are_named_as_unread(tmp_path: Path) -> None:
    pinned = "/Subtype/FileAttachment/Rect[40 500 60 520]/FS<</Type/Filespec/F(stock.xlsx)/EF<</F 4 0 R>>>>"
    page = read(annotated(tmp_path / "a.pdf", pinned))
    (caveat,) = page.caveats
    assert caveat.kind is CaveatKind.ATTACHMENTS_UNREAD and "stock.xlsx" in caveat.detail
    path = annotated(tmp_path / "b.pdf")
    names = b"/Names<</EmbeddedFiles<</Names[(a)<</Type/Filespec/F(list.csv)/EF<</F 4 0 R>>>>]>>>>"
    path.write_bytes(path.read_bytes().replace(b"/Type/Catalog", b"/Type/Catalog" + names))
    (caveat,) = read(path).caveats
    assert caveat.kind is CaveatKind.ATTACHMENTS_UNREAD and "list.csv" in caveat.detail


WAIT = "Please wait... If this message is not eventually replaced by the proper contents of the document"
DATA = (
    b'<xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"><xfa:data><form><Applicant>Ida Brandauer'
    b"</Applicant><Parts><Amount>3,275</Amount><Empty/></Parts></form></xfa:data></xfa:datasets>"
)


def xfa(path: Path, data: bytes, text: str = WAIT, root: bytes = b"", single: bool = False) -> Path:
    stream = b"<</Length %d>>\nstream\n" % len(data) + data + b"\nendstream"
    files.raw_pdf(path, f"BT /F1 9 Tf 10 540 Td ({text}) Tj ET".encode(), stream)
    parts = b"6 0 R" if single else b"[(preamble)6 0 R(datasets)6 0 R]"
    form = b"/Type/Catalog/AcroForm<</Fields[]/XFA %b>>%b" % (parts, root)
    path.write_bytes(path.read_bytes().replace(b"/Type/Catalog", form))
    return path


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("text", "root"), [(WAIT, b""), ("Bitte warten", b"/NeedsRendering true")])
def test_a_form_that_its_pages_do_not_show_says_so_and_what_was_filled_in_is_read(
    tmp_path: Path, text: str, root: bytes, single: bool
) -> None:
    page = read(xfa(tmp_path / "a.pdf", DATA, text, root, single))
    assert page.text == f"{text}\n\nApplicant: Ida Brandauer\nAmount: 3,275"
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.PARTS_SKIPPED] and "XFA" in page.caveats[0].detail


def test_a_form_whose_pages_are_drawn_is_read_as_they_show_it_and_damaged_data_as_none(tmp_path: Path) -> None:
    page = read(xfa(tmp_path / "a.pdf", DATA, LINE))
    assert page.text == LINE and not page.caveats
    page = read(xfa(tmp_path / "b.pdf", b"<broken"))
    assert page.text == WAIT and [caveat.kind for caveat in page.caveats] == [CaveatKind.PARTS_SKIPPED]


def pictured(path: Path, annotations: str, content: bytes, drawn: bytes = b"0 0 0 rg 10 10 100 20 re f") -> Path:
    """A page with annotations whose appearance `6 0 R` draws a bar."""
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 160 60]/Length %d>>\nstream\n" % len(drawn) + drawn + b"\nendstream"
    return files.raw_pdf(path, content, form, page=f"/Annots[{annotations}]")


STAMPED = "<</Type/Annot/Subtype/Stamp/F 4/Rect[200 80 360 140]/AP<</N 6 0 R>>>>"
WRITTEN = f"BT /F1 11 Tf 40 540 Td ({LINE}) Tj ET".encode()
REMARK = "<</Type/Annot/Subtype/Text/Rect[40 500 60 520]/Contents(Paid)>>"


class Sharp(Dictated):
    """Keeps what it was shown."""

    def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
        self.shown = image
        return super().read(image, number, dpi)


def test_a_stamp_without_words_is_read_by_ocr_without_what_lies_under_it(tmp_path: Path) -> None:
    under = WRITTEN + b" BT /F1 11 Tf 210 120 Td (beneath) Tj ET"
    engine = Sharp("RECEIVED 4 MARCH")
    page = read(pictured(tmp_path / "a.pdf", STAMPED, under), engine)
    assert page.text.split("\n\n") == [LINE, "RECEIVED 4 MARCH", "beneath"] and not page.caveats
    dark = (engine.shown.min(axis=2) < 128).mean()
    assert dark == pytest.approx(2000 / 9600, abs=0.01), "the bar alone"


@pytest.mark.parametrize("content", [WRITTEN, b"0 0 m 300 300 l 9 w S"])
def test_a_stamp_that_ocr_cannot_read_is_said_and_one_with_words_or_hidden_is_not(
    tmp_path: Path, content: bytes
) -> None:
    page = read(pictured(tmp_path / "a.pdf", STAMPED + REMARK, content), Dictated("x", confidence=0.1))
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.PICTURES_UNREAD] and "stamp" in page.caveats[
        0
    ].detail
    for number, other in enumerate((STAMPED.replace("/F 4", "/F 2"), STAMPED.replace("/F 4", "/Contents(Seen)"))):
        page = read(pictured(tmp_path / f"{number}.pdf", other + REMARK, content), Dictated("x", confidence=0.1))
        assert not page.caveats


@pytest.mark.parametrize(("signs", "said"), [(12, 1), (1, 0)])
def test_lines_drawn_by_hand_are_read_where_they_look_like_writing(tmp_path: Path, signs: int, said: int) -> None:
    drawn = b" ".join(b"%d 20 4 12 re f" % (10 + 7 * number) for number in range(signs))
    engine = Dictated()
    page = read(pictured(tmp_path / "a.pdf", STAMPED.replace("/Stamp", "/Ink"), WRITTEN, drawn), engine)
    assert page.text == LINE and len(page.caveats) == len(engine.asked) == said


def test_a_page_with_nothing_but_a_stamp_that_ocr_cannot_read_says_so(tmp_path: Path) -> None:
    page = read(pictured(tmp_path / "a.pdf", STAMPED, b""), Dictated())
    assert not page.text and [caveat.kind for caveat in page.caveats] == [CaveatKind.PICTURES_UNREAD]


@pytest.mark.parametrize("content", [WRITTEN, b"0 0 m 300 300 l 9 w S"])
def test_a_field_in_which_nothing_is_drawn_holds_no_text(tmp_path: Path, content: bytes) -> None:
    field, engine = STAMPED.replace("/Stamp", "/Widget/FT/Sig/T(sign)"), Dictated()
    page = read(pictured(tmp_path / "a.pdf", field, content, b"% DSBlank"), engine)
    assert not page.caveats


def test_a_signature_that_is_only_drawn_is_read_as_a_stamp_is(tmp_path: Path) -> None:
    field = STAMPED.replace("/Stamp", "/Widget/FT/Sig/T(sign)")
    path = pictured(tmp_path / "a.pdf", field, WRITTEN)
    form = b"/AcroForm<</Fields[]>>"
    path.write_bytes(path.read_bytes().replace(b"/Type/Catalog", b"/Type/Catalog" + form))
    assert read(path, Dictated("Signed by Brandauer")).text.endswith("Signed by Brandauer")
