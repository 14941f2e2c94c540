"""Hyphens at the end of a line: those that only divide a word go, those that belong to it stay."""

import re
from collections.abc import Collection

_SMALL_WORDS = frozenset(
    re.findall(
        r"\S+",
        "a an and as at by for from if in of off on or out over the to up und oder bis de du des la le al del en y e à"
        " da do van den der",
    )
)
_FIRST_PARTS = frozenset(
    re.findall(
        r"\S+",
        "cross half high long low self short twenty thirty forty fifty sixty seventy eighty ninety two three well",
    )
)
_LONG_ENOUGH = 4  # letters that follow such a first part: `high-er` is one word, `high-speed` are two
_OF_ADDRESSES = "/@.:_\\"


def keeps_hyphen(before: str, after: str, known: Collection[str] = ()) -> bool:
    """True if a hyphen at the end of a line belongs to the word, and so stays when the lines are joined.

    Args:
        before: the word up to the hyphen.
        after: the rest of it, on the next line.
        known: other words of the page in small letters: a compound or a word that stands there unbroken decides.
    """
    if not before or not after:
        return True
    left, right = before[-1], after[0]
    if not left.isalpha() or not right.isalpha():
        return True
    if right.isupper() or left.isupper():
        return True
    whole = before.lower() + after.lower().rstrip(".,;:!?)]}\"'»”")
    if f"{before.lower()}-{after.lower()}".rstrip(".,;:!?)]}\"'»”") in known:
        return True
    if whole in known:
        return False
    if any(sign in before for sign in _OF_ADDRESSES):
        return True
    *earlier, last = before.lower().lstrip("([{\"'«„“").split("-")
    first = after.lower().split("-")[0]
    if earlier:
        return last in _SMALL_WORDS or len(last) == 1
    if "-" in after.rstrip("-") and first in _SMALL_WORDS:
        return True
    return len(last) == 1 or (last in _FIRST_PARTS and len(first) >= _LONG_ENOUGH)
