"""Makes the sample documents: the papers of a company that does not exist (`python -m tests.samples.make_samples`)."""

import datetime
import textwrap
from pathlib import Path

import docx
import numpy as np
import openpyxl
from openpyxl.styles import Font
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

FOLDER = Path(__file__).resolve().parent
FONTS = Path("/usr/share/fonts/truetype/dejavu")
DPI = 200

MINUTES = (
    """LUMEN RIDGE ENERGY COOPERATIVE
Minutes of the board meeting

Place: Harrow Mill, Upper Room
Date: 14 March 2025
Chair: Odalys Brandt
Present: Tomas Ferreira, Ines Kovac, Rupert Anand

1. Repair of turbine four

The board heard the report of the works manager. The main bearing of turbine four has failed after \
nine years of service. The board approved a repair budget of 48,600 euros, to be paid out of the \
reserve for renewals. The work is awarded to Calder Marine Engineering of Port Ellis.

2. Insurance

The policy with Northgate Mutual ends on 30 June 2025. Ines Kovac will obtain two further offers \
before the next meeting.
""",
    """Minutes of 14 March 2025, page 2

3. New members

Seventeen households of Sallow Lane asked to join. They were admitted without a vote against. The \
cooperative now has 412 members.

4. Battery store at the old quarry

The survey by Pell and Aster found the ground suitable. The store will hold 3.2 megawatt hours. \
Building is to begin in September 2026 if the county grants the permit.

5. Next meeting

The board meets again on 9 May 2025 at half past six in the evening.

Signed: Odalys Brandt, chair
Keeper of the minutes: Rupert Anand
""",
)

LETTER = """Lumen Ridge Energy Cooperative
Harrow Mill, 3 Weir Road

22 April 2025

To Mrs. Philippa Osei
18 Sallow Lane

Your new electricity meter

Dear Mrs. Osei,

on Tuesday 6 May 2025, between nine and eleven in the morning, our
fitter Marek Dolan will replace the meter in your cellar. Please keep
the way to the meter clear. The new meter carries the number
LR-77-20418. The exchange is free of charge.

If the day does not suit you, please call 0555 014 220.

Yours sincerely,
Ines Kovac
Customer service
"""

HANDBOOK = """# Joining the control room

Welcome to the control room of the Lumen Ridge Energy Cooperative.

## Shifts

The room is staffed in three shifts of eight hours. The early shift begins at 05:30, and a handover takes
fifteen minutes. Nobody works more than five night shifts in a row.

## Passwords and keys

- The key cabinet is opened with two cards, never with one.
- The radio channel for emergencies is channel 11.
- Lost cards are reported to Rupert Anand within one hour.

## When the grid frequency falls

1. Below 49.8 hertz: call the duty engineer.
2. Below 49.5 hertz: start the gas generator at Harrow Mill.
3. Below 49.0 hertz: disconnect the cold store, then the sawmill.

| Load | Power | Reconnect after |
| --- | --- | --- |
| Cold store | 640 kW | 20 minutes |
| Sawmill | 1,150 kW | 45 minutes |
"""


def main() -> None:
    """Write every sample beside this file."""
    scan(FOLDER / "board-minutes-scan.pdf")
    letter(FOLDER / "meter-letter.png")
    report(FOLDER / "annual-report-2025.pdf")
    manual(FOLDER / "turbine-maintenance.docx")
    tariffs(FOLDER / "tariffs-2026.xlsx")
    (FOLDER / "control-room.md").write_text(HANDBOOK, encoding="utf-8")


def paper(text: str, size: int, width: int) -> Image.Image:
    """Text as black on white, A4 at 200 dpi, paragraphs wrapped at `width` characters."""
    page = Image.new("L", (1654, 2339), 255)
    draw = ImageDraw.Draw(page)
    font = ImageFont.truetype(str(FONTS / "DejaVuSerif.ttf"), size)
    y = 190
    for paragraph in text.split("\n"):
        for line in textwrap.wrap(paragraph, width) or [""]:
            draw.text((190, y), line, font=font, fill=20)
            y += round(size * 1.55)
    return page


def scan(path: Path) -> None:
    """A PDF of pictures only, a little crooked and a little dirty, as an office scanner makes them."""
    random = np.random.default_rng(7)
    pages = []
    for text, angle in zip(MINUTES, (0.7, -0.5), strict=True):
        crooked = paper(text, 30, 74).rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
        dirty = np.asarray(crooked, dtype=np.float32) + random.normal(-6, 5, (crooked.height, crooked.width))
        pages.append(Image.fromarray(dirty.clip(0, 255).astype(np.uint8)))
    pages[0].save(path, "PDF", resolution=DPI, save_all=True, append_images=pages[1:], quality=35)


def letter(path: Path) -> None:
    """One picture of a letter, without a PDF around it."""
    paper(LETTER, 32, 90).quantize(16).save(path, dpi=(DPI, DPI), optimize=True)


