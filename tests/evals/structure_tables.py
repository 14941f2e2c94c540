"""Pages of generated tables between texts, in two sets: one to choose rules on, and one to judge them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.evals.structure_drawing import A4, CONDENSED, LANDSCAPE, LETTER, SANS, SERIF, DrawnPage, text_width
from tests.evals.structure_layout import Rows, TableLayout, TableSketch, TrueTable, draw_table


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page and the tables that stand on it, from the top."""

    name: str
    page: DrawnPage
    tables: tuple[TrueTable, ...]


_SENTENCES = (
    "The figures below were taken from the books of the association and were checked by two members.",
    "All amounts are rounded, so that sums may differ a little from what the single lines give.",
    "The board asks every branch to send its remarks before the end of the month.",
    "Where nothing is entered the value was not measured, or arrived too late to be printed here.",
    "A longer account of the year can be had from the office in the second floor of the building.",
    "Visitors who wish to see the workshop are welcome on any weekday between nine and noon.",
    "The new pump was tested for three weeks and has been in regular use since then.",
    "It was agreed that the next survey will follow the same plan as this one did.",
    "The committee thanks all those who have helped with the count and with the printing.",
    "Changes against the last issue are explained in the notes at the end of the report.",
)


def prose(rng: random.Random, sentences: int) -> str:
    """Running text of so many sentences."""
    return " ".join(rng.choice(_SENTENCES) for _ in range(sentences))


def _money(rng: random.Random, most: int = 90_000) -> str:
    return f"{rng.randint(10, most) + rng.randint(0, 99) / 100:,.2f}"


def _count(rng: random.Random, most: int = 9_000) -> str:
    return f"{rng.randint(1, most):,}"


def _sparse(rng: random.Random, rows: Rows, share: float, first: int = 1) -> None:
    """Cells of the body, the first column aside, that hold nothing; a row keeps two cells at least."""
    for row in rows:
        for column in range(1, len(row)):
            if rng.random() < share and sum(bool(text) for text in row) > 2:
                row[column] = ""


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


_GOODS = _words(
    "Copper pipe, Ball valve, Hex bolt, Rubber seal, Steel bracket, Oil filter, Drive belt, Brass elbow, Cable gland, "
    "Pressure gauge, Fuse holder, Lamp socket, Wall anchor, Door hinge, Angle grinder, Floor drain, Water meter, "
    "Roof tile, Paint roller, Sand paper, Wood screw, Glass pane, Air vent, Hose clamp, Work glove, Chalk line"
)
_COSTS = _words(
    "Wages and salaries, Rent, Heating, Electricity, Insurance, Repairs, Travel, Postage, Training, Legal advice, "
    "Cleaning, Office supplies, Software licences, Depreciation, Bank charges, Advertising, Vehicle fuel, Donations, "
    "Membership fees, Security, Waste removal, Telephone, Catering, Audit, Subscriptions, Water, Taxes, Freight"
)
_TOWNS = _words(
    "Ashford, Brinton, Calder Bay, Dunmore, Eastleigh, Fernwood, Granby, Hillcrest, Ivybridge, Jarrow, Kelton, "
    "Lakeside, Marlow, Northgate, Oakham, Penrith, Quarry Hill, Redcliff, Stanton, Tilbury, Upton, Verwood, Westport, "
    "Yarm, Alston, Barrow, Corby, Denby, Elmstead, Formby"
)
_PEOPLE = _words(
    "Anna Berger, Tom Okafor, Lucy Hale, Peter Novak, Maria Santos, James Reid, Elena Petrova, David Kim, Sara Lind, "
    "Omar Haddad, Julia Weiss, Mark Dunne, Ruth Adler, Paul Moreau, Nina Rossi, Eric Olsen, Grace Obi, Hugo Brandt, "
    "Irene Costa, Leo Fischer, Mona Ali, Noah Grant, Olga Ivanova, Quinn Foster, Rosa Marin, Simon Beck"
)
_MONTHS = _words("January, February, March, April, May, June, July, August, September, October, November, December")


