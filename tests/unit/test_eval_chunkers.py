"""The command that measures chunking strategies: how a strategy is named, and how a set is cut down."""

import pytest

from configs.sections import ChunkSettings
from tests.evals.eval_chunkers import ChunkerResult, first_documents, paired_differences, parse_chunker
from tests.evals.irdata import Set, Text


def test_a_chunker_is_a_strategy_with_settings() -> None:
    assert parse_chunker("TOPIC_COHERENCE") == ChunkSettings(strategy="topic_coherence")
    given = parse_chunker("semantic:unit=tokens,size=1000,overlap=200")
    assert given == ChunkSettings(unit="tokens", size=1000, overlap=200)
    for wrong in ("by_moon", "semantic:size", "semantic:colour=red", "semantic:size=few"):
        with pytest.raises(ValueError):
            parse_chunker(wrong)


def test_a_smaller_set_keeps_the_questions_that_its_documents_answer() -> None:
    texts = [Text(name, "", name) for name in "abcd"]
    answers = {"q1": {"b": 1}, "q2": {"c": 1, "d": 1}, "q3": {"d": 2}}
    small = first_documents(Set("s", texts, dict.fromkeys(answers, "?"), answers), 2)
    assert [text.id for text in small.documents] == ["b", "c"]
    assert small.answers == {"q1": {"b": 1}, "q2": {"c": 1}} and set(small.questions) == {"q1", "q2"}


def test_each_set_counts_alike_however_many_questions_it_has() -> None:
    def found(*fused: float) -> ChunkerResult:
        return ChunkerResult({}, fused, 0.0, 0, 0.0, 0.0, 0.0)

    differences = paired_differences(
        {"a": found(1.0, 0.5, 0.5, 0.0), "b": found(0.4)}, {"a": found(0, 0, 0, 0), "b": found(0.2)}
    )
    assert len(differences) == 5 and differences.mean() == pytest.approx((0.5 + 0.2) / 2)
