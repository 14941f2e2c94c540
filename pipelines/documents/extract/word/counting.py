"""Counting as lists count: numbers, letters, Roman and Chinese numerals."""

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщэюя"
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_HAN = "〇一二三四五六七八九"
_CIRCLED = 0x2460  # ① and the 19 after it


def format_counter(number: int, form: str) -> str:
    """A number in the form that a list names (ECMA-376 part 1, 17.18.59); plain where the form is another."""
    if form in ("lowerLetter", "upperLetter"):
        return _apply_case(_letter_numeral(number, _LATIN), form)
    if form in ("lowerRoman", "upperRoman"):
        return _apply_case(_roman_numeral(number), form)
    if form in ("russianLower", "russianUpper"):
        return _apply_case(_letter_numeral(number, _RUSSIAN), form)
    if form in ("lowerGreek", "upperGreek"):
        return _apply_case(_letter_numeral(number, _GREEK), form)
    if form == "decimalZero":
        return f"{number:02}"
    if form == "ordinal":
        return f"{number}{_ordinal_ending(number)}"
    if form.startswith(("chineseCounting", "ideographDigital", "japaneseCounting", "taiwaneseCounting")):
        return _han_numeral(number)
    if form.startswith("decimalEnclosedCircle") and 1 <= number <= 20:
        return chr(_CIRCLED + number - 1)
    return "" if form in ("none", "bullet") else str(number)


def _apply_case(text: str, form: str) -> str:
    return text.upper() if "pper" in form else text


def _letter_numeral(number: int, alphabet: str) -> str:
    """a … z, aa, bb … as word processors count, not as spreadsheets do."""
    if number < 1:
        return str(number)
    return alphabet[(number - 1) % len(alphabet)] * min((number - 1) // len(alphabet) + 1, 9)


def _roman_numeral(number: int) -> str:
    if not 0 < number < 10_000:
        return str(number)
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def _ordinal_ending(number: int) -> str:
    return "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _han_numeral(number: int) -> str:
    if not 0 < number < 100:
        return str(number)
    tens, ones = divmod(number, 10)
    return ("" if tens == 0 else ("" if tens == 1 else _HAN[tens]) + "十") + (_HAN[ones] if ones else "")
