"""Letter statistics: how well a text fits a language, by the cost of its letters and letter pairs, in nats."""

import functools
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TABLE = Path(__file__).with_name("letters.txt")
HAN: Final = frozenset(("zh", "zh-Hant", "ja", "ko"))

_ASCII = 3.0  # of any ASCII character: it is the same in nearly every reading,
_ASCII_TELLS = 0.3  # and tells of the language only, as far as this
_RARE_PAIR = 3.0  # on top of the letter's own cost, where the pair was not counted
_FOREIGN_LETTER = 14.0
_RARE_HAN = 13.5
_SYMBOL = 9.0
_BROKEN = 18.0
_TWO_SCRIPTS = 8.0
_INSIDE_A_WORD = 5.0
_CAPITAL_INSIDE = 5.0
_CAPITAL_FIRST = 1.2
_NARROW_KANA = 1.5
_NO_OWN_LETTERS = 10.0
_SMALL_BESIDE_HAN = 4.0

# Signs that texts of every language use: what they cost, and on which side a letter may stand: left, right.
_SIGNS: Final[Mapping[str, tuple[float, str]]] = {
    "\xa0": (6.5, "lr"), "’": (4.0, "lr"), "‘": (6.0, "r"), "“": (4.5, "lr"), "”": (4.5, "l"), "„": (4.5, "r"),
    "–": (4.5, ""), "—": (5.0, "lr"), "…": (5.5, "l"), "•": (5.5, ""), "€": (4.5, ""), "°": (4.5, "r"),
    "§": (5.0, ""), "«": (5.0, "lr"), "»": (5.0, "lr"), "²": (5.5, "l"), "³": (5.5, "l"), "½": (6.5, ""),
    "¼": (7.0, ""), "×": (6.0, ""), "±": (6.0, ""), "µ": (6.0, "r"), "·": (6.5, "l"), "£": (5.5, ""), "®": (6.5, "l"),
    "™": (6.5, "l"), "©": (6.5, ""), "№": (5.5, ""), "º": (6.0, "l"), "ª": (6.5, "l"), "¿": (6.5, "r"),
    "¡": (6.5, "r"), "‰": (7.5, ""), "¹": (7.5, "l"), "­": (6.5, "lr"), "‚": (7.5, "r"), "´": (7.0, "lr"),
    "\u200c": (4.5, "lr"), "\u200e": (7.0, ""), "\u200f": (7.0, ""), "،": (3.5, "l"), "؛": (5.5, "l"),
    "؟": (5.0, "l"),
}  # fmt: skip
_HAN_SIGNS: Final = frozenset(
    "、。，：；（）「」『』・！？《》〈〉【】〔〕“”‘’—…～％／－　＝＋＆｜〜→○●■□△▲▼◆◇※①②③④⑤⑥⑦⑧⑨⑩℃㎡Ｎ￥·×±"
)


@dataclass(frozen=True, slots=True)
class LetterCosts:
    """Costs of a language's letters, and of its pairs of which one is not ASCII; a word's end is `_`."""

    alone: Mapping[str, float]
    pairs: Mapping[str, float]


@functools.cache
def load_letter_costs() -> Mapping[str, LetterCosts]:
    """All that were counted, by language."""
    found: dict[str, LetterCosts] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        lang, order, cost, tokens = line.split("\t")
        own = found.setdefault(lang, LetterCosts({}, {}))
        counted, step = (own.alone, 1) if order == "1" else (own.pairs, 2)
        counted |= {tokens[at : at + step]: int(cost) / 2 for at in range(0, len(tokens), step)}  # type: ignore[operator]
    return found


def pairs_of(text: str) -> Counter[tuple[str, str]]:
    """Every character with the one before it; a text begins after a line end."""
    return Counter(zip("\n" + text, text, strict=False))


def text_cost(pairs: Mapping[tuple[str, str], int], lang: str) -> float:
    """The cost of a text of these pairs in a language: the less, the likelier it is that language."""
    total = sum(count * _pair_cost(before, char, lang) for (before, char), count in pairs.items())
    return total + (0.0 if _has_own_letters(pairs, lang) else _NO_OWN_LETTERS)


def out_of_place(pairs: Mapping[tuple[str, str], int], lang: str) -> int:
    """Count characters that no text of a language has there: foreign letters, signs within words, broken ones."""
    return sum(count for (before, char), count in pairs.items() if _pair_cost(before, char, lang) >= _FOREIGN_LETTER)


