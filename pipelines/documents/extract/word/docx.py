"""DOCX: body, tables, lists, text boxes, notes, comments, headers and footers, in the order a person reads them."""

import io
import zipfile
from collections.abc import Iterable, Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind, Unreadable
from pipelines.documents.extract.office.embedded import DEEPEST, EmbeddedDocuments, NestingBudget, open_package
from pipelines.documents.extract.office.embedded_objects import DrawingObjects
from pipelines.documents.extract.office.ooxml import OoxmlPackage, to_transitional
from pipelines.documents.extract.office.zip_package import DAMAGED, Source, check_package
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector, split_blocks
from pipelines.documents.extract.sheets.grid import CellGrid, grid_blocks
from pipelines.documents.extract.text.rtf import rtf_blocks
from pipelines.documents.extract.text.web_page import fit_tables
from pipelines.documents.extract.word.form_fields import BoundData, W
from pipelines.documents.extract.word.imported_parts import BEFORE_MARKUP, IMPORT_DAMAGED, imported_blocks
from pipelines.documents.extract.word.inline import ALTERNATIVES, FALLBACK, InlineReader
from pipelines.documents.extract.word.numbering import ListNumbering
from pipelines.documents.extract.word.styles import DocxStyles

_LONG_LIST = 2_000
_NOTES = (("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment"))
_WRAPPERS = (
    frozenset(f"{W}{name}" for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")) | ALTERNATIVES
)


class ListItem(str):
    """A block that is an item of a list."""

    __slots__ = ()


def open_docx(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """The document as Markdown in parts; embedded documents follow behind."""
    return open_package(source, context, nesting, _text_parts)


def _text_parts(archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments) -> list[str]:
    blocks = _Reader(OoxmlPackage(archive), gathered, embedding, embedding.nesting).blocks()
    limit = gathered.context.read.part_chars
    return split_blocks(fit_tables(_tight_lists(blocks), limit), limit)


def _tight_lists(blocks: Iterable[str]) -> list[str]:
    """Items that follow one another as one block, so that a list is not torn into paragraphs."""
    result: list[str] = []
    for block in blocks:
        if result and isinstance(block, ListItem) and isinstance(result[-1], ListItem) and len(result[-1]) < _LONG_LIST:
            result[-1] = ListItem(f"{result[-1]}\n{block}")
        else:
            result.append(block)
    return result


class _Reader:
    """Walks the XML itself: libraries leave out text boxes, content controls, notes and broken table grids."""

    def __init__(
        self, package: OoxmlPackage, gathered: PictureCollector, embedding: EmbeddedDocuments, nesting: NestingBudget
    ) -> None:
        start = next((one.target for one in package.relations("").values() if one.kind == "officeDocument"), None)
        self._package, self._part = package, start or "word/document.xml"
        self._gathered, self._embedding, self._nesting = gathered, embedding, nesting
        self._relations = package.relations(self._part)
        self._styles = DocxStyles(self._side_part("styles"))
        self._lists = ListNumbering(self._styles, self._side_part("numbering"))
        self._objects = DrawingObjects(package, gathered, embedding)
        self._bound = BoundData(package, self._relations)
        self._inline = InlineReader(self._styles, self._objects)

    def blocks(self) -> Iterator[str]:
        """Everything, headers first and footers last."""
        root = self._package.xml(self._part)
        self._bound.fill_controls(root)
        body = root.find(f"{W}body")
        yield from self._edge_blocks("header")
        self._objects.within(self._part)
        yield from self._child_blocks(body if body is not None else root)
        yield from self._objects.unmet(self._part)
        for name, tag in _NOTES:
            yield from self._note_lines(name, tag)
        yield from self._edge_blocks("footer")

    def _side_part(self, kind: str) -> etree._Element | None:
        """A part beside the text; one that is damaged or missing is named and does not cost the document."""
        for relation in self._relations.values():
            if relation.kind == kind and not relation.external:
                try:
                    return self._package.xml(relation.target)
                except DAMAGED:
                    self._gathered.note(CaveatKind.PARTS_SKIPPED, f"the damaged or missing part “{kind}”")
        return None

    def _child_blocks(self, parent: etree._Element) -> Iterator[str]:
        for child in parent:
            if child.tag == f"{W}p":
                yield from self._paragraph_blocks(child)
            elif child.tag == f"{W}tbl":
                yield from self._table_blocks(child)
            elif child.tag == f"{W}altChunk":
                yield from self._import_blocks(child)
            elif child.tag in _WRAPPERS:
                yield from self._child_blocks(child)
            elif child.tag == f"{W}subDoc":
                self._gathered.note(CaveatKind.PARTS_SKIPPED, "a part of the document that is another file")

    def _paragraph_blocks(self, paragraph: etree._Element) -> Iterator[str]:
        text = self._inline.text(paragraph).strip()
        if text:
            yield self._mark_text(paragraph, text)
        for box in _text_boxes(paragraph):
            yield from self._child_blocks(box)

    def _mark_text(self, paragraph: etree._Element, text: str) -> str:
        """`#` for headings by their outline level, `-` or a number for list items, the number in a heading too."""
        properties = paragraph.find(f"{W}pPr")
        style = properties.find(f"{W}pStyle") if properties is not None else None
        name = style.get(f"{W}val") if style is not None else None
        mark = self._lists.mark(properties, name)
        if level := self._styles.heading_level(name):
            return "#" * level + " " + ("" if mark.strip() == "-" else mark.lstrip()) + " ".join(text.split())
        return ListItem(mark + text) if mark else text

    def _table_blocks(self, table: etree._Element) -> Iterator[str]:
        """Cells that are merged downwards repeat in the rows below; a frame around a text is no table."""
        grid = CellGrid("")
        rows = [row for row in _direct_children(table, f"{W}tr") if row.find(f"{W}trPr/{W}del") is None]
        open_merges: dict[int, int] = {}
        for number, row in enumerate(rows):
            column = _whole_value(row.find(f"{W}trPr/{W}gridBefore"), 0)
            for cell in _direct_children(row, f"{W}tc"):
                width = max(1, _whole_value(cell.find(f"{W}tcPr/{W}gridSpan"), 1))
                if _continues_merge(cell) and column in open_merges:
                    top, left, _, right = grid.merged[open_merges[column]]
                    grid.merged[open_merges[column]] = (top, left, number, right)
                else:
                    grid.put(number, column, " ".join(self._cell_blocks(cell)))
                    grid.merged.append((number, column, number, column + width - 1))
                    open_merges[column] = len(grid.merged) - 1
                column += width
        grid.merged = [one for one in grid.merged if one[0] < one[2] or one[1] < one[3]]
        if len(rows) == 1 and sum(map(len, grid.rows.values())) == 1:
            yield from (text for row in grid.rows.values() for text in row.values())
        else:
            yield from grid_blocks(grid)

    def _cell_blocks(self, cell: etree._Element) -> Iterator[str]:
        """A table within a cell is told row by row."""
        for block in self._child_blocks(cell):
            if block.startswith("| ") and "\n| --- |" in block:
                lines = block.split("\n")
                yield "; ".join(
                    ", ".join(filter(None, map(str.strip, line.strip("| ").split(" | "))))
                    for line in [lines[0], *lines[2:]]
                )
            else:
                yield block

    def _import_blocks(self, chunk: etree._Element) -> Iterator[str]:
        """An imported part stands in the text like the paragraphs around it."""
        ids = [str(value) for name, value in chunk.attrib.items() if str(name).endswith("}id")]
        relation = self._package.relations(self._part).get(ids[0]) if ids else None
        if relation is None or relation.external or not self._package.holds(relation.target):
            self._gathered.note(CaveatKind.PARTS_SKIPPED, "an imported part that is not in the file")
            return
        data = self._package.blob(relation.target)
        try:
            if (bare := data.lstrip(BEFORE_MARKUP)).startswith(b"{\\rtf"):
                yield from rtf_blocks(bare, self._gathered, self._embedding)
            elif not data.startswith(b"PK"):
                blocks, doubts = imported_blocks(data, self._gathered.context)
                for doubt in doubts:
                    self._gathered.note(doubt.kind, doubt.detail)
                yield from blocks
            elif self._nesting.depth < DEEPEST:
                inner = io.BytesIO(data)
                check_package(inner, self._gathered.context.read.max_unpacked_bytes)
                with zipfile.ZipFile(to_transitional(inner)) as archive:
                    package, nesting = OoxmlPackage(archive), self._nesting.inner()
                    yield from _Reader(package, self._gathered, self._embedding, nesting).blocks()
            else:
                self._gathered.note(CaveatKind.PARTS_SKIPPED, "imported parts that are nested too deep")
        except (*DAMAGED, *IMPORT_DAMAGED, Unreadable) as error:
            self._gathered.note(
                CaveatKind.PARTS_SKIPPED, f"an imported part that cannot be read ({type(error).__name__})"
            )

    def _note_lines(self, name: str, tag: str) -> Iterator[str]:
        root = self._side_part(name)
        if root is None:
            return
        self._objects.within(next(one.target for one in self._relations.values() if one.kind == name))
        found = []
        for note in root.iterfind(f"{W}{tag}"):
            if text := " ".join(self._child_blocks(note)).strip():
                key = note.get(f"{W}id", "")
                found.append((key if tag == "comment" else self._inline.number(tag, key), text))
        for number, text in found if tag == "comment" else sorted(found, key=lambda one: int(one[0])):
            yield f"[{tag} {number}] {text}"

    def _edge_blocks(self, kind: str) -> Iterator[str]:
        """Each different header or footer once."""
        seen = set()
        for relation in self._relations.values():
            if relation.kind != kind or relation.external:
                continue
            try:
                root = self._package.xml(relation.target)
            except DAMAGED:
                self._gathered.note(CaveatKind.PARTS_SKIPPED, f"a damaged or missing {kind}")
                continue
            self._objects.within(relation.target)
            self._bound.fill_controls(root)
            text = "\n".join(self._child_blocks(root))
            if text.strip() and text not in seen:
                seen.add(text)
                yield text


def _text_boxes(node: etree._Element) -> Iterator[etree._Element]:
    """Text boxes below a node, outermost first, without the copies kept for old versions of Word."""
    for child in node:
        if child.tag == f"{W}txbxContent":
            yield child
        elif child.tag != FALLBACK:
            yield from _text_boxes(child)


def _direct_children(parent: etree._Element, tag: str) -> Iterator[etree._Element]:
    """Children with a tag, content controls and what was inserted looked through."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _direct_children(child, tag)


def _continues_merge(cell: etree._Element) -> bool:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    return merge is not None and merge.get(f"{W}val", "continue") == "continue"


def _whole_value(element: etree._Element | None, default: int) -> int:
    """A small number that an element names."""
    value = element.get(f"{W}val", "") if element is not None else ""
    return min(int(value), 100) if value.isdecimal() and len(value) < 9 else default
