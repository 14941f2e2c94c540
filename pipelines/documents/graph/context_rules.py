"""Context rules for named entities: a run of capitalised words, classified by the words beside it."""

import re
from collections.abc import Sequence

from pipelines.documents.graph import clues
from pipelines.documents.graph.word_spans import WordSpan, are_adjacent

SURE, LIKELY = 0.6, 0.5  # where a clear word says what it is; where only the form does
_VERSIONED = re.compile(r"[A-Z][A-Za-z]*-\d+(?:\.\d+)*[a-z]?|[A-Z][A-Za-z]*\d+(?:\.\d+)+")
_NUMBER = re.compile(r"v?\d+(?:\.\d+)+")
_NAMELIKE = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def is_abbreviation(text: str, one: WordSpan, two: WordSpan) -> bool:
    """`Dr. Rao`, `J. Smith`."""
    short = len(one.text) == 1 or one.text.casefold() in clues.ABBREVIATED
    return short and text[one.end : two.start] in (". ", ".")


def is_capitalised(word: WordSpan) -> bool:
    """True for a capitalised word that may be part of a name; days and months are not."""
    return word.text[0].isupper() and word.text.casefold() not in clues.CALENDAR


def word_before(text: str, words: Sequence[WordSpan], at: int, back: int = 1) -> str:
    """The word before, in small letters, if only white space parts them; else empty."""
    if at < back or not all(are_adjacent(text, words[n - 1], words[n]) for n in range(at, at - back, -1)):
        return ""
    return words[at - back].text.casefold()


def word_after(text: str, words: Sequence[WordSpan], last: int) -> str:
    """The word after a run that ends before `last`, as `word_before`."""
    if last >= len(words) or not are_adjacent(text, words[last - 1], words[last]):
        return ""
    return words[last].text.casefold()


def legal_form(text: str, words: Sequence[WordSpan], last: int) -> int | None:
    """The word after `, Inc` or ` plc` behind a run."""
    there = last < len(words) and words[last].text in clues.LEGAL_FORMS
    return last + 1 if there and text[words[last - 1].end : words[last].start] in (" ", ", ") else None


def of_what(text: str, words: Sequence[WordSpan], last: int) -> int | None:
    """The word after `of Oxford` or `for the Environment` behind a run."""
    if word_after(text, words, last) not in ("of", "for"):
        return None
    begin = last + 2 if last + 1 < len(words) and words[last + 1].text == "the" else last + 1
    end = begin
    while end < min(len(words), begin + 4) and are_adjacent(text, *words[end - 1 : end + 1]):
        if not is_capitalised(words[end]):
            break
        end += 1
    return end if end > begin else None


def is_version(words: Sequence[WordSpan], at: int) -> bool:
    """`GPT-4`, `Alpha2.0`; not `Figure-3`."""
    return bool(_VERSIONED.fullmatch(words[at].text)) and words[at].text.split("-")[0].casefold() not in clues.COUNTED


def version_end(text: str, words: Sequence[WordSpan], last: int) -> int | None:
    """The word after `3.11` or `v2.0` behind a name; numbers that only count do not make a version."""
    if words[last - 1].text.casefold() in clues.COUNTED or not _NUMBER.fullmatch(word_after(text, words, last)):
        return None
    return last + 1


def titled_person(text: str, words: Sequence[WordSpan], first: int, last: int) -> tuple[int, int] | None:
    """`Dr. Annie Besant`, `CEO Jane Smith`, `author Jane Doe`."""
    if last - first > 1 and words[first].text.casefold() in clues.TITLES_BEFORE:
        begin = first + 1
        while begin < last - 1 and words[begin].text.casefold() in clues.TITLES_BEFORE:
            begin += 1
        return (begin, min(last, begin + 3)) if _is_person_name(words, begin, min(last, begin + 3)) else None
    office = last - first in (2, 3) and word_before(text, words, first) in clues.OFFICES
    return (first, last) if office and _is_person_name(words, first, last) else None


def _is_person_name(words: Sequence[WordSpan], first: int, last: int) -> bool:
    return all(
        _NAMELIKE.fullmatch(word.text)
        and not (word.text.isupper() and len(word.text) > 3)
        and word.text.casefold() not in clues.PLAIN
        and word.text.casefold() not in clues.BODIES
        for word in words[first:last]
    )


def person_confidence(text: str, words: Sequence[WordSpan], first: int, last: int) -> float:
    """Confidence that a run is a person's name, by the words around it; 0 where nothing says so."""
    size = last - first
    if size > 3 or not _is_person_name(words, first, last):
        return 0.0
    one, two = word_before(text, words, first), word_before(text, words, first, 2)
    if (two, one) == ("name", "is") or one in ("dear", "hi"):
        return LIKELY
    if size == 1:
        return 0.0
    if _in_office(text, words, last):
        return SURE
    if words[first].text.casefold() in clues.GIVEN or (one == "by" and two in clues.MAKERS):
        return LIKELY
    next_one = word_after(text, words, last)
    born = next_one == "was" and last + 1 < len(words) and words[last + 1].text == "born"
    follows = any(word.text in clues.PRONOUNS for word in words[last : last + 10])
    return LIKELY if next_one in clues.SPEAKS or born or follows else 0.0


def is_body(text: str, words: Sequence[WordSpan], first: int, last: int) -> bool:
    """`CEO of Velvera`, `works at Cendara`, `Aventro announced`."""
    one, two = word_before(text, words, first), word_before(text, words, first, 2)
    if (one == "of" and two in clues.OF_A_BODY) or (one in ("at", "for", "by") and two in clues.WORKS):
        return True
    return word_after(text, words, last) in clues.ACTS and words[first].text.casefold() not in clues.PLAIN


def _in_office(text: str, words: Sequence[WordSpan], last: int) -> bool:
    """`…, the chief executive officer of`."""
    if last >= len(words) or text[words[last - 1].end : words[last].start] != ", ":
        return False
    return any(word.text.casefold() in clues.OFFICES for word in words[last : last + 6])