def _stock_list(rng: random.Random) -> TableSketch:
    rows = [["Article", "Code", "In stock", "Unit", "Price (EUR)"]]
    for name in rng.sample(_GOODS, rng.randint(6, 22)):
        unit = rng.choice(("pcs", "m", "kg", "box"))
        rows.append([name, f"{rng.choice('ABCK')}{rng.randint(100, 999)}", _count(rng), unit, _money(rng, 400)])
    _sparse(rng, rows[1:], 0.06)
    return TableSketch(rows, ("left", "left", "right", "left", "right"), title="Stock of the central store")


def _income(rng: random.Random) -> TableSketch:
    years = rng.sample(range(2015, 2026), 2)
    rows = [["", str(years[0]), "", str(years[1]), ""], ["Item", "Plan", "Actual", "Plan", "Actual"]]
    rows += [[name, *(_count(rng, 90_000) for _ in range(4))] for name in rng.sample(_COSTS, rng.randint(5, 16))]
    rows.append(["Total", *(_count(rng, 900_000) for _ in range(4))])
    _sparse(rng, rows[2:-1], 0.05)
    spans = ((0, 1, 2), (0, 3, 4))
    return TableSketch(rows, ("left", *["right"] * 4), spans, 2, total=True, title="Expenses in thousand EUR")


def _samples(rng: random.Random) -> TableSketch:
    count = rng.randint(4, 8)
    heads = ["pH", "Iron (mg/l)", "Lead (mg/l)", "Nitrate (mg/l)", "Oxygen (%)", "Depth (m)", "Flow (l/s)"][: count - 1]
    rows = [["Sample", *heads]]
    for number in range(rng.randint(5, 26)):
        rows.append([f"S-{number + 11}", *(f"{rng.uniform(0.1, 60):.{rng.choice((1, 2))}f}" for _ in heads)])
    _sparse(rng, rows[1:], 0.1)
    return TableSketch(rows, ("left", *["decimal"] * len(heads)), title="Water samples of the southern well field")


def _departures(rng: random.Random) -> TableSketch:
    stops = rng.sample(_TOWNS, rng.randint(4, 14))
    runs = rng.randint(3, 7)
    rows = [["Stop", *(f"Bus {10 + at}" for at in range(runs))]]
    for at, stop in enumerate(stops):
        rows.append([stop, *(f"{6 + 2 * run:02d}:{4 * at % 60:02d}" for run in range(runs))])
    _sparse(rng, rows[1:], 0.08)
    return TableSketch(rows, ("left", *["center"] * runs), title="Weekday services")


def _works(rng: random.Random) -> TableSketch:
    tasks = [
        f"{verb} the {noun} in the {place} wing"
        for verb in ("Replace", "Inspect", "Repaint")
        for noun in ("boiler", "stairs", "windows")
        for place in ("north", "east")
    ]
    rows = [["No.", "Work", "Contractor", "Hours", "Cost"]]
    for number, task in enumerate(rng.sample(tasks, rng.randint(4, 11)), 1):
        rows.append([str(number), task, f"{rng.choice(_TOWNS)} Ltd", str(rng.randint(2, 90)), _money(rng, 9000)])
    return TableSketch(rows, ("left", "left", "left", "right", "right"), title="Works of the summer", wrap=95.0)


def _prices(rng: random.Random) -> TableSketch:
    rows = [["Item no.", "Description", "Weight (kg)", "Net", "VAT 20 %", "Gross"]]
    for name in rng.sample(_GOODS, rng.randint(6, 20)):
        kind = rng.choice(("galvanised, with fittings", "spare part", "for outdoor use, set of four", "imported"))
        net = rng.uniform(2, 800)
        number = f"{rng.randint(10, 99)}-{rng.randint(1000, 9999)}"
        rows.append([number, f"{name}, {kind}", f"{rng.uniform(0.1, 40):.1f}", f"{net:.2f}", f"{net / 5:.2f}"])
        rows[-1].append(f"{net * 1.2:.2f}")
    _sparse(rng, rows[1:], 0.04, 2)
    return TableSketch(rows, ("left", "left", *["right"] * 4), title="Price list for members", wrap=110.0)


