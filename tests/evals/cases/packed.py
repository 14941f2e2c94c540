"""Variants of files in files: archives, archives in archives, letters with attachments."""

import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from email.message import EmailMessage
from pathlib import Path

import docx
import openpyxl
from reportlab.pdfgen.canvas import Canvas

from pipelines.documents.document import FailureReason
from tests.evals.cases.model import Case


def packed_cases(folder: Path) -> Iterable[Case]:
    """All of them, written below `folder`."""
    yield from _archives(folder)
    yield from _letters(folder)


def _archives(folder: Path) -> Iterable[Case]:
    office = {"rota.docx": _word("The keeper of lock six is Ingrid."), "stores/rope.xlsx": _sheet("Rope", 314)}
    yield Case(
        "archives",
        "office files in folders",
        _zip(folder / "office.zip", office),
        ("rota.docx", "rope.xlsx"),
        members={"rota.docx": "The keeper of lock six is Ingrid.", "stores/rope.xlsx": "Rope | 314"},
        clean=True,
    )
    plain = {"übersicht.txt": "Der Kran trägt 40 t.".encode(), "fees.csv": b"berth,fee\nseven,88\n"}
    yield Case(
        "archives",
        "names with umlauts",
        _zip(folder / "plain.zip", plain),
        members={"übersicht.txt": "Der Kran trägt 40 t.", "fees.csv": "seven | 88"},
        clean=True,
    )
    inner = _packed({"deep.txt": b"The deep file says 17 fathoms."})
    yield Case(
        "archives",
        "an archive in an archive",
        _zip(folder / "outer.zip", {"inner.zip": inner, "top.txt": b"Top says 3."}),
        members={"inner.zip": "deep.txt", "top.txt": "Top says 3."},
        clean=True,
    )
    for suffix, mode in (("tar", "w:"), ("tar.gz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")):
        path = folder / f"log.{suffix}"
        with tarfile.open(path, mode) as archive:
            data = b"The bilge pump ran 51 minutes."
            entry = tarfile.TarInfo("logs/pump.txt")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        yield Case("archives", suffix, path, members={"logs/pump.txt": "ran 51 minutes"}, clean=True)
    locked = bytearray(_packed({"secret.txt": b"sealed"}))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(signature) + flags] |= 1
    path = folder / "locked.zip"
    path.write_bytes(locked)
    yield Case("archives", "with a password", path, ("|||",), instead=frozenset({FailureReason.ENCRYPTED}))


def _letters(folder: Path) -> Iterable[Case]:
    held = io.BytesIO()
    canvas = Canvas(held)
    canvas.drawString(72, 700, "Invoice 2207: towage, 640 crowns.")
    canvas.save()
    letter = _letter("Two papers", "Both papers are enclosed.")
    letter.add_attachment(held.getvalue(), maintype="application", subtype="pdf", filename="invoice.pdf")
    letter.add_attachment(_sheet("Fender", 92), maintype="application", subtype="octet-stream", filename="stock.xlsx")
    path = folder / "two.eml"
    path.write_bytes(letter.as_bytes())
    enclosed = {"invoice.pdf": "towage, 640 crowns", "stock.xlsx": "Fender | 92"}
    yield Case("letters", "PDF and sheet", path, ("Both papers are enclosed.",), members=enclosed, clean=True)

    letter = _letter("Plan", "See the plan.")
    letter.add_attachment("Gate fünf ist zu.", filename="Übersicht der Tore, geprüft.txt")
    path = folder / "encoded-name.eml"
    path.write_bytes(letter.as_bytes())
    named = {"Übersicht der Tore, geprüft.txt": "Gate fünf ist zu."}
    yield Case("letters", "name outside ASCII", path, ("See the plan.",), members=named, clean=True)

    letter = _letter("Archive", "All of it is packed.")
    letter.add_attachment(
        _packed({"a.txt": b"A says 61."}), maintype="application", subtype="zip", filename="papers.zip"
    )
    path = folder / "packed.eml"
    path.write_bytes(letter.as_bytes())
    yield Case("letters", "an archive", path, ("All of it is packed.",), members={"papers.zip": "a.txt"}, clean=True)

    inner = _letter("Berth list", "Berth four is free until nine.")
    letter = _letter("Fwd", "As promised.")
    letter.add_attachment(inner)
    path = folder / "enclosed.eml"
    path.write_bytes(letter.as_bytes())
    yield Case("letters", "a letter enclosed", path, ("As promised.", "Berth four is free until nine."), clean=True)


def _letter(subject: str, body: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@a.example", "b@b.example", subject
    message.set_content(body)
    return message


def _packed(files: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return held.getvalue()


def _zip(path: Path, files: Mapping[str, bytes]) -> Path:
    path.write_bytes(_packed(files))
    return path


def _word(text: str) -> bytes:
    held = io.BytesIO()
    document = docx.Document()
    document.add_paragraph(text)
    document.save(held)
    return held.getvalue()


def _sheet(name: str, count: int) -> bytes:
    held = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["Item", "Count"])
    book.active.append([name, count])
    book.save(held)
    return held.getvalue()
