"""Questions that look alike: which of them ask the same."""

import random
import time

import pytest

from serve_apps.retrieval.cache.english import is_english
from serve_apps.retrieval.cache.near_miss import MatchDecision, same_question, same_words
from serve_apps.retrieval.text.lexicon import SynonymLexicon
from serve_apps.retrieval.text.question_terms import plain_words

LEXICON = SynonymLexicon.read()

SAME = [
    ("What is the notice period?", "what's the notice period"),
    ("What is the notice period?", "Could you please tell me what the notice period is?"),
    ("How do I reset the pump?", "How can we reset the pump, please?"),
    ("How do I reset the pump?", "What is the way to reset the pump?"),
    ("Which documents does the bank require?", "What documents does the bank need?"),
    ("Who approves travel expenses?", "Who approved the travel expense?"),
    ("In March 2024, who chaired the board?", "Who chaired the board in Mar 2024?"),
    ("Did Ann found the company?", "Was the firm founded by Ann?"),
    ("The backup is encrypted by the gateway.", "The gateway encrypts the backup."),
    ("You can install the agent with conda.", "The agent can be installed with conda."),
    ("Does the plan cover three people?", "does the plan cover 3 people"),
    ("What does error E-4012 mean?", "what does the error e-4012 mean"),
    ("Is a fee of 1,000.50 dollars charged?", "Is a fee of $1000.5 charged?"),
    (
        "You can change the default cache folder of the agent by setting the variable AOS_HOME.",
        "By altering the variable AOS_HOME, the default cache folder of the agent can be modified.",
    ),
    ("What colour is the organisation's logo?", "What color is the organization logo"),
]
DIFFERENT = [
    ("What was the revenue in 2022?", "What was the revenue in 2023?", "number"),
    ("How much is 10 kg?", "How much is 10 lb?", "word"),
    ("Who chaired the board in March?", "Who chaired the board in May?", "date"),
    ("Is smoking allowed?", "Is smoking not allowed?", "negation"),
    ("Can I travel with a visa?", "Can I travel without a visa?", "negation"),
    ("Why can't I cancel?", "Why can I cancel?", "negation"),
    ("What happened before the merger?", "What happened after the merger?", "comparison"),
    ("What is the minimum age?", "What is the maximum age?", "comparison"),
    ("Who was the first chairman?", "Who was the last chairman?", "comparison"),
    ("Are all employees insured?", "Are some employees insured?", "quantifier"),
    ("Which flights leave from Oslo?", "Which flights leave to Oslo?", "relation"),
    ("Is tea or coffee free?", "Is tea and coffee free?", "relation"),
    ("Where is the Berlin office?", "Where is the Paris office?", "name"),
    ("What does E-4012 mean?", "What does E-4021 mean?", "name"),
    ('What is "net 30"?', 'What is "net 60"?', "name"),
    ("Who signed the lease?", "When was the lease signed?", "question word"),
    ("Did Apple sue Samsung?", "Did Samsung sue Apple?", "order"),
    ("Who sued Apple?", "Who was sued by Apple?", "order"),
    ("Is the manager of the sister here?", "Is the sister of the manager here?", "order"),
    ("How do I fly from New York to Florida?", "How do I fly from Florida to New York?", "order"),
    ("What is the salary of an employer?", "What is the salary of an employee?", "word"),
    ("How were the left and bent bars sorted?", "How were the left and sorted bars bent?", "order"),
    ("Who is the chairman?", "Who was the chairman?", "tense"),
    ("Do I like you?", "Do you like me?", "person"),
    ("What is the capital of France?", "What is the population of France?", "word"),
    ("Is the house big?", "Is the blue house big?", "word"),
    ("Who was paid?", "Who did pay?", "voice"),
    ("How much does Acme owe?", "How much is Acme owed?", "voice"),
    ("Who did Ann write the letter?", "Who did Ann write the letter to?", "voice"),
    ("invoices of Acme in May", "invoices to Acme in May", "role"),
    ("When does the ferry leave Oslo?", "When does the ferry leave for Oslo?", "role"),
    ("What is the name of the man who married Ann?", "What is the name of the man Ann married?", ""),
    ("Where is the agent Ann Lee hired?", "Where is the agent who hired Ann Lee?", ""),
    ("Use the guide in the list of instructions.", "Use the instructions in the list of guides.", "role"),
    ("Yes, it is possible to use several files per split.", "Yes, it is tedious to use several files per split.", ""),
    (
        "Why does the bank offer special schemes for women-led ventures?",
        "Why does the bank led special schemes for women-offer ventures?",
        "",
    ),
    ("What vote does the house pass in order to object to it?", "What vote does the house pass from object to it?", ""),
    ("What is 3 + 4 in the table?", "What is 3 - 4 in the table?", "sign"),
    ("Is it colder than -5 degrees?", "Is it colder than 5 degrees?", "sign"),
    ("What is it?", "What is that?", "too little"),
    (
        "You can return the goods to England through Scotland by using the form.",
        "By utilizing the form, one may give the goods back to Scotland through England.",
        "",
    ),
    (
        "The gateway encrypts backups of the vault that was opened first.",
        "Backups of the gateway are encrypted with the vault which was opened first.",
        "",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_for_the_same_question(one: str, other: str) -> None:
    """SC-01."""
    assert same_question(one, other, LEXICON).same, same_question(one, other, LEXICON)
    assert same_question(other, one, LEXICON).same


@pytest.mark.parametrize(("one", "other", "why"), DIFFERENT)
def test_near_misses_are_told_apart_and_named(one: str, other: str, why: str) -> None:
    """SC-01."""
    found = same_question(one, other, LEXICON)
    assert not found.same and why in found.reason, found
    assert not same_question(other, one, LEXICON).same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Welche Flüge gehen nach Oslo?", "Welche Flüge gehen von Oslo?"),
        ("Wer hat den Vertrag gekündigt?", "Wer hat die Verträge gekündigt?"),
        ("¿Quién demandó a Oracle en mayo?", "¿Quiénes demandó Oracle en mayo?"),
        ("Какую группу считают первой блэк-метал-группой?", "Какую группу группой первой блэк-метал-считают?"),
        ("राम की किताब कहाँ है", "राम का किताब कहाँ है"),
        ("A vuelos de Roma", "vuelos a Roma"),
    ],
)
def test_rules_about_english_words_judge_no_other_language(one: str, other: str) -> None:
    """SC-01: what no rule was measured on is the same in the same words only."""
    assert not same_question(one, other, LEXICON).same and not same_words(one, other)
    assert same_question(one, one.upper() + "!", LEXICON).same or one.upper().lower() != one.lower()


