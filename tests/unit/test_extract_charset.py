"""Which encoding a text's bytes are in, and that a doubt shows."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.documents.document import CaveatKind, CaveatWeight
from pipelines.documents.extract.mail.headers import header_text
from pipelines.documents.extract.text.charset import decode_bytes, known_codec

GERMAN = "Die Prüfung der Wärmepumpe ergab für größere Drücke keine Auffälligkeiten.\n"
SHORT = [
    ("Lagerort;Größe\nHalle 3;12,5", "cp1252"),
    ("Überstundenübersicht März", "cp1252"),
    ("Le contrôle a été effectué à la réception", "cp1252"),
    ("Straßenverzeichnis", "cp1252"),
    ("Číslo;Název\n12;Šroub pozinkovaný", "cp1250"),
    ("Zażółć gęślą jaźń, proszę", "cp1250"),
    ("Megrendelés száma: őszi készlet, hűtő", "cp1250"),
    ("Накладная № 4471 от 3 апреля", "cp1251"),
    ("Остаток на складе", "koi8-r"),
    ("Залишок на складі, кількість", "koi8-u"),
    ("Απόθεμα αποθήκης", "cp1253"),
    ("Sipariş numarası; ürün, ağırlık", "cp1254"),
    ("מספר הזמנה ותאריך", "cp1255"),
    ("رقم الطلبية والمخزون", "cp1256"),
    ("Prekių likutis sandėlyje: šešios dėžės", "cp1257"),
    ("品名,数量\n水泵,12", "gb18030"),
    ("庫存清單,數量", "cp950"),
    ("点検日程表、ポンプ室", "cp932"),
    ("点検日程表、ポンプ室", "euc_jp"),
    ("재고 목록, 수량", "cp949"),
    ("รายการสินค้าคงคลัง", "cp874"),
]


@pytest.mark.parametrize(("text", "encoding"), SHORT)
def test_a_short_text_in_an_old_encoding_is_read(text: str, encoding: str) -> None:
    assert decode_bytes(text.encode(encoding)).text == text


def test_one_bad_byte_leaves_utf8_as_it_is_and_shows() -> None:
    """All umlauts of the file once turned into `Ã¼`."""
    data = (GERMAN * 3).encode()
    read = decode_bytes(data + b"Stra\xdfe 4\n" + data)
    assert read.encoding == "utf-8"
    assert read.text == GERMAN * 3 + "Stra\ufffde 4\n" + GERMAN * 3
    (caveat,) = read.caveats
    assert (caveat.kind, caveat.count) == (CaveatKind.ENCODING_UNSURE, 1)


def test_a_character_cut_off_at_the_end_is_no_doubt() -> None:
    read = decode_bytes((GERMAN * 3 + "Grö").encode()[:-1])
    assert read.text.startswith(GERMAN * 3 + "Gr") and read.caveats == ()


def test_a_last_letter_beyond_ascii_is_no_cut_utf8() -> None:
    for text, encoding in (("Illes Salomó", "cp1252"), ("Uniunea Europeană", "cp1250")):
        assert decode_bytes(text.encode(encoding)).text == text


@pytest.mark.parametrize("text", ["Jörg, Åsa, Øystein;ÆØÅ", "Þór;ð", "x\xe9\xb9z"])
def test_what_may_be_several_things_says_so(text: str) -> None:
    """A wrong reading without a mark would be cited as if it were proven."""
    read = decode_bytes(text.encode("cp1252"))
    assert read.text == text or [caveat.kind for caveat in read.caveats] == [CaveatKind.ENCODING_UNSURE]


def test_letters_of_no_language_are_in_doubt() -> None:
    read = decode_bytes(bytes(range(0x80, 0x100)) * 4)
    (caveat,) = read.caveats
    assert caveat.kind.weight is CaveatWeight.UNSURE and "set the encoding on the document" in caveat.detail


def test_the_doubt_names_the_guess_and_what_else_it_may_be() -> None:
    (caveat,) = decode_bytes("Ñx".encode("cp1252")).caveats
    assert "probably" in caveat.detail and ", or " in caveat.detail


def test_the_language_of_the_workspace_weighs_in() -> None:
    same = "מלאי במחסן".encode("cp1255")
    assert decode_bytes(same).caveats and decode_bytes(same, language="he").text == "מלאי במחסן"
    assert not decode_bytes("倉庫清單".encode("cp950"), language="zh_TW").caveats


def test_what_the_text_declares_weighs_in_and_may_lie() -> None:
    assert decode_bytes('<?xml version="1.0" encoding="windows-1251"?><a>Да</a>'.encode("cp1251")).text.endswith(
        "<a>Да</a>"
    )
    lie = ('<meta charset="windows-1251">' + GERMAN * 2).encode("cp1252")
    assert decode_bytes(lie).text.endswith(GERMAN)
    assert decode_bytes(GERMAN.encode(), declared="iso-8859-1").text == GERMAN


def test_what_a_person_chose_wins_over_everything() -> None:
    data = "Größe".encode("cp1252")
    assert decode_bytes(data, chosen="cp1251").text == "GrцЯe" and not decode_bytes(data, chosen="cp1251").caveats
    assert decode_bytes(b"\xef\xbb\xbfx", chosen="latin-1").text == "ï»¿x"
    assert decode_bytes(data, chosen="no such encoding").text == "Größe"
    (caveat,) = decode_bytes(data, chosen="utf-8").caveats
    assert caveat.kind is CaveatKind.ENCODING_UNSURE


def test_names_of_encodings() -> None:
    assert [known_codec(name) for name in ("ISO-8859-1", "gb2312", "shift_jis", "UTF-8", "ks_c_5601-1987")] == [
        "cp1252",
        "gb18030",
        "cp932",
        "utf-8",
        "cp949",
    ]
    assert [known_codec(name) for name in ("base64", "nonsense", "", "a\0b")] == [None] * 4


def test_the_seven_bit_encodings_of_asia() -> None:
    assert decode_bytes("会議室の予約".encode("iso2022_jp")).text == "会議室の予約"


@given(st.binary(max_size=300), st.sampled_from([None, "de", "zh-Hant"]))
def test_no_bytes_break_it(data: bytes, language: str | None) -> None:
    assert isinstance(decode_bytes(data, language=language).text, str)


B64 = base64.b64encode("Größe".encode()).decode()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (f"=?utf-8?B?{B64}?=", "Größe"),
        (f'"=?utf-8?B?{B64}?=" <a@x.example>', '"Größe" <a@x.example>'),
        (f"=?UTF-8*de?b?{B64.rstrip('=')}?=", "Größe"),
        ("=?iso-8859-1?Q?Gr=F6=DFe_und_mehr?=", "Größe und mehr"),
        ("=?utf-8?Q?Gr=C3?= =?utf-8?Q?=B6=C3=9Fe?=", "Größe"),
        ("=?utf-8?Q?Wie_gro=C3=9F??=", "Wie groß?"),
        ("=?unknown?Q?Gr=C3=B6=C3=9Fe?=", "Größe"),
        ("Re: =?utf-8?Q?a?=\r\n b", "Re: a b"),
        ("Größe".encode().decode("ascii", "surrogateescape"), "Größe"),
        ("Prüfung der Anlage".encode("latin-1").decode("ascii", "surrogateescape"), "Prüfung der Anlage"),
        ("会议通知和库存".encode("gbk").decode("ascii", "surrogateescape"), "会议通知和库存"),
        ("=?utf-8?B?!!!?=", ""),
        ("=?utf-8?Q?cut", "=?utf-8?Q?cut"),
    ],
)
def test_headers_are_read_however_they_were_written(raw: str, shown: str) -> None:
    assert header_text(raw) == shown


def test_letters_late_in_a_long_line_are_looked_at() -> None:
    text = "x" * 100_000 + " Накладная на склад готовой продукции"
    assert decode_bytes(text.encode("cp1251")).text == text
