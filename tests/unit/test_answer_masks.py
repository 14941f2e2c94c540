"""Masks of answers: what is planted never comes out, however a stream is cut; pieces are the whole text's beginning."""

import random
from itertools import islice

import pytest

from pipelines.documents.privacy.answer_masks import AnswerMask, MaskedDeltas
from pipelines.documents.privacy.answer_rules import AnswerRule, rules_from_json, rules_to_json
from pipelines.documents.privacy.personal_data import find_personal_data
from tests.fakes.planted import plant_values

ALL = AnswerRule("mask")
PLANTED = tuple(islice(plant_values(11), 120))
TEXTS = (
    "The contract names a contact [1]. {} and the rest of the page says nothing of it. It ends there [2].",
    "{}",
    "In 2023 it was 4,211.50 [1]. {}\n\nBest regards,\nAnna Maria Berg\nand others are in the annex of the report.",
    "| a | b |\n|---|---|\n| 12 | {} |\n| 13 | 14 |\n",
)


def streamed(text: str, cuts: list[int], mask: AnswerMask) -> list[str]:
    pieces = MaskedDeltas(mask)
    return [pieces.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def bare(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


@pytest.mark.parametrize("frame", TEXTS)
def test_gv_04_a_value_split_at_any_position_never_comes_out(frame: str) -> None:
    """GV-04: each value cut in two at each of its positions; what was shown is the beginning of the whole text."""
    for planted in PLANTED:
        text = frame.format(planted.said)
        whole = AnswerMask([ALL]).text(text)
        assert bare(planted.value) not in bare(whole), (text, whole)
        at = text.index(planted.value)
        for cut in range(at, at + len(planted.value) + 1):
            shown = "".join(streamed(text, [cut], AnswerMask([ALL])))
            assert whole.startswith(shown), (text, shown, whole)


def test_gv_04_character_by_character_the_same_comes_out() -> None:
    """GV-04: in pieces of any size, also one by one."""
    rng = random.Random(5)
    text = " ".join(frame.format(one.said) for one in PLANTED[:40] for frame in TEXTS)
    whole = AnswerMask([ALL]).text(text)
    for most in (1, 3, 40):
        cuts, at = list[int](), 0
        while (at := at + rng.randint(1, most)) < len(text):
            cuts.append(at)
        shown = "".join(streamed(text, cuts, AnswerMask([ALL])))
        assert whole.startswith(shown) and len(whole) - len(shown) < 200
    assert [one.value for one in PLANTED[:40] if bare(one.value) in bare(whole)] == []


def test_gv_04_what_is_found_in_the_whole_text_is_masked_in_pieces() -> None:
    """GV-04: the pieces lose nothing that a look at the whole would find, as words before a number say what it is."""
    for planted in PLANTED:
        text = f"It stands on page twelve of the annex, as was said before. {planted.said}, and so on and so forth."
        finds = [str(one.kind) for one in find_personal_data(text)]
        mask = AnswerMask([ALL])
        mask.text(text, counted=True)
        assert sum(mask.masked.values()) == len(finds), (text, finds, mask.masked)


@pytest.mark.parametrize(
    "text",
    [
        "Her key: -----BEGIN RSA PRIVATE KEY-----\nMIIEow IBA AQEA\nabcdefgh\n-----END RSA PRIVATE KEY----- is gone.",
        "You can reach the desk under the number 030 1234567 office at any hour of the day that suits you.",
        "Pay to GB82 WEST 1234 5698 7654 32 by the end of this month, or let us know that you cannot.",
        "Mein Name ist egal, my name is Anna Maria Berg and I would like to know more about the offer.",
    ],
)
def test_values_with_blanks_in_them_are_held_back(text: str) -> None:
    mask = AnswerMask([ALL])
    whole = mask.text(text, counted=True)
    assert sum(mask.masked.values()) == 1, whole
    for cut in range(len(text)):
        assert whole.startswith("".join(streamed(text, [cut], AnswerMask([ALL]))))


def test_rules_decide_by_kind_and_by_the_class_of_the_sources() -> None:
    text = "Write to a.b@example.org or ring +49 30 1234567 tonight."
    mask = AnswerMask([AnswerRule("mask", kinds=("email",)), AnswerRule("mark", kinds=("phone",))])
    assert mask.text(text, counted=True) == "Write to [email] or ring +49 30 1234567 tonight."
    assert mask.told == {"masked": {"email": 1}, "marked": {"phone": 1}}
    mask = AnswerMask([AnswerRule("mask", classes=("restricted",))])
    assert mask.text(text) == text and "@" not in mask.text(text, unknown=True)
    mask.note_sources({"sources": [{"classification": "public"}, {"classification": "restricted"}]})
    assert mask.text(text) == "Write to [email] or ring [phone] tonight."


def test_json_is_masked_where_a_client_needs_it_least() -> None:
    mask = AnswerMask([ALL])
    given = {
        "document_id": "4111111111111111",
        "quote": "Charge 4111 1111 1111 1111 for it",
        "phone": "0301234567",
        "n": 1,
    }
    shown = {"document_id": "4111111111111111", "quote": "Charge [card] for it", "phone": "[phone]", "n": 1}
    assert mask.json([given, {"account": 4111111111111111}]) == [shown, {"account": "[card]"}]


def test_what_tools_are_given_and_say_is_masked_whatever_its_fields_are_called() -> None:
    """Below `result` and `arguments` a field may be called `id` or `page` and hold anything; and names are masked."""
    said, card = "Ask a.b@example.org", "4111111111111111"
    uuid, digest = "01234567-0123-4567-8901-012345678901", "4111111111111111" * 4
    result = {"id": said, "url": said, "page": [said], "start": {"step": said}, "n": 4111111111111111}
    result |= {"document_id": uuid, "digest": digest, "chunk_id": card, "spans": [[1, 2, 3]]}
    shown = AnswerMask([ALL]).json({"id": "call-1", "result": result, "ms": 3})
    assert shown["id"] == "call-1" and shown["ms"] == 3
    masked = {"id": "Ask [email]", "url": "Ask [email]", "page": ["Ask [email]"], "start": {"step": "Ask [email]"}}
    kept = {"n": 4111111111111111, "document_id": uuid, "digest": digest, "spans": [[1, 2, 3]]}
    assert shown["result"] == masked | kept | {"chunk_id": "[card]"}
    given = {"a.b@example.org": 1, "c.d@example.org": 2, "phone of a.b@example.org": "0301234567"}
    assert AnswerMask([ALL]).json({"arguments": given})["arguments"] == {
        "[email]": 1,
        "[email] (2)": 2,
        "phone of [email]": "[phone]",
    }


def test_rules_come_back_from_a_frozen_turn() -> None:
    rules = (ALL, AnswerRule("mark", ("email",), ("restricted",)))
    assert rules_from_json(rules_to_json(rules)) == rules


def test_a_long_text_of_figures_is_looked_through_once() -> None:
    """What cannot be cut is held, and costs no more for that."""
    pieces = MaskedDeltas(AnswerMask([ALL]))
    assert "".join(pieces.feed(f"{number} ") for number in range(5_000)) == ""
