"""Words as answers compare them: folded, without stop words and endings, and the names that stand among them."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pipelines.documents.chunk.unspaced import UNSPACED

_TOKEN = re.compile(r"[^\W_]+")
# Marks among the letters of scripts without spaces between words that belong to the letter before. The index cuts them
# alike (migration 0028).
_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u1038\u103a-\u103e\u17b4-\u17d1\u17d3\u17dd"
)
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_RUN_OR_TOKEN = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+")
_LETTER = re.compile(f"[{UNSPACED}](?:[\u17d2\u1039][{UNSPACED}]|[{_MARKS}])*")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?:s|re|ve|ll|d|m)\b", re.IGNORECASE)
_GAP = re.compile(r"[\s\-–./'’&]*")  # what may stand between the words of one name
_SENTENCE_ENDS = '.!?:;\n“"(¿¡'
_STOP = """
a about above after again all also am an and any are as at be because been before being below between both
but by can could describe did do does doing down during each explain few for from further get gets give
given had has have having he her here him his how i if in into is it its itself just let like list many may
me might more most much must my no nor not of off on once one only or other our out over own per please same
shall she should so some such tell than that the their them then there these they this those through to too
under until up us very was we were what when where which while who whom whose why will with within without
would yes you your
"""
STOP = frozenset(_STOP.split())
LEAST_SPELT = 5  # letters from which on one may be wrong
MANY_CAPITALS = 4  # words from which on a text may be in title case
TITLE_CASE = 0.6  # share of its words with a capital from which on capitals tell nothing


@dataclass(frozen=True, slots=True)
class WordToken:
    """A word as it is written, folded, at characters [start, end)."""

    text: str
    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NameMention:
    """Name in a text: its folded words, which decide whether two are the same, and as it is written."""

    words: tuple[str, ...]
    shown: str = field(default="", compare=False)


def word_tokens(text: str) -> Iterator[WordToken]:
    """Letters and digits in a row; a possessive ending is none.

    Of scripts without spaces it is each two letters that stand side by side, and one that stands alone.
    """
    plain = _APOSTROPHE.sub(lambda found: " " * len(found[0]), text)
    for start, end in _token_places(plain):
        yield WordToken(plain[start:end], fold_word(plain[start:end]), start, end)


def fold_word(word: str) -> str:
    """A word without case, accents and the commonest English endings: enough to compare two sentences by."""
    plain = word.lower() if word.isascii() else _without_accents(word.casefold())
    if not plain.isalpha() or len(plain) <= 3:
        return plain
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3 and not plain.endswith(("ss", "us", "is")):
            plain = plain[: -len(ending)] + instead
            break
    plain = plain.removesuffix("e") if len(plain) > 3 else plain
    return plain[:-1] if len(plain) > 3 and plain[-1] == plain[-2] else plain


def known_words(texts: Iterable[str]) -> set[str]:
    """The folded words of texts."""
    return {fold_word(word) for word in {text[start:end] for text in texts for start, end in _token_places(text)}}


def content_words(text: str) -> list[str]:
    """The folded words of a text but for stop words and single letters, in order."""
    return [one.word for one in word_tokens(text) if is_content_word(one)]


def find_names(text: str) -> list[NameMention]:
    """Names in a text, each once.

    A name is a row of words that begin with a capital within a sentence, or have a capital or a digit inside, with
    the numbers behind them: `CloudWay 24`, `BIOL 501`, `Pad Pro`. Where stop words, too, begin with a capital, that
    tells nothing; nor does it where all is written in capitals.
    """
    found = list(word_tokens(text))
    cased = not text.isupper() and not _in_title_case([one for one in found[1:] if one.text.isalpha()])
    made: list[NameMention] = []
    row: list[WordToken] = []
    last = 0
    for one in found:
        joined = bool(row) and _GAP.fullmatch(text, last, one.start) is not None
        named = _is_name(text, one, cased)
        if row and not (joined and (named or one.text.isdigit())):
            made.append(_join_name(text, row))
            row = []
        if named or (row and one.text.isdigit()):
            row.append(one)
        last = one.end
    if row:
        made.append(_join_name(text, row))
    return list(dict.fromkeys(made))


def is_unknown_name(name: Sequence[str], known: Collection[str]) -> bool:
    """True where a text with these folded words does not name it: its first word, or half of them, is missing.

    A word of five letters or more is known in a spelling that is one letter away.
    """
    missing = [not _is_known(word, known) for word in name]
    return missing[0] or 2 * sum(missing) >= len(missing)


def _token_places(text: str) -> Iterator[tuple[int, int]]:
    if text.isascii() or _IS_UNSPACED.search(text) is None:
        yield from (found.span() for found in _TOKEN.finditer(text))
        return
    for found in _RUN_OR_TOKEN.finditer(text):
        if not _IS_UNSPACED.match(found[0]):
            yield found.span()
            continue
        letters = [letter.span() for letter in _LETTER.finditer(text, *found.span())]
        pairs = pairwise(letters)
        yield from ((one[0], other[1]) for one, other in pairs) if len(letters) > 1 else letters


def _join_name(text: str, row: Sequence[WordToken]) -> NameMention:
    return NameMention(tuple(one.word for one in row), text[row[0].start : row[-1].end])


def _without_accents(text: str) -> str:
    return "".join(part for part in unicodedata.normalize("NFKD", text) if not unicodedata.combining(part))


def _is_known(word: str, known: Collection[str]) -> bool:
    if word in known:
        return True
    return len(word) >= LEAST_SPELT and word.isalpha() and any(_is_near_spelling(word, other) for other in known)


def _is_near_spelling(one: str, other: str) -> bool:
    """At most one letter was added, left out, changed, or swapped with its neighbour; never the first."""
    if abs(len(one) - len(other)) > 1 or not other or one[0] != other[0] or not other.isalpha():
        return False
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rest, others = one[at:], other[at:]
    swapped = rest[:2] == others[1::-1] and rest[2:] == others[2:]
    return rest[1:] == others[1:] or rest[1:] == others or rest == others[1:] or swapped


def _is_name(text: str, token: WordToken, cased: bool) -> bool:
    """A capital or a digit inside tells a name anywhere, a first capital only within a sentence."""
    shown = token.text
    if any(char.isdigit() for char in shown):
        return any(char.isalpha() for char in shown) and not _is_ordinal(shown)
    if text.isupper() or not is_content_word(token):
        return False
    if any(char.isupper() for char in shown[1:]):
        return True
    return cased and shown[0].isupper() and not _begins_sentence(text, token.start)


def _in_title_case(found: Sequence[WordToken]) -> bool:
    """By its stop words; where there are none, by the share of all words."""
    stops = [one for one in found if one.text.casefold() in STOP]
    capital = sum(one.text[0].isupper() for one in stops or found)
    most = capital > TITLE_CASE * len(stops or found)
    return most and (bool(stops) or len(found) >= MANY_CAPITALS)


def _begins_sentence(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \t'‘’*_-–•")
    return not before or before[-1] in _SENTENCE_ENDS


def _is_ordinal(text: str) -> bool:
    return re.fullmatch(r"\d+(?:st|nd|rd|th|s|k|m|x|am|pm)", text, re.IGNORECASE) is not None


def is_content_word(token: WordToken) -> bool:
    """True for all but stop words and single letters."""
    return (len(token.word) > 1 or token.word.isdigit()) and token.text.casefold() not in STOP
