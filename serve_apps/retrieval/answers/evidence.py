"""Evidence sentences of the hits, scored by the words they share with a question and by cosine similarity."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pipelines.documents.chunk import headings
from pipelines.documents.chunk.sentences import sentences
from serve_apps.retrieval.search.query import SearchHit

LONGEST = 600  # characters of a quote; a longer sentence is a table or a list and is cut at its lines
SHORTEST = 12  # characters; below stand page numbers and the like
_ITEM = re.compile(r"\s*(?:[-*•–|]|\d{1,2}[.)])\s*\S")


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A sentence of a hit and where it stands on its page: characters [start, end); `title`: of Markdown."""

    hit: int
    page: int
    start: int
    end: int
    text: str
    title: bool = False


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence and how well it supports an answer."""

    sentence: EvidenceSentence
    coverage: float  # share of the question's words, weighted by rarity, that stand in the sentence or above it, 0 to 1
    similarity: float | None  # cosine to the question; None when no embedder answered

    @property
    def score(self) -> float:
        """Both, of equal weight; the coverage alone where there is no similarity."""
        return self.coverage if self.similarity is None else (self.coverage + self.similarity) / 2


def split_hits(hits: Sequence[SearchHit], *, titled: bool = False) -> list[EvidenceSentence]:
    """Every sentence of the hits, each place of a page once; none crosses a page or the border of a span.

    Markdown titles among them are sentences only where they are asked for, by `titled`.
    """
    seen: set[tuple[str, int, int]] = set()
    found = []
    for at, hit in enumerate(hits):
        for page, start, text in _span_texts(hit):
            for begin, end, title in _cut_sentences(text):
                place = (hit.version_id, page, start + begin)
                if end - begin >= SHORTEST and place not in seen and (titled or not title):
                    seen.add(place)
                    found.append(EvidenceSentence(at, page, start + begin, start + end, text[begin:end], title))
    return found


def question_coverage(
    question: Sequence[str], lexemes: Sequence[Sequence[str]], above: Sequence[Sequence[str]]
) -> list[float]:
    """Share of the question's lexemes that each sentence covers, weighted by rarity.

    `lexemes`: those of each sentence; rarity is counted among them, and a word in none of them is the rarest. `above`:
    those of the titles over each sentence, which give it its subject.
    """
    rarity = WordRarity(lexemes)
    weight = {word: rarity.of(word) for word in question}
    whole = sum(weight.values())
    if not whole:
        return [0.0] * len(lexemes)
    return [
        sum(weight[word] for word in weight if word in own or word in titles) / whole
        for own, titles in zip(map(set, lexemes), map(set, above), strict=True)
    ]


class WordRarity:
    """BM25's inverse document frequency of words among sentences; one in none of them is the rarest."""

    def __init__(self, sentences: Sequence[Collection[str]]) -> None:
        """`sentences` are the words of each."""
        self._counts, self._total = Counter(word for one in sentences for word in set(one)), len(sentences)

    def of(self, word: str) -> float:
        """The weight of a word."""
        return inverse_frequency(self._counts[word], self._total)


def inverse_frequency(count: int, total: int) -> float:
    """BM25's inverse document frequency of what stands in `count` of `total` texts."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def cosine_similarities(vectors: NDArray[np.float32]) -> list[float]:
    """Cosine of each row but the first to the first; rows have length 1, shape (sentences + 1, dimension)."""
    return [float(value) for value in vectors[1:] @ vectors[0]]


def best_sentences(judged: Sequence[ScoredSentence], *, most: int = 3, share: float = 0.85) -> list[ScoredSentence]:
    """The best sentence and up to `most` - 1 others nearly as good, best first; equals in the hits' order."""
    ordered = sorted(judged, key=lambda one: -one.score)
    if not ordered:
        return []
    least = ordered[0].score * share
    chosen: list[ScoredSentence] = []
    for one in ordered:
        said = one.sentence.text.split()
        if one.score >= least and all(said != other.sentence.text.split() for other in chosen):
            chosen.append(one)
    return chosen[:most]


def with_list(sentence: EvidenceSentence, hit: SearchHit) -> EvidenceSentence:
    """A sentence that ends in a colon together with the list it announces, as far as a quote may go."""
    if not sentence.text.rstrip("*_ ").endswith(":"):
        return sentence
    for page, offset, text in _span_texts(hit):
        if page != sentence.page or not offset <= sentence.start < offset + len(text):
            continue
        at = stop = sentence.end - offset
        for line in text[at:].splitlines(keepends=True):
            at += len(line)
            if at - len(line) == sentence.end - offset and not line.strip("*_ \n"):
                continue  # the rest of the sentence's own line
            if line.strip() and (not _ITEM.match(line) or at + offset - sentence.start > LONGEST):
                break
            stop = at if line.strip() else stop
        end = len(text[:stop].rstrip())
        return replace(sentence, end=offset + end, text=text[sentence.start - offset : end])
    return sentence


def join_sentences(first: EvidenceSentence, last: EvidenceSentence, hit: SearchHit) -> EvidenceSentence | None:
    """All from the first to the last, in one hit, as one quote; None where that is too long or crosses spans."""
    if last.page != first.page or last.end - first.start > LONGEST:
        return None
    for page, offset, text in _span_texts(hit):
        if page == first.page and offset <= first.start and last.end <= offset + len(text):
            return replace(first, end=last.end, text=text[first.start - offset : last.end - offset])
    return None


def _span_texts(hit: SearchHit) -> Iterator[tuple[int, int, str]]:
    """(page, offset in the page, text) of each span; a chunk's text is its spans' texts joined by newlines."""
    at = 0
    for span in hit.spans:
        length = span.end - span.start
        yield span.page, span.start, hit.text[at : at + length]
        at += length + 1


def _cut_sentences(text: str) -> Iterator[tuple[int, int, bool]]:
    """Sentences without the white space around them, and whether each is a title; blank lines always end one."""
    for block, after, title in _text_blocks(text):
        is_row = text.startswith("|", block) and after - block <= LONGEST
        for start, end in [(block, after)] if is_row else sentences(text, block, after):
            while end - start > LONGEST:
                line = text.rfind("\n", start, start + LONGEST)
                stop = line if line > start else start + LONGEST
                yield from _strip_span(text, start, stop, title)
                start = stop
            yield from _strip_span(text, start, end, title)


def _text_blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Paragraphs, list items, table rows and Markdown titles, and which are those: a sentence crosses none of them.

    A line behind an item, set in from the left, goes on with it.
    """
    start = at = 0
    item = False
    for line in text.splitlines(keepends=True):
        title = headings.is_marked(line.strip())
        mark = line.lstrip()[:1]
        if title or mark in ("|", "-", "*", "•", ""):
            if at > start:
                yield start, at, False
            item = not title and mark in ("-", "*", "•")
            start = at if item else at + len(line)
            if not item:
                yield at, at + len(line), title
        elif item and not line.startswith(("  ", "\t")):
            yield start, at, False
            start, item = at, False
        at += len(line)
    if at > start:
        yield start, at, False


def _strip_span(text: str, start: int, end: int, title: bool) -> Iterator[tuple[int, int, bool]]:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    stop = begin + len(piece.strip())
    if stop > begin:
        yield begin, stop, title
