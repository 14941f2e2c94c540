"""ODS: the sheets of an OpenDocument workbook as a person sees them, read as a stream."""

import zipfile
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.extract.odf.namespaces import DRAW, OFFICE, TABLE, TEXT
from pipelines.documents.extract.odf.paragraphs import OdfText, check_encryption, iter_paragraphs
from pipelines.documents.extract.odf.table import TableReader
from pipelines.documents.extract.office.embedded import EmbeddedDocuments, NestingBudget, open_package
from pipelines.documents.extract.office.zip_package import Source
from pipelines.documents.extract.opened import DocumentPart, ExtractionContext, OpenedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.sheets.grid import CellGrid, grid_parts

_PARSING = {"resolve_entities": False, "no_network": True, "load_dtd": False}


def open_ods(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """Each sheet begins a part of its own with `## Sheet: name`."""
    return open_package(source, context, nesting, _sheet_parts)


def _sheet_parts(
    archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments
) -> Iterator[DocumentPart]:
    check_encryption(archive)
    for grid in _sheet_grids(archive, OdfText(archive, gathered, embedding)):
        grid.caveats += gathered.take_caveats()
        yield from grid_parts(grid, gathered.context.read.part_chars)


def _sheet_grids(archive: zipfile.ZipFile, text: OdfText) -> Iterator[CellGrid]:
    """The sheets one after the other; each row is let go of when it was read."""
    reader: TableReader | None = None
    depth = 0
    with archive.open("content.xml") as file:
        for event, node in etree.iterparse(file, events=("start", "end"), **_PARSING):
            if event == "start":
                depth += node.tag == f"{TABLE}table"
                if node.tag == f"{TABLE}table" and depth == 1:
                    reader = _table_reader(node, text)
                continue
            if node.tag == f"{OFFICE}automatic-styles":
                text.add_styles(node)
            elif node.tag == f"{TABLE}table":
                depth -= 1
                if depth == 0 and reader is not None:
                    reader.grid.hidden = (
                        text.style_property(_style_name(node), "table-properties", f"{TABLE}display") == "false"
                    )
                    yield reader.grid
                    reader = None
                    node.clear()
            elif depth == 1 and reader is not None:
                _take_node(node, reader, text)


def _table_reader(node: etree._Element, text: OdfText) -> TableReader:
    grid = CellGrid(node.get(f"{TABLE}name", ""))
    return TableReader(grid, text, lambda cell: _cell_text(cell, text, grid))


def _style_name(node: etree._Element) -> str | None:
    return node.get(f"{TABLE}style-name")


def _take_node(node: etree._Element, reader: TableReader, text: OdfText) -> None:
    if node.tag == f"{TABLE}table-column":
        reader.column(node)
    elif node.tag == f"{TABLE}table-row":
        reader.row(node)
        node.clear()
        parent = node.getparent()
        while parent is not None and node.getprevious() is not None:
            del parent[0]
    elif node.tag == f"{OFFICE}forms":
        text.add_controls(node)
    elif node.tag == f"{TABLE}shapes":
        for shape in node:
            reader.grid.notes += _shape_notes(shape, text)


def _shape_notes(shape: etree._Element, text: OdfText) -> list[str]:
    """Pictures, text boxes, and of charts the titles: their numbers stand in cells."""
    return text.shape_lines(shape, chart_data=False) if isinstance(shape.tag, str) else []


def _cell_text(cell: etree._Element, text: OdfText, grid: CellGrid) -> str:
    """The text that a cell displays; what floats over it goes below the table."""
    for shape in cell:
        if isinstance(shape.tag, str) and shape.tag.startswith(DRAW):
            grid.notes += _shape_notes(shape, text)
    inner = [one for table in cell.iterfind(f"{TABLE}table") for one in iter_paragraphs(table)]
    return "\n".join(text.inline(one) for one in (*cell.iterfind(f"{TEXT}p"), *inner)).strip()
