"""Variants of plain kinds: encodings, CSV dialects, HTML, mail."""

import base64
import quopri
from collections.abc import Iterable
from email.message import EmailMessage
from pathlib import Path

from tests.evals.cases.given import ENCODING
from tests.evals.cases.model import Case

_ONE_BAD_BYTE = {
    "de": "Die Höhe der Mühle beträgt übers Jahr gemessen größere Werte.",
    "fr": "L’été dernier, les élèves de l’école ont été reçus à la mairie.",
    "pl": "Zażółć gęślą jaźń, a źródło leży poniżej łąki.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy v neděli.",
    "ru": "Давление насоса проверяется каждую неделю мастером смены.",
    "el": "Η αντλία ελέγχεται κάθε εβδομάδα από τον μηχανικό.",
    "ja": "ポンプの圧力は毎週点検されます。",
}

_LEGACY = (
    ("gb18030", "zh", "名称,数量\n阀门,12\n轴承,40\n电缆,7\n", "阀门"),
    ("gb18030", "zh-text", "请于星期三之前检查冷却水泵的压力。", "冷却水泵"),
    ("big5", "tw", "品名,數量\n閥門,12\n軸承,40\n電纜,7\n", "閥門"),
    ("shift_jis", "ja", "品名,数量\nバルブ,12\n軸受,40\nケーブル,7\n", "バルブ"),
    ("shift_jis", "ja-text", "ポンプの圧力は毎週点検してください。", "ポンプ"),
    ("euc_jp", "ja", "部品の在庫は倉庫にあります。\n数量を確認してください。\n", "倉庫"),
    ("euc_kr", "ko", "품명,수량\n밸브,12\n베어링,40\n케이블,7\n", "밸브"),
    ("cp1250", "pl", "nazwa;ilość\nłożysko;12\nśruba;40\nźródło;7\n", "łożysko"),
    ("cp1250", "cs", "název;množství\nložisko;12\nšroub;40\nčerpadlo;7\n", "šroub"),
    ("cp1250", "hu", "megnevezés;mennyiség\nszivattyú;12\ncsőkötő;40\n", "csőkötő"),
    ("cp1251", "ru", "название;количество\nнасос;12\nклапан;40\nкабель;7\n", "клапан"),
    ("cp1251", "uk", "назва;кількість\nнасос;12\nпідшипник;40\n", "підшипник"),
    ("koi8_r", "ru", "название;количество\nнасос;12\nклапан;40\nкабель;7\n", "клапан"),
    ("cp1253", "el", "όνομα;ποσότητα\nαντλία;12\nβαλβίδα;40\n", "βαλβίδα"),
    ("cp1255", "he", "שם;כמות\nמשאבה;12\nשסתום;40\nכבל;7\n", "משאבה"),
    ("cp1256", "ar", "الاسم;الكمية\nمضخة;12\nصمام;40\n", "مضخة"),
    ("cp1254", "tr", "ad;sayı\nbağlantı;12\nşalter;40\nçıkış;7\n", "şalter"),
    ("cp1252", "de", "Bezeichnung;Stück\nLüfter;12\nÖlfilter;40\nDüse;7\n", "Ölfilter"),
    ("cp1252", "es", "nombre;años\nválvula;12\ncañería;40\n", "cañería"),
    ("latin-1", "fr", "désignation;quantité\nfenêtre;12\nclé;40\n", "fenêtre"),
)

