"""Generated ledgers in the formats that people keep them in, and questions whose answers pandas works out.

Beside them questions to public files (forms, sheets, CSV) whose answers were read by a person. No value is a copy.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import docx
import pandas as pd
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from tests.evals.look_alikes import GeneratedForm

Answer = float | tuple[str, ...]  # a number, or all that has to stand in the answer


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question to tables; `absent` must not stand in the answer, `files` are those that may be cited."""

    kind: str  # lookup, filter, sum, count, average, extreme or latest
    text: str
    answer: Answer
    files: tuple[str, ...]
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """A table, its file and what is asked of it."""

    name: str
    rows: pd.DataFrame
    write: Callable[[Path, pd.DataFrame], None]
    ask: Callable[[pd.DataFrame], Iterator[tuple[str, str, Answer, tuple[str, ...]]]]

    def questions(self) -> list[TableQuestion]:
        """Those whose answers follow from the rows."""
        return [TableQuestion(kind, text, answer, (self.name,), no) for kind, text, answer, no in self.ask(self.rows)]


def ledgers(seed: int = 5) -> list[Ledger]:
    """All of them."""
    rng = random.Random(seed)
    return [
        Ledger("orders-north.xlsx", _orders(rng), _write_orders, _ask_orders),
        Ledger("travel-expenses.csv", _expenses(rng), _write_expenses, _ask_expenses),
        Ledger("staff-register.md", _staff(rng), _write_markdown, _ask_staff),
        Ledger("warehouse-stock.docx", _stock(rng), _write_docx, _ask_stock),
        Ledger("energy-report.pdf", _energy(rng), _write_energy, _ask_energy),
    ]


def write_ledgers(made: Sequence[Ledger], folder: Path) -> None:
    """Each as a file of its format."""
    for one in made:
        one.write(folder / one.name, one.rows)


def _orders(rng: random.Random) -> pd.DataFrame:
    rows = []
    for number in range(240):
        product, price = rng.choice((("Anvil", 310.0), ("Bellows", 84.5), ("Chisel", 12.25), ("Drill", 149.9)))
        count = rng.randrange(1, 60)
        rows.append(
            {
                "Order No": f"A-{1000 + number}",
                "Order Date": date(2023, 1, 2) + timedelta(days=rng.randrange(360)),
                "Customer": rng.choice(("Harbour Steel", "Iris Textiles", "Orchid Hotels", "Poplar Energy")),
                "Region": rng.choice(("Coast", "Valley", "Highland")),
                "Product": product,
                "Quantity": count,
                "Amount": round(count * price, 2),
            }
        )
    return pd.DataFrame(rows)


def _write_orders(path: Path, rows: pd.DataFrame) -> None:
    """A sheet that ends in a row of totals, as people write them."""
    total = {"Order No": "Total", "Quantity": rows["Quantity"].sum(), "Amount": rows["Amount"].sum()}
    pd.concat([rows, pd.DataFrame([total])]).to_excel(path, sheet_name="Orders", index=False)


def _ask_orders(rows: pd.DataFrame) -> Iterator[tuple[str, str, Answer, tuple[str, ...]]]:
    days = pd.to_datetime(rows["Order Date"])
    coast, iris = rows[rows["Region"] == "Coast"], rows[rows["Customer"] == "Iris Textiles"]
    one, top = rows.iloc[17], rows.loc[rows["Amount"].idxmax()]
    march = rows[days.dt.month == 3]
    large = rows[rows["Amount"] > 17000]
    yield "lookup", f"What is the amount of order {one['Order No']}?", one["Amount"], ()
    yield "lookup", f"Which customer placed order {rows.iloc[101]['Order No']}?", (rows.iloc[101]["Customer"],), ()
    yield "sum", "What is the total amount of all orders?", rows["Amount"].sum(), ()
    yield "sum", "What is the total amount of the orders from the Coast region?", coast["Amount"].sum(), ()
    yield (
        "sum",
        "What is the total quantity of anvils ordered?",
        float(rows[rows["Product"] == "Anvil"]["Quantity"].sum()),
        (),
    )
    yield (
        "sum",
        "How much did Iris Textiles order in total in March 2023?",
        iris[days[iris.index].dt.month == 3]["Amount"].sum(),
        (),
    )
    yield "count", "How many orders are there from the Valley region?", float((rows["Region"] == "Valley").sum()), ()
    yield "count", "How many orders were placed in March 2023?", float(len(march)), ()
    yield "count", "How many different customers are there in the orders?", float(rows["Customer"].nunique()), ()
    yield (
        "filter",
        "Which orders have an amount over 17,000?",
        tuple(large["Order No"]),
        tuple(rows[rows["Amount"] < 15000]["Order No"][:40]),
    )
    yield (
        "average",
        "What is the average amount of the orders from Poplar Energy?",
        rows[rows["Customer"] == "Poplar Energy"]["Amount"].mean(),
        (),
    )
    yield "extreme", "Which order has the highest amount?", (top["Order No"],), ()
    by_region = rows.groupby("Region")["Amount"].sum()
    yield (
        "extreme",
        "Which region has the highest total amount?",
        (str(by_region.idxmax()),),
        tuple(by_region.index.drop(by_region.idxmax())),
    )


