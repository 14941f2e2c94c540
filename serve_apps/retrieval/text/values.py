"""The values that a sentence states: dates, times, money, shares and quantities, brought to one spelling each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ValueKind = Literal["date", "time", "year", "percent", "money", "quantity", "number"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<{}>(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*)\.?"
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: n for n, word in enumerate(_ONES.split())} | {word: 10 * n for n, word in enumerate(_TENS.split(), 2)}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "lakh": 1e5, "crore": 1e7, "billion": 1e9, "bn": 1e9}
_SCALES |= dict.fromkeys(("million", "m", "mn"), 1e6)
_MONEY = {"chf": "chf"} | dict.fromkeys(("$", "usd", "dollar"), "usd") | dict.fromkeys(("€", "eur", "euro"), "eur")
_MONEY |= dict.fromkeys(("£", "gbp", "pound"), "gbp") | dict.fromkeys(("₹", "inr", "rs", "rupee"), "inr")
_MONEY |= dict.fromkeys(("¥", "jpy", "yen"), "jpy")
_SHORT_UNITS = "kg|km|cm|mm|m|g|mg|l|ml|kw|kwh|w|v|rpm|gb|mb|tb|mah|k?hz|mhz|ghz|cc|b?hp|nm|ft|lbs?|oz|px"
_NUMBER = r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d+(?:[.,\u202f\u00a0']\d{3})*(?:[.,]\d+)?|\d+"
_WORDED = "|".join(_SMALL)
_SCALE = "hundred|thousand|k|lakh|million|mn?|crore|billion|bn"
_WRITTEN: tuple[tuple[ValueKind, str], ...] = (
    ("date", r"\b(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2})\b"),
    (
        "date",
        rf"\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?(?:\s+|-){_MONTH.format('m2')},?(?:\s+|-)(?P<y2>\d{{4}})\b",
    ),
    ("date", rf"\b{_MONTH.format('m3')}\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})\b"),
    ("date", rf"\b{_MONTH.format('m4')}\s+(?P<y4>\d{{4}})\b"),
    ("date", r"\b(?P<d5>\d{1,2})[./](?P<m5>\d{1,2})[./](?P<y5>\d{4})\b"),
    ("time", r"\b(?P<hour>\d{1,2}):(?P<minute>\d{2})(?:\s*(?P<half>[ap]\.?m\b\.?))?"),
    ("time", r"\b(?P<hour2>\d{1,2})\s*(?P<half2>[ap]\.?m\b\.?)"),
    ("percent", rf"(?<![\w.,])(?P<share>{_NUMBER})\s{{0,3}}(?:%|per\s?cent\b)"),
    (
        "money",
        rf"(?P<sign>[$€£₹¥]|\b(?:rs|usd|eur|gbp|inr|chf)\b\.?)\s*(?P<sum>{_NUMBER})(?:\s?(?P<scale>{_SCALE})s?\b)?",
    ),
    (
        "money",
        rf"(?<![\w.,])(?P<sum2>{_NUMBER})(?:\s?(?P<scale2>{_SCALE})s?)?\s*"
        r"(?P<sign2>[$€£₹¥]|(?:usd|eur|gbp|inr|chf|euros?|dollars?|rupees?|pounds?|yen)\b)",
    ),
    ("year", rf"\b(?P<year>(?:1[5-9]|20)\d{{2}})\b(?![.,]\d|\s*(?:%|(?:{_SHORT_UNITS})\b))"),
    (
        "quantity",
        rf"(?<![\w.,])(?P<count>{_NUMBER}|\b(?:{_WORDED})\b)(?:\s?(?P<times>hundred|thousand|lakh|million"
        r"|crore|billion)\b)?[\s-]?(?P<unit>°?[a-zµ²³]+|\")",
    ),
    ("number", rf"(?<![\w.,])(?P<plain>{_NUMBER})(?![\w])"),
)
_FORMS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _WRITTEN)
_DATE_FORMS = tuple(form for form in _FORMS if form[0] in ("date", "year"))
_NO_UNIT_TEXT = """a after an and are as at be before by can for from has have if in is it may must nd not of on or out
per rd s st than that th the then these this those to until was were which will with"""
_NO_UNIT = frozenset(_NO_UNIT_TEXT.split())


@dataclass(frozen=True, slots=True)
class TextValue:
    """A value at characters [start, end); two of the same kind and unit are the same where `amount` is."""

    kind: ValueKind
    unit: str  # of a quantity in the singular, of money its currency; empty for all else
    amount: str  # in one spelling: `12`, `2024-05-01`, `09:30`
    shown: str  # as it is written
    start: int
    end: int


def find_values(text: str) -> list[TextValue]:
    """The values of a text in their order; what is part of one is no other."""
    return _find_forms(text, _FORMS)


def find_dates(text: str) -> list[TextValue]:
    """The dates and years of a text, without a look for anything else."""
    return _find_forms(text, _DATE_FORMS)


def _find_forms(text: str, forms: Sequence[tuple[ValueKind, re.Pattern[str]]]) -> list[TextValue]:
    found: list[TextValue] = []
    taken = [False] * len(text)
    for kind, form in forms:
        for match in form.finditer(text):
            one = _value_from_match(kind, match)
            if one is not None and not any(taken[one.start : one.end]):
                taken[one.start : one.end] = [True] * (one.end - one.start)
                found.append(one)
    return sorted(found, key=lambda one: one.start)


def date_readings(one: TextValue) -> tuple[str, ...]:
    """The days that a date or year may mean: 12/08/2007 is the twelfth of August and the eighth of December."""
    parts = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", one.amount)
    if one.kind != "date" or parts is None or not re.fullmatch(r"\d{1,2}[./]\d{1,2}[./]\d{4}", one.shown):
        return (one.amount,)
    year, month, day = parts.groups()
    return tuple(f"{year}-{first}-{last}" for first, last in ((month, day), (day, month)) if int(first) <= 12)


def blank_values(text: str, found: Sequence[TextValue]) -> str:
    """The text with a blank in the place of each value."""
    for one in found:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def find_numbers(text: str, *, digits_only: bool = False) -> set[str]:
    """Every number of a text in one spelling, whatever it counts; `digits_only` leaves out those in words."""
    found: set[str] = set()
    for one in find_values(text):
        if one.kind in ("date", "time"):
            found |= {part.lstrip("0") or "0" for part in re.findall(r"\d+", one.amount)}
        elif not digits_only or any(char.isdigit() for char in one.shown):
            found.add(one.amount)
    return found


def _value_from_match(kind: ValueKind, match: re.Match[str]) -> TextValue | None:
    part = {name.rstrip("0123456789"): text for name, text in match.groupdict().items() if text is not None}
    unit, amount, end = "", "", match.end()
    match kind:
        case "date":
            month = part["m"].lower()
            number = _MONTHS.index(month[:3]) + 1 if month[0].isalpha() else int(month)
            amount = f"{part['y']}-{number:02d}" + (f"-{int(part['d']):02d}" if "d" in part else "")
        case "time":
            hour, late = int(part["hour"]), part.get("half", "").lower()
            hour = hour % 12 + (12 if late.startswith("p") else 0) if late else hour
            amount = f"{hour:02d}:{int(part.get('minute', 0)):02d}"
        case "percent":
            amount = _plain_number(part["share"])
        case "money":
            unit = _MONEY[part["sign"].lower().rstrip(".").removesuffix("s" if len(part["sign"]) > 3 else "")]
            amount = _plain_number(part["sum"], part.get("scale"))
        case "year":
            amount = part["year"]
        case "quantity":
            unit = part["unit"].lower()
            if unit in _NO_UNIT:
                if part["count"].lower() in _SMALL:
                    return None  # `one of the`
                unit, end, kind = "", match.start("unit"), "number"
            unit = unit.removesuffix("s") if len(unit) > 2 else unit
            amount = _plain_number(part["count"], part.get("times"))
        case "number":
            amount = _plain_number(part["plain"])
    shown = match.string[match.start() : end].strip()
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    return TextValue(kind, unit, amount, shown, start, start + len(shown))


def _plain_number(number: str, scale: str | None = None) -> str:
    """1,200.50, 1 200,5 and `twelve` as plain numbers; a comma or point before three digits parts thousands."""
    lower = number.lower()
    if lower in _SMALL:
        plain = float(_SMALL[lower])
    else:
        text = re.sub(r"[\u202f\u00a0']", "", number)
        if re.fullmatch(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?", text):  # as it is written in India
            text = text.replace(",", "")
        elif not text.startswith("0"):
            text = re.sub(r"(?<=\d)[,.](?=\d{3}(?!\d))", "", text)
        plain = float(text.replace(",", "."))
    plain *= _SCALES[scale.lower()] if scale else 1
    return f"{plain:g}" if abs(plain) < 1e6 else f"{plain:.0f}"
