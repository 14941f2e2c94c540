"""Whether a scan is in a language that OCR was not run with: by its letters, or by its small words.

The engine's confidence does not show it: German read with English data loses its umlauts at 0.87.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.ocr.function_words import FUNCTION_WORDS
from pipelines.documents.ocr.installed import package_of

LATIN: Final = "Latin"
NAMES: Final = {
    "deu": "German", "fra": "French", "spa": "Spanish", "ita": "Italian", "por": "Portuguese", "nld": "Dutch",
    "pol": "Polish", "ces": "Czech", "slk": "Slovak", "swe": "Swedish", "dan": "Danish", "nor": "Norwegian",
    "fin": "Finnish", "tur": "Turkish", "hun": "Hungarian", "ron": "Romanian", "hrv": "Croatian", "cat": "Catalan",
    "ind": "Indonesian", "vie": "Vietnamese", "lit": "Lithuanian", "lav": "Latvian", "est": "Estonian",
    "slv": "Slovenian", "eng": "English",
}  # fmt: skip
# What Tesseract's script detection calls letters, and its names of the commonest languages written in them.
SCRIPTS: Final = {
    "Arabic": ("ara", "fas", "urd"), "Cyrillic": ("rus", "ukr", "bul", "srp", "bel", "mkd"), "Greek": ("ell",),
    "Hebrew": ("heb", "yid"), "Han": ("chi_sim", "chi_tra"), "HanS": ("chi_sim",), "HanT": ("chi_tra",),
    "Japanese": ("jpn",), "Hiragana": ("jpn",), "Katakana": ("jpn",), "Korean": ("kor",), "Hangul": ("kor",),
    "Devanagari": ("hin", "mar", "nep", "san"), "Bengali": ("ben", "asm"), "Thai": ("tha",), "Tamil": ("tam",),
    "Telugu": ("tel",), "Kannada": ("kan",), "Malayalam": ("mal",), "Gujarati": ("guj",), "Gurmukhi": ("pan",),
    "Georgian": ("kat",), "Armenian": ("hye",), "Ethiopic": ("amh", "tir"), "Khmer": ("khm",), "Lao": ("lao",),
    "Myanmar": ("mya",), "Sinhala": ("sin",), "Tibetan": ("bod",),
}  # fmt: skip
_EAST_ASIAN: Final = ("Han", "HanS", "HanT", "Japanese", "Hiragana", "Katakana", "Korean", "Hangul")
# Letters that were not learnt read badly; a page that reads better than this is not asked for its script, which is
# guessed wrongly on some pages that read well.
UNSURE: Final = 0.75
FAMILIAR: Final = 0.08  # the share of small words above which a text is in the languages that it was read with
_WORD = re.compile(r"[^\W\d_]{2,}")
_LONG, _FEW = 12, 6  # words


def needs_script(text: str, confidence: float, languages: Sequence[str]) -> bool:
    """Whether it pays to ask what letters these are."""
    return confidence < UNSURE and _share(_words(text), languages) < FAMILIAR


def missing_script(script: str, languages: Sequence[str]) -> Caveat | None:
    """What to say where the letters are of a script that none of the languages is written in."""
    if script not in SCRIPTS or script in _scripts(languages):
        return None
    return _caveat(f"the letters look {script}", SCRIPTS[script][:1], languages)


def missing_language(text: str, languages: Sequence[str]) -> Caveat | None:
    """What to say where a text in Latin letters has the small words of another language than those it was read with."""
    if LATIN not in _scripts(languages):
        return None
    if any(name not in FUNCTION_WORDS and _script(name) == LATIN for name in languages):
        return None  # one whose words are not known here may well be the one
    words = _words(text)
    known = frozenset[str]().union(FUNCTION_WORDS["eng"], *(FUNCTION_WORDS.get(name, ()) for name in languages))
    counted = Counter(words)
    best, hits, different = "", 0, 0
    for name, small in FUNCTION_WORDS.items():
        if name in languages:
            continue
        own = [word for word in small - known if counted[word]]
        total = sum(counted[word] for word in own)
        if total > hits:
            best, hits, different = name, total, len(own)
    enough = (hits >= 5 and different >= 4) if len(words) >= 2 * _LONG else (hits >= 3 and different >= 3)
    share = 0.10 if len(words) >= 2 * _LONG else 0.15 if len(words) >= _LONG else 0.25
    if len(words) < _FEW or not enough or hits < share * len(words):
        return None
    return _caveat(f"the words look {NAMES[best]}", (best,), languages)


def _caveat(seen: str, wanted: Sequence[str], languages: Sequence[str]) -> Caveat:
    name = wanted[0]
    return Caveat(
        CaveatKind.LANGUAGE_MISSING,
        f"{seen}, but the scan was read as {', '.join(languages)}: letters may be wrong. "
        f"Install {package_of(name)}, add '{name}' to the languages of OCR (OCR_LANGUAGES, or PUT /api/ocr/languages "
        "for this workspace) and have it read again.",
    )


def _script(language: str) -> str:
    if language.startswith("script/"):
        return language.removeprefix("script/").partition("_")[0]
    base = language.partition("_")[0] if language not in ("chi_sim", "chi_tra") else language
    return next((script for script, names in SCRIPTS.items() if base in names), LATIN)


def _scripts(languages: Sequence[str]) -> set[str]:
    """Scripts that are expected. Those of East Asia share signs: where one of them is read, none is missing."""
    found = {_script(name) for name in languages}
    return found | set(_EAST_ASIAN) if found & set(_EAST_ASIAN) else found


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("ł", "l").replace("Ł", "L"))
    plain = "".join(char for char in folded if not unicodedata.combining(char)).casefold()
    return _WORD.findall(plain)


def _share(words: Sequence[str], languages: Sequence[str]) -> float:
    known = frozenset[str]().union(*(FUNCTION_WORDS.get(name, ()) for name in languages))
    return sum(word in known for word in words) / len(words) if words else 0.0
