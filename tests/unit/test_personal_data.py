"""Detection of personal data: each kind in several countries, and what only looks like it."""

import time
from itertools import islice

import pytest

from pipelines.documents.document import Page
from pipelines.documents.privacy.answer_masks import AnswerMask
from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.privacy.detection_rules import RULES
from pipelines.documents.privacy.kinds import PersonalDataKind
from pipelines.documents.privacy.page_masks import mark_page
from pipelines.documents.privacy.personal_data import find_personal_data, mask_personal_data
from tests.fakes.planted import plant_values

HOSTILE = ("(1)1" * 25_000, "(1" * 50_000, "+1(1" * 20_000, "1.1.1.1" * 14_000, "Mr. A" * 20_000)


def kinds_in(text: str) -> list[tuple[str, str]]:
    return [(str(one.kind), text[one.start : one.end]) for one in find_personal_data(text)]


def test_gv_04_values_of_many_countries_are_found_whole() -> None:
    """GV-04: by checksum where there is one; 360 values that are made by the published rules."""
    for planted in islice(plant_values(7), 360):
        assert kinds_in(planted.said) == [(planted.kind, planted.value)], planted.said


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("codice fiscale RSSMRA85T10A562S", "RSSMRA85T10A562S"),
        ("NIE X-1234567-L", "X-1234567-L"),
        ("numéro 2 95 10 99 126 111 93 sur la carte", "2 95 10 99 126 111 93"),
        ("AHV 756.9217.0769.85", "756.9217.0769.85"),
        ("NI number AB 12 34 56 C", "AB 12 34 56 C"),
        ("CURP BOXW310820HNERXN09", "BOXW310820HNERXN09"),
        ("身份证 11010519491231002X", "11010519491231002X"),
        ("personnummer 811228-9874", "811228-9874"),
        ("RUT 12.531.909-2", "12.531.909-2"),
        ("Steuer-ID: 36 574 261 809", "36 574 261 809"),
        ("BSN 111222333", "111222333"),
        ("NHS number 943 476 5870", "943 476 5870"),
        ("Social Insurance Number 123-456-782", "123-456-782"),
        ("my tax file number is 123 456 782", "123 456 782"),
        ("rodné číslo 710319/2745", "710319/2745"),
    ],
)
def test_gv_04_national_numbers_are_known_by_their_check_digits(text: str, value: str) -> None:
    """GV-04: the examples that the states' own documents or their checkers give; one digit off, they are none."""
    assert ("national_id", value) in kinds_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "12345678A is a part, PESEL 44051401358, NHS number 943 476 5871, AHV 756.9217.0769.84",
        "Order 111222333 and shipment 123456782 have come, 36574261809 are left",
        "CVE-2024-12345, ISO 9001:2015, RFC 2822, 2024-10-01T12:30:45Z, sha 1234567890abcdef",
        "http://host.example.com:8080/a@b, https://user@host.example.com/path",
        "XX89370400440532013000 and DE8937040044053201300 are no IBANs",
    ],
)
def test_numbers_that_prove_nothing_stay(text: str) -> None:
    assert [one for one in kinds_in(text) if one[0] not in ("email", "phone")] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Telefon: 030 1234567", "030 1234567"),
        ("Mein Handy ist 0171 2345678", "0171 2345678"),
        ("téléphone 01 23 45 67 89", "01 23 45 67 89"),
        ("teléfono 912 345 678", "912 345 678"),
    ],
)
def test_a_word_about_calling_counts_in_other_languages_too(text: str, value: str) -> None:
    assert ("phone", value) in kinds_in(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("card 4111 1111 1111 1111 12/27", [("card", "4111 1111 1111 1111")]),
        ("from ES91 2100 0418 4502 0005 1332 now", [("iban", "ES91 2100 0418 4502 0005 1332")]),
        (
            "DE89 3704 0044 0532 0130 00 AT61 1904 3002 3457 3201 soon",
            [("iban", "DE89 3704 0044 0532 0130 00"), ("iban", "AT61 1904 3002 3457 3201")],
        ),
    ],
)
def test_what_stands_right_behind_a_number_does_not_hide_it(text: str, found: list[tuple[str, str]]) -> None:
    """Words of four letters, an expiry date and the next number look like one more group."""
    assert kinds_in(text) == found


