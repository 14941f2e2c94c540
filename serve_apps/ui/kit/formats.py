"""Numbers, sizes, spans and moments as people read them."""

from datetime import datetime

from serve_apps.ui.kit.html import SafeHtml, tag

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


def format_number(value: float | int | None, digits: int = 0) -> str:
    """With thousands separated: 12,345; a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def format_count(count: int | None, what: str, several: str = "") -> str:
    """So many of something: 1 file, 1,200 files; `several` where the plural is no `s` more."""
    return f"{format_number(count)} {what if count == 1 else several or what + 's'}"


def format_short(value: float | None) -> str:
    """A figure in few characters: 950, 12.3k, 4.1M."""
    if value is None:
        return "–"
    for least, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= least:
            return f"{value / (1e3 if letter == 'k' else least):.1f}{letter}"
    return format_number(value, 0 if float(value).is_integer() else 2)


def format_size(count: int | None) -> str:
    """Bytes: 512 B, 1.5 KiB."""
    if count is None:
        return "–"
    left, unit = float(count), 0
    while left >= 1024 and unit < len(_SIZES) - 1:
        left, unit = left / 1024, unit + 1
    return f"{left:.{1 if unit else 0}f} {_SIZES[unit]}"


def format_duration(seconds: float | None) -> str:
    """A time that passed: 350 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, name, smaller, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // smaller
            return f"{whole // unit} {name}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"


def format_percent(share: float | None) -> str:
    """0.934 as 93%."""
    return "–" if share is None else f"{share * 100:.0f}%"


def format_moment(at: str | datetime | None, *, relative: bool = False) -> SafeHtml:
    """A moment; console.js writes it in the reader's zone, with the full date as a hint.

    Args:
        at: ISO 8601 as the API sends it, or a datetime with its zone.
        relative: whether to say "3 min ago" in place of the clock.
    """
    if at is None:
        return tag("span", "–", class_="quiet")
    iso = at.isoformat() if isinstance(at, datetime) else at
    return tag("time", iso[:16].replace("T", " ") + " UTC", datetime=iso, data_relative=relative)
