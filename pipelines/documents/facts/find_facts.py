"""Finds the facts of a page and the tables they stand in: tables by their headings, forms by their labels, in Markdown
tables and in plain lines."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pipelines.documents.chunk import headings
from pipelines.documents.chunk.blocks import BlockKind, TextBlock, find_blocks
from pipelines.documents.document import Box, Page, Word, bounding_box
from pipelines.documents.facts.page_fact import FactKind, PageFact
from pipelines.documents.facts.page_table import FORM_COLUMNS, PageTable, TableKind, TableRow
from pipelines.documents.facts.table_cells import TableCell, table_rows

LONGEST_LABEL = 60  # characters
LABEL_WORDS = 8
LONGEST_VALUE = 600  # characters; more is a text
LABELS = 0.5  # share of a column's cells that end in a colon, from which on it is a column of labels
_LEAST_UNDER_HEADS = 3  # rows and columns of a table that has two rows of heads
GAP = 1.5  # of a line's height; wider, what follows is another field

_LABELLED = re.compile(
    r"[-*•]?[ \t]*(?P<marks>[*_]{0,3})(?P<label>[^\W_][^:|\n]*?)(?:(?P=marks):|:(?P=marks))[ \t]+(?P<value>\S.*)"
)
_LABEL = re.compile(r"[^\W_][^:]*:(?:\s|$)")
_NUMERIC = re.compile(r"[\s\d.,%$€£¥₹()+\-–—/:]*\d[\s\d.,%$€£¥₹()+\-–—/:]*[A-Za-z]{0,3}")


def find_facts(text: str, words: Sequence[Word] = ()) -> list[PageFact]:
    """The facts of a page in their order.

    Args:
        text: of the page, tables as Markdown.
        words: of the page with their boxes, as far as its format has a geometry: fields side by side on one line are
            told apart by the gap between them.
    """
    found: list[PageFact] = []
    section = ""
    for block in find_blocks(text):
        match block.kind:
            case BlockKind.TITLE:
                section = headings.title_text(text[block.start : block.end].strip())
            case BlockKind.TABLE:
                found.extend(_table_facts(text, block, section))
            case BlockKind.PROSE:
                found.extend(_line_facts(text, block, section, words))
            case BlockKind.CODE:
                pass
    return found


def _table_facts(text: str, block: TextBlock, section: str) -> Iterator[PageFact]:
    rows = table_rows(text, block)
    labels = _label_columns(rows)
    yield from _form_facts(rows, labels, section) if labels else _grid_facts(rows, block, section)


def _label_columns(rows: Sequence[Sequence[TableCell]]) -> frozenset[int]:
    """The columns whose cells are labels of what stands right of them."""
    width = max(map(len, rows), default=0)
    found = set()
    for column in range(width - 1):
        cells = [row[column] for row in rows if column < len(row) and row[column].text and _filled(row) > 1]
        if cells and sum(map(_is_label, cells)) >= LABELS * len(cells):
            found.add(column)
    return frozenset(found)


def _form_facts(rows: Sequence[Sequence[TableCell]], labels: frozenset[int], section: str) -> Iterator[PageFact]:
    """The fields of a form in cells; a row of one cell is the caption of those under it."""
    for row in rows:
        if _filled(row) == 1 and not _is_label(next(cell for cell in row if cell.text)):
            section = next(cell.text for cell in row if cell.text)
            continue
        at = 0
        while at < len(row):
            cell = row[at]
            stop = next((n for n in range(at + 1, len(row)) if n in labels and row[n].text), len(row))
            if cell.text and (at in labels or _is_label(cell)):
                values = [one for one in row[at + 1 : stop] if one.text]
                if values:
                    value = " ".join(one.text for one in values)
                    yield PageFact(FactKind.FIELD, _plain_label(cell.text), value, cell.start, values[-1].end, section)
            at = stop


def _grid_facts(rows: Sequence[Sequence[TableCell]], block: TextBlock, section: str) -> Iterator[PageFact]:
    """The cells of a table under their columns."""
    columns = _column_headings(rows, block)
    for row, caption in _grid_rows(rows, block, section, least=2):
        first = row[0]
        named = bool(first.text) and not (_NUMERIC.fullmatch(first.text) and len(row) > 2)
        for at, cell in enumerate(row):
            if not cell.text or (named and at == 0):
                continue
            column = columns[at] if at < len(columns) else ""
            label = first.text if named else ""
            start = first.start if named else cell.start
            if label or column:
                yield PageFact(FactKind.CELL, _plain_label(label), cell.text, start, cell.end, caption, column)


def _column_headings(rows: Sequence[Sequence[TableCell]], block: TextBlock) -> list[str]:
    """The head of a table; empty where it has none. Of two rows of heads each column has both."""
    has_head = bool(rows) and bool(rows[0]) and rows[0][0].start < block.body
    if not has_head or _head_count(rows) == 1:
        return [_plain_label(cell.text) for cell in rows[0]] if has_head else []
    names, over = [], ""
    for at, below in enumerate(rows[1]):
        above = rows[0][at].text if at < len(rows[0]) else ""
        # A head over several columns stands in the first of them; the first column of all has none above it.
        over = above or (over if at > 1 else "")
        names.append(" ".join(filter(None, map(_plain_label, (over, below.text)))))
    return names


def _head_count(rows: Sequence[Sequence[TableCell]]) -> int:
    """2 where the second row names the columns under heads that stand over several of them, else 1."""
    if len(rows) < _LEAST_UNDER_HEADS or len(rows[0]) != len(rows[1]) or len(rows[0]) < _LEAST_UNDER_HEADS:
        return 1
    upper, lower = ([cell.text for cell in row] for row in rows[:2])
    blank = [at for at in range(2, len(upper)) if not upper[at] and lower[at]]
    labels = all(lower[1:]) and not any(map(_NUMERIC.fullmatch, lower))
    again = len({text for text in lower[1:] if text}) < len(lower) - 1 or not upper[0]
    figures = any(_NUMERIC.fullmatch(row[at].text) for row in rows[2:] for at in blank if at < len(row))
    return 2 if blank and any(upper[1:]) and labels and again and figures else 1


def _grid_rows(
    rows: Sequence[Sequence[TableCell]], block: TextBlock, section: str, least: int = 3
) -> Iterator[tuple[Sequence[TableCell], str]]:
    """The rows under the head, each with its caption.

    In a table of `least` columns or more, a row of one cell is the caption of those under it.
    """
    for row in rows[_head_count(rows) :] if _column_headings(rows, block) else rows:
        if not row or not _filled(row):
            continue
        if _filled(row) == 1 and len(row) >= least:
            section = next(cell.text for cell in row if cell.text)
            continue
        yield row, section


def find_tables(page: Page) -> list[PageTable]:
    """The tables of a page: each grid that has a head, be it of empty cells, and one form of all fields."""
    found: list[PageTable] = []
    section = ""
    for block in find_blocks(page.text):
        if block.kind is BlockKind.TITLE:
            section = headings.title_text(page.text[block.start : block.end].strip())
        elif block.kind is BlockKind.TABLE:
            rows = table_rows(page.text, block)
            columns = _column_headings(rows, block)
            if columns and not _label_columns(rows):
                below = tuple(_table_row(row, caption, page.words) for row, caption in _grid_rows(rows, block, section))
                head = (rows[0][0].start, rows[_head_count(rows) - 1][-1].end)
                found.append(PageTable(page.number, TableKind.GRID, tuple(columns), below, head))
    fields = [one for one in find_facts(page.text, page.words) if one.kind is FactKind.FIELD]
    if fields:
        below = tuple(_field_row(page.text, one, page.words) for one in fields)
        found.append(PageTable(page.number, TableKind.FORM, FORM_COLUMNS, below))
    return found


def _table_row(row: Sequence[TableCell], section: str, words: Sequence[Word]) -> TableRow:
    filled = [cell for cell in row if cell.text]
    boxes = tuple(words_box(words, cell.start, cell.end) for cell in row) if words else ()
    return TableRow(tuple(cell.text for cell in row), filled[0].start, filled[-1].end, section, boxes)


def _field_row(text: str, fact: PageFact, words: Sequence[Word]) -> TableRow:
    """The label and the value of a field, which the page has one behind the other."""
    cut = max(fact.start, text.rfind(fact.value, fact.start, fact.end))
    label, value = words_box(words, fact.start, cut), words_box(words, cut, fact.end)
    return TableRow((fact.label, fact.value), fact.start, fact.end, fact.section, (label, value) if words else ())


def words_box(words: Sequence[Word], start: int, end: int) -> Box | None:
    """The box around the words that begin in characters [start, end); None where there are none."""
    first, last = (bisect_left(words, at, key=lambda word: word.start) for at in (start, end))
    boxes = [word.box for word in words[first:last]]
    return bounding_box(boxes) if boxes else None


def _line_facts(text: str, block: TextBlock, section: str, words: Sequence[Word]) -> Iterator[PageFact]:
    at = block.start
    lines = text[block.start : block.end].splitlines(keepends=True)
    for line in lines:
        for start, end in _line_segments(text, at, at + len(line.rstrip()), words):
            found = _LABELLED.fullmatch(text[start:end])
            # What ends as a label does is one: the field before it is empty.
            empty = found and found["value"].rstrip("*_ ").endswith(":") and len(found["value"]) <= LONGEST_LABEL
            if found and not empty and _reads_as_label(found["label"]) and len(found["value"]) <= LONGEST_VALUE:
                label, value = _plain_label(found["label"]), found["value"].strip("*_ ")
                yield PageFact(FactKind.FIELD, label, value, start + found.start("label"), end, section)
        at += len(line)


def _line_segments(text: str, start: int, end: int, words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The parts of a line that stand apart from each other, where the page has a geometry; else the whole line."""
    own = [word for word in words if start <= word.start < end]
    gaps = [
        after.start
        for before, after in pairwise(own)
        if after.box.x0 - before.box.x1 > GAP * (before.box.y1 - before.box.y0)
    ]
    # A gap behind a label is the way to its value.
    cuts = [at for at, stop in pairwise([*gaps, end]) if _LABEL.match(text, at, stop)]
    for first, last in pairwise([start, *cuts, end]):
        piece = text[first:last]
        begin = first + len(piece) - len(piece.lstrip())
        yield begin, begin + len(piece.strip())


def _filled(row: Sequence[TableCell]) -> int:
    return sum(bool(cell.text) for cell in row)


def _is_label(cell: TableCell) -> bool:
    return cell.text.rstrip("*_ ").endswith(":") and len(cell.text) <= LONGEST_LABEL


def _reads_as_label(label: str) -> bool:
    """True for a few words without the marks of a sentence."""
    return len(label) <= LONGEST_LABEL and len(label.split()) <= LABEL_WORDS and not re.search(r"[.!?;]\s", label)


def _plain_label(label: str) -> str:
    return " ".join(label.strip("*_ ").removesuffix(":").strip("*_ ").split())
