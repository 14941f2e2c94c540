"""HTML, EPUB and drawings: words that stand apart, numbers that stay what they are."""

from pathlib import Path

import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.text.web_page import markdown_blocks
from tests.fakes import files


def read(path: Path) -> list[Page]:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, None)
    return [desk.page(path, kind, number) for number in range(1, count + 1)]


def text(html: str) -> str:
    return "\n\n".join(markdown_blocks(html))


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p>Absatz 730<sup>4</sup> Stück</p>", "Absatz 730⁴ Stück"),
        ("<p>730<sup><a href='#n'>4</a></sup></p>", "730⁴"),
        ("<p>730<sup>[4]</sup> Stück</p>", "730 [4] Stück"),
        ("<p>730<sup>4, 5</sup> Stück</p>", "730 [4, 5] Stück"),
        ("<p>10<sup>−6</sup> m<sup>3</sup></p>", "10⁻⁶ m³"),
        ("<p>H<sub>2</sub>O</p>", "H₂O"),
        ("<p>730<span style='vertical-align: super'>4</span></p>", "730⁴"),
        ("<p>the 3<sup>rd</sup> valve</p>", "the 3rd valve"),
        ("<h2>Area in m<sup>2</sup></h2>", "## Area in m²"),
        ("<p>Wasser&shy;werk</p>", "Wasserwerk"),
    ],
)
def test_raised_and_lowered_text_never_runs_into_a_number(html: str, shown: str) -> None:
    """Answers once cited 12502 pieces for 1250 with a note."""
    assert text(html) == shown


def test_a_word_with_readings_stays_a_word() -> None:
    html = (
        "<ruby>給水<rp>(</rp><rt>きゅうすい</rt><rp>)</rp></ruby><ruby><rb>装置</rb><rtc><rt>そうち</rt></rtc></ruby>は"
    )
    assert text(f"<p>{html}</p>") == "給水装置は"


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<a>News</a><a>Help</a>", "News Help"),
        ("<p><span>Sum</span><span>7.50</span></p>", "Sum 7.50"),
        ("<p><b>Sum</b><span>7.50</span></p>", "Sum 7.50"),
        ("<p><span>net</span><span>gross</span></p>", "net gross"),
        ("<label>First</label><label>Last</label>", "First Last"),
        ("<p><b>W</b>ater</p>", "Water"),
        ("<p><i>Wasser</i><b>werk</b></p>", "Wasserwerk"),
        ("<p><span>Pr</span><span>üfung der </span><span>Anlage</span></p>", "Prüfung der Anlage"),
        ("<p><span>A</span><span>B</span><span>C</span></p>", "ABC"),
        ("<p><span>12</span><span>,50</span></p>", "12,50"),
        ("<div>one</div><div>two</div>", "one\n\ntwo"),
        ("<p><span style='display:block'>on</span><span style='display:block'>off</span></p>", "on off"),
    ],
)
def test_words_of_neighbouring_elements_stand_apart_and_words_stay_whole(html: str, shown: str) -> None:
    assert text(html) == shown


def test_cells_merged_downwards_repeat_in_every_row() -> None:
    html = (
        "<table><tr><th>Site</th><th>Part</th><th>N</th></tr><tr><td rowspan=3>North</td><td>A</td><td rowspan=2>1</td>"
        "</tr><tr><td>B</td></tr><tr><td>C</td><td>2</td></tr><tr><td colspan=2>Total</td><td>3</td></tr></table>"
    )
    assert text(html).split("\n")[2:] == [
        "| North | A | 1 |",
        "| North | B | 1 |",
        "| North | C | 2 |",
        "| Total |  | 3 |",
    ]


def test_a_cell_merged_over_many_rows_or_to_the_end_reaches_the_last() -> None:
    rows = "".join(f"<tr><td>{number}</td></tr>" for number in range(199))
    for span in ("200", "0"):
        lines = text(f"<table><tr><td rowspan={span}>x</td><td>first</td></tr>{rows}</table>").split("\n")
        assert lines[-1] == "| x | 198 |"


