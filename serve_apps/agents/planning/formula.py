"""Formula verification: whether a formula holds before it is used, and what it should be where it does not."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import sympy

from cluster.basics.errors import Invalid, TooLarge
from serve_apps.agents.planning.algebra import FormulaSide, compare_sides, parse_side, split_sides

CERTAIN, LIKELY, UNCHECKED = 0.99, 0.95, 0.6  # confidence: by algebra, at points, only well formed
LONGEST_CORRECTION = 500

# What people write and the grammar does not take: 2x, 3(a+b), (a)(b), 2 pi r.
_IMPLICIT = re.compile(r"(?<![A-Za-z_\d.])(\d+(?:\.\d+)?)\s*(?=[A-Za-z(])(?![eE][+-]?\d)|(\))\s*(?=[A-Za-z\d(])")


@dataclass(frozen=True, slots=True)
class FormulaVerification:
    """Result of a formula's verification, as the second set of documents has it."""

    verdict: Literal["verified", "needs_revision"]
    confidence: float  # 0 to 1; 0.6 where it is well formed and there was nothing to compare it with
    explanation: str
    corrected_formula: str | None = None  # what to use instead; None where it is right or nothing better is known
    value: float | None = None  # what it gives for the values that were given

    @property
    def data(self) -> Mapping[str, Any]:
        """As JSON."""
        return asdict(self)


def verify_formula(
    formula: str, values: Mapping[str, float] | None = None, result: float | None = None, reference: str | None = None
) -> FormulaVerification:
    """Check a formula: an expression, or two with = between them.

    `values`: what its names stand for; `result`: what it is said to give for them; `reference`: a formula that is known
    to be right, such as one that a document states.
    """
    try:
        return _judge_formula(formula, values or {}, result, reference)
    except Invalid as error:
        mended = _IMPLICIT.sub(lambda found: f"{found.group(1) or found.group(2)}*", formula)
        if mended != formula:
            try:
                judged = _judge_formula(mended, values or {}, result, reference)
            except (Invalid, TooLarge):
                return _broken_formula(error)
            better = judged.corrected_formula or mended
            why = f"Multiplication has to be written out. {judged.explanation}"
            return FormulaVerification("needs_revision", judged.confidence, why, better, judged.value)
        return _broken_formula(error)
    except TooLarge as error:
        return _broken_formula(error)


def _broken_formula(error: Invalid | TooLarge) -> FormulaVerification:
    confidence = UNCHECKED if isinstance(error, TooLarge) else CERTAIN
    return FormulaVerification("needs_revision", confidence, f"It cannot be worked out: {error.detail}.")


def _judge_formula(
    formula: str, values: Mapping[str, float], result: float | None, reference: str | None
) -> FormulaVerification:
    parts = split_sides(formula)
    read_sides = [parse_side(part, values) for part in parts]
    if reference is not None:
        return _compare_reference(parts, read_sides, reference, values)
    value = _side_value(read_sides[-1], values)
    if len(parts) == 1:
        return _check_value(parts[0], value, result)
    left, right = read_sides
    equal, how = compare_sides(*(parse_side(part) for part in parts))
    if equal:
        return FormulaVerification(
            "verified", CERTAIN if how == "by algebra" else LIKELY, f"Both sides are equal {how}.", None, value
        )
    if _is_definition(left, right):
        said = result if result is not None else values.get(str(left.expression))
        return _check_value(formula, value, said, name=f"{parts[0]} = ")
    if left.names != right.names:
        why = "It is well formed and holds only for some values."
        return FormulaVerification("verified", UNCHECKED, why, None, value)
    if equal is None:
        why = "It is well formed; whether the sides are equal is not known."
        return FormulaVerification("verified", UNCHECKED, why, None, value)
    better = _short_text(sympy.expand(left.expression))
    mended = None if better is None else f"{parts[0]} = {better}"
    return FormulaVerification("needs_revision", CERTAIN, "The sides are not equal.", mended, value)


def _compare_reference(
    parts: list[str], read_sides: list[FormulaSide], reference: str, values: Mapping[str, float]
) -> FormulaVerification:
    right = split_sides(reference)[-1]
    equal, how = compare_sides(parse_side(parts[-1]), parse_side(right))
    value = _side_value(parse_side(right, values), values)
    if equal:
        return FormulaVerification(
            "verified", CERTAIN if how == "by algebra" else LIKELY, f"It equals the reference {how}.", None, value
        )
    better = right if len(parts) == 1 else f"{parts[0]} = {right}"
    confidence = CERTAIN if equal is False else UNCHECKED
    return FormulaVerification("needs_revision", confidence, "It does not equal the reference.", better, value)


def _check_value(text: str, value: float | None, said: float | None, name: str = "") -> FormulaVerification:
    """A formula whose right side gives a value, or one with names that have none."""
    if said is None:
        certain = CERTAIN if value is not None else UNCHECKED
        more = f" and gives {value:.12g}." if value is not None else "; nothing to compare it with."
        return FormulaVerification("verified", certain, f"It is well formed{more}", None, value)
    if value is None:
        why = "Not every name has a value, so the result cannot be checked."
        return FormulaVerification("needs_revision", UNCHECKED, why)
    if math.isclose(value, said, rel_tol=1e-6, abs_tol=_half_a_digit(said)):
        return FormulaVerification("verified", CERTAIN, f"It gives {value:.12g}.", None, value)
    better = f"{name}{value:.12g}" if name else f"{text} = {value:.12g}"
    return FormulaVerification("needs_revision", CERTAIN, f"It gives {value:.12g}, not {said:.12g}.", better, value)


def _is_definition(left: FormulaSide, right: FormulaSide) -> bool:
    return bool(left.expression.is_Symbol) and str(left.expression) not in right.names


def _side_value(side: FormulaSide, values: Mapping[str, float]) -> float | None:
    known = side.names <= set(values) and math.isfinite(side.values[0])
    return side.values[0] if known else None


def _half_a_digit(said: float) -> float:
    """A result is given to as many digits behind the point as it shows."""
    _, _, digits = repr(float(said)).partition(".")
    return 0.5 * 10.0 ** -len(digits) if digits.isdecimal() and digits != "0" else 1e-9


def _short_text(expression: Any) -> str | None:
    text = str(expression)
    return text if len(text) <= LONGEST_CORRECTION else None
