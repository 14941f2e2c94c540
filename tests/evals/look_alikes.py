"""Generated documents of one form each, alike but for what they are about, with questions whose answers are known.

Accident reports, invoices, leases and inspection sheets: none is a copy of anything, all values come from a seed.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Table

TOWNS = """Bend, OR|Ogden, UT|Provo, UT|Boise, ID|Nampa, ID|Butte, MT|Helena, MT|Minot, ND|Fargo, ND|Pierre, SD
Huron, SD|Kearney, NE|Norfolk, NE|Salina, KS|Dodge City, KS|Enid, OK|Lawton, OK|Waco, TX|Abilene, TX|Laredo, TX
Monroe, LA|Houma, LA|Tupelo, MS|Laurel, MS|Dothan, AL|Selma, AL|Macon, GA|Valdosta, GA|Ocala, FL|Sebring, FL|Aiken, SC
Sumter, SC|Hickory, NC|Kinston, NC|Danville, VA|Staunton, VA|Beckley, WV|Elkins, WV|Altoona, PA|Bradford, PA|Utica, NY
Elmira, NY|Bangor, ME|Presque Isle, ME|Keene, NH|Rutland, VT|Groton, CT|Lorain, OH|Lima, OH|Muncie, IN|Kokomo, IN
Peoria, IL|Quincy, IL|Racine, WI|Eau Claire, WI|Duluth, MN|Bemidji, MN|Ottumwa, IA|Moline, IL|Ames, IA"""
STATES = {
    **{"OR": "Oregon", "UT": "Utah", "ID": "Idaho", "MT": "Montana", "ND": "North Dakota", "SD": "South Dakota"},
    **{"NE": "Nebraska", "KS": "Kansas", "OK": "Oklahoma", "TX": "Texas", "LA": "Louisiana", "MS": "Mississippi"},
    **{"AL": "Alabama", "GA": "Georgia", "FL": "Florida", "SC": "South Carolina", "NC": "North Carolina"},
    **{"VA": "Virginia", "WV": "West Virginia", "PA": "Pennsylvania", "NY": "New York", "ME": "Maine"},
    **{"NH": "New Hampshire", "VT": "Vermont", "CT": "Connecticut", "OH": "Ohio", "IN": "Indiana", "IL": "Illinois"},
    **{"WI": "Wisconsin", "MN": "Minnesota", "IA": "Iowa"},
}
CAUSES = (
    "The pilot's failure to maintain airspeed during the climb after takeoff",
    "A loss of engine power for reasons that could not be determined",
    "The pilot's inadequate preflight inspection, which left the fuel cap unsecured",
    "The pilot's decision to continue into deteriorating weather",
    "The pilot's failure to compensate for a gusting crosswind during landing",
    "Fatigue of the left main landing gear strut",
)
FIRMS = """Alder Freight|Birch Foods|Cedar Mills|Dorset Pumps|Elm Optics|Falcon Paper|Grange Dairy|Harbour Steel
Iris Textiles|Juniper Labs|Kestrel Motors|Linden Glass|Maple Supply|Nordic Tools|Orchid Hotels|Poplar Energy"""
PEOPLE = """Ada Quist|Ben Thorne|Cora Vance|Dev Malik|Eva Lindqvist|Finn Okoro|Gia Romano|Hal Brandt|Ines Duarte
Jon Petrov|Kaya Aydin|Leo Marchetti"""
GOODS = "pallet jacks|bearing sets|filter cartridges|drive belts|gaskets|cable drums|valves|work lamps"
MAKES = "Cessna 172|Cessna 182|Piper PA-28|Piper PA-32|Beech 36|Mooney M20|Grumman AA-5|Maule M-5"


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A question about one generated document; one of `answers` has to stand in the answer."""

    kind: str
    text: str
    file: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GeneratedForm:
    """A document and the questions that it answers."""

    name: str
    story: tuple[Flowable, ...]
    questions: tuple[FormQuestion, ...]

    def write(self, folder: Path) -> Path:
        """Its PDF, with a header and a footer on every page."""
        path = folder / self.name

        def edge(canvas: object, document: object) -> None:
            canvas.setFont("Helvetica", 8)  # type: ignore[attr-defined]
            number = document.page  # type: ignore[attr-defined]
            canvas.drawString(20 * mm, 285 * mm, f"Records office, sheet {number}")  # type: ignore[attr-defined]

        margins = {"leftMargin": 18 * mm, "rightMargin": 18 * mm, "topMargin": 18 * mm, "bottomMargin": 18 * mm}
        document = SimpleDocTemplate(str(path), pagesize=A4, invariant=1, **margins)
        document.build(list(self.story), onFirstPage=edge, onLaterPages=edge)
        return path


