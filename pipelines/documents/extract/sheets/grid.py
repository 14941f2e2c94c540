"""One sheet as stored cells, and how it becomes Markdown: titles, tables with their heads, merged cells repeated."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.extract.opened import DocumentPart, markdown_table, split_text, table_parts

_MOST_FILLED = 2_000_000  # rows and cells that merged ranges may cover in one sheet
_MOST_LINES = 20  # of a text above a table that is no list
_HEAD_SEARCH = 30  # rows among which the head of a table is looked for
_MOST_HEADS = 4  # rows of labels above one another
_HEAD_SHARE = 0.6  # of the fullest row's cells that a head has at least
_FIGURE = re.compile(r"[-+(]?[^\w]{0,3}\d[\d.,:/\s%-]*\W{0,3}$")


@dataclass(slots=True)
class CellGrid:
    """A sheet. Rows and columns count from 0; only cells that hold something are there."""

    name: str  # of the sheet
    rows: dict[int, dict[int, str]] = field(default_factory=dict)  # texts as shown, by row, then by column
    # Ranges (first row, first column, last row, last column) that look like one cell.
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden: bool = False  # the sheet itself is hidden
    hidden_rows: set[int] = field(default_factory=set)  # those that hold something
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)  # ranges (first, last)
    comments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # lines below the table: comments, text boxes, charts
    caveats: list[Caveat] = field(default_factory=list)  # what was met while it was read
    formulas: int = 0  # how many cells show their formula, as no value is stored

    def put(self, row: int, column: int, text: str) -> None:
        """Keep a cell that shows something."""
        if text:
            self.rows.setdefault(row, {})[column] = text


def grid_parts(grid: CellGrid, limit: int) -> list[DocumentPart]:
    """A sheet in parts of about `limit` characters, each under `## Sheet: name` and the head of its table."""
    title = f"## Sheet: {grid.name}"
    caveats = (*grid.caveats, *_hidden_caveats(grid), *_formula_caveats(grid))
    _fill_merged(grid)
    texts: list[str] = []
    for above, rows in _split_tables(grid):
        texts += _table_texts(title, above, rows, limit)
    texts = _join_tables(texts, title, limit) or [title]
    below = [*grid.notes, *(["Comments:", *grid.comments] if grid.comments else [])]
    texts[-1:] = _with_lines(texts[-1], below, limit)
    return [DocumentPart(text, caveats if not at else ()) for at, text in enumerate(texts)]


def grid_blocks(grid: CellGrid) -> list[str]:
    """A table of a text document: the lines above its head, if it begins with such, and the table."""
    _fill_merged(grid)
    blocks = []
    for above, rows in _split_tables(grid):
        blocks += ["\n".join(above)] if above else []
        blocks += ["\n".join(markdown_table(rows))] if rows else []
    return blocks


def _hidden_caveats(grid: CellGrid) -> Iterator[Caveat]:
    found = []
    if grid.hidden:
        found.append("the whole sheet")
    if grid.hidden_rows:
        found.append(f"{len(grid.hidden_rows)} row(s) from {min(grid.hidden_rows) + 1}")
    used = sorted({column for row in grid.rows.values() for column in row}) if grid.hidden_columns else []
    columns = [column for column in used if any(first <= column <= last for first, last in grid.hidden_columns)]
    if columns:
        found.append("column(s) " + ", ".join(map(column_name, columns[:10])))
    if found:
        yield Caveat(CaveatKind.HIDDEN_CONTENT, f"sheet “{grid.name}”: hidden there, read here: " + "; ".join(found))


def _formula_caveats(grid: CellGrid) -> Iterator[Caveat]:
    if grid.formulas:
        detail = (
            f"sheet “{grid.name}”: formulas stand where no value is stored; open and save it in a spreadsheet program"
        )
        yield Caveat(CaveatKind.FORMULAS_UNCALCULATED, detail, grid.formulas)


def column_name(column: int) -> str:
    """`A` for 0, `AA` for 26."""
    name = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(65 + letter) + name
    return name


def _fill_merged(grid: CellGrid) -> None:
    """A merged range repeats its value in every row that holds something else, and in a head in every column.

    Only rows that are stored are filled: a range over the whole sheet costs nothing.
    """
    if not grid.merged:
        return
    stored = sorted(grid.rows)
    used = sorted({column for row in grid.rows.values() for column in row})
    own = {row: frozenset(cells) for row, cells in grid.rows.items()}
    left = _MOST_FILLED
    for top, first, bottom, last in grid.merged:
        value = grid.rows.get(top, {}).get(first)
        if value is None:
            continue
        columns = used[bisect_left(used, first) : bisect_left(used, last + 1)]
        for row in stored[bisect_left(stored, top) : bisect_left(stored, bottom + 1)]:
            left -= 1
            others = own[row] - {first} if row == top else own[row]
            if not others:
                continue
            wide = len(columns) > 1 and _is_head_like(own[row], grid.rows[row]) and row == top
            for column in columns if wide else columns[:1]:
                grid.rows[row].setdefault(column, value)
                left -= 1
            if left < 0:
                grid.caveats.append(Caveat(CaveatKind.CUT_SHORT, f"sheet “{grid.name}”: too many merged cells"))
                return


def _is_head_like(columns: frozenset[int], row: dict[int, str]) -> bool:
    """A row of labels: texts, no figures but years."""
    return all(not _FIGURE.match(row[column]) or re.fullmatch(r"(19|20)\d\d", row[column]) for column in columns)


def _split_tables(grid: CellGrid) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Each table of the sheet with the lines above it; blank rows and columns are left out."""
    blocks: list[list[int]] = []
    for number in sorted(grid.rows):
        if blocks and number == blocks[-1][-1] + 1:
            blocks[-1].append(number)
        else:
            blocks.append([number])
    wide = any(len(row) > 1 for row in grid.rows.values())
    pending: list[int] = []
    lines: list[str] = []  # single cells above a table and apart from it
    for rows in blocks:
        if wide and not pending and len(rows) < _MOST_LINES and all(len(grid.rows[row]) == 1 for row in rows):
            lines += [text for row in rows for text in grid.rows[row].values()]
            continue
        if pending and _begins_anew(grid, pending, rows):
            above, table = _head_and_rows(grid, pending)
            yield [*lines, *above], table
            pending, lines = [], []
        pending += rows
    if pending or lines:
        above, table = _head_and_rows(grid, pending) if pending else ([], [])
        yield [*lines, *above], table


