"""Rule-based router of messages to paths: a table of whole words, the first match wins, no model."""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path as File

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.errors import InvalidSettings
from serve_apps.agents.turn_ports import TurnPath

LONGEST = 20_000  # characters that are looked at before words are counted
NO_RULE = "none"

_WORD = re.compile(r"[^\W_]+")
_COMMAND = re.compile(r"\s*/([a-z]{1,20})(?:\s+|$)", re.IGNORECASE)


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    path: TurnPath
    all: list[list[str]] = Field(min_length=1)
    unless: list[str] = []


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")
    first_words: int = Field(ge=1, le=500)
    gap: int = Field(ge=0, le=10)
    commands: dict[str, TurnPath] = {}
    sets: dict[str, list[str]] = {}
    rules: list[_Rule]


@dataclass(frozen=True, slots=True)
class PathRule:
    """A row of the table, compiled: it matches where each of `all` occurs and `unless` does not."""

    name: str
    path: TurnPath
    all: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class PathRules:
    """The table. `fingerprint` changes with every edit that could change a decision."""

    first_words: int
    commands: Mapping[str, TurnPath]
    rows: tuple[PathRule, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """A decision: the path, the name of the rule that made it, and the words in which it was found."""

    path: TurnPath
    rule: str
    words: tuple[str, ...] = ()


def read_rules(file: File) -> PathRules:
    """Read and compile the table. Raises InvalidSettings: with the place and the reason."""
    try:
        table = _Table.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
        patterns = _Patterns(table.sets, table.gap)
        rows = tuple(
            PathRule(
                rule.name,
                rule.path,
                tuple(patterns.any_of(line) for line in rule.all),
                patterns.any_of(rule.unless) if rule.unless else None,
            )
            for rule in table.rules
        )
    except (OSError, yaml.YAMLError, ValidationError, ValueError) as error:
        raise InvalidSettings(f"{file.name}: {error}") from error
    plain = json.dumps(table.model_dump(mode="json"), sort_keys=True)
    return PathRules(table.first_words, table.commands, rows, sha256(plain.encode()).hexdigest()[:16])


def normalise_words(message: str, first_words: int) -> str:
    """The words that decide, in lower case and without accents, each between single spaces."""
    text = unicodedata.normalize("NFKD", message[:LONGEST]).casefold()
    words = _WORD.findall("".join(letter for letter in text if not unicodedata.combining(letter)))
    return f" {' '.join(words[:first_words])} "


def command_of(message: str) -> tuple[str, str]:
    """The slash command that a message begins with, in lower case, and what follows it; no command is empty."""
    found = _COMMAND.match(message)
    return (found.group(1).lower(), message[found.end() :]) if found else ("", message)


def route_message(message: str, rules: PathRules) -> RouteDecision:
    """The first rule that matches decides; none means GENERAL. The same message always takes the same path."""
    command, _ = command_of(message)
    if command in rules.commands:
        return RouteDecision(rules.commands[command], "command", (f"/{command}",))
    text = normalise_words(message, rules.first_words)
    for rule in rules.rows:
        found = [pattern.search(text) for pattern in rule.all]
        if all(found) and not (rule.unless and rule.unless.search(text)):
            return RouteDecision(rule.path, rule.name, tuple(match.group().strip() for match in found if match))
    return RouteDecision(TurnPath.GENERAL, NO_RULE)


class _Patterns:
    """Turns patterns of the table into regular expressions over a normalised text; gaps are bounded, so it is fast."""

    def __init__(self, sets: Mapping[str, Sequence[str]], gap: int) -> None:
        self._sets = {name: "(?:" + "|".join(map(self._plain_word, words)) + ")" for name, words in sets.items()}
        self._gap = rf"(?: [^ ]+){{0,{gap}}}?"

    def any_of(self, patterns: Sequence[str]) -> re.Pattern[str]:
        return re.compile(f"(?:{'|'.join(map(self._pattern_regex, patterns))})(?= )")

    def _pattern_regex(self, pattern: str) -> str:
        parts = [self._token_regex(token) for token in pattern.split()]
        if not parts or self._gap in (parts[0], parts[-1]):
            raise ValueError(f"{pattern!r}: a pattern begins and ends with a word")
        return "".join(parts)

    def _token_regex(self, token: str) -> str:
        if token == "~":
            return self._gap
        if token.startswith("<"):
            if token.strip("<>") not in self._sets:
                raise ValueError(f"{token}: there is no such set")
            return f" {self._sets[token.strip('<>')]}"
        return f" {self._plain_word(token)}"

    @staticmethod
    def _plain_word(word: str) -> str:
        if normalise_words(word, 2) != f" {word} ":
            raise ValueError(f"{word!r} is not one plain word in lower case")
        return word