def _roster(rng: random.Random) -> TableSketch:
    rows = [["Name", "Post", "Branch", "Since", "Extension"]]
    posts = ("Clerk", "Foreman", "Nurse", "Driver", "Accountant", "Head of stores", "Engineer", "Librarian")
    for name in rng.sample(_PEOPLE, rng.randint(5, 20)):
        since = f"{rng.randint(1, 28)} {rng.choice(_MONTHS)[:3]} {rng.randint(1994, 2024)}"
        rows.append([name, rng.choice(posts), rng.choice(_TOWNS), since, str(rng.randint(100, 999))])
    _sparse(rng, rows[1:], 0.05)
    return TableSketch(rows, ("left", "left", "left", "left", "right"), title="Staff by branch")


def _ballots(rng: random.Random) -> TableSketch:
    parties = ["Blue", "Green", "Labour", "Centre"][: rng.randint(2, 4)]
    rows = [["", "", *(text for party in parties for text in (party, ""))]]
    rows.append(["District", "Turnout", *(text for _ in parties for text in ("Votes", "%"))])
    for town in rng.sample(_TOWNS, rng.randint(5, 26)):
        shares = [text for _ in parties for text in (_count(rng, 30_000), f"{rng.uniform(1, 60):.1f}")]
        rows.append([town, f"{rng.uniform(30, 90):.1f} %", *shares])
    rows.append(["All districts", "64.2 %", *(text for _ in parties for text in (_count(rng, 400_000), "25.0"))])
    spans = tuple((0, 2 + 2 * at, 3 + 2 * at) for at in range(len(parties)))
    return TableSketch(rows, ("left", *["right"] * (len(rows[0]) - 1)), spans, 2, total=True, title="Votes by district")


def _rainfall(rng: random.Random) -> TableSketch:
    stations = rng.sample(_TOWNS, rng.randint(3, 8))
    rows = [["Month", *(f"{name} (mm)" for name in stations)]]
    rows += [[month, *(f"{rng.uniform(0, 180):.1f}" for _ in stations)] for month in _MONTHS]
    rows.append(["Year", *(f"{rng.uniform(400, 1200):.1f}" for _ in stations)])
    _sparse(rng, rows[1:-1], 0.09)
    aligns = ("left", *["decimal"] * len(stations))
    return TableSketch(rows, aligns, total=True, title="Rainfall at the stations", wrap=58.0)


def _budget(rng: random.Random) -> TableSketch:
    rows = [["Budget line", "2023", "2024", "Change", "Share"]]
    for section in rng.sample(("Personnel", "Buildings", "Services", "Investments"), rng.randint(2, 3)):
        rows.append([section, "", "", "", ""])
        for name in rng.sample(_COSTS, rng.randint(2, 7)):
            change = f"{rng.choice(('+', '-'))}{rng.uniform(0, 20):.1f} %"
            rows.append([name, _money(rng), _money(rng), change, f"{rng.uniform(0, 30):.1f}"])
    rows.append(["Total", _money(rng, 900_000), _money(rng, 900_000), "+2.5 %", "100.0"])
    return TableSketch(rows, ("left", *["right"] * 4), total=True, title="Budget of the association")


def _league(rng: random.Random) -> TableSketch:
    rows = [["Pos.", "Club", "P", "W", "D", "L", "Goals", "Pts"]]
    for at, town in enumerate(rng.sample(_TOWNS, rng.randint(8, 20)), 1):
        won, drawn, lost = (rng.randint(1, 20) for _ in range(3))
        goals = f"{rng.randint(10, 80)}:{rng.randint(10, 80)}"
        record = (won + drawn + lost, won, drawn, lost)
        rows.append([str(at), f"{town} Rovers", *map(str, record), goals, str(3 * won + drawn)])
    return TableSketch(rows, ("right", "left", *["right"] * 6), title="Northern league, final standing")


