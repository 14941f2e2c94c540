"""The calculator: exact, whitelisted, and never longer than it may."""

import random
from time import perf_counter

import pytest

from cluster.basics.errors import AosError, Invalid, TooLarge
from skills.calculator.tool import Calculator
from skills.framework.builtin import shipped_skill
from skills.framework.contract import ToolInvocation
from tests.fakes.agents import SCOPE, Ticks

SPEC = shipped_skill("calculator").spec


@pytest.mark.parametrize(
    ("expression", "exact", "decimal"),
    [
        ("(1234.5 * 3) / 7", "7407/14", "529.071428571429"),
        ("0.1 + 0.2", "3/10", "0.3"),
        ("15% * 80", "12", "12"),
        ("100 * (1 + 5%) ^ 2", "441/4", "110.25"),
        ("10 % 3", "1", "1"),
        ("7 // 2", "3", "3"),
        ("-2^2", "-4", "-4"),
        ("2 * -3", "-6", "-6"),
        ("2^3^2", "512", "512"),
        ("2 - 3 - 4", "-5", "-5"),
        ("10! / 8!", "90", "90"),
        ("1,234,567 + 1", "1234568", "1234568"),
        ("3 × 4 ÷ 6 − 1", "1", "1"),
        ("sqrt(2)^2", "2", "2"),
        ("sin(pi / 6)", "1/2", "0.5"),
        ("log(8, 2)", "3", "3"),
        ("round(2.675, 2)", "67/25", "2.68"),
        ("round(-2.5)", "-3", "-3"),
        ("min(1, 200) + max(3, pi)", "1 + pi", "4.14159265358979"),
        ("gcd(12, 18)", "6", "6"),
        ("cosh(1000) - sinh(1000)", None, None),
        ("1.0000001 ^ 1000000", None, "1.10517091254979"),
    ],
)
def test_values(expression: str, exact: str | None, decimal: str | None) -> None:
    """EX-17: exact where it can be, and a decimal number of 15 digits."""
    given = Calculator(SPEC).calculate(expression)
    assert exact is None or given["exact"] == exact
    assert decimal is None or given["decimal"] == decimal


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "()",
        "1 +",
        "* 2",
        "2 3",
        "2(3)",
        "1/0",
        "1 % 0",
        "0^0",
        "0^-1",
        "log(0)",
        "tan(pi/2)",
        "x + 1",
        "sqrt()",
        "sqrt(1, 2)",
        "__import__('os').system('id')",
        "().__class__",
        "[1]",
        "lambda: 1",
        "a.b",
        "1 if 1 else 2",
        "1; 2",
        "'a' * 9",
        'f"{1}"',
        "sqrt",
        "max(1, sqrt(-1))",
        "round(sqrt(-1))",
        "factorial(-1)",
        "factorial(1.5)",
        "1..2",
        "0x10",
        "eval(1)",
    ],
)
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    """B-05: nothing is evaluated as code; the detail is for the model."""
    with pytest.raises(Invalid) as raised:
        Calculator(SPEC).calculate(expression)
    assert raised.value.detail


@pytest.mark.parametrize(
    "expression",
    [
        "9^9^9",
        "9**9**9**9",
        "factorial(1001)",
        "1000!!",
        "exp(exp(exp(10)))",
        "2^100000",
        "10^-5000",
        "e^e^e^e^e",
        "(2^3999)*(2^3999)",
        "1" * 600,
        "(" * 300,
        "-" * 100 + "1",
        "+".join(["1"] * 220),
        "binomial(10^9, 5)",
        "cosh(10^6)",
        "sqrt(2)^(10^9)",
    ],
)
def test_what_would_run_away_is_refused(expression: str) -> None:
    """EX-18: digits, length and depth are bounded, and each in milliseconds."""
    began = perf_counter()
    with pytest.raises(AosError):
        Calculator(SPEC).calculate(expression)
    assert perf_counter() - began < 2


def test_time_is_bounded() -> None:
    """EX-18: the clock is looked at in every step."""
    ticks = Ticks()

    def clock() -> float:
        ticks.seconds += 0.5
        return ticks.seconds

    with pytest.raises(TooLarge):
        Calculator(SPEC, clock).calculate("1+1+1+1+1+1")


def test_garbage_has_a_name() -> None:
    """EX-15: whatever is written, an answer or an error by name."""
    chance = random.Random(5)
    pieces = [
        "1",
        "2.5",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "^",
        "%",
        "!",
        "sqrt",
        ",",
        "pi",
        " ",
        "e",
        "1e9",
        "log",
        "//",
        "é",
    ]
    for _ in range(400):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 12)))
        try:
            assert Calculator(SPEC).calculate(text)["decimal"]
        except AosError as error:
            assert error.detail


async def test_as_a_tool() -> None:
    """EX-15: arguments in, JSON out."""
    given = await Calculator(SPEC).run(ToolInvocation(SCOPE, None, "k", {"expression": "6 * 7"}))
    assert given == {"expression": "6 * 7", "exact": "42", "decimal": "42"}
