"""What a question supposes, and the sentences that say otherwise."""

from dataclasses import replace

import pytest

from pipelines.documents.document import Span
from serve_apps.retrieval.answers.answerability import DocumentContext, QuestionSuppositions, drop_contradicted
from serve_apps.retrieval.answers.evidence import EvidenceSentence, ScoredSentence
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.contraries import are_contrary
from serve_apps.retrieval.text.identifiers import find_identifiers
from serve_apps.retrieval.text.lexicon import base_forms

HIT = SearchHit("c", "d", "v", "notes.md", "md", 1, 1, 0, "", (), (Span(1, 0, 50),), (), None, "native", 1.0, {})


def contradiction(question: str, sentence: str, passage: str | None = None) -> str | None:
    passage = passage or sentence
    return QuestionSuppositions.of(question).find_contradiction(sentence, passage, DocumentContext([passage]))


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who did not win the cup?", "Ajax won the cup after extra time."),
        ("What don't the trams carry?", "The trams carry passengers and mail."),
        ("Which city was never taken?", "The harbour city was taken after a long siege."),
        ("What is the lowest fee?", "The highest fee is 40 euros."),
        ("Which rooms are closed on Monday?", "Rooms 4 to 9 are open on Monday."),
        ("Who rejected the plan?", "The council accepted the plan in spring."),
        ("Which members were uninsured?", "All insured members were paid."),
        ("What happened in June 1745?", "In June 1755 the fort was taken."),
        ("Who led the guild in the 1620s?", "In 1588 the guild was led by Anna Brugge."),
        ("Who ruled in the sixteenth century?", "In the 12th century two brothers ruled."),
        ("Who left Messina in 1148?", "In 1191 Richard left Messina."),
        ("How many weavers settled in Lowick?", "Some of the weavers settled in Lowick."),
        ("In what year was the mill built?", "The mill was built by the guild of weavers."),
    ],
)
def test_a_sentence_that_says_otherwise_is_no_answer(question: str, sentence: str) -> None:
    assert contradiction(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who did not win the cup?", "Feyenoord did not win the cup."),
        ("What is not covered by the policy?", "Damage by frost is excluded."),
        ("What is not covered by the policy?", "Damage by frost is uncovered."),
        ("What can't be carried?", "You may carry no liquids."),
        # What is denied is a condition or a reason, and a manual says how to mend it in its own words.
        ("What should I do if the engine does not start?", "Charge the battery and call the service line."),
        ("Why can't I open my account?", "An account is opened on the day after the form was signed."),
        ("How can I ensure that I do not void my warranty?", "The warranty covers parts fitted by a garage."),
        # Told of the same event from its other side.
        ("Who bought the mill in 1809?", "In 1809 the mill was sold to Jan Hals."),
        ("Who was Emma's brother?", "Emma, the sister of Duke Richard, was married twice."),
        # The passage has both, or speaks of no time at all.
        ("What is the lowest fee?", "The lowest fee is 2 euros, the highest 40."),
        ("How many days off does one get in 2025?", "Everybody gets 28 days off."),
        ("Who ruled in the sixteenth century?", "Two brothers ruled from 1502 to 1541."),
        ("Who led the guild in the 1600s?", "In the 17th century the guild was led by Anna Brugge."),
        ("How large is the import of the port?", "The port is large."),
        ("Which unit is it?", "It is unit nine."),
        ("How many weavers settled in Lowick?", "A dozen of the weavers settled in Lowick."),
        ("How long does a sale take?", "A sale is closed within the same day."),
        ("Which goals are set for 2025 to 2030?", "The goals are set for 2028."),
        ("How do I ensure my dog does not void the lease?", "A dog voids the lease of the flat."),
        ("When is a refund paid?", "A refund is paid soon after the parcel was checked."),
        ("What happens when a card is lost?", "The card is blocked and a letter sent."),
        ("How many weavers settled in Lowick?", "The weavers in Lowick were counted by parish:"),
        ("When is a permit required?", "A permit is required if the work is done in a confined space."),
        ("When does the alarm sound?", "The alarm sounds if the door of the store is open."),
        ("When must gloves be worn?", "Gloves must be worn in the laboratory."),
        ("Isn't the pump waterproof?", "The pump is waterproof to IP67."),
        ("Is the pump not waterproof?", "The pump is waterproof to IP67."),
        ("The pump is waterproof, isn't it?", "The pump is waterproof to IP67."),
        ("Doesn't the warranty cover the battery?", "The warranty covers the battery."),
        ("How much does the service cost?", "The service is included in the price."),
        ("How long is the belt?", "The belt is a metre long."),
        # Of another language nothing here knows how it denies or counts.
        ("Who did not win the cup?", "Ajax gewann den Pokal nach Verlängerung."),
        ("How many weavers settled there?", "Etliche Weber zogen dorthin."),
        ("", "Nothing is asked."),
        ("?!", "Nothing is asked."),
    ],
)
def test_a_sentence_that_may_answer_is_left(question: str, sentence: str) -> None:
    assert contradiction(question, sentence) is None


