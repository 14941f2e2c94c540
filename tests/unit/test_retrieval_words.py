"""Words and names as answers compare them."""

import pytest

from serve_apps.retrieval.text.words import (
    NameMention,
    content_words,
    find_names,
    fold_word,
    is_unknown_name,
    known_words,
    word_tokens,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pumps", "pump"),
        ("policies", "policy"),
        ("weighed", "weigh"),
        ("running", "run"),
        ("Étude", "etude"),
        ("services", "service"),
        ("classes", "class"),
        ("offering", "offers"),
    ],
)
def test_forms_of_a_word_fold_to_one(one: str, other: str) -> None:
    assert fold_word(one) == fold_word(other)


@pytest.mark.parametrize(("one", "other"), [("pump", "pipe"), ("X200", "X300"), ("bus", "bush"), ("2023", "2024")])
def test_different_words_stay_different(one: str, other: str) -> None:
    assert fold_word(one) != fold_word(other)


def test_content_is_what_is_said_without_stop_words_and_possessives() -> None:
    assert content_words("What does the pump's owner say about it?") == [
        fold_word("pump"),
        fold_word("owner"),
        fold_word("say"),
    ]
    assert content_words("the of and") == []


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How do I apply for aid at Cendara University?", [("cendara", "university")]),
        ("Is CloudWay 24 on time?", [("cloudway", "24")]),
        ("What topics does BIOL 501 cover?", [("biol", "501")]),
        ("Does it have error E0425 or ORA-00942?", [("e0425",), ("ora", "00942")]),
        ("Velvera's core values are what?", []),
        ("Describe Velvera's core values.", [("velvera",)]),
        ("how heavy is the pump", []),
        ("Who was the first emperor of Rome? Where did Caesar live?", [("rome",), ("caesar",)]),
        ("What Are The Features Of The Gold Loan Offer", []),
        ("Gold Loan Interest Rate Table", []),
        (
            "How does the Makers Club differ from the Arts Collective at Cendara University?",
            [("makers", "club"), ("arts", "collective"), ("cendara", "university")],
        ),
        ("WHAT DOES THE PUMP WEIGH?", []),
        ("“Is health insurance mandatory?”", []),
        ("In 2023, what did it cost?", []),
        ("Was it the 2nd or the 5pm one?", []),
    ],
)
def test_names_are_what_capitals_and_digits_tell(question: str, wanted: list[tuple[str, ...]]) -> None:
    assert find_names(question) == [NameMention(tuple(fold_word(word) for word in name)) for name in wanted]


@pytest.mark.parametrize(
    ("name", "text", "is_unknown"),
    [
        (["cendara", "university"], "colleges and universities", True),
        (["zx", "bank", "ceo"], "zx bank is led by its chairman", False),
        (["cloudway", "24"], "open 24 hours", True),
        (["cendera"], "cendara offers courses", False),  # one letter wrong
        (["cendaar"], "cendara offers courses", False),  # two swapped
        (["cndara"], "cendara offers courses", False),  # one left out
        (["zx"], "ax bx", True),  # too short to be misspelt
        (["caesar"], "cats sleep", True),
    ],
)
def test_a_name_is_unknown_where_its_head_or_half_of_it_is_missing(
    name: list[str], text: str, is_unknown: bool
) -> None:
    assert is_unknown_name([fold_word(word) for word in name], {fold_word(word) for word in text.split()}) is is_unknown


def test_words_of_scripts_without_spaces_are_pairs_of_letters() -> None:
    """A letter is what a reader takes for one; what stands between them in other letters is a word of its own."""
    assert content_words("更换QX-118型滤芯") == ["更换", "qx", "118", "型滤", "滤芯"]
    assert [one.text for one in word_tokens("泵 重 12kg")] == ["泵", "重", "12kg"]
    assert [one.text for one in word_tokens("ปั๊มน้ำ")] == ["ปั๊ม", "มน้", "น้ำ"]
    assert [one.text for one in word_tokens("ម៉ាស្ស")] == ["ម៉ាស្ស"]
    text = "請更換 coolant 濾芯"
    assert all(text[one.start : one.end] == one.text for one in word_tokens(text))
    assert known_words([text]) == {"請更", "更換", "coolant", "濾芯"}
    assert [name.shown for name in find_names("请问QX118的重量是多少")] == ["QX118"]
