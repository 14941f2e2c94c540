"""Variants in PDF and pictures: scans below a line of text, bad layers, raised runs, hyphens, remarks, forms."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A4, A5, LETTER
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from pipelines.documents.document import CaveatKind
from tests.evals.cases.drawn import FONTS, lines_image
from tests.evals.cases.given import LANGUAGE, TABLE
from tests.evals.cases.model import Case, Wanted

_SCANNED = (
    "CHARTER OF THE PILOT STATION",
    "The yearly fee for the north mooring is 7,410 crowns.",
    "It falls due on the second Monday of October.",
    "Notice is given nine weeks before the end of a season.",
)
_STAMPS: tuple[tuple[str, Any, float, float, int, float], ...] = (
    ("Signed electronically, envelope 7F21-55AC-90B1-0042-AA17-C3 by M. Okafor", A4, 20, 825, 300, 0.0),
    ("BATES 000417-B", A4, 480, 12, 200, 0.0),
    ("FAX 04 MAR 2027 14:05 FROM +44 1482 555 010 TO HARBOUR OFFICE PAGE 001/003", LETTER, 20, 778, 200, 6.0),
    ("Downloaded by j.doe@example.org on 12 March 2027; for internal use only, not to be sent on", A4, 60, 8, 150, 0.0),
    ("CONFIDENTIAL", A5, 150, 580, 300, 4.0),
    ("Page 1 of 1", A4, 270, 15, 200, 0.0),
    ("Tern Line Ltd, 4 Quay Street, Hull, HU1 2AB, registered in England, VAT 123 4567 89", A4, 40, 822, 200, 0.0),
)


def pdf_cases(folder: Path) -> Iterable[Case]:
    """All of them, written below `folder`."""
    for name in ("DejaVuSans", "DejaVuSerif"):
        pdfmetrics.registerFont(TTFont(name, str(FONTS / f"{name}.ttf")))
    for made in (_stamped, _layers, _raised, _hyphens, _right_to_left, _remarks, _forms, _cropped, _tables, _scans):
        yield from made(folder)


def _pdf(path: Path, draw: Callable[[Canvas], None], size: tuple[float, float] = A4) -> Path:
    canvas = Canvas(str(path), pagesize=size)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return path


def _scan(
    canvas: Canvas, size: tuple[float, float], dpi: int, lines: Sequence[str] = _SCANNED, noise: float = 0.0
) -> None:
    width, height = (round(side * dpi / 72) for side in size)
    image = lines_image(lines, width, height, size=round(12 * dpi / 72), top=height // 6, noise=noise)
    canvas.drawImage(ImageReader(image), 0, 0, *size)


def _stamped(folder: Path) -> Iterable[Case]:
    for number, (stamp, size, x, y, dpi, noise) in enumerate(_STAMPS):

        def draw(
            canvas: Canvas,
            stamp: str = stamp,
            size: Any = size,
            x: float = x,
            y: float = y,
            dpi: int = dpi,
            noise: float = noise,
        ) -> None:
            _scan(canvas, size, dpi, noise=noise)
            canvas.setFont("Helvetica", 7)
            canvas.drawString(x, y, stamp)

        path = _pdf(folder / f"stamped-{number}.pdf", draw, size)
        yield Case("line over a scan", stamp[:30], path, (stamp, "7,410 crowns", "second Monday of October"))

    def letter(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for row in range(14):
            canvas.drawString(
                60, 780 - row * 18, f"Clause {row}: the keeper of lock {row + 20} reports each week in writing."
            )
        image = lines_image(["TARIFF TABLE", "Class one 5,120 t", "Class two 2,870 t"], 1500, 500, size=48, top=60)
        canvas.drawImage(ImageReader(image), 60, 200, 400, 133)

    path = _pdf(folder / "figure.pdf", letter)
    yield Case(
        "line over a scan",
        "a table as a picture below text",
        path,
        ("Clause 13", "Class one 5,120 t", "Class two 2,870 t"),
        instead=frozenset({CaveatKind.PICTURES_UNREAD}),
    )


_GARBLED = {
    "rn for m": (
        "CHARTEP 0F TllE PlL0T 5TATl0N",
        "Tlne yea-rly fe~ f0r tl1e n0rtl1 rn00ring ls 7,4l0 cr0wn5.",
        "lt fa1l5 du~ 0n tl1e 5ec0nd",
    ),
    "consonants": ("CHRTR F TH PLT STTN", "Th yrl f fr th nrth mrng s 7410 crwns", "t flls d n th scnd Mnd f ctbr"),
    "shifted": (
        "DIBSUFS PG UIF QJMPU",
        "Uif zfbsmz gff gps uif opsui nppsjoh jt 8,521 dspxot.",
        "Ju gbmmt evf po uif tfdpoe Npoebz",
    ),
    "signs": (
        "C#A&T~R |F *HE P|L@T",
        "T## y~~rl% f$$ |or t%% n*rth m&&ring i~ 7,4|0 c^^wn$.",
        "|t f@@ls d*e o% t## s&c*nd",
    ),
}


def _layers(folder: Path) -> Iterable[Case]:
    def layered(name: str, layer: Sequence[str]) -> Path:
        def draw(canvas: Canvas) -> None:
            text = canvas.beginText(50, 842 - 842 / 6 - 12)
            text.setTextRenderMode(3)
            text.setFont("Helvetica", 12)
            text.setLeading(19)
            for line in layer:
                text.textLine(line)
            canvas.drawText(text)
            _scan(canvas, A4, 200)

        return _pdf(folder / f"layer-{name.replace(' ', '-')}.pdf", draw)

    for name, layer in _GARBLED.items():
        yield Case(
            "bad layer",
            name,
            layered(name, layer),
            ("7,410 crowns", "second Monday of October"),
            instead=frozenset({CaveatKind.OCR_LAYER_UNSURE}),
        )
    yield Case("bad layer", "a good one", layered("good", _SCANNED), ("7,410 crowns", "second Monday"), clean=True)


def _raised(folder: Path) -> Iterable[Case]:
    rows: tuple[tuple[str, str, str, float, str, Wanted, str], ...] = (
        ("footnote", "Stock was 1480", "3", 5, " pieces", ("1480³ pieces", "1480 [3] pieces"), "14803"),
        ("power", "growth of 10", "8", 5, " cells", ("10⁸ cells", "10 [8] cells"), "108"),
        ("area", "in all 96 m", "2", 5, " of floor", ("96 m² of", "96 m [2] of"), "m2 of"),
        ("two digits", "output 57", "12", 5, " MW", ("57¹² MW", "57 [12] MW"), "5712"),
        ("lowered", "of CO", "2", -3, " in air", ("CO₂ in", "CO [2] in"), "|||"),
        ("year", "since 2024", "1", 5, " only", ("2024¹ only", "2024 [1] only"), "20241"),
    )
    for number, (name, before, run, rise, after, wanted, wrong) in enumerate(rows):
        font = ("Helvetica", "Times-Roman", "DejaVuSans")[number % 3]

        def draw(
            canvas: Canvas,
            before: str = before,
            run: str = run,
            rise: float = rise,
            after: str = after,
            font: str = font,
        ) -> None:
            text = canvas.beginText(60, 700)
            for piece, size, up in ((before, 12, 0), (run, 7, rise), (after, 12, 0)):
                text.setFont(font, size)
                text.setRise(up)
                text.textOut(piece)
            canvas.drawText(text)
            canvas.setFont(font, 12)
            canvas.drawString(60, 670, "A second line stands below and says nothing of it.")

        yield Case(
            "raised runs", f"pdf {name}", _pdf(folder / f"raised-{number}.pdf", draw), (wanted,), (wrong,), clean=True
        )


def _hyphens(folder: Path) -> Iterable[Case]:
    rows = (
        ("part number", ("The order carries the number QR-", "8812 from now on."), "QR-8812"),
        ("letters", ("The older model was called XYZ-", "ABC and is gone."), "XYZ-ABC"),
        ("years", ("It held for the years 2026-", "2027 without a change."), "2026-2027"),
        ("word", ("They met for the inter-", "national congress."), "international"),
        ("German word", ("Die Versicherungs-", "gesellschaft zahlt."), "Versicherungsgesellschaft"),
        ("capitals inside", ("Send it by E-", "Mail before noon."), "E-Mail"),
        ("norm", ("as laid down in ISO-", "9001 of that year."), "ISO-9001"),
    )
    for number, (name, lines, wanted) in enumerate(rows):

        def draw(canvas: Canvas, lines: tuple[str, str] = lines) -> None:
            canvas.setFont("DejaVuSans", 11)
            for row, line in enumerate(lines):
                canvas.drawString(60, 700 - 14 * row, line)

        yield Case("hyphens", name, _pdf(folder / f"hyphen-{number}.pdf", draw), (wanted,), clean=True)


def _right_to_left(folder: Path) -> Iterable[Case]:
    """Drawn from left to right as it looks, which is how older producers write it."""
    rows = (
        ("hebrew", "המשאבה נבדקת כל שבוע", "המשאבה נבדקת כל שבוע"),
        ("hebrew with a number", "לחץ 16 בר", "לחץ 16 בר"),
        ("hebrew with a part", "משאבה KX-20 חדשה", "משאבה KX-20 חדשה"),
    )
    for number, (name, logical, wanted) in enumerate(rows):
        looks = " ".join(word if word.isascii() else word[::-1] for word in reversed(logical.split()))

        def draw(canvas: Canvas, looks: str = looks) -> None:
            canvas.setFont("DejaVuSans", 14)
            canvas.drawRightString(540, 760, looks)

        yield Case("right to left", name, _pdf(folder / f"rtl-{number}.pdf", draw), (wanted,))


def _remarks(folder: Path) -> Iterable[Case]:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        canvas.drawString(60, 760, "The gate is shut at night.")
        canvas.freeTextAnnotation(
            "Wrong: it is open on Fridays.", DA="0 g /Helv 12 Tf", Rect=(60, 700, 400, 720), relative=0
        )
        canvas.textAnnotation("Approved by the night warden.", Rect=(400, 780, 420, 800), relative=0)

    yield Case(
        "remarks",
        "free text and note",
        _pdf(folder / "remarks.pdf", draw),
        ("shut at night", "Wrong: it is open on Fridays.", "Approved by the night warden."),
        clean=True,
    )

    def highlighted(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        canvas.drawString(60, 760, "The rent is 400 crowns.")
        canvas.highlightAnnotation("Ask for 380.", Rect=(60, 755, 200, 775))

    yield Case("remarks", "highlight", _pdf(folder / "highlight.pdf", highlighted), ("400 crowns", "Ask for 380."))


def _forms(folder: Path) -> Iterable[Case]:
    rows = (("Name:", "Ingrid Solheim"), ("Vessel:", "MV Grey Plover"), ("Draught:", "7.35 m"))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for number, (label, value) in enumerate(rows):
            canvas.drawString(60, 700 - 40 * number, label)
            canvas.acroForm.textfield(
                name=f"f{number}", value=value, x=160, y=694 - 40 * number, width=260, height=20, borderStyle="inset"
            )

    path = _pdf(folder / "form.pdf", draw)
    yield Case("forms", "values beside labels", path, tuple(f"{label} {value}" for label, value in rows))


def _cropped(folder: Path) -> Iterable[Case]:
    def draw(canvas: Canvas) -> None:
        canvas.setCropBox((50, 50, 545, 792))
        canvas.setFont("Helvetica", 12)
        canvas.drawString(80, 700, "The toll is 12 crowns.")
        canvas.drawString(80, 815, "PRINTER SLUG old toll 9 crowns")

    yield Case(
        "crop box", "slug above", _pdf(folder / "cropped.pdf", draw), ("The toll is 12 crowns.",), ("PRINTER SLUG",)
    )


def _tables(folder: Path) -> Iterable[Case]:
    rows = [
        ("Part", "Wanted", "Found"),
        ("Rope", "310", ""),
        ("Block", "", "207"),
        ("Shackle", "95", "94"),
        ("Lamp", "", "12"),
    ]
    columns = (60, 220, 380)

    def draw(canvas: Canvas, across: bool) -> None:
        canvas.setFont("Helvetica", 11)
        places = [(row, column) for row in range(len(rows)) for column in range(3)]
        for row, column in places if across else sorted(places, key=lambda place: place[1]):
            canvas.drawString(columns[column], 700 - 22 * row, rows[row][column])

    wanted: tuple[Wanted, ...] = ("Rope | 310 |", "Block | | 207", "Shackle | 95 | 94", "Lamp | | 12")
    for name, across in (("row by row", True), ("column by column", False)):
        path = _pdf(folder / f"table-{across}.pdf", lambda canvas, across=across: draw(canvas, across))
        yield Case("table without lines", name, path, wanted, instead=TABLE)


def _scans(folder: Path) -> Iterable[Case]:
    texts = {
        "de": (
            "Die Prüfung der Kläranlage führt Frau Müller durch.",
            "Für die Wärmepumpe gilt ein Höchstdruck.",
            "Die Straße wird täglich geöffnet.",
        ),
        "fr": (
            "La pompe à chaleur a été vérifiée à l’été dernier.",
            "Le préposé relève la pression chaque matin.",
            "Défense d’entrer après midi.",
        ),
        "es": (
            "El señor Ibáñez revisa la válvula cada mañana.",
            "La presión máxima es de dieciséis bares.",
            "Mañana no habrá reunión en el almacén.",
        ),
        "pl": (
            "Zawór bezpieczeństwa sprawdzany jest co tydzień.",
            "Ciśnienie pompy nie może przekraczać wartości.",
            "Klucz leży w szufladzie u dyżurnego.",
        ),
        "ru": (
            "Давление насоса проверяется каждую неделю.",
            "Ключ лежит в ящике у дежурного.",
            "Вход посторонним запрещён.",
        ),
    }
    for language, lines in texts.items():
        path = folder / f"scan-{language}.png"
        lines_image(lines, 1700, 700, size=40, serif=False).save(path, dpi=(200, 200))
        yield Case("scan in another language", language, path, lines, instead=LANGUAGE)
    english = (
        "The lock keeper writes down the level every morning.",
        "Nobody may open the gate without his word.",
        "Invoice 4711, 12.50",
    )
    path = folder / "scan-en.png"
    lines_image(english, 1700, 700, size=40).save(path, dpi=(200, 200))
    yield Case("scan in another language", "english is not", path, english[:2], clean=True)
    for name, width, height in (("wide", 16_000, 9_000), ("tall", 9_000, 15_000)):
        path = folder / f"drawing-{name}.tif"
        lines_image(("PLAN OF THE OLD DOCK, SHEET 9",), width, height, size=200, top=400).convert("1").save(
            path, compression="group4"
        )
        yield Case("large drawing", name, path, ("PLAN OF THE OLD DOCK",), seconds=120.0)
