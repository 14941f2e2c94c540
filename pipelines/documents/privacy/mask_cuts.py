"""Places at which a text can be cut without cutting a value of personal data in two, whatever comes after them.

Whether a place is one depends on the text before it alone. So a text that grows is cut where the whole one is, and what
was released of it stays the beginning of it.
"""

import re

LEAST = 24  # characters between two cuts: each costs a look at what stands before it
LEAST_LATER = 200  # the same behind `EARLY`, where nobody reads along word by word
EARLY = 20_000
_NEAR = 48  # characters in which an IBAN begins that goes on; the longest has 34, and a blank after each four

_PLACES = re.compile(r"\s(?=\S)|[。！？；，、](?=\S)")
_CITED = re.compile(r"\[\d{1,3}\][.!?,;:]*\Z")  # a citation mark: no value goes on behind one
_ENDED = re.compile(r"[,;:!?。！？；，、\]]\Z")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}[A-Za-z0-9 ]*\Z")
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")
_LONGEST_KEY = 8_100


def next_cut(text: str, start: int, looked: int = 0) -> int | None:
    """Where the piece that begins at `start` ends; None while that is not known.

    `looked`: up to here there is none, as an earlier look has found.
    """
    least = LEAST if start < EARLY else LEAST_LATER
    for place in _PLACES.finditer(text, max(start + least, looked) - 1):
        if _is_quiet(text, start, place.end()):
            return place.end()
    return None


def _is_quiet(text: str, start: int, end: int) -> bool:
    """True if no value that begins before `end` can go on behind it."""
    words = text[max(start, end - 200) : end].rsplit(None, 1)
    if not words or _inside_key(text, start, end):
        return False
    token = words[-1].rstrip()
    if _CITED.search(token):
        return True
    if any(char.isdigit() for char in token) or not any(char.isalpha() for char in token):
        return False  # a number that may go on, or what stands between two of its groups
    if _ENDED.search(token):
        return True
    near = text[max(0, end - _NEAR) : end].rstrip()
    return not token.lstrip("([\"'“‘„«").startswith(_CAPITALS) and not _IBAN.search(near)


def _inside_key(text: str, start: int, end: int) -> bool:
    begins = text.rfind(_KEY_BEGINS, max(start, end - _LONGEST_KEY), end)
    return begins >= 0 and _KEY_ENDS.search(text, begins, end) is None


# Names and letters of numbers go on behind a word with a capital.
_CAPITALS = tuple(chr(code) for code in range(0x250) if chr(code).isupper())
