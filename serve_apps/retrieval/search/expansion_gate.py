"""Gate of query expansion: rules, without a model, that decide whether a question is worth a model's help."""

import re
from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

from serve_apps.retrieval.search.query import SearchQuery


class ExpansionTechnique(StrEnum):
    """Techniques of query expansion.

    HyDE (Gao et al. 2022) is a passage as it would stand in an answering document.
    """

    HYDE = "hyde"
    DECOMPOSE = "decompose"
    CONCEPTS = "concepts"


@dataclass(frozen=True, slots=True)
class ExpansionVerdict:
    """Techniques that a question calls for, none where it is better searched for as it is, and why."""

    techniques: Set[ExpansionTechnique]
    why: str


_FILENAME = re.compile(
    r"\b[\w-]+\.(pdf|docx?|pptx?|xlsx?|csv|tsv|txt|md|html?|eml|msg|rtf|json|xml|png|jpe?g|tiff?)\b", re.I
)
# E0425, ORA-00942, 0x80070005, AB-1234/7: letters and digits in one word, which says more than any paraphrase.
_CODE = re.compile(
    r"\b(?:0x[0-9a-f]{3,}|[a-z]{1,10}[-_/]?\d{2,}[\w/-]*|\d+[-_/][a-z]\w*|(?:[a-z]+_){1,}[a-z]+)\b", re.I
)
_QUOTED = re.compile(r"[\"“«„][^\"”»“]{3,}[\"”»“]")
_PARTS = re.compile(
    r"\?[^?]*\?|;|\b(?:and|then|also)\s+(?:also\s+)?(?:what|who|whom|whose|when|where|which|why|how|is|are|was|were|do|"
    r"does|did|can|could|should|will|would|list|explain|describe|compare|give|name|summari[sz]e)\b"
    r"|\b(?:first(?:ly)?|second(?:ly)?)\b.*\b(?:second(?:ly)?|third(?:ly)?|then)\b",
    re.IGNORECASE | re.DOTALL,
)
_SEVERAL = re.compile(
    r"\b(?:compare[ds]?|comparison|contrast|versus|vs\.?|differences?\s+between|differ(?:s|ed)?|similarit(?:y|ies)|"
    r"across|each of|every|all (?:the )?(?:documents?|files?|reports?|contracts?|policies|manuals?)|"
    r"which (?:documents?|files?|reports?|contracts?|policies)|(?:both|between)\b.*\band|trends?|over time)\b",
    re.IGNORECASE | re.DOTALL,
)
_VAGUE = re.compile(
    r"\b(?:anything|something|stuff|things?|overview|in general|generally|roughly|tell me (?:more )?about|"
    r"what(?:'s| is| are) (?:all )?(?:this|that|it|these|those)|talk about|information (?:on|about)|know about)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_FEW = 2  # words; a question of no more leaves open what is wanted


def judge_expansion(query: SearchQuery, least_ms: int) -> ExpansionVerdict:
    """Decide by the question and its filters; what speaks against help weighs more.

    `least_ms`: what help takes; a caller who waits for less gets none.
    """
    if against := _reason_against(query, least_ms):
        return ExpansionVerdict(frozenset(), against)
    text = query.words
    if _SEVERAL.search(text):
        return ExpansionVerdict(
            frozenset({ExpansionTechnique.DECOMPOSE, ExpansionTechnique.CONCEPTS}), "it spans several documents"
        )
    if _PARTS.search(text):
        return ExpansionVerdict(frozenset({ExpansionTechnique.DECOMPOSE}), "it has several parts")
    if _VAGUE.search(text) or len(_WORD.findall(text)) <= _FEW:
        return ExpansionVerdict(frozenset({ExpansionTechnique.HYDE, ExpansionTechnique.CONCEPTS}), "it is vague")
    return ExpansionVerdict(frozenset(), "the question is plain")


def _reason_against(query: SearchQuery, least_ms: int) -> str:
    filters, text = query.filters, query.words
    if query.patience_ms is not None and query.patience_ms < least_ms:
        return f"the caller waits {query.patience_ms} ms, and help takes {least_ms}"
    if filters.source_file or (filters.document_ids is not None and len(filters.document_ids) <= 1):
        return "a single document is searched"
    if _FILENAME.search(text):
        return "it names a file"
    if _CODE.search(text):
        return "it holds a code, which says it exactly"
    if _QUOTED.search(text):
        return "it quotes what it looks for"
    return ""