def _expenses(rng: random.Random) -> pd.DataFrame:
    rows = []
    for _ in range(90):
        rows.append(
            {
                "Date": date(2024, 1, 5) + timedelta(days=rng.randrange(330)),
                "Employee": rng.choice(("Ada Quist", "Ben Thorne", "Cora Vance", "Dev Malik")),
                "Category": rng.choice(("Hotel", "Train", "Flight", "Meals")),
                "City": rng.choice(("Porto", "Bergen", "Graz")),
                "Cost (EUR)": round(rng.uniform(12, 1900), 2),
            }
        )
    return pd.DataFrame(rows)


def _write_expenses(path: Path, rows: pd.DataFrame) -> None:
    """Semicolons, decimal commas and points between thousands."""
    shown = rows.assign(
        Date=[f"{day:%d.%m.%Y}" for day in rows["Date"]],
        **{"Cost (EUR)": [f"{cost:,.2f}".translate(str.maketrans(",.", ".,")) for cost in rows["Cost (EUR)"]]},
    )
    shown.to_csv(path, sep=";", index=False)


def _ask_expenses(rows: pd.DataFrame) -> Iterator[tuple[str, str, Answer, tuple[str, ...]]]:
    cost, days = rows["Cost (EUR)"], pd.to_datetime(rows["Date"])
    last = rows.loc[days.idxmax()]
    dear = rows[cost > 1500]
    yield "sum", "What was the total cost of the travel expenses in Bergen?", cost[rows["City"] == "Bergen"].sum(), ()
    yield (
        "sum",
        "How much did Ada Quist spend on hotels?",
        cost[(rows["Employee"] == "Ada Quist") & (rows["Category"] == "Hotel")].sum(),
        (),
    )
    yield (
        "sum",
        "What is the sum of the train costs in the second quarter of 2024?",
        cost[(rows["Category"] == "Train") & (days.dt.quarter == 2)].sum(),
        (),
    )
    yield (
        "count",
        "How many flights did Dev Malik take?",
        float(((rows["Employee"] == "Dev Malik") & (rows["Category"] == "Flight")).sum()),
        (),
    )
    yield "count", "How many travel expenses cost more than 1,500 euros?", float(len(dear)), ()
    yield "average", "What is the average cost of meals?", cost[rows["Category"] == "Meals"].mean(), ()
    yield "latest", "What is the latest travel expense?", (f"{last['Date']:%d.%m.%Y}",), ()
    by_person = rows.assign(cost=cost).groupby("Employee")["cost"].sum()
    yield (
        "extreme",
        "Which employee has the highest total cost?",
        (str(by_person.idxmax()),),
        tuple(by_person.index.drop(by_person.idxmax())),
    )


def _staff(rng: random.Random) -> pd.DataFrame:
    first = ["Gia", "Hal", "Ines", "Jon", "Kaya", "Leo", "Mona", "Nils", "Olga", "Pia", "Quin", "Rosa", "Sven", "Tara"]
    last = [
        "Romano",
        "Brandt",
        "Duarte",
        "Petrov",
        "Aydin",
        "Marchetti",
        "Field",
        "Berg",
        "Novak",
        "Lund",
        "Moss",
        "Diaz",
    ]
    last += ["Ek", "Singh"]
    names = [f"{one} {other}" for one, other in zip(first, last, strict=True)]
    return pd.DataFrame(
        {
            "Name": name,
            "Department": rng.choice(("Sales", "Research", "Logistics")),
            "Site": rng.choice(("Aarhus", "Basel", "Cork")),
            "Joined": date(2009, 1, 1) + timedelta(days=rng.randrange(5000)),
            "Salary": rng.randrange(38, 120) * 1000,
        }
        for name in names
    )


