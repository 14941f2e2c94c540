"""The invisible text that OCR programs write behind a scan: whether it can be believed."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from pipelines.documents.document import Box
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.ocr.reading import Picture

MUCH_ODD = 0.12  # of the words: more, and no language reads so
_FEW_ON_INK, _MUCH_INK_OUTSIDE = 0.6, 0.5
_AGREE = 0.8  # of the letters, between two readings of one page
_STRANGE = re.compile(r"[~|^\\{}<>=*_`¬¦§¤¥©®�»«]|[\u0080-\u009f]|Ã.|â€|[\ue000-\uf8ff]")
_VOWELS = re.compile(r"[aeiouyäöüàáâãåæèéêëìíîïòóôõøœùúûýÿąęėįųūőűıăâîěůāēīō]", re.IGNORECASE)
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6,}", re.IGNORECASE)
_DIGIT_INSIDE = re.compile(r"[a-zß-ÿ]\d+[a-zß-ÿ]|^\d[a-zß-ÿ]{2,}|[A-Za-zß-ÿ][a-zß-ÿ]+\d+$|[a-zß-ÿ]\d[a-zß-ÿ]?\b")
_CASES = re.compile(r"[a-zß-ÿ][A-ZÀ-Þ](?![A-Za-zß-ÿ]*-)|[A-ZÀ-Þ]{2,}[a-zß-ÿ]+[A-ZÀ-Þ]|[A-ZÀ-Þ]{3,}[a-zß-ÿ]{1,2}$")
_TRIPLE = re.compile(r"([^\W\d_])\1\1", re.IGNORECASE)
_LATIN, _CYRILLIC, _GREEK = re.compile(r"[a-zA-Z]"), re.compile(r"[\u0400-\u04ff]"), re.compile(r"[\u0370-\u03ff]")
_UNITS = re.compile(
    r"^(?:\d+(?:st|nd|rd|th|er|e|x|km|kg|mm|cm|ml|kW|kWh|MHz|GHz|GB|MB|am|pm|h|s|m|g|t)|[a-z]{1,4}\d{1,2})$"
)


def odd_share(words: Sequence[str]) -> float:
    """The part of the words that no language would write so, 0 to 1; weighed by their length."""
    total = odd = 0.0
    for word in words:
        weight = min(len(word), 8)
        total += weight
        odd += weight * _is_odd(word.strip(".,;:!?()[]\"'„“”‘’-–—/"))
    singles = sum(len(word) == 1 and word.isalpha() for word in words)
    scattered = singles / len(words) if len(words) >= 8 else 0.0
    return max(odd / total if total else 0.0, scattered if scattered > 0.4 else 0.0)


def _is_odd(word: str) -> bool:
    if len(word) < 2 or "@" in word or "://" in word or word.startswith("www."):
        return False
    if _STRANGE.search(word) or _TRIPLE.search(word):
        return True
    if _LATIN.search(word) and (_CYRILLIC.search(word) or _GREEK.search(word)):
        return len(word) > 2
    if any(char.isdigit() for char in word):
        return bool(_DIGIT_INSIDE.search(word)) and not _UNITS.match(word)
    if _CASES.search(word) and not word.startswith(("Mc", "Mac", "De", "La", "Le", "Van", "O'")):
        return True
    if len(word) >= 4 and word.isascii() and word.isalpha() and not word.isupper() and not _VOWELS.search(word):
        return True
    return bool(_CONSONANTS.search(word)) and word.isascii()


def is_doubtful(layer: Sequence[PageToken], image: Picture, area: Box) -> bool:
    """True for an OCR layer that reads like no language, or whose words do not stand on the picture's ink.

    Args:
        image: grey or RGB, of the area alone, at a low resolution, without anything drawn over the picture.
        area: of the page, in fractions.
    """
    words = [token.text for token in layer]
    if odd_share(words) > MUCH_ODD:
        return True
    ink = _ink_mask(image)
    if ink is None or ink.sum() < 40:
        return False
    on_ink, inside = 0, np.zeros(ink.shape, np.bool_)
    height, width = ink.shape
    for token in layer:
        if token.box is None:
            continue
        x0, x1 = (round((x - area.x0) / (area.x1 - area.x0) * width) for x in (token.box.x0, token.box.x1))
        y0, y1 = (round((y - area.y0) / (area.y1 - area.y0) * height) for y in (token.box.y0, token.box.y1))
        tall = max(2, y1 - y0)
        rows = slice(max(0, y0 - tall), y1 + tall)
        on_ink += bool(ink[max(0, y0 - tall // 2) : y1 + tall // 2, max(0, x0) : x1 + 1].any())
        inside[rows, max(0, x0 - 2 * tall) : x1 + 2 * tall] = True
    outside = float((ink & ~inside).sum() / ink.sum())
    return on_ink < _FEW_ON_INK * len(layer) or outside > _MUCH_INK_OUTSIDE


def readings_agree(layer: Sequence[str], reading: Sequence[str]) -> bool:
    """True if two readings of a page are nearly the same, letter by letter, whatever their order of lines."""
    ours, theirs = (sorted(w for word in words if (w := _plain_letters(word))) for words in (layer, reading))
    matcher = SequenceMatcher(None, "".join(ours), "".join(theirs), autojunk=False)
    return matcher.ratio() >= _AGREE


def _plain_letters(word: str) -> str:
    return "".join(char for char in word.lower() if char.isalnum())


def _ink_mask(image: Picture) -> np.ndarray | None:
    grey = image if image.ndim == 2 else image.min(axis=2)
    low, high = np.percentile(grey, (0.5, 60))
    if high - low < 40:
        return None
    dark = grey < (low + high) / 2
    return np.asarray(dark) if dark.mean() < 0.4 else None
