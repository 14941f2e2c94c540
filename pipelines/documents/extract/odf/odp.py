"""ODP: one page a slide of an OpenDocument presentation, with tables, pictures, notes and comments."""

import zipfile
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind, Reason, Unreadable
from pipelines.documents.extract.odf.namespaces import DRAW, OFFICE, PRESENTATION, TABLE, TEXT
from pipelines.documents.extract.odf.paragraphs import OdfText, annotation_text, check_encryption
from pipelines.documents.extract.odf.table import table_blocks
from pipelines.documents.extract.office.embedded import Embedding, Nesting
from pipelines.documents.extract.office.zip_package import DAMAGED, Source, check_package, damaged, parse_part
from pipelines.documents.extract.opened import Context, Opened, Part
from pipelines.documents.extract.pictures.embedded_pictures import Gathered


def open_odp(source: Source, context: Context, nesting: Nesting | None = None) -> Opened:
    """A presentation; embedded documents follow behind its slides."""
    check_package(source, context.read.max_unpacked_bytes)
    gathered = Gathered(context)
    embedding = Embedding(gathered, nesting)
    try:
        with zipfile.ZipFile(source) as archive:
            check_encryption(archive)
            parts = list(_slides(archive, gathered, embedding))
    except DAMAGED as error:
        raise damaged(error) from error
    if not parts:
        raise Unreadable(Reason.EMPTY, "the presentation has no slides")
    return embedding.behind(gathered.document(parts))


def _slides(archive: zipfile.ZipFile, gathered: Gathered, embedding: Embedding) -> Iterator[Part]:
    text = OdfText(archive, gathered, embedding)
    content = parse_part(archive, "content.xml")
    text.add_styles(content)
    for at, page in enumerate(content.iter(f"{DRAW}page")):
        style = page.get(f"{DRAW}style-name")
        if text.style_property(style, "drawing-page-properties", f"{PRESENTATION}visibility") == "hidden":
            gathered.note(CaveatKind.HIDDEN_CONTENT, "a hidden slide, read here")
        blocks = [block for shape in page for block in _shape(shape, text, "##" if at else "#")]
        blocks += [f"[comment] {said}" for note in page.iter(f"{OFFICE}annotation") if (said := annotation_text(note))]
        yield Part("\n\n".join(blocks), gathered.take_caveats())


def _shape(shape: etree._Element, text: OdfText, marks: str) -> Iterator[str]:
    if shape.tag == f"{DRAW}g":
        for child in shape:
            yield from _shape(child, text, marks)
    elif shape.tag == f"{PRESENTATION}notes":
        for frame in shape.iterfind(f"{DRAW}frame"):
            if lines := [line for box in frame.iterfind(f"{DRAW}text-box") for line in _lines(box, text)]:
                yield "Notes: " + "\n".join(lines)
    elif shape.tag == f"{DRAW}frame":
        yield from _frame(shape, text, marks)
    elif isinstance(shape.tag, str) and shape.tag.startswith(DRAW) and (lines := list(_lines(shape, text))):
        yield "\n".join(lines)


def _frame(frame: etree._Element, text: OdfText, marks: str) -> Iterator[str]:
    for table in frame.iterfind(f"{TABLE}table"):
        yield from table_blocks(table, text)
    boxes = list(frame.iterfind(f"{DRAW}text-box"))
    lines = [line for box in boxes for line in _lines(box, text)]
    if lines and frame.get(f"{PRESENTATION}class") == "title":
        yield f"{marks} {' '.join(' '.join(lines).split())}"
    elif lines:
        yield "\n".join(lines)
    for box in boxes:
        frame.remove(box)
    # A table's frame also holds a picture of it, for programs that know no tables.
    if not frame.findall(f"{TABLE}table"):
        yield from text.frame_blocks(frame)


def _lines(node: etree._Element, text: OdfText, level: int = 0) -> Iterator[str]:
    """Paragraphs, those of lists in lists indented."""
    for child in node:
        if child.tag in (f"{TEXT}p", f"{TEXT}h"):
            if line := text.inline(child).strip():
                yield "  " * (level - 1) + ("- " if level > 1 else "") + line
        elif child.tag == f"{TEXT}list":
            yield from _lines(child, text, level + 1)
        elif child.tag in (f"{TEXT}list-item", f"{TEXT}list-header"):
            yield from _lines(child, text, level)
