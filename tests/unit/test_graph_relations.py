"""Relations by rule: what a sentence says of two names, in which direction; and what it does not say."""

import pytest

from pipelines.documents.graph.model import RelationType
from tests.fakes.graphs import graph_of, related

SAYS = [
    ("Onyx uses PostgreSQL.", ("onyx", "uses", "postgresql")),
    ("Redis is used by GitHub.", ("github", "uses", "redis")),
    ("Docker powers GitLab.", ("gitlab", "uses", "docker")),
    ("GitLab is written in Python.", ("gitlab", "uses", "python")),
    ("TensorFlow was developed by Google.", ("tensorflow", "created_by", "google")),
    ("Google developed TensorFlow.", ("tensorflow", "created_by", "google")),
    ("OpenAI released GPT-4 in spring.", ("gpt 4", "created_by", "openai")),
    ("Velvera Inc was founded by Maria Lopez.", ("velvera", "created_by", "maria lopez")),
    ("Maria Lopez, founder of Velvera Inc, spoke.", ("velvera", "created_by", "maria lopez")),
    ("Google's TensorFlow is popular.", ("tensorflow", "created_by", "google")),
    ("Kubernetes depends on etcd.", ("kubernetes", "depends_on", "etcd")),
    ("Grafana requires PostgreSQL.", ("grafana", "depends_on", "postgresql")),
    ("etcd is required by Kubernetes.", ("kubernetes", "depends_on", "etcd")),
    (
        "Machine learning is part of artificial intelligence.",
        ("machine learning", "is_part_of", "artificial intelligence"),
    ),
    ("DeepMind is a subsidiary of Alphabet.", ("deepmind", "is_part_of", "alphabet")),
    ("Aventro Motors is headquartered in Mumbai.", ("aventro motors", "is_part_of", "mumbai")),
    ("Microsoft 365 includes SharePoint.", ("sharepoint", "is_part_of", "microsoft 365")),
    ("GitHub was acquired by Microsoft.", ("github", "is_part_of", "microsoft")),
    ("Retrieval-augmented generation improves question answering with BERT.", None),
    ("CUDA accelerates PyTorch.", ("cuda", "improves", "pytorch")),
    ("PyTorch is accelerated by CUDA.", ("cuda", "improves", "pytorch")),
    ("Valkey is an alternative to Redis.", ("valkey", "alternative_to", "redis")),
    ("MySQL competes with PostgreSQL.", ("mysql", "alternative_to", "postgresql")),
    ("Valkey replaces Redis.", ("valkey", "alternative_to", "redis")),
    ("Jane Smith, CEO of Aventro Motors, spoke.", ("jane smith", "related_to", "aventro motor")),
    ("Siemens partnered with Microsoft.", ("siemens", "related_to", "microsoft")),
]


@pytest.mark.parametrize(("text", "said"), [(text, said) for text, said in SAYS if said])
def test_kg_04_each_type_is_read_in_its_direction(text: str, said: tuple[str, str, str]) -> None:
    """KG-04: seven relation types, active and passive; the strength of a clear verb is 0.8."""
    graph = graph_of(text)
    found = {(s.removesuffix("s"), kind, t.removesuffix("s")) for s, kind, t in related(graph)}
    assert found == {(said[0].removesuffix("s"), said[1], said[2].removesuffix("s"))}
    assert graph.relations[0].strength == (0.6 if "'s" in text else 0.8)


def test_kg_04_all_seven_types_are_tried() -> None:
    """KG-04: none of the seven is only a name."""
    assert {said[1] for _, said in SAYS if said} == set(RelationType)


@pytest.mark.parametrize(
    "text",
    [
        "Onyx does not use PostgreSQL.",
        "Onyx never used PostgreSQL.",
        "Onyx runs without PostgreSQL.",
        "Onyx is fast. PostgreSQL is used elsewhere.",
        "Onyx is fast, but everybody uses PostgreSQL.",
        "Onyx, PostgreSQL.",
        "Onyx (see below; it uses a lot) PostgreSQL.",
        "Germany uses Docker.",
        "Docker created Redis.",
        "Onyx and all of those many other tools that some people somewhere in the world sometimes use PostgreSQL",
        "Onyx is a tool that a friend of mine who likes and uses many things has told me about PostgreSQL",
    ],
)
def test_what_a_sentence_does_not_say_is_no_relation(text: str) -> None:
    """KG-04: denied, in another clause, of things that cannot stand so, too far away, or only side by side."""
    assert related(graph_of(text)) == set()


def test_lists_say_it_of_each() -> None:
    found = related(graph_of("Onyx and GitHub use PostgreSQL, Redis and Docker."))
    assert found == {(one, "uses", two) for one in ("onyx", "github") for two in ("postgresql", "redis", "docker")}


def test_kg_05_evidence_is_the_sentence_on_its_page() -> None:
    """KG-05: at most 500 characters, with page and place, character for character."""
    long = "Onyx uses PostgreSQL " + "and so on " * 100 + "."
    pages = ["Nothing here.", "Before it. Onyx uses\nPostgreSQL. After it.", long]
    (relation,) = graph_of(*pages).relations
    assert relation.page == 2 and relation.text == "Onyx uses\nPostgreSQL."
    assert pages[1][relation.start : relation.end] == relation.text
    (relation,) = graph_of(long).relations
    assert len(relation.text) <= 500 and long.startswith(relation.text)


def test_kg_04_at_most_20_relations_and_only_between_what_is_kept() -> None:
    """KG-04: caps of a document."""
    tools = [
        "Redis",
        "Docker",
        "Kafka",
        "Flask",
        "Django",
        "MySQL",
        "Nginx",
        "Helm",
        "Envoy",
        "Istio",
        "Keras",
        "FAISS",
    ]
    text = " ".join(f"{one} uses {two}." for one in tools for two in tools if one != two)
    graph = graph_of(text)
    keys = {entity.key for entity in graph.entities}
    assert len(graph.relations) == 20 and all({one.source, one.target} <= keys for one in graph.relations)
    few = graph_of(text, max_entities=3)
    keys = {entity.key for entity in few.entities}
    assert len(keys) == 3 and few.relations and all({one.source, one.target} <= keys for one in few.relations)
