"""What the gate makes of what it found: ranks, parts of passages, and the rules."""

import math

import pytest

from configs.sections_retrieval import GateSettings
from pipelines.documents.index.gate_verdict import (
    ChunkNeighbour,
    GateReport,
    RecallMeasure,
    depth_of,
    digest_of,
    documents_found,
    judge_report,
    part_of,
    rank_of,
)

SETTINGS = GateSettings(floor=0.6, tolerance=0.05)


def near(*rows: tuple[str, float, str]) -> list[ChunkNeighbour]:
    return [ChunkNeighbour(chunk, f"d-{chunk}", score, text) for chunk, score, text in rows]


def test_a_question_is_a_part_of_its_passage_and_never_the_whole() -> None:
    assert part_of("one two three") is None
    words = [f"w{n}" for n in range(10)]
    assert part_of(" \n".join(words)) == " ".join(words[2:8])
    assert len((part_of(" ".join(f"w{n}" for n in range(300))) or "").split()) == 16


def test_a_passage_is_found_at_its_place_among_wrong_ones() -> None:
    rows = near(("x", 0.9, "other"), ("own", 0.8, "the part is here"), ("y", 0.7, "other"))
    assert rank_of(0.8, "own", "the part", rows) == 2
    assert rank_of(0.1, "own", "the part", near(("x", 0.9, "other"), ("y", 0.2, "other"))) == 3  # it is further down


def test_a_passage_that_says_the_same_is_as_right() -> None:
    rows = near(("twin", 0.9, "here  the\npart stands"), ("own", 0.9, "the part"))
    assert rank_of(0.9, "own", "the part", rows) == 1


def test_vectors_that_are_all_alike_or_none_at_all_find_nothing() -> None:
    alike = near(*((str(n), 0.5, "other") for n in range(30)))
    assert rank_of(0.5, "own", "the part", alike) == 31
    assert rank_of(None, "own", "the part", alike) is None
    assert rank_of(math.nan, "own", "the part", near(("x", math.nan, "other"))) is None


def test_few_passages_have_to_be_nearer() -> None:
    assert [depth_of(count) for count in (0, 14, 40, 80, 20_000)] == [1, 2, 5, 10, 10]


def test_documents_are_counted_once_and_only_the_first_ten() -> None:
    rows = [ChunkNeighbour(str(n), f"d{n // 2}", 1 - n / 100, "") for n in range(40)]
    assert documents_found(rows, ["d0", "d9", "d10", "gone"]) == (0.5, 1.0)
    assert documents_found([ChunkNeighbour("c", "d", math.nan, "")], ["d"]) == (0.0, 0.0)


def report(items: RecallMeasure | None = None, golden: tuple[RecallMeasure, ...] = (), held: int = 100) -> GateReport:
    return GateReport(2, 1, 100, held, 10, items, golden)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (report(RecallMeasure("known items", 50, 0.9, 0.8, least=0.6)), None),
        (report(RecallMeasure("known items", 50, 0.5, 0.4, least=0.6)), "demanded 0.600"),
        (report(RecallMeasure("known items", 50, math.nan, 0, least=0.6)), "demanded"),
        (report(RecallMeasure("known items", 50, 0.8, 0.7, before=0.9, least=0.6)), "before 0.900"),
        (report(RecallMeasure("known items", 50, 0.86, 0.7, before=0.9, least=0.6)), None),
        (
            report(golden=(RecallMeasure("contracts", 9, 0.5, 0.5, baseline=0.7),)),
            "when the live index was built 0.700",
        ),
        (
            report(golden=(RecallMeasure("contracts", 9, 0.5, 0.5, before=0.5, baseline=0.9),)),
            None,
        ),  # measured beats kept
        (report(golden=(RecallMeasure("contracts", 9, 0.5, 0.5, least=0.9),)), "contracts: 0.500"),
        (report(golden=(RecallMeasure("contracts", 9, 0.0, 0.0),)), "contracts: 0.000 has nothing to be compared with"),
        (
            GateReport(1, None, 100, 100, 10, None, (RecallMeasure("contracts", 9, 0.5, 0.5),)),
            None,
        ),  # the first index of all
        (report(held=90), "90 of 100 documents have vectors"),
        (report(held=96), None),
        (report(), None),
    ],
)
def test_the_gate_compares_with_the_floor_the_live_index_and_what_a_set_demands(
    found: GateReport, why: str | None
) -> None:
    reasons = judge_report(found, SETTINGS)
    assert (reasons == []) if why is None else (len(reasons) == 1 and why in reasons[0])


def test_only_the_same_questions_have_the_same_digest() -> None:
    one = {"key": "a", "question": "Q?", "documents": ["x", "y"]}
    two = {"key": "b", "question": "R?", "documents": []}
    assert digest_of([one, two]) == digest_of([two, {**one, "documents": ["y", "x"]}])
    assert digest_of([one]) != digest_of([{**one, "documents": ["x"]}])


def test_a_report_names_no_document() -> None:
    shown = report(RecallMeasure("known items", 5, 1, 1)).as_json([], "passed", 12.3)
    assert (shown["verdict"], shown["ms"], shown["items"]["asked"]) == ("passed", 12, 5)
