"""The given cases: what the index beside them calls right, as strings and marks that a program can look for."""

from collections.abc import Iterable
from pathlib import Path

from pipelines.documents.document import CaveatKind as Mark
from pipelines.documents.document import FailureReason
from tests.evals.cases.model import Case

Marks = frozenset[Mark | FailureReason]

ENCODING: Marks = frozenset({Mark.ENCODING_UNSURE})
LANGUAGE: Marks = frozenset({Mark.LANGUAGE_MISSING})
REFUSED: Marks = frozenset({FailureReason.BOMB, FailureReason.TOO_LARGE, FailureReason.TIMEOUT})
PICTURES: Marks = frozenset({Mark.PICTURES_UNREAD})
SKIPPED: Marks = frozenset({Mark.PARTS_SKIPPED})
UNSUPPORTED: Marks = frozenset({FailureReason.UNSUPPORTED})
TABLE: Marks = frozenset({Mark.TABLE_UNSURE})


def read_cases(folder: Path) -> Iterable[Case]:
    """`read/`: each is to be as its right column says."""

    def case(name: str, **right: object) -> Case:
        return Case("read", name, next(folder.glob(name)), **right)  # type: ignore[arg-type]

    yield case("01-*/lease-signed.pdf", includes=("DocuSign Envelope ID", "LEASE AGREEMENT", "3,275 euros"))
    yield case("03-*/utf8-abgeschnitten.log", includes=("Größe überschritten: Füllhöhe",), excludes=("Ă¶", "ﾃ"))
    yield case(
        "03-*/utf8-mit-einem-falschen-byte.txt",
        includes=("Prüfbericht der Kläranlage Süd", "Stra\ufffde 4"),
        excludes=("ﾃ", "Ă"),
    )
    yield case("05-*/kaigi-sjis.txt", includes=("会議",), instead=ENCODING)
    yield case("05-*/kucun-gbk.csv", includes=("冷却水泵",), instead=ENCODING)
    yield case(
        "07-*/fussnoten.pdf", includes=(("1250²", "1250 [2]"), ("48¹", "48 [1]")), excludes=("12502", "481 Mega")
    )
    yield case(
        "07-*/sup.html",
        includes=(("1250²", "1250 [2]"), ("48¹⁾", "48 [1)]"), ("10³", "10 [3]"), ("10⁶", "10 [6]"), "9:40"),
        excludes=("12502", "481)", "106 je"),
    )
    yield case(
        "09-*/trennung.pdf",
        includes=("KX-4471", "DIN-EN-1717", "E-Mail-Adresse", "ABC-DEF", "verknüpft", "Sonderkündigungsfrist"),
        excludes=("KX4471", "DINEN", "E-MailAdresse", "ABCDEF"),
    )
    yield case(
        "10-*/chrome-rtl.pdf",
        includes=("تقرير الصيانة السنوي", "KX-4471", "0551-2288", "الضغط الأقصى", "كمال الحداد"),
        excludes=("ريرقت", "-4471KX"),
    )
    yield case(
        "12-*/umsaetze.csv",
        includes=("Stadtwerke Brunnhalde | Abschlag März; Kd-Nr. 88 | -212,40", "1.204,00"),
        excludes=('";"',),
    )
    yield case(
        "12-*/kontonummern.csv",
        includes=("04.03.2026 | Abschlag | 212,40", "05.03.2026 | Rechnung 4471 | | 1204,00"),
        excludes=("Abschlag;212",),
    )
    yield case(
        "14-*/ruby.html",
        includes=(("最大圧力", "最大(さいだい)圧力", "最大（さいだい）圧力"),),
        excludes=("最大さいだい", "圧力あつ"),
    )
    yield case("16-*/altchunk.docx", includes=("handed over on 4 March with key number 88",), instead=SKIPPED)
    yield case("18-*/apple.eml", includes=("the plan is attached", "Key number 88", "21:40"))
    yield case(
        "20-*/formeln-ohne-werte.xlsx",
        includes=("Pumpe | 3 | 1200 | =", "Gesamt"),
        instead=frozenset({Mark.FORMULAS_UNCALCULATED}),
    )
    yield case(
        "21-*/formate.xlsx",
        includes=("01067", "K-000042", "27:30", ("15.5 %", "15.5%", "15,5 %", "15,5%")),
        excludes=("1 day, 3:30", "0.155"),
    )
    yield case("22-*/verbunden.xlsx", includes=("Brunnhalde | B-1001", "Brunnhalde | B-1050"), excludes=("| | B-10",))
    yield case("23-*/stray-H.xlsx", includes=("|",), seconds=10.0)
    yield case("23-*/verirrte-zelle.xlsx", includes=("|",), seconds=10.0)
    yield case(
        "24-*/old-ocr-layer.pdf",
        includes=("LEASE AGREEMENT", "cold store is 3,275 euros"),
        instead=frozenset({Mark.OCR_LAYER_UNSURE}),
    )
    yield case("25-*/scan-deutsch.png", includes=("Prüfbericht für die Kläranlage Süd",), instead=LANGUAGE)
    yield case("27-*/plan-a0.tif", includes=("Site plan Harrow Mill, sheet 12",))
    yield case(
        "28-*/annots.pdf", includes=("Correction: hall 5, not hall 3", "Approved by the safety officer on 4 March 2026")
    )
    yield case("29-*/zh-doc.txt", includes=("最大工作压力",))
    yield case("xlsx-far-cell.xlsx", includes=("|",), seconds=5.0)
    yield case("xlsx-merge-all.xlsx", includes=("|",), seconds=5.0)
    yield case("pdf-content-640mb.pdf", includes=("|",), instead=REFUSED, seconds=90.0)
    yield case("pdf-60k-pages.pdf", instead=REFUSED, includes=("quota",), seconds=90.0)


