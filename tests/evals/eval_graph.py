"""make eval-graph: entities by rule against labelled texts and typed answers, and what the rules cost.

Three signals that nobody here wrote: spans of presidio's synthetic texts (PERSON, ORGANIZATION, GPE), answers of squad2
to questions that ask for a person, a place or an organisation, and the evidence of rag_multi_corpus, where every quote
has to stand on its page. They have no goals: they say how much to trust the graph, and they are the figures to watch.
"""

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from configs.sections_retrieval import GraphSettings
from pipelines.documents.graph.extract import GraphExtractor
from pipelines.documents.graph.graph_wiring import build_extractor
from pipelines.documents.graph.model import DocumentGraph, EntityType, GraphPage
from tests.evals.irdata import DEFAULT
from tests.evals.report import Report

LABELS: Mapping[str, EntityType] = {
    "PERSON": EntityType.PERSON,
    "ORGANIZATION": EntityType.ORGANIZATION,
    "GPE": EntityType.LOCATION,
}
ASKS: Mapping[EntityType, re.Pattern[str]] = {
    EntityType.PERSON: re.compile(r"^who (was|is|wrote|led|founded|invented|discovered)\b", re.I),
    EntityType.LOCATION: re.compile(r"^(in )?(what|which) (country|city|state|continent|region)\b", re.I),
    EntityType.ORGANIZATION: re.compile(
        r"^(what|which) (company|organi[sz]ation|university|agency|institution)\b", re.I
    ),
}
CHUNK = 1_500  # characters


@dataclass
class Score:
    """Counts for one type."""

    wanted: int = 0
    found: int = 0
    typed: int = 0
    said: int = 0
    right: int = 0

    def shares(self) -> tuple[float, float, float]:
        """(recall of the name, recall with its type, precision with its type)."""
        return self.found / max(1, self.wanted), self.typed / max(1, self.wanted), self.right / max(1, self.said)


@dataclass
class Scores:
    """By type."""

    of: dict[EntityType, Score] = field(default_factory=dict)

    def at(self, kind: EntityType) -> Score:
        """The counts of a type."""
        return self.of.setdefault(kind, Score())


def main(root: Path = DEFAULT) -> int:
    """Measure and report; 1 where a quote does not stand on its page, or the rules take too long."""
    report = Report("eval-graph")
    rules = build_extractor(GraphSettings(max_entities=1_000, max_relations=1_000, model="off"))
    labelled(rules, root / "security" / "presidio_synth_v2.jsonl", report)
    answered(rules, root / "qa" / "squad2_dev", report)
    corpus(root / "qa" / "rag_multi_corpus" / "md", report)
    return report.finish()


def labelled(rules: GraphExtractor, path: Path, report: Report) -> None:
    """Short texts with the places of persons, organisations and geopolitical entities."""
    scores = Scores()
    for row in _lines(path):
        spans = [
            (LABELS[s["entity_type"]], s["start_position"], s["end_position"])
            for s in row["spans"]
            if s["entity_type"] in LABELS
        ]
        other = [(s["start_position"], s["end_position"]) for s in row["spans"] if s["entity_type"] not in LABELS]
        places = [
            (entity.key.type, mention.start, mention.end)
            for entity in rules.extract([GraphPage(1, row["text"])]).entities
            for mention in entity.mentions
        ]
        for kind, start, end in spans:
            met = [place for place in places if place[1] < end and start < place[2]]
            scores.at(kind).wanted += 1
            scores.at(kind).found += bool(met)
            scores.at(kind).typed += any(place[0] is kind for place in met)
        for kind, start, end in places:
            # Parts of addresses are labelled as addresses: whether a city in one is right, nobody says.
            if kind in LABELS.values() and not any(begin < end and start < stop for begin, stop in other):
                scores.at(kind).said += 1
                scores.at(kind).right += any(k is kind and s < end and start < e for k, s, e in spans)
    _tell(report, "presidio", scores)


def answered(rules: GraphExtractor, folder: Path, report: Report) -> None:
    """Whether what a question of a kind asks for is found in its passage, with that type."""
    texts = {row.get("_id") or row.get("id"): row["text"] for row in _lines(folder / "corpus.jsonl")}
    graphs: dict[str, DocumentGraph] = {}
    scores = Scores()
    for row in _lines(folder / "qa.jsonl"):
        kind = next((kind for kind, asks in ASKS.items() if asks.search(row["question"])), None)
        if kind is None or row["impossible"] or not row["answers"] or not row["answers"][0][:1].isupper():
            continue
        text, answer = texts[row["context_id"]], row["answers"][0]
        graph = graphs.setdefault(row["context_id"], rules.extract([GraphPage(1, text)]))
        met = [
            entity
            for entity in graph.entities
            if any(
                answer.casefold() in m.name.casefold() or m.name.casefold() in answer.casefold()
                for m in entity.mentions
            )
        ]
        scores.at(kind).wanted += 1
        scores.at(kind).found += bool(met)
        scores.at(kind).typed += any(entity.key.type is kind for entity in met)
    for kind, score in scores.of.items():
        named, typed, _ = score.shares()
        report.figure(f"squad2 {kind}: answers named", round(named, 3), reference=f"{score.wanted} questions")
        report.figure(f"squad2 {kind}: with its type", round(typed, 3))


def corpus(folder: Path, report: Report) -> None:
    """A corpus of companies as it is ingested: what a document gives, whether it stands there, and what it costs."""
    shipped = build_extractor(GraphSettings())
    pages = [GraphPage(1, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.md"))]
    shipped.extract(pages[:1])
    begin = time.process_time()
    graphs = [shipped.extract([page]) for page in pages]
    spent = time.process_time() - begin
    characters = sum(len(page.text) for page in pages)
    ms = 1_000 * spent / (characters / CHUNK)
    types = Counter(str(entity.key.type) for graph in graphs for entity in graph.entities)
    kinds = Counter(str(relation.type) for graph in graphs for relation in graph.relations)
    astray = sum(_astray(page, graph) for page, graph in zip(pages, graphs, strict=True))
    report.figure("rag_multi_corpus: documents", len(pages))
    report.figure("entities a document", round(sum(types.values()) / len(pages), 1), reference=_counts(types))
    report.figure("relations a document", round(sum(kinds.values()) / len(pages), 2), reference=_counts(kinds))
    report.figure("evidence that is not on its page", astray, goal="0", holds=astray == 0)
    report.figure("CPU ms a chunk of 1,500 characters", round(ms, 2), unit="ms", goal="< 5", holds=ms < 5)


def _astray(page: GraphPage, graph: DocumentGraph) -> int:
    wrong = 0
    for entity in graph.entities:
        for mention in entity.mentions:
            quote = page.text[slice(*mention.quote)]
            wrong += page.text[mention.start : mention.end][: len(mention.name)] != mention.name
            wrong += mention.name not in quote or not 0 < len(quote) <= 500
    for relation in graph.relations:
        wrong += page.text[relation.start : relation.end] != relation.text or not 0 < len(relation.text) <= 500
    return wrong


def _tell(report: Report, name: str, scores: Scores) -> None:
    for kind, score in scores.of.items():
        found, typed, precise = score.shares()
        report.figure(f"{name} {kind}: named", round(found, 3), reference=f"{score.wanted} spans")
        report.figure(f"{name} {kind}: with its type", round(typed, 3))
        report.figure(f"{name} {kind}: precision", round(precise, 3), reference=f"{score.said} found")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
