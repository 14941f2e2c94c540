"""`calculator`: exact values by sympy, from a parsed expression whose every step is bounded."""

import asyncio
from collections.abc import Callable, Mapping
from math import log2
from operator import add, mul, sub, truediv
from time import monotonic
from typing import Any

import sympy

from cluster.basics.errors import Invalid, TooLarge
from cluster.models.messages import ToolSpec
from skills.calculator.parse import ExpressionBuilder, parse_expression
from skills.framework.contract import CallEffect, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest

SECONDS = 2.0  # for one expression
MOST_BITS = 4_000  # of numerator and denominator, about 1,200 digits
LARGEST_COUNT = 1_000  # for factorials and binomials
LARGEST_EXPONENT = 2_000  # of e
DIGITS = 15  # of the decimal number

_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "sqrt": (1, sympy.sqrt), "cbrt": (1, sympy.cbrt), "abs": (1, sympy.Abs), "exp": (1, sympy.exp),
    "log": (1, sympy.log), "ln": (1, sympy.log),
    "log2": (1, lambda x: sympy.log(x, 2)), "log10": (1, lambda x: sympy.log(x, 10)),
    "sin": (1, sympy.sin), "cos": (1, sympy.cos), "tan": (1, sympy.tan), "asin": (1, sympy.asin),
    "acos": (1, sympy.acos), "atan": (1, sympy.atan), "sinh": (1, sympy.sinh), "cosh": (1, sympy.cosh),
    "tanh": (1, sympy.tanh), "floor": (1, sympy.floor), "ceil": (1, sympy.ceiling),
    "gcd": (2, sympy.gcd), "lcm": (2, sympy.lcm), "factorial": (1, sympy.factorial), "binomial": (2, sympy.binomial),
}  # fmt: skip
_GROWING = {"exp", "sinh", "cosh", "tanh"}
_COUNTING = {"factorial", "binomial", "gcd", "lcm"}
_CONSTANTS = {"pi": sympy.pi, "e": sympy.E}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


class Calculator:
    """Arithmetic that cannot run code and cannot run away."""

    effect = CallEffect.READ

    def __init__(self, spec: ToolSpec, clock: Callable[[], float] = monotonic) -> None:
        self.spec, self._clock = spec, clock

    async def run(self, call: ToolInvocation) -> Any:
        """Give {expression, exact, decimal}; `exact` is None where only the decimal number is known.

        Raises Invalid: not arithmetic, or not defined, as 1/0; TooLarge: more digits, steps or time than allowed.
        """
        return await asyncio.to_thread(self.calculate, str(call.arguments["expression"]))

    def calculate(self, expression: str) -> dict[str, str | None]:
        """As `run`, in this thread."""
        steps = _Steps(self._clock)
        try:
            build = ExpressionBuilder(steps.number, steps.name, steps.unary, steps.binary, steps.call)
            value = parse_expression(expression, build)
            assert isinstance(value, sympy.Expr)
            decimal = value.evalf(DIGITS, maxn=5_000)  # digits that may cancel out on the way
        except (ArithmeticError, TypeError, ValueError) as error:  # sympy's, of numbers it cannot compare or compute
            raise Invalid(f"this cannot be computed: {error}") from error
        exact = None if value.has(sympy.Float) else str(value)
        return {"expression": expression, "exact": exact, "decimal": _decimal_text(decimal)}


def build(manifest: Manifest, ground: SkillDependencies) -> Calculator:
    """See `Build`."""
    return Calculator(manifest.spec)


