"""Golden questions as text and value, how answers are scored, and how two runs are compared."""

import json
import math
import random

import numpy as np
import pytest

from cluster.basics.errors import Invalid
from cluster.console.commands.golden_commands import regression_reasons, shortfall_reasons
from configs.settings import load_settings
from serve_apps.retrieval.golden import question_form
from serve_apps.retrieval.golden.compare import bootstrap_interval, compare_measures, largest_changes, sign_test
from serve_apps.retrieval.golden.question_form import GoldenQuestion
from serve_apps.retrieval.golden.score import (
    FoundPassage,
    contains_answer,
    of_answer,
    of_documents,
    of_passages,
    summarise_measures,
    token_f1,
)
from serve_apps.retrieval.golden.snapshot import settings_snapshot

YAML = """
questions:
  - key: end
    question: When does the lease end?
    documents: [lease.pdf]
    answer: in May
  - question: Who owns the moon?
    unanswerable: true
"""


def test_questions_are_read_from_yaml_and_json_lines_and_written_back() -> None:
    end, moon = question_form.parse_questions(YAML, "yaml")
    assert end == GoldenQuestion("end", "When does the lease end?", ("lease.pdf",), answers=("in May",))
    assert not moon.answerable and len(moon.key) == 12
    for written in ("yaml", "jsonl"):
        assert question_form.parse_questions(question_form.serialise_questions([end, moon], written), written) == [
            end,
            moon,
        ]
    lines = json.dumps({"id": "a", "question": "Q?", "answers": ["x", "y"], "answer": "z"})
    assert question_form.parse_questions(lines + "\n\n", "jsonl")[0].answers == ("z", "x", "y")
    assert question_form.serialise_questions([], "yaml") == "[]\n" and question_form.parse_questions("[]", "yaml") == []


@pytest.mark.parametrize(
    ("text", "written", "why"),
    [
        ("{", "yaml", "no YAML"),
        ("just words", "yaml", "no list"),
        ("- question: Q?", "yaml", "entry 1: Value error, give documents"),
        ("- question: Q?\n  documents: [a]\n  unanswerable: true", "yaml", "entry 1"),
        ("- question: Q?\n  answer: a\n  colour: red", "yaml", "entry 1: colour"),
        ("- {key: k, question: Q, answer: a}\n- {key: k, question: R, answer: a}", "yaml", "entry 2: there is another"),
        ('{"question": "Q?", "answer": "a"}\nnot json', "jsonl", "line 2 is no JSON"),
        ('{"question": "", "answer": "a"}', "jsonl", "entry 1: question"),
        ('{"question": "a\\u0000b", "answer": "a"}', "jsonl", "entry 1: question"),
        ("[" * 600, "yaml", "no YAML"),
    ],
)
def test_what_is_no_golden_question_is_named(text: str, written: question_form.Format, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        question_form.parse_questions(text, written)


def test_a_set_has_room_for_so_many_questions() -> None:
    lines = "\n".join(json.dumps({"key": str(n), "question": "Q?", "answer": "a"}) for n in range(5_001))
    with pytest.raises(Invalid, match="at most 5000"):
        question_form.parse_questions(lines, "jsonl")


def places(*documents: str) -> list[FoundPassage]:
    return [FoundPassage(f"id-{name}", f"{name}.pdf", f"text of {name}") for name in documents]


def test_documents_are_scored_where_their_first_passage_stands() -> None:
    found = of_documents(places("a", "a", "b", "c"), ["B.PDF", "id-c"])
    assert (found["recall@1"], found["recall@5"], found["mrr"]) == (0, 1, 0.5)
    ideal = 1 + 1 / math.log2(3)
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)
    assert of_documents(places("x"), ["a.pdf"])["ndcg@10"] == 0
    twins = [FoundPassage("1", "a.pdf", ""), FoundPassage("2", "a.pdf", "")]
    assert of_documents(twins, ["a.pdf"])["recall@10"] == 1  # not 2: one was expected


def test_passages_and_answers_are_compared_by_their_words() -> None:
    assert of_passages([FoundPassage("1", "a", "The lease\nends in   May.")], ["lease ends in may", "June"]) == {
        "passage_recall@10": 0.5
    }
    assert token_f1("It ends in May [1].", "in May") == pytest.approx(2 * 2 / (4 + 2))
    assert token_f1("", "May") == 0 and token_f1("the", "a") == 1
    assert (
        contains_answer("It ends in May [1, 2].", "In May!")
        and not contains_answer("in Maya", "in May")
        and not contains_answer("x", "")
    )
    assert of_answer("June", ["in May", "June"]) == {"answer_f1": 1.0, "answer_contained": 1.0}


