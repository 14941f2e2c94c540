"""The words of fields and labels: names cut at their joints, folded, with what means the same on forms."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from serve_apps.retrieval.extraction.schema_fields import SchemaField
from serve_apps.retrieval.text.lexicon import SynonymLexicon, base_forms
from serve_apps.retrieval.text.words import STOP, fold_word

FORM_TERMS: Final = Path(__file__).with_name("form_terms.txt")
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|[_\-\s./:]+")
_WORD = re.compile(r"[^\W_]+[°º]?|[#№]")
# What a description says of how a value is written, not of what it is.
_MANNER = re.compile(
    r"\b(?:exactly )?as (?:printed|written|stated|shown)\b|\b(?:numeric|number|code|name) only\b|\byyyy-mm-dd\b"
    r"|\b(?:null|none|empty) (?:if|when|where)\b.*|\be\.?g\.?,?.*|\bfor example\b.*|\bsuch as\b.*|\bdo not\b.*"
    r"|\bwithout\b.*|\bexclud\w+\b.*|\bin (?:iso|the) .{0,20}format\b|\bas an? (?:plain |positive )?number\b"
    r"|\bif any\b.*",
    re.IGNORECASE,
)
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_SAYS_LITTLE_TEXT = """field value printed document form box header section block given listed stated identified entity
exact text string number named shown entry page plain based corresponding following column table row"""
_SAYS_LITTLE = frozenset(_SAYS_LITTLE_TEXT.split())
_STOP = STOP - {"no"}  # which is a number on a form
LEAST_PART: Final = 4  # letters of a word that is looked for inside of a longer one


@dataclass(frozen=True, slots=True)
class FieldWords:
    """The words that say what a field is, lower case and without accents."""

    name: tuple[str, ...]
    description: tuple[str, ...]

    @classmethod
    def of(cls, field: SchemaField) -> "FieldWords":
        """Of its key, and of its description without what that says of the form of the value."""
        said = split_name(describe_subject(field.description))
        return cls(split_name(field.name), tuple(one for one in said if one not in _SAYS_LITTLE))


def describe_subject(description: str) -> str:
    """A description's first clause without remarks on how the value is written."""

    def drop_remark(found: re.Match[str]) -> str:
        return "" if re.match(r"\s*(?:e\.?g|not|i\.?e)\b", found[1]) else found[0]

    kept = _PARENTHESES.sub(drop_remark, description)
    return _MANNER.sub(" ", re.split(r"[;\n]|(?<=\w{3})\.\s", kept, maxsplit=1)[0])


def split_name(text: str) -> tuple[str, ...]:
    """The words of `invoiceNumber`, `invoice_number` or `Invoice no.:`, each once.

    Stop words and single letters are none, unless there is nothing else.
    """
    parts = [_plain(part) for piece in _WORD.findall(text) for part in _JOINT.split(piece) if part]
    kept = [one for one in parts if one not in _STOP and (len(one) > 1 or not one.isalpha())]
    return tuple(dict.fromkeys(kept or parts))


@lru_cache(maxsize=200_000)
def words_agree(one: str, other: str) -> float:
    """How far two words mean the same: 1 the same, 0.9 synonyms, less for abbreviations and parts of words, 0 not."""
    if one == other or _folded(one) == _folded(other):
        return 1.0
    if _groups_of(one) & _groups_of(other):
        return 0.9
    short, long = sorted((one, other), key=len)
    if len(short) >= LEAST_PART - 1 and short.isalpha() and long.startswith(short):
        return 0.8
    if len(long) < 2 * LEAST_PART or not long.isalpha():
        return 0.0
    # Languages that write words together: `rechnungsnummer` holds words for `invoice` and for `number`.
    parts = (part for part in _alike(short) if len(part) >= LEAST_PART)
    return 0.8 if any(part in long and part != long for part in parts) else 0.0


def best_agreement(word: str, others: Iterable[str]) -> float:
    """That with the word of others that fits best; 0 where there are none."""
    return max((words_agree(word, one) for one in others), default=0.0)


def share_covered(words: Sequence[str], others: Collection[str]) -> float:
    """Share of words that others mean, too, 0 to 1; 0 of none."""
    return sum(best_agreement(word, others) for word in words) / len(words) if words else 0.0


@lru_cache(maxsize=50_000)
def _folded(word: str) -> str:
    return fold_word(word)


def _plain(word: str) -> str:
    spelled = unicodedata.normalize("NFKD", word.casefold().replace("#", "no").replace("№", "no").replace("°", "o"))
    return "".join(char for char in spelled if not unicodedata.combining(char)).replace("ß", "ss")


@lru_cache(maxsize=20_000)
def _groups_of(word: str) -> frozenset[tuple[str, int]]:
    common, forms = _synonyms().known(word)[1], _form_groups()
    own = frozenset(("form", at) for form in {word, *base_forms(word)} for at in forms.get(form, ()))
    # On a form the amount of an invoice is no quantity: the words of forms are theirs alone.
    return own or frozenset(("common", at) for at in common)


@lru_cache(maxsize=20_000)
def _alike(word: str) -> frozenset[str]:
    """The word, and all that may stand for it on a form."""
    groups = _form_groups().get(word, ())
    return frozenset((word, *(other for at in groups for other in _form_lines()[at])))


@cache
def _synonyms() -> SynonymLexicon:
    return SynonymLexicon.read()


@cache
def _form_lines() -> tuple[tuple[str, ...], ...]:
    lines = FORM_TERMS.read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("# "))
    return tuple(tuple(dict.fromkeys(map(_plain, row))) for row in rows)


@cache
def _form_groups() -> dict[str, frozenset[int]]:
    groups: dict[str, set[int]] = {}
    for at, row in enumerate(_form_lines()):
        for word in row:
            groups.setdefault(word, set()).add(at)
    return {word: frozenset(found) for word, found in groups.items()}