_CSV = {
    "preamble, semicolons": (
        "Kassenbuch;Filiale 7\nErstellt: 02.05.2027\n\nTag;Beleg;Betrag\n01.05.2027;R-18;19,90\n02.05.2027;R-19;4,05\n",
        ("01.05.2027 | R-18 | 19,90", "02.05.2027 | R-19 | 4,05", "Filiale 7"),
    ),
    "sep line": ("sep=;\r\nid;price\r\n007;1,50\r\n008;2,75\r\n", ("007 | 1,50", "008 | 2,75")),
    "tabs with commas in cells": (
        "code\tplace\tsum\nA1\tHull, dock 2\t1,200\nA2\tYork, yard\t980\n",
        ("A1 | Hull, dock 2 | 1,200",),
    ),
    "pipes": ("a|b|c\n1|x, y|0012\n2|z; w|0013\n", ("1 | x, y | 0012",)),
    "quoted line breaks": (
        'no,remark\n1,"first line\nsecond, line"\n2,short\n',
        ("1 | first line second, line", "2 | short"),
    ),
    "decimal commas only": ("Ort;Wert\nA;1,5\nB;2,5\nC;3,5\nD;4,5\n", ("A | 1,5", "D | 4,5")),
    "commas, many empty cells": ("a,b,c,d\n1,,,x\n,,2,\n3,4,5,6\n", ("3 | 4 | 5 | 6",)),
    "title with a comma above semicolons": (
        "Umsatz, gesamt\nStand: 1.4., 12:00 Uhr, vorläufig\nKonto;Soll;Haben\n0815;12,00;\n0816;;7,50\n",
        ("0815 | 12,00", "0816 | | 7,50"),
    ),
    "leading zeros": ("plz,ort\n01067,Dresden\n00501,Holtsville\n", ("01067 | Dresden", "00501 | Holtsville")),
}

_HTML = {
    "sup digits": ("<p>Es waren 730<sup>3</sup> Teile.</p>", (("730³", "730 [3]"),), ("7303",)),
    "sup bracket": ("<p>Power 96<sup>[4]</sup> kW</p>", (("96 [4]", "96⁴", "96⁽⁴⁾", "96 [[4]]", "96[4]"),), ("964",)),
    "power": ("<p>about 10<sup>9</sup> cells</p>", (("10⁹", "10 [9]"),), ("109",)),
    "negative power": ("<p>about 10<sup>-6</sup> m</p>", (("10⁻⁶", "10 [-6]", "10^-6"),), ("10-6 m",)),
    "sub": ("<p>H<sub>2</sub>SO<sub>4</sub></p>", (("H₂SO₄", "H [2]SO [4]"),), ()),
    "span raised by style": (
        "<p>Bestand 88<span style='vertical-align:super'>5</span> kg</p>",
        (("88⁵", "88 [5]"),),
        ("885",),
    ),
    "ruby": (
        "<p><ruby>点検<rt>てんけん</rt></ruby>表</p>",
        (("点検表", "点検(てんけん)表", "点検（てんけん）表"),),
        (),
    ),
    "ruby rb rtc": (
        "<p><ruby><rb>水</rb><rb>圧</rb><rtc><rt>すい</rt><rt>あつ</rt></rtc></ruby>計</p>",
        (("水圧計", "水圧(すいあつ)計", "水圧（すいあつ）計", "水圧(すい あつ)計"),),
        ("水すい",),
    ),
    "siblings": (
        "<div><span>Sum</span><span>19.90</span></div><div><b>Net</b><b>16.72</b></div>",
        ("Sum 19.90", "Net 16.72"),
        (),
    ),
    "buttons": ("<nav><a>Home</a><a>Stock</a></nav><ul><li>A</li><li>B</li></ul>", ("Home Stock",), ("HomeStock",)),
    "rowspan": (
        "<table><tr><th>Site</th><th>Part</th></tr><tr><td rowspan=3>Hull</td><td>P1</td></tr><tr><td>P2</td></tr>"
        "<tr><td>P3</td></tr></table>",
        ("Hull | P1", "Hull | P2", "Hull | P3"),
        (),
    ),
    "nested tables": (
        "<table><tr><td>Ref</td><td>88</td><td><table><tr><td>Rope</td><td>5</td></tr></table></td></tr></table>",
        ("Rope | 5",),
        ("Ref88", "88Rope"),
    ),
    "words stay whole": (
        "<p>un<b>believ</b>able and <i>re</i>read H<wbr>aus</p>",
        ("unbelievable", "reread", "Haus"),
        (),
    ),
}


