"""Counts letters and pairs of letters by language into `pipelines/documents/extract/text/letters.txt`.

Run by hand, in an environment of its own: `pip install wordfreq opencc-python-reimplemented babel`, then
`python -m tests.evals.count_letters`. Words and their frequencies are those of wordfreq (Speer 2022,
doi:10.5281/zenodo.7199437); languages that it lacks are counted in the names of places, languages and dates of the
Unicode CLDR. Costs are natural logarithms, in halves: P = exp(-cost / 2).
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from babel import Locale
from opencc import OpenCC
from wordfreq import get_frequency_dict

TARGET = Path(__file__).parents[2] / "pipelines" / "documents" / "extract" / "letters.txt"
LATIN = (
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "da",
    "nb",
    "fi",
    "is",
    "ca",
    "et",
    "pl",
    "cs",
    "sk",
    "hu",
    "ro",
    "sl",
    "hr",
    "lt",
    "lv",
    "tr",
    "sq",
    "vi",
)
OTHER = ("ru", "uk", "bg", "sr", "mk", "be", "el", "he", "ar", "fa", "th")
HAN = ("zh", "zh-Hant", "ja", "ko")
FROM_CLDR = {"et", "sq", "be", "th"}
SERBIAN = dict(
    zip(
        [*"abvgdđežzijkl", "lj", "m", "n", "nj", *"oprstćufhcč", "dž", "š"],
        "абвгдђежзијклљмнњопрстћуфхцчџш",
        strict=True,
    )
)
# The word lists are case-folded: what that has taken from the spelling is given back.
SHARP_S = re.compile(
    "(?<=stra)ss|(?<=gr[oö])ss|(?<=[wh]ei)ss|(?<=r[ei]i)ss|(?<=bei)ss|(?<=[aä]u)ss(?=e)|(?<=\\bm[aä])ss(?=e|$|n)|"
    "(?<=f[uü])ss|(?<=s[uü])ss|(?<=lie)ss|(?<=st[oö])ss|(?<=gr[uü])ss|(?<=spa)ss|(?<=blo)ss|(?<=gem[aä])ss|(?<=drei)ss"
)
DAMPING = 0.75  # a table or a heading holds fewer of the commonest words than prose does
MOST_HAN = 3500
RAREST_LETTER, RAREST_PAIR, RAREST_ASCII_PAIR = 2e-6, 1e-5, 1e-4


def main() -> None:
    """Write the table."""
    lines = [line for lang in (*LATIN, *OTHER, *HAN) for line in counted(lang)]
    TARGET.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


def counted(lang: str) -> Iterator[str]:
    """Lines of `language, order, cost, letters or pairs of letters`, separated by tabs; `_` is what ends a word."""
    letters: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for word, share in words(lang).items():
        if lang in HAN:
            letters.update({char: share * word.count(char) for char in set(word) if not char.isascii()})
            continue
        ended = f"_{word}_"
        for before, char in pairwise(ended):
            letters[char] += share
            pairs[before + char] += share
    total = sum(letters.values())
    if lang in HAN:
        kept = {char: share / total for char, share in letters.most_common(MOST_HAN)}
    else:
        kept = {char: share / total for char, share in letters.items() if share / total > RAREST_LETTER}
    yield from by_cost(lang, 1, kept)
    first: Counter[str] = Counter()
    for pair, share in pairs.items():
        first[pair[0]] += share
    whole = sum(pairs.values())
    kept = {
        pair: share / first[pair[0]]
        for pair, share in pairs.items()
        if share / whole > (RAREST_ASCII_PAIR if pair.isascii() else RAREST_PAIR)
    }
    yield from by_cost(lang, 2, kept)


def by_cost(lang: str, order: int, chances: Mapping[str, float]) -> Iterator[str]:
    """What costs the same stands on one line."""
    costs: dict[int, list[str]] = {}
    for token, chance in chances.items():
        costs.setdefault(round(-2 * math.log(chance)), []).append(token)
    for cost, tokens in sorted(costs.items()):
        yield f"{lang}\t{order}\t{cost}\t{''.join(sorted(tokens))}"


def words(lang: str) -> Counter[str]:
    """Words of a language with their damped share of its texts."""
    found: Counter[str] = Counter()
    for given, share in source(lang):
        for written in given.lower().split():
            word = unicodedata.normalize("NFC", written.strip('()[],.«»„“"')).replace("\u0307", "")
            if lang == "de":
                word = SHARP_S.sub("ß", word)
            if lang == "el":
                word = re.sub("σ$", "ς", word)
            if lang == "ro":  # the letters that the code page has
                word = word.replace("ș", "ş").replace("ț", "ţ")
            if lang == "vi":  # the code page writes tones as marks of their own
                word = tones_apart(word)
            if word and all(char.isalpha() or unicodedata.category(char)[0] == "M" or char in "'-’" for char in word):
                found[word] += share**DAMPING
    foreign = [word for word in found if lang in (*OTHER, *HAN) and any(char.isascii() for char in word)]
    for word in foreign:
        del found[word]
    return found


def source(lang: str) -> Iterator[tuple[str, float]]:
    if lang in FROM_CLDR:
        locale = Locale.parse(lang)
        for names in (
            locale.territories,
            locale.languages,
            locale.currencies,
            locale.scripts,
            *locale.months["format"].values(),
            *locale.days["format"].values(),
        ):
            yield from ((str(name), 1e-5) for name in names.values())
    elif lang == "sr":
        yield from ((in_cyrillic(word), share) for word, share in frequencies("sh"))
    elif lang == "hr":
        yield from ((word, share) for word, share in frequencies("sh") if max(word) < "Ѐ")
    elif lang == "zh-Hant":
        convert = OpenCC("s2tw").convert
        yield from ((convert(word), share) for word, share in frequencies("zh"))
    else:
        yield from frequencies(lang)


def frequencies(code: str) -> Iterator[tuple[str, float]]:
    yield from get_frequency_dict(code, wordlist="best" if code in HAN else "small").items()


def in_cyrillic(word: str) -> str:
    for latin in ("lj", "nj", "dž", *SERBIAN):
        word = word.replace(latin, SERBIAN[latin])
    return word


def tones_apart(word: str) -> str:
    """As cp1258 has it: a letter of the alphabet, then its tone."""
    kept = []
    for char in word:
        whole = unicodedata.normalize("NFD", char)
        tones = [mark for mark in whole if mark in "\u0300\u0301\u0303\u0309\u0323"]
        kept += [unicodedata.normalize("NFC", "".join(mark for mark in whole if mark not in tones)), *tones]
    return "".join(kept)


if __name__ == "__main__":
    main()