def _write_markdown(path: Path, rows: pd.DataFrame) -> None:
    shown = rows.assign(Salary=[f"{one:,}" for one in rows["Salary"]])
    lines = ["# Staff register", "", "All people employed at the end of the year.", ""]
    lines += ["| " + " | ".join(shown.columns) + " |", "|" + " --- |" * len(shown.columns)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in shown.itertuples(index=False)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _ask_staff(rows: pd.DataFrame) -> Iterator[tuple[str, str, Answer, tuple[str, ...]]]:
    newest, paid = rows.loc[rows["Joined"].idxmax()], rows.loc[rows["Salary"].idxmin()]
    high = rows[rows["Salary"] > 90000]
    yield "lookup", f"What is the salary of {rows.iloc[4]['Name']}?", float(rows.iloc[4]["Salary"]), ()
    yield "lookup", f"When did {rows.iloc[9]['Name']} join?", (str(rows.iloc[9]["Joined"]),), ()
    yield "count", "How many people work in Research?", float((rows["Department"] == "Research").sum()), ()
    yield (
        "count",
        "How many people joined before 2015?",
        float((pd.to_datetime(rows["Joined"]) < "2015-01-01").sum()),
        (),
    )
    yield "filter", "Who has a salary over 90,000?", tuple(high["Name"]), tuple(rows[rows["Salary"] <= 90000]["Name"])
    yield (
        "sum",
        "What is the total salary of the people at the Basel site?",
        float(rows[rows["Site"] == "Basel"]["Salary"].sum()),
        (),
    )
    yield "extreme", "Who has the lowest salary?", (paid["Name"],), ()
    yield "latest", "Who joined most recently?", (newest["Name"],), ()


def _stock(rng: random.Random) -> pd.DataFrame:
    goods = ["Gaskets", "Valves", "Work lamps", "Drive belts", "Filter cartridges", "Cable drums", "Bearing sets"]
    return pd.DataFrame(
        {
            "Item": one,
            "Warehouse": house,
            "Quantity": rng.randrange(0, 400),
            "Reorder level": rng.choice((20, 50, 100)),
            "Value": f"£{rng.randrange(90, 30000):,}",
        }
        for one in goods
        for house in ("Dock 4", "Mill Road")
    )


def _write_docx(path: Path, rows: pd.DataFrame) -> None:
    document = docx.Document()
    document.add_heading("Warehouse stock", 1)
    document.add_paragraph("Counted at the end of June.")
    table = document.add_table(rows=1, cols=len(rows.columns))
    for cell, name in zip(table.rows[0].cells, rows.columns, strict=True):
        cell.text = name
    for row in rows.itertuples(index=False):
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = str(value)
    document.save(str(path))


def _ask_stock(rows: pd.DataFrame) -> Iterator[tuple[str, str, Answer, tuple[str, ...]]]:
    value = rows["Value"].str.replace("[£,]", "", regex=True).astype(float)
    dock = rows["Warehouse"] == "Dock 4"
    most = rows[dock].loc[rows[dock]["Quantity"].idxmax()]
    few = rows[(rows["Quantity"] < 60) & dock]
    valves = rows[(rows["Item"] == "Valves") & ~dock].iloc[0]
    yield "lookup", "What is the quantity of valves in the Mill Road warehouse?", float(valves["Quantity"]), ()
    yield "sum", "What is the total value of the stock in Dock 4?", value[dock].sum(), ()
    yield (
        "sum",
        "How many gaskets do the warehouses have in total?",
        float(rows[rows["Item"] == "Gaskets"]["Quantity"].sum()),
        (),
    )
    yield (
        "count",
        "How many items in Mill Road have a quantity under 60?",
        float(((rows["Quantity"] < 60) & ~dock).sum()),
        (),
    )
    yield (
        "filter",
        "Which items in Dock 4 have a quantity below 60?",
        tuple(few["Item"]),
        tuple(rows[(rows["Quantity"] >= 60) & dock]["Item"]),
    )
    yield "extreme", "Which item in Dock 4 has the largest quantity?", (most["Item"],), ()


def _energy(rng: random.Random) -> pd.DataFrame:
    months = [f"{date(2022, number, 1):%B}" for number in range(1, 13)]
    return pd.DataFrame(
        {
            "Site": site,
            "Month": month,
            "Electricity (kWh)": rng.randrange(4000, 20000),
            "Gas (kWh)": rng.randrange(500, 9000),
            "Cost": rng.randrange(900, 7000),
        }
        for site in ("Aarhus", "Basel", "Cork", "Delft")
        for month in months
    )


def _write_energy(path: Path, rows: pd.DataFrame) -> None:
    """A table over two pages, with a subtotal for each site."""
    numbers = ["Electricity (kWh)", "Gas (kWh)", "Cost"]
    lines = [list(rows.columns)]
    for site, own in rows.groupby("Site", sort=False):
        lines += [[*map(str, row[:2]), *(f"{one:,}" for one in row[2:])] for row in own.itertuples(index=False)]
        lines.append([f"Subtotal {site}", "", *(f"{own[name].sum():,}" for name in numbers)])
    lines.append(["Grand total", "", *(f"{rows[name].sum():,}" for name in numbers)])
    table = Table(lines, repeatRows=1, style=[("GRID", (0, 0), (-1, -1), 0.5, "black")])
    SimpleDocTemplate(str(path), pagesize=A4, invariant=1).build(
        [Paragraph("Energy report 2022", getSampleStyleSheet()["Title"]), table]
    )


def _ask_energy(rows: pd.DataFrame) -> Iterator[tuple[str, str, Answer, tuple[str, ...]]]:
    cork, top = rows[rows["Site"] == "Cork"], rows.loc[rows["Gas (kWh)"].idxmax()]
    may = rows[(rows["Site"] == "Delft") & (rows["Month"] == "May")].iloc[0]
    yield "lookup", "What was the cost in Delft in May?", float(may["Cost"]), ()
    yield (
        "sum",
        "What was the total electricity of all sites in the energy report?",
        float(rows["Electricity (kWh)"].sum()),
        (),
    )
    yield "sum", "What was the total cost in Cork?", float(cork["Cost"].sum()), ()
    yield "average", "What is the average cost in Basel?", rows[rows["Site"] == "Basel"]["Cost"].mean(), ()
    yield (
        "extreme",
        "In which month was the gas highest in Aarhus?",
        (rows[rows["Site"] == "Aarhus"].set_index("Month")["Gas (kWh)"].idxmax(),),
        (),
    )
    yield "extreme", "Which site has the highest gas in a month?", (top["Site"],), ()
    yield "count", "In how many months did Cork have a cost of more than 4,000?", float((cork["Cost"] > 4000).sum()), ()


def invoice_questions(forms: Sequence[GeneratedForm]) -> list[TableQuestion]:
    """Questions to the fields of all invoices together."""
    totals = {
        re.sub(r"\D", "", one.text): float(one.answers[0])
        for form in forms
        for one in form.questions
        if one.kind == "invoice total"
    }
    files = tuple(form.name for form in forms)
    by_code = {re.sub(r"\D", "", form.questions[0].text): form.name for form in forms}
    large = {code for code, total in totals.items() if total > 10_000}
    yes, no = (tuple(name for code, name in by_code.items() if (code in large) is wanted) for wanted in (True, False))
    return [
        TableQuestion("sum", "What is the total due of all invoices?", sum(totals.values()), files),
        TableQuestion("filter", "Which invoices have a total due over 10,000?", yes, files, no),
        TableQuestion("count", "How many invoices have a total due over 10,000?", float(len(large)), files),
    ]


_DUCKS, _TEAMS = ("docling__xlsx_03_chartsheet.xlsx",), ("unstructured__stanley-cups.csv",)
_PEOPLE = ("docling__csv-comma.csv",)
SHEETS = (*_DUCKS, *_TEAMS, *_PEOPLE)  # files of `ingest/` that the questions below are about
SHEET_QUESTIONS = (
    TableQuestion("lookup", "How many saltwater ducks were there in 2021?", 100, _DUCKS),
    TableQuestion("sum", "How many freshwater ducks were seen in total?", 915, _DUCKS),
    TableQuestion("average", "What is the average number of saltwater ducks?", 105.83, _DUCKS),
    TableQuestion("extreme", "In which year were there the most freshwater ducks?", ("2024",), _DUCKS),
    TableQuestion("filter", "In which years were there more than 140 freshwater ducks?",
                  ("2021", "2022", "2023", "2024"), _DUCKS, ("2019", "2020")),
    TableQuestion("extreme", "Which team has won the most Stanley Cups?", ("Maple Leafs",), _TEAMS, ("Blues",)),
    TableQuestion("sum", "How many Stanley Cups do all teams have in total?", 16, _TEAMS),
    TableQuestion("lookup", "Which company is in Chile?", ("Rasmussen Group",), _PEOPLE),
    TableQuestion("count", "How many customers subscribed in 2020?", 3, _PEOPLE),
)  # fmt: skip
REPORT_QUESTIONS = (
    TableQuestion("count", "How many of the aircraft were destroyed?", 3, ()),
    TableQuestion("count", "How many accidents were there in December 2007?", 7, ()),
    TableQuestion("count", "How many of the accident aircraft had a tailwheel landing gear?", 3, ()),
    TableQuestion("count", "How many reports have Todd G Gunther as the investigator in charge?", 2, ()),
    TableQuestion(
        "filter",
        "Which aircraft were destroyed?",
        ("Reims F172", "Cessna 172", "Air Tractor AT-401"),
        (),
        ("Bombardier",),
    ),
    TableQuestion("extreme", "What is the highest certified max gross weight of the aircraft?", 9000, ()),
    TableQuestion("extreme", "Which accident had the longest runway?", ("4999",), ()),
    TableQuestion("latest", "What is the location of the latest accident?", ("Boquete",), ()),
    TableQuestion("filter", "In which accidents was the pilot older than 60?", ("85", "61", "67"), (), ("17,", "40,")),
)
