"""Claims and their marks, as answers are written and read."""

from serve_apps.retrieval.answers.claims import (
    AnswerClaim,
    ConflictValue,
    SourceConflict,
    as_said,
    of_lines,
    of_text,
    text_of,
)


def test_an_answer_is_its_claims_a_line_each() -> None:
    claims = [AnswerClaim("It is red.", (1,)), AnswerClaim("It is old.", (2, 3)), AnswerClaim("So it seems.", ())]
    conflict = SourceConflict((ConflictValue("12 kg", 1), ConflictValue("15 kg", 4)))
    assert text_of(claims, [conflict]) == (
        "It is red. [1]\nIt is old. [2] [3]\nSo it seems.\nThe sources disagree: 12 kg [1], 15 kg [4]."
    )


def test_a_written_answer_is_read_back_sentence_by_sentence() -> None:
    text = "It weighs twelve [1]. It is red. [2] [3] And old, see [9].\n- A list [1][2]\n\n[3]\nNo source here."
    assert of_text(text, {1, 2, 3}) == (
        AnswerClaim("It weighs twelve.", (1,)),
        AnswerClaim("It is red.", (2, 3)),
        AnswerClaim("And old, see [9].", ()),
        AnswerClaim("- A list", (1, 2, 3)),
        AnswerClaim("No source here.", ()),
    )
    assert of_text("", {1}) == ()


def test_a_quote_with_a_reference_number_of_its_own_is_read_back_as_a_claim() -> None:
    said = as_said("BERT [2] beats\n ELMo.")
    claims = (AnswerClaim(said, (1,), "extracted"),)
    assert said == "BERT (2) beats ELMo." and of_lines(text_of(claims, []), ["extracted"], {1, 2}) == claims


def test_an_answer_is_read_back_as_its_claims_and_what_follows_them_is_none() -> None:
    claims = (AnswerClaim("One. Two.", (1,), "extracted"), AnswerClaim("Three here.", (2, 3), "attributed"))
    told = text_of(claims, [SourceConflict((ConflictValue("1", 1), ConflictValue("2", 2)))])
    assert of_lines(told, ["extracted", "attributed"], {1, 2, 3}) == claims
