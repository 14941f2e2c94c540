"""Numbers that prove themselves: cards (ISO 7812), IBANs (ISO 13616) and US social security numbers."""

import re

from stdnum import iban, luhn

from pipelines.documents.privacy.kinds import text_before


def is_iban(text: str) -> bool:
    """A country of the registry, its length and structure, and 1 modulo 97.

    Checks that a country has of its own inside are left out: banks have accounts from before them.
    """
    return len(text) >= 15 and iban.is_valid(text, check_country=False)


# First digits and lengths that issuers of cards use: an IMEI or a row of years has neither.
_ISSUED = re.compile(
    r"[3-6]\d{15}|2[2-7]\d{14}|4\d{12}(?:\d{6})?|3[47]\d{13}|3[0689]\d{12,17}|35\d{15,17}|(?:1800|2131)\d{11}"
    r"|(?:5[06-9]|6\d)\d{10,17}"
)
# What numbers of goods and machines stand behind; old cards are as long as an EAN.
_OF_GOODS = re.compile(
    r"\b(?:ean|gtin|isbn|imei|barcode)(?:[ -]?1[0-4])?\W{0,3}(?:(?:no|nr|code|number)\W{0,3})?\Z", re.IGNORECASE
)


def is_card(text: str) -> bool:
    """Luhn's sum, and first digits and a length that issuers of cards use."""
    digits = re.sub(r"[ -]", "", text)
    return _ISSUED.fullmatch(digits) is not None and len(set(digits)) > 1 and luhn.is_valid(digits)


def is_of_no_goods(match: re.Match[str]) -> bool:
    """No word says that a number is one of goods or of a machine."""
    return _OF_GOODS.search(text_before(match, 25)) is None


def is_ssn(text: str) -> bool:
    """Numbers that the Social Security Administration never gave out do not count."""
    parts = re.split(r"[- ]", text)
    return len(parts) == 3 and parts[0] not in ("000", "666") and parts[1] != "00" and parts[2] != "0000"
