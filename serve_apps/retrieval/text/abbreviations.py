"""Abbreviations and the words that they stand for: a text that says `FL` speaks of Florida."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from serve_apps.retrieval.text.words import fold_word, known_words

_SHORT = re.compile(r"(?<![^\W_])[A-Z][A-Z0-9]{1,4}(?![^\W_])")


def known_with_meanings(texts: Iterable[str]) -> set[str]:
    """The folded words of texts, with those that their abbreviations stand for and the abbreviations of their words."""
    texts = list(texts)
    known, meanings = known_words(texts), _meanings()
    written = {found for text in texts for found in _SHORT.findall(text)}
    for short, words in meanings.items():
        if short in written:
            known |= words
        elif words <= known:
            known.add(fold_word(short))
    return known


@cache
def _meanings() -> dict[str, frozenset[str]]:
    lines = Path(__file__).with_name("abbreviations.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {short: frozenset(fold_word(word) for word in words) for short, *words in rows}