Make = Callable[[random.Random], TableSketch]
DEVELOPED: tuple[Make, ...] = (_stock_list, _income, _samples, _departures, _works)
"""Tables that rules may be chosen on."""
JUDGED: tuple[Make, ...] = (_prices, _roster, _ballots, _rainfall, _budget, _league)
"""Tables that no rule is chosen on."""


def table_pages(seed: int, makes: Sequence[Make], count: int, rules: Sequence[str], scanned: bool) -> list[TablePage]:
    """So many pages, each with one or two tables between texts."""
    return [
        _table_page(random.Random(f"{seed}/{'+'.join(rules)}/{scanned}/{at}"), makes, at, rules, scanned)
        for at in range(count)
    ]


def _table_page(rng: random.Random, makes: Sequence[Make], at: int, rules: Sequence[str], scanned: bool) -> TablePage:
    face = rng.choice((SANS, SERIF, CONDENSED))
    page = DrawnPage(rng.choice((A4, A4, LETTER, LANDSCAPE)))
    width, height = page.size
    left, y = rng.uniform(48, 80), rng.uniform(60, 90)
    page.write(left, y, rng.choice(("Yearly report", "Notes of the board", "Annex 3", "Bulletin")), f"{face}-Bold", 15)
    y = page.paragraph(left, y + 28, prose(rng, rng.randint(1, 3)), face, 10, width - 2 * left)
    tables: list[TrueTable] = []
    for number in range(1 + (at % 4 == 3)):
        sketch, layout = _fitting(rng, makes[(at + number) % len(makes)], face, rules, width - 2 * left, scanned)
        rows = min(len(sketch.rows), int((height - y - 150) / (2.6 * layout.size)))
        if rows < 5:
            break
        sketch.rows = sketch.rows[:rows]
        y += rng.uniform(8, 18)
        page.write(left, y, f"Table {number + 1}: {sketch.title}", face, 10)
        x = left if layout.rules in ("none", "head", "rows") else left + layout.gutter / 2
        y = draw_table(page, sketch, layout, x, y + rng.uniform(8, 16)) + rng.uniform(20, 30)
        y = page.paragraph(left, y, prose(rng, rng.randint(1, 2)), face, 10, width - 2 * left)
        tables.append(TrueTable(sketch.rows, sketch.spans))
    page.write(width / 2, height - 36, f"Page {rng.randint(2, 60)}", face, 8, "center")
    return TablePage(f"{at:02d}-{'-'.join(rules)}", page, tuple(tables))


def _fitting(
    rng: random.Random, make: Make, face: str, rules: Sequence[str], room: float, scanned: bool
) -> tuple[TableSketch, TableLayout]:
    """A table, and a layout in which it is no wider than the page's text."""
    sketch = make(rng)
    layout = TableLayout(
        face=face,
        size=rng.choice((8.0, 9.0, 10.0)) + scanned,
        gutter=rng.choice((9.0, 12.0, 18.0, 26.0)),
        leading=rng.choice((1.35, 1.5, 1.8, 2.1)),
        rules=rng.choice(rules),
        bold_head=rng.random() < 0.7,
        shaded=rng.random() < 0.15,
    )
    while True:
        trial = DrawnPage()
        draw_table(trial, sketch, layout, 0.0, 0.0)
        right = max(x + text_width(text, font, size) for x, _, text, font, size in trial.texts)
        if right <= room:
            return sketch, layout
        if layout.gutter > 9.0:
            layout = replace(layout, gutter=9.0)
        elif layout.size > 7.5:
            layout = replace(layout, size=layout.size - 0.5)
        else:
            sketch.rows = [row[: len(row) - 1 - (len(row) % 2 == 0)] for row in sketch.rows]
            sketch.spans = tuple(span for span in sketch.spans if span[2] < len(sketch.rows[0]))
