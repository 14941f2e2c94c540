"""Signs of the symbol fonts (Symbol, Wingdings) that DOCX files name by their place in the font."""

_WINGDINGS = {
    0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "☐",
    0x72: "☐", 0x73: "◆", 0x75: "◆", 0x76: "❖", 0x77: "◆", 0x9F: "•", 0xA1: "○", 0xA7: "▪", 0xA8: "☐", 0xAB: "★",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
    0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐", 0x2A: "☐", 0x97: "•"}
_SYMBOL_LETTERS = dict(
    zip(
        "ABGDEZHQIKLMNXOPRSTUFCYWabgdezhqiklmnxoprstufcyw",
        (*"ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", *"αβγδεζηθικλμνξοπρστυφχψω"),
        strict=True,
    )
)
_SYMBOL = {
    **{ord(latin): greek for latin, greek in _SYMBOL_LETTERS.items()},
    0x4A: "ϑ", 0x56: "ς", 0x6A: "ϕ", 0x76: "ϖ", 0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅",
    0x5C: "∴", 0x5E: "⊥", 0xA2: "′", 0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓",
    0xB0: "°", 0xB1: "±", 0xB2: "″", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠",
    0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC5: "⊕", 0xC6: "∅", 0xC7: "∩", 0xC8: "∪", 0xCE: "∈", 0xCF: "∉", 0xD0: "∠",
    0xD1: "∇", 0xD2: "®", 0xD3: "©", 0xD4: "™", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨",
    0xDB: "⇔", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
_FONTS = {"wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2, "symbol": _SYMBOL}


def is_symbol_font(font: str) -> bool:
    """True for a font in which letters stand for signs."""
    return font.lower() in _FONTS


def symbol_sign(font: str, code: int) -> str | None:
    """The sign at a place of a font, also where it is written in the private area (U+F000 and on); None if unknown."""
    place = code - 0xF000 if 0xF000 <= code <= 0xF0FF else code
    signs = _FONTS.get(font.lower())
    if signs is None:
        return None if 0xE000 <= code <= 0xF8FF else chr(place)
    found = signs.get(place)
    if found is None and signs is _SYMBOL and 0x20 <= place < 0x7F:
        return chr(place)
    return found
