"""Canonical names: what people write in different ways is one thing, and different things stay apart."""

import pytest

from pipelines.documents.graph.model import EntityKey, EntityType, RelationType, entity_id, quote_around, relation_id
from pipelines.documents.graph.names import canonical_name, find_expansion, singular_form

ORG, PERSON, TECH, CONCEPT, PLACE = (
    EntityType.ORGANIZATION,
    EntityType.PERSON,
    EntityType.TECHNOLOGY,
    EntityType.CONCEPT,
    EntityType.LOCATION,
)


@pytest.mark.parametrize(
    ("names", "kind", "one"),
    [
        (("ZX Bank Ltd.", "ZX BANK", "the ZX Bank", "ZX  Bank’s", "ZX\nBank, Inc."), ORG, "zx bank"),
        (("Acme GmbH & Co. KG", "ACME GmbH"), ORG, "acme"),
        (("Dr. Jane Smith", "Prof. Dr. jane smith", "Jane Smith"), PERSON, "jane smith"),
        (("Neural Networks", "neural network", "Neural-Networks"), CONCEPT, "neural network"),
        (("GPT-4", "GPT 4", "gpt‑4"), TECH, "gpt 4"),
        (("APIs", "API"), CONCEPT, "api"),
        (("The Netherlands", "Netherlands"), PLACE, "netherlands"),
    ],
)
def test_kg_01_ways_to_write_a_name_are_one_name(names: tuple[str, ...], kind: EntityType, one: str) -> None:
    """KG-01: case, articles, legal forms, titles, plurals, hyphens."""
    assert {canonical_name(name, kind) for name in names} == {one}


@pytest.mark.parametrize(
    ("name", "kind", "kept"),
    [("Paris", PLACE, "paris"), ("Limited", ORG, "limited"), ("The", CONCEPT, "the"), ("Inc", ORG, "inc")],
)
def test_what_would_leave_nothing_is_not_taken_away(name: str, kind: EntityType, kept: str) -> None:
    assert canonical_name(name, kind) == kept


def test_a_name_is_bounded_and_signs_alone_are_none() -> None:
    assert len(canonical_name("word " * 500, CONCEPT)) <= 120
    assert canonical_name("—!?", CONCEPT) == ""


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("networks", "network"),
        ("policies", "policy"),
        ("branches", "branch"),
        ("boxes", "box"),
        ("analysis", "analysis"),
        ("status", "status"),
        ("class", "class"),
        ("physics", "physics"),
        ("gas", "gas"),
        ("series", "sery"),
    ],
)
def test_plurals(plural: str, one: str) -> None:
    assert singular_form(plural) == one


@pytest.mark.parametrize(
    ("short", "words", "first"),
    [
        ("OCR", "we use optical character recognition", 2),
        ("ACC", "Adaptive Cruise Control", 0),
        ("KYC", "the Know Your Customer", 1),
        ("POS", "a Point-of-Sale", 1),
        ("UN", "of the United Nations", 2),
        ("DoD", "Department of Defense", 0),
        ("LLMs", "large language models", 0),
        ("OCR", "the scanned page", None),
        ("OCR", "character recognition", None),
        ("WHO", "who", None),
        ("A", "alpha", None),
    ],
)
def test_kg_01_a_short_form_in_brackets_says_what_it_stands_for(short: str, words: str, first: int | None) -> None:
    """KG-01: `Optical Character Recognition (OCR)` names one thing twice; a wrong pair would make two things one."""
    assert find_expansion(short, words.split()) == first


def test_ids_cross_no_workspace() -> None:
    """KG-06: the same name elsewhere is another entity, and so is the same name of another type."""
    one, other = EntityKey(ORG, "acme"), EntityKey(CONCEPT, "acme")
    ids = {entity_id("w1", one), entity_id("w2", one), entity_id("w1", other)}
    ids |= {relation_id("w1", one, other, kind) for kind in RelationType}
    ids |= {relation_id("w2", one, other, RelationType.USES), relation_id("w1", other, one, RelationType.USES)}
    assert len(ids) == 3 + 7 + 2 and all(len(id_) == 32 for id_ in ids)


@pytest.mark.parametrize(("start", "end"), [(0, 5), (700, 720), (1_990, 2_000), (490, 510)])
def test_kg_05_evidence_is_at_most_500_characters_and_holds_the_name(start: int, end: int) -> None:
    """KG-05: of a long sentence the part around the name."""
    begin, stop = quote_around(start, end, (0, 2_000))
    assert 0 <= begin <= start and end <= stop <= 2_000 and stop - begin <= 500
    assert quote_around(3, 5, (2, 400)) == (2, 400)
