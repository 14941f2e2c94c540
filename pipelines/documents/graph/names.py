"""Canonical names: one name for the ways in which people write the same thing."""

import re
import unicodedata
from collections.abc import Sequence

from pipelines.documents.graph import clues
from pipelines.documents.graph.model import EntityType

LONGEST = 120  # characters of a name


_DROPPED = re.compile(r"[\"“”«»()\[\]{}*_`|™®©]")
_SPACES = re.compile(r"[\s\-‐‑–—]+")
_SHORT_FORMS = re.compile(r"\b([A-Z]{2,})s\b")
_POSSESSIVE = re.compile(r"['’]s?(?=\s|$)")


def canonical_name(name: str, kind: EntityType) -> str:
    """The name without what varies: case, accents of width, quotes, articles, titles, legal forms, the plural.

    Never empty where the name has a letter or digit: what would leave nothing is not taken away.
    """
    text = _POSSESSIVE.sub("", _DROPPED.sub(" ", unicodedata.normalize("NFKC", name)))
    text = _SHORT_FORMS.sub(r"\1", _SPACES.sub(" ", text))
    words = [word.strip(".,;:!?") or word for word in text.casefold().split()]
    words = [word for word in words if any(char.isalnum() for char in word)]
    if len(words) > 1 and words[0] in ("the", "a", "an"):
        words = words[1:]
    if kind is EntityType.ORGANIZATION:
        while len(words) > 1 and words[-1].replace(".", "") in clues.LEGAL_ENDINGS:
            words = words[:-1]
    if kind is EntityType.PERSON:
        while len(words) > 1 and words[0].rstrip(".") in clues.PERSON_TITLES:
            words = words[1:]
    if kind is EntityType.CONCEPT and words:
        words[-1] = singular_form(words[-1])
    return " ".join(words)[:LONGEST].strip()


def singular_form(word: str) -> str:
    """An English noun's singular as far as its spelling tells; words that only look like plurals stay."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "os", "ics", "ews", "ps/2")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zes")) else word[:-1]


def find_expansion(short: str, words: Sequence[str]) -> int | None:
    """Index in `words`, which end before a bracketed short form, at which its long form begins; None without one.

    Each letter of the short form has to be the initial of a word or of a part with a hyphen, in order and up to the
    last word; small words such as `of` may stand between. After Schwartz and Hearst, "A simple algorithm for
    identifying abbreviation definitions in biomedical text" (2003), with initials only: wrong pairs would make two
    things one.
    """
    letters = [char for char in short.casefold() if char.isalpha()]
    if short[-1:] == "s" and short[:-1].isupper():
        letters = letters[:-1]
    if not 2 <= len(letters) <= 10:
        return None
    parts = [(at, part) for at, word in enumerate(words) for part in word.casefold().split("-") if part]
    left = len(parts)
    for letter in reversed(letters):
        left -= 1
        while left >= 0 and parts[left][1][0] != letter and parts[left][1] in clues.SMALL:
            left -= 1
        if left < 0 or parts[left][1][0] != letter:
            return None
    first = parts[left][0]
    begins_inside = left > 0 and parts[left - 1][0] == first
    return None if begins_inside or (len(words) - first < 2 and "-" not in words[first]) else first
