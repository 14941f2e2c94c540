"""The last tier: a model that will not call is helped by calling the one reading tool that the message asks for.

Threshold and weights are authored: no source gives them.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serve_apps.agents.parsing.coerce import schema_types
from skills.framework.contract import CallEffect, Tool

_NAME_WEIGHT = 0.7
_TIE = 0.05
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "es", "ed", "s")
# Verbs that half of all tools begin with, and words without a topic.
_IDLE = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from", "get"),
        *("fetch", "give", "have", "how", "i", "in", "into", "is", "it", "its", "list", "me", "my", "of", "on"),
        *("or", "our", "please", "run", "show", "tell", "that", "the", "their", "them", "then", "there", "this"),
        *("to", "up", "us", "use", "was", "what", "when", "where", "which", "who", "will", "with", "would"),
        *("you", "your", "make", "perform", "read", "retrieve", "return", "returns", "find", "about", "all"),
        *("any"),
    )
)
_NEGATED = re.compile(r"\b(?:not|don't|don’t|never|stop|cancel|without|no need|instead of)\b", re.IGNORECASE)
_WHOLE = frozenset(
    {"query", "question", "q", "text", "prompt", "search", "searchquery", "message", "input", "keywords"}
)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{1,400})[\"”]|(?<!\w)'([^'\n]{1,400})'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.,])-?\d{1,15}(?:\.\d{1,9})?(?![\w]|[.,]\d)")
_FORMATS = {
    "email": re.compile(r"[\w.+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,6}"),
    "uri": re.compile(r"https?://[^\s\"'<>]{1,2000}"),
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
}


@dataclass(frozen=True, slots=True)
class ToolDispatch:
    """A tool to call in the model's stead; `score` is 0 to 1."""

    tool: str
    arguments: Mapping[str, Any]
    score: float


def dispatch_tool(message: str, tools: Sequence[Tool], threshold: float) -> ToolDispatch | None:
    """The reading tool that a message asks for, if there is exactly one and its arguments are certain.

    `message` holds the user's own words, never a model's or a document's; `tools` are all that the agent has, of which
    one without `CallEffect.READ` is never called, whatever fits second best; `threshold` is the least score, 0 to 1.
    """
    if _NEGATED.search(message):
        return None
    scored = sorted(score_tools(message, tools), key=lambda pair: (-pair[0], pair[1].spec.name))
    if not scored or scored[0][0] < threshold:
        return None
    if len(scored) > 1 and scored[0][0] - scored[1][0] < _TIE:
        return None
    score, tool = scored[0]
    if tool.effect is not CallEffect.READ:
        return None  # what the message asks for is not the best of the rest either
    arguments = infer_arguments(message, tool.spec.parameters)
    return None if arguments is None else ToolDispatch(tool.spec.name, arguments, round(score, 3))


def score_tools(message: str, tools: Sequence[Tool]) -> list[tuple[float, Tool]]:
    """Scores tools for a message: share of the name's words in it, and its rare words in the description."""
    said = set(_stemmed_words(message))
    described = [set(_stemmed_words(f"{tool.spec.name} {tool.spec.description}")) for tool in tools]
    spread = Counter(word for words in described for word in words)
    result = list[tuple[float, Tool]]()
    for tool, words in zip(tools, described, strict=True):
        named = _stemmed_words(tool.spec.name)
        by_name = sum(word in said for word in named) / len(named) if named else 0.0
        weights = {word: math.log(1 + len(tools) / spread[word]) for word in words}
        total = sum(math.log(1 + len(tools) / max(1, spread[word])) for word in said)
        by_words = sum(weights.get(word, 0.0) for word in said) / total if total else 0.0
        result.append((_NAME_WEIGHT * by_name + (1 - _NAME_WEIGHT) * by_words, tool))
    return result


def _stemmed_words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text[:4000]).casefold()
    return [_stem_word(word) for word in re.findall(r"[^\W_]{2,40}", spaced) if word not in _IDLE]


def _stem_word(word: str) -> str:
    """Cut so that `documents` meets `document` and `searching` meets `search`; nothing finer is needed here."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def infer_arguments(message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Arguments that the message leaves no doubt about, or None: every required parameter must have exactly one
    candidate; optional ones are left out."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = [key for key in schema.get("required") or () if isinstance(key, str)]
    if not required and len(known) == 1:
        required = list(known)[:1] if schema_types(next(iter(known.values()))) == ["string"] else []
    texts = [
        key for key in required if schema_types(known.get(key)) == ["string"] and not _is_constrained(known.get(key))
    ]
    numbers = [key for key in required if set(schema_types(known.get(key))) & {"integer", "number"}]
    if len(texts) > 1 or len(numbers) > 1:
        return None  # which of two is which, is a guess
    arguments = dict[str, Any]()
    for key in required:
        value = _only_candidate(message, key, known.get(key), alone=len(required) == 1)
        if value is None:
            return None
        arguments[key] = value
    return arguments


def _is_constrained(schema: Any) -> bool:
    return isinstance(schema, dict) and ("enum" in schema or schema.get("format") in _FORMATS)


def _only_candidate(message: str, key: str, schema: Any, *, alone: bool) -> Any:
    """The only candidate for a parameter, or None."""
    if not isinstance(schema, dict):
        return None
    allowed = schema_types(schema)
    if isinstance(schema.get("enum"), list):
        folded = message.casefold()
        words = [one for one in schema["enum"] if isinstance(one, str)]
        named = [one for one in words if re.search(rf"\b{re.escape(one.casefold())}\b", folded)]
        return named[0] if len(named) == 1 else None
    if allowed == ["string"] and schema.get("format") in _FORMATS:
        return _only_distinct(_FORMATS[schema["format"]].findall(message))
    if set(allowed) <= {"integer", "number"} and allowed:
        number = _only_distinct(_NUMBER.findall(message))
        if number is None or ("number" not in allowed and "." in number):
            return None
        return float(number) if "." in number else int(number)
    if allowed == ["string"]:
        quoted = _only_distinct([first or second for first, second in _QUOTED.findall(message)])
        if quoted is not None:
            return quoted
        whole = alone and re.sub(r"[\W_]", "", key).casefold() in _WHOLE
        return message.strip() if whole and message.strip() else None
    return None


def _only_distinct(found: Sequence[str]) -> str | None:
    return found[0] if len(set(found)) == 1 else None
