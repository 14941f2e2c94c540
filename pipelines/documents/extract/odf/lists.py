"""Numbers of lists and headings in OpenDocument texts: they are in the list styles, not in the text."""

from lxml import etree

from pipelines.documents.extract.odf.namespaces import STYLE, TEXT, parse_count
from pipelines.documents.extract.word.counting import format_counter

_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MOST_LEVEL = 10


class OdfLists:
    """Counts items and headings while a text is walked."""

    def __init__(self, roots: list[etree._Element]) -> None:
        """Read the list styles of these parts, and how headings are numbered."""
        self._styles: dict[str, dict[int, etree._Element]] = {}
        self._outline: dict[int, etree._Element] = {}
        for root in roots:
            for style in root.iter(f"{TEXT}list-style"):
                self._styles[style.get(f"{STYLE}name", "")] = _style_levels(style)
            for style in root.iter(f"{TEXT}outline-style"):
                self._outline = _style_levels(style)
        self._counts: dict[int, int] = {}
        self._kept: dict[str, dict[int, int]] = {}
        self._chapters: dict[int, int] = {}

    def begin(self, items: etree._Element, level: int, style: str | None) -> None:
        """A list begins; one that continues another goes on counting."""
        if level > 1:
            self._counts.pop(level, None)
        elif items.get(f"{TEXT}continue-numbering") == "true" or items.get(f"{TEXT}continue-list"):
            self._counts = dict(self._kept.get(style or "", self._counts))
        else:
            self._counts = {}

    def mark(self, item: etree._Element, level: int, style: str | None) -> str:
        """`- `, `3. ` or `2.1 `, indented by the level."""
        found = self._styles.get(style or "", {}).get(level)
        for deeper in [one for one in self._counts if one > level]:
            del self._counts[deeper]
        if found is None or not _number_form(found):
            return "  " * (level - 1) + "- "
        start = parse_count(item.get(f"{TEXT}start-value"), 0)
        self._counts[level] = start or (self._counts[level] + 1 if level in self._counts else _start_value(found))
        self._kept[style or ""] = dict(self._counts)
        levels = self._styles.get(style or "", {})
        shown = parse_count(found.get(f"{TEXT}display-levels"), 1)
        indent = "" if shown > 1 else "  " * (level - 1)
        return f"{indent}{_format_number(self._counts, level, levels)} "

    def heading(self, node: etree._Element) -> tuple[int, str]:
        """A heading's level 1 to 6, and its chapter number where headings are numbered."""
        level = max(1, min(parse_count(node.get(f"{TEXT}outline-level"), 1), _MOST_LEVEL))
        typed = " ".join((node.findtext(f"{TEXT}number") or "").split())
        for deeper in [one for one in self._chapters if one > level]:
            del self._chapters[deeper]
        found = self._outline.get(level)
        mark = f"{typed} " if typed else ""
        if node.get(f"{TEXT}is-list-header") != "true" and found is not None and _number_form(found):
            self._chapters[level] = self._chapters[level] + 1 if level in self._chapters else _start_value(found)
            mark = mark or f"{_format_number(self._chapters, level, self._outline)} "
        return min(level, 6), mark


def _style_levels(style: etree._Element) -> dict[int, etree._Element]:
    return {parse_count(item.get(f"{TEXT}level"), 1): item for item in style if isinstance(item.tag, str)}


def _number_form(level: etree._Element) -> str:
    return _FORMS.get(level.get(f"{STYLE}num-format", ""), "")


def _start_value(level: etree._Element) -> int:
    return parse_count(level.get(f"{TEXT}start-value"), 1)


def _format_number(counts: dict[int, int], level: int, levels: dict[int, etree._Element]) -> str:
    """The number with those of the levels above it that the style shows."""
    own = levels[level]
    first = max(1, level - max(1, parse_count(own.get(f"{TEXT}display-levels"), 1)) + 1)
    numbers = [
        format_counter(counts.get(one, _start_value(levels[one])), _number_form(levels[one]))
        for one in range(first, level + 1)
        if one in levels and _number_form(levels[one])
    ]
    return own.get(f"{STYLE}num-prefix", "") + ".".join(numbers) + own.get(f"{STYLE}num-suffix", "")
