"""Literals of a question, to be found as they are written: identifiers, and phrases in quotes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.documents.chunk.unspaced import UNSPACED
from serve_apps.retrieval.search.fuse import RankedChunk

MOST = 16  # of either kind in one question
LONGEST = 200  # characters of one that is not required
_PLAIN = str.maketrans("‐‑‒–−“”„‟«»", '-----""""""')
# As they are typed among Chinese and Japanese letters: full-width, and brackets that quote.
_WIDE: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    0x3000: " ",
    **dict.fromkeys(map(ord, "「『《"), ' "'),
}
_WIDE |= dict.fromkeys(map(ord, "」』》"), '" ')
_PLUS_BRACKET = re.compile("[+＋][「『《]")  # would have a blank between
_TOKEN = re.compile(r"[a-z0-9]+(?:[-_./:#][a-z0-9]+)*")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_FILE = re.compile(r"[a-z0-9_-]{2,}\.[a-z][a-z0-9]{1,4}(?![a-z0-9])")
_COUNTED = re.compile(r"\d+(?:st|nd|rd|th|s|k|m|x|%|am|pm)")  # 5th, 1990s: numbers in words, no names
_DATED = re.compile(r"[a-z]{3,}-?(?:19|20)\d\d|(?:19|20)\d\d-?[a-z]{3,}")  # a word with its year
_MEASURED = re.compile(r"\d+(?:\.\d+)?(?:[-/:]\d+(?:\.\d+)?)?")  # with a point: a decimal number, or a span of two
# A quote opens after a blank or a bracket and closes before one or a punctuation mark, so 12.9" is an inch. Beside
# letters of scripts without spaces there is none.
_QUOTED = re.compile(
    rf'(?:(?<=[\s(\[，：{UNSPACED}])|(?<=^))(\+)?"([^\s"][^"]*?)"(?=[\s)\].,;:?!。，、：；！？）{UNSPACED}]|$)'
)


@dataclass(frozen=True, slots=True)
class QuestionLiterals:
    """Identifiers and quoted phrases of a question."""

    codes: tuple[str, ...] = ()  # lower case; part numbers, error codes, file names, versions and the like
    phrases: tuple[str, ...] = ()  # as they stand between the quotes
    required: tuple[str, ...] = ()  # those of them without which a passage is no answer

    def __bool__(self) -> bool:
        return bool(self.codes or self.phrases)


def find_literals(question: str, *, must: bool = False) -> QuestionLiterals:
    """The identifiers and quoted phrases of a question, each once, in its order.

    A phrase with a `+` before its quotes is required, and with `must` every one is. A question that is quoted from end
    to end quotes nothing unless that is required. A version is also looked for with and without its `v`.
    """
    plain = _PLUS_BRACKET.sub(' +"', question.translate(_PLAIN)).translate(_WIDE).strip()
    quoted = [(must or bool(plus), part.strip()) for plus, part in _QUOTED.findall(plain)]
    found = [(needed, part) for needed, part in quoted if re.search(r"\w", part) and (needed or len(part) <= LONGEST)]
    phrases = [part for needed, part in found if needed or len(part) + 2 < len(plain)]
    tokens = [token for token in _TOKEN.findall(plain.lower()) if len(token) <= LONGEST]
    codes = [token for token in tokens if is_identifier(token)]
    spelled = [spelling for code in codes for spelling in _version_spellings(code)]
    required = _first_unique(part for needed, part in found if needed)
    return QuestionLiterals(_first_unique(spelled), _first_unique([*required, *phrases]), required)


def is_identifier(token: str) -> bool:
    """True where a lower-case run of letters, digits and joints names one thing rather than says something.

    Short names such as `covid-19` or `gta6` are written in many ways, so whoever writes them otherwise would be put
    behind: they are words among words, rare ones at that, which BM25 weighs. So are numbers with a decimal point: a
    report has many, and each stands in many others.
    """
    letters, digits = bool(re.search("[a-z]", token)), sum(map(str.isdigit, token))
    joints = len(re.findall("[-_./:#]", token))
    if "." in token and _MEASURED.fullmatch(token):
        return False
    if not digits:
        return "_" in token or _FILE.search(token) is not None
    if letters:
        named = digits > 2 or joints > 1 or _VERSION.fullmatch(token) or "_" in token or _FILE.search(token)
        return bool(named) and _COUNTED.fullmatch(token) is None and _DATED.fullmatch(token) is None
    if joints == 1:  # a span of years, a fraction or a time of day is no name
        return any(len(part) > 4 or part.startswith("0") for part in re.split("[-_./:#]", token))
    return joints > 1 or digits > 4


def add_literal_matches(
    ranked: Sequence[RankedChunk],
    held: Mapping[str, tuple[str, frozenset[str]]],
    asked: QuestionLiterals,
    *,
    in_front: bool = True,
) -> list[RankedChunk]:
    """Chunks ranked by words with what they hold literally; those that hold more identifiers come first.

    `held`: chunk id to document id and which of `asked` stand in it; such a chunk is found even if `ranked` lacks it.
    `in_front` False: of a long question, which names many things beside the one that it is about, identifiers are
    preferred as quoted phrases are.
    """
    if not in_front:
        asked = QuestionLiterals(phrases=(*asked.phrases, *asked.codes))
    known = {one.chunk_id for one in ranked}
    last = ranked[-1].score if ranked else 0.0
    missed = [RankedChunk(chunk, document, last) for chunk, (document, _) in sorted(held.items()) if chunk not in known]
    marked = [
        _mark_literals(one, held[one.chunk_id][1], asked) if one.chunk_id in held else one for one in [*ranked, *missed]
    ]
    return sorted(marked, key=lambda one: -one.literal)  # stable: equals stay as ranked


def rank_by_phrases(keyword: Sequence[RankedChunk]) -> list[RankedChunk]:
    """Chunks ranked by words that hold what is preferred, by how much; equals stay as ranked."""
    holding = [one._replace(score=float(one.quoted), literal=0) for one in keyword if one.quoted]
    return sorted(holding, key=lambda one: -one.quoted)


def _mark_literals(one: RankedChunk, holds: frozenset[str], asked: QuestionLiterals) -> RankedChunk:
    return one._replace(literal=len(holds.intersection(asked.codes)), quoted=len(holds.intersection(asked.phrases)))


def _version_spellings(code: str) -> tuple[str, ...]:
    version = _VERSION.fullmatch(code)
    return (version.group(1), f"v{version.group(1)}") if version else (code,)


def _first_unique(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts))[:MOST]
