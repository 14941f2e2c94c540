"""PPTX: slides with what lies beside and within them."""

from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from pipelines.documents.document import CaveatKind
from tests.fakes import files
from tests.fakes.office import marks, pages, related, rewritten, strict, text

AT = [Inches(1)] * 4
NEWER_COMMENTS = "http://schemas.microsoft.com/office/2018/10/relationships/comments"
SLIDE = "ppt/slides/slide1.xml"


def deck(*titles: str) -> Any:
    made = pptx.Presentation()
    for title in titles:
        made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = title
    return made


def saved(made: Any, path: Path) -> Path:
    made.save(str(path))
    return path


def charted(path: Path) -> Path:
    made = deck("Tonnes")
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Berth 1", "Berth 2"]
    data.add_series("2031", (4100, 3870.5))  # type: ignore[no-untyped-call]
    made.slides[0].shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *AT, data)
    return saved(made, path)


@pytest.mark.parametrize("plot", ["bar3DChart", "surface3DChart", "ofPieChart", "somethingNewChart"])
def test_charts_of_any_type_are_tables_of_their_numbers(tmp_path: Path, plot: str) -> None:
    path = rewritten(charted(tmp_path / "a.pptx"), lambda name, xml: xml.replace("barChart", plot))
    assert "# Tonnes\n\n|  | 2031 |\n| --- | --- |\n| Berth 1 | 4100 |\n| Berth 2 | 3870.5 |" in text(path)


def test_charts_of_points_have_both_numbers(tmp_path: Path) -> None:
    made = deck("Depth")
    data = XyChartData()  # type: ignore[no-untyped-call]
    series = data.add_series("north")  # type: ignore[no-untyped-call]
    series.add_data_point(1.5, 9)
    series.add_data_point(2.5, 7)
    made.slides[0].shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *AT, data)
    assert "| 1.5 | 9 |\n| 2.5 | 7 |" in text(saved(made, tmp_path / "a.pptx"))


def test_a_chart_of_which_nothing_is_stored_is_told(tmp_path: Path) -> None:
    path = charted(tmp_path / "a.pptx")

    def change(name: str, xml: str) -> str:
        return "<c:chartSpace xmlns:c='x'/>" if name.startswith("ppt/charts/chart") else xml

    assert marks(rewritten(path, change))[CaveatKind.PARTS_SKIPPED] == 1


def test_texts_of_diagrams_are_read(tmp_path: Path) -> None:
    point = '<dgm:pt modelId="{0}"><dgm:t><a:p><a:r><a:t>{1}</a:t></a:r></a:p></dgm:t></dgm:pt>'
    data = (
        '<dgm:dataModel xmlns:dgm="d" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst>'
        f'<dgm:pt modelId="0"'
        f' type="doc"/>{point.format(1, "Harbour master signs")}{point.format(2, "Fire officer inspects")}'
        "</dgm:ptLst></dgm:dataModel>"
    )
    path = related(
        saved(deck("Steps"), tmp_path / "a.pptx"),
        SLIDE,
        {"d1": ("diagramData", "../diagrams/data1.xml")},
        {"ppt/diagrams/data1.xml": data.encode()},
    )
    assert text(path) == "# Steps\n\nHarbour master signs\n\nFire officer inspects"


def test_comments_of_both_kinds_and_notes_are_read(tmp_path: Path) -> None:
    made = deck("Plan")
    made.slides[0].notes_slide.notes_text_frame.text = "Speak slowly."
    old = (
        '<p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"><p:cm authorId="0" idx="1">'
        "<p:text>Only in June?</p:text></p:cm></p:cmLst>"
    )
    body = "<p188:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p188:txBody>"
    new = (
        '<p188:cmLst xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p188:cm><p188:replyLst><p188:reply>'
        f"{body.format('In May.')}</p188:reply></p188:replyLst>{body.format('Or when?')}</p188:cm></p188:cmLst>"
    )
    path = related(
        saved(made, tmp_path / "a.pptx"),
        SLIDE,
        {"c1": ("comments", "../comments/c1.xml"), "c2": (NEWER_COMMENTS, "../comments/c2.xml")},
        {"ppt/comments/c1.xml": old.encode(), "ppt/comments/c2.xml": new.encode()},
    )
    read = text(path)
    assert "[comment] Only in June?" in read and "[comment] Or when?\n[comment] In May." in read
    assert "Notes: Speak slowly." in read


