"""Drawings and objects of DOCX and PPTX: alternative texts, pictures, charts, diagrams, embedded documents."""

import re
from collections.abc import Iterator, Mapping

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.office.chart_data import chart_blocks, label_lines
from pipelines.documents.extract.office.embedded import EmbeddedDocuments
from pipelines.documents.extract.office.ooxml import OoxmlPackage, PartRelation, named_relations
from pipelines.documents.extract.office.zip_package import DAMAGED
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector

_FILE_NAME = re.compile(r"\S+\.(png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp)", re.IGNORECASE)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_REFERRING = (
    *("{*}blip", "{*}imagedata", "{*}chart", "{*}relIds"),
    *("{*}OLEObject", "{*}oleObj", "{*}objectEmbed", "{*}objectLink", "{*}control", "{*}contentPart"),
)
_DRAWN = {"chart": "chart", "chartEx": "chart", "diagramData": "diagram"}
_OBJECTS = ("oleObject", "package", "control")


class DrawingObjects:
    """Looks up what the drawings of the current part refer to."""

    def __init__(self, package: OoxmlPackage, gathered: PictureCollector, embedding: EmbeddedDocuments) -> None:
        self.gathered = gathered
        self._package, self._embedding = package, embedding
        self._relations: Mapping[str, PartRelation] = {}
        self._met: set[str] = set()

    def within(self, part: str) -> None:
        """Ids are those of this part from now on."""
        self._relations = self._package.relations(part)

    def text(self, drawing: etree._Element) -> str:
        """Alternative texts, and the text of charts and diagrams, with the places of pictures, each on a line."""
        pieces = list(dict.fromkeys(_alternative_texts(drawing)))
        related = list(self._related_parts(drawing))
        # The picture of an object that is read shows the same once more.
        read = [self._add_object(one) for one in related if one.kind in _OBJECTS]
        for one in related:
            if one.kind == "image" and any(read):
                continue
            pieces += self._relation_blocks(one)
        for body in drawing.iter("{*}txBody"):
            if not body.getparent().tag.endswith("}tc"):
                pieces += filter(None, map(_paragraph_text, body.iterfind("{*}p")))
        return "\n" + "\n".join(pieces) + "\n" if pieces else ""

    def pictures(self, node: etree._Element) -> list[str]:
        """The places of the pictures that fill a shape or lie behind it."""
        return [
            block for one in self._related_parts(node) if one.kind == "image" for block in self._relation_blocks(one)
        ]

    def unmet(self, part: str) -> Iterator[str]:
        """Related parts that no drawing named: charts and diagrams as text, embedded documents as pages."""
        for relation in self._package.relations(part).values():
            if relation.target in self._met:
                continue
            if relation.kind in _OBJECTS:
                self._add_object(relation)
            elif relation.kind in _DRAWN:
                yield from self._relation_blocks(relation)

    def _add_object(self, relation: PartRelation) -> bool:
        known = relation.target in self._met
        self._met.add(relation.target)
        if relation.external or relation.kind == "control" or not self._package.holds(relation.target):
            what = (
                "a form control (ActiveX)" if relation.kind == "control" else "a linked object that is not in the file"
            )
            self.gathered.note(CaveatKind.PARTS_SKIPPED, what)
            return False
        return known or self._embedding.add(self._package.blob(relation.target), relation.target)

    def _relation_blocks(self, relation: PartRelation) -> list[str]:
        self._met.add(relation.target)
        if relation.external or not self._package.holds(relation.target):
            if relation.kind == "image":
                self.gathered.note(CaveatKind.PICTURES_UNREAD, "linked pictures that are not in the file")
            elif relation.kind in _DRAWN:
                self.gathered.note(CaveatKind.PARTS_SKIPPED, f"a {_DRAWN[relation.kind]} that is not in the file")
            return []
        data = self._package.blob(relation.target)
        try:
            if relation.kind == "image":
                return [mark] if (mark := self.gathered.picture(data)) else []
            if relation.kind in ("chart", "chartEx"):
                blocks = chart_blocks(data, self.gathered) + label_lines(self._package, relation.target)
                return self._note_if_empty(blocks, "a chart")
            if relation.kind == "customXml":
                self.gathered.note(CaveatKind.PICTURES_UNREAD, "handwriting: what it says is not in the text")
            if relation.kind == "diagramData":
                return self._note_if_empty(list(diagram_lines(self._package.xml(relation.target))), "a diagram")
        except DAMAGED:
            self.gathered.note(CaveatKind.PARTS_SKIPPED, f"a damaged {relation.kind}")
        return []

    def _note_if_empty(self, blocks: list[str], what: str) -> list[str]:
        if not blocks:
            self.gathered.note(CaveatKind.PARTS_SKIPPED, f"{what} of which neither text nor numbers are stored")
        return blocks

    def _related_parts(self, drawing: etree._Element) -> Iterator[PartRelation]:
        """The parts that a drawing names by their ids, each once, without the copies for old programs."""
        seen = set()
        for node in drawing.iter(*_REFERRING):
            if any(parent.tag == _FALLBACK for parent in node.iterancestors()):
                continue
            for relation in named_relations(node, self._relations):
                if relation not in seen and relation.kind != "hyperlink":
                    seen.add(relation)
                    yield relation


def diagram_lines(root: etree._Element) -> Iterator[str]:
    """The texts of a diagram's points in the order in which they are kept."""
    for point in root.iterfind("{*}ptLst/{*}pt"):
        lines = (
            "".join(run.text or "" for run in one.iter("{*}t") if not len(run)) for one in point.iterfind("{*}t/{*}p")
        )
        if text := " ".join(line.strip() for line in lines if line.strip()):
            yield text


def _paragraph_text(paragraph: etree._Element) -> str:
    return "".join(run.text or "" for run in paragraph.iter("{*}t")).strip()


def _alternative_texts(drawing: etree._Element) -> Iterator[str]:
    """Alternative texts that people write, and the letters of word art."""
    for node in drawing.iter("{*}docPr", "{*}cNvPr", "{*}shape", "{*}textpath"):
        if node.tag.endswith("}textpath"):
            text = node.get("string") or ""
        else:
            text = node.get("descr") or (node.get("alt") or "" if node.tag.endswith("}shape") else "")
        if (text := " ".join(text.split())) and not _FILE_NAME.fullmatch(text):
            yield text if node.tag.endswith("}textpath") else f"[alt text] {text}"