class _Steps:
    """Each operation with its bounds; values are sympy expressions without symbols."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._end = clock, clock() + SECONDS

    def number(self, text: str) -> object:
        return self._bounded_value(sympy.Rational(text))

    def name(self, text: str) -> object:
        if text.lower() not in _CONSTANTS:
            raise Invalid(f"{text!r} is not known; there are pi, e and the functions {', '.join(_FUNCTIONS)}")
        return _CONSTANTS[text.lower()]

    def unary(self, sign: str, value: Any) -> object:
        if sign == "!":
            return self.call("factorial", [value])
        return self._bounded_value(value / 100 if sign == "%" else -value)

    def binary(self, sign: str, left: Any, right: Any) -> object:
        if sign in ("/", "//", "%") and right.is_zero:
            raise Invalid("division by zero")
        if sign in ("//", "%"):
            whole = sympy.floor(left / right)
            return self._bounded_value(whole if sign == "//" else left - right * whole)
        return self._bounded_value(_OPERATORS.get(sign, _bounded_power)(left, right))

    def call(self, name: str, values: list[object]) -> object:
        key = name.lower()
        if key in ("min", "max"):
            return self._bounded_value((sympy.Min if key == "min" else sympy.Max)(*values))
        if key == "round":
            return self._bounded_value(_round_half_away(values))
        if key not in _FUNCTIONS:
            known = ", ".join([*_FUNCTIONS, "round", "min", "max"])
            raise Invalid(f"there is no function {name!r}; there are: {known}")
        count, function = _FUNCTIONS[key]
        if len(values) != count and (key, len(values)) != ("log", 2):
            raise Invalid(f"{name} takes {count} numbers, not {len(values)}")
        if key in _COUNTING and not all(_is_whole(value) for value in values):
            raise Invalid(f"{name} takes whole numbers that are not negative")
        if key in _GROWING and abs(values[0].evalf(5)) > LARGEST_EXPONENT:  # type: ignore[attr-defined]
            raise TooLarge(f"{name} takes numbers up to {LARGEST_EXPONENT}")
        if key in ("factorial", "binomial") and any(value > LARGEST_COUNT for value in values):  # type: ignore[operator]
            raise TooLarge(f"{name} takes numbers up to {LARGEST_COUNT}")
        return self._bounded_value(function(*values))

    def _bounded_value(self, value: Any) -> object:
        if self._clock() > self._end:
            raise TooLarge(f"the calculation takes longer than {SECONDS:g} s")
        if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
            raise Invalid("the result is not defined")
        for atom in value.atoms(sympy.Rational):
            if max(int(atom.p).bit_length(), int(atom.q).bit_length()) > MOST_BITS:
                raise TooLarge("a number has more than 1,200 digits")
        return value


def _bounded_power(base: Any, exponent: Any) -> Any:
    """Exact where that is short, decimal where the number is of a common size, refused where it is huge."""
    if base.is_zero:
        if (exponent <= 0) == True:  # noqa: E712  # sympy's own truth
            raise Invalid("zero to this power is not defined")
        return base
    magnitude, times = abs(sympy.log(abs(base.evalf(20)), 2)).evalf(20), abs(exponent.evalf(20))
    if magnitude * times > MOST_BITS:
        raise TooLarge("a power has more than 1,200 digits")
    parts = [abs(int(part)) for atom in base.atoms(sympy.Rational) for part in (atom.p, atom.q)]
    width = max((log2(part) for part in parts if part), default=1.0)
    if width * times > MOST_BITS and times > 1:
        return base.evalf(40) ** exponent.evalf(40)
    return base**exponent


def _round_half_away(values: list[Any]) -> Any:
    """Half away from zero, as people round, to a number of decimals."""
    if len(values) > 2 or (len(values) == 2 and not (values[1].is_Integer and abs(values[1]) <= 100)):
        raise Invalid("round takes a number and at most 100 decimals")
    if not values[0].is_real:
        raise Invalid("round takes a real number")
    shift = sympy.Integer(10) ** (values[1] if len(values) == 2 else 0)
    sign = -1 if values[0].is_negative else 1
    return sign * sympy.floor(abs(values[0]) * shift + sympy.Rational(1, 2)) / shift


def _is_whole(value: Any) -> bool:
    return bool(value.is_Integer and value >= 0)


def _decimal_text(value: Any) -> str:
    """Without zeros at its end."""
    text = str(value)
    if "e" in text or "." not in text or not value.is_real:
        return text
    return text.rstrip("0").rstrip(".")
