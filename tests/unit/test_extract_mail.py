"""Mail, web archives and notebooks: every part that is text, and the names of what was not read."""

import json
from email.message import EmailMessage
from pathlib import Path

import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from tests.fakes import files


def read(path: Path, data: bytes) -> list[Page]:
    path.write_bytes(data)
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, None)
    return [desk.page(path, kind, number) for number in range(1, count + 1)]


def multipart(kind: str, *parts: str) -> bytes:
    head = f'From: a@x.example\nSubject: S\nMIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary="B"\n\n'
    return (head + "".join(f"--B\n{part}\n" for part in parts) + "--B--\n").encode()


TOP = "From: a@x.example\nSubject: S\n\n"


def test_every_part_that_is_text_is_read(tmp_path: Path) -> None:
    """Apple Mail goes on with a second part after a picture; it was listed as an attachment."""
    data = multipart(
        "mixed",
        "Content-Type: text/plain\n\nThe plan follows.",
        'Content-Type: image/png; name="p.png"\nContent-Disposition: inline; filename="p.png"\n\nxx',
        "Content-Type: text/plain; charset=utf-8\n\nReturn the key by 21:40.",
        'Content-Type: text/plain\nContent-Disposition: attachment; filename="n.txt"\n\nNote 7.',
    )
    (page,) = read(tmp_path / "a.eml", data)
    assert page.text == (
        TOP + "The plan follows.\n\nReturn the key by 21:40.\n\nAttachment n.txt:\n\nNote 7.\n\nAttachments: p.png"
    )
    assert page.caveats == ()


def test_who_sent_a_letter_for_another_shows(tmp_path: Path) -> None:
    own = b"From: Ana <ana@x.example>\nSender: ANA@x.example\nSubject: S\n\nHello."
    other = b"From: Ana <ana@x.example>\nSender: desk@y.example\nSubject: S\n\nHello."
    assert read(tmp_path / "a.eml", own)[0].text == "From: Ana <ana@x.example>\nSubject: S\n\nHello."
    assert read(tmp_path / "b.eml", other)[0].text.startswith("From: desk@y.example on behalf of Ana <ana@x.example>\n")


def test_what_is_attached_is_named_and_read_elsewhere(tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@x.example", "S"
    message.set_content("Hello.")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="Prüfplan.pdf")
    message.add_attachment(bytes(30_000), maintype="image", subtype="png", disposition="inline", filename="scan.png")
    (page,) = read(tmp_path / "a.eml", message.as_bytes())
    assert page.text.endswith("Attachments: Prüfplan.pdf, scan.png") and page.caveats == ()


def test_alternatives_are_read_once_and_the_one_that_says_more_wins(tmp_path: Path) -> None:
    plain = "Content-Type: text/plain\n\nHello all.\n\nSum 12.50"
    same = "Content-Type: text/html\n\n<p>Hello all.</p><p>Sum 12.50</p>"
    assert read(tmp_path / "a.eml", multipart("alternative", plain, same))[0].text == TOP + "Hello all.\n\nSum 12.50"
    poor = "Content-Type: text/plain\n\nPlease view this in HTML."
    assert read(tmp_path / "a.eml", multipart("alternative", poor, same))[0].text.startswith(
        TOP + "Hello all.\n\nSum 12.50"
    )
    empty = "Content-Type: text/plain\n\n"
    assert read(tmp_path / "a.eml", multipart("alternative", empty, same))[0].text == TOP + "Hello all.\n\nSum 12.50"


def test_a_forwarded_letter_is_read_in_its_place(tmp_path: Path) -> None:
    inner = (
        "Content-Type: message/rfc822\n\nFrom: c@x.example\nSubject: Rates\n"
        "Content-Type: multipart/mixed; boundary=I\n\n"
        "--I\nContent-Type: text/html\n\n<p>Rate 4.5</p>\n--I\nContent-Type: application/pdf; name=r.pdf\n\nx\n--I--\n"
    )
    (page,) = read(tmp_path / "a.eml", multipart("mixed", "Content-Type: text/plain\n\nSee below.", inner))
    assert page.text.startswith(TOP + "See below.\n\nEnclosed letter:\n\nFrom: c@x.example\nSubject: Rates\n\nRate 4.5")
    assert page.text.endswith("Attachments: r.pdf") and page.caveats == ()