def _has_own_letters(pairs: Mapping[tuple[str, str], int], lang: str) -> bool:
    """Languages that are not written in Latin have letters, and not only signs, in a text of theirs."""
    alone = load_letter_costs()[lang].alone
    return "e" in alone or any(char.isalpha() and _fold_case(char) in alone for _, char in pairs)


@functools.lru_cache(maxsize=1 << 17)
def _pair_cost(before: str, char: str, lang: str) -> float:
    if before < "\x80" and char < "\x80":
        return _ascii_cost(before, char, load_letter_costs()[lang])
    if lang in HAN:
        return _han_cost(char, load_letter_costs()[lang]) + _beside_han(before, char)
    return _alphabet_cost(before, char, load_letter_costs()[lang])


def _ascii_cost(before: str, char: str, letters: LetterCosts) -> float:
    if "e" not in letters.alone or not (before.isalpha() or char.isalpha()):
        return _ASCII
    usual = letters.pairs.get(
        _fold_case(before) + _fold_case(char), letters.alone.get(_fold_case(char), 6.0) + _RARE_PAIR
    )
    return _ASCII + _ASCII_TELLS * (min(usual, 9.0) - _ASCII)


def _beside_han(before: str, char: str) -> float:
    """Names and numbers stand among Chinese characters, single small letters hardly do."""
    return _SMALL_BESIDE_HAN if "a" <= before <= "z" or "a" <= char <= "z" else 0.0


def _han_cost(char: str, letters: LetterCosts) -> float:
    if char < "\x80":
        return _ASCII
    if "ｦ" <= char <= "ﾟ":
        wide = unicodedata.normalize("NFKC", char)
        return letters.alone.get(wide, 5.0) + _NARROW_KANA
    if (known := letters.alone.get(char)) is not None:
        return known
    if char in _HAN_SIGNS:
        return 4.5
    if "０" <= char <= "ｚ":
        return 6.0
    if _is_broken(char):
        return _BROKEN
    return _RARE_HAN if char >= "⺀" else _FOREIGN_LETTER


def _alphabet_cost(before: str, char: str, letters: LetterCosts) -> float:
    q, r = _fold_case(before), _fold_case(char)
    if char < "\x80" and r == "_":
        return _ASCII / 2 + letters.pairs.get(q + "_", 3.0) if q != "_" else _ASCII
    if r == "_":
        return _sign_cost(before, char)
    extra = _case_cost(before, char)
    if before in _SIGNS and "r" not in _SIGNS[before][1]:
        extra += _INSIDE_A_WORD
    own = letters.alone.get(r)
    if own is None:
        known = char < "\x80"
        mixed = _TWO_SCRIPTS if q != "_" and (q < "\x80") != (r < "\x80") else 0.0
        return extra + (_ASCII + mixed if known else _FOREIGN_LETTER)
    if (pair := letters.pairs.get(q + r)) is not None:
        return extra + pair
    mixed = _TWO_SCRIPTS if q != "_" and q not in letters.alone else 0.0
    return extra + min(own + _RARE_PAIR, _FOREIGN_LETTER) + mixed


def _sign_cost(before: str, char: str) -> float:
    if _is_broken(char):
        return _BROKEN
    price, sides = _SIGNS.get(char, (_SYMBOL, ""))
    return price + (_INSIDE_A_WORD if before.isalpha() and "l" not in sides else 0.0)


def _case_cost(before: str, char: str) -> float:
    """A capital begins a word or follows another capital."""
    if not char.isupper():
        return 1.0 if before.isupper() and char.islower() else 0.0
    if not before.isalpha():
        return _CAPITAL_FIRST
    return _CAPITAL_INSIDE if before.islower() else 0.2


def _fold_case(char: str) -> str:
    if char in _SIGNS:
        return "_"
    if not char.isalpha() and not unicodedata.category(char).startswith("M"):
        return char if char in "'-" else "_"
    return char.lower()[0]  # the small form of the Turkish İ has a mark of its own


def _is_broken(char: str) -> bool:
    return "\x80" <= char <= "\x9f" or char == "\ufffd" or unicodedata.category(char) in ("Co", "Cn", "Cc")
