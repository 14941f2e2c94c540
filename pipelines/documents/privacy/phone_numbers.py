"""Telephone numbers: written with a country or in a telephone's shape, or after a word about calling."""

import re

from pipelines.documents.privacy.kinds import text_before

_NEAR = 80  # characters before a number in which a word may say what it is
_CALLING = re.compile(
    r"\b(?:phones?|call(?:ed|ing|s)?|tel(?:ephone)?|mobile|cell(?:phone)?|fax|dial|whatsapp|sms|texts?|messages?|contact"
    r"|reach|ring|answer(?:ed|ing|s)?|my number|hotline|pager|office|desk"
    r"|telefon(?:nummer|o|e|u)?|rufnummer|handy(?:nummer)?|mobil(?:nummer|telefon)?|durchwahl|anrufen"
    r"|t[ée]l[ée]phone|t[ée]l|portable|appele[rz]"
    r"|tel[ée]fono|m[óo]vil|celular|llam(?:ar|e|a)|cellulare|chiama(?:re|mi)?|telem[óo]vel|telefoon|gsm|puhelin"
    r"|телефон|電話|电话|전화)\b(?:[^\n]|(?<=:)\s{0,3}\n){0,60}\Z",
    re.IGNORECASE,
)
_CALLED = re.compile(r"[ \t,-]{0,2}\(?(?:office|fax|mobile|cell|home|work|desk)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b(?:invoice|order|version|id|part|serial|account|case|ticket|isbn|page|card)\b[^\n]{0,20}\Z", re.IGNORECASE
)
_DATE = re.compile(
    r"(?:(?:19|20)\d\d([-./ ])[01]?\d\1[0-3]?\d|[0-3]?\d([-./ ])[0-3]?\d\2(?:19|20)\d\d)(?:\s\d{1,2})?\Z"
)
_SHAPED = re.compile(r"\d{3}[-. ]\d{3}[-. ]\d{4}(?:x\d{1,5})?|00[1-9]\d{0,2}[-. ]\(?\d[\d(). -]*")
# An area in parentheses, or a country; `(1 234 567)` is a loss in a table, and `(2019-2020)` are years.
_WRITTEN = re.compile(r"\+\(?[1-9]|\(\d{1,5}\)[ .-]{0,3}\d")
_YEARS = re.compile(r"\(?(?:19|20)\d\d(?:[ ().-]{1,3}(?:19|20)\d\d)+")
_LETTER = re.compile(r"[^\W\d_]")


def is_phone(match: re.Match[str]) -> bool:
    """Seven to fifteen digits (E.164) that are no date; written with a country, or after a word about calling."""
    text = match["it"]
    digits = sum(char.isdecimal() for char in text)
    if not 7 <= digits <= 15 or _DATE.match(text.lstrip("(")) or _YEARS.fullmatch(text):
        return False
    before = text_before(match, _NEAR)
    worded = _LETTER.search(before) is not None  # in a table of figures there is no word to look for
    if worded and _COUNTED.search(before[-40:]):
        return False
    if _WRITTEN.match(text) or _SHAPED.fullmatch(text) or _CALLED.match(match.string, match.end("it")):
        return True
    return worded and _CALLING.search(before) is not None
