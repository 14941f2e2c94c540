"""`Retry-After` means one thing, whoever reads it; how long one waits at least and at most is each reader's own."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.basics.retry_after import MOST_SECONDS, asked_seconds, http_date
from cluster.models.chat.retrying import retry_after
from pipelines.documents.sources.checked_http import LEAST_WAIT, wanted_wait

NOW = datetime(2031, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("-5", None),
        ("-0", None),
        ("+5", None),
        ("1e9", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        ("5 seconds", None),
        ("soon", None),
        ("\u0663", None),
        ("9" * 400, MOST_SECONDS),
        ("Wed, 01 Jan 2031 00:01:30 GMT", 90.0),
        ("Wed, 01 Jan 2031 00:01:30 -0000", 90.0),
        ("Wed, 01 Jan 2031 01:01:30 +0100", 90.0),
        ("Wednesday, 01-Jan-31 00:01:30 GMT", 90.0),
        ("Wed Jan  1 00:01:30 2031", 90.0),
        ("Tue, 31 Dec 2030 23:59:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MOST_SECONDS),
        ("Thu, 99 Foo 2025", None),
        ("Wed, 01 Jan 2031 25:01:30 GMT", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Wed, 01 Jan 2031 00:01:30 +99999999999999", None),
        ("Mon, 01 Jan 0001 00:00:00 +2359", None),
    ],
)
def test_seconds_and_dates_are_read_and_all_else_asks_for_nothing(told: str | None, seconds: float | None) -> None:
    assert asked_seconds(told, NOW) == seconds
    assert wanted_wait(told, 2.0, lambda: NOW) == (2.0 if seconds is None else max(seconds, LEAST_WAIT))
    sent = {"date": "Wed, 01 Jan 2031 00:00:00 GMT"} | ({} if told is None else {"retry-after": told})
    assert retry_after(sent) == (seconds or 0.0)


def test_without_a_moment_to_count_from_no_date_is_believed() -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert asked_seconds(soon, None) is None and asked_seconds("3", None) == 3.0
    assert http_date("") is None and retry_after({"retry-after": soon}) == 0.0
