"""Raised and lowered text (exponents, footnote marks, indices) written so that it never runs into a number."""

from typing import Final

_HIGH: Final = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LOW: Final = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
# What is raised as a matter of spelling; single letters are not among them, as they mark notes too.
_ORDINALS: Final = frozenset(("st", "nd", "rd", "th", "er", "re", "ère", "ème", "me", "lle", "tm", "sm", "®", "™", "°"))


def raised(text: str) -> str:
    """`1250` and a raised `2` are `1250²`; what has no raised form stands apart: ` [1)]`."""
    plain = " ".join(text.split())
    return plain if plain.lower() in _ORDINALS else _written(plain, _HIGH)


def lowered(text: str) -> str:
    """`CO` and a lowered `2` are `CO₂`; what has no lowered form stands apart: ` [max]`."""
    return _written(" ".join(text.split()), _LOW)


def _written(text: str, forms: dict[int, int]) -> str:
    if not text:
        return ""
    if all(ord(char) in forms for char in text):
        return text.translate(forms)
    return f" {text}" if (text[0], text[-1]) in (("[", "]"), ("(", ")")) else f" [{text}]"
