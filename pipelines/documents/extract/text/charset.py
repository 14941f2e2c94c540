"""Charset detection: the encoding of a text is the one whose reading is the likeliest in some language."""

import codecs
import io
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.extract.text.letter_statistics import HAN, load_letter_costs, out_of_place, pairs_of, text_cost
from pipelines.documents.sources.sniff import wide_encoding

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WEST: Final = ("de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "is", "ca", "sq")
_CENTRAL: Final = ("pl", "cs", "sk", "hu", "ro", "sl", "hr", "de", "sq")
_CYRILLIC: Final = ("ru", "uk", "bg", "sr", "mk", "be")
# Each encoding with the languages that are written in it and how many nats it is rarer than the commonest.
_CANDIDATES: Final[Mapping[str, tuple[tuple[str, ...], float]]] = {
    "cp1252": (_WEST, 0.0), "cp1250": (_CENTRAL, 0.5), "cp1251": (_CYRILLIC, 0.5), "cp1253": (("el",), 0.5),
    "cp1254": (("tr",), 0.5), "cp1255": (("he",), 0.5), "cp1256": (("ar", "fa"), 0.5),
    "cp1257": (("lt", "lv", "et"), 0.5), "cp1258": (("vi",), 1.0), "cp874": (("th",), 0.5),
    "koi8-r": (("ru", "bg"), 1.0), "koi8-u": (("uk", "ru"), 1.5), "gb18030": (("zh",), 0.5), "cp932": (("ja",), 0.5),
    "euc_jp": (("ja",), 1.0), "cp950": (("zh-Hant",), 0.5), "big5hkscs": (("zh-Hant",), 1.5), "cp949": (("ko",), 0.5),
    "iso8859-2": (_CENTRAL, 2.0), "iso8859-15": (_WEST, 2.5), "iso8859-5": (_CYRILLIC, 4.5),
    "iso8859-7": (("el",), 2.0), "cp866": (("ru", "uk", "bg", "be"), 3.0), "cp850": (_WEST, 4.5),
    "cp852": (_CENTRAL, 5.0), "cp437": (_WEST, 5.5), "cp737": (("el",), 5.0), "mac_roman": (_WEST, 5.5),
    "cp862": (("he",), 5.0), "iso8859-6": (("ar",), 3.0), "iso8859-4": (("lt", "lv", "et"), 6.0),
    "iso8859-13": (("lt", "lv", "et"), 2.0), "cp857": (("tr",), 5.5),
}  # fmt: skip
# Names under which other encodings travel.
_CALLED: Final[Mapping[str, str]] = {
    "latin-1": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "cp950",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
    "iso8859-8": "cp1255",
}
_DECLARED = re.compile(rb"""(?:encoding|charset|coding)\s*[=:]\s*["']?\s*([A-Za-z0-9][\w.:-]*)""", re.IGNORECASE)

_BEYOND = re.compile(rb"[\x80-\xff]")
SAMPLE_BYTES: Final = 1 << 13
BAD_BYTES: Final = 10  # one invalid byte in so many characters beyond ASCII leaves UTF-8 beyond doubt
DECLARED_BONUS: Final = 10.0
LANGUAGE_BONUS: Final = 4.0
CLEAR_MARGIN: Final = 6.0
# Nats a character beyond ASCII from which no known language is meant: of long texts, and how much more of one letter.
DEAR_ALPHABET: Final = (3.5, 2.4)
DEAR_HAN: Final = (6.8, 2.2)
MOST_OUT_OF_PLACE: Final = 0.03
FIX: Final = "set the encoding on the document to read it again"


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and what it was read with; `caveats` where that is in doubt."""

    text: str
    encoding: str
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    encoding: str
    text: str
    cost: float
    dear: bool
    rarity: float


def decode_bytes(
    data: bytes, *, chosen: str | None = None, language: str | None = None, declared: str | None = None
) -> DecodedText:
    """Bytes of a text.

    What a person chose decides, then a byte order mark, the zero bytes of UTF-16 and UTF-32, the escapes of the Asian
    7-bit encodings, then UTF-8 where nearly all of it fits. Else every known encoding is tried, and the reading whose
    letters are the likeliest in one of its languages is taken: `declared`, the name that the text itself gives (a
    charset, an XML declaration), and `language`, that of the workspace, weigh in. Never raises; what does not fit
    becomes U+FFFD.

    Args:
        chosen: the encoding that a person set.
        language: such as `de`, `zh-Hant` or `pt-BR`.
        declared: the encoding that the text or its container claims.
    """
    if chosen and (codec := known_codec(chosen)):
        return _decode_with(data, codec)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_with(data, encoding)
    if (wide := wide_encoding(data[:8192])) is not None:
        return _decode_with(data, wide)
    if (escaped := _decode_escaped(data)) is not None:
        return escaped
    valid, bad = _as_utf8(data)
    if valid and bad * BAD_BYTES <= valid:
        return _decode_with(data, "utf-8")
    return _likeliest_reading(data, language, declared or declared_in(data))


def known_codec(name: str) -> str | None:
    """The codec behind the name of an encoding, the wider one where names are used loosely; None for no encoding."""
    try:
        found = codecs.lookup(name.strip().strip("\"'"))
        b"a".decode(found.name, "ignore")
    except (LookupError, ValueError, TypeError):  # no codec, or one that is for no text
        return None
    plain = found.name.replace("_", "-") if found.name.startswith("iso") else found.name
    return _CALLED.get(plain, _CALLED.get(found.name, found.name))


def declared_in(data: bytes) -> str | None:
    """The encoding that the first lines of a text declare (XML, HTML, source code)."""
    found = _DECLARED.search(data[:1024])
    return found[1].decode("ascii") if found else None


def _decode_with(data: bytes, encoding: str) -> DecodedText:
    text = _replaced_text(data, encoding)
    whole = text[:-1] if text.endswith("\ufffd") else text  # a character cut off at the end is no reason to doubt
    bad = whole.count("\ufffd") - data.count("\ufffd".encode()) if "\ufffd" in whole else 0
    if bad <= 0:
        return DecodedText(text, encoding)
    detail = f"{bad} places do not fit {encoding.upper()} and stand as \ufffd; {FIX}"
    return DecodedText(text, encoding, (Caveat(CaveatKind.ENCODING_UNSURE, detail, bad),))


def _replaced_text(data: bytes, encoding: str) -> str:
    text = data.decode(encoding, "replace")
    # This code page alone writes a letter and its tone apart.
    return unicodedata.normalize("NFC", text) if encoding == "cp1258" else text


def _as_utf8(data: bytes) -> tuple[int, int]:
    """Count the characters beyond ASCII that fit UTF-8, and the places that do not, the cut end left out."""
    try:
        data.decode("utf-8")
        return 1, 0
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    whole = text[:-1] if text.endswith("\ufffd") and _ends_cut(data) else text
    bad = whole.count("\ufffd")
    return len(whole) - len(whole.encode("ascii", "ignore")) - bad, bad


def _ends_cut(data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-64:])
    return bool(decoder.getstate()[0])


def _decode_escaped(data: bytes) -> DecodedText | None:
    if b"\x1b$" not in data or not data.isascii():
        return None
    for encoding in ("iso2022_jp_2", "iso2022_jp_ext", "iso2022_kr"):
        try:
            return DecodedText(data.decode(encoding), encoding)
        except UnicodeDecodeError:
            continue
    return None


def _likeliest_reading(data: bytes, language: str | None, declared: str | None) -> DecodedText:
    sample = _sample_lines(data)
    claimed = known_codec(declared) if declared else None
    readings = sorted(_candidate_readings(sample, language, claimed), key=lambda one: one.cost)
    best = min((one for one in readings if one.text == readings[0].text), key=lambda one: one.rarity)
    other = next((one for one in readings[1:] if one.text != best.text), None)
    text = _replaced_text(data, best.encoding)
    sure = other is None or other.cost - readings[0].cost >= CLEAR_MARGIN
    bad = text.count("\ufffd")
    if sure and not readings[0].dear and not bad:
        return DecodedText(text, best.encoding)
    second = f", or {other.encoding.upper()}" if other is not None else ""
    detail = f"the encoding is probably {best.encoding.upper()}{second}: if words look wrong, {FIX}"
    return DecodedText(text, best.encoding, (Caveat(CaveatKind.ENCODING_UNSURE, detail, max(bad, 1)),))


def _candidate_readings(sample: bytes, language: str | None, claimed: str | None) -> Iterator[_Reading]:
    tried = dict(_CANDIDATES)
    tried["utf-8"] = (tuple(load_letter_costs()), 0.0)
    if claimed is not None and claimed not in tried:
        tried[claimed] = (tuple(load_letter_costs()), 0.0)
    for encoding, (spoken, rarity) in tried.items():
        text = sample.decode(encoding, "replace")
        pairs = pairs_of(text)
        costs = {lang: text_cost(pairs, lang) - _language_bonus(lang, language) for lang in spoken}
        lang = min(costs, key=lambda one: costs[one])
        cost = costs[lang] + rarity - (DECLARED_BONUS if encoding == claimed else 0.0)
        yield _Reading(encoding, text, cost, _is_dear(pairs, lang), rarity)


def _is_dear(pairs: Mapping[tuple[str, str], int], lang: str) -> bool:
    """True if a text's letters cost more than usual in the language, or too many are out of place."""
    beyond = {pair: count for pair, count in pairs.items() if max(pair) > "\x7f"}
    size = sum(beyond.values())
    usual, single = DEAR_HAN if lang in HAN else DEAR_ALPHABET
    dear = size > 0 and text_cost(beyond, lang) / size > usual + single / math.sqrt(size)
    return dear or out_of_place(beyond, lang) > MOST_OUT_OF_PLACE * size


def _language_bonus(lang: str, language: str | None) -> float:
    """The bonus of the workspace's language; a region that does not change the letters is left out."""
    if language is None:
        return 0.0
    spoken = language.replace("_", "-")
    traditional = spoken.lower().startswith("zh") and any(
        mark in spoken.lower() for mark in ("hant", "-tw", "-hk", "-mo")
    )
    return LANGUAGE_BONUS if lang == ("zh-Hant" if traditional else spoken.split("-")[0].lower()) else 0.0


def _sample_lines(data: bytes) -> bytes:
    """Lines that are not ASCII, up to a limit, and then some of the others, which tell of the language."""
    kept: list[bytes] = []
    for room, wanted in ((SAMPLE_BYTES, False), (SAMPLE_BYTES // 4, True)):
        for line in io.BytesIO(data):
            if room <= 0:
                break
            if line.isascii() is wanted:
                beyond = _BEYOND.search(line)
                start = max(0, beyond.start() - SAMPLE_BYTES // 16) if beyond else 0
                kept.append(line[start : start + SAMPLE_BYTES])
                room -= len(kept[-1])
    return b"".join(kept)
