"""Paragraphs of OpenDocument files: raised and lowered text apart, notes and comments out of the sentence, pictures."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.odf.form_controls import control_texts, field_mark_text
from pipelines.documents.extract.odf.namespaces import DRAW, OFFICE, STYLE, SVG, TEXT, XLINK, parse_count
from pipelines.documents.extract.office.embedded import EmbeddedDocuments
from pipelines.documents.extract.office.zip_package import DAMAGED, parse_part
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.word.inline import Piece, join_pieces

_UNSEEN = frozenset(
    (
        *(f"{TEXT}{name}" for name in ("tracked-changes", "sequence-decls", "ruby-text", "note-citation", "number")),
        *(f"{OFFICE}{name}" for name in ("annotation-end", "forms", "scripts")),
    )
)
_MOST_SPACES = 100  # a file may say a billion
_DEEPEST_STYLE = 12
GROUPS = (f"{DRAW}g", f"{DRAW}a")  # shapes that only hold others
_DOCUMENTS = ("text", "spreadsheet", "presentation")
_FOREIGN = {
    f"{DRAW}plugin": "a video or a sound",
    f"{DRAW}floating-frame": "a part of the document that is another file",
    f"{DRAW}applet": "a program within the document",
}
_SERIES_CELLS = "//@*[local-name() = 'values-cell-range-address']"
_STARMATH = "{*}annotation"


class OdfText:
    """Reads the text of elements; keeps notes and comments for the end, and knows where the package's parts are."""

    def __init__(self, archive: zipfile.ZipFile, gathered: PictureCollector, embedding: EmbeddedDocuments) -> None:
        """Read the common styles; those of the content are added with `add_styles`."""
        self.archive, self.gathered, self.embedding = archive, gathered, embedding
        self._styles: dict[str, etree._Element] = {}
        self._controls: dict[str, str] = {}
        self.notes: list[str] = []
        self.comments: list[str] = []
        if "styles.xml" in archive.namelist():
            try:
                self.add_styles(parse_part(archive, "styles.xml"))
            except DAMAGED:
                gathered.note(CaveatKind.PARTS_SKIPPED, "the damaged part “styles”")

    def add_styles(self, root: etree._Element) -> None:
        """Remember the styles below an element."""
        for item in root.iter(f"{STYLE}style"):
            self._styles[item.get(f"{STYLE}name", "")] = item

    def add_controls(self, root: etree._Element) -> None:
        """Remember what the form controls below an element show."""
        for forms in root.iter(f"{OFFICE}forms"):
            self._controls.update(control_texts(forms))

    def style_property(self, name: str | None, group: str, key: str) -> str | None:
        """A property of a style, or of what it inherits from."""
        for _ in range(_DEEPEST_STYLE):
            style = self._styles.get(name) if name else None
            if style is None:
                return None
            for properties in style.iterfind(f"{STYLE}{group}"):
                if (value := properties.get(key)) is not None:
                    return str(value)
            name = style.get(f"{STYLE}parent-style-name")
        return None

    def inline(self, node: etree._Element) -> str:
        """The text of a paragraph or a heading."""
        return join_pieces(self._text_pieces(node, ""))

    def _text_pieces(self, node: etree._Element, shift: str) -> Iterator[Piece]:
        yield shift, _collapse_spaces(node.text)
        for child in node:
            if isinstance(child.tag, str) and child.tag not in _UNSEEN:
                yield from self._child_pieces(child, shift)
            yield shift, _collapse_spaces(child.tail)

    def _child_pieces(self, child: etree._Element, shift: str) -> Iterator[Piece]:
        tag = child.tag
        if tag == f"{TEXT}s":
            yield "", " " * min(parse_count(child.get(f"{TEXT}c"), 1), _MOST_SPACES)
        elif tag == f"{TEXT}tab":
            yield "", "\t"
        elif tag == f"{TEXT}line-break":
            yield "", "\n"
        elif tag == f"{TEXT}note":
            yield "", self._note_mark(child)
        elif tag == f"{OFFICE}annotation":
            self.comments.append(annotation_text(child))
        elif tag == f"{TEXT}span":
            yield from self._text_pieces(child, self._text_shift(child.get(f"{TEXT}style-name")) or shift)
        elif tag == f"{DRAW}frame":
            if blocks := self.frame_blocks(child):
                yield "", "\n" + "\n".join(blocks) + "\n"
        elif tag.endswith("}fieldmark"):
            yield "", field_mark_text(child)
        elif tag.startswith(DRAW) and tag != f"{DRAW}a":
            yield "", "\n".join(["", *self.shape_lines(child), ""])
        else:
            yield from self._text_pieces(child, shift)

    def _text_shift(self, style: str | None) -> str:
        """`super 58%`, `sub 58%`, or by how many per cent of the font's height the text is moved."""
        position = (self.style_property(style, "text-properties", f"{STYLE}text-position") or "").split()
        if not position:
            return ""
        if position[0] in ("super", "sub"):
            return "raised" if position[0] == "super" else "lowered"
        moved = re.fullmatch(r"(-?)(\d+(?:\.\d+)?)%", position[0])
        return "" if moved is None or float(moved[2]) == 0 else "lowered" if moved[1] else "raised"

    def _note_mark(self, note: etree._Element) -> str:
        kind = note.get(f"{TEXT}note-class", "footnote")
        citation = (note.findtext(f"{TEXT}note-citation") or str(len(self.notes) + 1)).strip()
        body = note.find(f"{TEXT}note-body")
        text = " ".join(" ".join(self.inline(one).split()) for one in iter_paragraphs(body)) if body is not None else ""
        self.notes.append(f"[{kind} {citation}] {text}".rstrip())
        return f"[{kind} {citation}]"

    def frame_blocks(self, frame: etree._Element, *, chart_data: bool = True) -> list[str]:
        """Alternative text, the places of pictures, the text of boxes, charts and formulas in a frame."""
        described = [
            text for name in ("title", "desc") if (text := " ".join((frame.findtext(f"{SVG}{name}") or "").split()))
        ]
        blocks = [f"[alt text] {text}" for text in dict.fromkeys(described)]
        objects = [child for child in frame if child.tag in (f"{DRAW}object", f"{DRAW}object-ole")]
        for child in objects:
            blocks += self._object_blocks(child, chart_data=chart_data)
        for child in frame:
            if child.tag == f"{DRAW}text-box":
                blocks += self.shape_lines(child)
            elif child.tag in _FOREIGN:
                self.gathered.note(CaveatKind.PARTS_SKIPPED, _FOREIGN[child.tag])
            elif child.tag == f"{DRAW}image" and not objects and (mark := self._image_mark(child)):
                blocks.append(mark)
                break  # what follows is the same picture in another format
        return blocks

    def shape_lines(self, shape: etree._Element, *, chart_data: bool = True) -> list[str]:
        """The paragraphs in a shape or a box, what a control shows, and all that stands in a group."""
        if shape.tag == f"{DRAW}control":
            shown = self._controls.get(shape.get(f"{DRAW}control", ""))
            if shown is None:
                self.gathered.note(CaveatKind.PARTS_SKIPPED, "a form control and its state")
            return [shown] if shown else []
        if shape.tag == f"{DRAW}frame":
            return self.frame_blocks(shape, chart_data=chart_data)
        if shape.tag in GROUPS:
            parts = (child for child in shape if isinstance(child.tag, str))
            return [line for child in parts for line in self.shape_lines(child, chart_data=chart_data)]
        return [text for one in iter_paragraphs(shape) if (text := self.inline(one).strip())]

    def _image_mark(self, image: etree._Element) -> str:
        href = image.get(f"{XLINK}href", "").removeprefix("./")
        data = self._part_bytes(href)
        if data is None:
            self.gathered.note(CaveatKind.PICTURES_UNREAD, "linked pictures that are not in the file")
            return ""
        return self.gathered.picture(data)

    def _object_blocks(self, node: etree._Element, *, chart_data: bool) -> list[str]:
        """A formula as it was typed, a chart's titles and numbers; other documents become further pages."""
        href = node.get(f"{XLINK}href", "").removeprefix("./").rstrip("/")
        try:
            if (root := self._object_root(node, href)) is not None:
                body = root.find(f"{OFFICE}body")
                kind = body[0].tag.removeprefix(OFFICE) if body is not None and len(body) else ""
                if href and kind in _DOCUMENTS:
                    self.embedding.add(self._object_package(href, kind), href)
                    return []
                own = chart_data or any("local-table" in str(one) for one in root.xpath(_SERIES_CELLS))
                found = [] if kind not in ("", "chart") else _formula_lines(root) or list(self._chart_blocks(root, own))
                if not found and (own or kind != "chart"):
                    self.gathered.note(CaveatKind.PARTS_SKIPPED, f"the embedded object “{href}”")
                return found
        except DAMAGED:
            self.gathered.note(CaveatKind.PARTS_SKIPPED, f"the damaged object “{href}”")
            return []
        if (data := self._part_bytes(href)) is not None:
            self.embedding.add(data, href)
        else:
            self.gathered.note(CaveatKind.PARTS_SKIPPED, "a linked object that is not in the file")
        return []

    def _object_package(self, href: str, kind: str) -> bytes:
        """A document that lies unpacked in this one, as a package of its own."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as copy:
            copy.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
            for name in self.archive.namelist():
                if name.startswith(f"{href}/") and not name.endswith("/"):
                    copy.writestr(name.removeprefix(f"{href}/"), self.archive.read(name))
        return packed.getvalue()

    def _object_root(self, node: etree._Element, href: str) -> etree._Element | None:
        """The content of an object, in the file or within the element itself."""
        if not href:
            return next((one for one in node if isinstance(one.tag, str)), None)
        content = self._part_bytes(posixpath.join(href, "content.xml"))
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        return etree.fromstring(content, parser) if content is not None else None

    def _chart_blocks(self, root: etree._Element, data: bool) -> Iterator[str]:
        from pipelines.documents.extract.odf.table import table_blocks

        for title in root.iter("{*}title", "{*}subtitle"):
            if text := " ".join(self.shape_lines(title)):
                yield f"Chart: {text}" if title.getparent().tag.endswith("}chart") else f"Axis: {text}"
        for table in root.iter("{*}table") if data else ():
            yield from table_blocks(table, self)

    def _part_bytes(self, name: str) -> bytes | None:
        return self.archive.read(name) if name in self.archive.NameToInfo else None


def check_encryption(archive: zipfile.ZipFile) -> None:
    """Raises Unreadable (ENCRYPTED) for a package whose parts are locked with a password."""
    name = "META-INF/manifest.xml"
    if name in archive.NameToInfo and b"encryption-data" in archive.read(name):
        raise Unreadable(FailureReason.ENCRYPTED, "the document is locked with a password")


def iter_paragraphs(node: etree._Element) -> Iterator[etree._Element]:
    """Paragraphs and headings below a node, without those within them."""
    for child in node:
        if child.tag in (f"{TEXT}p", f"{TEXT}h"):
            yield child
        elif isinstance(child.tag, str) and child.tag not in _UNSEEN and child.tag != f"{OFFICE}annotation":
            yield from iter_paragraphs(child)


def annotation_text(node: etree._Element) -> str:
    """The text of a comment, without its author and date."""
    return " ".join(" ".join("".join(one.itertext()).split()) for one in iter_paragraphs(node)).strip()


def _formula_lines(root: etree._Element) -> list[str]:
    """The formula in the language of its editor, which is linear."""
    if not root.tag.endswith("}math"):
        return []
    typed = next(root.iter(_STARMATH), None)
    text = (typed.text or "") if typed is not None else " ".join("".join(one.itertext()) for one in root)
    return [" ".join(text.split())] if text.strip() else []


def _collapse_spaces(text: str | None) -> str:
    """White space in the XML is one space: more of it is written as elements."""
    return re.sub(r"[ \t\r\n]+", " ", text) if text else ""
