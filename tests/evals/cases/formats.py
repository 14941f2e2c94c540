"""Variants of rarer formats: pictures of every kind, drawings, notebooks, web archives, books, slides, RTF."""

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

import docx
import pillow_heif
from PIL import Image
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.evals.cases.drawn import lines_image
from tests.evals.cases.given import SKIPPED
from tests.evals.cases.model import Case, Wanted

_SIGN = ("NOTICE TO ALL PILOTS", "The eastern channel is 9 fathoms deep.", "Slow down before buoy fourteen.")


def format_cases(folder: Path) -> Iterable[Case]:
    """All of them, written below `folder`."""
    yield from _pictures(folder)
    yield from _texts(folder)
    yield from _charts(folder)
    yield from _changes(folder)


def _pictures(folder: Path) -> Iterable[Case]:
    pillow_heif.register_heif_opener()
    image = lines_image(_SIGN, 1500, 700, size=44)
    shown = _SIGN[1:]
    kinds: tuple[tuple[str, Image.Image, dict[str, object]], ...] = (
        ("sign.heic", image.convert("RGB"), {"quality": 90}),
        ("sign.avif", image.convert("RGB"), {"quality": 90}),
        ("sign.jp2", image, {}),
        ("sign.webp", image.convert("RGB"), {"quality": 90}),
        ("sign.gif", image.convert("P"), {}),
        ("sign-1bit.png", image.convert("1", dither=Image.Dither.NONE), {}),
        ("sign-cmyk.jpg", image.convert("CMYK"), {"quality": 92}),
    )
    for name, picture, how in kinds:
        picture.save(folder / name, **how)  # type: ignore[arg-type]
        yield Case("kinds of pictures", name, folder / name, shown)
    turned = image.rotate(90, expand=True)
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: shown upright once it is turned by 90 degrees clockwise
    turned.save(folder / "sign-turned.jpg", exif=exif, quality=92)
    yield Case("kinds of pictures", "turned by its EXIF", folder / "sign-turned.jpg", shown)
    second = lines_image(("SECOND SHEET", "The lamp is lit at 19:40 in winter."), 1500, 700, size=44)
    image.save(folder / "two.tif", save_all=True, append_images=[second])
    yield Case("kinds of pictures", "TIFF of two pages", folder / "two.tif", (*shown, "lit at 19:40 in winter"))


def _texts(folder: Path) -> Iterable[Case]:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="80"><title>Sluice plan</title>'
        '<g><text x="5" y="20">Gate <tspan>B-12</tspan></text><text x="5" y="60">opens at 4 bar</text></g>'
        '<path d="M0 0L300 80"/></svg>'
    )
    notebook = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Tides\n", "High water comes at 05:52."]},
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": 1,
                "source": "print(level)",
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": "level 3.75 m\n"},
                    {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgoAAAANSUhEUgAAA"}},
                ],
            },
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    archive = (
        "From: <Saved>\r\nSubject: Fees\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related; type="text/html"; boundary="BB"\r\n\r\n--BB\r\n'
        "Content-Type: text/html; charset=utf-8\r\nContent-Location: http://a.example/\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
        "<html><body><h1>Fees</h1><p>Mooring costs 77=C2=A0crowns a night.</p></body></html>\r\n--BB--\r\n"
    )
    rtf = (
        r"{\rtf1\ansi\ansicpg1252 Die Pr\'fcfung kostet 95 \'80.\par "
        r"\trowd\cellx2000\cellx4000\intbl Ventil\cell 7\cell\row Nach der Tabelle.\par}"
    )
    texts: tuple[tuple[str, str, tuple[Wanted, ...], tuple[str, ...]], ...] = (
        ("plan.svg", svg, ("Gate B-12", "opens at 4 bar"), ("M0 0L300", "<tspan")),
        ("tides.ipynb", json.dumps(notebook), ("High water comes at 05:52.", "level 3.75 m"), ("iVBORw0KGgo",)),
        ("fees.mht", archive, ("Mooring costs 77 crowns a night.",), ("Content-Location", "=C2")),
        ("pruefung.rtf", rtf, ("Die Prüfung kostet 95 €", "Ventil | 7", "Nach der Tabelle."), ("\\par",)),
        (
            "saved.xls",
            "<html><body><table><tr><th>Part</th><th>Left</th></tr><tr><td>Shackle</td><td>26</td></tr></table></body></html>",
            ("Shackle | 26",),
            ("<td>",),
        ),
    )
    for name, text, wanted, unwanted in texts:
        (folder / name).write_bytes(text.encode())
        yield Case("rarer text formats", name, folder / name, wanted, unwanted)
    _epub(folder / "manual.epub", ("The first watch ends at 20:00.", "The second watch ends at 00:00."))
    yield Case("rarer text formats", "book", folder / "manual.epub", ("ends at 20:00", "ends at 00:00"), clean=True)


def _epub(path: Path, chapters: tuple[str, ...]) -> None:
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        book.writestr(
            "book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for n, text in enumerate(chapters):
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Watch {n + 1}</h1><p>{text}</p></body></html>'
            book.writestr(f"c{n}.xhtml", page)


def _charts(folder: Path) -> Iterable[Case]:
    for name, kind in (
        ("column", XL_CHART_TYPE.COLUMN_CLUSTERED),
        ("pie", XL_CHART_TYPE.PIE),
        ("line", XL_CHART_TYPE.LINE_MARKERS),
        ("cylinder", XL_CHART_TYPE.BAR_STACKED_100),
    ):
        deck = Presentation()
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = "Landings"
        data = CategoryChartData()
        data.categories = ["Cod", "Herring"]
        data.add_series("Tons 2026", (417, 2208))
        slide.shapes.add_chart(kind, Inches(1), Inches(2), Inches(6), Inches(4), data)
        path = folder / f"chart-{name}.pptx"
        deck.save(str(path))
        yield Case("charts", name, path, ("Landings", "Herring", "2208", "Tons 2026"), instead=SKIPPED)


def _changes(folder: Path) -> Iterable[Case]:
    document = docx.Document()
    body = document.add_paragraph("The fee is ")._p
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    struck = f'<w:del {space} w:id="1" w:author="A"><w:r><w:delText>300</w:delText></w:r></w:del>'
    added = f'<w:ins {space} w:id="2" w:author="A"><w:r><w:t>450</w:t></w:r></w:ins>'
    for part in (struck, added):
        body.append(docx.oxml.parse_xml(part))
    document.add_paragraph("Paid at the gate.")
    document.save(str(folder / "tracked.docx"))
    yield Case("tracked changes", "a number replaced", folder / "tracked.docx", ("The fee is 450",), ("300",))
