"""Parts of an answer: claims with their citations, dropped claims, and conflicts between its sources."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipelines.documents.chunk.sentences import sentences
from serve_apps.retrieval.answers.quote import LEAST_WORDS
from serve_apps.retrieval.text.words import content_words

MARK = re.compile(r"[ \t]*\[(\d{1,3})\]")
_NUMBER = re.compile(r"\[(\d{1,3})\]")
Basis = Literal["quoted", "attributed", "extracted", "calculated"]
_ONLY_MARKS = re.compile(r"(?:\s*\[\d{1,3}\])+[\s.!?;,]*")


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """A sentence of an answer."""

    text: str  # without marks
    citations: tuple[int, ...]  # numbers of what supports it; empty where nothing does
    # how it came to them: whoever wrote it `quoted` them; it was `attributed` to them by its words, as the model that
    # wrote it quoted nothing that stands there; it was `extracted`, a sentence of the documents; it was `calculated`
    # from rows of tables
    basis: Basis = "quoted"

    @property
    def marked(self) -> str:
        """The sentence with its marks behind it."""
        return " ".join([self.text, *(f"[{n}]" for n in self.citations)])


@dataclass(frozen=True, slots=True)
class DroppedClaim:
    """A sentence that a model wrote and that is not shown, and why."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class ConflictValue:
    """Value of one source, as it is written, that conflicts with another source's; and its citation."""

    value: str
    citation: int


@dataclass(frozen=True, slots=True)
class SourceConflict:
    """Sources that say the same of something but for a value."""

    stated: tuple[ConflictValue, ...]

    @property
    def sentence(self) -> str:
        """For the reader."""
        return f"The sources disagree: {', '.join(f'{one.value} [{one.citation}]' for one in self.stated)}."


def as_said(quote: str) -> str:
    """A quote as a sentence of an answer: white space folded, and the page's own `[2]`, no citation, as `(2)`."""
    return _NUMBER.sub(r"(\1)", " ".join(quote.split()))


def left_out(dropped: Sequence[DroppedClaim]) -> bool:
    """True where more than a greeting was dropped."""
    return any(len(set(content_words(one.text))) >= LEAST_WORDS for one in dropped)


def text_of(claims: Sequence[AnswerClaim], conflicts: Sequence[SourceConflict]) -> str:
    """An answer as it is shown, a claim a line."""
    return "\n".join([*(claim.marked for claim in claims), *(conflict.sentence for conflict in conflicts)])


def of_text(text: str, known: Collection[int]) -> tuple[AnswerClaim, ...]:
    """The sentences of a written answer; marks behind a full stop belong to the sentence before it.

    Numbers that are not `known` are no citations, and stay in the text.
    """
    made: list[AnswerClaim] = []
    for line in text.splitlines():
        for piece in _marked_sentences(line):
            cited = tuple(dict.fromkeys(n for n in map(int, MARK.findall(piece)) if n in known))
            plain = MARK.sub(lambda mark: "" if int(mark[1]) in known else mark[0], piece).strip()
            if plain and any(char.isalnum() for char in plain):
                made.append(AnswerClaim(plain, cited))
            elif cited and made:
                made[-1] = AnswerClaim(made[-1].text, tuple(dict.fromkeys([*made[-1].citations, *cited])))
    return tuple(made)


def of_lines(text: str, bases: Sequence[Basis], known: Collection[int]) -> tuple[AnswerClaim, ...]:
    """The claims of `text_of`, by what each rests on; the lines behind them are none."""
    made: list[AnswerClaim] = []
    for line, basis in zip(text.splitlines(), bases, strict=False):
        plain = " ".join(MARK.sub(lambda mark: "" if int(mark[1]) in known else mark[0], line).split())
        made.append(AnswerClaim(plain, tuple(n for n in map(int, MARK.findall(line)) if n in known), basis))
    return tuple(made)


def _marked_sentences(line: str) -> Iterator[str]:
    start = 0
    for begin, end in sentences(line, 0, len(line)):
        if end <= start:
            continue
        marks = _ONLY_MARKS.match(line, end)
        stop = marks.end() if marks else end
        yield line[max(begin, start) : stop]
        start = stop
