"""CSV: cut the same way all along, with what stands around the table."""

from pathlib import Path

import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from tests.fakes import files


def read(path: Path, text: str, settings: ReadSettings | None = None) -> list[Page]:
    path.write_bytes(text.encode())
    desk = ExtractionWorker(settings or ReadSettings(), OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, "a.csv")
    return [desk.page(path, kind, number) for number in range(1, count + 1)]


def shown(path: Path, text: str) -> str:
    (page,) = read(path, text)
    assert page.caveats == ()
    return page.text


def table(*rows: str) -> str:
    width = rows[0].count(";") + 1
    lines = ["| " + " | ".join(row.split(";")) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_it_is_one_table_whatever_delimits_it(tmp_path: Path, delimiter: str) -> None:
    """IN-05: UTF-8, then Latin-1."""
    rows = (("Name", "City", "Sum"), ("Müller", '"a\nb"', "1.5"), ("", "", ""), ("Özil", "Gera", "2"))
    text = "\n".join(delimiter.join(row) for row in rows)
    assert shown(tmp_path / "a", text) == table("Name;City;Sum", "Müller;a b;1.5", "Özil;Gera;2")
    (tmp_path / "b.csv").write_bytes(text.encode("latin-1"))
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    kind, _ = desk.survey(tmp_path / "b.csv", None)
    assert desk.page(tmp_path / "b.csv", kind, 1).text == shown(tmp_path / "a", text)


def test_a_preamble_does_not_choose_the_delimiter(tmp_path: Path) -> None:
    """It was cut at the decimal comma, with the quotes inside the cells."""
    text = (
        "Depot 88, Filiale Nord\nStand: 2031-03-04, 9:30 Uhr\nTag;Was;Soll;Haben\n1.3.;Gebühr;12,50;\n2.3.;Zins;;0,75\n"
    )
    assert shown(tmp_path / "a", text) == (
        "Depot 88, Filiale Nord\nStand: 2031-03-04, 9:30 Uhr\n\n"
        + table("Tag;Was;Soll;Haben", "1.3.;Gebühr;12,50;", "2.3.;Zins;;0,75")
    )
    quoted = '"Auszug";"Depot 88"\n"Saldo";"1.250,00"\n\n"Tag";"Was; wie";"Betrag"\n"1.3.";"Zins; halb";"-0,75"\n'
    assert shown(tmp_path / "a", quoted) == (
        "Auszug: Depot 88\nSaldo: 1.250,00\n\n"
        "| Tag | Was; wie | Betrag |\n| --- | --- | --- |\n| 1.3. | Zins; halb | -0,75 |"
    )


def test_a_preamble_padded_to_the_tables_width_is_no_head(tmp_path: Path) -> None:
    text = "Bericht,,,\nStand,1.4.,,\n,,,\nNr,Name,Ort,N\n1,A,Gera,5\n2,B,Jena,6\n"
    assert shown(tmp_path / "a", text) == "Bericht\nStand: 1.4.\n\n" + table(
        "Nr;Name;Ort;N", "1;A;Gera;5", "2;B;Jena;6"
    )


def test_a_head_with_an_empty_corner_is_a_head(tmp_path: Path) -> None:
    assert shown(tmp_path / "a", ";Soll;Haben\nA;1;2\n") == table(";Soll;Haben", "A;1;2")


def test_the_line_of_a_spreadsheet_that_names_the_delimiter_decides(tmp_path: Path) -> None:
    assert shown(tmp_path / "a", "sep=;\nNr;a,b\n007;1,5\n") == table("Nr;a,b", "007;1,5")


def test_zeros_in_front_and_long_numbers_stay_as_written(tmp_path: Path) -> None:
    text = 'Konto;BLZ\n0012345678901234567;00070\n="00123";"=""0456"""\n'
    assert shown(tmp_path / "a", text) == table("Konto;BLZ", "0012345678901234567;00070", "00123;0456")


def test_lines_after_the_table_and_a_second_table_are_told_apart(tmp_path: Path) -> None:
    text = "A,B,C\n1,2,3\n4,5,6\n\nX,Y\n7,8\n9,10\nEnd of report\n"
    assert shown(tmp_path / "a", text) == (
        table("A;B;C", "1;2;3", "4;5;6") + "\n\n" + table("X;Y", "7;8", "9;10") + "\n\nEnd of report"
    )


def test_quotes_that_do_not_close_cost_no_row_and_show(tmp_path: Path) -> None:
    (page,) = read(tmp_path / "a", 'Nr;Maß;N\n1;"3/4 Zoll;5\n2;1 Zoll;6\n3;2 Zoll;7\n')
    assert page.text == table("Nr;Maß;N", "1;3/4 Zoll;5", "2;1 Zoll;6", "3;2 Zoll;7")
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.TABLE_UNSURE]


def test_quotes_escaped_with_a_backslash(tmp_path: Path) -> None:
    assert shown(tmp_path / "a", 'a,b\n"x \\"y\\", z",1\n') == '| a | b |\n| --- | --- |\n| x "y", z | 1 |'


def test_a_row_with_more_cells_than_the_head_shows(tmp_path: Path) -> None:
    (page,) = read(tmp_path / "a", "a,b,c\n1,2,3\n4,5,6\n7,8,9,extra\n")
    assert "extra" in page.text
    assert [(caveat.kind, caveat.count) for caveat in page.caveats] == [(CaveatKind.TABLE_UNSURE, 1)]


def test_one_column_is_a_table_too(tmp_path: Path) -> None:
    assert shown(tmp_path / "a", "Name\nAnna\nBert\n") == table("Name", "Anna", "Bert")


def test_a_doubtful_encoding_shows_on_the_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a;b\n" + bytes(range(0x80, 0x100)) + b";1\n")
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    kind, _ = desk.survey(path, None)
    assert CaveatKind.ENCODING_UNSURE in [caveat.kind for caveat in desk.page(path, kind, 1).caveats]


def test_a_quote_that_never_closes_ends(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as refused:
        read(tmp_path / "a", 'a,b\n"' + "x," * 200_000, ReadSettings(part_chars=1_000))
    assert refused.value.reason is FailureReason.TOO_LARGE
