"""XQuAD in six languages: each language's paragraphs in a workspace of its own, and all of them in one."""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx

from cluster.models.embedding.embedders import open_embedder
from cluster.models.embedding.prefixes import embed_passages, embed_queries
from cluster.models.ports import Embedder, EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings
from tests.evals.qa_data import spread
from tests.evals.qa_shelf import Shelf, post
from tests.evals.report import Report
from tests.instance import Instance

LANGUAGES = ("en", "de", "es", "ru", "ar", "zh")
BEST = 5  # documents that a question may find its own among
RECALL = 0.85
MULTILINGUAL_RECALL = 0.9
RATIO = 0.8  # of what English has
GOAL = (
    "xquad (en, de, es, ru, ar, zh, paragraphs as documents): with the default embedder the keyword leg alone ≥ .85 "
    "recall@5 in each, truth in the answer ≥ 80 % of English's"
)
MULTILINGUAL = "xquad: recall@5 of the multilingual option ≥ .90 in each language"


@dataclass(frozen=True, slots=True)
class ParallelQuestion:
    """A question, the name of its paragraph's file, and what answers it."""

    text: str
    file: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LanguageSet:
    """The paragraphs of a language by the names of their files, and the questions to them."""

    code: str
    paragraphs: Mapping[str, str]
    questions: Sequence[ParallelQuestion]

    @classmethod
    def read(cls, folder: Path, code: str, count: int) -> "LanguageSet":
        """The set of a language with so many of its questions; titles, which are English, are left out."""
        paragraphs: dict[str, str] = {}
        questions: list[ParallelQuestion] = []
        for article in json.loads((folder / f"xquad.{code}.json").read_text(encoding="utf-8"))["data"]:
            for one in article["paragraphs"]:
                name = f"{code}{len(paragraphs):03d}.md"
                paragraphs[name] = one["context"].lstrip("\ufeff")
                for asked in one["qas"]:
                    answers = tuple(answer["text"] for answer in asked["answers"])
                    questions.append(ParallelQuestion(asked["question"], name, answers))
        return cls(code, paragraphs, spread(questions, count))


def measure_languages(report: Report, made: Instance, folder: Path, count: int) -> None:
    """Keyword recall and the truth of extractive answers, language by language, apart and together."""
    sets = [LanguageSet.read(folder, code, count) for code in LANGUAGES]
    together = _open_shelf(made, "xquad", sets)
    english: float | None = None
    for one in sets:
        apart = _open_shelf(made, f"xquad {one.code}", [one])
        for name, shelf in (("", apart), (" among all languages", together)):
            found = _keyword_recall(shelf, one)
            holds = found >= RECALL
            report.figure(f"xquad {one.code}{name}: keyword recall@5", found, reference=RECALL, goal=GOAL, holds=holds)
        told, refused = _ask_all(apart, one)
        english = told if english is None else english
        ratio = told / english if english else 0.0
        holds = ratio >= RATIO
        report.figure(
            f"xquad {one.code}: truth in the answer, of English's", ratio, reference=RATIO, goal=GOAL, holds=holds
        )
        report.figure(f"xquad {one.code}: truth in the answer", told, reference=len(one.questions))
        report.figure(f'xquad {one.code}: false "not found"', refused)


def open_multilingual(name: str | None) -> Embedder | None:
    """The embedder of a folder, a hub id, or `URL#model` of an OpenAI-shaped server; E5 with its prefixes."""
    if name is None:
        return None
    url, _, model = name.partition("#")
    prefixes = {"query_prefix": "query: ", "passage_prefix": "passage: "} if "e5" in name.casefold() else {}
    served = {"base_url": url, "model": model} if model else {"model": name}
    return open_embedder(EmbeddingSettings.model_validate(served | prefixes))


def measure_multilingual(report: Report, folder: Path, count: int, embedder: Embedder | None) -> None:
    """Recall of an embedder's vectors alone, without an index; where none is given, that is told."""
    if embedder is None:
        report.figure("xquad: multilingual embedder", "off: none was given (--multilingual)")
        return
    sets = [LanguageSet.read(folder, code, count) for code in LANGUAGES]
    for code, found in zip(LANGUAGES, asyncio.run(_vector_recalls(embedder, sets)), strict=True):
        holds = found >= MULTILINGUAL_RECALL
        report.figure(
            f"xquad {code}: multilingual recall@5", found, reference=MULTILINGUAL_RECALL, goal=MULTILINGUAL, holds=holds
        )


async def _vector_recalls(embedder: Embedder, sets: Sequence[LanguageSet]) -> list[float]:
    return [await _vector_recall(embedder, one) for one in sets]


async def _vector_recall(embedder: Embedder, one: LanguageSet) -> float:
    names = list(one.paragraphs)
    passages = await embed_passages(embedder, list(one.paragraphs.values()), EmbeddingLane.BULK)
    asked = await embed_queries(embedder, [question.text for question in one.questions])
    best = (-(asked @ passages.T)).argsort(axis=1)[:, :BEST]
    return fmean(question.file in {names[at] for at in row} for question, row in zip(one.questions, best, strict=True))


def _open_shelf(made: Instance, name: str, sets: Sequence[LanguageSet]) -> Shelf:
    with tempfile.TemporaryDirectory(prefix="aos-xquad-") as place:
        for one in sets:
            for file, text in one.paragraphs.items():
                (Path(place) / file).write_text(text, encoding="utf-8")
        return Shelf.open(made, name, [Path(place)])


def _keyword_recall(shelf: Shelf, one: LanguageSet) -> float:
    def ask(client: httpx.Client, asked: ParallelQuestion) -> bool:
        body = {"query": asked.text, "strategy": "keyword", "limit": 20, "rerank": False, "enhance": False}
        found = post(client, "/api/documents/search", body | {"cache": False})
        names = dict.fromkeys(shelf.files[hit["document_id"]].name for hit in found["results"])
        return asked.file in list(names)[:BEST]

    return fmean(shelf.each(one.questions, ask))


def _ask_all(shelf: Shelf, one: LanguageSet) -> tuple[float, float]:
    """Shares of the answers that hold the truth, and of those that say that there is none."""

    def ask(client: httpx.Client, asked: ParallelQuestion) -> dict[str, Any]:
        return post(client, "/api/ask", {"question": asked.text})

    given = list(zip(one.questions, shelf.each(one.questions, ask), strict=True))
    refused = [answer["mode"] == "not_found" for _, answer in given]
    told = [
        not none and any(_squeezed(truth) in _squeezed(answer["answer"]) for truth in asked.answers)
        for none, (asked, answer) in zip(refused, given, strict=True)
    ]
    return fmean(told), fmean(refused)


def _squeezed(text: str) -> str:
    return "".join(text.casefold().split())
