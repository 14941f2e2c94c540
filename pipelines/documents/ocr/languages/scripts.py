"""Script of a text by its letters, and its language by its words among those that are written so."""

import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Final

from pipelines.documents.ocr.missing_language import LANGUAGES, LATIN, SCRIPTS, rank_codes

# Tesseract's names of languages in other letters than Latin, ISO 639-1; those that share letters are told by words.
_CODE_TEXT: Final = """
ara ar fas fa urd ur rus ru ukr uk bul bg srp sr bel be mkd mk ell el heb he hin hi mar mr nep ne ben bn asm as tha th
tam ta tel te kan kn mal ml guj gu pan pa kat ka hye hy amh am khm km lao lo sin si
"""
CODES: Final = dict(zip(_CODE_TEXT.split()[::2], _CODE_TEXT.split()[1::2], strict=True))
EAST_ASIAN: Final = ("chi_sim", "chi_tra", "jpn")
EAST_ASIAN_SCRIPTS: Final = ("Han", "HanT", "Japanese", "Korean")
# First words of Unicode's names of letters, and Tesseract's names of their scripts, where the two differ.
_OTHER_NAMES: Final = {"CJK": "Han", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}
_KANA: Final = 0.05  # of the signs of East Asia: a Japanese text has a third or more, a Chinese one none
FEW_LETTERS: Final = 20  # fewer tell no language: a name, a number with its unit


@dataclass(frozen=True, slots=True)
class IdentifiedLanguage:
    """The likeliest language of a text among those of its script."""

    name: str  # Tesseract's
    script: str  # Tesseract's
    probability: float  # 0 to 1; 1 where the letters alone tell it


def script_of_text(text: str) -> str:
    """Tesseract's name of the script that most letters of a text are of; "" where it has none."""
    found = Counter(_script_of_letter(char) for char in text if char.isalpha())
    if not found:
        return ""
    signs = found["Han"] + found["Japanese"]
    found["Japanese" if found["Japanese"] > _KANA * signs else "Han"] = signs
    return found.most_common(1)[0][0]


def identify_language(text: str) -> IdentifiedLanguage | None:
    """Language of a text in letters that are not Latin, marks and all; None where it has too few of them."""
    script = script_of_text(text)
    if script in ("", LATIN) or sum(map(str.isalpha, text)) < FEW_LETTERS:
        return None
    if script == "Han":
        return IdentifiedLanguage(_written_chinese(text), script, 1.0)
    names = [name for name in SCRIPTS.get(script, ()) if name in CODES]
    if len(names) < 2:
        return IdentifiedLanguage(SCRIPTS[script][0], script, 1.0) if script in SCRIPTS else None
    likely = rank_codes(text, {CODES[name]: name for name in names})
    name = max(likely, key=likely.__getitem__)
    return IdentifiedLanguage(name, script, likely[name])


def identify_latin(text: str) -> IdentifiedLanguage | None:
    """Language of a text in Latin letters with its marks; None where it has too few letters."""
    if script_of_text(text) != LATIN or sum(map(str.isalpha, text)) < FEW_LETTERS:
        return None
    likely = rank_codes(text, {code: name for name, (code, _) in LANGUAGES.items()})
    name = max(likely, key=likely.__getitem__)
    return IdentifiedLanguage(name, LATIN, likely[name])


def _script_of_letter(char: str) -> str:
    first = unicodedata.name(char, "?").partition(" ")[0]
    return _OTHER_NAMES.get(first, first.capitalize())


def _written_chinese(text: str) -> str:
    """Simplified or traditional, by the signs that only one of the two has."""
    signs = Counter(char for char in text if _script_of_letter(char) == "Han")
    simplified = sum(n for char, n in signs.items() if _encodes(char, "gb2312") and not _encodes(char, "big5"))
    traditional = sum(n for char, n in signs.items() if _encodes(char, "big5") and not _encodes(char, "gb2312"))
    return "chi_tra" if traditional > simplified else "chi_sim"


def _encodes(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