def accident_reports(count: int, seed: int = 7) -> list[GeneratedForm]:
    """Reports of small aircraft; no two have the same place, many have the same day, type or cause."""
    rng = random.Random(seed)
    return [_accident_report(rng, place, number) for number, place in enumerate(_listed(TOWNS)[:count], 1)]


def other_forms(count: int, seed: int = 11) -> list[GeneratedForm]:
    """So many invoices, leases and inspection sheets each."""
    rng = random.Random(seed)
    makers: tuple[Callable[[random.Random, int], GeneratedForm], ...] = (_invoice, _lease, _inspection)
    return [make(rng, number) for make in makers for number in range(1, count + 1)]


def _accident_report(rng: random.Random, place: str, number: int) -> GeneratedForm:
    town, state = place.split(", ")
    day = date(2006, 3, 1) + timedelta(days=rng.randrange(20))
    tail = f"N{rng.randrange(1000, 9999)}{rng.choice('ABCDEFGH')}{number}"
    hours, own = rng.randrange(60, 9000), rng.randrange(5, 60)
    facts = {
        "age": str(rng.randrange(18, 80)),
        "serial": f"{rng.randrange(10, 40)}-{rng.randrange(1000, 9999)}",
        "seats": str(rng.choice((2, 4, 6))),
        "temperature": f"{rng.randrange(-15, 35)}°C",
        "visibility": f"{rng.randrange(3, 40)} Miles",
        "runway": f"{rng.randrange(1500, 8000)} ft",
        "destination": rng.choice(_listed(TOWNS)),
        "light": rng.choice(("Day", "Night", "Dusk")),
        "damage": rng.choice(("Substantial", "Destroyed", "Minor")),
    }
    cause = rng.choice(CAUSES)
    name = f"R{number:03d}.pdf"
    story = (
        _title("Air Safety Office: Aviation Accident Final Report"),
        _grid(
            ["Location:", place, "Accident Number:", f"AS{rng.randrange(10, 99)}LA{number:03d}"],
            ["Date & Time:", f"{day:%m/%d/%Y}, {rng.randrange(600, 2000):04d} CST", "Registration:", tail],
            ["Aircraft:", rng.choice(_listed(MAKES)), "Aircraft Damage:", facts["damage"]],
        ),
        _heading("Analysis"),
        _text(f"The pilot had departed in the morning and the flight was without incident until {town} was in sight."),
        _heading("Probable Cause"),
        _text(f"The Air Safety Office determines the probable cause of this accident to be: {cause}."),
        PageBreak(),
        _heading("Pilot Information"),
        _grid(
            ["Certificate:", "Private", "Age:", f"{facts['age']}, {rng.choice(('Male', 'Female'))}"],
            ["Flight Time:", f"{hours} hours (Total, all aircraft), {own} hours (Total, this make)", "Seat:", "Left"],
        ),
        _heading("Aircraft Information"),
        _grid(
            ["Serial Number:", facts["serial"], "Seats:", facts["seats"]],
            ["Landing Gear:", "Tricycle", "Engines:", "1 Reciprocating"],
        ),
        _heading("Weather and Flight Plan"),
        _grid(
            ["Condition of Light:", facts["light"], "Visibility:", facts["visibility"]],
            ["Temperature/Dew Point:", f"{facts['temperature']} / -2°C", "Wind:", f"{rng.randrange(1, 25)} knots"],
            ["Departure Point:", rng.choice(_listed(TOWNS)), "Destination:", facts["destination"]],
        ),
        _heading("Airport Information"),
        _grid(["Runway Used:", str(rng.randrange(1, 36)), "Runway Length/Width:", f"{facts['runway']} / 75 ft"]),
    )
    where = f"{town}, {STATES[state]}, on {day:%B} {day.day}, {day.year}"
    asked = (
        ("cause", f"What was the probable cause of the accident at {where}?", cause),
        ("hours", f"How many hours had the pilot of aircraft {tail} flown in total?", str(hours)),
        ("age", f"How old was the pilot in the accident at {where}?", facts["age"]),
        ("damage", f"How badly was the aircraft damaged at {where}?", facts["damage"]),
        ("visibility", f"What was the visibility at the {town} accident of {day:%m/%d/%Y}?", facts["visibility"]),
        ("temperature", f"How warm was it in the accident of aircraft {tail}?", facts["temperature"]),
        ("runway", f"How long was the runway in the {town} accident of {day:%m/%d/%Y}?", facts["runway"]),
        ("serial", f"What is the serial number of aircraft {tail}?", facts["serial"]),
        ("seats", f"How many seats did aircraft {tail} have?", facts["seats"]),
        ("destination", f"Where was the aircraft going before the accident at {where}?", facts["destination"]),
        ("light", f"Was it day or night at the {town} accident?", facts["light"]),
    )
    return GeneratedForm(name, story, tuple(FormQuestion(kind, text, name, (truth,)) for kind, text, truth in asked))


