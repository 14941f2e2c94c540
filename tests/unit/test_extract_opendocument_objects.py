"""Controls, charts and objects of OpenDocument files: read, or told."""

import io
from pathlib import Path

import pytest

from pipelines.documents.document import CaveatKind
from tests.fakes import files
from tests.fakes.office import marks, open_document, text

SKIPPED = {CaveatKind.PARTS_SKIPPED: 1}
FORM = 'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0" xmlns:xml="http://www.w3.org/XML/1998/namespace"'
CHART = 'xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"'
OFFICE = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
TABLE = 'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
TEXT = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
SHEET = (
    '<table:table table:name="Stock">{}<table:table-row><table:table-cell><text:p>19</text:p></table:table-cell>'
    "</table:table-row></table:table>"
)
OBJECT = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'


def form(control: str) -> str:
    return f"<office:forms {FORM}><form:form>{control}</form:form></office:forms>"


def shown(path: Path, kind: str, control: str) -> Path:
    """A file with one form control `c`."""
    place = '<draw:control draw:control="c"/>'
    body = {
        "text": f"{form(control)}<text:p>{place}</text:p>",
        "presentation": f"<draw:page>{form(control)}{place}</draw:page>",
        "spreadsheet": SHEET.format(f"{form(control)}<table:shapes>{place}</table:shapes>"),
    }
    return open_document(path, kind, body[kind])


