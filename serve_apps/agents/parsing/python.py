"""Calls in Python's syntax: `f(a=1, b="x")`, a list of them, one a line; parsed, never evaluated."""

import ast
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

from cluster.models.reply_json import UnreadableValue, decode_json
from serve_apps.agents.parsing.coerce import schema_types
from serve_apps.agents.parsing.names import ToolNames
from serve_apps.agents.parsing.parsed_reply import CallCandidate

_LONGEST = 100_000
_DEEPEST = 40
_UNCLOSED = 4_000  # characters that may follow a bracket that is never closed
# `print(`, `await`, `result =` and `return` stand before calls in the code that Gemma and others write.
NAME = r"[A-Za-z_][\w\-]{0,127}(?:[.:/][\w\-]{1,127}){0,6}"
_CALL = re.compile(rf"(?:(?:await|return)\s+|[A-Za-z_]\w{{0,60}}\s*=\s*(?=[A-Za-z_]))?(print\s*\(\s*)?({NAME})\s*\(")
_STEP = re.compile(r"[()\[\]{}]|'''|\"\"\"|'|\"")
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def read_python_calls(text: str, at: int, names: ToolNames, *, sure: bool) -> tuple[list[CallCandidate], int]:
    """Calls that begin at `at`, with or without a list's brackets, and where they end; none where anything but calls of
    offered tools stands there. `sure`: the place says that these are calls, so one whose arguments cannot be read is
    one with a problem.
    """
    calls, start = list[CallCandidate](), at
    bracket = re.compile(r"\s*\[\s*").match(text, at)
    if bracket:
        at = bracket.end()
    while match := _CALL.match(text, at):
        name = names.resolve(match[2])
        if name is None:
            break
        close = _closing_bracket(text, match.end() - 1)
        inside = text[match.end() : close if close is not None else len(text)]
        found = _build_call(start if not calls else at, close, inside, name, names, sure=sure)
        if found is None:
            return [], start
        calls.append(found)
        at = found.end
        if match[1]:
            at = skip_pattern(text, at, r"\s*\)")
        at = skip_pattern(text, at, r"\s*[,;]?\s*")
    if not calls:
        return [], start
    if not bracket:
        return calls, calls[-1].end
    closing = re.compile(r"\s*\]").match(text, at)
    if closing is None and text[at:].strip():
        return [], start  # something else is in the list
    return calls, closing.end() if closing else len(text)


def skip_pattern(text: str, at: int, pattern: str) -> int:
    """Offset behind what the pattern matches at `at`."""
    match = re.compile(pattern).match(text, at)
    return match.end() if match else at


def _build_call(
    start: int, close: int | None, inside: str, name: str, names: ToolNames, *, sure: bool
) -> CallCandidate | None:
    end = start + len(inside) if close is None else close + 1
    if close is None and len(inside) > _UNCLOSED:
        return None
    try:
        arguments = read_keywords(inside, name, names, bare=sure)
    except UnreadableValue:
        return CallCandidate(start, end, name, None, inside, closed=close is not None) if sure else None
    return CallCandidate(start, end, name, arguments, inside, repaired=close is None, closed=close is not None)


def _closing_bracket(text: str, at: int) -> int | None:
    """Offset of the bracket that closes the one at `at`; brackets in strings do not count."""
    stack, position = list[str](), at
    while match := _STEP.search(text, position):
        mark, position = match[0], match.end()
        if mark in _PAIRS:
            stack.append(_PAIRS[mark])
        elif mark in ")]}":
            if not stack or stack.pop() != mark:
                return None
            if not stack:
                return match.start()
        else:
            end = _string_end(text, position, mark)
            if end is None:
                return None
            position = end
        if position - at > _LONGEST or len(stack) > _DEEPEST:
            return None
    return None


