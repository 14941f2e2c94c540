"""Form controls of office files: what they show is read, and where it cannot be, that is told."""

from pathlib import Path

import docx
import openpyxl
import pytest

from pipelines.documents.document import CaveatKind
from tests.fakes import files
from tests.fakes.office import marks, related, rewritten, text, word

SHEET = "xl/worksheets/sheet1.xml"
SKIPPED = {CaveatKind.PARTS_SKIPPED: 1}
VML = (
    '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:x="urn:schemas-microsoft-com:office:excel"'
    ' xmlns:o="urn:schemas-microsoft-com:office:office">{}</xml>'
)


def control(kind: str, label: str, inner: str = "") -> str:
    box = f"<v:textbox><div><font>{label}</font><br></div></v:textbox>" if label else ""
    return f'<v:shape>{box}<x:ClientData ObjectType="{kind}">{inner}</x:ClientData></v:shape>'


def book(path: Path) -> Path:
    made = openpyxl.Workbook()
    for entry in ("Colour", "red", "green", "blue"):
        made["Sheet"].append([entry, "x"])
    made.save(path)
    return path


def drawn(path: Path, *shapes: str) -> Path:
    drawing = VML.format("".join(shapes)).encode()
    return related(book(path), SHEET, {"v": ("vmlDrawing", "../drawings/v.vml")}, {"xl/drawings/v.vml": drawing})


def test_boxes_buttons_and_lists_of_a_sheet_show_their_state(tmp_path: Path) -> None:
    path = drawn(
        tmp_path / "a.xlsx",
        control("Checkbox", "Hazardous goods", "<x:Checked>1</x:Checked>"),
        control("Checkbox", "Reefer", "<x:Checked>0</x:Checked>"),
        control("Radio", "By rail", "<x:Checked>1</x:Checked>"),
        control("Button", "Send"),
        control("Drop", "", "<x:FmlaRange>$A$2:$A$4</x:FmlaRange><x:Sel>2</x:Sel>"),
        control("List", "", "<x:FmlaRange>Sheet!$A$2:$A$4</x:FmlaRange><x:MultiSel>1,3</x:MultiSel>"),
        control("Note", "the box of a comment"),
    )
    read = text(path)
    assert read.endswith("☒ Hazardous goods\n\n☐ Reefer\n\n☒ By rail\n\nSend\n[chosen] green\n[chosen] red; blue")
    assert marks(path) == {}


def test_a_label_that_the_newer_drawing_repeats_is_read_once(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.xlsx", control("Checkbox", "Reefer", "<x:Checked>1</x:Checked>"))
    main = "http://schemas.openxmlformats.org/drawingml/2006/main"
    shape = f'<w><a><sp><txBody><p xmlns="{main}"><r><t>Reefer</t></r></p></txBody></sp></a></w>'
    drawing = {"xl/drawings/d.xml": shape.encode()}
    path = related(path, SHEET, {"d": ("drawing", "../drawings/d.xml")}, drawing)
    assert text(path).count("Reefer") == 1 and "☒ Reefer" in text(path)


def test_what_is_chosen_in_a_list_of_other_cells_is_told(tmp_path: Path) -> None:
    elsewhere = "<x:FmlaRange>Lists!$A$2:$A$4</x:FmlaRange><x:Sel>2</x:Sel>"
    assert marks(drawn(tmp_path / "a.xlsx", control("Drop", "", elsewhere))) == SKIPPED
    nothing = "<x:FmlaRange>Lists!$A$2:$A$4</x:FmlaRange><x:Sel>0</x:Sel>"
    assert marks(drawn(tmp_path / "b.xlsx", control("Drop", "", nothing))) == {}


def test_controls_of_a_sheet_without_their_drawing_are_told(tmp_path: Path) -> None:
    part = {"xl/ctrlProps/c.xml": b'<formControlPr objectType="CheckBox" checked="Checked"/>'}
    assert marks(related(book(tmp_path / "a.xlsx"), SHEET, {"c": ("ctrlProp", "../ctrlProps/c.xml")}, part)) == SKIPPED
    part = {"xl/activeX/c.xml": b"<ocx/>"}
    assert marks(related(book(tmp_path / "b.xlsx"), SHEET, {"c": ("control", "../activeX/c.xml")}, part)) == SKIPPED


def test_pictures_of_a_sheets_header_are_read(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.xlsx", '<v:shape><v:imagedata o:relid="p"/></v:shape>')
    files.picture().save(tmp_path / "p.png")
    image = {"xl/media/p.png": (tmp_path / "p.png").read_bytes()}
    path = related(path, "xl/drawings/v.vml", {"p": ("image", "../media/p.png")}, image)
    assert "picture of 400 x 300" in text(path)


def field(data: str, *, parts: str = "begin") -> str:
    """An older form field, with what the marks between its parts say."""
    first = f"<w:r><w:fldChar w:fldCharType='begin'><w:ffData>{data}</w:ffData></w:fldChar></w:r>"
    return f"<w:p>{first}{parts}</w:p>"


RESULT = (
    "<w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>{}</w:t></w:r>"
    "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
)
NONE = "<w:r><w:instrText>FORMTEXT</w:instrText></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r>"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (field("<w:textInput><w:default w:val='Leith'/></w:textInput>", parts=NONE), "Leith"),
        (field("<w:textInput><w:default w:val='Leith'/></w:textInput>", parts=RESULT.format("Oban")), "Oban"),
        (field("<w:textInput><w:default w:val='Leith'/></w:textInput>", parts=RESULT.format("")), ""),
        (
            field("<w:ddList><w:default w:val='1'/><w:listEntry w:val='red'/><w:listEntry w:val='green'/></w:ddList>"),
            "green",
        ),
    ],
)
def test_older_fields_of_a_text_show_what_was_chosen_or_their_default(tmp_path: Path, body: str, shown: str) -> None:
    assert text(word(tmp_path / "a.docx", body)) == shown and marks(tmp_path / "a.docx") == {}


