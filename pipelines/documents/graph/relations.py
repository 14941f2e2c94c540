"""Relations by rule: what stands between two names of one sentence says how they stand to each other."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from pipelines.documents.graph.model import EntityKey, EntityType, RelationType

CLEAR, IMPLIED, BESIDE = 0.8, 0.6, 0.5  # a verb says it; a possessive or a comma does; a row of a table does
LONGEST_GAP = 90  # characters between two names: any pattern is cheap on so few
MOST_WORDS = 4  # before the telling words, and behind them

_MADE = "created|developed|built|founded|cofounded|co-founded|written|authored|designed|made|invented|manufactured"
_MADE += "|released|published|produced|launched|established|introduced|maintained|discovered|owned|operated|issued"
_MAKES = "creates?|created|develops?|developed|builds?|built|founded|cofounded|co-founded|wrote|authored|designs"
_MAKES += "|designed|invented|manufactures|manufactured|releases|released|publishes|published|produces|produced"
_MAKES += "|launches|launched|introduces|introduced|established|makes|made|discovered|unveiled"
_PARTS = "part|member|subsidiary|division|component|module|branch|subset|unit|type|kind|form|feature|affiliate|campus"
_OFFICE = "ceo|cto|cfo|coo|president|director|chairman|chairwoman|chair|head|officer|manager|employee|professor|dean"
_OFFICE += "|minister|governor|secretary|partner|spokesperson|captain|chancellor"

# The first that fits decides; a turned one is read from the second name to the first.
_TABLE: tuple[tuple[RelationType, bool, str], ...] = (
    (RelationType.IS_PART_OF, False, r"(?:acquired|owned) by"),
    (RelationType.CREATED_BY, False, rf"(?:{_MADE}) (?:\w+ )?by"),
    (RelationType.CREATED_BY, True, r"(?:co-?)?(?:founder|creator|inventor|author|developer|maker|manufacturer) of"),
    (RelationType.USES, True, r"(?:used|adopted|utili[sz]ed|leveraged|employed) by|powers|underpins"),
    (RelationType.DEPENDS_ON, True, r"(?:required|needed) by|prerequisite (?:for|of)"),
    (RelationType.IMPROVES, True, r"(?:improved|enhanced|accelerated|extended|boosted|strengthened) by"),
    (
        RelationType.ALTERNATIVE_TO,
        False,
        r"alternatives? (?:to|for)|instead of|in place of|rather than|versus|vs|compared (?:to|with)|competes? with"
        r"|(?:competitor|rival|successor)s? (?:of|to)|replace[sd]?|replaced by|replacement for|similar to",
    ),
    (RelationType.DEPENDS_ON, False, r"depends? (?:up)?on|dependent on|rel(?:y|ies|ied) on|requires?|needs?"),
    (
        RelationType.USES,
        False,
        r"uses|use|using|utili[sz]es?|leverages?|adopts?|adopted|employs|runs? on|built (?:on|with|using)|powered by"
        r"|equipped with|fitted with|comes with|features|based on|implemented (?:in|with)|written in"
        r"|deployed (?:on|to)|hosted (?:on|by)|migrated to|integrates?",
    ),
    (RelationType.IS_PART_OF, False, rf"(?:{_PARTS})s? of|belongs? to|included in"),
    (RelationType.IS_PART_OF, False, r"(?:located|based|headquartered|situated) in|lies in|capital of"),
    (RelationType.IS_PART_OF, True, r"consists? of|includes?|including|contains?|comprises?|acquire[sd]|owns"),
    (
        RelationType.IMPROVES,
        False,
        r"improve[sd]?|enhance[sd]?|boosts?|accelerates?|speeds up|optimi[sz]es|outperforms?",
    ),
    (RelationType.CREATED_BY, True, rf"(?:{_MAKES})(?! by)"),
    (
        RelationType.RELATED_TO,
        False,
        rf"(?:{_OFFICE}) (?:of|at|for)|work(?:s|ed)? (?:at|for|with)|joined|partner(?:s|ed)? with|born in|lives? in"
        r"|collaborate[sd]? with|(?:associated|connected|linked|compatible) with|(?:related|linked|connected) to"
        r"|offers|provides|supports|serves|operat(?:es|ing) (?:in|across)|available (?:in|on|at)|presence in"
        r"|(?:branch(?:es)?|offices?|stores?) (?:in|across)",
    ),
)
_PATTERNS = tuple((kind, turned, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")) for kind, turned, words in _TABLE)
_DENIED = re.compile(r"(?<!\w)(?:not|never|no|neither|nor|without|cannot|n['’]t|unlike|hardly)(?!\w)|n['’]t(?!\w)")
_BREAKS = re.compile(r"[;:?!|()\[\]]|(?<!\w)(?:but|while|whereas|although|because|if|when|after|before)(?!\w)")
_LISTED = re.compile(r"\s*(?:,|,?\s*(?:and|or|&|as well as))\s*(?:the\s+)?")
_POSSESSIVE = re.compile(r"['’]s?\s+(?:[\w-]+\s+){0,2}")
_WORDS = re.compile(r"[\w-]+")

_MAKERS = frozenset({EntityType.PERSON, EntityType.ORGANIZATION})
_THINGS = frozenset({EntityType.TECHNOLOGY, EntityType.PRODUCT})


@dataclass(frozen=True, slots=True)
class EntitySpan:
    """A name in a sentence whose entity is known: characters [start, end) of the page."""

    key: EntityKey
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """Relation that a sentence states between two of its names."""

    source: EntityKey
    target: EntityKey
    type: RelationType
    strength: float


def find_relations(
    text: str, names: Sequence[EntitySpan], *, row: bool, holds: Callable[[str], bool]
) -> list[StatedRelation]:
    """Relations that a sentence states between names that follow each other.

    "A uses B, C and D" says three things, and so does "A, B and C use D".

    Args:
        row: the sentence is a row of a table: what its first name is, the others belong to.
        holds: whether cities lie in what is called so: "Pune, Maharashtra" is a city in an area.
    """
    if row:
        return _unique_pairs(_relate_row(text, names))
    between = [_match_gap(text, one, two) or _city_in_area(text, one, two, holds) for one, two in pairwise(names)]
    gaps = [text[one.end : two.start] for one, two in pairwise(names)]
    lists = [len(gap) <= LONGEST_GAP and _LISTED.fullmatch(gap) is not None for gap in gaps]
    found: list[StatedRelation] = []
    for at, verdict in enumerate(between):
        if verdict is None:
            continue
        kind, turned, strength = verdict
        ones, twos = [names[at]], [names[at + 1]]
        back = at
        while back > 0 and lists[back - 1]:
            back -= 1
            ones.append(names[back])
        ahead = at + 1
        while ahead < len(lists) and lists[ahead] and not (ahead + 1 < len(between) and between[ahead + 1]):
            ahead += 1
            twos.append(names[ahead])
        for one, two in product(ones, twos):
            source, target = (two.key, one.key) if turned else (one.key, two.key)
            if source != target and is_plausible(kind, source.type, target.type):
                found.append(StatedRelation(source, target, kind, strength))
    return _unique_pairs(found)


def is_plausible(kind: RelationType, source: EntityType, target: EntityType) -> bool:
    """True where entities of these types can stand in such a relation."""
    place, person = EntityType.LOCATION, EntityType.PERSON
    match kind:
        case RelationType.CREATED_BY:
            return target in _MAKERS and source not in (place, person)
        case RelationType.USES | RelationType.DEPENDS_ON | RelationType.IMPROVES:
            return place not in (source, target) and target is not person
        case RelationType.IS_PART_OF:
            return target is not person and not (source is place and target is not place)
        case RelationType.ALTERNATIVE_TO:
            return source is target or (source in _THINGS and target in _THINGS)
        case RelationType.RELATED_TO:
            return True


def _match_gap(text: str, one: EntitySpan, two: EntitySpan) -> tuple[RelationType, bool, float] | None:
    """(type, turned, strength) that the words between two names tell; None where they tell nothing."""
    if not 0 < two.start - one.end <= LONGEST_GAP:
        return None
    raw = text[one.end : two.start]
    gap = " ".join(raw.casefold().split())
    if _POSSESSIVE.fullmatch(raw) and one.key.type in _MAKERS and two.key.type in _THINGS:
        return RelationType.CREATED_BY, True, IMPLIED
    if _BREAKS.search(gap) or _DENIED.search(gap):
        return None
    for kind, turned, pattern in _PATTERNS:
        match = pattern.search(gap)
        if match is None:
            continue
        before, behind = _WORDS.findall(gap[: match.start()]), _WORDS.findall(gap[match.end() :])
        source, target = (two, one) if turned else (one, two)
        near = len(before) <= MOST_WORDS and len(behind) <= MOST_WORDS
        if near and is_plausible(kind, source.key.type, target.key.type):
            return kind, turned, CLEAR
    return None


def _city_in_area(
    text: str, one: EntitySpan, two: EntitySpan, holds: Callable[[str], bool]
) -> tuple[RelationType, bool, float] | None:
    """`Pune, Maharashtra`."""
    if one.key.type is not EntityType.LOCATION or two.key.type is not EntityType.LOCATION:
        return None
    cities = text[one.end : two.start] == ", " and not holds(text[one.start : one.end])
    return (RelationType.IS_PART_OF, False, IMPLIED) if cities and holds(text[two.start : two.end]) else None


def _relate_row(text: str, names: Sequence[EntitySpan]) -> list[StatedRelation]:
    first, *others = names
    return [
        StatedRelation(first.key, other.key, RelationType.RELATED_TO, BESIDE)
        for other in others
        if other.key != first.key and "|" in text[first.end : other.start]
    ]


def _unique_pairs(found: Sequence[StatedRelation]) -> list[StatedRelation]:
    unique: dict[tuple[EntityKey, EntityKey], StatedRelation] = {}
    for one in found:
        unique.setdefault((one.source, one.target), one)
    return list(unique.values())
