"""Schema links: which words of a question name a column of a relation, a value in it, or what all of it is about."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import PurePath

from serve_apps.retrieval.tables.cell_values import ColumnType
from serve_apps.retrieval.tables.column_kinds import IS_CODE, heading_words, units_of
from serve_apps.retrieval.tables.question_cues import QuestionCues
from serve_apps.retrieval.tables.relation import Column, Relation
from serve_apps.retrieval.text.units import same_unit
from serve_apps.retrieval.text.words import STOP, WordToken, content_words, is_content_word, word_tokens

LONGEST_VALUE = 8  # words; more is a text, and no name of anything
MOST_PARTIAL = 5  # values that a part of a name may stand for
NEAR = 0.45  # cosine from which on a word may mean a heading, and by how much nearer than the next it has to be
APART = 0.07
LEAST_STEM = 5  # letters that words of one family begin with
LEAST_HEADING = 0.5  # share of a heading's words that name its column
# Words that name no column and no condition: rows of any table, and what people do with what they list.
_GENERIC = """
owns owned table sheet spreadsheet workbook ledger list row line entry record item position column file document data
people date day person employ employee work recorded listed made paid given shown have place placed come came
value thing piece pay spend spent cost costs receive received earn charge buy bought sell sold order
get got take took go went see win won do done lie stand saw seen bring brought
hold held keep kept use used happen occur belong book register
include included everything money figure amount kind sort please exactly number whole entire according pick
collect whatever become became part like want know tell say would tabelle zeile eintrag einträge liste blatt datei
"""
GENERIC = frozenset(content_words(_GENERIC))


@dataclass(frozen=True, slots=True)
class ColumnLink:
    """A column that a question names."""

    column: Column
    share: float  # of its heading's words, 0 to 1
    at: tuple[int, ...]  # positions among the question's tokens; empty where a question word implies it
    is_near: bool = False  # a word means it that none of its heading is

    @property
    def first(self) -> int:
        """Position of its first word; behind all others where it is implied."""
        return min(self.at, default=1 << 16)


@dataclass(frozen=True, slots=True)
class ValueLink:
    """Values of a column that a question names by the same words."""

    column: str
    values: tuple[str, ...]
    at: tuple[int, ...]
    whole: bool = True  # they are named by all of their words


@dataclass(frozen=True, slots=True)
class SchemaLinks:
    """What of a question a relation knows."""

    tokens: tuple[WordToken, ...]
    columns: tuple[ColumnLink, ...]  # the best known first
    values: tuple[ValueLink, ...]
    unlinked: tuple[WordToken, ...]  # content words that nothing of the relation, and no cue, accounts for
    units: frozenset[int]  # positions of words that are units of a column
    known: frozenset[str]  # folded words that say what all of the table is about, or nearly nothing

    @property
    def numbers(self) -> tuple[ColumnLink, ...]:
        """Links to columns of numbers."""
        return tuple(one for one in self.columns if one.column.type is ColumnType.NUMBER)


@dataclass(frozen=True, slots=True)
class WordMeanings:
    """The words by which a question may name what a table heads otherwise."""

    # Folded words of the titles of each document of a relation, by its file name.
    titles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()  # folded nouns for question words and comparisons, as `age` for `how old`
    # Cosine of a folded word of the question to a heading, for words that no heading has.
    near: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def about(self) -> frozenset[str]:
        """The words of all titles."""
        return frozenset[str]().union(*self.titles.values())

    def nearest(self, word: str, headings: Sequence[str]) -> str | None:
        """The heading whose meaning is a word's; None where none is near, or two are alike."""
        found = sorted(((self.near.get((word, one), 0.0), one) for one in headings), reverse=True)
        if not found or found[0][0] < NEAR or (len(found) > 1 and found[0][0] - found[1][0] < APART):
            return None
        return found[0][1]


def find_links(question: str, cues: QuestionCues, relation: Relation, meanings: WordMeanings) -> SchemaLinks:
    """The links of a question."""
    return _Linker(question, cues, relation, meanings).links()


