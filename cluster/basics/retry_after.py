"""`Retry-After` (RFC 9110, 10.2.3): the seconds that a server asks to wait, by a number or by a date."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MOST_SECONDS: Final = 1e9  # some thirty years: whoever waits bounds it as they like, and it stays a number
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")  # fractions are outside of the RFC, and yet some servers send them


def asked_seconds(told: str | None, now: datetime | None) -> float | None:
    """Seconds from 0 to `MOST_SECONDS`; None where it asks for nothing: garbage, less than nothing, a date gone by.

    `now`: the moment from which a date counts; None believes no date.
    """
    text = (told or "").strip()
    if _NUMBER.fullmatch(text):
        return min(float(text), MOST_SECONDS)
    until = None if now is None else http_date(text)
    if now is None or until is None or until <= now:
        return None
    return min((until - now).total_seconds(), MOST_SECONDS)


def http_date(told: str) -> datetime | None:
    """The moment that a header names, with its zone; None where it names none."""
    try:
        found = parsedate_to_datetime(told)
    except (ValueError, TypeError, IndexError, OverflowError):  # the last of a year or a zone that no clock has
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)  # `-0000` says only that no zone is known
