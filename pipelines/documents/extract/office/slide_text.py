"""Texts of slides: paragraphs with their bullets and numbers, raised and lowered runs, tables, comments."""

import re
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.extract.sheets.grid import CellGrid, grid_blocks
from pipelines.documents.extract.word.counting import format_counter
from pipelines.documents.extract.word.equations import linear_equation
from pipelines.documents.extract.word.inline import Piece, join_pieces

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FORMS = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_AUTO = re.compile(r"([A-Za-z]+?)(Period|ParenR|ParenBoth|Plain)$")
_MOST_SPAN = 1_000


def frame_lines(body: etree._Element) -> Iterator[str]:
    """The lines of a text body, those of deeper levels indented."""
    counts: dict[int, int] = {}
    for paragraph in body.iterfind(f"{A}p"):
        text = paragraph_text(paragraph)
        if not text:
            continue
        level = level_of(paragraph)
        mark = _bullet_number(paragraph, level, counts)
        yield "  " * level + (mark or ("- " if level else "")) + text


def paragraph_text(paragraph: etree._Element) -> str:
    """A paragraph on its lines."""
    return join_pieces(_text_pieces(paragraph)).replace("\v", "\n").strip()


def level_of(paragraph: etree._Element) -> int:
    """The indentation level of a paragraph, 0 to 8."""
    properties = paragraph.find(f"{A}pPr")
    level = properties.get("lvl", "0") if properties is not None else "0"
    return min(int(level), 8) if level.isdecimal() else 0


def table_blocks(table: etree._Element) -> list[str]:
    """A table as Markdown; cells that are merged downwards repeat in every row."""
    grid = CellGrid("")
    for row, line in enumerate(table.iterfind(f"{A}tr")):
        for column, cell in enumerate(line.iterfind(f"{A}tc")):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            body = cell.find(f"{A}txBody")
            grid.put(row, column, " ".join(frame_lines(body)) if body is not None else "")
            down, across = _cell_span(cell, "rowSpan"), _cell_span(cell, "gridSpan")
            if down > 1 or across > 1:
                grid.merged.append((row, column, row + down - 1, column + across - 1))
    return grid_blocks(grid)


def comment_lines(root: etree._Element) -> Iterator[str]:
    """Comments and their answers, of the older and of the newer kind."""
    for item in root.iter("{*}cm", "{*}reply"):
        own = item.find("{*}txBody")
        text = item.findtext("{*}text") or ""
        if own is not None:
            text = " ".join(filter(None, map(paragraph_text, own.iterfind(f"{A}p"))))
        if text := " ".join(text.split()):
            yield f"[comment] {text}"


def _text_pieces(paragraph: etree._Element) -> Iterator[Piece]:
    for child in paragraph:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if name in ("r", "fld"):
            properties = child.find(f"{A}rPr")
            yield _baseline_shift(properties), child.findtext(f"{A}t") or ""
        elif name == "br":
            yield "", "\n"
        elif name == "m":
            yield "", linear_equation(child)
        elif name == "AlternateContent":
            for choice in child:
                if choice.tag.endswith("}Choice"):
                    yield from _text_pieces(choice)


def _baseline_shift(properties: etree._Element | None) -> str:
    """`baseline` is in thousandths of a per cent of the letters' size (or, in Strict files, per cent)."""
    baseline = properties.get("baseline", "0") if properties is not None else "0"
    amount = baseline.lstrip("-").removesuffix("%")
    if not re.fullmatch(r"\d+(\.\d+)?", amount) or float(amount) == 0:
        return ""
    return "lowered" if baseline.startswith("-") else "raised"


def _bullet_number(paragraph: etree._Element, level: int, counts: dict[int, int]) -> str:
    """The number that a slide program writes before a paragraph; counting ends where the numbering does."""
    properties = paragraph.find(f"{A}pPr")
    auto = properties.find(f"{A}buAutoNum") if properties is not None else None
    for deeper in [one for one in counts if one > level]:
        del counts[deeper]
    if auto is None:
        counts.pop(level, None)
        return ""
    start = auto.get("startAt", "1")
    counts[level] = counts[level] + 1 if level in counts else int(start) if start.isdecimal() else 1
    kind = _AUTO.match(auto.get("type", "arabicPeriod"))
    number = format_counter(counts[level], _FORMS.get(kind[1], "decimal") if kind else "decimal")
    ending = kind[2] if kind else "Period"
    return {"ParenR": f"{number}) ", "ParenBoth": f"({number}) ", "Plain": f"{number} "}.get(ending, f"{number}. ")


def _cell_span(cell: etree._Element, name: str) -> int:
    value = cell.get(name, "1")
    return min(int(value), _MOST_SPAN) if value.isdecimal() and len(value) < 9 else 1
