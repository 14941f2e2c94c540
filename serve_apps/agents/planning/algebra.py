"""Formulas as algebra: parsed by the calculator's grammar into sympy, never evaluated as code, bounded all along."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import pairwise
from operator import add, mul, sub, truediv
from typing import Any

import sympy

from cluster.basics.errors import Invalid, TooLarge
from skills.calculator.parse import ExpressionBuilder, parse_expression

MOST_BITS = 4_000  # of a number: 9**9**9 has 1.2 thousand million
MOST_TERMS = 2_000  # of an expanded expression
LARGEST_EXPONENT = 1_000
MOST_NAMES = 20
LONGEST_NAME = 30
POINTS = 12  # at which two sides are compared, the first half of them positive
CLOSE = 1e-9

_FUNCTIONS: Mapping[str, tuple[Callable[..., Any], Callable[[float], float]]] = {
    "sqrt": (sympy.sqrt, math.sqrt),
    "abs": (sympy.Abs, abs),
    "exp": (sympy.exp, math.exp),
    "ln": (sympy.log, math.log),
    "log": (sympy.log, math.log),
    "log10": (lambda x: sympy.log(x, 10), math.log10),
    "log2": (lambda x: sympy.log(x, 2), math.log2),
    "sin": (sympy.sin, math.sin),
    "cos": (sympy.cos, math.cos),
    "tan": (sympy.tan, math.tan),
}
_CONSTANTS = {"pi": (sympy.pi, math.pi), "e": (sympy.E, math.e)}
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


@dataclass(frozen=True, slots=True)
class FormulaSide:
    """One side of a formula."""

    expression: Any  # a sympy expression
    terms: int  # most terms it has when it is expanded
    names: frozenset[str]  # its unknowns
    values: tuple[float, ...]  # what it gives at each point as floats; NaN where it is not defined


def parse_side(text: str, known: Mapping[str, float] | None = None) -> FormulaSide:
    """Parse one side; `known` gives names their values, others get one a point that depends on the name alone.

    Raises Invalid, saying where, if it is no formula, TooLarge if a number or an expansion would be too large.
    """
    build = ExpressionBuilder(
        _build_number, partial(_build_name, known or {}), _apply_unary, _apply_binary, _apply_function
    )
    made = parse_expression(text, build)
    assert isinstance(made, FormulaSide)
    if len(made.names) > MOST_NAMES:
        raise TooLarge(f"a formula has at most {MOST_NAMES} unknowns")
    return made


def compare_sides(left: FormulaSide, right: FormulaSide) -> tuple[bool | None, str]:
    """Compares two sides for all unknowns: equal or not, and by which method; None where undecided."""
    if left.terms + right.terms <= MOST_TERMS and sympy.expand(left.expression - right.expression) == 0:
        return True, "by algebra"
    both = [(a, b) for a, b in zip(left.values, right.values, strict=True) if math.isfinite(a) and math.isfinite(b)]
    if any(not math.isclose(a, b, rel_tol=1e3 * CLOSE, abs_tol=1e3 * CLOSE) for a, b in both):
        return False, "they differ at a point"
    if len(both) >= POINTS // 3 and all(math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE) for a, b in both):
        return True, f"at {len(both)} points"
    return None, "no point decides"


def _build_number(text: str) -> FormulaSide:
    value = sympy.Rational(text)
    return FormulaSide(value, 1, frozenset(), _repeat_value(float, value))


def _build_name(known: Mapping[str, float], name: str) -> FormulaSide:
    if len(name) > LONGEST_NAME:
        raise TooLarge(f"a name has at most {LONGEST_NAME} characters")
    if name in known:
        return FormulaSide(sympy.Symbol(name, real=True), 1, frozenset({name}), (float(known[name]),) * POINTS)
    if name in _CONSTANTS:
        exact, near = _CONSTANTS[name]
        return FormulaSide(exact, 1, frozenset(), (near,) * POINTS)
    digest = sha256(name.encode()).digest()
    values = [0.5 + 2.5 * digest[at] / 255 for at in range(POINTS)]
    signs = [-1 if at >= POINTS // 2 and digest[-1 - at] % 2 else 1 for at in range(POINTS)]
    signed = tuple(value * sign for value, sign in zip(values, signs, strict=True))
    return FormulaSide(sympy.Symbol(name, real=True), 1, frozenset({name}), signed)


def _apply_unary(sign: str, operand: object) -> FormulaSide:
    assert isinstance(operand, FormulaSide)
    if sign == "-":
        return FormulaSide(-operand.expression, operand.terms, operand.names, tuple(-value for value in operand.values))
    if sign == "%":
        return _apply_binary("/", operand, _build_number("100"))
    raise Invalid(f"{sign} has no place in a formula")


def _apply_binary(sign: str, left: object, right: object) -> FormulaSide:
    assert isinstance(left, FormulaSide)
    assert isinstance(right, FormulaSide)
    if sign == "**":
        return _apply_power(left, right)
    if sign not in _SIGNS:
        raise Invalid(f"{sign} has no place in a formula")
    if sign == "/" and right.expression == 0:
        raise Invalid("it divides by zero")
    terms = left.terms + right.terms if sign in "+-" else left.terms * right.terms
    _check_terms(terms)
    values = tuple(_float_or_nan(_SIGNS[sign], a, b) for a, b in zip(left.values, right.values, strict=True))
    return FormulaSide(_SIGNS[sign](left.expression, right.expression), terms, left.names | right.names, values)


def _apply_power(base: FormulaSide, exponent: FormulaSide) -> FormulaSide:
    """A power, refused before it is built where it would be too large: sympy works out powers of numbers at once."""
    terms = base.terms
    if not exponent.names:
        size = _exponent_size(exponent)
        if base.names or not base.expression.is_Rational:
            if size > LARGEST_EXPONENT:
                raise TooLarge(f"an exponent is at most {LARGEST_EXPONENT}")
            whole = exponent.expression.is_Integer and exponent.expression > 0
            terms = math.comb(int(exponent.expression) + base.terms - 1, base.terms - 1) if whole else base.terms
        if not base.names and size * _bit_length(base) > MOST_BITS:
            raise TooLarge(f"a number has at most {MOST_BITS} bits")
    elif not base.names and base.expression.is_Rational and _bit_length(base) > MOST_BITS:
        raise TooLarge(f"a number has at most {MOST_BITS} bits")
    _check_terms(terms)
    if base.expression == 0 and not exponent.names and exponent.values[0] < 0:
        raise Invalid("it divides by zero")
    values = tuple(_float_or_nan(pow, a, b) for a, b in zip(base.values, exponent.values, strict=True))
    return FormulaSide(base.expression**exponent.expression, terms, base.names | exponent.names, values)


def _apply_function(name: str, arguments: list[object]) -> FormulaSide:
    if name not in _FUNCTIONS or len(arguments) != 1:
        raise Invalid(f"{name} of {len(arguments)} is not known; known are {', '.join(_FUNCTIONS)}")
    (operand,) = arguments
    assert isinstance(operand, FormulaSide)
    if not operand.names and name == "exp":
        _exponent_size(operand, most=700)
    exact, near = _FUNCTIONS[name]
    if name.startswith(("ln", "log")) and operand.expression == 0:
        raise Invalid("zero has no logarithm")
    values = tuple(_float_or_nan(lambda a, _: near(a), a, a) for a in operand.values)
    # Expanding does not look into these functions' insides, but a sum of such calls has as many terms as calls.
    return FormulaSide(exact(operand.expression), max(1, operand.terms), operand.names, values)


def _exponent_size(number: FormulaSide, most: float = MOST_BITS) -> float:
    value = abs(number.values[0])
    if not value <= most:  # also NaN, which an overflow leaves
        raise TooLarge(f"an exponent is at most {most:g}")
    return value


def _bit_length(number: FormulaSide) -> float:
    if number.expression.is_Rational:
        return float(max(abs(int(number.expression.p)).bit_length(), int(number.expression.q).bit_length()))
    value = abs(number.values[0])
    return abs(math.log2(value)) if math.isfinite(value) and value else math.inf


def _check_terms(terms: int) -> None:
    if terms > MOST_TERMS:
        raise TooLarge(f"an expanded formula has at most {MOST_TERMS} terms")


def _float_or_nan(of: Callable[[float, float], Any], left: float, right: float) -> float:
    try:
        value = of(left, right)
    except (ArithmeticError, ValueError):
        return math.nan
    return value if isinstance(value, float | int) and math.isfinite(value) else math.nan


def _repeat_value(of: Callable[[Any], float], value: Any) -> tuple[float, ...]:
    try:
        return (of(value),) * POINTS
    except OverflowError:
        return (math.nan,) * POINTS


def split_sides(text: str) -> list[str]:
    """A formula's sides, one or two; `==` is `=`. Raises Invalid where it has more, or an empty one."""
    parts = text.replace("==", "=").split("=")
    if (
        len(parts) > 2
        or any(not part.strip() for part in parts)
        or any("<" in a or ">" in a for a, _ in pairwise(parts))
    ):
        raise Invalid("a formula is one expression, or two with = between them")
    return [part.strip() for part in parts]