def _string_end(text: str, at: int, quote: str) -> int | None:
    stops = re.compile(rf"\\.|{quote}", re.DOTALL)
    while match := stops.search(text, at):
        at = match.end()
        if match[0] == quote:
            return at
    return None


def read_keywords(inside: str, name: str, names: ToolNames, *, bare: bool = False) -> dict[str, Any]:
    """Arguments by name from the text between a call's brackets; positional ones in the schema's order.

    `bare`: words and expressions may stand where the schema wants text: quotes were lost. Raises Unreadable for what is
    no arguments, more of them than parameters, or placeholders instead of values.
    """
    if not inside.strip():
        return {}
    if len(inside) > _LONGEST:
        raise UnreadableValue("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string is no concern of ours
            call = ast.parse(f"f({inside.strip().rstrip(',')}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _json_like(inside, error)
    if not isinstance(call, ast.Call):
        raise UnreadableValue("not one call")
    properties = names.properties(name)
    schemas = names.spec(name).parameters.get("properties", {})
    if len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.Dict):
        given = _literal_value(call.args[0], "", None, bare)
        if isinstance(given, dict) and set(given) <= set(properties):
            return given
    if len(call.args) > len(properties):
        raise UnreadableValue("more arguments than parameters")
    arguments = dict[str, Any]()
    for key, node in zip(properties, call.args, strict=False):
        if isinstance(node, ast.Name) and node.id.lower() not in _CONSTANTS:
            raise UnreadableValue("a placeholder")
        arguments[key] = _literal_value(node, key, schemas.get(key), bare)
    for keyword in call.keywords:
        if keyword.arg is None:
            given = _literal_value(keyword.value, "", None, bare)
            if not isinstance(given, dict):
                raise UnreadableValue("** of something else than a dict")
            arguments.update(given)
        else:
            arguments[keyword.arg] = _literal_value(keyword.value, keyword.arg, schemas.get(keyword.arg), bare)
    return arguments


def _json_like(inside: str, error: Exception) -> dict[str, Any]:
    """`f(city: "Paris")`, as some models write it."""
    decoded = decode_json("{" + inside + "}")
    if not isinstance(decoded.value, dict) or not decoded.closed or decoded.end != len(inside) + 2:
        raise UnreadableValue(str(error))
    return decoded.value


def _literal_value(node: ast.expr, key: str, schema: Any, bare: bool, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise UnreadableValue("too deep")
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str | int | float | bool | None):
            return node.value
        raise UnreadableValue(type(node.value).__name__)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_literal_value(item, key, None, bare, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            _literal_key(at): _literal_value(item, key, None, bare, depth + 1)
            for at, item in zip(node.keys, node.values, strict=True)
        }
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _literal_value(node.operand, key, None, bare, depth + 1)
        if isinstance(number, int | float):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Name) and node.id.lower() in _CONSTANTS:
        return _CONSTANTS[node.id.lower()]
    if isinstance(node, ast.Name) and node.id == key:
        raise UnreadableValue("a placeholder")  # f(city=city)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and "string" not in schema_types(schema):
        return _fold_arithmetic(node, bare, depth)
    if bare and "string" in schema_types(schema):
        return ast.unparse(node)  # text that lost its quotes: f(unit=celsius), integrate(function=x**2)
    raise UnreadableValue(type(node).__name__)


def _literal_key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return str(node.value)
    if isinstance(node, ast.Name):
        return node.id
    raise UnreadableValue("a key that is no text")


def _fold_arithmetic(node: ast.BinOp, bare: bool, depth: int) -> Any:
    left = _literal_value(node.left, "", None, bare, depth + 1)
    right = _literal_value(node.right, "", None, bare, depth + 1)
    if not all(isinstance(side, int | float) and abs(side) < 1e15 for side in (left, right)):
        raise UnreadableValue("arithmetic on something else than numbers")
    try:
        return _OPERATORS[type(node.op)](left, right)
    except ZeroDivisionError:
        raise UnreadableValue("a division by zero") from None
