"""What retrieval is held against, computed in the same run: bm25s, MiniLM in full precision, and the two fused."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from cluster.models.embedding import weights
from tests.evals import irdata

DEPTH = 1000  # documents of each list
K = 60

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
Lists = Mapping[str, Sequence[str]]  # question id to document ids, best first


@dataclass(frozen=True, slots=True)
class Peers:
    """Mean nDCG@10 of each on one set; `fused` is reciprocal rank fusion with equal weights."""

    bm25s: float
    minilm: float
    fused: float


def measure(data: irdata.Set, encode: Encode) -> Peers:
    """Rank whole documents, title and text, by words, by meaning and by both."""
    words, meaning = by_words(data), by_meaning(data, encode)
    fused = {question: fuse([words[question], meaning[question]]) for question in data.questions}
    return Peers(*(_quality(data, lists) for lists in (words, meaning, fused)))


def full_precision() -> Encode:
    """The packaged MiniLM as SentenceTransformer runs it by default: fp32, cut at its window of 256 pieces."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights.locate_weights("packaged")), device="cpu", local_files_only=True)
    return lambda texts: model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)


def by_words(data: irdata.Set) -> Lists:
    """bm25s with k1 0.9 and b 0.4, English stop words, Snowball."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25(k1=0.9, b=0.4)
    texts = bm25s.tokenize(_texts(data), stopwords="en", stemmer=stemmer, show_progress=False)
    retriever.index(texts, show_progress=False)
    asked = bm25s.tokenize(list(data.questions.values()), stopwords="en", stemmer=stemmer, show_progress=False)
    found, scores = retriever.retrieve(asked, k=min(DEPTH, len(data.documents)), show_progress=False)
    ids = [text.id for text in data.documents]
    return {
        question: [ids[at] for at, score in zip(row, judged, strict=True) if score > 0]
        for question, row, judged in zip(data.questions, found, scores, strict=True)
    }


def by_meaning(data: irdata.Set, encode: Encode) -> Lists:
    """Cosine similarity of a document's one vector and the question's."""
    texts, asked = encode(_texts(data)), encode(list(data.questions.values()))
    ids = [text.id for text in data.documents]
    order = np.argsort(-(asked @ texts.T), axis=1, kind="stable")[:, :DEPTH]
    return {question: [ids[at] for at in row] for question, row in zip(data.questions, order, strict=True)}


def fuse(lists: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion, every list worth the same."""
    scores: dict[str, float] = {}
    for ranked in lists:
        for rank, document in enumerate(ranked, 1):
            scores[document] = scores.get(document, 0.0) + 1 / (K + rank)
    return sorted(scores, key=lambda document: (-scores[document], document))


def _texts(data: irdata.Set) -> list[str]:
    return [f"{text.title}\n{text.text}" for text in data.documents]


def _quality(data: irdata.Set, lists: Lists) -> float:
    return fmean(irdata.ndcg(lists[question], data.answers[question]) for question in data.questions)
