"""ODP: one page a slide of an OpenDocument presentation, with tables, pictures, notes and comments."""

import zipfile
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.odf.namespaces import DRAW, OFFICE, PRESENTATION, TABLE, TEXT
from pipelines.documents.extract.odf.paragraphs import GROUPS, OdfText, annotation_text, check_encryption
from pipelines.documents.extract.odf.table import table_blocks
from pipelines.documents.extract.office.embedded import EmbeddedDocuments, NestingBudget, open_package
from pipelines.documents.extract.office.zip_package import Source, parse_part
from pipelines.documents.extract.opened import DocumentPart, ExtractionContext, OpenedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector


def open_odp(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """A presentation; embedded documents follow behind its slides."""
    return open_package(source, context, nesting, _slide_parts, nothing="the presentation has no slides")


def _slide_parts(
    archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments
) -> Iterator[DocumentPart]:
    check_encryption(archive)
    text = OdfText(archive, gathered, embedding)
    content = parse_part(archive, "content.xml")
    text.add_styles(content)
    text.add_controls(content)
    for at, page in enumerate(content.iter(f"{DRAW}page")):
        style = page.get(f"{DRAW}style-name")
        if text.style_property(style, "drawing-page-properties", f"{PRESENTATION}visibility") == "hidden":
            gathered.note(CaveatKind.HIDDEN_CONTENT, "a hidden slide, read here")
        blocks = [block for shape in page for block in _shape_blocks(shape, text, "##" if at else "#")]
        blocks += [f"[comment] {said}" for note in page.iter(f"{OFFICE}annotation") if (said := annotation_text(note))]
        yield DocumentPart("\n\n".join(blocks), gathered.take_caveats())


def _shape_blocks(shape: etree._Element, text: OdfText, marks: str) -> Iterator[str]:
    if shape.tag in GROUPS:
        for child in shape:
            yield from _shape_blocks(child, text, marks)
    elif shape.tag == f"{PRESENTATION}notes":
        for frame in shape.iterfind(f"{DRAW}frame"):
            if lines := [line for box in frame.iterfind(f"{DRAW}text-box") for line in _text_lines(box, text)]:
                yield "Notes: " + "\n".join(lines)
    elif shape.tag == f"{DRAW}frame":
        yield from _frame_blocks(shape, text, marks)
    elif shape.tag == f"{DRAW}control":
        yield from text.shape_lines(shape)
    elif isinstance(shape.tag, str) and shape.tag.startswith(DRAW) and (lines := list(_text_lines(shape, text))):
        yield "\n".join(lines)


def _frame_blocks(frame: etree._Element, text: OdfText, marks: str) -> Iterator[str]:
    for table in frame.iterfind(f"{TABLE}table"):
        yield from table_blocks(table, text, lambda cell: " ".join(_text_lines(cell, text)))
    boxes = list(frame.iterfind(f"{DRAW}text-box"))
    lines = [line for box in boxes for line in _text_lines(box, text)]
    if lines and frame.get(f"{PRESENTATION}class") == "title":
        yield f"{marks} {' '.join(' '.join(lines).split())}"
    elif lines:
        yield "\n".join(lines)
    for box in boxes:
        frame.remove(box)
    # A table's frame also holds a picture of it, for programs that know no tables.
    if not frame.findall(f"{TABLE}table"):
        yield from text.frame_blocks(frame)


def _text_lines(node: etree._Element, text: OdfText, level: int = 0) -> Iterator[str]:
    """Paragraphs, those of lists in lists indented."""
    for child in node:
        if child.tag in (f"{TEXT}p", f"{TEXT}h"):
            if line := text.inline(child).strip():
                yield "  " * (level - 1) + ("- " if level > 1 else "") + line
        elif child.tag == f"{TEXT}list":
            yield from _text_lines(child, text, level + 1)
        elif child.tag in (f"{TEXT}list-item", f"{TEXT}list-header"):
            yield from _text_lines(child, text, level)
