"""Whose turn it is, and what counts after better passages of the same document."""

import pytest

from serve_apps.retrieval.search.diversify import round_robin, spread_out
from serve_apps.retrieval.search.query import Candidate


def of(chunk: str, score: float, **scores: float) -> Candidate:
    """Chunk a1 is one of document a."""
    return Candidate(chunk, chunk[0], {"fused": score, **scores})


def ids(candidates: list[Candidate]) -> list[str]:
    return [one.chunk_id for one in candidates]


MANY = [of(f"a{n}", 1 - n / 100) for n in range(4)]


def test_nearly_as_good_is_enough_for_another_document() -> None:
    """RE-19: the second passage counts a tenth less; a clear lead stays one."""
    assert ids(spread_out([*MANY, of("b0", 0.95)], 0.1, 10)) == ["a0", "b0", "a1", "a2", "a3"]
    assert ids(spread_out([*MANY, of("b0", 0.85)], 0.1, 10)) == ["a0", "a1", "b0", "a2", "a3"]
    assert ids(spread_out([*MANY, of("b0", 0.5)], 0.1, 10)) == ["a0", "a1", "a2", "a3", "b0"]
    assert ids(spread_out([], 0.1, 10)) == []


def test_what_counts_is_noted_and_orders_them() -> None:
    made = spread_out([*MANY, of("b0", 0.95)], 0.1, 10)
    assert [one.scores.get("spread") for one in made] == [
        None,
        None,
        pytest.approx(0.99 * 0.9),
        pytest.approx(0.98 * 0.81),
        pytest.approx(0.97 * 0.729),
    ]
    assert [one.score for one in made] == sorted((one.score for one in made), reverse=True)


def test_a_passage_far_behind_comes_before_none_however_many_there_are() -> None:
    many = [of(f"a{n}", 1.0) for n in range(20)]
    assert ids(spread_out([*many, of("b0", 0.69)], 0.1, 50))[-1] == "b0"
    assert ids(spread_out([*many, of("b0", 0.71)], 0.1, 50)).index("b0") == 4


def test_only_the_best_take_part() -> None:
    assert ids(spread_out([*MANY, of("b0", 0.96)], 0.1, 4)) == ["a0", "a1", "a2", "a3", "b0"]


def test_what_holds_more_of_the_question_stays_first_and_counts_in_that_order() -> None:
    held = [of("a1", 2.5, literal=1), of("b0", 2.4, literal=1), of("a0", 3.0)]
    assert ids(spread_out(held, 0.1, 10)) == ["a1", "b0", "a0"]


def test_a_judge_has_the_last_word() -> None:
    judged = [of("a1", 0.1, rerank=0.9), of("a0", 0.2, rerank=0.8), of("b0", 0.3, rerank=0.78), of("c0", 0.5)]
    made = spread_out(judged, 0.1, 10)
    assert ids(made) == ["a1", "b0", "a0", "c0"] and made[2].score == pytest.approx(0.72)


def test_by_turns_each_documents_best_comes_before_any_second() -> None:
    """RE-26: among the first `depth`."""
    assert ids(round_robin([*MANY, of("b0", 0.1), of("c0", 0.05)], 5)) == ["a0", "b0", "a1", "a2", "a3", "c0"]
