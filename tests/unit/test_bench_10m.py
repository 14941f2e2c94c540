"""The parts of `make bench-10m` that decide purely: the corpus, its truth, the curves, and what is kept."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.bench.bench_10m import SIZES, parse_options
from tests.bench.large import synthetic
from tests.bench.large.alternatives import KINDS, choose_kinds
from tests.bench.large.curve import fit_growth, seconds_left, told_duration
from tests.bench.large.kept import KeptFigures
from tests.bench.large.sentences import sentences_of
from tests.bench.large.synthetic import EVERY, ScopeFilter, VectorMixture
from tests.bench.large.telling import GOAL, tell_all
from tests.bench.large.texts import RealTexts
from tests.bench.large.truth import NearestChunks, find_nearest, intrinsic_dimension, recall
from tests.evals.report import Report

MIXTURE = VectorMixture()
FIRST = MIXTURE.block(0)


def test_the_same_seed_makes_the_same_corpus_block_by_block() -> None:
    again = VectorMixture().block(0)
    assert np.array_equal(FIRST.vectors, again.vectors) and np.array_equal(FIRST.topics, again.topics)
    assert not np.array_equal(FIRST.vectors, VectorMixture(27).block(0).vectors)
    assert MIXTURE.block(1).numbers[0] == synthetic.BLOCK
    assert np.allclose(np.linalg.norm(FIRST.vectors, axis=1), 1, atol=1e-5)


def test_questions_are_in_no_block_and_of_the_same_mixture() -> None:
    topics, vectors = MIXTURE.questions(20)
    assert np.array_equal(vectors, MIXTURE.questions(20)[1]) and len(set(topics.tolist())) > 5
    assert (vectors @ FIRST.vectors.T).max() < 0.999


def test_a_document_is_more_like_itself_than_like_others() -> None:
    """Without neighbours no index could order anything."""
    near = FIRST.vectors @ FIRST.vectors.T
    own = np.mean([near[n * 10, n * 10 + 1] for n in range(200)])
    assert own > 0.5 and abs(np.median(near)) < 0.1


@pytest.mark.parametrize("kind", ["tenant", "agent", "readers"])
def test_filters_hold_their_share_and_never_another_tenants_document(kind: str) -> None:
    numbers = np.arange(1_000_000, dtype=np.int64)
    block = synthetic.DocumentBlock(numbers, np.zeros_like(numbers), np.zeros((0, 384), dtype=np.float32))
    for every in EVERY:
        inside = ScopeFilter(kind, every).contains(block, 1)
        assert inside.sum() == len(numbers) // every
        assert inside[: synthetic.LEAST_DOCUMENTS].any(), "also in a corpus of a few documents"
        owners = {synthetic.tenant_of(one) for one in numbers[inside][:500].tolist()}
        assert owners == ({every} if kind == "tenant" else {None})
    everything = ScopeFilter("all").contains(block, 1)
    assert 0.88 < everything.mean() < 0.89


def test_the_agent_of_topics_holds_about_a_hundredth() -> None:
    narrow = MIXTURE.narrow_topics()
    held = np.mean([ScopeFilter("topics").contains(MIXTURE.block(n), narrow).mean() for n in range(4)])
    assert 0.003 < held < 0.02


def test_a_twentieth_is_deleted_and_narrow_filters_keep_their_first_document() -> None:
    gone = synthetic.is_deleted(np.arange(200_000, dtype=np.int64))
    assert 0.045 < gone.mean() < 0.055 and not gone[: synthetic.LEAST_DOCUMENTS].any()
    assert 0.04 < gone[::10].mean() < 0.06, "no filter is spared"


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one() -> None:
    assert synthetic.blocks_of(5_000) == range(1) and synthetic.blocks_of(5_001) == range(2)
    assert set(synthetic.blocks_of(30_000)) < set(synthetic.blocks_of(100_000))


def test_texts_follow_from_the_number_of_their_document() -> None:
    texts = RealTexts({"en": ["word " * 200] * 3, "de": ["Wort " * 200], "es": ["a"], "ru": ["b"]}, {"en": ["q", "p"]})
    assert texts.chunks(5, 10) == texts.chunks(5, 10) != texts.chunks(15, 10)
    assert texts.chunks(6, 1)[0].startswith("Wort") and texts.chunks(5, 1)[0].startswith("word")
    assert texts.questions("en", 9) == texts.questions("en", 9) and len(texts.questions("en", 9)) == 2


def test_brute_force_finds_what_sorting_everything_finds() -> None:
    _, questions = MIXTURE.questions(5)
    blocks = [FIRST, MIXTURE.block(1)]
    every = {
        "all": lambda block: np.ones(len(block.numbers), dtype=np.bool_),
        "odd": lambda block: block.numbers % 2 == 1,
    }
    found = find_nearest(questions, blocks, every, {"all": 10, "odd": 10})
    whole = questions @ np.concatenate([block.vectors for block in blocks]).T
    assert np.array_equal(found["all"].ids, np.argsort(-whole, axis=1)[:, :10])
    assert all((number // 10) % 2 == 1 for number in found["odd"].ids.ravel().tolist())


def test_the_nearest_come_first_whatever_the_order_of_blocks() -> None:
    scores = np.array([[0.1, 0.9, 0.5, 0.7]], dtype=np.float32)
    ids = np.arange(4, dtype=np.int64)
    forth, back = NearestChunks(1, 3), NearestChunks(1, 3)
    for at in (0, 2):
        forth.add(scores[:, at : at + 2], ids[at : at + 2])
    for at in (2, 0):
        back.add(scores[:, at : at + 2], ids[at : at + 2])
    assert forth.ids.tolist() == back.ids.tolist() == [[1, 3, 2]]
    assert forth.distances[0].tolist() == pytest.approx([0.1, 0.3, 0.5])


def test_recall_counts_of_as_many_as_there_are() -> None:
    truth = np.array([[1, 2, 3], [4, 5, 6]])
    assert recall([[3, 1, 9], [4, 5, 6]], truth) == pytest.approx((2 / 3 + 1) / 2)
    assert recall([[9, 9, 1], []], truth, at=1) == 0.0


def test_the_intrinsic_dimension_is_that_of_the_space() -> None:
    rng = np.random.default_rng(1)
    near = {}
    for dimension in (5, 15):
        flat = np.hstack([rng.standard_normal((20_000, dimension)), np.zeros((20_000, 40 - dimension))])
        gaps = np.sort(np.linalg.norm(flat - flat[0] * 0, axis=1))[None, :100]
        near[dimension] = intrinsic_dimension((gaps**2 / 2).astype(np.float32))
    assert near[5] == pytest.approx(5, rel=0.4) and near[15] == pytest.approx(15, rel=0.4)


def test_a_curve_through_powers_is_that_power() -> None:
    curve = fit_growth({size: 3 * size**1.1 for size in (30_000, 100_000, 300_000)})
    assert curve is not None and curve.exponent == pytest.approx(1.1) and curve.error < 1e-6
    assert curve.at(10_000_000) == pytest.approx(3 * 10_000_000**1.1)
    assert "extrapolated 33-fold from 300,000" in curve.told(10_000_000)


def test_there_is_no_curve_through_two_sizes_or_nothing() -> None:
    assert fit_growth({1: 1.0, 2: 2.0}) is None
    assert fit_growth({1: 1.0, 2: 2.0, 3: 0.0}) is None


def test_the_time_left_follows_the_pace() -> None:
    assert seconds_left(0, 10, 5) is None and seconds_left(5, 10, 20) == 20
    assert [told_duration(one) for one in (None, 40, 600, 7_200)] == ["?", "40 s", "10 min", "2.0 h"]


def test_kept_figures_outlive_the_run_and_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "figures.json"
    KeptFigures(path).put(100_000, "memory", 1)
    again = KeptFigures(path)
    again.put(30_000, "memory", 2)
    again.put(100_000, "memory", 3)
    assert dict(KeptFigures(path).sizes()) == {30_000: {"memory": 2}, 100_000: {"memory": 3}}
    assert list(KeptFigures(path).sizes()) == [30_000, 100_000]
    assert json.loads(path.read_text()) and [one.name for one in path.parent.iterdir()] == ["figures.json"]


def filter_figures(recall_at: float, late: float) -> dict[str, object]:
    times = {way: [late / 2, late] for way in ("vector", "keyword", "hybrid", "resolve")}
    return {"filter": "everything", "engine": "hnsw", "recall": recall_at, "fewest": 10, **times}


def test_a_filter_that_misses_fails_at_the_largest_size_alone(tmp_path: Path) -> None:
    small, large = filter_figures(0.9, 120.0), filter_figures(0.96, 80.0)
    report = Report("bench-10m", folder=tmp_path)
    tell_all(report, {30_000: {"filter: everything": small}, 100_000: {"filter: everything": large}})
    judged = [one for one in report.figures if one.goal == GOAL and "everything" in one.name]
    assert [one.holds for one in judged] == [True, True]
    report = Report("bench-10m", folder=tmp_path)
    tell_all(report, {100_000: {"filter: everything": small}})
    assert [one.holds for one in report.figures if one.goal == GOAL and "everything" in one.name] == [False, False]
    missing = [one for one in report.figures if one.goal == GOAL and one.value is None and "agent 1 %" in one.name]
    assert [one.holds for one in missing] == [False], "a filter that was not asked in at the largest size does not hold"


def test_what_was_not_measured_does_not_hold_and_has_no_curve(tmp_path: Path) -> None:
    report = Report("bench-10m", folder=tmp_path)
    tell_all(report, {})
    assert [one.holds for one in report.figures if one.goal] == [False, False]
    assert any("no curve" in str(one.value) for one in report.figures)


def test_what_is_extrapolated_says_so(tmp_path: Path) -> None:
    report = Report("bench-10m", folder=tmp_path)
    sizes = {size: {"filter: everything": filter_figures(0.97, size / 10_000)} for size in (10_000, 30_000, 100_000)}
    tell_all(report, sizes)
    told = [one for one in report.figures if one.name.startswith("10M (extrapolated)")]
    assert told and all("extrapolated" in str(one.reference) for one in told)
    assert next(one for one in told if one.name.endswith("search, p95")).value == pytest.approx(1_000)


def test_what_has_to_stay_in_memory_is_told_beside_what_there_may_be(tmp_path: Path) -> None:
    report = Report("bench-10m", folder=tmp_path)
    disk = {"database": 9_000, "graph": 1_100, "vectors": 2_000, "BM25": 100}
    tell_all(report, {size: {"disk": {part: each * size for part, each in disk.items()}} for size in (10, 30, 100)})
    told = {one.name: one for one in report.figures}
    memory = told["10M (extrapolated), graph, vectors and keyword index, which stay in memory"]
    assert memory.value == pytest.approx(3_200 * 10_000_000 / 2**30)
    fits = told["chunks whose graph, vectors and keyword index fit 16 GiB (extrapolated)"].value
    assert fits == pytest.approx(16 * 2**30 / 3_200, abs=100_000)
    assert told["10M: curves, through the sizes"].holds is True


def test_a_narrow_filter_costs_what_a_scope_of_as_many_chunks_does(tmp_path: Path) -> None:
    report = Report("bench-10m", folder=tmp_path)
    ways = {"graph": [0.9, 5.0, 9.0], "exact": [1.0, 20.0, 25.0], "words exactly": [100.0, 60.0, 70.0]}
    tell_all(report, {100_000: {"filter: everything": filter_figures(0.97, 50.0), "ways: agent 10 %": ways}})
    told = {one.name: one.value for one in report.figures if one.name.startswith("10M (extrapolated)")}
    assert told["10M (extrapolated), agent 0.1 %, vectors exactly, p95"] == 25.0
    assert told["10M (extrapolated), agent 0.1 %, words exactly, p95"] == 70.0
    assert told["10M (extrapolated), agent 10 %, vectors by the graph, p95"] == 9.0


def test_the_command_line_grows_by_itself_and_by_choice() -> None:
    assert parse_options([]).chunks is None and tuple(sorted(SIZES)) == SIZES
    chosen = parse_options(["--chunks", "30000", "--chunks", "100000", "--only", "search"])
    assert chosen.chunks == [30_000, 100_000] and chosen.only == ["search"]


def test_indexes_are_compared_by_the_beginnings_of_their_names() -> None:
    assert choose_kinds([]) == list(KINDS)
    assert [kind.name for kind in choose_kinds(["hnsw bits"])] == ["hnsw bits", "hnsw bits of halfvec rows"]
    assert all(kind.ranked_again for kind in choose_kinds(["hnsw bits"])) and choose_kinds(["none"]) == []
    assert parse_options(["--compare", "diskann", "--cache", "480", "--filter", "agent 1 %"]).compare == ["diskann"]
    assert parse_options([]).compare is None and parse_options(["--compare"]).compare == []


def test_sentences_are_different_and_of_some_words() -> None:
    texts = [
        "One two three four five six seven eight. Too short. A b c d e f g h!",
        "A b c d e f g h! New one two three.",
    ]
    assert sentences_of(texts, 9) == ["One two three four five six seven eight.", "A b c d e f g h!"]
    assert sentences_of(texts, 1) == ["One two three four five six seven eight."]


def test_figures_within_so_much_cache_are_told_apart(tmp_path: Path) -> None:
    report, filtered = (
        Report("x", folder=tmp_path),
        {
            "filter": "agent 1 %",
            "engine": "hnsw",
            "recall": 0.97,
            "fewest": 10,
            **dict.fromkeys(("vector", "keyword", "hybrid", "resolve"), (1.0, 2.0)),
        },
    )
    tell_all(report, {30_000: {"within 48 MiB: agent 1 %": filtered}})
    names = [one.name for one in report.figures]
    assert any("pages within 48 MiB" in name and "agent 1 %, search p95" in name for name in names)
