"""ODT: headings, paragraphs, lists, tables, notes and comments of an OpenDocument text as Markdown."""

import zipfile
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.odf.lists import OdfLists
from pipelines.documents.extract.odf.namespaces import DRAW, OFFICE, TABLE, TEXT
from pipelines.documents.extract.odf.paragraphs import OdfText, check_encryption
from pipelines.documents.extract.odf.table import table_blocks
from pipelines.documents.extract.office.embedded import EmbeddedDocuments, NestingBudget, open_package
from pipelines.documents.extract.office.zip_package import Source, parse_part
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector, split_blocks
from pipelines.documents.extract.text.web_page import fit_tables

_UNSEEN = (f"{TEXT}tracked-changes", f"{TEXT}sequence-decls", f"{OFFICE}forms", f"{OFFICE}annotation-end")


def open_odt(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """The text in parts; notes and comments stand behind it."""
    return open_package(source, context, nesting, _text_parts)


def _text_parts(archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments) -> list[str]:
    check_encryption(archive)
    limit = gathered.context.read.part_chars
    return split_blocks(fit_tables(list(_Reader(archive, gathered, embedding).blocks()), limit), limit)


class _Reader:
    """Walks the body; keeps the notes for its end."""

    def __init__(self, archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments) -> None:
        self._text = OdfText(archive, gathered, embedding)
        self._content = parse_part(archive, "content.xml")
        self._text.add_styles(self._content)
        self._text.add_controls(self._content)
        styles = parse_part(archive, "styles.xml") if "styles.xml" in archive.NameToInfo else None
        self._lists = OdfLists([root for root in (styles, self._content) if root is not None])
        self._edges = list(styles.iter("{*}header", "{*}footer")) if styles is not None else []

    def blocks(self) -> Iterator[str]:
        """Headers, the body, notes, comments, footers."""
        yield from self._page_edges("header")
        body = self._content.find(f"{OFFICE}body")
        if body is not None:
            yield from self._child_blocks(body)
        yield from self._text.notes
        yield from (f"[comment] {text}" for text in self._text.comments if text)
        yield from self._page_edges("footer")

    def _page_edges(self, kind: str) -> Iterator[str]:
        texts = ("\n".join(self._child_blocks(node)) for node in self._edges if node.tag.endswith(f"}}{kind}"))
        yield from dict.fromkeys(text for text in texts if any(map(str.isalpha, text)))

    def _child_blocks(self, parent: etree._Element) -> Iterator[str]:
        for child in parent:
            if child.tag == f"{TEXT}h":
                level, mark = self._lists.heading(child)
                if text := " ".join(self._text.inline(child).split()):
                    yield f"{'#' * level} {mark}{text}"
            elif child.tag == f"{TEXT}p":
                if text := self._text.inline(child).strip():
                    yield text
            elif child.tag == f"{TEXT}list":
                yield from self._list_blocks(child)
            elif child.tag == f"{TABLE}table":
                yield from table_blocks(child, self._text, self._cell_text)
            elif child.tag == f"{DRAW}frame":
                yield from self._text.frame_blocks(child)
            elif isinstance(child.tag, str) and child.tag.startswith(DRAW):
                yield from self._text.shape_lines(child)
            elif child.tag == f"{OFFICE}annotation":
                continue
            elif child.tag not in _UNSEEN and isinstance(child.tag, str):
                blocks = list(self._child_blocks(child))
                if not blocks and child.find(f"{TEXT}section-source") is not None:
                    self._text.gathered.note(CaveatKind.PARTS_SKIPPED, "a part of the document that is another file")
                yield from blocks

    def _list_blocks(self, items: etree._Element) -> Iterator[str]:
        """A list as one block, broken only by headings in it, as numbered chapters are written."""
        lines: list[str] = []
        for block in self._item_lines(items, 1, items.get(f"{TEXT}style-name")):
            if block.startswith("#"):
                if lines:
                    yield "\n".join(lines)
                    lines = []
                yield block
            else:
                lines.append(block)
        if lines:
            yield "\n".join(lines)

    def _item_lines(self, items: etree._Element, level: int, style: str | None) -> Iterator[str]:
        self._lists.begin(items, level, style)
        for item in items:
            mark = self._lists.mark(item, level, style) if item.tag == f"{TEXT}list-item" else "  " * (level - 1)
            for child in item:
                if child.tag == f"{TEXT}list":
                    yield from self._item_lines(child, level + 1, child.get(f"{TEXT}style-name") or style)
                elif child.tag == f"{TEXT}h":
                    yield from self._blocks_of(child)
                elif child.tag == f"{TEXT}p" and (text := self._text.inline(child).strip()):
                    yield f"{mark}{text}"
                    mark = "  " * level

    def _blocks_of(self, heading: etree._Element) -> Iterator[str]:
        level, mark = self._lists.heading(heading)
        if text := " ".join(self._text.inline(heading).split()):
            yield f"{'#' * level} {mark}{text}"

    def _cell_text(self, cell: etree._Element) -> str:
        return " ".join(" ".join(block.split()) for block in self._child_blocks(cell))