def bound(path: Path, kind: str, stored: str, data: str, xpath: str = "/o:order[1]/o:port[1]") -> Path:
    """A content control in a text, and the data part that it is bound to."""
    names = "xmlns:o=&quot;urn:order&quot;"
    binding = f'<w:dataBinding w:prefixMappings="{names}" w:xpath="{xpath}" w:storeItemID="{{ab-1}}"/>'
    content = f"<w:sdtContent>{stored}</w:sdtContent>"
    body = f"<w:p><w:r><w:t>Port: </w:t></w:r><w:sdt><w:sdtPr>{kind}{binding}</w:sdtPr>{content}</w:sdt></w:p>"
    path = related(word(path, body), "word/document.xml", {"x": ("customXml", "../customXml/item1.xml")}, {})
    props = b'<d:datastoreItem xmlns:d="urn:d" d:itemID="{AB-1}"/>'
    parts = {"customXml/item1.xml": f'<order xmlns="urn:order">{data}</order>'.encode(), "customXml/props.xml": props}
    return related(path, "customXml/item1.xml", {"p": ("customXmlProps", "props.xml")}, parts)


RUN = "<w:r><w:t>{}</w:t></w:r>"
LIST = "<w:dropDownList><w:listItem w:displayText='Port of Leith' w:value='LEI'/></w:dropDownList>"


@pytest.mark.parametrize(
    ("kind", "stored", "data", "shown"),
    [
        ("<w:text/>", RUN.format("[Port]"), "<port>Leith</port>", "Leith"),
        ("<w:text/>", RUN.format("Le") + RUN.format("ith"), "<port>Leith</port>", "Leith"),
        ("<w:text/>", "", "<port>Leith</port>", "Leith"),
        ("<w:text/>", RUN.format("Oban"), "<port/>", "Oban"),
        (LIST, RUN.format("Choose"), "<port>LEI</port>", "Port of Leith"),
        ("<w:date/>", RUN.format("4 May"), "<port>2031-05-04T00:00:00</port>", "4 May"),
        ("<w:date/><w:showingPlcHdr/>", RUN.format("Date"), "<port>2031-05-04</port>", "2031-05-04"),
        ("<w:richText/>", RUN.format("Oban"), "<port>&lt;?xml?&gt;</port>", "Oban"),
    ],
)
def test_controls_bound_to_data_show_the_data(tmp_path: Path, kind: str, stored: str, data: str, shown: str) -> None:
    path = bound(tmp_path / "a.docx", kind, stored, data)
    assert text(path) == f"Port: {shown}" and marks(path) == {}


def test_controls_bound_to_the_documents_own_properties_show_them(tmp_path: Path) -> None:
    made = docx.Document()
    made.core_properties.title = "Tariffs 2031"
    made.save(str(tmp_path / "a.docx"))
    names = "xmlns:c='http://schemas.openxmlformats.org/package/2006/metadata/core-properties'"
    names += " xmlns:d='http://purl.org/dc/elements/1.1/'"
    binding = (
        f'<w:dataBinding w:prefixMappings="{names}" w:xpath="/c:coreProperties[1]/d:title[1]"'
        ' w:storeItemID="{6C3C8BC8-F283-45AE-878A-BAB7291924A1}"/>'
    )
    control = (
        f"<w:sdt><w:sdtPr>{binding}<w:text/></w:sdtPr><w:sdtContent>{RUN.format('[Title]')}</w:sdtContent></w:sdt>"
    )
    path = rewritten(
        tmp_path / "a.docx", lambda name, xml: xml.replace("<w:sectPr", f"<w:p>{control}</w:p><w:sectPr", 1)
    )
    assert text(path) == "Tariffs 2031"


def test_paths_to_data_that_could_cost_without_end_are_not_followed(tmp_path: Path) -> None:
    path = bound(tmp_path / "a.docx", "<w:text/>", RUN.format("Oban"), "<port>Leith</port>", "//*[//*[//o:port]]")
    assert text(path) == "Port: Oban"