def report(path: Path) -> None:
    """A born-digital PDF of four pages with a ruled table."""
    styles = getSampleStyleSheet()
    rows = [
        ["Plant", "Energy 2024 (MWh)", "Energy 2025 (MWh)", "Hours of standstill"],
        ["Turbine one", "5,210", "5,388", "112"],
        ["Turbine two", "5,174", "5,290", "140"],
        ["Turbine four", "4,960", "2,115", "2,904"],
        ["Solar field Brackwater", "1,830", "2,046", "36"],
    ]
    grid = Table(rows)
    grid.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.6, "black")]))

    def paragraphs(title: str, *texts: str) -> list[Flowable]:
        return [
            Paragraph(title, styles["Heading1"]),
            *(item for text in texts for item in (Paragraph(text, styles["BodyText"]), Spacer(1, 8))),
        ]

    story = [
        *paragraphs(
            "Annual report 2025",
            "The Lumen Ridge Energy Cooperative supplies the valley of the Weir with electricity from wind and sun. "
            "This report covers the year from 1 January to 31 December 2025.",
            "It was adopted by the general assembly on 28 February 2026 in the parish hall of Harrow.",
        ),
        PageBreak(),
        *paragraphs(
            "The year in short",
            "Members used 14,420 megawatt hours, two per cent more than in the year before. Revenue rose to "
            "3,184,000 euros. The surplus of 211,500 euros goes to the reserve for renewals.",
            "The longest interruption of supply lasted 3 hours and 41 minutes. It began on 19 November 2025, when a "
            "fallen beech cut the line at Tarn Hollow.",
        ),
        PageBreak(),
        *paragraphs("Generation", "Turbine four stood still from January to August because of a damaged main bearing."),
        grid,
        PageBreak(),
        *paragraphs(
            "Outlook",
            "In 2026 the cooperative will build a battery store in the old quarry. The county granted the permit under "
            "the number QX-2291. The director, Halina Voss, expects it to be ready in the spring of 2027.",
            "The price of electricity for members stays at 27.4 cents per kilowatt hour until the end of 2026.",
        ),
    ]
    SimpleDocTemplate(str(path), pagesize=A4, title="Annual report 2025", invariant=1).build(story)


def manual(path: Path) -> None:
    """A DOCX with headings, a list, a table, a header and a footer."""
    document = docx.Document()
    document.core_properties.author = "Lumen Ridge Energy Cooperative"
    document.core_properties.created = datetime.datetime(2025, 9, 1, 8, 0, tzinfo=datetime.UTC)
    document.sections[0].header.paragraphs[0].text = "Works instruction WI-14, edition 3"
    document.sections[0].footer.paragraphs[0].text = "Approved by the works manager Tomas Ferreira"
    document.add_heading("Maintenance of the turbines", 1)
    document.add_paragraph("This instruction holds for turbines one, two and four on the ridge.")
    document.add_heading("Lubrication", 2)
    document.add_paragraph(
        "The main bearing takes 18 litres of the grease Corvane 460. It is renewed every 2,500 hours of running, and "
        "after every standstill of more than three weeks."
    )
    document.add_heading("Before climbing", 2)
    for step in (
        "Stop the turbine and lock the rotor.",
        "Hang the red card on the switch in the tower base.",
        "Report to the control room on channel 4.",
        "Do not climb at wind speeds above 12 metres per second.",
    ):
        document.add_paragraph(step, style="List Number")
    document.add_heading("Tightening", 2)
    table = document.add_table(rows=1, cols=3)
    table.style = "Table Grid"
    for row in (
        ("Bolt", "Torque", "Checked every"),
        ("Blade root M36", "2,100 Nm", "12 months"),
        ("Tower flange M42", "3,450 Nm", "24 months"),
    ):
        cells = table.rows[0].cells if row[0] == "Bolt" else table.add_row().cells
        for cell, text in zip(cells, row, strict=True):
            cell.text = text
    document.save(str(path))


def tariffs(path: Path) -> None:
    """An XLSX of two sheets with numbers, a percentage and a date."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Tariffs"
    sheet.append(["Tariff", "Basic price per month (EUR)", "Energy price (ct/kWh)", "Green share", "Valid from"])
    start = datetime.date(2026, 1, 1)
    for name, basic, energy, share in (
        ("Member", 7.5, 27.4, 1.0),
        ("Guest", 11.9, 33.8, 1.0),
        ("Workshop", 24.0, 25.1, 0.85),
        ("Heat pump night", 9.25, 19.6, 1.0),
    ):
        sheet.append([name, basic, energy, share, start])
    for row in range(2, 6):
        sheet.cell(row, 4).number_format = "0%"
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    contacts = book.create_sheet("Contacts")
    for line in (
        ("Office", "Person", "Telephone"),
        ("Billing", "Ines Kovac", "0555 014 220"),
        ("Faults, day and night", "Control room", "0555 014 112"),
    ):
        contacts.append(line)
    book.save(path)


if __name__ == "__main__":
    main()
