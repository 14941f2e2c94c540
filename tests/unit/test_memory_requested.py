"""What somebody asks to be remembered, told from what merely speaks of remembering."""

import pytest

from serve_apps.agents.memory.facts import promised, requested_facts

ASKED = [
    ("Remember that my badge number is 4711.", "my badge number is 4711", "other"),
    ("Please remember: the pump is called Berta", "the pump is called Berta", "other"),
    ("Can you remember that I prefer short answers?", "I prefer short answers", "preference"),
    ("Hello. Don't forget that I like tea. Thanks", "I like tea", "preference"),
    ("Merk dir, dass der Schlüssel bei Frau Odell liegt. Und sonst?", "der Schlüssel bei Frau Odell liegt", "other"),
    ("Vergiss nicht, dass ich immer Deutsch will!", "ich immer Deutsch will", "preference"),
    ("Notiere dir, dass 3.14 gut ist", "3.14 gut ist", "other"),
]
NOT_ASKED = [
    "I remember that we met.",
    "Do you remember that film?",
    "Remember when we met?",
    "The report notes that costs rise.",
    "What should I remember that is important?",
    "",
    "remember",
]


@pytest.mark.parametrize(("message", "fact", "category"), ASKED)
def test_me_06_a_request_becomes_a_fact_in_the_users_own_words(message: str, fact: str, category: str) -> None:
    assert [(one.text, one.category, one.importance) for one in requested_facts(message)] == [(fact, category, "high")]


@pytest.mark.parametrize("message", NOT_ASKED)
def test_me_06_what_only_speaks_of_remembering_is_no_request(message: str) -> None:
    assert requested_facts(message) == []


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("I will remember that your badge is 4711.", ["your badge is 4711"]),
        ("Sure, I'll keep that in mind!", ["My badge number is 4711."]),
        ("I’ll make a note of that: the pump is Berta.", ["the pump is Berta"]),
        ("Ich merke mir, dass du Tee magst.", ["du Tee magst"]),
        ("Ich werde mir das merken.", ["My badge number is 4711."]),
        ("I won't remember that.", []),
        ("I will remember to call Bob.", []),
        ("If you tell me, I will remember it.", []),
        ("Do you think I will remember that?", []),
        ("I do remember that you said so.", []),
    ],
)
def test_me_06_what_an_agent_says_it_will_remember_it_does(answer: str, facts: list[str]) -> None:
    """ME-06: its own words, or, where it names nothing, what it was told; a deed or a condition is no memory."""
    found = promised(answer, "My badge number is 4711.")
    assert [one.text for one in found] == facts and all(one.importance == "medium" for one in found)


def test_garbage_takes_linear_time_and_no_more_than_three_facts() -> None:
    assert requested_facts("please remember that " * 20_000) is not None
    assert promised("I will remember " * 20_000, "x") is not None and promised("if " * 50_000, "x") == []
    assert len(requested_facts("Remember that a is b. " * 50)) == 3