def _invoice(rng: random.Random, number: int) -> GeneratedForm:
    name, code = f"I{number:03d}.pdf", f"{rng.randrange(20000, 90000)}"
    buyer, seller = rng.sample(_listed(FIRMS), 2)
    day = date(2023, 1, 1) + timedelta(days=rng.randrange(360))
    due = day + timedelta(days=30)
    goods, rows, total = rng.sample(_listed(GOODS), 3), [], 0
    for one in goods:
        count, price = rng.randrange(2, 40), rng.randrange(5, 300)
        rows.append([one.capitalize(), str(count), f"{price}.00", f"{count * price}.00"])
        total += count * price
    clerk = rng.choice(_listed(PEOPLE))
    story = (
        _title(f"Invoice {code}"),
        _grid(
            ["Bill to:", buyer, "Invoice date:", f"{day:%d %B %Y}"], ["Seller:", seller, "Due date:", f"{due:%d %B %Y}"]
        ),
        _grid(["Purchase order:", f"PO-{number:04d}", "Contact person:", clerk]),
        _heading("Items"),
        _grid(["Article", "Quantity", "Unit price", "Amount"], *rows),
        _text(f"Total due: {total}.00 EUR"),
    )
    asked = (
        ("total", f"What is the total due of invoice {code}?", f"{total}.00"),
        ("due", f"When is invoice {code} due?", f"{due:%d %B %Y}"),
        ("buyer", f"Who has to pay invoice {code}?", buyer),
        ("contact", f"Who is the contact person on invoice {code}?", clerk),
        ("quantity", f"How many {goods[1]} are on invoice {code}?", rows[1][1]),
        ("price", f"What is the unit price of the {goods[2]} on invoice {code}?", rows[2][2]),
    )
    return GeneratedForm(
        name, story, tuple(FormQuestion(f"invoice {kind}", text, name, (truth,)) for kind, text, truth in asked)
    )


