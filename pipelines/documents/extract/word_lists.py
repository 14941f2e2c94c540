"""The numbers and bullets of a DOCX: they are not in the text but in the numbering part."""

from collections import defaultdict

from docx.document import Document
from lxml import etree

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class Lists:
    """Counts the items of every list while the document is walked."""

    def __init__(self, document: Document) -> None:
        """Read which lists are bulleted, and which styles belong to a list."""
        self._formats: dict[str, dict[int, str]] = {}
        self._counters: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._by_style = {}
        for style in document.styles.element.iter(f"{_W}style"):
            if (found := _numbering(style.find(f"{_W}pPr"))) is not None:
                self._by_style[style.get(f"{_W}styleId")] = found
        for relation in document.part.rels.values():
            if not relation.is_external and relation.reltype.endswith("/numbering"):
                self._read(relation.target_part.element)

    def mark(self, properties: etree._Element | None, style_id: str | None) -> str:
        """`- `, `3. ` or nothing, indented by the level, for a paragraph's properties and style."""
        found = _numbering(properties) or self._by_style.get(style_id)
        if found is None or found[0] == "0":
            return ""
        number, level = found
        indent = "  " * min(level, 8)
        if self._formats.get(number, {}).get(level, "bullet") in ("bullet", "none"):
            return f"{indent}- "
        counters = self._counters[number]
        counters[level] += 1
        for deeper in [other for other in counters if other > level]:
            del counters[deeper]
        return f"{indent}{counters[level]}. "

    def _read(self, numbering: etree._Element) -> None:
        abstract = {
            item.get(f"{_W}abstractNumId"): {
                int(level.get(f"{_W}ilvl", "0")): _value(level.find(f"{_W}numFmt")) for level in item.iter(f"{_W}lvl")
            }
            for item in numbering.iter(f"{_W}abstractNum")
        }
        for item in numbering.iter(f"{_W}num"):
            self._formats[item.get(f"{_W}numId", "")] = abstract.get(_value(item.find(f"{_W}abstractNumId")), {})


def _numbering(properties: etree._Element | None) -> tuple[str, int] | None:
    """The list and the level that a paragraph's properties name."""
    found = properties.find(f"{_W}numPr") if properties is not None else None
    if found is None or found.find(f"{_W}numId") is None:
        return None
    level = _value(found.find(f"{_W}ilvl")) or "0"
    return _value(found.find(f"{_W}numId")), int(level) if level.isdecimal() else 0


def _value(element: etree._Element | None) -> str:
    return str(element.get(f"{_W}val", "")) if element is not None else ""
