"""OpenDocument texts, sheets and slides."""

import io
import time
from pathlib import Path

import pytest

from pipelines.documents.document import CaveatKind, FailureReason, Unreadable
from tests.fakes import files
from tests.fakes.office import marks, open_document, pages, text

NOTE = (
    '<text:note text:note-class="footnote"><text:note-citation>3</text:note-citation>'
    "<text:note-body><text:p>Since 1990.</text:p></text:note-body></text:note>"
)
STYLES = "".join(
    (
        f'<style:style style:name="{name}" style:family="text">'
        f'<style:text-properties style:text-position="{position}"/></style:style>'
    )
    for name, position in (
        ("Up", "super 58%"),
        ("Down", "sub 58%"),
        ("High", "33% 58%"),
        ("Low", "-12% 80%"),
        ("Flat", "0% 100%"),
    )
)


def cell(shown: str, more: str = "") -> str:
    return f"<table:table-cell {more}><text:p>{shown}</text:p></table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def sheet(*rows: str, name: str = "Stock", more: str = "") -> str:
    return f'<table:table table:name="{name}" {more}>{"".join(rows)}</table:table>'


def test_notes_and_comments_stand_apart_from_the_sentence(tmp_path: Path) -> None:
    said = "<office:annotation><text:p>By whom?</text:p></office:annotation>"
    path = open_document(tmp_path / "a.odt", "text", f"<text:p>Pump 12{NOTE} runs{said} twice.</text:p>")
    assert text(path) == "Pump 12[footnote 3] runs twice.\n\n[footnote 3] Since 1990.\n\n[comment] By whom?"


@pytest.mark.parametrize(
    ("style", "shown"),
    [("Up", "310⁴ m"), ("High", "310⁴ m"), ("Down", "310₄ m"), ("Low", "310₄ m"), ("Flat", "3104 m")],
)
def test_raised_and_lowered_text_stays_apart(tmp_path: Path, style: str, shown: str) -> None:
    body = f'<text:p>310<text:span text:style-name="{style}">4</text:span> m</text:p>'
    assert text(open_document(tmp_path / "a.odt", "text", body, STYLES)) == shown


def test_what_was_deleted_is_gone_and_what_was_inserted_is_read(tmp_path: Path) -> None:
    body = (
        '<text:tracked-changes><text:changed-region text:id="c"><text:deletion><text:p>struck</text:p></text:deletion>'
        "</text:changed-region></text:tracked-changes><text:p>kept"
        '<text:change text:change-id="c"/><text:change-start/> added</text:p>'
    )
    assert text(open_document(tmp_path / "a.odt", "text", body)) == "kept added"


def test_lists_and_headings_have_their_numbers(tmp_path: Path) -> None:
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number'
        ' text:level="1" style:num-format="1" style:num-suffix="."/>'
        '<text:list-level-style-number text:level="2" style:num-format="a"'
        ' style:num-suffix=")" text:display-levels="1"/></text:list-style>'
    )
    outline = (
        '<text:outline-style style:name="O"><text:outline-level-style text:level="1" style:num-format="1"/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
    )
    item = "<text:list-item><text:p>{}</text:p>{}</text:list-item>"
    nested = f"<text:list>{item.format('b', '')}{item.format('c', '')}</text:list>"
    body = (
        '<text:h text:outline-level="1">Scope</text:h><text:h text:outline-level="2">Terms</text:h>'
        f'<text:list text:style-name="L">{item.format("a", nested)}{item.format("d", "")}</text:list>'
    )
    path = open_document(tmp_path / "a.odt", "text", body, styles + outline)
    assert text(path) == "# 1 Scope\n\n## 1.1 Terms\n\n1. a\n  a) b\n  b) c\n2. d"


def test_tables_with_merged_and_repeated_cells(tmp_path: Path) -> None:
    covered = "<table:covered-table-cell/>"
    table = sheet(
        row(cell("Yard"), cell("Part")),
        row(cell("North", 'table:number-rows-spanned="2"'), cell("W1")),
        row(covered, cell("W2")),
        row(cell("same", 'table:number-columns-repeated="2"')),
    )
    assert text(open_document(tmp_path / "a.odt", "text", table)).endswith(
        "| North | W1 |\n| North | W2 |\n| same | same |"
    )


def test_pictures_with_their_description_and_formulas_are_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    files.picture("x").save(buffer, "PNG")
    math = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>A'
        "</mi><annotation>A = %pi d^2 over 4</annotation></semantics></math>"
    )
    body = (
        '<text:p>See <draw:frame><draw:image xlink:href="Pictures/1.png"/>'
        "<svg:desc>Map of berth nine</svg:desc></draw:frame></text:p>"
        '<text:p>So <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>'
    )
    path = open_document(
        tmp_path / "a.odt", "text", body, more={"Pictures/1.png": buffer.getvalue(), "Object 1/content.xml": math}
    )
    read = text(path)
    assert "[alt text] Map of berth nine" in read and "picture of 400 x 300" in read and "A = %pi d^2 over 4" in read


