"""Sentences of hits, and how well they support an answer."""

from dataclasses import replace

import numpy as np

from pipelines.documents.document import Span
from serve_apps.retrieval.answers.evidence import (
    LONGEST,
    EvidenceSentence,
    ScoredSentence,
    best_sentences,
    cosine_similarities,
    join_sentences,
    question_coverage,
    split_hits,
    with_list,
)
from serve_apps.retrieval.search.query import SearchHit

PAGE_1 = "# Pumps\n\nThe pump weighs 12 kg. It was built by Dr. Meyer in 1987.\n\n- Oil: 2 litres of ISO 46\n"
PAGE_2 = "The warranty ends after five years."


def hit(text: str, *spans: Span, version: str = "v") -> SearchHit:
    return SearchHit("c", "d", version, "pumps.md", "md", 1, 1, 0, text, (), spans, (), None, "native", 1.0, {})


def texts(found: list[EvidenceSentence]) -> list[str]:
    return [one.text for one in found]


def test_sentences_carry_their_place_on_the_page() -> None:
    whole = hit(f"{PAGE_1}\n{PAGE_2}", Span(1, 0, len(PAGE_1)), Span(2, 0, len(PAGE_2)))
    found = split_hits([whole])
    assert texts(found) == [
        "The pump weighs 12 kg.",
        "It was built by Dr. Meyer in 1987.",
        "- Oil: 2 litres of ISO 46",
        "The warranty ends after five years.",
    ]
    for one in found:
        assert {1: PAGE_1, 2: PAGE_2}[one.page][one.start : one.end] == one.text


def test_a_line_set_in_behind_an_item_and_a_row_with_full_stops_are_one_sentence() -> None:
    page = "- **Pumps**  \n  at the quay\n- Store\nBy the gate.\n\n| Door No. 7. Main Road | 0891 |\nShut. Sundays too."
    assert texts(split_hits([hit(page, Span(1, 0, len(page)))])) == [
        "- **Pumps**  \n  at the quay",
        "By the gate.",
        "| Door No. 7. Main Road | 0891 |",
        "Sundays too.",
    ]


def test_sentences_of_one_span_are_joined_as_they_stand() -> None:
    whole = hit(PAGE_1, Span(1, 0, len(PAGE_1)))
    first, second, last = split_hits([whole])
    joined = join_sentences(first, last, whole)
    assert joined is not None and PAGE_1[joined.start : joined.end] == joined.text
    assert joined.text.startswith(first.text) and joined.text.endswith(last.text)
    assert join_sentences(first, replace(second, page=2), whole) is None
    assert join_sentences(first, replace(last, end=first.start + LONGEST + 1), whole) is None


def test_a_number_sign_makes_a_title_only_as_markdown_has_it() -> None:
    page = "The pump ran.\n#1 cause of all failures is dirt in the oil filter.\n## Filters\nIt was cleaned twice."
    assert texts(split_hits([hit(page, Span(1, 0, len(page)))])) == [
        "The pump ran.",
        "#1 cause of all failures is dirt in the oil filter.",
        "It was cleaned twice.",
    ]


def test_a_span_in_the_middle_of_a_page_keeps_the_pages_offsets() -> None:
    start = PAGE_1.index("It was")
    one, *_ = split_hits([hit(PAGE_1[start:], Span(1, start, len(PAGE_1)))])
    assert PAGE_1[one.start : one.end] == one.text == "It was built by Dr. Meyer in 1987."


def test_overlapping_hits_give_a_sentence_once() -> None:
    same = hit(PAGE_2, Span(2, 0, len(PAGE_2)))
    assert len(split_hits([same, same])) == 1
    other_document = hit(PAGE_2, Span(2, 0, len(PAGE_2)), version="w")
    assert len(split_hits([same, other_document])) == 2


def test_a_page_without_full_stops_is_cut_at_its_lines_and_quickly() -> None:
    text = "\n".join(f"row {number} with some words and no full stop at all" for number in range(2_000))
    found = split_hits([hit(text, Span(1, 0, len(text)))])
    assert max(len(one.text) for one in found) <= LONGEST
    assert "".join("".join(texts(found)).split()) == "".join(text.split())


def test_coverage_weighs_rare_words_more() -> None:
    sentences = [["pump", "weigh"], ["pump", "built"], ["pump", "red"]]
    weighs, built, red = question_coverage(["pump", "weigh"], sentences, [[], [], []])
    assert weighs == 1.0 and built == red < 0.2


def test_a_word_that_no_hit_has_lowers_every_sentence() -> None:
    """What the question is about is missing: that is most of the question."""
    known = question_coverage(["pump", "weigh"], [["pump", "weigh"], ["built"]], [[], []])[0]
    foreign = question_coverage(["pump", "weigh", "zanzibar"], [["pump", "weigh"], ["built"]], [[], []])[0]
    assert known == 1.0 and foreign < 0.6


def test_titles_above_a_sentence_count_for_it() -> None:
    bare, titled = question_coverage(["pump", "weight"], [["12", "weight"], ["12", "weight"]], [[], ["pump"]])
    assert titled > bare


def test_a_question_of_stop_words_is_covered_by_nothing() -> None:
    assert question_coverage([], [["a"]], [[]]) == [0.0]


def test_best_takes_what_is_nearly_as_good_and_nothing_twice() -> None:
    def judged(text: str, share: float) -> ScoredSentence:
        return ScoredSentence(EvidenceSentence(0, 1, 0, len(text), text), share, None)

    chosen = best_sentences(
        [judged("far", 0.2), judged("same words", 0.9), judged("same  words", 0.9), judged("near", 0.8)]
    )
    assert [one.sentence.text for one in chosen] == ["same words", "near"]
    assert best_sentences([]) == []


def test_similarity_is_the_cosine_to_the_first_row() -> None:
    assert cosine_similarities(np.array([[1, 0], [0, 1], [1, 0]], np.float32)) == [0.0, 1.0]


LIST = "The loan has these features:\n\n- no guarantor\n- 9 % a year\n1. paid at once\n\nCall us more.\n- not this\n"


def test_a_sentence_that_announces_a_list_is_quoted_with_it() -> None:
    whole = hit(f"Intro.\n{LIST}", Span(1, 100, 100 + len(LIST) + 7))
    first = next(one for one in split_hits([whole]) if one.text.endswith(":"))
    widened = with_list(first, whole)
    assert widened.text == LIST[: LIST.index("\n\nCall")] and widened.start == first.start
    assert widened.end - widened.start == len(widened.text)
    plain = next(one for one in split_hits([whole]) if one.text.startswith("Call"))
    assert with_list(plain, whole) == plain


def test_a_long_list_is_cut_between_its_items() -> None:
    text = "The branches are:\n" + "".join(f"- Branch number {n} in the north of the city\n" for n in range(100))
    whole = hit(text, Span(1, 0, len(text)))
    widened = with_list(split_hits([whole])[0], whole)
    assert len(widened.text) <= LONGEST and widened.text.endswith("city")
    assert text.startswith(widened.text)


def test_bold_before_the_list_does_not_hide_it() -> None:
    text = "**Opening hours:**\n- Monday 9 to 5\n- Tuesday 9 to 4\n"
    whole = hit(text, Span(1, 0, len(text)))
    assert with_list(split_hits([whole])[0], whole).text == text.rstrip()