def test_figures_are_means_over_the_questions_that_have_them_and_percentiles_of_times() -> None:
    found = summarise_measures([{"mrr": 1.0, "search_ms": 10.0}, {"mrr": 0.0, "search_ms": 20.0}, {"answer_f1": 0.5}])
    assert found["mrr"] == {"mean": 0.5, "n": 2} and found["answer_f1"] == {"mean": 0.5, "n": 1}
    assert found["search_ms"]["p50"] == 15 and found["search_ms"]["n"] == 2


def test_two_runs_are_compared_question_by_question() -> None:
    before = {str(n): {"mrr": 0.5, "search_ms": 1.0} for n in range(50)} | {"gone": {"mrr": 1.0}}
    after = {str(n): {"mrr": 1.0 if n < 40 else 0.25, "search_ms": 9.0} for n in range(50)} | {"new": {"mrr": 0.0}}
    (found,) = compare_measures(before, after)
    assert (found.measure, found.n, found.better, found.worse, found.equal) == ("mrr", 50, 40, 10, 0)
    assert found.delta == pytest.approx(0.35) and found.low < found.delta < found.high and found.low > 0.2
    assert found.p < 0.001
    assert [key for key, _, _ in largest_changes(before, after, "mrr")][:10] == sorted(str(n) for n in range(40, 50))
    assert compare_measures(before, before)[0].p == 1 and largest_changes(before, before, "mrr") == []


def test_the_interval_holds_the_true_difference_about_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(100):
        low, high = bootstrap_interval(rng.normal(0.1, 1.0, 60))
        held += low <= 0.1 <= high
    assert held >= 87


def test_the_sign_test_is_the_binomial_one() -> None:
    assert sign_test(0, 0) == 1 and sign_test(5, 5) == 1
    assert sign_test(8, 0) == pytest.approx(2 / 2**8) == sign_test(0, 8)
    assert sign_test(600, 600) == pytest.approx(1, abs=0.05) and sign_test(800, 500) < 1e-12


def run(state: str = "completed", failures: tuple[str, ...] = (), **means: float) -> dict[str, object]:
    shown = {name: {"mean": value, "n": 10} for name, value in means.items()} | {
        "search_ms": {"p50": 1, "p95": 2, "n": 10}
    }
    return {"state": state, "failures": [{"what": one, "questions": 3} for one in failures], "figures": shown}


def test_the_gate_for_scripts_names_what_got_worse_and_what_did_not_run() -> None:
    base = run(mrr=0.8, recall=0.9)
    assert regression_reasons(base, run(mrr=0.79, recall=0.95), 0.02) == []
    assert regression_reasons(base, run(mrr=0.5, recall=0.9), 0.02) == ["mrr: 0.5000, the baseline 0.8000"]
    assert regression_reasons(base, run(mrr=0.5, recall=0.9), 0.02, ["recall"]) == []
    assert (
        "did not answer"
        in regression_reasons(base, run("failed", ("embedder did not answer",), mrr=0.8, recall=0.9), 0.02)[0]
    )
    assert regression_reasons(base, run(mrr=0.8), 0.02) == ["recall: measured at 0 questions, the baseline at 10"]
    assert regression_reasons(base, run("running", mrr=0.8, recall=0.9), 0) == ["the run is running"]
    assert regression_reasons(base, base, 0, ["f1"]) == ["f1: the baseline has no such measure"]


def test_a_run_is_held_to_what_is_demanded_of_it_without_a_baseline() -> None:
    """Golden sets with answers are gated on whether the answers hold them."""
    found = run(answer_contained=0.8)
    assert shortfall_reasons(found, {"answer_contained": 0.8}) == []
    assert shortfall_reasons(found, {"answer_contained": 0.9}) == ["answer_contained: 0.8000, demanded 0.9000"]
    assert shortfall_reasons(found, {"recall@10": 0.1}) == ["recall@10: the run has no such measure"]
    assert shortfall_reasons(run("running", answer_contained=1), {}) == ["the run is running"]


def test_a_run_keeps_the_settings_without_secrets() -> None:
    key = "".join(random.Random(1).choices("abcdef", k=20))
    kept = settings_snapshot(load_settings({"AOS_RERANK_REMOTE_KEY": key, "LLM_API_KEY": key, "RAG_CHUNK_SIZE": "900"}))
    assert kept["chunk"]["size"] == 900 and kept["llm"] == {"model": None, "generates": False}
    assert key not in json.dumps(kept)
