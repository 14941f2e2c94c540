"""The namespaces of OpenDocument, and the counts in its attributes."""

_BASE = "urn:oasis:names:tc:opendocument:xmlns"
TEXT = f"{{{_BASE}:text:1.0}}"
TABLE = f"{{{_BASE}:table:1.0}}"
OFFICE = f"{{{_BASE}:office:1.0}}"
STYLE = f"{{{_BASE}:style:1.0}}"
DRAW = f"{{{_BASE}:drawing:1.0}}"
PRESENTATION = f"{{{_BASE}:presentation:1.0}}"
FORM = f"{{{_BASE}:form:1.0}}"
SVG = f"{{{_BASE}:svg-compatible:1.0}}"
XLINK = "{http://www.w3.org/1999/xlink}"
_MOST = 10**9


def parse_count(text: str | None, default: int) -> int:
    """A count as an attribute names it; what is no number, or absurd, is the default."""
    return int(text) if text and text.isdecimal() and len(text) < 11 and int(text) <= _MOST else default