@pytest.mark.parametrize(
    "text",
    [
        *("Koster to billetter ekstra for studerende?", "Koster billetter ekstra for studerende?"),
        *("Hva koster to billetter for studenter?", "Er det for dyrt over broen?", "Hvilken by ligger under byen?"),
        *("Findes der en by for to personer?", "Kender du The Who?", "Regler for IT and HR", "Skatt for bolig over to"),
        *("Vad kan man by for", "Vilka regler gäller for IT and HR?", "Moet je over de brug by avond?"),
        *("Is de trein over zes minuten in Den Haag of in Delft?", "Is dit for studenten of docenten?"),
        *("Huur of koop in Delft?", "Was kann man for", "Wer leitet die IT in Hamburg?", "Can is nerede?"),
        *("Can Yılmaz hangi şehirde doğdu?", "Si can es perro", "Can e gatto", "Chi ha scritto The Wall?"),
        *("Quel est l'album des Beatles?", "Quem escreveu The Wall?", "Se ele for over", "Kto to jest by my?"),
    ],
)
def test_words_that_other_languages_share_with_english_are_no_sign_of_it(text: str) -> None:
    """SC-01: `to` is Danish for two, `by` for a town, `of` is Dutch for or, `can` a Turkish name."""
    assert not is_english(plain_words(text))


