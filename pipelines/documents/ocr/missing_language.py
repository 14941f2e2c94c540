"""Detects a scan in a language that OCR was not run with, by language identification and by its script.

The engine's confidence does not show it: German read with English data loses its umlauts at 0.87.
"""

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.ocr.languages.installed import package_of
from pipelines.documents.ocr.reading import EngineMissing

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LATIN: Final = "Latin"
# Tesseract's names of languages in Latin letters, ISO 639-1, and English.
LANGUAGES: Final[Mapping[str, tuple[str, str]]] = {
    "eng": ("en", "English"), "deu": ("de", "German"), "fra": ("fr", "French"), "spa": ("es", "Spanish"),
    "ita": ("it", "Italian"), "por": ("pt", "Portuguese"), "nld": ("nl", "Dutch"), "pol": ("pl", "Polish"),
    "ces": ("cs", "Czech"), "slk": ("sk", "Slovak"), "swe": ("sv", "Swedish"), "dan": ("da", "Danish"),
    "nor": ("no", "Norwegian"), "fin": ("fi", "Finnish"), "tur": ("tr", "Turkish"), "hun": ("hu", "Hungarian"),
    "ron": ("ro", "Romanian"), "hrv": ("hr", "Croatian"), "cat": ("ca", "Catalan"), "ind": ("id", "Indonesian"),
    "vie": ("vi", "Vietnamese"), "lit": ("lt", "Lithuanian"), "lav": ("lv", "Latvian"), "est": ("et", "Estonian"),
    "slv": ("sl", "Slovenian"), "isl": ("is", "Icelandic"), "sqi": ("sq", "Albanian"), "eus": ("eu", "Basque"),
    "glg": ("gl", "Galician"), "gle": ("ga", "Irish"), "cym": ("cy", "Welsh"), "mlt": ("mt", "Maltese"),
    "msa": ("ms", "Malay"), "afr": ("af", "Afrikaans"), "swa": ("sw", "Swahili"), "tgl": ("tl", "Tagalog"),
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
# Probability that a text is in none of the languages that it was read with: above it a long text is told of, a short
# one only above the second: chosen on English, Spanish and German, of which .1 % and 88 to 99 % are told of when cut
# into 6 to 40 words. Judged on one sentence in 368 languages of Latin letters: 93 % are told of, English is not.
DOUBT: Final = 0.95
DOUBT_SHORT: Final = 0.99
UNFAMILIAR: Final = 0.5  # above it a page that reads badly is asked for its script
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEW, _LONG = 6, 20  # words


def needs_script(text: str, confidence: float, languages: Sequence[str]) -> bool:
    """True where script detection pays off: a weak reading, without words or in an unfamiliar language."""
    return confidence < UNSURE and (
        not (words := _unaccented_words(text)) or _language_doubt(words, languages)[0] > UNFAMILIAR
    )


def missing_script(script: str, languages: Sequence[str]) -> Caveat | None:
    """Caveat where the letters are of a script that none of the languages is written in; else None."""
    if script not in SCRIPTS or script in _expected_scripts(languages):
        return None
    return _language_caveat(f"the letters look {script}", SCRIPTS[script][0], languages)


def missing_language(text: str, languages: Sequence[str]) -> Caveat | None:
    """Caveat where a Latin-script text is in another language than those it was read with; else None."""
    # One that cannot be told here may well be the one.
    untold = any(name not in LANGUAGES and _script_of(name) == LATIN for name in languages)
    if untold or LATIN not in _expected_scripts(languages) or (found := latin_doubt(text, languages)) is None:
        return None
    _, likeliest = found
    return _language_caveat(f"the words look {LANGUAGES[likeliest][1]}", likeliest, languages)


def missing_detection(error: EngineMissing) -> Caveat:
    """Caveat of a page that reads badly where nothing can tell how it stands or what letters it has."""
    return Caveat(
        CaveatKind.LANGUAGE_MISSING,
        f"this page reads badly, and nothing could tell how it stands and in which letters it is: {error.detail}. "
        f"{error.hint}, and have it read again.",
    )


def _language_caveat(seen: str, name: str, languages: Sequence[str]) -> Caveat:
    return Caveat(
        CaveatKind.LANGUAGE_MISSING,
        f"{seen}, but the scan was read as {', '.join(languages)}: letters may be wrong. "
        f"Install {package_of(name)}, add '{name}' to the languages of OCR (OCR_LANGUAGES, or PUT /api/ocr/languages "
        "for this workspace) and have it read again.",
    )


def _script_of(language: str) -> str:
    if language.startswith("script/"):
        return language.removeprefix("script/").partition("_")[0]
    base = language.partition("_")[0] if language not in ("chi_sim", "chi_tra") else language
    return next((script for script, names in SCRIPTS.items() if base in names), LATIN)


def _expected_scripts(languages: Sequence[str]) -> set[str]:
    """Scripts that are expected. Those of East Asia share signs: where one of them is read, none is missing."""
    found = {_script_of(name) for name in languages}
    return found | set(_EAST_ASIAN) if found & set(_EAST_ASIAN) else found


def _unaccented_words(text: str) -> list[str]:
    """Words without their marks: those that were read with data of another language have lost them, too."""
    folded = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("ł", "l").replace("Ł", "L"))
    return _WORD.findall("".join(char for char in folded if not unicodedata.combining(char)))


def latin_doubt(text: str, languages: Sequence[str]) -> tuple[float, str] | None:
    """Probability that a Latin-script text is in none of these languages, and the likeliest other one by its words.

    None where it has too few words to tell, or the probability is too low to believe it.
    """
    words = _unaccented_words(text)
    if len(words) < _FEW:
        return None
    doubt, likeliest = _language_doubt(words, languages)
    return None if doubt < (DOUBT if len(words) >= _LONG else DOUBT_SHORT) else (doubt, likeliest)


def _language_doubt(words: Sequence[str], languages: Sequence[str]) -> tuple[float, str]:
    """Probability that a text is in none of these languages nor in English, and the likeliest other one."""
    likely = rank_codes(" ".join(words), {code: name for name, (code, _) in LANGUAGES.items()})
    known = {"eng", *languages}
    other = {name: share for name, share in likely.items() if name not in known}
    own = sum(share for name, share in likely.items() if name in known)
    return 1.0 - own, max(other, key=other.__getitem__, default="eng")


def rank_codes(text: str, names: Mapping[str, str]) -> dict[str, float]:
    """Probability of each of some languages, by the name that its code (ISO 639-1) is given, if it is one of them."""
    shares = {names[code]: float(share) for code, share in _language_identifier().rank(text) if code in names}
    whole = sum(shares.values())
    return {name: share / whole if whole else 1 / len(shares) for name, share in shares.items()}


@functools.cache
def _language_identifier() -> "LanguageIdentifier":
    """Naive Bayes over byte sequences (langid.py, Lui and Baldwin 2012); its model is 100 MB once it is needed."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
