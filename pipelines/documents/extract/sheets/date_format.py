"""Dates, times and durations of spreadsheets in the format of their cell."""

import re
from datetime import date, timedelta
from locale import windows_locale

from babel import Locale, UnknownLocaleError
from babel.dates import get_day_names, get_month_names, get_period_names

_TOKEN = re.compile(
    r'"([^"]*)"?|\\(.)|_.|\*.|\[(h+|m+|s+)\]|\[\$([^\]-]*)-?([^\],]*)[^\]]*\]|\[[^\]]*\]'
    r"|(AM/PM|A/P|上午/下午)|(?<=s)\.(0+)|(y+|m+|d+|h+|s+|e+|g+|b+|a{3,4})|(.)",
    re.IGNORECASE | re.DOTALL,
)
_SYSTEM_CODES = {"f800": "yyyy-mm-dd", "f400": "h:mm:ss", "x-sysdate": "yyyy-mm-dd", "x-systime": "h:mm:ss"}
_SYSTEM = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd h:mm", "m/d/yy": "yyyy-mm-dd"}
_DAY_MS = 86_400_000
_LAST_SERIAL = 2_958_466  # the first day of the year 10000
_LEAP_THAT_NEVER_WAS = 60  # 29 February 1900 of Lotus 1-2-3, which all its heirs still count


def is_date_format(section: str) -> bool:
    """True for a section of a number format that writes a date or a time."""
    for match in _TOKEN.finditer(re.sub("general", "", section, flags=re.IGNORECASE)):
        elapsed, letters = match[3], match[8]
        if elapsed or match[6] or (letters and letters[0].lower() in "ymdhs"):
            return True
    return False


def format_date(serial: float, section: str, *, base_1904: bool = False) -> str | None:
    """A serial number (days since 1900, the time as a fraction) by one section of a format; None outside its range.

    Formats that mean "as the viewer's system writes dates" come out as ISO 8601, which reads the same everywhere.
    """
    tokens = list(_TOKEN.finditer(_SYSTEM.get(section.lower().replace("\\", ""), section)))
    code = next((match[5] for match in tokens if match[5]), "").lower()
    if code in _SYSTEM_CODES:
        tokens = list(_TOKEN.finditer(_SYSTEM_CODES[code]))
    if base_1904:
        serial += 1462
    elapsed = any(match[3] for match in tokens)
    if not 0 <= abs(serial) < _LAST_SERIAL or (serial < 0 and not elapsed):
        return None
    exact = any(match[7] for match in tokens)
    moment = round(abs(serial) * _DAY_MS)
    moment = moment if exact else (moment + 500) // 1000 * 1000
    sign = "-" if serial < 0 else ""
    return sign + _Writer(moment, tokens, _parse_locale(code)).text()


def _parse_locale(code: str) -> Locale:
    """The language of month and day names: a tag (`de-DE`), or a Windows code in whose low 16 bits it is."""
    try:
        if re.fullmatch(r"[0-9a-f]{3,8}", code):
            return Locale.parse(windows_locale.get(int(code, 16) & 0xFFFF, "en_US"))
        return Locale.parse(code or "en-US", sep="-")
    except (UnknownLocaleError, ValueError):
        return Locale("en", "US")


class _Writer:
    """One moment, written token by token."""

    def __init__(self, moment: int, tokens: list[re.Match[str]], language: Locale) -> None:
        """`moment`: milliseconds since day 0 of the year 1900."""
        self._day, self._ms = divmod(moment, _DAY_MS)
        self._moment, self._tokens, self._language = moment, tokens, language
        self._halves = any(match[6] for match in tokens)
        self._date = self._as_date()

    def text(self) -> str:
        return "".join(self._token_text(at, match) for at, match in enumerate(self._tokens))

    def _as_date(self) -> tuple[int, int, int, int]:
        """Year, month, day and day of the week (0 = Monday)."""
        if self._day in (0, _LEAP_THAT_NEVER_WAS):
            return (1900, 1, 0, 5) if self._day == 0 else (1900, 2, 29, 2)
        found = date(1899, 12, 31) + timedelta(days=self._day - (self._day > _LEAP_THAT_NEVER_WAS))
        return found.year, found.month, found.day, found.weekday()

    def _token_text(self, at: int, match: re.Match[str]) -> str:
        quoted, escaped, elapsed, currency, _, halves, fraction, letters, other = match.groups()
        if elapsed:
            unit = {"h": 3_600_000, "m": 60_000, "s": 1000}[elapsed[0].lower()]
            return str(self._moment // unit).zfill(len(elapsed))
        if halves:
            return self._half_of_day(halves)
        if fraction:
            return "." + f"{self._ms % 1000:03}"[: len(fraction)].ljust(len(fraction), "0")
        if letters:
            return self._date_field(at, letters.lower())
        if match[0][0] == "_":
            return " "
        return quoted or escaped or currency or other or ""

    def _half_of_day(self, code: str) -> str:
        afternoon = self._ms >= _DAY_MS // 2
        if code.upper() == "A/P":
            return code[2 if afternoon else 0]
        if code == "上午/下午":
            return "下午" if afternoon else "上午"
        return str(get_period_names(locale="en")["pm" if afternoon else "am"]).upper()

    def _date_field(self, at: int, code: str) -> str:
        year, month, day, weekday = self._date
        letter, width = code[0], len(code)
        if letter == "m" and self._is_minute(at):
            return str(self._ms // 60_000 % 60).zfill(min(width, 2))
        if letter in "ye":
            return f"{year % 100:02}" if letter == "y" and width <= 2 else f"{year:04}"
        if letter == "b":
            return f"{(year + 543) % 100:02}" if width <= 2 else str(year + 543)
        if letter == "m":
            return str(month).zfill(width) if width <= 2 else self._month_name(month, width)
        if letter == "d" and width <= 2:
            return str(day).zfill(width)
        if letter in "da":
            return str(get_day_names("wide" if width > 3 else "abbreviated", locale=self._language)[weekday])
        if letter == "h":
            hour = self._ms // 3_600_000
            return str((hour + 11) % 12 + 1 if self._halves else hour).zfill(min(width, 2))
        return str(self._ms // 1000 % 60).zfill(min(width, 2)) if letter == "s" else ""

    def _month_name(self, month: int, width: int) -> str:
        name = str(get_month_names("abbreviated" if width == 3 else "wide", locale=self._language)[month])
        return name[0] if width == 5 else name

    def _is_minute(self, at: int) -> bool:
        """`m` is a minute after an hour or before a second."""
        before = next((found for one in reversed(self._tokens[:at]) if (found := one[3] or one[8])), "")
        after = next((found for one in self._tokens[at + 1 :] if (found := one[3] or one[8])), "")
        return before[:1].lower() == "h" or after[:1].lower() == "s"
