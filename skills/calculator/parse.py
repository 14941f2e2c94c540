"""Arithmetic as people write it, parsed into a tree of listed operations."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from cluster.basics.errors import Invalid, TooLarge

LONGEST = 500  # characters
MOST_TOKENS = 200
DEEPEST = 50  # brackets and signs inside one another

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+(?:[eE][+-]?\d{1,3})?)|([A-Za-z]\w*)|(\*\*|//|.))")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SAME = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "\x00"})
_BINDS = {"+": 10, "-": 10, "*": 20, "/": 20, "//": 20, "%": 20, "**": 40}
_SIGN = 30  # -2^2 is -(2^2), and 2*-3 is 2*(-3)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ExpressionBuilder:
    """Callbacks of the parser: values for a number, a name, a unary or binary operator, and a function call."""

    number: Callable[[str], object]
    name: Callable[[str], object]
    unary: Callable[[str, object], object]
    binary: Callable[[str, object, object], object]
    call: Callable[[str, list[object]], object]


def parse_expression(text: str, build: ExpressionBuilder) -> object:
    """Build an expression's value from its leaves. Raises TooLarge: long or deep; Invalid: no arithmetic, and where."""
    if len(text) > LONGEST:
        raise TooLarge(f"an expression has at most {LONGEST} characters")
    plain = text.translate(_SAME).replace("\x00", "**")
    tokens = list(_split_tokens(plain if re.search(r"[A-Za-z]", plain) else _THOUSANDS.sub("", plain)))
    if len(tokens) > MOST_TOKENS:
        raise TooLarge(f"an expression has at most {MOST_TOKENS} numbers and signs")
    parser = _Parser(tokens, build)
    value = parser.expression(0, 0)
    if parser.ahead:
        raise Invalid(f"did not expect {parser.ahead!r}")
    return value


class _Parser:
    """Precedence climbing."""

    def __init__(self, tokens: list[str], build: ExpressionBuilder) -> None:
        self._tokens, self._build, self._at = tokens, build, 0

    @property
    def ahead(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def expression(self, least: int, depth: int) -> object:
        if depth > DEEPEST:
            raise TooLarge(f"brackets and signs are at most {DEEPEST} deep")
        value = self._parse_operand(depth)
        while True:
            sign = self.ahead
            if sign == "!" or (sign == "%" and not self._starts_operand(self._at + 1)):
                self._at += 1
                value = self._build.unary(sign, value)
            elif sign in _BINDS and _BINDS[sign] >= least:
                self._at += 1
                right = self.expression(_BINDS[sign] + (sign != "**"), depth + 1)
                value = self._build.binary(sign, value, right)
            else:
                return value

    def _parse_operand(self, depth: int) -> object:
        token = self.ahead
        self._at += 1
        if token in ("+", "-"):
            value = self.expression(_SIGN, depth + 1)
            return self._build.unary("-", value) if token == "-" else value
        if token == "(":
            value = self.expression(0, depth + 1)
            self._expect_token(")")
            return value
        if token[:1].isalpha():
            return self._parse_call(token, depth) if self.ahead == "(" else self._build.name(token)
        if token[:1].isdigit() or token[:1] == ".":
            return self._build.number(token)
        raise Invalid(f"did not expect {token!r}" if token else "the expression ends too early")

    def _parse_call(self, name: str, depth: int) -> object:
        self._at += 1
        arguments = [self.expression(0, depth + 1)]
        while self.ahead == ",":
            self._at += 1
            arguments.append(self.expression(0, depth + 1))
        self._expect_token(")")
        return self._build.call(name, arguments)

    def _expect_token(self, token: str) -> None:
        if self.ahead != token:
            raise Invalid(f"expected {token!r}, not {self.ahead!r}")
        self._at += 1

    def _starts_operand(self, at: int) -> bool:
        return at < len(self._tokens) and bool(re.match(r"[\w.(]", self._tokens[at]))


def _split_tokens(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text.rstrip()):
        yield found.group(1) or found.group(2) or found.group(3)
