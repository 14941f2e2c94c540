"""Entities, relations and their evidence: what a document says of the world, with the places where it says so."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from json import dumps
from typing import Literal, NewType

EntityId = NewType("EntityId", str)
RelationId = NewType("RelationId", str)
FoundBy = Literal["rule", "model"]

EVIDENCE = 500  # characters of a piece of evidence at most


class EntityType(StrEnum):
    """Types of entities; of two that fit equally well the first is taken."""

    ORGANIZATION = "organization"
    PERSON = "person"
    PRODUCT = "product"
    TECHNOLOGY = "technology"
    LOCATION = "location"
    CONCEPT = "concept"


class RelationType(StrEnum):
    """Types of relations; each is read from its source to its target."""

    IS_PART_OF = "is_part_of"
    USES = "uses"
    CREATED_BY = "created_by"
    IMPROVES = "improves"
    RELATED_TO = "related_to"
    ALTERNATIVE_TO = "alternative_to"
    DEPENDS_ON = "depends_on"


@dataclass(frozen=True, slots=True)
class GraphPage:
    """The text of a 1-based page."""

    page: int
    text: str


@dataclass(frozen=True, slots=True)
class EntityKey:
    """Identity of an entity within its workspace: its type and canonical name."""

    type: EntityType
    name: str


@dataclass(frozen=True, slots=True)
class EntityMention:
    """First mention of an entity on a page: characters [start, end) of its text."""

    page: int
    name: str  # as it stands there
    start: int
    end: int
    quote: tuple[int, int]  # the sentence around it, as [start, end) of the page's text; at most 500 characters
    confidence: float
    occurrences: int = 1  # how often the page names it
    alias: str | None = None  # a short form that the page itself gives, such as the one in brackets behind the name
    found_by: FoundBy = "rule"


@dataclass(frozen=True, slots=True)
class Entity:
    """Named entity of a document, with one mention for each page that names it."""

    key: EntityKey
    mentions: tuple[EntityMention, ...]

    @property
    def confidence(self) -> float:
        """That of its surest mention."""
        return max(mention.confidence for mention in self.mentions)

    @property
    def occurrences(self) -> int:
        """On all pages."""
        return sum(mention.occurrences for mention in self.mentions)


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """A relation, with the sentence that says so: characters [start, end) of the page's text."""

    source: EntityKey
    target: EntityKey
    type: RelationType
    page: int
    start: int
    end: int
    text: str  # those characters; at most 500
    strength: float  # how sure the sentence says it, 0 to 1
    found_by: FoundBy = "rule"


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Entities and relations of one document version; relations are between its entities only."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[EntityRelation, ...] = ()
    note: str = field(default="rules")  # how it was found and what was left out, for people


def entity_id(workspace: str, key: EntityKey) -> EntityId:
    """The same name and type in another workspace is another entity."""
    return EntityId(_hash_parts("entity", workspace, key.type, key.name))


def relation_id(workspace: str, source: EntityKey, target: EntityKey, kind: RelationType) -> RelationId:
    """The same relation between the same two is one, however many documents say it."""
    return RelationId(_hash_parts("relation", entity_id(workspace, source), entity_id(workspace, target), kind))


def _hash_parts(*parts: str) -> str:
    """128 bits in hex; a JSON list cannot be read as another one."""
    return blake2b(dumps(parts).encode(), digest_size=16).hexdigest()


def quote_around(start: int, end: int, sentence: tuple[int, int]) -> tuple[int, int]:
    """As much of a sentence as evidence may have, with [start, end) in it."""
    begin, stop = sentence
    if stop - begin <= EVIDENCE:
        return sentence
    begin = max(begin, min(start - EVIDENCE // 3, stop - EVIDENCE))
    return begin, max(min(begin + EVIDENCE, stop), min(end, begin + EVIDENCE))


def count_characters(pages: Sequence[GraphPage]) -> int:
    """Of all pages."""
    return sum(len(page.text) for page in pages)