KINDS = [("a.odt", "text"), ("a.ods", "spreadsheet"), ("a.odp", "presentation")]
CONTROLS = [
    ('<form:checkbox xml:id="c" form:label="Reefer" form:current-state="checked"/>', "☒ Reefer"),
    ('<form:checkbox form:id="c" form:label="Reefer" form:state="unchecked"/>', "☐ Reefer"),
    ('<form:radio form:id="c" form:label="By rail" form:current-selected="true"/>', "☒ By rail"),
    ('<form:text form:id="c" form:current-value="Leith" form:value="Oban"/>', "Leith"),
    ('<form:textarea form:id="c"><text:p>Berth nine</text:p></form:textarea>', "Berth nine"),
    ('<form:fixed-text form:id="c" form:label="Port:"/>', "Port:"),
    (
        '<form:listbox form:id="c"><form:option form:label="red" form:selected="true"/>'
        '<form:option form:label="green" form:current-selected="true"/></form:listbox>',
        "[chosen] green",
    ),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize(("control", "wanted"), CONTROLS)
def test_controls_show_their_state(tmp_path: Path, name: str, kind: str, control: str, wanted: str) -> None:
    path = shown(tmp_path / name, kind, control)
    assert text(path).endswith(wanted) and marks(path) == {}


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize("control", ['<form:grid form:id="c"/>', '<form:listbox form:id="c"/>', ""])
def test_controls_that_show_other_data_are_told(tmp_path: Path, name: str, kind: str, control: str) -> None:
    assert marks(shown(tmp_path / name, kind, control)) == SKIPPED


def test_a_password_is_neither_read_nor_told(tmp_path: Path) -> None:
    path = shown(tmp_path / "a.odt", "text", '<form:password form:id="c" form:current-value="s3cret"/>')
    assert text(path) == "" and marks(path) == {}


@pytest.mark.parametrize(
    ("kind", "params", "wanted"),
    [
        ("FORMCHECKBOX", [("Checkbox_Checked", "true")], "☒"),
        ("FORMCHECKBOX", [], "☐"),
        (
            "FORMDROPDOWN",
            [("Dropdown_ListEntry", "red"), ("Dropdown_ListEntry", "green"), ("Dropdown_Selected", "1")],
            "green",
        ),
    ],
)
def test_fields_of_a_file_of_word_show_their_state(
    tmp_path: Path, kind: str, params: list[tuple[str, str]], wanted: str
) -> None:
    inner = "".join(f'<f:param f:name="{name}" f:value="{value}"/>' for name, value in params)
    mark = f'<f:fieldmark xmlns:f="urn:f" f:type="vnd.oasis.opendocument.field.{kind}">{inner}</f:fieldmark>'
    assert text(open_document(tmp_path / "a.odt", "text", f"<text:p>At: {mark}</text:p>")) == f"At: {wanted}"


def chart(cells: str) -> str:
    table = SHEET.format("").replace("Stock", "local-table")
    return (
        f"<office:document-content {OFFICE} {CHART} {TABLE} {TEXT}><office:body><office:chart><chart:chart>"
        f'<chart:plot-area><chart:series chart:values-cell-range-address="{cells}"/></chart:plot-area>{table}'
        "</chart:chart></office:chart></office:body></office:document-content>"
    )


def test_numbers_that_a_chart_of_a_sheet_holds_itself_are_read(tmp_path: Path) -> None:
    body = SHEET.format(f"<table:shapes>{OBJECT}</table:shapes>").replace("19", "Item")
    for cells, count in (("local-table.B2:.B5", 1), ("Stock.B2:Stock.B5", 0)):
        path = open_document(tmp_path / "a.ods", "spreadsheet", body, more={"Object 1/content.xml": chart(cells)})
        assert text(path).count("19") == count and marks(path) == {}


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize(
    "element",
    [
        OBJECT,
        "<draw:frame><draw:object/></draw:frame>",
        '<draw:frame><draw:object-ole xlink:href="./gone"/></draw:frame>',
        f"<draw:g>{OBJECT}</draw:g>",
        '<draw:frame><draw:plugin xlink:href="Media/a.mp4"/></draw:frame>',
        '<draw:frame><draw:floating-frame xlink:href="b.html"/></draw:frame>',
    ],
)
def test_objects_that_are_not_in_the_file_are_told(tmp_path: Path, name: str, kind: str, element: str) -> None:
    body = {
        "text": f"<text:p>{element}</text:p>",
        "presentation": f"<draw:page>{element}</draw:page>",
        "spreadsheet": SHEET.format(f"<table:shapes>{element}</table:shapes>"),
    }
    assert marks(open_document(tmp_path / name, kind, body[kind])) == SKIPPED


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize(
    "group", ["<draw:g>{}</draw:g>", "<draw:a>{}</draw:a>", "<draw:g><draw:g>{}</draw:g></draw:g>"]
)
def test_pictures_in_groups_are_read(tmp_path: Path, name: str, kind: str, group: str) -> None:
    buffer = io.BytesIO()
    files.picture().save(buffer, "PNG")
    element = group.format('<draw:frame><draw:image xlink:href="Pictures/1.png"/></draw:frame>')
    body = {
        "text": f"{element}",
        "presentation": f"<draw:page>{element}</draw:page>",
        "spreadsheet": SHEET.format(f"<table:shapes>{element}</table:shapes>"),
    }
    path = open_document(tmp_path / name, kind, body[kind], more={"Pictures/1.png": buffer.getvalue()})
    assert "picture of 400 x 300" in text(path)


def test_documents_that_lie_unpacked_in_one_are_read_behind_it(tmp_path: Path) -> None:
    inner = (
        f"<office:document-content {OFFICE} {TABLE} {TEXT}><office:body><office:text><text:p>Berth nine</text:p>"
        f"{SHEET.format('')}</office:text></office:body></office:document-content>"
    )
    path = open_document(
        tmp_path / "a.odt", "text", f"<text:p>See {OBJECT}</text:p>", more={"Object 1/content.xml": inner}
    )
    assert text(path).startswith("See\n\n[embedded document Object 1]\n\nBerth nine") and marks(path) == {}


def test_lists_in_the_cells_of_a_slide_are_read(tmp_path: Path) -> None:
    items = "<text:list><text:list-item><text:p>Pilot</text:p></text:list-item></text:list>"
    table = (
        f"<table:table><table:table-row><table:table-cell>{items}</table:table-cell></table:table-row></table:table>"
    )
    body = f"<draw:page><draw:frame>{table}</draw:frame></draw:page>"
    assert "Pilot" in text(open_document(tmp_path / "a.odp", "presentation", body))


def test_a_section_of_another_file_that_holds_nothing_is_told(tmp_path: Path) -> None:
    source = '<text:section><text:section-source xlink:href="part.odt"/>{}</text:section>'
    assert marks(open_document(tmp_path / "a.odt", "text", source.format(""))) == SKIPPED
    assert marks(open_document(tmp_path / "b.odt", "text", source.format("<text:p>kept</text:p>"))) == {}
