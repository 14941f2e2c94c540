"""PPTX: one page a slide, with tables, chart data, groups and the speaker's notes."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER

from pipelines.documents.document import Page, Reason, Unreadable
from pipelines.documents.extract.opened import Context, Opened, Parts, markdown_table
from pipelines.documents.extract.package import DAMAGED, check_package, damaged

_TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE)
LONGEST_TITLE = 120  # characters of a title that is only written like one


class Slides:
    """A presentation whose slides are read when they are asked for."""

    def __init__(self, path: Path, context: Context) -> None:
        """Open the package."""
        check_package(path, context.read.max_unpacked_bytes)
        try:
            self._slides = pptx.Presentation(str(path)).slides
            self.pages = len(self._slides)
        except DAMAGED as error:
            raise damaged(error) from error
        if not self.pages:
            raise Unreadable(Reason.EMPTY, "the presentation has no slides")

    def page(self, number: int) -> Page:
        """A slide as Markdown."""
        try:
            blocks = _blocks(self._slides[number - 1], inner=number > 1)
        except DAMAGED as error:
            raise damaged(error) from error
        return Page(number, Parts(["\n\n".join(blocks)]).page(1).text)

    def picture(self, number: int, dpi: int) -> bytes:
        """Always refused: nothing here draws slides."""
        raise Unreadable(Reason.UNSUPPORTED, "slides have no picture")

    def close(self) -> None:
        """Nothing to let go of: the package was read into memory."""


def open_pptx(path: Path, context: Context) -> Opened:
    """Open a presentation."""
    return Slides(path, context)


def _blocks(slide: Any, *, inner: bool) -> list[str]:
    """The first slide's title is the deck's: those of the slides after it stand below it."""
    marks = "##" if inner else "#"
    untitled = not any(_is_title(shape) and shape.text_frame.text.strip() for shape in slide.shapes)
    blocks: list[str] = []
    for shape in slide.shapes:
        written = untitled and not blocks and _leads_in_bold(shape)
        found = list(_shape(shape, marks))
        if written and (len(slide.shapes) > 1 or "\n" in found[0]):
            line, _, rest = found[0].partition("\n")
            found[:1] = [f"{marks} {line}", rest] if rest else [f"{marks} {line}"]
        blocks += found
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        blocks += [f"Notes: {notes}"] if notes else []
    return blocks


def _is_title(shape: Any) -> bool:
    return bool(shape.is_placeholder and shape.placeholder_format.type in _TITLES)


def _leads_in_bold(shape: Any) -> bool:
    """Whether a shape's text begins with a short paragraph, all of it bold, that ends like a title."""
    if not shape.has_text_frame:
        return False
    first = next((one for one in shape.text_frame.paragraphs if one.text.strip()), None)
    if first is None or first.level:
        return False
    text = first.text.strip()
    bold = all(run.font.bold for run in first.runs if run.text.strip())
    return bold and bool(first.runs) and len(text) <= LONGEST_TITLE and text[-1] not in ".,;" and "\v" not in text


def _shape(shape: Any, marks: str) -> Iterator[str]:
    if isinstance(getattr(shape, "shapes", None), object) and _type(shape) == MSO_SHAPE_TYPE.GROUP:
        for child in shape.shapes:
            yield from _shape(child, marks)
    elif getattr(shape, "has_table", False):
        rows = [[_cell(cell) for cell in row.cells] for row in shape.table.rows]
        yield "\n".join(markdown_table(rows))
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield _frame(shape, marks)


def _type(shape: Any) -> MSO_SHAPE_TYPE | None:
    """A shape's type; python-pptx raises for shapes that are newer than itself."""
    try:
        return shape.shape_type
    except NotImplementedError:
        return None


def _cell(cell: Any) -> str:
    return "" if cell.is_spanned else str(cell.text)


def _frame(shape: Any, marks: str) -> str:
    text = "\n".join(
        "  " * paragraph.level + ("- " if paragraph.level else "") + line
        for paragraph in shape.text_frame.paragraphs
        if (line := paragraph.text.replace("\v", "\n").strip())
    )
    return f"{marks} {' '.join(text.split())}" if _is_title(shape) else text


def _chart(chart: Any) -> Iterator[str]:
    """A chart as the table of its numbers."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield str(chart.chart_title.text_frame.text)
    for plot in islice(chart.plots, 10):
        series = list(plot.series)
        names = [str(name) for name in plot.categories]
        rows = [["", *(str(one.name) for one in series)]]
        for at, name in enumerate(names):
            rows.append([name, *(str(one.values[at]) if at < len(one.values) else "" for one in series)])
        if len(rows) > 1:
            yield "\n".join(markdown_table(rows))
