"""Time ranges as people name them: "last month", "this week", "past 7 days", "in March", "since 2026-01-01"."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

FIRST = date(2000, 1, 1)  # nothing of the product is older
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WRITTEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: n for n, word in enumerate(_WRITTEN, 1)}
_DAY = r"(\d{4}) (\d{2}) (\d{2})"
_COUNT = r"(\d{1,3}|" + "|".join(_NUMBERS) + ")"
_MONTH = "(" + "|".join(_MONTHS) + ")"


@dataclass(frozen=True, slots=True)
class DateRange:
    """Whole days in UTC, [since, until); `label` is what an answer calls it."""

    since: date
    until: date
    label: str

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """Both ends as midnights in UTC."""
        return _utc_midnight(self.since), _utc_midnight(self.until)


def all_time(today: date) -> DateRange:
    """Everything until the end of today."""
    return DateRange(FIRST, today + timedelta(1), "all time")


def last_periods(count: int, unit: str, today: date) -> DateRange:
    """So many days, weeks or months that end with today's; the current one is among them."""
    if unit == "day":
        return _labelled_range(today - timedelta(count - 1), today + timedelta(1))
    if unit == "week":
        monday = today - timedelta(today.weekday())
        return _labelled_range(monday - timedelta(7 * (count - 1)), monday + timedelta(7))
    first = today.replace(day=1)
    return _labelled_range(_add_months(first, 1 - count), _add_months(first, 1))


def find_range(text: str, today: date) -> DateRange | None:
    """The range that a normalised text names (`normalise_words`); None where it names none or no real dates.

    Weeks begin on Monday. "last month" is the calendar month before this one, "past month" the 30 days up to today.
    """
    try:
        return _parse_dates(text) or _parse_relative(text, today) or _parse_named_period(text, today)
    except (ValueError, OverflowError):  # the 31st of February, the year 0
        return None


def _parse_dates(text: str) -> DateRange | None:
    if found := re.search(rf" (?:between|from) {_DAY} (?:and|to|until|till) {_DAY} ", text):
        numbers = [int(part) for part in found.groups()]
        return _labelled_range(date(*numbers[:3]), date(*numbers[3:]) + timedelta(1))
    if found := re.search(rf" (since|after|on) {_DAY} ", text):
        day = date(*(int(part) for part in found.groups()[1:]))
        on = found.group(1) == "on"
        return _labelled_range(day, day + timedelta(1)) if on else DateRange(day, date.max, f"since {day}")
    if found := re.search(rf" (?:before|until) {_DAY} ", text):
        day = date(*(int(part) for part in found.groups()))
        return DateRange(FIRST, day, f"before {day}")
    return None


def _parse_relative(text: str, today: date) -> DateRange | None:
    if found := re.search(rf" (?:last|past|previous) {_COUNT} (day|week|month|year)s? ", text):
        count = _NUMBERS.get(found.group(1)) or int(found.group(1))
        days = {"day": 1, "week": 7, "month": 30, "year": 365}[found.group(2)] * max(count, 1)
        return last_periods(days, "day", today)
    if found := re.search(r" past (week|month|quarter|year) ", text):
        return last_periods({"week": 7, "month": 30, "quarter": 90, "year": 365}[found.group(1)], "day", today)
    if found := re.search(r" (last|previous|this|current) (day|week|month|quarter|year) ", text):
        return _calendar_period(found.group(2), today, back=found.group(1) in ("last", "previous"))
    for word, days in ((" today ", 0), (" yesterday ", 1)):
        if word in text:
            return _labelled_range(today - timedelta(days), today - timedelta(days - 1))
    if " year to date " in text or " ytd " in text:
        return _labelled_range(date(today.year, 1, 1), today + timedelta(1))
    return None


def _parse_named_period(text: str, today: date) -> DateRange | None:
    if found := re.search(rf" {_MONTH} (\d{{4}}) ", text) or re.search(rf" (?:in|for|during|of) {_MONTH} ", text):
        month = _MONTHS.index(found.group(1)) + 1
        given = int(found.group(2)) if found.lastindex == 2 else today.year - (month > today.month)
        return _labelled_range(date(given, month, 1), _add_months(date(given, month, 1), 1))
    if found := re.search(r" q([1-4])(?: (\d{4}))? ", text):
        first = date(int(found.group(2) or today.year), 3 * int(found.group(1)) - 2, 1)
        return _labelled_range(first, _add_months(first, 3))
    if found := re.search(r" (?:in|for|during|of) (2\d{3}) ", text):
        year = int(found.group(1))
        return _labelled_range(date(year, 1, 1), date(year + 1, 1, 1))
    return None


def _calendar_period(unit: str, today: date, *, back: bool) -> DateRange:
    if unit == "day":
        first, length = today, 0
    elif unit == "week":
        first, length = today - timedelta(today.weekday()), 0
    else:
        length = {"month": 1, "quarter": 3, "year": 12}[unit]
        first = date(today.year, (today.month - 1) // length * length + 1, 1)
    days = {"day": 1, "week": 7}.get(unit, 0)
    step = -1 if back else 0
    since = _add_months(first, step * length) + timedelta(step * days)
    return _labelled_range(since, _add_months(since, length) + timedelta(days))


def _add_months(first: date, count: int) -> date:
    """The first of the month that is so many months later."""
    if not count:
        return first
    at = first.year * 12 + first.month - 1 + count
    return date(at // 12, at % 12 + 1, 1)


def _labelled_range(since: date, until: date) -> DateRange:
    end = until - timedelta(1)
    return DateRange(since, until, f"{since}" if end == since else f"{since} to {end}")


def _utc_midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
