"""Units by their names: `kg` is what a question calls kilos, and `€` what it calls euros."""

from serve_apps.retrieval.text.words import fold_word

_UNIT_NAMES = """kg kilo kilos kilogram kilograms kilogramme|g gram grams|t tonne tonnes ton tons|lb lbs pound pounds
£ gbp pound pounds|€ eur euro euros|$ usd dollar dollars|chf franc francs|% percent percentage share
km kilometre kilometres kilometer kilometers|m metre metres meter meters|cm centimetre centimetres
mm millimetre millimetres|ft foot feet|mi mile miles
ha hectare hectares|m2 m² sqm|m3 m³ cbm|l litre litres liter liters|h hour hours hrs
min minute minutes|s sec secs|day days|kwh|°c degree degrees celsius|bar|px"""
_UNITS = [
    frozenset(name for word in one.split() for name in (word, fold_word(word)))
    for line in _UNIT_NAMES.splitlines()
    for one in line.split("|")
]


def same_unit(one: str, other: str) -> bool:
    """True where both name one unit, as they are written or folded."""
    first, second = one.casefold(), other.casefold()
    return any(first in names and second in names for names in _UNITS)