def _begins_anew(grid: CellGrid, before: list[int], rows: list[int]) -> bool:
    """True if rows behind a blank one are a table of their own: they begin with a head where the table has figures."""
    if len(rows) < 2 or len(before) < 2:
        return False
    filled = [row for row in rows[:4] if len(grid.rows[row]) > 1]
    if len(filled) < 2:
        return False
    head, first = grid.rows[filled[0]], grid.rows[filled[1]]
    if any(_FIGURE.match(text) for text in head.values()):
        return False
    return set(head) != set(grid.rows[before[0]]) or any(_FIGURE.match(text) for text in first.values())


def _head_and_rows(grid: CellGrid, numbers: list[int]) -> tuple[list[str], list[list[str]]]:
    """The lines above a table, and the table: its first row is the head."""
    used = sorted({column for number in numbers for column in grid.rows[number]})
    place = {column: at for at, column in enumerate(used)}
    first = _head_at([list(grid.rows[number].values()) for number in numbers[:_HEAD_SEARCH]])
    while first and _groups_columns(grid, numbers[first - 1], len(used)):
        first -= 1
    above = [_label_line(list(grid.rows[number].values())) for number in numbers[:first]]
    table = []
    for number in numbers[first:]:
        row = [""] * len(used)
        for column, text in grid.rows[number].items():
            row[place[column]] = text
        table.append(row)
    heads = 1
    while heads < _MOST_HEADS and heads + 1 < len(table) and _is_second_head(grid, numbers[first + heads - 1 :]):
        heads += 1
    if heads > 1:
        table[:heads] = [[" ".join(dict.fromkeys(filter(None, labels))) for labels in zip(*table[:heads], strict=True)]]
    empty = {at for at in range(len(used)) if not any(row[at] for row in table)}
    return above, [[text for at, text in enumerate(row) if at not in empty] for row in table] if empty else table