def ingest_cases(folder: Path) -> Iterable[Case]:
    """`ingest/`: read as the right column says, or marked."""

    def case(name: str, *includes: str | tuple[str, ...], **more: object) -> Case:
        return Case("ingest", name, folder / name, includes, **more)  # type: ignore[arg-type]

    yield case("strict.docx", "The strict document says the ferry leaves at six.")
    yield case("chart_3d.pptx", "Tonnes", "4100", "3870", instead=SKIPPED)
    yield case("smartart.pptx", "Harbour master signs first", "the fire officer inspects", instead=SKIPPED)
    inside = {
        "memo.docx": "The platypus ledger is kept in drawer nine.",
        "readme.txt": "the echidna rota starts at six",
    }
    yield case("docs.zip", "memo.docx", "readme.txt", members=inside, clean=True)
    yield case("docs_password.zip", "|", instead=frozenset({FailureReason.ENCRYPTED}))
    yield case("photo.heic", "Hestnes leaves at 17:40")
    yield case("drawing.svg", "Pump station layout, valve V-17", "Flow 12 l/s", excludes=("<path",))
    yield case("scan_A0.pdf", "DRAWING 4471-A PUMP STATION PLAN")
    yield case("stock.ods", "Hawser | 14")
    yield case("export_html.xls", "Hawser 40 mm | 14")
    yield case("form_filled.pdf", "Full name: Marguerite Oyelaran", "Vessel: MV Halcyon Tern", "9384756", "PO 77-1182")
    yield case("invoice_columns.pdf", "Hawser 40 mm | 12 | 3.50 | 42.00", "Towage | 2 | 640.00 | 1280.00")
    yield case("table_borderless.pdf", ("Q1 2020 | 4000 | 3100 | 20%", "Q1 2020 4000 3100 20%"))
    yield case("table_sparse.pdf", "Hawser | 450 | |", "Fender | | 289 | -23", "Lamp | | | -24", instead=TABLE)
    yield case("cropped_text.pdf", "berth fee is 250 crowns", excludes=("OUTSIDE THE CROP", "old price"))
    yield case("annotated.pdf", "wombat clearance expired", "approve budget of 4,410", "check with numbat office")
    yield case("letterhead_over_scan.pdf", "Kestrel Dock Limited", "lease of shed nineteen until 30 June", "870 crowns")
    yield case("scan_with_stamp.pdf", "Downloaded from archive", "CONTRACT OF CARRIAGE", "91,300 thalers")
    yield case("text_with_picture_table.pdf", "breaker number 666", "Berth 1 4,100 t", instead=PICTURES)
    yield case("double_spaced.pdf", "certified every 31 weeks by crew B76. The conveyor number 980")
    yield case("arabic_lam_alef.pdf", "تحسين الأداء والإنتاجية", "الأسعار لا تشمل الضريبة", excludes=("األداء",))
    yield case(
        "superscript.pdf",
        ("10⁶", "10 [6]"),
        ("2019³", "2019 [3]"),
        ("12 m²", "12 m [2]"),
        excludes=("106 litres", "20193", "m2."),
    )
    yield case("inline_siblings.html", "Total 12.00", "Docs Prices Contact", "Name Age")
    yield case("nested_tables.html", "4471", "12.00", "Hawser | 14", excludes=("Order4471", "Price12.00"))
    yield case("odt_extras.odt", "Body with a note", "ODT FOOTNOTE text", "ODT COMMENT text", excludes=("note1ODT",))
    yield case("alt_text.docx", "berth nine lies east of the crane")
    yield case("picture_only.docx", "the lamp oil is", "stored in cellar four", instead=PICTURES | {Mark.NO_TEXT})
    yield case("equation.docx", ("A=πd²/4", "A=(πd²)/4", "A=(πd^2)/(4)", "A=(πd^2)/4", "A=πd^2/4"), excludes=("πd24",))
    yield case("checkbox.docx", "☒ Reefer cargo", ("☒ Dangerous cargo", "☑ Dangerous cargo"))
    statement = {"statement.pdf": "the quoll deposit amounts to 8,812 florins"}
    yield case("mail_attachment.eml", "see the attachment", members=statement, clean=True)
    forwarded = {"HTML only.eml": "A-1 | 12.50"}
    yield case("mail_forwarded.eml", "See below.", "Rates", "12.50", "Regards, Cy", members=forwarded, clean=True)
    yield case("model.ipynb", "The tide model uses 12 constituents.", excludes=("hIk2kx0GjNXRCwEk5em",))
    yield case("book_nocache.xlsx", "Rope | 12 |", "=")
    yield case("note.rtf", "The heron licence costs € 45", "A1 | B1", "After table.")
    yield case("xlsx_title_row.xlsx", "Part | Shelf | Units in stock", "Part-0649")
    yield case("scan_de.png", "Prüfbericht über die Kesselanlage", instead=LANGUAGE)
    yield case("scan_ar.png", "ا", instead=LANGUAGE)
    yield case("scan_zh.png", "锅炉设备检验报告", "费用：一千二百五十元", instead=LANGUAGE)
    yield case("scan_coloured.png", "ANNUAL TARIFF 2031", "Pilotage costs 1,120 crowns", "Towage is free for hulls")
    yield case("unmapped_minus.pdf", ("−18.4", "-18.4", "–18.4"), instead=frozenset({Mark.GLYPHS_UNMAPPED}))
    yield case("embedded_workbook.docx", "The stock list is embedded below.", "EMBEDDED hawser", instead=SKIPPED)
    yield case("slide_comments.pptx", "Dredging plan", "the dredger is only free in June", instead=SKIPPED)