def test_the_contrary_elsewhere_in_the_passage_does_not_matter_where_the_word_itself_is_there() -> None:
    passage = "The highest fee is 40 euros. Students pay the lowest one."
    assert contradiction("What is the lowest fee?", "The highest fee is 40 euros.", passage) is None


def test_a_denial_counts_where_the_word_stands_that_the_question_denies() -> None:
    far = "Trucks stop at the gate although no permit is asked for in the valley, and then they enter the city by day."
    assert contradiction("Which trucks do not enter the city?", far)
    assert contradiction("Which trucks do not enter the city?", "Heavy trucks may not enter the city.") is None


def test_the_reason_says_which_word_it_is_about() -> None:
    assert contradiction("What is the lowest fee?", "The highest fee is 40 euros.") == (
        "the passage says “highest” where the question says “lowest”"
    )
    assert contradiction("Who led in 1745?", "In 1755 Hals led.") == "the passage speaks of 1755 and not of 1745"


def test_what_a_document_is_known_by_is_no_condition() -> None:
    question = "Who led the inspection of 2019?"
    named = [one for one in find_identifiers(question) if one.shown == "2019"]
    text = "Hals led it on 2020-03-01."
    document = DocumentContext([text])
    assert QuestionSuppositions.of(question).find_contradiction(text, text, document)
    assert QuestionSuppositions.of(question, named).find_contradiction(text, text, document) is None


def test_a_date_elsewhere_in_the_document_is_no_other_time_than_the_one_asked_for() -> None:
    """A handbook of May 2023 tells how many days off there are in 2025."""
    document = DocumentContext(["Everybody gets 28 days off.", "As of May 2023."])
    asked = QuestionSuppositions.of("How many days off does one get in 2025?")
    assert asked.find_contradiction("Everybody gets 28 days off.", "Everybody gets 28 days off.", document) is None


def scored(hit: int, text: str, score: float) -> ScoredSentence:
    return ScoredSentence(EvidenceSentence(hit, 1, 0, len(text), text), score, score)


def test_titles_the_file_name_and_other_passages_say_of_which_year_a_document_is() -> None:
    asked = QuestionSuppositions.of("What was the turnover in 2021?")
    hit = replace(HIT, text="The turnover rose by 4 % since 2020.")
    best = scored(0, hit.text, 0.8)
    assert drop_contradicted([best], asked, [hit])[1]
    assert drop_contradicted([best], asked, [replace(hit, filename="report 2021.pdf")]) == ([best], None)
    assert drop_contradicted([best], asked, [replace(hit, headings=("Results 2021",))]) == ([best], None)
    cover = replace(HIT, text="Report for the year 2021")
    assert drop_contradicted([best], asked, [hit, cover]) == ([best], None)
    assert drop_contradicted([best], asked, [hit, replace(cover, document_id="other")])[1]


def test_another_documents_sentence_answers_where_it_is_as_good() -> None:
    asked = QuestionSuppositions.of("What was the turnover in 2021?")
    texts = "In 2020 the turnover was 4.", "In 2021 the turnover was 5."
    hits = [replace(HIT, document_id=text, text=text) for text in texts]
    other, right = (scored(at, hit.text, 0.8 - 0.02 * at) for at, hit in enumerate(hits))
    assert drop_contradicted([other, right], asked, hits) == ([right], None)
    weak = scored(1, hits[1].text, 0.7)
    kept, why = drop_contradicted([other, weak], asked, hits)
    assert kept == [] and why == "the passage speaks of 2020 and not of 2021"
    assert drop_contradicted([], asked, hits) == ([], None)


def test_a_sentence_that_is_not_shown_still_stands_for_what_a_model_says_of_it() -> None:
    asked = QuestionSuppositions.of("What was the turnover?")
    hits = [replace(HIT, text="The turnover was 5."), replace(HIT, text="In Delft the turnover was 4.")]
    both = [scored(at, hit.text, 0.8 - 0.3 * at) for at, hit in enumerate(hits)]
    assert drop_contradicted(both, asked, hits) == (both, None)


@pytest.mark.parametrize(
    ("one", "other", "contrary"),
    [
        ("higher", "lower", True),
        ("finished", "unfinished", True),
        ("dependent", "independent", True),
        ("port", "import", False),
        ("it", "unit", False),
        ("bought", "sold", False),
        ("same", "same", False),
    ],
)
def test_contraries_cannot_both_be_told_of_one_thing(one: str, other: str, contrary: bool) -> None:
    assert are_contrary(base_forms(one), base_forms(other)) is contrary
    assert are_contrary(base_forms(other), base_forms(one)) is contrary
