"""Results of parsing a reply: its calls, the text around them, and their flaws."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call that a model asked for.

    Attributes:
        id: the provider's, or derived from run, position, name and arguments: the same at every reading.
        name: of an offered tool; with a `problem`, possibly as the model wrote it.
        arguments: a JSON object, coerced by the tool's schema; empty with a `problem`.
        tier: 1 native, 2 read out of text.
        problem: why it cannot be carried out, in words for the model (an observation); None if it can.
        raw: the arguments as the model wrote them.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    tier: Literal[1, 2]
    problem: str | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply, read.

    Attributes:
        calls: in the model's order.
        thought: reasoning, and text around calls.
        answer: what the user reads; None while there are calls.
        unknown: names that stand where a tool's name should, and are none.
        observed: the model wrote an observation itself; it and all after it was cut.
        premature: a final answer stood beside a call and was dropped.
        repaired: some arguments were broken JSON, or calls in Python's syntax with flaws, and could be mended.
    """

    calls: tuple[ParsedCall, ...] = ()
    thought: str = ""
    answer: str | None = None
    unknown: tuple[str, ...] = ()
    observed: bool = False
    premature: bool = False
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class CallCandidate:
    """A call in a text, before its arguments are coerced.

    Attributes:
        start: where its markup begins in the text.
        end: where it ends.
        name: of an offered tool.
        arguments: None where they could not be read.
        raw: as written.
        repaired: a flaw was mended.
        closed: False where the text ended inside of it.
    """

    start: int
    end: int
    name: str
    arguments: Mapping[str, Any] | None
    raw: str = ""
    repaired: bool = False
    closed: bool = True


@dataclass(slots=True)
class ParseResult:
    """Calls that one parser found in a text; `final` is an answer given in the form of a call."""

    calls: list[CallCandidate] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    final: str | None = None
    observed: bool = False
    premature: bool = False

    @property
    def start(self) -> int:
        """Offset of the first call."""
        return min(found.start for found in self.calls)
