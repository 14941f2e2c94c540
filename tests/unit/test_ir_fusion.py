"""Which fusion is chosen for a set, and the sets of long questions that are made by rule."""

from collections.abc import Mapping

from tests.evals.irdata import Set, Text
from tests.evals.irfusion import GRID, LEEWAY, Fusion, choose, choose_without, shipped_fusion, source_of
from tests.evals.irlong import halves_of, has_abstracts, letters_of

FIRST, SECOND, THIRD = GRID[0], GRID[1], GRID[2]


def quality(**of_sets: tuple[float, float, float]) -> Mapping[str, Mapping[Fusion, float]]:
    rest = dict.fromkeys(GRID, 0.0)
    return {name: rest | dict(zip(GRID[:3], values, strict=True)) for name, values in of_sets.items()}


def test_a_set_takes_no_part_in_the_choice_that_it_is_judged_by() -> None:
    found = quality(a=(0.9, 0.5, 0.1), b=(0.4, 0.5, 0.1), c=(0.3, 0.5, 0.1))
    better = dict.fromkeys("abc", 0.0)
    assert choose(list("abc"), found, better) == FIRST
    assert choose_without("a", found, better) == SECOND, "nobody else favours the first"
    assert choose_without("b", found, better) == FIRST


def test_sets_that_are_made_of_it_take_no_part_either() -> None:
    found = {"a": quality(a=(0.9, 0.1, 0.1))["a"], "letters of a": quality(a=(0.9, 0.1, 0.1))["a"]}
    assert choose_without("a", found, {"a": 0.0, "letters of a": 0.0}) is None
    found |= {"b": quality(b=(0.1, 0.2, 0.1))["b"]}
    assert choose_without("letters of a", found, dict.fromkeys(found, 0.0)) == SECOND
    assert source_of("letters of a") == source_of("a") == "a"


def test_one_that_falls_behind_a_retriever_somewhere_is_not_chosen_for_its_mean() -> None:
    found = quality(a=(0.9, 0.7, 0.1), b=(0.5, 0.6, 0.1))
    assert choose(["a", "b"], found, {"a": 0.6, "b": 0.6}) == SECOND
    assert choose(["a", "b"], found, {"a": 0.6, "b": 0.5 + LEEWAY / 2}) == FIRST
    assert choose(["a", "b"], found, {"a": 1.0, "b": 0.6}) == FIRST, "where each falls behind, the one that does least"


def test_what_the_settings_ship_is_among_the_choices() -> None:
    assert shipped_fusion() in GRID


BASE = Set(
    "base",
    [Text("d1", "", " ".join(f"Sentence {n} of one." for n in range(8))), Text("d2", "T", "Short. Text.")],
    {f"q{n}": f"What is {n}?" for n in range(5)},
    {f"q{n}": {"d1" if n < 4 else "d2": 1} for n in range(5)},
)


def test_a_letter_asks_several_questions_that_one_document_answers() -> None:
    letters = letters_of(BASE)
    assert letters.name == "letters of base" and letters.documents is BASE.documents
    assert letters.answers == {"letter d1": {"d1": 1}}
    text = letters.questions["letter d1"]
    assert sum(question in text for question in BASE.questions.values()) == 3 and len(text.split()) > 30
    assert letters_of(BASE) == letters, "the same every time"


def test_half_of_an_abstract_asks_for_the_other_half() -> None:
    halves = halves_of(BASE)
    assert halves.answers == {"half d1": {"d1": 1}} and halves.name == "halves of base"
    kept, asked = halves.documents[0].text, halves.questions["half d1"]
    assert kept.startswith("Sentence 0") and asked.startswith("Sentence 1")
    assert not set(kept.split(". ")) & set(asked.split(". "))
    assert halves.documents[1] is BASE.documents[1]
    assert not has_abstracts(Set("x", [BASE.documents[1]], {}, {}))
