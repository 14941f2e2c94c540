"""What a question names literally, and how that comes before everything else."""

import pytest

from serve_apps.retrieval.search.fuse import FusionWeights, RankedChunk
from serve_apps.retrieval.text.literals import (
    QuestionLiterals,
    add_literal_matches,
    find_literals,
    is_identifier,
    rank_by_phrases,
)
from tests.fakes.ranking import fuse_rankings


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("Where is AB-1234/7 installed?", ("ab-1234/7",)),
        ("rustc says error[E0425]: what now?", ("e0425",)),
        ("ORA-00942, then ORA-01403.", ("ora-00942", "ora-01403")),
        ("What is set in configs/base.yaml and max_retry_count?", ("configs/base.yaml", "max_retry_count")),
        ("Is ray 2.60.0 newer than v1.4?", ("2.60.0", "v2.60.0", "1.4", "v1.4")),
        ("order 4711‑0815 of 2026-05-05", ("4711-0815", "2026-05-05")),
        ("the 5th of the 1990s, 12.5 % of 2,000 at 10:30", ()),
        ("state-of-the-art and/or well-known, e.g. the U.S.", ()),
        ("invoice 104233", ("104233",)),
        ("p = 0.001, 95% CI 0.34-0.63, a ratio of 1.5:1 or 130/0.4, 2.5 mg in 2003-March", ()),
        ("part 4711-0815 of firmware v0.73, on 10.0.0.1", ("4711-0815", "0.73", "v0.73", "10.0.0.1", "v10.0.0.1")),
        ("what COVID-19, GTA6 and IL-6 did at NeurIPS2023", ()),
        ("plain words in 2019, the season 2023-2024, 1/2, 24/7", ()),
    ],
)
def test_identifiers_are_told_from_words_and_numbers(question: str, codes: tuple[str, ...]) -> None:
    """RE-02: part numbers, error codes, file names, versions, dates."""
    assert find_literals(question).codes == codes


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('What does "net zero" mean here?', ("net zero",)),
        ("What does “net zero” mean, and («zero net»)?", ("net zero", "zero net")),
        ('How does the Pad 11" compare to the Pad 12.9"?', ()),
        ('"Is the whole question quoted?"', ()),
        ('the odd " one, and "" nothing', ()),
        ("it's the owners' choice", ()),
    ],
)
def test_a_phrase_is_what_stands_between_quotes(question: str, phrases: tuple[str, ...]) -> None:
    assert find_literals(question).phrases == phrases


def test_nothing_literal_is_false_and_hostile_text_is_bounded() -> None:
    assert not find_literals("what is a pump?") and not find_literals("")
    many = find_literals(" ".join(f"AB-{n:05}" for n in range(500)) + ' "' + "x" * 5000 + '"')
    assert len(many.codes) == 16 and many.phrases == ()
    assert find_literals("x1" * 500).codes == ()
    assert not is_identifier("pump") and is_identifier("e0425")


def leg(*ids: str) -> list[RankedChunk]:
    return [RankedChunk(chunk, f"document of {chunk}", 1.0 / rank) for rank, chunk in enumerate(ids, 1)]


def test_what_holds_it_comes_first_and_is_found_even_where_words_missed_it() -> None:
    asked = QuestionLiterals(("ab-1",), ("net zero",))
    held = {"c": ("document of c", frozenset({"ab-1"})), "x": ("document of x", frozenset({"ab-1", "net zero"}))}
    found = add_literal_matches(leg("a", "b", "c"), held, asked)
    assert [one.chunk_id for one in found] == ["c", "x", "a", "b"]
    assert [(one.literal, one.quoted) for one in found[:3]] == [(1, 0), (1, 1), (0, 0)]
    assert add_literal_matches(leg("a", "b"), {}, asked) == leg("a", "b")


def test_fused_they_come_first_whatever_the_vectors_say() -> None:
    """RE-02: a boost, not a filter."""
    asked = QuestionLiterals(("e0425",))
    keyword = add_literal_matches(leg("a", "b"), {"b": ("document of b", frozenset({"e0425"}))}, asked)
    fused = fuse_rankings(keyword, leg("a", "c"), FusionWeights(0.1, 0.9))
    assert [one.chunk_id for one in fused] == ["b", "a", "c"]
    assert fused[0].scores["literal"] == 1 and "literal" not in fused[1].scores


def test_passages_with_quoted_phrases_are_a_list_of_their_own() -> None:
    """By how many they hold, then as words rank them; a quoted phrase is no identifier, which would come first."""
    asked = QuestionLiterals((), ("net zero", "harbour"))
    held = {"b": ("b", frozenset({"net zero"})), "c": ("c", frozenset({"net zero", "harbour"}))}
    keyword = add_literal_matches(leg("a", "b", "c", "d"), held, asked)
    assert [one.chunk_id for one in keyword] == ["a", "b", "c", "d"]
    assert [(one.chunk_id, one.score) for one in rank_by_phrases(keyword)] == [("c", 2.0), ("b", 1.0)]
    assert rank_by_phrases(leg("a", "b")) == []


def test_identifiers_of_a_long_question_are_preferred_as_phrases_are() -> None:
    """It names many things beside the one that it is about: none of them puts all else behind."""
    asked = QuestionLiterals(("ab-1", "cd-2"), ("net zero",))
    held = {"b": ("b", frozenset({"ab-1"})), "c": ("c", frozenset({"ab-1", "net zero"}))}
    keyword = add_literal_matches(leg("a", "b", "c"), held, asked, in_front=False)
    assert [(one.chunk_id, one.literal, one.quoted) for one in keyword] == [("a", 0, 0), ("b", 0, 1), ("c", 0, 2)]
    assert [one.chunk_id for one in rank_by_phrases(keyword)] == ["c", "b"]


@pytest.mark.parametrize(
    ("question", "phrases", "required"),
    [
        ('Is +"net zero" a "plan"?', ("net zero", "plan"), ("net zero",)),
        ('+"net zero"', ("net zero",), ("net zero",)),
        ("Is +“net zero” a plan?", ("net zero",), ("net zero",)),
        ("哪里写着+「三楼的保险柜」？", ("三楼的保险柜",), ("三楼的保险柜",)),
        ("哪里写着＋『三楼』？", ("三楼",), ("三楼",)),
        ('what is 3 + "four"', ("four",), ()),
        ('what is C+"plus"', (), ()),
        ("+49 30 1234 and +pump", (), ()),
        ('+"" and +"?"', (), ()),
    ],
)
def test_a_plus_before_its_quotes_requires_a_phrase(
    question: str, phrases: tuple[str, ...], required: tuple[str, ...]
) -> None:
    found = find_literals(question)
    assert (found.phrases, found.required) == (phrases, required)


def test_where_quotes_must_hold_every_phrase_is_required() -> None:
    found = find_literals('"net zero" and the "plan"', must=True)
    assert found.phrases == found.required == ("net zero", "plan")
    whole = find_literals('"Is the whole question quoted?"', must=True)
    assert whole.required == ("Is the whole question quoted?",)
    assert find_literals("no quotes at all", must=True).required == ()
    long = "x" * 300
    assert find_literals(f'a "{long}"').phrases == () and find_literals(f'a +"{long}"').required == (long,)
