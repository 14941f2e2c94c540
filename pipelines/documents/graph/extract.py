"""A document's pages to its graph, by rule: the same pages give the same graph."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from configs.sections_retrieval import GraphSettings
from pipelines.documents import document
from pipelines.documents.graph import clues
from pipelines.documents.graph.context_rules import LIKELY, SURE
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.graph.model import (
    DocumentGraph,
    Entity,
    EntityKey,
    EntityMention,
    EntityRelation,
    EntityType,
    GraphPage,
    count_characters,
    quote_around,
)
from pipelines.documents.graph.names import canonical_name
from pipelines.documents.graph.places import Gazetteer
from pipelines.documents.graph.relations import EntitySpan, find_relations
from pipelines.documents.graph.rules import EntityRules, NameOccurrence
from pipelines.documents.graph.word_spans import SentenceSpan, split_sentences, split_words

VERSION = 1
RELATED = 1.5  # how much more an entity counts that stands in a relation, when there are too many
_ORDER = {kind: place for place, kind in enumerate(EntityType)}


@dataclass(frozen=True, slots=True)
class _Line:
    page: GraphPage
    sentence: SentenceSpan
    names: list[NameOccurrence]


@dataclass(frozen=True, slots=True)
class _Sure:
    """An occurrence whose entity is known."""

    line: _Line
    at: NameOccurrence
    key: EntityKey
    confidence: float


class GraphExtractor:
    """Reads documents; holds the known names and places, which all documents share."""

    def __init__(self, lexicon: NameLexicon, gazetteer: Gazetteer, settings: GraphSettings) -> None:
        """`settings` cap what is kept of a document."""
        self._rules, self._settings = EntityRules(lexicon, gazetteer), settings
        self._lexicon, self._gazetteer = lexicon, gazetteer

    def extract(self, pages: Sequence[GraphPage]) -> DocumentGraph:
        """The graph of readable pages in order; time is linear in their text, of which a bounded beginning is read."""
        lines = list(self._parse_lines(pages))
        known = [one for one in self._resolve_names(lines) if one.key.name]
        relations = list(_strongest_relations(known, self._gazetteer.holds))
        entities = _collect_entities(known)
        related = {key for relation in relations for key in (relation.source, relation.target)}
        entities.sort(key=lambda entity: -_entity_weight(entity, related))
        kept = entities[: self._settings.max_entities]
        keys = {entity.key for entity in kept}
        whole = [relation for relation in relations if relation.source in keys and relation.target in keys]
        whole.sort(key=lambda relation: -relation.strength)
        note = self._extraction_note(pages, len(entities))
        return DocumentGraph(tuple(kept), tuple(whole[: self._settings.max_relations]), note)

    def _parse_lines(self, pages: Sequence[GraphPage]) -> Iterator[_Line]:
        left = self._settings.max_chars
        for page in pages:
            text = page.text[:left]
            left -= len(text)
            for sentence in split_sentences(text):
                yield _Line(page, sentence, self._rules.find(text, sentence))

    def _resolve_names(self, lines: Sequence[_Line]) -> list[_Sure]:
        """Every occurrence whose entity the document makes known somewhere."""
        small = {word.text for line in lines for word in line.sentence.words if word.text.islower()}
        named = [(line, _demote_common_name(one, small)) for line in lines for one in line.names]
        typed = [
            _Sure(line, one, self._entity_key(one.name, one.type), one.confidence)
            for line, one in named
            if one.type is not None
        ]
        types = _vote_types(typed)
        index = _Index(typed, types)
        often = Counter(one.name for _, one in named if one.type is None and one.confidence)
        found = ((line, one, *self._resolve_occurrence(one, index, types, often)) for line, one in named)
        return [_Sure(line, one, key, confidence) for line, one, key, confidence in found if key is not None]

    def _resolve_occurrence(
        self, one: NameOccurrence, index: "_Index", types: Mapping[str, EntityType], often: Counter[str]
    ) -> tuple[EntityKey | None, float]:
        short = index.short.get(one.name.removesuffix("s") if one.name[:-1].isupper() else one.name)
        if short is not None:
            return short, SURE
        if one.type is not None:
            key = self._entity_key(one.name, one.type)
            return EntityKey(types[key.name], key.name) if key.name in types else key, one.confidence
        if (found := index.find(one.name)) is not None:
            return found, LIKELY
        if " " in one.name and often[one.name] > 1:
            return self._entity_key(one.name, EntityType.CONCEPT), LIKELY
        return None, 0.0

    def _entity_key(self, name: str, kind: EntityType) -> EntityKey:
        known = self._lexicon.term(name)
        usual = known.name if known is not None and known.type is kind else name
        return EntityKey(kind, canonical_name(usual, kind))

    def _extraction_note(self, pages: Sequence[GraphPage], entities: int) -> str:
        notes = ["rules"]
        if entities > self._settings.max_entities:
            notes.append(f"{self._settings.max_entities} of {entities} entities kept")
        if (length := count_characters(pages)) > self._settings.max_chars:
            notes.append(f"the first {self._settings.max_chars:,} of {length:,} characters read")
        return "; ".join(notes)


class _Index:
    """Index of a document's typed names, by which its untyped names are resolved."""

    def __init__(self, typed: Sequence[_Sure], types: Mapping[str, EntityType]) -> None:
        self.short: dict[str, EntityKey] = {}
        self._whole: dict[str, EntityKey] = {}
        self._part: dict[str, EntityKey | None] = {}
        for one in typed:
            key = EntityKey(types[one.key.name], one.key.name)
            self._whole.setdefault(one.at.name.casefold(), key)
            if one.at.alias:
                self.short.setdefault(one.at.alias.removesuffix("s"), key)
            words = key.name.split()
            if len(words) > 1 and key.type in (EntityType.PERSON, EntityType.ORGANIZATION):
                part = words[-1] if key.type is EntityType.PERSON else words[0]
                # A part that two names share says nothing.
                self._part[part] = key if self._part.get(part, key) == key else None

    def find(self, name: str) -> EntityKey | None:
        """The entity that a name without a type means in this document."""
        folded = name.casefold()
        return self._whole.get(folded) or (self._part.get(folded) if len(name) > 2 else None)


