"""DOCX styles as far as the text needs them: headings, lists, raised and hidden runs; styles inherit."""

from collections.abc import Iterator

from lxml import etree

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DEEPEST = 12  # of styles that are based on one another; a file may make a ring of them


class DocxStyles:
    """The styles of a document by their ids."""

    def __init__(self, root: etree._Element | None) -> None:
        """Read the styles part; a document may have none."""
        self._styles = (
            {item.get(f"{_W}styleId"): item for item in root.iterfind(f"{_W}style")} if root is not None else {}
        )
        self._default = next((key for key, item in self._styles.items() if _is_default(item)), None)

    def heading_level(self, style_id: str | None) -> int:
        """1 to 6, or 0 for a style that is no heading."""
        for style in self._style_chain(style_id):
            name = _attribute_value(style.find(f"{_W}name")).lower()
            if name == "title":
                return 1
            if name.startswith("heading ") and name[8:].isdecimal():
                return min(6, int(name[8:]))
            level = _attribute_value(style.find(f"{_W}pPr/{_W}outlineLvl"))
            if level.isdecimal():
                return min(6, int(level) + 1) if int(level) < 9 else 0
        return 0

    def numbering(self, style_id: str | None) -> tuple[str, int | None] | None:
        """The list, and where it is named the level, that paragraphs of a style belong to."""
        level: int | None = None
        for style in self._style_chain(style_id or self._default):
            found = style.find(f"{_W}pPr/{_W}numPr")
            if found is None:
                continue
            named = _attribute_value(found.find(f"{_W}ilvl"))
            level = int(named) if level is None and named.isdecimal() else level
            if number := _attribute_value(found.find(f"{_W}numId")):
                return number, level
        return None

    def run_property(self, style_id: str | None, name: str) -> str | None:
        """The value of a property of a character style; None where neither it nor what it is based on has it."""
        for style in self._style_chain(style_id):
            found = style.find(f"{_W}rPr/{_W}{name}")
            if found is not None:
                return _attribute_value(found)
        return None

    def _style_chain(self, style_id: str | None) -> Iterator[etree._Element]:
        for _ in range(_DEEPEST):
            style = self._styles.get(style_id) if style_id else None
            if style is None:
                return
            yield style
            style_id = _attribute_value(style.find(f"{_W}basedOn"))


def _is_default(style: etree._Element) -> bool:
    return style.get(f"{_W}type") == "paragraph" and style.get(f"{_W}default") in ("1", "true", "on")


def _attribute_value(element: etree._Element | None) -> str:
    return str(element.get(f"{_W}val", "")) if element is not None else ""
