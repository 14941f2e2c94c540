"""Names that are known before a document is read: technologies, terms of art, well-known organisations and products."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise

from pipelines.documents.graph.model import EntityType
from pipelines.documents.graph.names import singular
from pipelines.documents.graph.word_spans import Word, adjacent, split

CONFIDENCE = 0.6


@dataclass(frozen=True, slots=True)
class Term:
    """A known name: what it is, and the spelling that stands for all of them."""

    type: EntityType
    name: str


class Lexicon:
    """Finds known names in sentences: one look a word, and one for each word more that a known name has."""

    def __init__(self, lines: Sequence[str]) -> None:
        """`lines`: as in terms.txt.

        Raises:
            ValueError: a section that is no type, or a name before the first section.
        """
        self._exact: dict[tuple[str, ...], Term] = {}
        self._folded: dict[tuple[str, ...], Term] = {}
        self._longest: dict[str, int] = {}
        kind: EntityType | None = None
        for line in (line.strip() for line in lines):
            if line.startswith("["):
                kind = EntityType(line.strip("[]"))
            elif line and not line.startswith("# "):
                if kind is None:
                    raise ValueError(f"{line!r} stands before the first section")
                self._add(kind, [name.strip() for name in line.split(" | ")])

    @classmethod
    def shipped(cls) -> "Lexicon":
        """Lexicon of the terms.txt beside this file."""
        return cls((files("pipelines.documents.graph") / "terms.txt").read_text(encoding="utf-8").splitlines())

    def find(self, text: str, words: Sequence[Word]) -> Iterator[tuple[int, int, Term]]:
        """(first word, word after the last, term) of each, the longest at each place; none overlap.

        Words of one name are parted by nothing but white space or an ampersand.
        """
        at = 0
        while at < len(words):
            found = self._at(text, words, at)
            if found is None:
                at += 1
                continue
            length, term = found
            yield at, at + length, term
            at += length

    def term(self, name: str) -> Term | None:
        """The known name that this is a spelling of."""
        words = split(name)
        return self._exact.get(words) or self._folded.get(_fold(words)) if words else None

    def _at(self, text: str, words: Sequence[Word], at: int) -> tuple[int, Term] | None:
        longest = self._longest.get(words[at].text.casefold(), 0)
        for length in range(min(longest, len(words) - at), 0, -1):
            part = words[at : at + length]
            if not all(adjacent(text, one, two) for one, two in pairwise(part)):
                continue
            spelled = tuple(word.text for word in part)
            term = self._exact.get(spelled) or self._folded.get(_fold(spelled))
            if term:
                return length, term
        return None

    def _add(self, kind: EntityType, names: Sequence[str]) -> None:
        term = Term(kind, names[0])
        for name in names:
            words = split(name)
            folded = _fold(words)
            table: dict[tuple[str, ...], Term] = self._folded if name == name.lower() else self._exact
            table[folded if table is self._folded else words] = term
            first = words[0].casefold()
            for start in {first, first + "s"} if len(words) == 1 else {first}:
                self._longest[start] = max(self._longest.get(start, 0), len(words))


def _fold(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without case and plural: known names in small letters are found in any form."""
    return (*(word.casefold() for word in words[:-1]), singular(words[-1].casefold()))
