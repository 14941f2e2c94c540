"""Checks that quotes support a claim: its numbers, its names, its negation and most of its words."""

import re
from collections.abc import Sequence

from serve_apps.retrieval.text.rule_languages import text_language
from serve_apps.retrieval.text.values import find_numbers
from serve_apps.retrieval.text.words import NameMention, content_words, find_names, is_unknown_name, word_tokens

LEAST_SHARED = 0.5  # of a claim's words
LEAST_NEAR = 0.55  # cosine that stands for shared words where a claim is worded otherwise
SAME = 0.8  # share of words from which on a claim that negates its quote contradicts it
# `No. 12` names a number.
_NEGATION = re.compile(
    r"\b(?:not|no(?!\.\s?\d)|never|cannot|neither|nor|none)\b|n['’]t\b|\b(?P<without>without)\b", re.IGNORECASE
)


def word_overlap(claim: str, quotes: Sequence[str], about: Sequence[str]) -> float:
    """The share of a claim's words that stand in its quotes or in what they are `about`: titles above them."""
    wanted = set(content_words(claim))
    if not wanted:
        return 0.0
    known = {word for text in (*quotes, *about) for word in content_words(text)}
    return len(wanted & known) / len(wanted)


def support_objection(
    claim: str, quotes: Sequence[str], about: Sequence[str], question: str, similarity: float | None
) -> str | None:
    """Reason why the quotes, word for word, do not support the claim, a sentence without marks; None where they do.

    `about`: the titles over the quotes. `question`: names and words of it are no invention of the claim's.
    `similarity`: cosine of claim and quotes; None where nobody measured it.
    """
    said = " ".join(quotes)
    if extra := sorted(find_numbers(claim, digits_only=True) - find_numbers(said)):
        return f"its quote does not say {', '.join(extra)}"
    if name := unsupported_name(claim, (*quotes, *about, question)):
        return f"its quote does not name {name.shown}"
    share = word_overlap(claim, quotes, about)
    own, there = negation_kinds(claim), negation_kinds(said)
    if share >= SAME and (own - there or (there and not own)):
        return "its quote says the opposite"
    if share < LEAST_SHARED and (similarity is None or similarity < LEAST_NEAR):
        return "its quote says something else"
    return None


def unsupported_name(claim: str, texts: Sequence[str]) -> NameMention | None:
    """The first name of a claim that none of these texts speaks of; None in languages whose names the rule misreads."""
    if not text_language(claim).has("names"):
        return None
    known = {one.word for text in texts for one in word_tokens(text)}
    return next((name for name in find_names(claim) if is_unknown_name(name.words, known)), None)


def negation_kinds(text: str) -> set[str]:
    """Kinds of negation in a text: `not`, and `without`, which leaves its sentence as it is."""
    return {"without" if found["without"] else "not" for found in _NEGATION.finditer(text)}
