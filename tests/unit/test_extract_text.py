"""Formats of letters: encodings, parts, HTML, CSV, mail, ODT and EPUB."""

from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.opened import join_blocks, split_text, storable_text
from pipelines.documents.extract.text.charset import decode_bytes
from pipelines.documents.extract.text.web_page import markdown_blocks
from tests.fakes import files


def read(path: Path, settings: ReadSettings | None = None) -> list[Page]:
    desk = ExtractionWorker(settings or ReadSettings(), OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, None)
    return [desk.page(path, kind, number) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp1252"]
)
def test_the_encoding_is_found(encoding: str) -> None:
    text = "Grüße aus der Mühle. Der Bär läuft über die Brücke und fällt in den Fluß.\n" * 3
    assert decode_bytes(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("El niño comió en la mañana", "latin-1"),
        ("Temperature 20 °C, 5 µm, it’s “fine” – 3 €", "cp1252"),
        ("Привет, как дела? Это русский текст.", "cp1251"),
        ("Zażółć gęślą jaźń, proszę bardzo państwa", "cp1250"),
        ("日本語のテキストです。これは試験です。", "shift_jis"),
    ],
)
def test_short_texts_in_old_encodings_are_told_apart(text: str, encoding: str) -> None:
    assert decode_bytes(text.encode(encoding)).text == text


def test_every_byte_string_decodes() -> None:
    assert decode_bytes(bytes(range(256))).text != ""
    assert decode_bytes(b"").text == ""


def test_code_and_markdown_stay_as_they_are(tmp_path: Path) -> None:
    """IN-06: raw."""
    for name, text in (("a.py", "def f(x):\n\n    return '  <b>'\n"), ("a.md", "# T\n\n* a\n    * b | c")):
        (tmp_path / name).write_text(text)
        page = read(tmp_path / name)[0]
        assert page.text == text.strip("\n") and page.words == () and page.engine == "native"


def test_text_has_no_picture(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    kind, _ = desk.survey(tmp_path / "a.txt", None)
    with pytest.raises(Unreadable) as refused:
        desk.picture(tmp_path / "a.txt", kind, 1, 100)
    assert refused.value.reason is FailureReason.UNSUPPORTED


def test_white_space_alone_is_one_empty_page(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n\n\t ")
    assert [page.text for page in read(tmp_path / "a.txt")] == [""]


@given(st.text(alphabet="ab \n", max_size=400), st.integers(5, 60))
def test_parts_are_short_enough_and_keep_every_letter(text: str, limit: int) -> None:
    for parts in (split_text(text, limit), join_blocks(text.split("\n\n"), limit)):
        assert all(len(part) <= limit for part in parts)
        assert "".join("".join(parts).split()) == "".join(text.split())


def test_parts_end_at_paragraphs_where_they_can() -> None:
    assert split_text("one one\n\ntwo two\n\nthree", 18) == ["one one\n\ntwo two", "three"]


def test_what_a_database_cannot_hold_is_taken_out() -> None:
    assert storable_text("a\0b\r\nc\ud800d") == "ab\nc?d"


def test_html_is_what_a_reader_sees() -> None:
    html = """<html><head><title>Site</title><style>x{}</style></head><body><script>evil()</script>
    <h1>Site</h1><p>One <b>two</b>&nbsp;three<br>four</p><div style="display:none">hidden</div><p hidden>hidden</p>
    <ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><ol><li>x</li><li>y</li></ol>
    <table><tr><th>H|1</th><th>H2</th></tr><tr><td rowspan=2>p</td><td>q</td></tr><tr><td>r</td></tr></table>
    <pre>if x:\n    y</pre><blockquote>said</blockquote><!-- comment --><img alt="A map" src="data:image/png;base64,AA">
    </body></html>"""
    assert markdown_blocks(html) == [
        "# Site",
        "One two three\nfour",
        "- a\n  - b\n- c",
        "1. x\n2. y",
        "| H\\|1 | H2 |\n| --- | --- |\n| p | q |\n| p | r |",
        "```\nif x:\n    y\n```",
        "> said",
        "A map",
    ]


def test_a_table_that_lays_a_page_out_is_text() -> None:
    html = "<table><tr><td><p>left</p><table><tr><td>a</td><td>b</td></tr></table></td><td>right</td></tr></table>"
    assert markdown_blocks(html) == ["left", "| a | b |\n| --- | --- |", "right"]


def test_html_declares_its_encoding_and_may_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes("<meta charset=windows-1252><p>Größe – 5 €</p>".encode("cp1252"))
    assert read(path)[0].text == "Größe – 5 €"
    path.write_bytes("<meta charset=ascii><p>Größe</p>".encode())
    assert read(path)[0].text == "Größe"


def test_html_nested_without_end_is_refused_and_not_fatal(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<html>" + "<div>" * 20_000 + "x")
    try:
        assert [page.text for page in read(tmp_path / "a.html")] == ["x"]
    except Unreadable as refused:
        assert refused.reason is FailureReason.BOMB


def test_mail_shows_its_headers_text_and_attachments(tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@x.org", "b@x.org", "Grüße"
    message.set_content("Hello.\n\nBye.")
    message.add_alternative("<p>Hello in HTML.</p>", subtype="html")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="plan.pdf")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    assert read(tmp_path / "a.eml")[0].text == (
        "From: a@x.org\nTo: b@x.org\nSubject: Grüße\n\nHello.\n\nBye.\n\nAttachments: plan.pdf"
    )


def test_odt_and_epub(tmp_path: Path) -> None:
    names = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "text", "table")
    )
    content = (
        f'<office:document-content{names}><office:body><office:text><text:h text:outline-level="2">Head</text:h>'
        '<text:p>One<text:s text:c="2"/>two<text:line-break/>three</text:p>'
        "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell>"
        "<text:p>b</text:p></table:table-cell></table:table-row></table:table>"
        "</office:text></office:body></office:document-content>"
    )
    odt = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    assert read(files.package(tmp_path / "a.odt", odt))[0].text == (
        "## Head\n\nOne  two\nthree\n\n- item\n\n| a | b |\n| --- | --- |"
    )
    epub = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<c><rootfile full-path="O/book.opf"/></c>',
        "O/book.opf": "<p><metadata><title>Book</title><creator>Ann</creator></metadata><manifest>"
        '<item id="1" href="1.xhtml"/><item id="2" href="2.xhtml"/></manifest>'
        '<spine><itemref idref="2"/><itemref idref="1"/></spine></p>',
        "O/1.xhtml": "<html><body><p>last</p></body></html>",
        "O/2.xhtml": "<html><body><h1>First</h1></body></html>",
    }
    pages = read(files.package(tmp_path / "a.epub", epub))
    assert [page.text for page in pages] == ["# Book\n\nAuthors: Ann", "# First", "last"]


def test_rtf_is_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_bytes(rb"{\rtf1\ansi\ansicpg1252 Gr\'fc\'dfe {\b fett}\par Zeile {\*\generator x}zwei}")
    assert read(tmp_path / "a.rtf")[0].text == "Gr\u00fc\u00dfe fett\nZeile zwei"


@pytest.mark.parametrize("stream", ["Workbook", "__properties_version1.0"])
def test_damaged_old_formats_are_corrupt(tmp_path: Path, stream: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + stream.encode("utf-16-le") + bytes(3_000))
    with pytest.raises(Unreadable) as refused:
        read(path)
    assert refused.value.reason is FailureReason.CORRUPT