def test_tables_in_tables_are_readable() -> None:
    html = (
        "<table><tr><td>Job</td><td>12</td><td>Due</td><td>Monday</td></tr><tr><td>For</td><td>Mill</td><td>"
        "<table><tr><th>Part</th><th>N</th></tr><tr><td>Bolt</td><td>8</td></tr></table></td></tr></table>"
    )
    assert markdown_blocks(html) == [
        "Job | 12 | Due | Monday",
        "For | Mill",
        "| Part | N |\n| --- | --- |\n| Bolt | 8 |",
    ]


def test_hidden_rows_and_cells_are_not_seen() -> None:
    html = "<table><tr><td>a</td><td>b</td></tr><tr hidden><td>x</td><td>y</td></tr><tr><td>c</td><td style='display:none'>z</td><td>d</td></tr></table>"  # noqa: E501
    assert text(html).split("\n")[2:] == ["| c | d |"]


def test_pictures_inside_a_page_show_as_unread_and_icons_do_not(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(f"<p>x</p><img src='data:image/png;base64,{'A' * 9000}'><img src='data:image/gif;base64,R0lGOD'>")
    assert [(one.kind, one.count) for one in read(path)[0].caveats] == [(CaveatKind.PICTURES_UNREAD, 1)]


def test_a_charset_that_lies_does_not_win(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes("<meta charset=iso-8859-1><p>Größe der Prüffläche</p>".encode())
    assert read(path)[0].text == "Größe der Prüffläche"
    path.write_bytes("<meta charset=windows-1252><p>Остаток на складе готовой продукции</p>".encode("cp1251"))
    assert read(path)[0].text == "Остаток на складе готовой продукции"


def test_an_svg_is_its_words(tmp_path: Path) -> None:
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg"><title>Pump house</title><style>.a{fill:red}</style><path d="M0 0"/>'
        '<text x="1">Valve <tspan>V-9</tspan><tspan x="1" dy="9">closed</tspan></text><text>Flow 3 l/s</text></svg>'
    )
    (tmp_path / "a.svg").write_text(drawing)
    (page,) = read(tmp_path / "a.svg")
    assert page.text == "Pump house\nValve V-9 closed\nFlow 3 l/s" and page.caveats == ()
    (tmp_path / "a.svg").write_text(drawing.replace("<path", '<image href="data:image/png;base64,AA"/><path'))
    assert [one.kind for one in read(tmp_path / "a.svg")[0].caveats] == [CaveatKind.PICTURES_UNREAD]
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><svg><text>&b;</text></svg>'
    (tmp_path / "a.svg").write_text(bomb)
    assert "aaaa" not in read(tmp_path / "a.svg")[0].text
    assert CaveatKind.PARTS_SKIPPED in [one.kind for one in read(tmp_path / "a.svg")[0].caveats]


def test_a_torn_svg_says_so_and_one_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><text>Valve V-9</text>\n<text>Flow 3 l')
    (page,) = read(tmp_path / "a.svg")
    assert page.text.startswith("Valve V-9") and [one.kind for one in page.caveats] == [CaveatKind.CUT_SHORT]
    assert "line 2" in page.caveats[0].detail
    (tmp_path / "a.svg").write_text('<svg><use xlink:href="#a"/><text>Valve V-9</text></svg>')
    assert read(tmp_path / "a.svg")[0].caveats == ()
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><g><path d="M0 0')
    with pytest.raises(Unreadable) as error:
        read(tmp_path / "a.svg")
    assert error.value.reason is FailureReason.CORRUPT


def test_a_book_says_which_pictures_it_did_not_read(tmp_path: Path) -> None:
    epub: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<c><rootfile full-path="b.opf"/></c>',
        "b.opf": "<p><metadata><title>T</title></metadata><manifest>"
        '<item id="1" href="1.xhtml" media-type="application/xhtml+xml"/><item id="p" href="i/plan.png" '
        'media-type="image/png"/><item id="cover" href="c.png" media-type="image/png"/><item id="o" href="o.png" '
        'media-type="image/png"/></manifest><spine><itemref idref="1"/></spine></p>',
        "1.xhtml": "<html><body><p>730<sup>4</sup></p></body></html>",
        "i/plan.png": bytes(30_000),
        "c.png": bytes(30_000),
        "o.png": bytes(100),
    }
    pages = read(files.package(tmp_path / "a.epub", epub))
    assert pages[1].text == "730⁴"
    assert [(one.kind, one.count) for one in pages[0].caveats] == [(CaveatKind.PICTURES_UNREAD, 1)]
