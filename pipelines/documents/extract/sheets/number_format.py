"""Number formats of spreadsheets: a stored value as a person sees it in its cell (ECMA-376 part 1, 18.8.31)."""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite

from pipelines.documents.extract.sheets.date_format import format_date, is_date_format

_SECTION = re.compile(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[^;"\\\[]|.)*?(?:;|$)', re.DOTALL)
_TOKEN = re.compile(
    r'"([^"]*)"?|[\\!](.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|(General|Standard)|(E[+-])|([0#?.,%/@])|(.)',
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s*(-?[\d.]+(?:E[+-]?\d+)?)\]", re.IGNORECASE)
_DIGITS = "0#?"
_WIDE = Context(prec=400)
_EXACT_DIGITS = 20  # of whole numbers; longer ones are floats
_MOST_DIGITS = 60  # of one number; a format of thousands of zeros is made to blow up what reads it


def number_of(text: str) -> float:
    """The number in a stored text, whole where it has no fraction. Raises ValueError for none, or one not finite."""
    if len(text) <= _EXACT_DIGITS and text.lstrip("-").isdecimal():
        return int(text)
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"not a number that a cell can hold: {text[:40]}")
    return value


def format_number(value: float, code: str, *, base_1904: bool = False) -> str:
    """A number as its cell shows it.

    Decimal point and thousands comma are those of the format's own notation: which ones a viewer's system puts in
    their place is not in the file. Where a format would hide the value, the value itself is returned.

    Args:
        value: the stored number; a date is a serial number.
        code: the number format, with up to four sections.
        base_1904: whether serial numbers count from 1904.
    """
    if code in ("", "General", "@"):
        return format_general(value)
    sections = _parse_sections(code)
    chosen = _choose_section(value, sections)
    if chosen is None:
        return format_general(value)
    section = sections[chosen]
    if section.is_date:
        return format_date(value, section.code, base_1904=base_1904) or format_general(value)
    unsigned = value < 0 and _hides_sign(chosen, sections)
    text = " ".join(_number_text(abs(value) if unsigned else value, section).split())
    return text if text or value == 0 else format_general(value)


def shown_text(text: str, code: str) -> str:
    """A text as its cell shows it: most formats leave texts alone, a section with `@` may put words around them."""
    if "@" not in code or code == "@":
        return text
    section = _parse_sections(code)[-1]
    if not section.is_text:
        return text
    return "".join(text if literal == "@" and kind == "sign" else literal for kind, literal in section.tokens)


def format_general(value: float) -> str:
    """A number without a format: whole numbers whole, others with the 15 digits that are kept."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.15g}" if abs(value) < 1e15 or value % 1 else str(int(value))


@dataclass(frozen=True, slots=True)
class _Section:
    """A format section (between `;`) as (kind, text): `literal`, `sign` (0 # ? . , % / @), `exponent`, `general`."""

    code: str
    tokens: tuple[tuple[str, str], ...]
    condition: tuple[str, float] | None
    is_date: bool
    is_text: bool


@lru_cache(maxsize=512)
def _parse_sections(code: str) -> tuple[_Section, ...]:
    pieces = [match[0].removesuffix(";") for match in _SECTION.finditer(code[:2000])]
    if len(pieces) > 1 and not pieces[-1] and not code.endswith(";"):
        pieces.pop()
    return tuple(map(_parse_section, pieces[:4]))


def _parse_section(code: str) -> _Section:
    tokens = []
    for match in _TOKEN.finditer(code):
        quoted, escaped, currency, whole, exponent, sign, other = match.groups()
        if whole:
            tokens.append(("general", ""))
        elif exponent:
            tokens.append(("exponent", exponent))
        elif sign:
            tokens.append(("sign", sign))
        elif match[0][0] == "_":
            tokens.append(("literal", " "))
        elif literal := quoted or escaped or currency or other:
            tokens.append(("literal", literal))
    found = _CONDITION.search(code)
    condition = (found[1], float(found[2])) if found else None
    is_text = ("sign", "@") in tokens
    return _Section(code, tuple(tokens), condition, not is_text and is_date_format(code), is_text)


def _choose_section(value: float, sections: tuple[_Section, ...]) -> int | None:
    """Choose the section that writes a number: by its condition, else positive; negative; zero."""
    numeric = len(sections) - (1 if len(sections) == 4 or (len(sections) > 1 and sections[-1].is_text) else 0)
    if sections[0].condition is not None:
        if _meets_condition(value, sections[0].condition):
            return 0
    elif numeric == 1 or value > 0 or (numeric == 2 and value == 0):
        return 0
    if numeric < 2:
        return None
    if sections[1].condition is not None:
        if _meets_condition(value, sections[1].condition):
            return 1
    elif value < 0 or (numeric == 2 and sections[0].condition is not None):
        return 1
    return 2 if numeric > 2 else None


def _meets_condition(value: float, condition: tuple[str, float]) -> bool:
    sign, bound = condition
    if sign in ("=", "<>"):
        return (value == bound) is (sign == "=")
    return (value < bound if sign[0] == "<" else value > bound) or (len(sign) == 2 and value == bound)


def _hides_sign(chosen: int, sections: tuple[_Section, ...]) -> bool:
    """True if a section gets negative numbers only: it writes the sign in its own way."""
    condition, first = sections[chosen].condition, sections[0].condition
    if condition is not None:
        return condition[0][0] == "<" and condition[0] != "<>" and condition[1] <= 0
    return chosen == 1 and (first is None or (first[0] in (">", ">=") and first[1] <= 0))


def _number_text(value: float, section: _Section) -> str:
    tokens = list(section.tokens)
    if any(kind == "general" for kind, _ in tokens):
        return "".join(format_general(value) if kind == "general" else text for kind, text in tokens)
    signs = [text for kind, text in tokens if kind == "sign"]
    number = Decimal(repr(float(f"{value:.15g}"))) * 100 ** signs.count("%")
    if not any(sign in _DIGITS for sign in signs):
        shown_signs = ("%", ".", ",", "/")
        text = "".join(text for kind, text in tokens if kind == "literal" or text in shown_signs)
        return ("-" if value < 0 and text else "") + text
    if any(kind == "exponent" for kind, _ in tokens):
        body = _scientific_text(abs(number), tokens)
    elif "/" in signs and signs.index("/") > 0:
        body = _fraction_text(abs(number), tokens)
    else:
        body = _decimal_text(abs(number), tokens)
    return ("-" if value < 0 and re.search(r"[1-9]", body) else "") + body


def _decimal_text(number: Decimal, tokens: list[tuple[str, str]]) -> str:
    """Digits put into their placeholders from the point outwards; literals stay where they stand between them."""
    at = [index for index, (kind, text) in enumerate(tokens) if kind == "sign" and text in _DIGITS]
    point = next((index for index, token in enumerate(tokens) if token == ("sign", ".")), len(tokens))
    whole = [index for index in at if index < point]
    after = [index for index in at if index > point][:_MOST_DIGITS]
    scaling = _commas_after(tokens, whole[-1:]) + _commas_after(tokens, after[-1:])
    grouped = any(tokens[index] == ("sign", ",") for index in range(whole[0], whole[-1])) if whole else False
    rounded = (number / 1000**scaling).quantize(Decimal(1).scaleb(-len(after)), ROUND_HALF_UP, _WIDE)
    digits, _, decimals = f"{rounded:f}".partition(".")
    filled = _whole_digits(digits.lstrip("0"), [tokens[index][1] for index in whole], grouped)
    unplaced = digits.lstrip("0") if not whole else ""
    pieces: list[str] = []
    for index, (kind, text) in enumerate(tokens):
        if index == point:
            pieces.append(unplaced + ".")
        elif index in whole:
            pieces.append(filled[whole.index(index)])
        elif index in after:
            place = after.index(index)
            rest = decimals[place:].strip("0")
            pieces.append(decimals[place] if text == "0" or rest else " " if text == "?" else "")
        elif kind == "literal" or text == "%":
            pieces.append(text)
        elif text == "/":
            pieces.append("/")
    return "".join(pieces)


def _commas_after(tokens: list[tuple[str, str]], place: list[int]) -> int:
    """Count the commas directly behind a placeholder: each divides by a thousand."""
    count = 0
    while place and tokens[place[0] + count + 1 : place[0] + count + 2] == [("sign", ",")]:
        count += 1
    return count


def _whole_digits(digits: str, places: list[str], grouped: bool) -> list[str]:
    """The digits before the point, one entry a placeholder; what has no placeholder stands at the first."""
    filled: list[str] = []
    for index, place in enumerate(places):
        right = len(places) - index
        if index == 0 and len(digits) >= right:
            filled.append(digits[: len(digits) - right + 1])
        elif len(digits) >= right:
            filled.append(digits[-right])
        else:
            filled.append({"0": "0", "?": " "}.get(place, ""))
    if not grouped:
        return filled
    count = 0
    for index in range(len(filled) - 1, -1, -1):
        grown = ""
        for digit in reversed(filled[index]):
            grown = digit + ("," if count and count % 3 == 0 and digit.isdigit() else "") + grown
            count += digit.isdigit()
        filled[index] = grown
    return filled


def _scientific_text(number: Decimal, tokens: list[tuple[str, str]]) -> str:
    cut = next(index for index, (kind, _) in enumerate(tokens) if kind == "exponent")
    front, back = tokens[:cut], tokens[cut + 1 :]
    before = front[: front.index(("sign", "."))] if ("sign", ".") in front else front
    width = max(1, sum(text in _DIGITS for kind, text in before if kind == "sign"))
    decimals = sum(text in _DIGITS for kind, text in front if kind == "sign") - width
    power = number.adjusted() if number else 0
    power -= power % width
    step = Decimal(1).scaleb(-max(0, min(decimals, _MOST_DIGITS)))
    if number and number.scaleb(-power).quantize(step, ROUND_HALF_UP, _WIDE) >= 10**width:
        power += width
    sign = "-" if power < 0 else "+" if tokens[cut][1].endswith("+") else ""
    mantissa, exponent = _decimal_text(number.scaleb(-power), front), _decimal_text(Decimal(abs(power)), back)
    return mantissa + tokens[cut][1][0] + sign + exponent


def _fraction_text(number: Decimal, tokens: list[tuple[str, str]]) -> str:
    """`# ?/?`: the whole number, and a fraction with as many digits below as it has places, or over the one named."""
    slash = tokens.index(("sign", "/"))
    above = slash - 1
    while above > 0 and tokens[above][0] == "sign" and tokens[above - 1] in [("sign", sign) for sign in _DIGITS]:
        above -= 1
    below = slash + 1
    while below < len(tokens) and (tokens[below][1] in _DIGITS or tokens[below][1].isdigit()):
        below += 1
    under = "".join(text for _, text in tokens[slash + 1 : below])
    front, back = tokens[:above], tokens[below:]
    mixed = any(kind == "sign" and text in _DIGITS for kind, text in front)
    exact = Fraction(number)
    whole = int(exact) if mixed else 0
    part = exact - whole
    if under.isdigit() and int(under) > 0:
        top, bottom = round(part * int(under)), int(under)
    else:
        near = part.limit_denominator(10 ** min(len(under) or 1, 7) - 1)
        top, bottom = near.numerator, near.denominator
    if mixed and top == bottom:
        whole, top = whole + 1, 0
    literals = "".join(text for kind, text in back if kind == "literal" or text == "%")
    if mixed and top == 0:
        return (_decimal_text(Decimal(whole), front).strip() or "0") + literals
    return (_decimal_text(Decimal(whole), front) if whole else "") + f"{top}/{bottom}" + literals
