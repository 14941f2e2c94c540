"""Heads of cache entries: as bytes, and in memory."""

import numpy as np

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.migration import VectorSpace
from serve_apps.retrieval.cache.cache_scope import CorpusState, name_of, partition_of
from serve_apps.retrieval.cache.codec import EntryCodec, EntryHeader
from serve_apps.retrieval.cache.mirror import EntryHead, PartitionMirror, Vector, unpack_head
from serve_apps.retrieval.search.query import SearchFilters, SearchQuery, SearchResults

SCOPE = Scope(TenantId("t"), WorkspaceId("w"))
MADE = VectorSpace("m", 8, "m-1")
CORPUS = CorpusState(7, 1, MADE, (), "m")


def vector(seed: int, dimension: int = 8) -> Vector:
    found = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return found / np.linalg.norm(found)


def head(seed: int, version: int = 7, at: float | None = None, dimension: int = 8) -> EntryHead:
    return EntryHead(
        name_of(f"q{seed}"), version, float(seed) if at is None else at, f"q{seed} é", vector(seed, dimension)
    )


def test_a_head_comes_back_as_it_was_and_anything_else_is_none() -> None:
    """SC-05."""
    kept = head(1)
    found = unpack_head(kept.packed())
    assert found is not None and (found.name, found.version, found.at, found.question) == (kept.name, 7, 1.0, "q1 é")
    assert np.array_equal(found.vector, kept.vector)
    raw = kept.packed()
    rng = np.random.default_rng(3)
    for cut in range(len(raw)):
        short = unpack_head(raw[:cut])
        assert short is None or short.vector.shape == (8,)
    for _ in range(500):
        unpack_head(rng.bytes(int(rng.integers(0, 120))))
    assert unpack_head(raw[:36] + b"\x00" * 32 + raw[68:]) is None, "a vector of no length"
    assert unpack_head(raw[:-2] + b"\xff\xff") is None


def test_the_nearest_come_first_and_the_oldest_make_room() -> None:
    mirror = PartitionMirror(7, 3)
    for seed in (2, 1, 3):
        mirror.learn(head(seed))
    near = mirror.near(vector(3), 2)
    assert near[0].question == "q3 é" and near[0].similarity > 0.999 and len(near) == 2
    mirror.learn(head(4))
    assert len(mirror) == 3 and all(one.question != "q1 é" for one in mirror.near(vector(1), 3)), "1 was the oldest"
    mirror.forget(name_of("q2"))
    mirror.forget("unknown")
    assert {one.question for one in mirror.near(vector(2), 9)} == {"q3 é", "q4 é"}
    mirror.learn(EntryHead(name_of("q3"), 7, 9.0, "q3 again", vector(5)))
    assert len(mirror) == 2 and mirror.near(vector(5), 1)[0].question == "q3 again"


def test_what_rests_on_another_corpus_or_another_model_stays_out() -> None:
    mirror = PartitionMirror(7, 3)
    assert mirror.near(vector(1), 1) == []
    mirror.learn(head(1))
    mirror.learn(head(2, version=6))
    mirror.learn(head(3, version=8))
    mirror.learn(head(4, dimension=4))
    assert len(mirror) == 1 and mirror.near(vector(1, 4), 1) == []


def test_whatever_parts_answers_parts_places() -> None:
    """SC-04: tenant, workspace, agent, principals, filters, options, generation and settings are part of the key."""
    asked = SearchQuery("q")
    others = [
        partition_of("answer", SCOPE, asked, CORPUS, "s"),
        partition_of("search", Scope(TenantId("u"), WorkspaceId("w")), asked, CORPUS, "s"),
        partition_of("search", Scope(TenantId("t"), WorkspaceId("v")), asked, CORPUS, "s"),
        partition_of("search", SCOPE, asked, CorpusState(7, 1, MADE, ("user:a",), "m"), "s"),
        partition_of("search", SCOPE, asked, CorpusState(7, 2, MADE, (), "m"), "s"),
        partition_of("search", SCOPE, asked, CorpusState(7, 1, MADE, (), "other models"), "s"),
        partition_of("search", SCOPE, asked, CORPUS, "other settings"),
        partition_of("search", SCOPE, SearchQuery("q", agent_id="a"), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", limit=3), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", min_similarity=0.5), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", strategy="keyword"), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", quote="must"), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery('a "q"'), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery('a +"q"'), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", history=("before",)), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", filters=SearchFilters(doc_type="pdf")), CORPUS, "s"),
        partition_of("search", SCOPE, SearchQuery("q", filters=SearchFilters(document_ids=())), CORPUS, "s"),
    ]
    place = partition_of("search", SCOPE, asked, CORPUS, "s")
    assert len({place.index, *(other.index for other in others)}) == len(others) + 1
    stranger = Scope(TenantId("t"), WorkspaceId("w"), ("user:b", "role:viewer"))
    same = [
        partition_of("search", SCOPE, SearchQuery("another text"), CORPUS, "s"),
        partition_of("search", stranger, asked, CORPUS, "s"),
    ]
    assert {one.index for one in same} == {place.index}, "neither the text nor principals that no document names"
    assert place.entry(name_of("q")) == f"rag_cache:-:{place.identity[:32]}:{name_of('q')}"


def test_sc_04_a_question_that_is_quoted_whole_asks_more_where_quotes_are_required() -> None:
    """`crane` and `"crane"` are the same words: only with `quote` must the second stand in every hit."""
    bare, quoted = (
        partition_of("search", SCOPE, SearchQuery(q, quote="must"), CORPUS, "s") for q in ("crane", '"crane"')
    )
    assert bare.identity != quoted.identity


def test_entries_that_cannot_be_read_are_none() -> None:
    codec = EntryCodec(SearchResults)
    value = SearchResults(
        SearchQuery("q", filters=SearchFilters(document_ids=("d",))),
        (),
        0,
        "bm25",
        "off",
        "off: none",
        1,
        None,
        {"a": 1.5},
    )
    raw = codec.packed(EntryHeader("i", 7, "q", 1.0), value)
    assert codec.header(raw) == EntryHeader("i", 7, "q", 1.0) and codec.value(raw) == value
    for bad in (b"", b"\n", b"{}\n{}", raw[:-3], b"[]" + raw, raw.replace(b"bm25", b"none"), b"\xff\xfe\n\xff"):
        assert codec.header(bad) is None or codec.value(bad) is None