def _head_at(rows: list[list[str]]) -> int:
    """The first row that is about as full as the fullest: what stands above it is a title, not a head.

    Where that row has figures, a row of labels above it is the head, though it leaves columns without one.
    """
    counts = [len(set(row)) for row in rows]
    fullest = max(counts)
    if fullest < 2:
        return 0
    full = next(at for at, count in enumerate(counts) if count >= max(2, _HEAD_SHARE * fullest))
    if any(map(_FIGURE.match, rows[full])):
        labels = [at for at in range(full) if counts[at] > 1 and not any(map(_FIGURE.match, rows[at]))]
        return labels[-1] if labels and labels[-1] == full - 1 else full
    return full


def _groups_columns(grid: CellGrid, row: int, width: int) -> bool:
    """True for a row with cells merged across some, not all, of the columns: they group those below."""
    spans = [last - first + 1 for top, first, bottom, last in grid.merged if top == bottom == row and last > first]
    return bool(spans) and max(spans) < width and len(set(grid.rows[row].values())) > 1


def _is_second_head(grid: CellGrid, numbers: list[int]) -> bool:
    """True if the second row names the columns below heads of the first that span several or leave some blank.

    Labels stand below wide or blank heads alone, are no figures, and do not come again in their column.
    """
    upper, lower = grid.rows[numbers[0]], grid.rows[numbers[1]]
    across, covered = set[int](), set[int]()
    for top, first, bottom, last in grid.merged:
        if top <= numbers[0] <= bottom and last > first:
            across.update(column for column in lower if first <= column <= last)
        if top <= numbers[0] < numbers[1] <= bottom:
            covered.update(column for column in lower if first <= column <= last)
    own = {column: text for column, text in lower.items() if column not in covered}
    if not own or any(_FIGURE.match(text) for text in own.values()):
        return False
    if not all(column in across or column not in upper for column in own):
        return False
    following = [grid.rows[number] for number in numbers[2 : 2 + _HEAD_SEARCH]]
    return not any(row.get(column) == text for row in following for column, text in own.items())


def _label_line(texts: list[str]) -> str:
    """A row above a table as a line: a label and its value, or what there is."""
    texts = [" ".join(text.split()) for text in dict.fromkeys(texts)]
    if len(texts) == 2 and len(texts[0]) < 60:
        return f"{texts[0].rstrip(':')}: {texts[1]}"
    return " | ".join(texts)


def _table_texts(title: str, above: list[str], rows: list[list[str]], limit: int) -> list[str]:
    table = markdown_table(rows)
    lines = "\n".join(above)
    if not table or not lines:
        return table_parts(table, limit, title) if table else [f"{title}\n\n{lines}"] if lines else [title]
    room = limit - len(lines) - 2
    if room < limit // 2:
        pieces = split_text(lines, limit // 2)
        return [*(f"{title}\n\n{piece}" for piece in pieces), *table_parts(table, limit, title)]
    first, *others = table_parts(table, room, title)
    return [first.replace(title, f"{title}\n\n{lines}", 1), *others]


def _join_tables(texts: list[str], title: str, limit: int) -> list[str]:
    """Small tables of one sheet share a part."""
    parts: list[str] = []
    for text in texts:
        if parts and len(parts[-1]) + len(text) - len(title) <= limit:
            parts[-1] += text.removeprefix(title)
        else:
            parts.append(text)
    return parts


def _with_lines(part: str, lines: list[str], limit: int) -> Iterator[str]:
    for line in lines:
        gap = "\n\n" if line == "Comments:" or not line.startswith("[") else "\n"
        if len(part) + len(line) + len(gap) > limit:
            yield part
            *whole, part = split_text(line, limit)
            yield from whole
        else:
            part += gap + line
    yield part