def test_sheets_are_read_as_they_are_shown_and_empty_ones_cost_nothing(tmp_path: Path) -> None:
    far = row('<table:table-cell table:number-columns-repeated="16384"/>', more='table:number-rows-repeated="1048000"')
    typed = '<table:table-cell office:value-type="{}" office:{}="{}"/>'
    stock = sheet(
        row(cell("Item"), cell("Count"), cell("Day"), cell("Share")),
        row(
            cell("Chain"),
            cell("019", 'office:value-type="float" office:value="19"'),
            typed.format("date", "date-value", "2031-03-02T00:00:00"),
            typed.format("percentage", "value", "0.155"),
        ),
        far,
        row(cell("stray")),
    )
    started = time.process_time()
    path = open_document(tmp_path / "a.ods", "spreadsheet", stock)
    assert text(path).startswith(
        "## Sheet: Stock\n\n| Item | Count | Day | Share |\n| --- | ---"
        " | --- | --- |\n| Chain | 019 | 2031-03-02 | 15.5% |\n| stray |"
    )
    assert time.process_time() - started < 1.0


def test_formulas_without_a_value_stand_themselves(tmp_path: Path) -> None:
    formula = '<table:table-cell table:formula="of:=SUM([.B2:.B3])*[$Rates.A1]"/>'
    path = open_document(
        tmp_path / "a.ods", "spreadsheet", sheet(row(cell("a"), cell("b")), row(cell("total"), formula))
    )
    assert "| total | =SUM(B2:B3)*$Rates.A1 |" in text(path) and marks(path) == {CaveatKind.FORMULAS_UNCALCULATED: 1}


def test_a_row_that_repeats_without_end_is_cut_and_told(tmp_path: Path) -> None:
    rows = row(cell("a"), cell("b")), row(cell("x"), cell("y"), more='table:number-rows-repeated="1000000"')
    path = open_document(tmp_path / "a.ods", "spreadsheet", sheet(*rows))
    assert marks(path) == {CaveatKind.CUT_SHORT: 1}


def test_merged_hidden_and_commented_cells(tmp_path: Path) -> None:
    styles = (
        '<style:style style:name="H" style:family="table"><style:table-properties table:display="false"/></style:style>'
    )
    noted = (
        "<table:table-cell><office:annotation><text:p>counted twice"
        "</text:p></office:annotation><text:p>W1</text:p></table:table-cell>"
    )
    secret = sheet(
        row(cell("Yard"), cell("Part")),
        row(cell("North", 'table:number-rows-spanned="2"'), noted),
        row("<table:covered-table-cell/>", cell("W2"), more='table:visibility="collapse"'),
        name="Secret",
        more='table:style-name="H"',
    )
    path = open_document(tmp_path / "a.ods", "spreadsheet", secret, styles)
    assert text(path).endswith("| North | W1 |\n| North | W2 |\n\nComments:\n[B2] counted twice")
    assert marks(path) == {CaveatKind.HIDDEN_CONTENT: 1}


def test_slides_with_titles_tables_and_notes(tmp_path: Path) -> None:
    frame = "<draw:frame{}><draw:text-box>{}</draw:text-box></draw:frame>"
    first = (
        "<draw:page>"
        + frame.format(' presentation:class="title"', "<text:p>Plan</text:p>")
        + frame.format(
            "",
            (
                "<text:list><text:list-item><text:p>dredge</text:p><text:list><text:list-item>"
                "<text:p>in June</text:p></text:list-item></text:list></text:list-item></text:list>"
            ),
        )
        + f"<draw:frame>{sheet(row(cell('Year'), cell('Sum')), row(cell('2025'), cell('7')))}</draw:frame>"
        + "<draw:custom-shape><text:p>in a shape</text:p></draw:custom-shape>"
        + f"<presentation:notes>{frame.format('', '<text:p>Slowly.</text:p>')}</presentation:notes>"
        + "<office:annotation><text:p>Why?</text:p></office:annotation></draw:page>"
    )
    hidden = (
        '<style:style style:name="P" style:family="drawing-page">'
        '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    second = (
        '<draw:page draw:style-name="P">'
        + frame.format(' presentation:class="title"', "<text:p>Costs</text:p>")
        + "</draw:page>"
    )
    path = open_document(tmp_path / "a.odp", "presentation", first + second, hidden)
    one, two = pages(path)
    assert one.text == (
        "# Plan\n\ndredge\n  - in June\n\n| Year | Sum |\n| --- | --- |\n|"
        " 2025 | 7 |\n\nin a shape\n\nNotes: Slowly.\n\n[comment] Why?"
    )
    assert two.text == "## Costs" and [caveat.kind for caveat in two.caveats] == [CaveatKind.HIDDEN_CONTENT]


@pytest.mark.parametrize(("name", "kind"), [("a.odt", "text"), ("a.ods", "spreadsheet"), ("a.odp", "presentation")])
def test_locked_damaged_and_swollen_packages_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    locked = {"META-INF/manifest.xml": "<manifest:encryption-data/>"}
    for more, reason in (
        (locked, FailureReason.ENCRYPTED),
        ({"content.xml": "<open>"}, FailureReason.CORRUPT),
        ({"content.xml": "<!DOCTYPE x [<!ENTITY a 'ha'>]><x/>"}, FailureReason.BOMB),
    ):
        with pytest.raises(Unreadable) as error:
            pages(open_document(tmp_path / name, kind, "", more=more))
        assert error.value.reason is reason
