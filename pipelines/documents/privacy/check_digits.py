"""Numbers that prove themselves: cards (ISO 7812), IBANs (ISO 13616) and US social security numbers."""

import re

from stdnum import iban, luhn


def is_iban(text: str) -> bool:
    """A country of the registry, its length and structure, and 1 modulo 97.

    Checks that a country has of its own inside are left out: banks have accounts from before them.
    """
    return len(text) >= 15 and iban.is_valid(text, check_country=False)


def is_card(text: str) -> bool:
    """Luhn's sum, twelve to nineteen digits, and a first digit that issuers of cards use."""
    digits = re.sub(r"[ -]", "", text)
    return 12 <= len(digits) <= 19 and len(set(digits)) > 1 and digits[0] in "123456" and luhn.is_valid(digits)


def is_ssn(text: str) -> bool:
    """Numbers that the Social Security Administration never gave out do not count."""
    parts = re.split(r"[- ]", text)
    return len(parts) == 3 and parts[0] not in ("000", "666") and parts[1] != "00" and parts[2] != "0000"
