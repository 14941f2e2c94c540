"""Objects over the cells of an XLSX sheet: comments and their threads, text boxes, charts, pictures, form controls."""

from collections.abc import Iterator, Mapping

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.office.chart_data import chart_blocks, has_own_data, label_lines
from pipelines.documents.extract.office.embedded import EmbeddedDocuments
from pipelines.documents.extract.office.ooxml import OoxmlPackage, PartRelation, named_relations
from pipelines.documents.extract.office.zip_package import DAMAGED
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.sheets.form_controls import control_lines
from pipelines.documents.extract.sheets.grid import CellGrid
from pipelines.documents.extract.sheets.xlsx import rich_text

_READ = ("comments", "threadedComment", "drawing", "chart", "oleObject", "package", "control")
# Excel writes its older drawings with HTML in them, not always closed.
_LENIENT = {"resolve_entities": False, "no_network": True, "load_dtd": False, "recover": True}


def read_extras(
    package: OoxmlPackage, part: str, grid: CellGrid, gathered: PictureCollector, embedding: EmbeddedDocuments
) -> None:
    """Add to the grid what its part refers to. One that is damaged is named and does not cost the cells."""
    relations = package.relations(part)
    threads = dict(_comment_threads(package, relations))
    controls: list[tuple[str, str]] = []
    for relation in relations.values():
        if relation.external or not package.holds(relation.target):
            if relation.kind in _READ:
                missing = f"{relation.kind} of sheet “{grid.name}” that is not in the file"
                gathered.note(CaveatKind.PARTS_SKIPPED, missing)
            continue
        try:
            if relation.kind == "comments":
                grid.comments += _comment_lines(package.xml(relation.target), threads)
            elif relation.kind in ("drawing", "chart"):
                grid.notes += _drawing_notes(package, relation.target, grid.name, gathered)
            elif relation.kind in ("oleObject", "package"):
                embedding.add(package.blob(relation.target), relation.target, f"in sheet “{grid.name}”")
            elif relation.kind == "vmlDrawing":
                drawing = package.blob(relation.target).replace(b"<br>", b"<br/>")
                root = etree.fromstring(drawing, etree.XMLParser(**_LENIENT))
                controls += control_lines(root, grid, gathered)
                grid.notes += _edge_pictures(package, relation.target, root, grid.name, gathered)
            elif relation.kind == "control":
                gathered.note(CaveatKind.PARTS_SKIPPED, f"a form control (ActiveX) in sheet “{grid.name}”")
        except DAMAGED:
            gathered.note(CaveatKind.PARTS_SKIPPED, f"damaged {relation.kind} of sheet “{grid.name}”")
    grid.comments += [line for lines in threads.values() for line in lines]
    for label, shown in controls:
        if label in grid.notes:  # the newer drawing has the label alone
            grid.notes[grid.notes.index(label)] = shown
        else:
            grid.notes.append(shown)
    if not controls and any(one.kind == "ctrlProp" for one in relations.values()):
        gathered.note(CaveatKind.PARTS_SKIPPED, f"form controls and their state, sheet “{grid.name}”")


def _edge_pictures(
    package: OoxmlPackage, part: str, root: etree._Element, sheet: str, gathered: PictureCollector
) -> Iterator[str]:
    """Pictures of the page's header and footer; those with data of their own belong to objects."""
    relations = package.relations(part)
    for image in root.iter("{*}imagedata"):
        if image.getparent().find("{*}ClientData") is None:
            for name, value in image.attrib.items():
                if str(name).endswith("}relid") and value in relations:
                    yield from _related_notes(package, relations[str(value)], sheet, gathered)


def _comment_lines(root: etree._Element, threads: dict[str, list[str]]) -> Iterator[str]:
    """Notes of cells; one that only repeats a thread for old programs is left to the thread."""
    for item in root.iterfind("{*}commentList/{*}comment"):
        place, text = item.get("ref", ""), item.find("{*}text")
        if place in threads:
            yield from threads.pop(place)
        elif text is not None and (written := " ".join(rich_text(text).split())):
            yield f"[{place}] {written}"


def _comment_threads(package: OoxmlPackage, relations: Mapping[str, PartRelation]) -> Iterator[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for relation in relations.values():
        if relation.kind == "threadedComment" and package.holds(relation.target):
            for item in package.xml(relation.target).iterfind("{*}threadedComment"):
                place = item.get("ref", "")
                if text := " ".join((item.findtext("{*}text") or "").split()):
                    found.setdefault(place, []).append(f"[{place}] {text}")
    yield from found.items()


def _drawing_notes(package: OoxmlPackage, part: str, sheet: str, gathered: PictureCollector) -> list[str]:
    """Text boxes, charts' titles (their numbers stand in cells) and pictures, in the order of the drawing."""
    notes: list[str] = []
    relations = package.relations(part)
    for anchor in package.xml(part):
        if next(anchor.iter("{*}contentPart"), None) is not None:
            gathered.note(
                CaveatKind.PICTURES_UNREAD, f"handwriting in sheet “{sheet}”: what it says is not in the text"
            )
        for item in anchor.iter("{*}sp", "{*}pic", "{*}graphicFrame"):
            if described := _alternative_text(item):
                notes.append(described)
            if item.tag.endswith("}sp"):
                notes += filter(None, map(_paragraph_text, item.iterfind("{*}txBody/{*}p")))
            for related in _related_parts(item, relations):
                notes += _related_notes(package, related, sheet, gathered)
    return notes


def _related_notes(package: OoxmlPackage, relation: PartRelation, sheet: str, gathered: PictureCollector) -> list[str]:
    if relation.external or not package.holds(relation.target):
        if relation.kind == "image":
            gathered.note(CaveatKind.PICTURES_UNREAD, f"linked pictures that are not in the file, sheet “{sheet}”")
        elif relation.kind in ("chart", "chartEx", "diagramData"):
            gathered.note(CaveatKind.PARTS_SKIPPED, f"{relation.kind} in sheet “{sheet}” that is not in the file")
        return []
    data = package.blob(relation.target)
    if relation.kind == "image":
        return [mark] if (mark := gathered.picture(data)) else []
    if relation.kind in ("chart", "chartEx"):
        blocks = chart_blocks(data, gathered, data=has_own_data(data))
        return blocks + label_lines(package, relation.target)
    if relation.kind == "diagramData":
        paragraphs = package.xml(relation.target).iterfind(".//{*}pt/{*}t/{*}p")
        return [text for one in paragraphs if (text := _paragraph_text(one))]
    return []


def _related_parts(item: etree._Element, relations: Mapping[str, PartRelation]) -> Iterator[PartRelation]:
    """The parts that a shape names by their ids, each once."""
    nodes = item.iter("{*}blip", "{*}chart", "{*}relIds")
    yield from dict.fromkeys(one for node in nodes for one in named_relations(node, relations))


def _alternative_text(item: etree._Element) -> str:
    """The alternative text that a person wrote."""
    properties = next(item.iterfind("*/{*}cNvPr"), None)
    text = " ".join((properties.get("descr") or "").split()) if properties is not None else ""
    return f"[alt text] {text}" if text else ""


def _paragraph_text(node: etree._Element) -> str:
    return " ".join("".join(run.text or "" for run in node.iter("{*}t")).split())