def test_a_number_word_that_looks_english_is_no_small_word() -> None:
    one, other = "Koster to billetter ekstra for studerende?", "Koster billetter ekstra for studerende?"
    assert not same_question(one, other, LEXICON).same and not same_words(one, other)


@pytest.mark.parametrize(
    "text",
    [
        *("Who sued Apple?", "Is smoking allowed?", "A man is playing a guitar.", "Who approves travel expenses?"),
        *("How do I say Straßenbahn in English?", "Did Samsung sue Apple?"),
    ],
)
def test_short_english_and_english_with_foreign_names_is_english(text: str) -> None:
    assert is_english(plain_words(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 2²?", "What is 22?"),
        ("What is 10⁶ in words?", "What is 106 in words?"),
        ("What is 10⁻⁶ in words?", "What is 10⁶ in words?"),
        ("Is 2² 22?", "Is 22 2²?"),
        ("How wide is a 5' board?", 'How wide is a 5" board?'),
        ("How wide is a 5′ board?", "How wide is a 5″ board?"),
        ("How wide is a 5' board?", "How wide is a 5 board?"),
        ("Is 5' 6 enough?", "Is 5 6' enough?"),
    ],
)
def test_exponents_and_primes_are_told_apart(one: str, other: str) -> None:
    """SC-01."""
    for left, right in ((one, other), (other, one)):
        assert not same_words(left, right) and not same_question(left, right, LEXICON).same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How wide is a 5' board?", "how wide is a 5′ board"),
        ('How wide is a 5" board?', "how wide is a 5″ board"),
        ('What is "net 30"?', "What is “net 30”"),
        ("What is 'net 30'?", "What is ‘net 30’"),
        ("What is 2²?", "what is 2²"),
        ("How much CO₂ is it?", "How much CO2 is it?"),
    ],
)
def test_quotes_around_numbers_and_other_spellings_are_no_signs(one: str, other: str) -> None:
    assert same_words(one, other) and same_words(other, one)


def test_the_same_words_are_the_same_in_any_language() -> None:
    for one, other in (("Was kostet die Miete?", "was kostet die Miete"), ("请问租金多少?", "请问租金多少")):
        assert same_words(one, other) and same_question(one, other, LEXICON).same


def test_any_text_gets_a_decision_and_is_the_same_as_itself() -> None:
    rng = random.Random(5)
    pieces = [
        "what",
        "is",
        " ",
        "'",
        '"',
        "`",
        "3",
        ".",
        ",",
        "n't",
        "É",
        "漢",
        "\u200b",
        "-",
        "by",
        "was",
        "sued",
        "$5",
        "\x00",
    ]
    for _ in range(200):
        text = "".join(rng.choice(pieces) + rng.choice(["", " "]) for _ in range(rng.randint(0, 25)))
        assert same_question(text, text, LEXICON).same
        assert isinstance(same_question(text, text[::-1], LEXICON), MatchDecision)


@pytest.mark.parametrize("piece", ["word ", "'", "a.", "please ", "1", "-", "in, ", "is made by ", '"', "é"])
def test_the_longest_question_does_not_hold_others_up(piece: str) -> None:
    """SC-01: questions are cut at 4,000 characters; no pattern may take more than its share of them."""

    def took(size: int) -> float:
        text = (piece * size)[:size]
        times = []
        for _ in range(3):
            begun = time.thread_time()
            same_question(text, text[:-1] + "x", LEXICON)
            times.append(time.thread_time() - begun)
        return min(times)

    same_question(piece, piece, LEXICON)
    assert took(4_000) < 10 * took(1_000) + 0.01, "four times the text; squared it would be sixteen times the work"
