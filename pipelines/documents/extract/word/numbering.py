"""The numbers and bullets of a DOCX: they are not in the text but in the numbering part."""

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from lxml import etree

from pipelines.documents.extract.word.counting import format_counter
from pipelines.documents.extract.word.styles import DocxStyles

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile(r"%([1-9])")
_MOST_INDENT = 8


@dataclass(frozen=True, slots=True)
class _Level:
    """Numbering of one level of a list: `text` is like `%1.%2.`, with the counters of the levels put in."""

    form: str = "decimal"
    text: str = "%1."
    start: int = 1
    restarts: bool = True
    legal: bool = False
    style: str = ""


class ListNumbering:
    """Counts the items of every list while the document is walked."""

    def __init__(self, styles: DocxStyles, numbering: etree._Element | None) -> None:
        """Read the lists' levels, and which styles belong to a list."""
        self._styles = styles
        self._abstract: dict[str, dict[int, _Level]] = {}
        self._of_number: dict[str, str] = {}
        self._overrides: dict[str, dict[int, _Level | int]] = defaultdict(dict)
        self._counters: dict[str, dict[int, int]] = defaultdict(dict)
        self._begun: set[tuple[str, int]] = set()
        if numbering is not None:
            self._read_numbering(numbering)

    def mark(self, properties: etree._Element | None, style_id: str | None) -> str:
        """`- `, `3. `, `2.1 ` or nothing, indented by the level, for a paragraph's properties and style."""
        found = self._list_place(properties, style_id)
        if found is None:
            return ""
        number, level = found
        abstract = self._of_number.get(number)
        levels = self._list_levels(number)
        if abstract is None or level not in levels:
            return "  " * min(level, _MOST_INDENT) + "- "
        one = levels[level]
        if one.form == "bullet":
            return "  " * min(level, _MOST_INDENT) + "- "
        self._count_item(number, abstract, level, levels)
        if one.form == "none" and not _PLACE.sub("", one.text).strip():
            return ""
        counters = self._counters[abstract]

        def counter(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            other = levels.get(at, _Level())
            return format_counter(counters.get(at, other.start), "decimal" if one.legal else other.form)

        text = " ".join(_PLACE.sub(counter, one.text).split())
        # A number that names its parents says by itself how deep it is.
        indent = 0 if len(_PLACE.findall(one.text)) > 1 else min(level, _MOST_INDENT)
        return "  " * indent + text + " " if text else ""

    def _count_item(self, number: str, abstract: str, level: int, levels: dict[int, _Level]) -> None:
        """One more on this level. Lists of one definition count on together, unless one is told to start anew."""
        counters = self._counters[abstract]
        override = self._overrides[number].get(level)
        fresh = isinstance(override, int) and (number, level) not in self._begun
        self._begun.add((number, level))
        if fresh:
            counters[level] = int(override)  # type: ignore[arg-type]
        else:
            counters[level] = counters[level] + 1 if level in counters else levels[level].start
        for deeper in [other for other in counters if other > level and levels.get(other, _Level()).restarts]:
            del counters[deeper]

    def _list_levels(self, number: str) -> dict[int, _Level]:
        levels = self._abstract.get(self._of_number.get(number, ""), {})
        own = {at: level for at, level in self._overrides[number].items() if isinstance(level, _Level)}
        return {**levels, **own} if own else levels

    def _list_place(self, properties: etree._Element | None, style_id: str | None) -> tuple[str, int] | None:
        """The list and the level of a paragraph: its own, or those of its style, whose level the list may name."""
        own = properties.find(f"{_W}numPr") if properties is not None else None
        number, level = numbering_of(own)
        style = self._styles.numbering(style_id)
        if number is None and style is not None:
            number, level = style[0], level if level is not None else style[1]
        if number is None or number == "0":
            return None
        if level is None:
            named = (at for at, one in self._list_levels(number).items() if style_id and one.style == style_id)
            level = next(named, 0)
        return number, min(level, 8)

    def _read_numbering(self, numbering: etree._Element) -> None:
        links: dict[str, str] = {}
        of_style: dict[str, str] = {}
        for item in numbering.iterfind(f"{_W}abstractNum"):
            key = item.get(f"{_W}abstractNumId", "")
            self._abstract[key] = dict(map(_parse_level, item.iterfind(f"{_W}lvl")))
            if style := _attribute_value(item.find(f"{_W}styleLink")):
                of_style[style] = key
            if style := _attribute_value(item.find(f"{_W}numStyleLink")):
                links[key] = style
        for key, style in links.items():
            if style in of_style and not self._abstract[key]:
                self._abstract[key] = self._abstract[of_style[style]]
        for item in numbering.iterfind(f"{_W}num"):
            number = item.get(f"{_W}numId", "")
            self._of_number[number] = _attribute_value(item.find(f"{_W}abstractNumId"))
            for override in item.iterfind(f"{_W}lvlOverride"):
                at = _parse_whole(override.get(f"{_W}ilvl"), 0)
                start, level = override.find(f"{_W}startOverride"), override.find(f"{_W}lvl")
                if level is not None:
                    self._overrides[number][at] = replace(_parse_level(level)[1])
                if start is not None:
                    self._overrides[number][at] = _parse_whole(_attribute_value(start), 1)


def numbering_of(found: etree._Element | None) -> tuple[str | None, int | None]:
    """The list and the level that a `numPr` names."""
    if found is None:
        return None, None
    number, level = found.find(f"{_W}numId"), found.find(f"{_W}ilvl")
    return (
        _attribute_value(number) if number is not None else None,
        _parse_whole(_attribute_value(level), 0) if level is not None else None,
    )


def _parse_level(item: etree._Element) -> tuple[int, _Level]:
    legal = item.find(f"{_W}isLgl")
    form, text = item.find(f"{_W}numFmt"), item.find(f"{_W}lvlText")
    at = _parse_whole(item.get(f"{_W}ilvl"), 0)
    return at, _Level(
        _attribute_value(form) if form is not None else "decimal",
        _attribute_value(text) if text is not None else f"%{at + 1}.",
        _parse_whole(_attribute_value(item.find(f"{_W}start")), 1),
        _attribute_value(item.find(f"{_W}lvlRestart")) != "0",
        legal is not None and _attribute_value(legal) not in ("0", "false", "off"),
        _attribute_value(item.find(f"{_W}pStyle")),
    )


def _parse_whole(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 9 else default


def _attribute_value(element: etree._Element | None) -> str:
    return str(element.get(f"{_W}val", "")) if element is not None else ""
