"""Names that are known before a document is read: technologies, terms of art, well-known organisations and products."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise

from pipelines.documents.graph.model import EntityType
from pipelines.documents.graph.names import singular_form
from pipelines.documents.graph.word_spans import WordSpan, are_adjacent, split_words

CONFIDENCE = 0.6


@dataclass(frozen=True, slots=True)
class KnownName:
    """A known name: what it is, and the spelling that stands for all of them."""

    type: EntityType
    name: str


class NameLexicon:
    """Finds known names in sentences: one look a word, and one for each word more that a known name has."""

    def __init__(self, lines: Sequence[str]) -> None:
        """`lines` are as in terms.txt. Raises ValueError: a section is no type, or a name stands before the first."""
        self._exact: dict[tuple[str, ...], KnownName] = {}
        self._folded: dict[tuple[str, ...], KnownName] = {}
        self._longest: dict[str, int] = {}
        kind: EntityType | None = None
        for line in (line.strip() for line in lines):
            if line.startswith("["):
                kind = EntityType(line.strip("[]"))
            elif line and not line.startswith("# "):
                if kind is None:
                    raise ValueError(f"{line!r} stands before the first section")
                self._add_term(kind, [name.strip() for name in line.split(" | ")])

    @classmethod
    def shipped(cls) -> "NameLexicon":
        """Lexicon of the terms.txt beside this file."""
        return cls((files("pipelines.documents.graph") / "terms.txt").read_text(encoding="utf-8").splitlines())

    def find(self, text: str, words: Sequence[WordSpan]) -> Iterator[tuple[int, int, KnownName]]:
        """(first word, word after the last, term) of each, the longest at each place; none overlap.

        Words of one name are parted by nothing but white space or an ampersand.
        """
        at = 0
        while at < len(words):
            length, term = self._longest_match(text, words, at)
            if term is not None:
                yield at, at + length, term
            at += length

    def term(self, name: str) -> KnownName | None:
        """The known name that this is a spelling of."""
        words = split_words(name)
        return self._term_of(words) if words else None

    def _term_of(self, words: tuple[str, ...]) -> KnownName | None:
        return self._exact.get(words) or self._folded.get(_fold_words(words))

    def _longest_match(self, text: str, words: Sequence[WordSpan], at: int) -> tuple[int, KnownName | None]:
        longest = self._longest.get(words[at].text.casefold(), 0)
        for length in range(min(longest, len(words) - at), 0, -1):
            part = words[at : at + length]
            if not all(are_adjacent(text, one, two) for one, two in pairwise(part)):
                continue
            if term := self._term_of(tuple(word.text for word in part)):
                return length, term
        return 1, None

    def _add_term(self, kind: EntityType, names: Sequence[str]) -> None:
        term = KnownName(kind, names[0])
        for name in names:
            words = split_words(name)
            folded = _fold_words(words)
            table: dict[tuple[str, ...], KnownName] = self._folded if name == name.lower() else self._exact
            table[folded if table is self._folded else words] = term
            first = words[0].casefold()
            for start in {first, first + "s"} if len(words) == 1 else {first}:
                self._longest[start] = max(self._longest.get(start, 0), len(words))


def _fold_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without case and plural: known names in small letters are found in any form."""
    return (*(word.casefold() for word in words[:-1]), singular_form(words[-1].casefold()))