def _lease(rng: random.Random, number: int) -> GeneratedForm:
    name, tenant, owner = f"L{number:03d}.pdf", *rng.sample(_listed(PEOPLE), 2)
    street = f"{7 * number + rng.randrange(7)} {rng.choice(('Mill', 'Quay', 'Abbey', 'Orchard', 'Station'))} Lane"
    begin, rent, months = date(2021, rng.randrange(1, 13), 1), rng.randrange(500, 2500), rng.choice((12, 24, 36, 60))
    deposit, area, floor = 3 * rent, rng.randrange(30, 160), rng.choice(("ground", "first", "second", "third"))
    story = (
        _title("Lease agreement"),
        _text(f"between {owner}, the landlord, and {tenant}, the tenant, for the flat at {street}, No. {number}."),
        _heading("Terms"),
        _text(f"Start of the lease: {begin:%d %B %Y}"),
        _text(f"Term: {months} months"),
        _text(f"Monthly rent: {rent} GBP, payable in advance on the first day of each month"),
        _text(f"Deposit: {deposit} GBP"),
        _text(f"Living area: {area} square metres"),
        _text(f"Floor: {floor}"),
        _heading("Keeping of animals"),
        _text("The tenant keeps no animals without the written consent of the landlord."),
    )
    where = f"the flat at {street}"
    asked = (
        ("rent", f"What is the monthly rent for {where}?", f"{rent} GBP"),
        ("deposit", f"How much is the deposit for {where}?", f"{deposit} GBP"),
        ("term", f"How long is the term of the lease of {where}?", f"{months} months"),
        ("begin", f"When does the lease of {where} start?", f"{begin:%d %B %Y}"),
        ("area", f"How large is {where}?", f"{area} square"),
        ("landlord", f"Who is the landlord of {where}?", owner),
    )
    return GeneratedForm(
        name, story, tuple(FormQuestion(f"lease {kind}", text, name, (truth,)) for kind, text, truth in asked)
    )


def _inspection(rng: random.Random, number: int) -> GeneratedForm:
    name, plant = f"S{number:03d}.pdf", f"BX-{rng.randrange(100, 999)}{number:02d}"
    day, inspector = date(2022, 5, 1) + timedelta(days=rng.randrange(200)), rng.choice(_listed(PEOPLE))
    pressure, weight, built = (
        f"{rng.randrange(4, 40)} bar",
        f"{rng.randrange(200, 4000)} kg",
        str(rng.randrange(1985, 2020)),
    )
    state, repeat, owner = rng.choice(("passed", "failed")), date(2024, 5, 1), rng.choice(_listed(FIRMS))
    story = (
        _title("Boiler inspection sheet"),
        _text(f"Boiler: {plant}"),
        _text(f"Owner: {owner}"),
        _text(f"Inspected by: {inspector}"),
        _text(f"Date of inspection: {day:%d.%m.%Y}"),
        _heading("Findings"),
        _grid(
            ["Property", "Value"],
            ["Working pressure", pressure],
            ["Empty weight", weight],
            ["Year of manufacture", built],
            ["Result", state],
            ["Next inspection", f"{repeat:%d.%m.%Y}"],
        ),
    )
    asked = (
        ("pressure", f"What is the working pressure of boiler {plant}?", pressure),
        ("weight", f"How heavy is boiler {plant}?", weight),
        ("built", f"When was boiler {plant} manufactured?", built),
        ("inspector", f"Who inspected boiler {plant}?", inspector),
        ("owner", f"Who owns boiler {plant}?", owner),
        ("result", f"Has boiler {plant} passed or failed?", state),
    )
    return GeneratedForm(
        name, story, tuple(FormQuestion(f"boiler {kind}", text, name, (truth,)) for kind, text, truth in asked)
    )


def _listed(text: str) -> list[str]:
    return [one for line in text.splitlines() for one in line.split("|")]


def _title(text: str) -> Flowable:
    return Paragraph(text, getSampleStyleSheet()["Title"])


def _heading(text: str) -> Flowable:
    return Paragraph(text, getSampleStyleSheet()["Heading2"])


def _text(text: str) -> Flowable:
    return Paragraph(text, getSampleStyleSheet()["BodyText"])


def _grid(*rows: Sequence[str]) -> Table:
    cells = [[Paragraph(one, getSampleStyleSheet()["BodyText"]) for one in row] for row in rows]
    return Table(cells, style=[("GRID", (0, 0), (-1, -1), 0.5, "black")], spaceAfter=4 * mm)


def all_questions(forms: Sequence[GeneratedForm]) -> Iterator[FormQuestion]:
    """Those of all forms, in order."""
    return (question for form in forms for question in form.questions)
