"""Which sentences of the passages say what a model says without a quote: small models answer well and quote badly.

Such a claim is held to more than a quoted one: its question lends it no name that its document does not know, and its
words are weighed, so that a rare one that stands nowhere is not made up for by common ones that do.
"""

from collections.abc import Sequence

from serve_apps.retrieval import evidence, support
from serve_apps.retrieval.evidence import Sentence
from serve_apps.retrieval.query import Hit
from serve_apps.retrieval.quote import LEAST_WORDS
from serve_apps.retrieval.values import numbers
from serve_apps.retrieval.words import content, tokens

LEAST_COVERED = 0.7  # of a claim's words beyond its titles', weighed by rarity
LEAST_TOGETHER = 0.9  # by two sentences: words from here and there soon look like a claim
SAME_BY_WORDS = 1.0  # similarity that is given where words have been compared already
TRIED = 5  # sentences, those with most of a claim


class Passages:
    """The sentences of passages, titles included, and the words of each."""

    def __init__(self, question: str, hits: Sequence[Hit]) -> None:
        """The passages that an answer to the question may rest on."""
        self._hits = hits
        self._sentences = evidence.split(hits, titled=True)
        self._words = [frozenset(content(one.text)) for one in self._sentences]
        self._titles = [[*hit.headings, hit.filename] for hit in hits]
        self._above = [frozenset(word for title in titles for word in content(title)) for titles in self._titles]
        known = dict[str, set[str]]()
        for one, words in zip(self._sentences, self._words, strict=True):
            known.setdefault(hits[one.hit].version_id, set()).update(words)
        asked = list(tokens(question))
        self._lent = {
            document: " ".join(one.text for one in asked if one.word in words) for document, words in known.items()
        }

    def supporting(self, claim: str) -> list[Sentence]:
        """The sentence that says it, or the two of one document that do together; empty where there are none."""
        said = frozenset(content(claim))
        if len(said) < LEAST_WORDS:
            return []  # a name or a number stands in many sentences and proves nothing
        weight = evidence.rarity(said, self._words)
        worth = [sum(weight[word] for word in said & words) for words in self._words]
        first = sorted((at for at, value in enumerate(worth) if value), key=lambda at: -worth[at])[:TRIED]
        tried = [*([at] for at in first), *(self._pair(at, said, weight) for at in first)]
        found = next((chosen for chosen in tried if self._say(claim, said, weight, chosen)), [])
        return [self._sentences[at] for at in found]

    def _pair(self, at: int, said: frozenset[str], weight: dict[str, float]) -> list[int]:
        """A sentence with the one of its document that has most of what is left of a claim."""
        left = said - self._words[at]
        others = [one for one in range(len(self._words)) if one != at and self._document(one) == self._document(at)]
        return [at, *sorted(others, key=lambda one: -sum(weight[word] for word in left & self._words[one]))[:1]]

    def _texts(self, chosen: Sequence[int]) -> list[str]:
        return [self._sentences[at].text for at in chosen]

    def _document(self, at: int) -> str:
        return self._hits[self._sentences[at].hit].version_id

    def _say(self, claim: str, said: frozenset[str], weight: dict[str, float], chosen: Sequence[int]) -> bool:
        """Whether these sentences say a claim; words of their titles alone are what it is about, and no proof."""
        hits = {self._sentences[at].hit for at in chosen}
        there = frozenset[str]().union(*(self._words[at] for at in chosen))
        wanted = [word for word in said if word in there or not any(word in self._above[hit] for hit in hits)]
        whole = sum(weight[word] for word in wanted)
        covered = sum(weight[word] for word in wanted if word in there) / whole if whole else 0.0
        if covered < LEAST_COVERED:
            return False
        scattered = len(chosen) > 1 and not self._anchored(claim, chosen)
        if scattered and (covered < LEAST_TOGETHER or numbers(claim, digits_only=True)):
            return False  # what a number counts, its own sentence has to tell
        # A negation belongs to its own sentence: another's does not deny the claim.
        negations = [support.denied(text) for text in self._texts(chosen)]
        alike = support.denied(claim) in negations and set().union(*negations) <= support.denied(claim)
        return alike and self._objection(claim, chosen) is None

    def _anchored(self, claim: str, chosen: Sequence[int]) -> bool:
        """Whether one sentence has every number of a claim, if it has any, and every name."""
        return bool(numbers(claim)) and any(self._objection(claim, [at]) is None for at in chosen)

    def _objection(self, claim: str, chosen: Sequence[int]) -> str | None:
        lent = self._lent[self._document(chosen[0])]
        about = [title for hit in {self._sentences[at].hit for at in chosen} for title in self._titles[hit]]
        return support.objection(claim, self._texts(chosen), about, lent, SAME_BY_WORDS)