def test_raised_and_lowered_runs_stay_apart(tmp_path: Path) -> None:
    made = deck("Output")
    paragraph = made.slides[0].shapes.add_textbox(*AT).text_frame.paragraphs[0]
    for said, baseline in (("It rose to 310", None), ("4", "30000"), ("; NO", None), ("2", "-25000"), (" fell", "0")):
        run = paragraph.add_run()
        run.text = said
        if baseline:
            run.font._element.set("baseline", baseline)
    assert text(saved(made, tmp_path / "a.pptx")).endswith("It rose to 310⁴; NO₂ fell")


def test_cells_merged_downwards_repeat(tmp_path: Path) -> None:
    made = deck("Yards")
    table = made.slides[0].shapes.add_table(4, 2, *AT).table
    for row, said in enumerate(("Part", "D1", "D2", "D3")):
        table.cell(row, 1).text = said
    table.cell(0, 0).text = "Yard"
    table.cell(1, 0).merge(table.cell(3, 0))
    table.cell(1, 0).text = "East"
    assert text(saved(made, tmp_path / "a.pptx")).endswith("| East | D1 |\n| East | D2 |\n| East | D3 |")


def test_numbers_of_paragraphs_are_counted(tmp_path: Path) -> None:
    made = deck("Steps")
    frame = made.slides[0].shapes.add_textbox(*AT).text_frame
    frame.text = "open\nclose\nlock"
    for paragraph in frame.paragraphs:
        auto = paragraph._p.get_or_add_pPr().makeelement(
            "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum", {"type": "alphaLcParenR"}
        )
        paragraph._p.get_or_add_pPr().append(auto)
    assert text(saved(made, tmp_path / "a.pptx")).endswith("a) open\nb) close\nc) lock")


def test_pictures_are_read_once_in_a_deck_and_hidden_slides_are_told(tmp_path: Path) -> None:
    made = deck("One", "Two")
    files.picture("logo").save(tmp_path / "p.png")
    for slide in made.slides:
        slide.shapes.add_picture(str(tmp_path / "p.png"), Inches(1), Inches(2))
    made.slides[1]._element.set("show", "0")
    first, second = pages(saved(made, tmp_path / "a.pptx"))
    assert "picture of 400 x 300" in first.text and second.text == "## Two"
    assert [caveat.kind for caveat in (*first.caveats, *second.caveats)] == [CaveatKind.HIDDEN_CONTENT]


def test_shapes_that_are_newer_than_libraries_are_read(tmp_path: Path) -> None:
    made = deck("Shapes")
    made.slides[0].shapes.add_textbox(*AT).text_frame.text = "in a new shape"
    wrap = (
        (
            "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>"
            "<mc:Choice Requires='p14'>"
        ),
        "</mc:Choice></mc:AlternateContent>",
    )

    def change(name: str, xml: str) -> str:
        at = xml.rfind("<p:sp>")
        end = xml.rfind("</p:sp>") + len("</p:sp>")
        return xml[:at] + wrap[0] + xml[at:end] + wrap[1] + xml[end:] if name == SLIDE else xml

    assert text(rewritten(saved(made, tmp_path / "a.pptx"), change)) == "# Shapes\n\nin a new shape"


def test_a_damaged_slide_does_not_cost_the_others(tmp_path: Path) -> None:
    path = rewritten(
        saved(deck("One", "Two"), tmp_path / "a.pptx"), lambda name, xml: "<open>" if name == SLIDE else xml
    )
    first, second = pages(path)
    assert first.text == "" and [caveat.kind for caveat in first.caveats] == [CaveatKind.PARTS_SKIPPED]
    assert second.text == "## Two"


def test_strict_presentations_are_read(tmp_path: Path) -> None:
    assert text(strict(saved(deck("Strict 42"), tmp_path / "a.pptx"))) == "# Strict 42"
