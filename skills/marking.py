"""Fact matching by tokens: words without case, numbers by value. It stands alone, so that the sandbox runs it."""

import re

_PARTS = re.compile("\\d+(?:[.,\u00a0\u202f]\\d+)*|[^\\W\\d_]+|[%\u20ac$\u00a3\u00b0]")
_LEFT_OUT = frozenset({"a", "an", "the"})
_NEVER_BETWEEN = frozenset({"not", "no", "never", "without", "except", "unless", "nor"})
_LOOSE = 2  # other words that may stand between two neighbours of a fact of three words or more
_SAME = {
    "percent": "%", "euro": "\u20ac", "euros": "\u20ac", "eur": "\u20ac", "dollar": "$", "dollars": "$", "usd": "$",
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip


def fact_tokens(text: str) -> list[str]:
    """Words and numbers in order, articles left out: `The fees: 1,000.50 EUR` is [`fee`, `1000.5`, the euro sign]."""
    found = []
    for part in _PARTS.findall(text.casefold()):
        word = _plain_number(part) if part[0].isdigit() else _SAME.get(part) or _singular_form(part)
        if word not in _LEFT_OUT:
            found.append(word)
    return found


def says(text: str, fact: str) -> bool:
    """True where the fact's words stand in the text in their order.

    One or two words have to be neighbours; longer facts may have up to two other words in between, no numbers and no
    negations.
    """
    return holds_tokens(fact_tokens(text), fact_tokens(fact))


def holds_tokens(said: list[str], wanted: list[str]) -> bool:
    """As `says`, over tokens."""
    if not wanted:
        return False
    loose = _LOOSE if len(wanted) > 2 else 0
    return any(_matches_from(said, at, wanted, loose) for at, word in enumerate(said) if word == wanted[0])


def _matches_from(said: list[str], at: int, wanted: list[str], loose: int) -> bool:
    for word in wanted[1:]:
        between = 0
        at += 1
        while at < len(said) and said[at] != word:
            between += 1
            if between > loose or said[at][0].isdigit() or said[at] in _NEVER_BETWEEN:
                return False
            at += 1
        if at == len(said):
            return False
    return True


def _plain_number(text: str) -> str:
    """Its value: separators of thousands and zeros that mean nothing are gone; a version or a date stays as it is."""
    text = text.replace("\u00a0", "").replace("\u202f", "")
    last = max(text.rfind(","), text.rfind("."))
    if "," in text and "." in text:
        whole, part = text[:last], text[last + 1 :]
        text = re.sub("[.,]", "", whole) + "." + part
    elif re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+|[1-9]\d{0,2}(\.\d{3}){2,}", text):
        text = re.sub("[.,]", "", text)
    elif text.count(",") == 1:
        text = text.replace(",", ".")
    if text.count(".") == 1:
        text = text.rstrip("0").rstrip(".")
    return text.lstrip("0") if text.lstrip("0")[:1].isdigit() else "0" + text.lstrip("0")


def _singular_form(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
