"""Results of parsing a reply: its calls, the text around them, and their flaws."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call that a model asked for."""

    id: str  # the provider's, or derived from run, position, name and arguments: the same at every reading
    name: str  # of an offered tool; with a `problem`, possibly as the model wrote it
    arguments: Mapping[str, Any]  # a JSON object, coerced by the tool's schema; empty with a `problem`
    tier: Literal[1, 2]  # 1 native, 2 read out of text
    problem: str | None = None  # why it cannot be carried out, in words for the model (an observation); None if it can
    raw: str = ""  # the arguments as the model wrote them


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply, read."""

    calls: tuple[ParsedCall, ...] = ()  # in the model's order
    thought: str = ""  # reasoning, and text around calls
    answer: str | None = None  # what the user reads; None while there are calls
    unknown: tuple[str, ...] = ()  # names that stand where a tool's name should, and are none
    observed: bool = False  # the model wrote an observation itself; it and all after it was cut
    premature: bool = False  # a final answer stood beside a call and was dropped
    # some arguments were broken JSON, or calls in Python's syntax with flaws, and could be mended
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class CallCandidate:
    """A call in a text, before its arguments are coerced."""

    start: int  # where its markup begins in the text
    end: int  # where it ends
    name: str  # of an offered tool
    arguments: Mapping[str, Any] | None  # None where they could not be read
    raw: str = ""  # as written
    repaired: bool = False  # a flaw was mended
    closed: bool = True  # False where the text ended inside of it


@dataclass(slots=True)
class JsonCalls:
    """Calls in a value: name and arguments, None where these are no object; `final` is an answer in a call's form."""

    calls: list[tuple[str, Mapping[str, Any] | None]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    final: str | None = None


@dataclass(slots=True)
class ParseResult:
    """Calls that one parser found in a text; `final` is an answer given in the form of a call."""

    calls: list[CallCandidate] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    final: str | None = None
    observed: bool = False
    premature: bool = False

    def note(self, shape: JsonCalls) -> None:
        """Take over what a JSON value holds beside its calls."""
        self.unknown.extend(shape.unknown)
        self.final = self.final or shape.final

    @property
    def start(self) -> int:
        """Offset of the first call."""
        return min(found.start for found in self.calls)