def test_letters_enclosed_without_end_are_refused(tmp_path: Path) -> None:
    data = "Content-Type: message/rfc822\n\n" * 60 + "Subject: x\n\nend"
    with pytest.raises(Unreadable) as refused:
        read(tmp_path / "a.eml", data.encode())
    assert refused.value.reason is FailureReason.BOMB


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("us-ascii", "cp1252"), ("iso-8859-1", "utf-8"), ("utf-8", "cp1252"), ("x-nonsense", "utf-8")],
)
def test_a_charset_that_lies_and_raw_headers_are_read(tmp_path: Path, charset: str, encoding: str) -> None:
    said = "Prüfung der Wärmepumpe für März"
    data = f"From: Jörg Müller <j@x.example>\nSubject: {said}\nContent-Type: text/plain; charset={charset}\n\n{said}\n"
    (page,) = read(tmp_path / "a.eml", data.encode(encoding))
    assert page.text == f"From: Jörg Müller <j@x.example>\nSubject: {said}\n\n{said}"


def test_a_saved_web_page_is_read_as_the_page(tmp_path: Path) -> None:
    data = (
        "From: <Saved by Blink>\nSubject: Prices\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=B\n\n"
        "--B\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n"
        "<html><body><h1>Prices</h1><p>M=C3=BCll 730<sup>4</sup></p></body></html>\n"
        "--B\nContent-Type: text/css\n\np{}\n--B\nContent-Type: image/png\n\nxx\n--B--\n"
    )
    (page,) = read(tmp_path / "a.mhtml", data.encode())
    assert page.text == "# Prices\n\nMüll 730⁴" and page.caveats == ()


def test_a_notebook_is_its_cells_without_pictures_as_letters(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tide\n", "Model of 12 parts."]},
        {
            "cell_type": "code",
            "source": "fit(x)",
            "outputs": [
                {"output_type": "stream", "text": ["rmse 0.31\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBOR" * 500, "text/plain": "<Figure 6x4>"}},
                {"output_type": "execute_result", "data": {"text/html": "<table><tr><td>a<td>1</table>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no tide"},
            ],
        },
    ]
    book = {"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": cells}
    (page,) = read(tmp_path / "a.ipynb", json.dumps(book).encode())
    assert page.text == (
        "# Tide\nModel of 12 parts.\n\n```python\nfit(x)\n```\n\n```\nrmse 0.31\n```\n\n| a | 1 |\n| --- | --- |\n\n"
        "ValueError: no tide"
    )
    assert [(one.kind, one.count) for one in page.caveats] == [(CaveatKind.PICTURES_UNREAD, 1)]


@pytest.mark.parametrize("data", ['{"a": 1}', "[1]", "{", '{"cells": 3}', '{"cells": [3]}'])
def test_what_is_no_notebook_is_shown_as_it_is(tmp_path: Path, data: str) -> None:
    assert read(tmp_path / "a.ipynb", data.encode())[0].text == data


def test_rtf_keeps_tables_notes_and_raised_numbers_apart(tmp_path: Path) -> None:
    data = (
        rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0\fcharset204 T;}}\f0 730{\super 4} pieces, H\sub 2\nosupersub O"
        rb"{\footnote \'c4\'e0.}\par\trowd\cellx9\cellx18 Site\intbl\cell N\cell\row\trowd\cellx9\cellx18 North\par "
        rb"two\cell 5\cell\row\pard After. " + "Остаток".encode("cp1251") + rb"\par{\*\shppict{\pict\pngblip 89}}"
        rb"{\nonshppict{\pict 01}}"
        rb"{\shp{\*\shpinst{\shptxt In a box}}}}"
    )
    (page,) = read(tmp_path / "a.rtf", data)
    assert page.text == (
        "730⁴ pieces, H₂O [Да.]\n\n| Site | N |\n| --- | --- |\n| North two | 5 |\n\nAfter. Остаток\n\nIn a box"
    )
    assert [(one.kind, one.count) for one in page.caveats] == [(CaveatKind.PICTURES_UNREAD, 1)]


def test_a_header_in_doubt_shows(tmp_path: Path) -> None:
    (page,) = read(tmp_path / "a.eml", b"From: a@x.example\nSubject: \xd1x\n\nHello.\n")
    assert [one.kind for one in page.caveats] == [CaveatKind.ENCODING_UNSURE]