@dataclass(slots=True)
class _Linker:
    question: str
    cues: QuestionCues
    relation: Relation
    meanings: WordMeanings
    tokens: list[WordToken] = field(default_factory=list)
    units: set[int] = field(default_factory=set)  # positions of words that are units of a column
    known: frozenset[str] = frozenset()

    def links(self) -> SchemaLinks:
        self.tokens = list(word_tokens(self.question))
        self.known = frozenset({*self.meanings.about, *GENERIC, *self._title_words()})
        cued = {
            at
            for at, one in enumerate(self.tokens)
            if any(start < one.end and one.start < end for start, end in self.cues.places)
        }
        values = self._find_values(cued)
        taken = {at for one in values for at in one.at}
        columns = self._find_columns(taken, cued)
        taken |= {at for one in columns for at in one.at}
        values += self._find_telling("document", self._document_words(), taken | cued)
        values += self._find_telling("section", self._caption_words(), taken | cued)
        used = taken | {at for one in values for at in one.at} | self.units
        content = [
            at
            for at, one in enumerate(self.tokens)
            if at not in cued and (_is_short_value(one) or is_content_word(one))
        ]
        # A number in a title is no condition: `Article 6` is not what all of its table is about.
        figures = {at for at in content if any(char.isdigit() for char in self.tokens[at].text)}
        missing = tuple(
            self.tokens[at]
            for at in content
            if at not in used and (at in figures or self.tokens[at].word not in self.known)
        )
        return SchemaLinks(
            tuple(self.tokens), tuple(columns), tuple(values), missing, frozenset(self.units), self.known
        )

    def _find_units(self, taken: Collection[int], found: Sequence[ColumnLink]) -> list[ColumnLink]:
        """The only column of a unit that is said: `kilos` of a column in kg."""
        numbers = [one for one in self.relation.columns if one.type is ColumnType.NUMBER]
        links = []
        for at, token in enumerate(self.tokens):
            fits = [one for one in numbers if any(same_unit(token.text, unit) for unit in units_of(one))]
            if fits and at not in taken and not any(at in link.at for link in found):
                # Of several with one unit it says nothing more of which is meant.
                links += [ColumnLink(one, LEAST_HEADING, (at,)) for one in fits[: len(fits) == 1]]
                self.units.add(at)
        return links

    def _find_near(self, taken: Collection[int], found: Sequence[ColumnLink]) -> list[ColumnLink]:
        """Columns that mean what a word says which none is headed by."""
        headings = {one.name: one for one in self.relation.columns}
        links = []
        for at, token in enumerate(self.tokens):
            named = token.start > 0 and token.text[:1].isupper()
            if at in taken or named or token.word in self.known or any(at in link.at for link in found):
                continue
            if (name := self.meanings.nearest(token.word, list(headings))) is not None:
                links.append(ColumnLink(headings[name], LEAST_HEADING, (at,), is_near=True))
        return links

    def _title_words(self) -> set[str]:
        names = {PurePath(name).stem for name in self.relation.filenames}
        return {word for text in (*names, *self.relation.captions) for word in content_words(text)}

    def _find_values(self, cued: Collection[int]) -> list[ValueLink]:
        """Values by all of their words first, the longest first; then parts of names, where few values have them."""
        index = self._value_index()
        found: list[ValueLink] = []
        at = 0
        while at < len(self.tokens):
            best = self._longest_value(index, at, cued)
            if best is not None:
                found.append(best)
                at = best.at[-1]
            at += 1
        taken = {at for one in found for at in one.at} | set(cued)
        return found + self._partial_values(taken)

    def _find_telling(
        self, column: str, names: Mapping[str, frozenset[str]], taken: Collection[int]
    ) -> list[ValueLink]:
        """Those of the documents or captions whose words say of the question what the others do not."""
        if len(names) < 2:
            return []
        telling = frozenset[str]().union(*names.values()) - frozenset.intersection(*names.values()) - GENERIC
        at = tuple(
            place
            for place, token in enumerate(self.tokens)
            if place not in taken and token.word in telling and is_content_word(token)
        )
        words = {self.tokens[one].word for one in at}
        most = max(len(words & own) for own in names.values())
        fits = tuple(name for name, own in names.items() if len(words & own) == most)
        return [ValueLink(column, fits, at)] if at and len(fits) < len(names) else []

    def _caption_words(self) -> dict[str, frozenset[str]]:
        """Folded words of each caption within the tables."""
        return {one: frozenset(content_words(one)) for one in dict.fromkeys(self.relation.sections)}

    def _document_words(self) -> dict[str, frozenset[str]]:
        """Folded words that each document of the relation is known by, by its file name."""
        captions: dict[str, set[str]] = defaultdict(set)
        for section, places in zip(self.relation.sections, self.relation.places, strict=True):
            captions[places[0].filename].update([section] if section else [])
        return {
            name: frozenset(word for text in (PurePath(name).stem, *captions[name]) for word in content_words(text))
            | self.meanings.titles.get(name, frozenset())
            for name in self.relation.filenames
        }

    def _value_index(self) -> Mapping[str, list[tuple[tuple[str, ...], str, str]]]:
        index: dict[str, list[tuple[tuple[str, ...], str, str]]] = defaultdict(list)
        for name, values in self._named_values():
            for value in values:
                words = tuple(one.word for one in word_tokens(value))
                if 0 < len(words) <= LONGEST_VALUE:
                    index[words[0]].append((words, name, value))
        return index

    def _named_values(self) -> list[tuple[str, list[str]]]:
        """The columns whose values may be named, and the values of each, each once; numbers as codes."""
        columns = [
            (one.name, list(dict.fromkeys(cell for cell in one.shown if cell)))
            for one in self.relation.columns
            if one.type is not ColumnType.DATE
        ]
        sections = [one for one in dict.fromkeys(self.relation.sections) if one]
        return [*columns, ("section", sections)] if len(sections) > 1 else columns

    def _longest_value(
        self, index: Mapping[str, list[tuple[tuple[str, ...], str, str]]], at: int, cued: Collection[int]
    ) -> ValueLink | None:
        """The longest value that begins here; of the same words in several columns the one whose heading is said."""
        if at in cued:
            return None
        said = [one.word for one in self.tokens[at : at + LONGEST_VALUE]]
        fits = [one for one in index.get(said[0], ()) if list(one[0]) == said[: len(one[0])]]
        if not fits:
            return None
        length = max(len(words) for words, _, _ in fits)
        if length == 1 and self.tokens[at].text.casefold() in STOP and not _is_short_value(self.tokens[at]):
            return None
        by_column: dict[str, list[str]] = defaultdict(list)
        for words, column, value in fits:
            if len(words) == length:
                by_column[column].append(value)
        if length == 1 and said[0].isdigit():
            by_column = {name: values for name, values in by_column.items() if self._may_be_code(name, at)}
        name = self._only_column(by_column)
        if name is None:
            return None
        if length == 1 and self._is_heading(said[0]) and not self.tokens[at].text[:1].isupper():
            return None
        return ValueLink(name, tuple(by_column[name]), tuple(range(at, at + length)))

    def _may_be_code(self, name: str, at: int) -> bool:
        """True where a bare number may name a row: in a column of texts or codes, or behind the column's name."""
        column = next((one for one in self.relation.columns if one.name == name), None)
        if column is None or column.type is not ColumnType.NUMBER or IS_CODE.search(name):
            return True
        return at > 0 and self.tokens[at - 1].word in heading_words(name)

    def _only_column(self, names: Collection[str]) -> str | None:
        """The column whose heading says most of the question; None where two say as much: it may be either."""
        everything = {one.word for one in self.tokens}
        found = sorted(((len(everything & set(content_words(name))), name) for name in names), reverse=True)
        if not found:
            return None
        best = sorted((name for count, name in found if count == found[0][0]), key=len)
        # A field that stands twice in a form has its section before its name the second time.
        return best[0] if all(name == best[0] or name.endswith(f": {best[0]}") for name in best) else None

    def _is_heading(self, word: str) -> bool:
        return any(word in content_words(one.name) for one in self.relation.columns)

    def _partial_values(self, taken: Collection[int]) -> list[ValueLink]:
        """Rows of capitalised words and codes that stand within few values of one column: `Acme` of `Acme Ltd`."""
        found = []
        at = 0
        while at < len(self.tokens):
            run = 0
            while at + run < len(self.tokens) and at + run not in taken and _is_naming(self.tokens[at + run], at + run):
                run += 1
            if run:
                link = self._values_with(tuple(range(at, at + run)))
                if link is not None:
                    found.append(link)
            at += max(1, run)
        return found

    def _values_with(self, at: tuple[int, ...]) -> ValueLink | None:
        words = " ".join(self.tokens[one].word for one in at)
        if self._is_heading(words):
            return None
        by_column: dict[str, list[str]] = {}
        for name, values in self._named_values():
            having = [
                value for value in values if f" {words} " in f" {' '.join(one.word for one in word_tokens(value))} "
            ]
            if having and (len(at) > 1 or len(having) <= MOST_PARTIAL):
                by_column[name] = having
        name_ = self._only_column(by_column)
        return None if name_ is None else ValueLink(name_, tuple(by_column[name_]), at, whole=False)

    def _find_columns(self, taken: Collection[int], cued: Collection[int]) -> list[ColumnLink]:
        """Columns by the share of their heading that is said; a heading whose words are all another's is left out."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, token in enumerate(self.tokens):
            if place not in taken and token.text.casefold() not in STOP:
                places[token.word].append(place)
        found: list[ColumnLink] = []
        for column in self.relation.columns:
            words = list(dict.fromkeys(heading_words(column.name)))
            said = {word: same for word in words if (same := _same_word(word, places))}
            known = {*said, *(word for word in words if word in self.meanings.attributes)}
            if words and len(known) >= LEAST_HEADING * len(words):
                at = tuple(sorted({place for same in said.values() for place in places[same]}))
                found.append(ColumnLink(column, len(known) / len(words), at))
        found += self._find_units({*taken, *cued}, found) + self._find_near(taken, found)
        found.sort(key=lambda one: (-len(one.at), -one.share, one.first))
        kept: list[ColumnLink] = []
        for one in found:
            if not one.at or not any(_knows_more(other, one) for other in kept):
                kept.append(one)
        return kept


def _same_word(word: str, said: Collection[str]) -> str | None:
    """The word itself among those that are said, or one of its family: `subscription` of who `subscribed`."""
    if word in said:
        return word
    if f"{word}s" in said:  # of words too short to be folded, such as ids
        return f"{word}s"
    family = (one for one in said if len(one) >= LEAST_STEM and _letters_in_common(word, one) >= _stem(word, one))
    return next(family, None)


def _letters_in_common(word: str, other: str) -> int:
    """How many letters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))


def _stem(word: str, other: str) -> int:
    """Letters that two words of one family have in common at their beginning."""
    return max(LEAST_STEM, min(len(word), len(other)) - 2)


def _knows_more(other: ColumnLink, one: ColumnLink) -> bool:
    """True where a link has all words of another and more, or as many as a larger share of its heading."""
    return set(one.at) < set(other.at) or (set(one.at) == set(other.at) and other.share > one.share)


def _is_short_value(token: WordToken) -> bool:
    """True for `yes` and `No`, and for a capital letter within a sentence: values, though else they say little."""
    text = token.text
    return text.casefold() == "yes" or (
        token.start > 0 and text != "I" and (text == "No" or (len(text) == 1 and text.isupper()))
    )


def _is_naming(token: WordToken, at: int) -> bool:
    """True for a code, and for a word with a capital that does not begin the question."""
    text = token.text
    return text.casefold() not in STOP and (any(char.isdigit() for char in text) or (at > 0 and text[:1].isupper()))
