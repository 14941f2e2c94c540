"""Weighted reciprocal rank fusion."""

import pytest

from configs.sections_retrieval import SearchSettings
from serve_apps.retrieval.search.fuse import PRESETS, FusionWeights, RankedChunk, RankFusion, is_long, weigh_retrievers
from tests.fakes.ranking import fuse_rankings


def leg(*ids: str) -> list[RankedChunk]:
    return [RankedChunk(chunk, f"document of {chunk}", 1.0 / rank) for rank, chunk in enumerate(ids, 1)]


def test_score_is_the_weighted_sum_of_reciprocal_ranks() -> None:
    """RE-03: 0.3 / (60 + rank) + 0.7 / (60 + rank), ranks from 1."""
    fused = fuse_rankings(leg("a", "b"), leg("b", "c"), PRESETS["rrf.seed"])
    assert [one.chunk_id for one in fused] == ["b", "c", "a"]
    assert fused[0].score == pytest.approx(0.3 / 62 + 0.7 / 61)
    assert fused[1].score == pytest.approx(0.7 / 62)
    assert fused[2].score == pytest.approx(0.3 / 61)


def test_every_stage_keeps_its_rank_and_score() -> None:
    both, keyword_only = fuse_rankings(leg("a", "b"), leg("a"), FusionWeights(0.5, 0.5))
    assert both.scores == {
        "keyword_rank": 1,
        "keyword_score": 1.0,
        "vector_rank": 1,
        "vector_score": 1.0,
        "fused": pytest.approx(1 / 61),
    }
    assert "vector_rank" not in keyword_only.scores and keyword_only.document_id == "document of b"


def test_chunks_are_joined_by_their_id_not_by_their_document() -> None:
    """B-14: two chunks of one document stay two hits."""
    keyword = [RankedChunk("x1", "x", 3.0)]
    vector = [RankedChunk("x2", "x", 0.9)]
    assert {one.chunk_id for one in fuse_rankings(keyword, vector, FusionWeights(1, 1))} == {"x1", "x2"}


def test_equal_scores_have_one_order_whatever_the_legs_order_of_arrival() -> None:
    for first, then in (("b", "a"), ("a", "b")):
        assert [one.chunk_id for one in fuse_rankings(leg(first), leg(then), FusionWeights(0.5, 0.5))] == ["a", "b"]


def test_a_chunk_listed_twice_by_a_leg_counts_once_at_its_better_place() -> None:
    fused = fuse_rankings([*leg("a", "b"), RankedChunk("a", "document of a", 0.1)], [], FusionWeights(1, 1))
    assert [one.scores["keyword_rank"] for one in fused] == [1, 2]
    assert fused[0].score == pytest.approx(1 / 61)


def test_one_leg_alone_keeps_its_order() -> None:
    assert [one.chunk_id for one in fuse_rankings([], leg("c", "a", "b"), FusionWeights(0.3, 0.7))] == ["c", "a", "b"]
    assert fuse_rankings([], [], FusionWeights(0.3, 0.7)) == []


def test_the_lists_of_several_questions_become_one() -> None:
    """RE-04: sum of 1 / (60 + rank) over every list that has the chunk, joined by chunk."""
    lists = [("vector", 1.0, leg("a", "b")), ("vector:2", 1.0, leg("b", "c")), ("vector:3", 1.0, leg("c", "b", "a"))]
    fusion = RankFusion()
    for one in lists:
        fusion.add(*one)
    fused = fusion.ranked()
    assert [one.chunk_id for one in fused] == ["b", "c", "a"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61 + 1 / 62)
    assert fused[2].score == pytest.approx(1 / 61 + 1 / 63)
    assert fused[2].scores["vector_rank"] == 1 and fused[2].scores["vector:3_rank"] == 3
    assert "vector:2_rank" not in fused[2].scores
    assert fusion.lists == 3 and RankFusion().ranked() == []


def test_a_leg_counts_whenever_it_comes() -> None:
    keyword, near, late = leg("a", "b", "c"), leg("c", "d"), RankFusion()
    late.add("vector", 0.3, near)
    late.add("keyword", 0.7, keyword)
    assert late.ranked() == fuse_rankings(keyword, near, FusionWeights(0.7, 0.3))


def found(**scores: float) -> list[RankedChunk]:
    return [RankedChunk(chunk, chunk, score) for chunk, score in scores.items()]


def test_by_score_a_leg_that_sees_a_gap_outweighs_one_that_sees_none() -> None:
    """X-38: what a place is worth lies between the best score's and nothing's."""
    words, meaning = found(a=10.0, b=2.0), found(b=0.52, a=0.51)
    assert [one.chunk_id for one in fuse_rankings(words, meaning, FusionWeights(0.5, 0.5), by="score")] == ["a", "b"]
    assert [
        one.chunk_id
        for one in fuse_rankings(found(b=2.1, a=2.0), found(a=0.9, b=0.2), FusionWeights(0.7, 0.3), by="score")
    ] == ["a", "b"]
    first, second = fuse_rankings(words, [], FusionWeights(1, 1), by="score")
    assert first.score == pytest.approx(1 / 61 - 1 / 160)
    assert second.score == pytest.approx(1 / (61 + 0.8 * 99) - 1 / 160)
    assert (second.scores["keyword_rank"], second.scores["keyword_score"]) == (2, 2.0)


def test_a_score_that_is_no_number_takes_nothing_from_the_others() -> None:
    legs = found(a=float("nan"), b=2.0, c=1.0)
    assert [
        one.score > 0 for one in fuse_rankings(legs, [], FusionWeights(1, 1), by="score") if one.chunk_id != "a"
    ] == [True, True]


def test_by_score_nothing_and_less_is_worth_nothing() -> None:
    fused = fuse_rankings(found(a=0.0), found(b=0.5, c=-0.5), FusionWeights(1, 1), by="score")
    assert [(one.chunk_id, one.score > 0) for one in fused] == [("b", True), ("a", False), ("c", False)]
    assert fused[1].score == fused[2].score == pytest.approx(0, abs=1e-12)


def test_the_words_of_a_long_question_count_less() -> None:
    """Equal weights for what is asked in a search box, two to three for what is written in a letter."""
    short, long = "How heavy is the pump of pier nine?", "We have had trouble with the pump since spring. " * 3
    assert weigh_retrievers(SearchSettings(), short) == {"keyword": 0.5, "vector": 0.5}
    assert weigh_retrievers(SearchSettings(), long) == {"keyword": pytest.approx(1 / 3), "vector": 0.5}
    assert weigh_retrievers(SearchSettings(long_words=5), short)["keyword"] == pytest.approx(1 / 3)
    assert is_long(SearchSettings(), "我们的锅炉从春天开始就有问题请告诉我们该怎么处理以及备用零件放在哪里")


def test_ranks_weigh_as_they_are_set_whatever_the_length() -> None:
    """X-38: `rrf.seed` stays what it was specified as."""
    seed = SearchSettings(fuse_by="rank", weight_keyword=0.3, weight_vector=0.7)
    for question in ("a pump", "a pump " * 40):
        assert weigh_retrievers(seed, question) == {"keyword": 0.3, "vector": 0.7}
