"""PPTX: one page a slide, with tables, chart data, diagrams, pictures, comments and the speaker's notes."""

import zipfile
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.office.embedded import EmbeddedDocuments, NestingBudget, open_package
from pipelines.documents.extract.office.embedded_objects import DrawingObjects
from pipelines.documents.extract.office.ooxml import OoxmlPackage, PartRelation
from pipelines.documents.extract.office.slide_text import (
    A,
    comment_lines,
    frame_lines,
    level_of,
    paragraph_text,
    table_blocks,
)
from pipelines.documents.extract.office.zip_package import DAMAGED, Source
from pipelines.documents.extract.opened import DocumentPart, ExtractionContext, OpenedDocument
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ALTERNATIVE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_TITLES = ("title", "ctrTitle")
LONGEST_TITLE = 120  # characters of a title that is only written like one
_SHAPES = frozenset(("sp", "grpSp", "graphicFrame", "pic", "cxnSp", "contentPart"))
_OFF = ("0", "false")


def open_pptx(source: Source, context: ExtractionContext, nesting: NestingBudget | None = None) -> OpenedDocument:
    """A presentation; embedded documents follow behind its slides."""
    return open_package(source, context, nesting, _slide_parts, nothing="the presentation has no slides")


def _slide_parts(
    archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments
) -> Iterator[DocumentPart]:
    return _Deck(OoxmlPackage(archive), gathered, embedding).slides()


class _Deck:
    """Walks the slides' XML: libraries pass over what is newer than they are, and stumble over unknown charts."""

    def __init__(self, package: OoxmlPackage, gathered: PictureCollector, embedding: EmbeddedDocuments) -> None:
        self._package, self._gathered = package, gathered
        self._objects = DrawingObjects(package, gathered, embedding)

    def slides(self) -> Iterator[DocumentPart]:
        """A part a slide, in the order of the presentation; a damaged slide is one without text that says so."""
        start = next((one.target for one in self._package.relations("").values() if one.kind == "officeDocument"), None)
        main = start or "ppt/presentation.xml"
        relations = self._package.relations(main)
        for at, item in enumerate(self._package.xml(main).iterfind(f"{_P}sldIdLst/{_P}sldId")):
            ids = [str(value) for name, value in item.attrib.items() if "relationships}" in str(name)]
            relation = relations.get(ids[0]) if ids else None
            try:
                if relation is None:
                    raise KeyError("no such slide")
                blocks = list(self._slide_blocks(relation.target, inner=at > 0))
            except DAMAGED as error:
                blocks = []
                self._gathered.note(CaveatKind.PARTS_SKIPPED, f"the slide is damaged ({type(error).__name__})")
            yield DocumentPart("\n\n".join(blocks), self._gathered.take_caveats())

    def _slide_blocks(self, part: str, *, inner: bool) -> Iterator[str]:
        root = self._package.xml(part)
        if root.get("show") in _OFF:
            self._gathered.note(CaveatKind.HIDDEN_CONTENT, "a hidden slide, read here")
        self._objects.within(part)
        yield from self._tree_blocks(root, "##" if inner else "#")
        yield from self._objects.unmet(part)
        for relation in self._package.relations(part).values():
            if relation.kind in ("video", "audio", "media"):
                self._gathered.note(CaveatKind.PARTS_SKIPPED, "a video or a sound")
                break
        yield from self._notes_and_comments(part)

    def _tree_blocks(self, root: etree._Element, marks: str) -> Iterator[str]:
        """The first slide's title is the deck's: those of the slides after it stand below it."""
        background, tree = root.find(f"{_P}cSld/{_P}bg"), root.find(f"{_P}cSld/{_P}spTree")
        if tree is None:
            return
        shapes = list(_tree_shapes(tree))
        untitled = not any(_is_title(shape) and _shape_lines(shape) for shape in shapes)
        begun = False
        for shape in shapes:
            found = list(self._shape_blocks(shape, marks))
            leads = untitled and not begun and bool(found) and _leads_in_bold(shape)
            if leads and (len(shapes) > 1 or "\n" in found[0]):
                line, _, rest = found[0].partition("\n")
                found[:1] = [f"{marks} {line}", rest] if rest else [f"{marks} {line}"]
            begun = begun or bool(found)
            yield from found
        if background is not None:
            yield from self._objects.pictures(background)

    def _shape_blocks(self, shape: etree._Element, marks: str) -> Iterator[str]:
        name = shape.tag.rpartition("}")[2]
        if name == "grpSp":
            for child in _tree_shapes(shape):
                yield from self._shape_blocks(child, marks)
        elif name == "sp":
            lines = _shape_lines(shape)
            if lines:
                yield f"{marks} {' '.join(' '.join(lines).split())}" if _is_title(shape) else "\n".join(lines)
            yield from self._objects.pictures(shape)
        elif name in ("graphicFrame", "pic", "contentPart"):
            for table in shape.iterfind(f".//{A}tbl"):
                yield from table_blocks(table)
            if text := self._objects.text(shape).strip("\n"):
                yield text

    def _notes_and_comments(self, part: str) -> Iterator[str]:
        """The speaker's notes and the reviewers' comments."""
        for relation in self._package.relations(part).values():
            if relation.kind not in ("notesSlide", "comments"):
                continue
            try:
                yield from self._remark_blocks(relation)
            except DAMAGED:
                self._gathered.note(CaveatKind.PARTS_SKIPPED, f"damaged or missing {relation.kind}")

    def _remark_blocks(self, relation: PartRelation) -> Iterator[str]:
        root = self._package.xml(relation.target)
        if relation.kind == "comments":
            if lines := list(comment_lines(root)):
                yield "\n".join(lines)
            return
        for shape in root.iterfind(f".//{_P}sp"):
            if _placeholder_type(shape) == "body" and (lines := _shape_lines(shape)):
                yield "Notes: " + "\n".join(lines)


def _tree_shapes(tree: etree._Element) -> Iterator[etree._Element]:
    """Shapes of a tree; of alternatives the first, which is the one for programs that know it."""
    for child in tree:
        if child.tag == _ALTERNATIVE:
            choice = next((one for one in child if isinstance(one.tag, str)), None)
            yield from _tree_shapes(choice) if choice is not None else ()
        elif isinstance(child.tag, str) and child.tag.removeprefix(_P) in _SHAPES:
            yield child


def _placeholder_type(shape: etree._Element) -> str | None:
    """The type of the placeholder that a shape fills; None where it fills none."""
    found = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return str(found.get("type", "obj")) if found is not None else None


def _is_title(shape: etree._Element) -> bool:
    return _placeholder_type(shape) in _TITLES


def _shape_lines(shape: etree._Element) -> list[str]:
    body = shape.find(f"{_P}txBody")
    return list(frame_lines(body)) if body is not None else []


def _leads_in_bold(shape: etree._Element) -> bool:
    """True if a shape's text begins with a short paragraph, all of it bold, that ends like a title."""
    paragraphs = shape.iterfind(f"{_P}txBody/{A}p")
    first = next((one for one in paragraphs if paragraph_text(one)), None)
    if first is None or level_of(first):
        return False
    text = paragraph_text(first)
    runs = [run for run in first.iterfind(f"{A}r") if (run.findtext(f"{A}t") or "").strip()]
    bold = all((found := run.find(f"{A}rPr")) is not None and found.get("b") in ("1", "true") for run in runs)
    return bold and bool(runs) and len(text) <= LONGEST_TITLE and text[-1] not in ".,;" and "\n" not in text
