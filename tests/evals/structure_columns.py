"""Pages of two columns with headlines, notes, running lines and sidebars, and the orders in which they are read."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.evals.structure_drawing import A4, CONDENSED, LETTER, SANS, SERIF, DrawnPage, wrapped_lines

Block = tuple[str, str]
"""What a block is (`header`, `headline`, `column`, `sidebar`, `note`, `footer`) and its text."""

_SUBJECTS = "The council,A small group of farmers,The old harbour,Every third house,The new railway,Nobody in the town"
_VERBS = "has changed,was repaired,had been sold,is still remembered,became known,was closed,will be measured"
_ENDS = (
    "before the long winter began,after a dispute about the northern boundary,because timber was cheaper then,"
    "in spite of several warnings from the ministry,when the second survey was printed,without any help from outside,"
    "as the letters of that year show,although most of the records were lost in a fire"
)


@dataclass(frozen=True, slots=True)
class ColumnPage:
    """A page of two columns and its blocks in one right order; a sidebar and notes may come elsewhere, too."""

    name: str
    page: DrawnPage
    blocks: tuple[Block, ...]

    def orders(self) -> Iterator[str]:
        """The texts that a reader may make of it: the sidebar between any two blocks, notes behind their column."""
        fixed = [block for block in self.blocks if block[0] not in ("sidebar", "note")]
        sidebars = [text for kind, text in self.blocks if kind == "sidebar"]
        notes = [text for kind, text in self.blocks if kind == "note"]
        ends = [at + 1 for at, block in enumerate(fixed) if block[0] == "column"]
        for place in {ends[-1], *ends[-2:]} if notes else {ends[-1]}:
            with_notes = [*(text for _, text in fixed[:place]), *notes, *(text for _, text in fixed[place:])]
            if not sidebars:
                yield "\n".join(with_notes)
            for at in range(len(with_notes) + 1) if sidebars else ():
                yield "\n".join([*with_notes[:at], *sidebars, *with_notes[at:]])


def _sentences(rng: random.Random, count: int) -> str:
    return " ".join(
        f"{rng.choice(_SUBJECTS.split(','))} {rng.choice(_VERBS.split(','))} {rng.choice(_ENDS.split(','))}."
        for _ in range(count)
    )


def _fill_column(
    page: DrawnPage, rng: random.Random, x: float, top: float, bottom: float, width: float, face: str, size: float
) -> str:
    """Paragraphs of one column, and their text."""
    words: list[str] = []
    y, leading = top, 1.3 * size
    while y < bottom:
        for line in wrapped_lines(_sentences(rng, rng.randint(2, 5)), face, size, width):
            if y >= bottom:
                break
            page.write(x, y, line, face, size)
            words.append(line)
            y += leading
        y += 0.6 * leading
    return " ".join(words)


def _paper(rng: random.Random, at: int) -> ColumnPage:
    """A page of a journal: running header, headline over both columns on some, notes at the foot of the page."""
    face, size = rng.choice((SERIF, SANS)), rng.choice((9.0, 10.0))
    page = DrawnPage(rng.choice((A4, LETTER)))
    width, height = page.size
    left, gutter = 54.0, rng.choice((14.0, 18.0, 24.0))
    column = (width - 2 * left - gutter) / 2
    blocks: list[Block] = []
    header = f"Journal of Local History {rng.randint(2, 40)}"
    page.write(left, 36, header, face, 8)
    blocks.append(("header", header))
    y = 70.0
    if at % 2 == 0:
        title = "What the letters of the harbour master tell us"
        page.write(width / 2, y + 10, title, f"{face}-Bold", 17, "center")
        blocks.append(("headline", title))
        y += 44
    bottom = height - (130 if at % 3 == 0 else 80)
    for x in (left, left + column + gutter):
        blocks.append(("column", _fill_column(page, rng, x, y, bottom, column, face, size)))
    if at % 3 == 0:
        note = f"1 {_sentences(rng, 2)}"
        page.rules.append((left, bottom + 14, left + 120, bottom + 14, 0.5))
        page.paragraph(left, bottom + 28, note, face, 7.5, width - 2 * left)
        blocks.append(("note", note))
    footer = str(rng.randint(20, 400))
    page.write(width / 2, height - 36, footer, face, 8, "center")
    blocks.append(("footer", footer))
    return ColumnPage(f"{at:02d}-paper", page, tuple(blocks))


def _bulletin(rng: random.Random, at: int) -> ColumnPage:
    """A bulletin: two stories, each under its own headline over both columns."""
    face, size = rng.choice((SANS, CONDENSED)), rng.choice((9.5, 10.5))
    page = DrawnPage(A4)
    width, height = page.size
    left, gutter = 60.0, rng.choice((16.0, 22.0, 30.0))
    column = (width - 2 * left - gutter) / 2
    header = "The Parish Bulletin"
    page.write(width - left, 40, header, face, 8.5, "right")
    blocks: list[Block] = [("header", header)]
    middle = rng.uniform(0.42, 0.56) * height
    titles = ("Bridge to be closed until the autumn", "A record year for the lending library")
    for title, top, bottom in zip(titles, (70.0, middle), (middle - 30, height - 70), strict=True):
        page.write(left, top + 14, title, f"{face}-Bold", 15)
        blocks.append(("headline", title))
        for x in (left, left + column + gutter):
            blocks.append(("column", _fill_column(page, rng, x, top + 40, bottom, column, face, size)))
    footer = f"Page {rng.randint(2, 40)}"
    page.write(left, height - 34, footer, face, 8)
    return ColumnPage(f"{at:02d}-bulletin", page, (*blocks, ("footer", footer)))


def _handbook(rng: random.Random, at: int) -> ColumnPage:
    """A handbook: two columns, a shaded sidebar at the outer edge, notes below the right column."""
    face, size = rng.choice((SERIF, SANS)), 9.0
    page = DrawnPage(A4)
    width, height = page.size
    left, gutter, side = 48.0, 18.0, 120.0
    column = (width - 2 * left - 2 * gutter - side) / 2
    header = f"Handbook for wardens, part {rng.randint(1, 9)}"
    page.write(left, 38, header, face, 8)
    blocks: list[Block] = [("header", header)]
    title = "Keeping the records of a small archive"
    page.write(left, 84, title, f"{face}-Bold", 16)
    blocks.append(("headline", title))
    bottom = height - 140
    for x in (left, left + column + gutter):
        blocks.append(("column", _fill_column(page, rng, x, 116, bottom, column, face, size)))
    note = f"2 {_sentences(rng, 1)}"
    page.paragraph(left + column + gutter, bottom + 26, note, face, 7.5, column)
    blocks.append(("note", note))
    x, top = width - left - side, 150.0
    sidebar = _sentences(rng, 4)
    lines = wrapped_lines(sidebar, face, 8.5, side - 16)
    page.shades.append((x, top - 16, x + side, top + 12 * len(lines), 0.92))
    for number, line in enumerate(lines):
        page.write(x + 8, top + 11.5 * number, line, face, 8.5)
    blocks.append(("sidebar", " ".join(lines)))
    footer = f"{rng.randint(3, 90)} Handbook"
    page.write(width / 2, height - 40, footer, face, 8, "center")
    return ColumnPage(f"{at:02d}-handbook", page, (*blocks, ("footer", footer)))


def _minutes(rng: random.Random, at: int) -> ColumnPage:
    """Minutes: a lead over both columns, columns of unequal height, a closing line over both."""
    face, size = rng.choice((SERIF, CONDENSED)), rng.choice((9.0, 10.0))
    page = DrawnPage(LETTER)
    width, height = page.size
    left, gutter = 64.0, rng.choice((15.0, 20.0))
    column = (width - 2 * left - gutter) / 2
    blocks: list[Block] = []
    title = "Minutes of the general meeting"
    page.write(left, 62, title, f"{face}-Bold", 14)
    lead = _sentences(rng, 3)
    y = page.paragraph(left, 88, lead, face, size, width - 2 * left)
    blocks += [("headline", title), ("headline", lead)]
    bottom = height - 150
    for x, end in ((left, bottom), (left + column + gutter, bottom - rng.uniform(60, 200))):
        blocks.append(("column", _fill_column(page, rng, x, y + 16, end, column, face, size)))
    close = _sentences(rng, 2)
    page.paragraph(left, bottom + 34, close, face, size, width - 2 * left)
    footer = f"Approved and signed, sheet {rng.randint(2, 30)}"
    page.write(width - left, height - 38, footer, face, 8, "right")
    return ColumnPage(f"{at:02d}-minutes", page, (*blocks, ("headline", close), ("footer", footer)))


def _gazette(rng: random.Random, at: int) -> ColumnPage:
    """A gazette: short notices in two columns, each under a bold line of its own, and a note over both columns."""
    face, size = rng.choice((SERIF, SANS)), rng.choice((8.5, 9.5))
    page = DrawnPage(A4)
    width, height = page.size
    left, gutter = 52.0, rng.choice((16.0, 24.0))
    column = (width - 2 * left - gutter) / 2
    header = f"Official Gazette No. {rng.randint(100, 400)}"
    page.write(width / 2, 40, header, face, 9, "center")
    page.rules.append((left, 50, width - left, 50, 0.7))
    blocks: list[Block] = [("header", header)]
    bottom = height - 120
    for x in (left, left + column + gutter):
        words: list[str] = []
        y = 78.0
        while y < bottom - 60:
            name = f"Notice {rng.randint(100, 999)}"
            page.write(x, y, name, f"{face}-Bold", size)
            end = min(bottom, y + rng.uniform(60, 150))
            words += [name, _fill_column(page, rng, x, y + 1.5 * size, end, column, face, size)]
            y = end + 2.4 * size
        blocks.append(("column", " ".join(words)))
    note = f"3 {_sentences(rng, 2)}"
    page.paragraph(left, bottom + 34, note, face, 7.5, width - 2 * left)
    blocks.append(("note", note))
    footer = f"{rng.randint(3, 90)}"
    page.write(width - left, height - 40, footer, face, 8, "right")
    return ColumnPage(f"{at:02d}-gazette", page, (*blocks, ("footer", footer)))


def _magazine(rng: random.Random, at: int) -> ColumnPage:
    """A magazine: an inset at the left edge of the left column, bold headings in both, a note under the left one."""
    face, size = rng.choice((SERIF, CONDENSED)), rng.choice((9.0, 10.0))
    page = DrawnPage(LETTER)
    width, height = page.size
    left, gutter, side = 50.0, rng.choice((14.0, 20.0)), 110.0
    header = f"Garden and Field, issue {rng.randint(2, 90)}"
    page.write(width - left, 34, header, face, 8, "right")
    start = left + side + gutter
    column = (width - left - start - gutter) / 2
    title = rng.choice(("Orchards on the northern slopes", "How the mills came back"))
    page.write(start, 76, title, f"{face}-Bold", 16)
    blocks: list[Block] = [("header", header), ("headline", title)]
    bottom = height - 150
    for x in (start, start + column + gutter):
        words: list[str] = []
        y = 104.0
        while y < bottom - 70:
            name = rng.choice(("Soil and water", "First results", "A long dispute", "The second year"))
            page.write(x, y, name, f"{face}-Bold", size + 1)
            end = min(bottom, y + rng.uniform(90, 220))
            words += [name, _fill_column(page, rng, x, y + 1.6 * size, end, column, face, size)]
            y = end + 2.6 * size
        blocks.append(("column", " ".join(words)))
    note = f"* {_sentences(rng, 1)}"
    page.rules.append((start, bottom + 22, start + 80, bottom + 22, 0.5))
    page.paragraph(start, bottom + 38, note, face, 7.5, column)
    blocks.append(("note", note))
    inset = _sentences(rng, 3)
    lines = wrapped_lines(inset, f"{face}-Bold", 9.5, side - 14)
    top = rng.uniform(200, 380)
    for edge in (top - 16, top + 13 * len(lines)):
        page.rules.append((left, edge, left + side, edge, 1.2))
    for number, line in enumerate(lines):
        page.write(left + 4, top + 12.5 * number, line, f"{face}-Bold", 9.5)
    blocks.append(("sidebar", " ".join(lines)))
    footer = f"{rng.randint(3, 90)}"
    page.write(left, height - 36, footer, face, 8)
    return ColumnPage(f"{at:02d}-magazine", page, (*blocks, ("footer", footer)))


MakeColumns = Callable[[random.Random, int], ColumnPage]
DEVELOPED: tuple[MakeColumns, ...] = (_paper, _minutes, _magazine)
"""Pages that rules may be chosen on."""
JUDGED: tuple[MakeColumns, ...] = (_bulletin, _handbook, _gazette)
"""Pages that no rule is chosen on."""


def column_pages(seed: int, makes: tuple[MakeColumns, ...], count: int) -> list[ColumnPage]:
    """So many pages of these kinds in turn."""
    return [makes[at % len(makes)](random.Random(f"{seed}/columns/{at}"), at) for at in range(count)]
