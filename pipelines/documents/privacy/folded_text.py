"""Text as the rules read it: digits, signs and spaces of other scripts as those of ASCII, without signs of no width."""

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache

_HYPHENS = "\u2010\u2011\ufe63"
# Between two digits they group a number as a hyphen does; anywhere else, as the longer dashes do, they part words.
_DASHES = "\u2012\u2013\u2212"
_LONE_DASH = re.compile(rf"(?<!\d)[{_DASHES}]|[{_DASHES}](?!\d)")
_SPACES = "\u2014\u2015\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_NO_WIDTH = "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def fold_text(text: str) -> tuple[str, Sequence[int] | None]:
    """The text, and where each of its characters stood; None where every one is still in its place."""
    if text.isascii():
        return text, None
    folded = _LONE_DASH.sub(" ", text).translate(_table())
    if not any(sign in folded for sign in _NO_WIDTH):
        return folded, None
    places = [at for at, sign in enumerate(folded) if sign not in _NO_WIDTH]
    return "".join(folded[at] for at in places), places


@cache
def _table() -> dict[int, str]:
    """One character for one character, so that nothing moves."""
    table = {ord(sign): "-" for sign in _HYPHENS + _DASHES} | {ord(sign): " " for sign in _SPACES}
    table |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full width
    digits = (code for code in range(0x80, sys.maxunicode + 1) if chr(code).isdecimal())
    return table | {code: str(unicodedata.decimal(chr(code))) for code in digits}
