"""SVG drawings: the words in them; their lines and shapes are not looked at."""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Unreadable
from pipelines.documents.extract.opened import (
    ExtractionContext,
    OpenedDocument,
    UnpagedDocument,
    join_blocks,
    storable_text,
)
from pipelines.documents.extract.text.plain_text import read_bounded

_NOT_TEXT = ("style", "script", "metadata")


def open_svg(path: Path, context: ExtractionContext) -> OpenedDocument:
    """Title, description and texts, a line each, in the order of the file.

    Raises Unreadable: TOO_LARGE, or CORRUPT for what is damaged and shows no words.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    try:
        drawing = etree.fromstring(read_bounded(path, context), parser)
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(FailureReason.CORRUPT, f"not a readable drawing: {error}"[:200]) from error
    if drawing is None:
        raise Unreadable(FailureReason.CORRUPT, "not a readable drawing")
    lines = [storable_text(line) for line in _element_lines(drawing)]
    errors = parser.error_log.filter_from_fatals()  # an unknown namespace is none
    if errors and not lines:
        raise Unreadable(FailureReason.CORRUPT, f"not a readable drawing: {errors[0].message}"[:200])
    caveats = list(_drawing_caveats(drawing, errors[0].line if errors else 0))
    return UnpagedDocument(join_blocks(["\n".join(lines)] if lines else [], context.read.part_chars), caveats)


def _drawing_caveats(drawing: etree._Element, damaged_line: int) -> Iterator[Caveat]:
    if damaged_line:
        detail = f"the drawing is damaged at line {damaged_line}: words behind it may be missing; export it once more"
        yield Caveat(CaveatKind.CUT_SHORT, detail)
    if entities := sum(1 for _ in drawing.iter(etree.Entity)):
        yield Caveat(CaveatKind.PARTS_SKIPPED, f"{entities} words that the drawing names by entities", entities)
    if pictures := sum(1 for _ in drawing.iter("{*}image")):
        yield Caveat(CaveatKind.PICTURES_UNREAD, f"{pictures} pictures in the drawing were not read", pictures)


def _element_lines(drawing: etree._Element) -> Iterator[str]:
    for element in drawing.iter("{*}title", "{*}desc", "{*}text", "{*}foreignObject"):
        # Lines of a text are elements of their own, without a space between them.
        words = [word for piece in _element_texts(element) for word in piece.split()]
        if words:
            yield " ".join(words)


def _element_texts(element: etree._Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str) and etree.QName(child).localname not in _NOT_TEXT:
            yield from _element_texts(child)
        yield child.tail or ""
