"""The documents that a question means, by what each says of itself: its file name, its titles and its first lines.

Of reports of one form every sentence fits every question; only the place, the date or the number at their head tells
which of them is asked about. The others of that form are its rivals; documents of other kinds stay as they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipelines.documents.chunk import headings
from pipelines.documents.facts.find_facts import find_facts
from pipelines.documents.facts.page_fact import FactKind
from serve_apps.retrieval.answers.evidence import inverse_frequency
from serve_apps.retrieval.text.identifiers import Identifier, KnownTerms, find_identifiers
from serve_apps.retrieval.text.words import word_tokens

NEARLY = 1e-9
MOST_MEANT = 3  # documents; a name that more are known by, such as that of the house, singles out none
LEAST_LABELS = 3  # of fields at the head of a form
SAME_LABELS = 0.5  # share of the labels that two documents of one form have in common
# Jaccard of the words of two heads: of 646 paragraphs of an encyclopaedia no two have as much, leases have .74 to .94.
SAME_WORDS = 0.4
_COMPARES = re.compile(
    r"\b(?:compar\w+|both|differ\w*|versus|vs|than|between|each|respectively|vergleich\w*|beide\w*|unterschied\w*)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[\s,]*\b(?:and|or|und|oder)\b[\s,]*(?:(?:at|in|the|of|on|for)\b\s*)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """A document as it introduces itself."""

    document_id: str
    filename: str
    text: str  # the beginning of its first page


@dataclass(frozen=True, slots=True)
class MeantDocuments:
    """The documents of a form that a question is about."""

    documents: frozenset[str] = frozenset()  # their ids; empty where the question does not say
    named: tuple[Identifier, ...] = ()  # that they are known by
    rivals: frozenset[str] = frozenset()  # ids of documents of the same form that are not meant


def find_meant_documents(question: str, heads: Sequence[DocumentHead]) -> MeantDocuments:
    """Those that are known by most of a question's identifiers, each weighed by its rarity among the heads.

    They have rivals or are forms themselves: a name in a text on a subject, such as an article on a town, singles out
    nothing; nor does one that many are known by. A question that compares means a document for each name.
    """
    identifiers = find_identifiers(question)
    if not identifiers:
        return MeantDocuments()
    dated = any(one.dates for one in identifiers)
    known = {head.document_id: KnownTerms.of((head.text, head.filename), dated=dated) for head in heads}
    having = [frozenset(one for one, terms in known.items() if terms.has(name)) for name in identifiers]
    weight = [inverse_frequency(len(some), len(heads)) for some in having]
    worth = {one: sum(value for some, value in zip(having, weight, strict=True) if one in some) for one in known}
    best = max(worth.values(), default=0.0)
    meant = {one for one, value in worth.items() if value >= best - NEARLY} if best > 0 else set[str]()
    if len(meant) > MOST_MEANT or len(meant) == len(heads) > 1:
        return MeantDocuments()
    if meant and _compares(question, identifiers):
        for some in having:
            if some and not some & meant:
                most = max(worth[one] for one in some)
                meant |= {one for one in some if worth[one] >= most - NEARLY}
    forms = {head.document_id: _DocumentForm.of(head, dated) for head in heads}
    named = [name for name, some in zip(identifiers, having, strict=True) if meant & some]
    meant = {one for one in meant if forms[one].is_known_by(named, [forms[other] for other in known if other != one])}
    rivals = {other for other in known if other not in meant and any(forms[one].is_like(forms[other]) for one in meant)}
    return MeantDocuments(frozenset(meant), tuple(named) if meant else (), frozenset(rivals))


@dataclass(frozen=True, slots=True)
class _DocumentForm:
    """What documents of one form have in common at their heads, and what tells one from the others."""

    labels: frozenset[str]  # of fields
    words: frozenset[str]  # folded, without figures
    own: KnownTerms  # what its file name, its titles and its fields say

    @classmethod
    def of(cls, head: DocumentHead, dated: bool) -> "_DocumentForm":
        fields = [one for one in find_facts(head.text) if one.kind is FactKind.FIELD]
        titles = [line for line in head.text.splitlines() if headings.is_marked(line)]
        return cls(
            frozenset(one.label.casefold() for one in fields),
            frozenset(one.word for one in word_tokens(head.text) if one.text.isalpha()),
            KnownTerms.of([head.filename, *titles, *(one.value for one in fields)], dated=dated),
        )

    def is_known_by(self, names: Sequence[Identifier], others: Sequence["_DocumentForm"]) -> bool:
        """True for a form whose fields or titles say one of the names, and for a text worded as another one is."""
        is_form = len(self.labels) >= LEAST_LABELS and any(map(self.own.has, names))
        return is_form or any(map(self._is_worded_like, others))

    def is_like(self, other: "_DocumentForm") -> bool:
        """True where both have their fields in common, or nearly all their words."""
        common, least = len(self.labels & other.labels), min(len(self.labels), len(other.labels))
        return (common >= LEAST_LABELS and common >= SAME_LABELS * least) or self._is_worded_like(other)

    def _is_worded_like(self, other: "_DocumentForm") -> bool:
        return len(self.words & other.words) >= SAME_WORDS * len(self.words | other.words) > 0


def _compares(question: str, identifiers: Sequence[Identifier]) -> bool:
    """True for a question about several things: by its words, or as two of its names are joined by `and`."""
    joined = (
        _JOINED.fullmatch(question, one.end, other.start)
        for one, other in pairwise(identifiers)
        if one.words and other.words
    )
    return _COMPARES.search(question) is not None or any(joined)