def text_cases(folder: Path) -> Iterable[Case]:
    """All of them, written below `folder`."""
    yield from _encodings(folder)
    for number, (name, (text, includes)) in enumerate(_CSV.items()):
        yield Case("csv", name, _put(folder, f"table-{number}.csv", text.encode()), includes, clean=True)
    for number, (name, (body, wanted, excludes)) in enumerate(_HTML.items()):
        page = f"<!doctype html><html><meta charset=utf-8><body>{body}</body></html>".encode()
        yield Case("html", name, _put(folder, f"page-{number}.html", page), wanted, excludes, clean=True)  # type: ignore[arg-type]
    yield from _mails(folder)


def _encodings(folder: Path) -> Iterable[Case]:
    for language, sentence in _ONE_BAD_BYTE.items():
        text = f"{sentence}\n".encode() * 8 + b"end \xdf 4\n"
        path = _put(folder, f"bad-{language}.txt", text)
        yield Case("one bad byte", language, path, (sentence, "end \ufffd 4"))
    for number, (encoding, name, text, word) in enumerate(_LEGACY):
        suffix = "csv" if ("," in text or ";" in text) and "\n" in text else "txt"
        path = _put(folder, f"legacy-{number}.{suffix}", text.encode(encoding))
        yield Case("legacy encoding", f"{encoding} {name}", path, (word,), instead=ENCODING)


def _mails(folder: Path) -> Iterable[Case]:
    def put(name: str, data: bytes) -> Path:
        return _put(folder, f"{name}.eml", data)

    head = b"From: Ada <ada@a.example>\r\nTo: Bo <bo@b.example>\r\nMIME-Version: 1.0\r\n"
    mixed = b"Content-Type: multipart/mixed; boundary=QQ\r\nSubject: keys\r\n\r\n"

    def parts(*bodies: bytes) -> bytes:
        return head + mixed + b"".join(b"--QQ\r\n" + body + b"\r\n" for body in bodies) + b"--QQ--\r\n"

    plain = b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
    yield Case(
        "mail",
        "three text parts",
        put("three", parts(plain + b"One 11.", plain + b"Two 22.", plain + b"Three 33.")),
        ("One 11.", "Two 22.", "Three 33."),
        clean=True,
    )
    html = b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>Gate <b>44</b></p>"
    yield Case("mail", "text, then html", put("html", parts(plain + b"One 11.", html)), ("One 11.", "Gate 44"))
    base = b"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    coded = base + base64.b64encode("Schlüssel 55".encode("latin-1"))
    yield Case("mail", "second part in base64", put("base", parts(plain + b"One 11.", coded)), ("Schlüssel 55",))
    quoted = b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    soft = quoted + quopri.encodestring("Türöffner 66".encode())
    yield Case("mail", "second part quoted", put("quoted", parts(plain + b"One 11.", soft)), ("Türöffner 66",))
    inner = (
        b"Content-Type: message/rfc822\r\n\r\nFrom: Cy <cy@c.example>\r\nSubject: inner\r\n\r\nThe ferry leaves at 7."
    )
    yield Case(
        "mail",
        "forwarded letter",
        put("forward", parts(plain + b"See below.", inner)),
        ("See below.", "inner", "The ferry leaves at 7."),
    )
    for encoding, subject in (("latin-1", "Prüfung läuft"), ("utf-8", "Prüfung läuft"), ("gb18030", "设备检查报告")):
        raw = head + b"Subject: " + subject.encode(encoding) + b"\r\n\r\nBody 77."
        yield Case(
            "mail", f"raw {encoding} header", put(f"raw-{encoding}", raw), (subject, "Body 77."), instead=ENCODING
        )
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@a.example", "b@b.example", "With a file"
    message.set_content("The sheet is enclosed.")
    message.add_attachment(b"Sheet 12", maintype="application", subtype="octet-stream", filename="sheet.txt")
    yield Case(
        "mail",
        "attachment is a document of its own",
        put("attached", message.as_bytes()),
        ("The sheet is enclosed.", "sheet.txt"),
        members={"sheet.txt": "Sheet 12"},
        clean=True,
    )


def _put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