def _demote_common_name(one: NameOccurrence, small: set[str]) -> NameOccurrence:
    """The occurrence; not as a name where only its form makes it one, and each of its words is an ordinary word."""
    if one.confidence > LIKELY or one.alias or one.type in (EntityType.PERSON, EntityType.TECHNOLOGY):
        return one
    words = [word.casefold() for word in split_words(one.name)]
    if len(words) < 2 or not all(word in small or word in clues.COMMON or word in clues.PLAIN for word in words[:-1]):
        return one
    return replace(one, type=None, confidence=0.0)


def _vote_types(typed: Sequence[_Sure]) -> dict[str, EntityType]:
    """One type for a name in a document: the surest, then the most frequent, then the first in order."""
    votes: dict[str, dict[EntityType, tuple[float, int]]] = {}
    for one in typed:
        best, count = votes.setdefault(one.key.name, {}).get(one.key.type, (0.0, 0))
        votes[one.key.name][one.key.type] = (max(best, one.confidence), count + 1)
    return {name: max(of, key=lambda kind: (*of[kind], -_ORDER[kind])) for name, of in votes.items()}


def _collect_entities(known: Iterable[_Sure]) -> list[Entity]:
    """One entity a name, with one mention a page: the first there, as sure as the surest."""
    pages: dict[EntityKey, dict[int, EntityMention]] = {}
    for one in known:
        of = pages.setdefault(one.key, {})
        before = of.get(one.line.page.page)
        if before is None:
            page, at, sentence = one.line.page.page, one.at, one.line.sentence
            quote = quote_around(at.start, at.end, (sentence.start, sentence.end))
            of[page] = EntityMention(page, at.name, at.start, at.end, quote, one.confidence, 1, at.alias)
        else:
            confidence, alias = max(before.confidence, one.confidence), before.alias or one.at.alias
            of[before.page] = replace(before, confidence=confidence, occurrences=before.occurrences + 1, alias=alias)
    return [Entity(key, tuple(of.values())) for key, of in pages.items()]


def _strongest_relations(known: Sequence[_Sure], holds: Callable[[str], bool]) -> Iterator[EntityRelation]:
    """Each once a document, by the first of the sentences that say it most clearly."""
    by_line: dict[int, list[_Sure]] = {}
    for one in known:
        by_line.setdefault(id(one.line), []).append(one)
    best: dict[tuple[EntityKey, EntityKey, str], EntityRelation] = {}
    for of in by_line.values():
        if len(of) < 2:
            continue
        page, sentence = of[0].line.page, of[0].line.sentence
        names = [EntitySpan(one.key, one.at.start, one.at.end) for one in of]
        for told in find_relations(page.text, names, row=sentence.row, holds=holds):
            quote = page.text[sentence.start : sentence.end]
            place = page.page, sentence.start, sentence.end, quote
            found = EntityRelation(told.source, told.target, told.type, *place, told.strength)
            before = best.get((told.source, told.target, told.type))
            if before is None or before.strength < found.strength:
                best[told.source, told.target, told.type] = found
    yield from best.values()


def _entity_weight(entity: Entity, related: set[EntityKey]) -> float:
    return entity.confidence * (1 + log(entity.occurrences)) * (RELATED if entity.key in related else 1)


def graph_fingerprint(settings: GraphSettings) -> str:
    """16 hex digits; a change means that graphs have to be made again."""
    most = (settings.max_entities, settings.max_relations, settings.max_chars)
    return document.fingerprint_parts("graph", VERSION, *most)
