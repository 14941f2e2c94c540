"""A model's text is measured by the words that OCR read: bad readings of the same page agree, other texts do not."""

import random
import re
import time
from dataclasses import replace

import pytest

from pipelines.documents.document import Box, Word
from pipelines.documents.ocr.vision.agreement import MOST, Agreement, measure_agreement
from pipelines.documents.ocr.vision.circuit_breaker import CircuitBreaker
from tests.fakes.ocr import FakeClock

LEASE = (
    "The lessee shall keep the warehouse in good order and repair damaged gates within fourteen days. Rent is due on "
    "the third working day of each month and rises with the consumer price index published in January. Subletting "
    "requires written consent which the lessor may refuse only for important reasons. Both parties may terminate the "
    "contract with six months notice to the end of a calendar year. Fire extinguishers must be inspected annually "
    "by an approved company and records kept for ten years."
)
OTHER = (
    "The lessor grants the lessee an option to purchase the building before December. Interest accrues on late "
    "payments at eight percent above the base rate. Parking spaces behind the warehouse are reserved for delivery "
    "vehicles and must not be used overnight. Any dispute about this contract belongs to the courts where the "
    "property lies."
)
CHINESE = "本合同有效期为两年未经双方书面同意不得续签买方应在月底前付清全部款项"


def as_read(text: str, wrong: float = 0.0, confidence: float = 0.5, seed: int = 1) -> list[Word]:
    rng = random.Random(seed)
    spoilt = "".join(
        rng.choice("abcdeghlmnrstu1;") if char.isalpha() and rng.random() < wrong else char for char in text
    )
    return [Word(token, 0, Box(0, 0, 1, 1), confidence) for token in spoilt.split()]


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.2, 0.3])
def test_a_bad_reading_of_the_same_page_agrees_and_better_ones_more(wrong: float) -> None:
    found = measure_agreement(as_read(LEASE, wrong), LEASE)
    assert found.objection == ""
    assert found.score <= MOST and found.score < measure_agreement(as_read(LEASE, wrong / 2), LEASE).score + 1e-9


@pytest.mark.parametrize("wrong", [0.0, 0.2])
@pytest.mark.parametrize("text", [OTHER, f"{LEASE} {OTHER}", LEASE[:280] + OTHER, LEASE[:60], "the of and " * 80])
def test_another_text_or_one_with_inventions_does_not(text: str, wrong: float) -> None:
    assert measure_agreement(as_read(LEASE, wrong), text).objection


def test_numbers_that_do_not_stand_there_are_not_believed() -> None:
    told = "Invoice 4711 of 12.03.2024: cranes inspected, ladders replaced, total 15.980,00 euros within 30 days"
    assert measure_agreement(as_read(told), told).objection == ""
    altered = told.replace("4711", "9032").replace("12.03.2024", "25.08.2019").replace("15.980,00", "71.230,00")
    assert "numbers" in measure_agreement(as_read(told), altered).objection


INVOICE = (
    "Invoice for the inspection of cranes: gantry 12500 euros, ladders 3480 euros, gates 1275 euros, "
    "trolleys 9060 euros, hooks 2310 euros, transport 4455 euros, total amount due within thirty days 33080 euros"
)


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_amounts_that_are_off_by_a_digit_are_other_amounts(confidence: float) -> None:
    words = as_read(INVOICE, confidence=confidence)
    changed = re.sub(r"\b(\d)(\d{3})", lambda found: f"{int(found[1]) % 9 + 1}{found[2]}", INVOICE)
    found = measure_agreement(words, changed)
    assert found.numbers == 0 and "numbers" in found.objection
    assert measure_agreement(words, INVOICE).objection == ""


def test_half_of_the_numbers_invented_is_refused_where_ocr_is_sure_of_them() -> None:
    half = INVOICE.replace("12500", "62500").replace("3480", "5480").replace("1275", "7275")
    assert "numbers" in measure_agreement(as_read(INVOICE, confidence=0.9), half).objection
    weak = [replace(word, confidence=0.9 if word.text.isdigit() else 0.4) for word in as_read(INVOICE)]
    found = measure_agreement(weak, half)
    assert not found.clear and "sure of" in found.objection, "on a page that is weak otherwise"
    one = [Word(word.text, 0, word.box, 0.9) for word in as_read(LEASE + " Rent 4711 euros")]
    assert "numbers" in measure_agreement(one, LEASE + " Rent 9711 euros").objection, "also a single one"


def test_dots_and_commas_of_numbers_are_one() -> None:
    told = f"{LEASE} Rent is 1.234,56 euros"
    assert measure_agreement(as_read(told, confidence=0.9), told.replace("1.234,56", "1,234.56")).objection == ""


def test_long_replies_are_refused_before_their_words_are_compared() -> None:
    began = time.process_time()
    words = as_read("wcrd" + " ".join(f"cell{letter}x" for letter in "abcdefgh") * 40)
    other = " ".join(f"{a}{b}{c}{d}" for a in "abcdefgh" for b in "klmnopqr" for c in "stuvwxyz" for d in "bdfhjlmp")
    assert "times as long" in measure_agreement(words, other).objection
    assert time.process_time() - began < 1


def test_texts_without_blanks_are_compared_by_pairs_of_signs() -> None:
    assert measure_agreement(as_read(CHINESE), CHINESE).objection == ""
    assert measure_agreement(as_read(CHINESE), CHINESE[::-1]).objection


@pytest.mark.parametrize("text", ["", "?!", "\x00\ufffd", "a" * 50_000, "1 " * 2_000])
def test_garbage_is_refused_whatever_it_is(text: str) -> None:
    assert measure_agreement(as_read(LEASE), text).objection and measure_agreement([], text).objection


def test_nothing_in_common_scores_nothing() -> None:
    assert Agreement(0, 0, 1, 1, 9).score == 0


def test_the_breaker_counts_failures_in_a_row() -> None:
    clock = FakeClock()
    breaker = CircuitBreaker(2, 60, clock)
    breaker.record_failure()
    breaker.record_success()
    breaker.record_failure()
    assert breaker.state == "closed" and breaker.admit()
    breaker.record_failure()
    assert breaker.state == "open" and not breaker.admit()
    clock.now += 60
    assert breaker.admit() and not breaker.admit()
    breaker.release()
    assert breaker.admit(), "one that was given up lets another try"
    breaker.record_success()
    assert breaker.state == "closed"