def test_a_hint_only_spares_time() -> None:
    """What a rule finds by its pattern alone it finds through its hints and its crowd of digits too."""
    for planted in islice(plant_values(11), 180):
        alone = {one.kind for rule in RULES for one in rule.find_in(planted.said)}
        assert alone >= {one.kind for one in find_personal_data(planted.said)} >= {PersonalDataKind(planted.kind)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SSN 123-45-6789—ok", ("ssn", "123-45-6789")),
        ("His SSN—123-45-6789—is", ("ssn", "123-45-6789")),
        ("card 4111 1111 1111 1111—expires", ("card", "4111 1111 1111 1111")),
        ("card 4111 1111 1111 1111–valid", ("card", "4111 1111 1111 1111")),
        ("SSN 123–45–6789 − ok", ("ssn", "123–45–6789")),
    ],
)
def test_a_dash_that_parts_words_hides_no_number(text: str, found: tuple[str, str]) -> None:
    """Writers put it where they please; only between two digits does it group a number."""
    assert kinds_in(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "Loss (1 234 567) and (12345678), before (2019-2020) and (1999-2004) 2005-2009",
        "2010 2011 2012 2013",
        "a telephone exchange in 2010 2011 2012",
        "deviation +0.1234567 mm",
        "EAN 5901234123457, EAN-13: 4006381333931, IMEI 490154203237518, serial 490154203237518",
        "Section 3.2.1.4 of the report, see chapter 12.4.2.10, firmware 8.4.2.1",
        "4.2.1.3 Scope of supply\n## 1.2.3.4 Title",
        "class sk-spinner-double-bounce",
    ],
)
def test_ordinary_numbers_of_documents_stay(text: str) -> None:
    """A policy that covers personal data covered losses in tables, years and the numbers of sections."""
    assert kinds_in(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("４１１１１１１１１１１１１１１１", "card"),
        ("4111–1111–1111–1111", "card"),
        ("4111 1111 1111 1111", "card"),
        ("john@exa​mple.com", "email"),
        ("john＠example.com", "email"),
        ("555‑123‑4567", "phone"),
    ],
)
def test_signs_of_other_scripts_and_of_no_width_hide_nothing(text: str, found: str) -> None:
    """What is found are the characters that stand there, so that a mask covers them and no other."""
    said = f"​to {text} now"
    assert kinds_in(said) == [(found, text)]
    assert mask_personal_data(said)[0] == f"​to [{found}] now"


@pytest.mark.parametrize(
    "text", ['{"password":"hunter22"}', "{'api_key': 'hunter22'}", '"{\\"password\\": \\"hunter22\\"}"']
)
def test_a_password_in_json_is_found(text: str) -> None:
    assert kinds_in(text) == [("secret", "hunter22")]


def test_a_text_that_is_made_to_give_one_find_a_round_is_masked_in_little_time() -> None:
    """A hundred thousand characters of it held a process for a minute; and nothing is found in what comes out."""
    for one in HOSTILE:
        began = time.process_time()
        masked, _ = mask_personal_data(one)
        covered, _ = mark_page(Page(1, one[:20_000]), "mask")
        assert time.process_time() - began < 8
        assert find_personal_data(masked) == [] and mark_page(covered, "mask") == (covered, {})


def test_such_a_text_in_an_answer_is_masked_in_little_time() -> None:
    """Eight thousand of them held every request for twenty seconds; what stands before a piece stays."""
    for one in HOSTILE:
        began = time.process_time()
        shown = AnswerMask([AnswerRule("mask")]).text(f"It was said before that all is well, {one}")
        assert time.process_time() - began < 8
        assert find_personal_data(shown) == [] and shown.startswith("It was said before that ")
