"""Passages on their way through the stages: rank and score of each at every one of them, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

STAGES: Final = ("keyword", "vector", "fused", "rerank", "pack")
_CHANGED: Final = {"rerank": "Reranked", "pack": "Packed"}
TITLES: Final = {stage: _CHANGED.get(stage, stage.capitalize()) for stage in STAGES}


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A candidate."""

    place: int  # in the end, from 1
    chunk: str
    document: str
    # Stage to its place there, from 1; for `pack` the place in the context. Stages that did not see it are missing.
    ranks: Mapping[str, int]
    scores: Mapping[str, float]  # stage to score
    # The passage itself; None where it fell so far behind that the answer does not hold it.
    hit: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """Its file and page."""
        if self.hit is None:
            return f"a passage of document {self.document[:8]}"
        return f"{self.hit['filename']}, p. {self.hit['page']}"


def explained_passages(found: Mapping[str, Any]) -> list[RankedPassage]:
    """Every candidate of an explained answer, best first."""
    candidates = found["explain"]["candidates"]
    hits = {hit["chunk_id"]: hit for hit in found["results"]}
    packed = [hit["chunk_id"] for hit in (found["packed"] or {"chunks": []})["chunks"]]
    order = {stage: _rank_by_score(candidates, stage) for stage in ("fused", "rerank")}
    made = []
    for one in candidates:
        chunk, scores = one["chunk_id"], one["scores"]
        ranks = {leg: int(scores[f"{leg}_rank"]) for leg in ("keyword", "vector") if f"{leg}_rank" in scores}
        ranks |= {stage: known[chunk] for stage, known in order.items() if chunk in known}
        if chunk in packed:
            ranks["pack"] = packed.index(chunk) + 1
        told = {leg: float(scores[f"{leg}_score"]) for leg in ("keyword", "vector") if f"{leg}_score" in scores}
        told |= {stage: float(scores[stage]) for stage in order if stage in scores}
        made.append(RankedPassage(one["place"], chunk, one["document_id"], ranks, told, hits.get(chunk)))
    return made


def notable_passages(passages: Sequence[RankedPassage], shown: int, fallen: int = 3) -> list[RankedPassage]:
    """The first `shown`, and a few that a stage had among its first three and that ended behind those."""
    first = list(passages[:shown])
    behind = [one for one in passages[shown:] if any(rank <= 3 for stage, rank in one.ranks.items() if stage != "pack")]
    return first + behind[:fallen]


def box_query(hit: Mapping[str, Any]) -> dict[str, object]:
    """Query of the page Documents that opens a passage: document, page, and boxes on it."""
    boxes = ";".join(",".join(f"{edge:.4f}" for edge in box[1:]) for box in hit["boxes"] if box[0] == hit["page"])
    return {"id": hit["document_id"], "page": hit["page"], "boxes": boxes or None}


def _rank_by_score(candidates: Sequence[Mapping[str, Any]], stage: str) -> dict[str, int]:
    seen = sorted((one for one in candidates if stage in one["scores"]), key=lambda one: -one["scores"][stage])
    return {one["chunk_id"]: rank for rank, one in enumerate(seen, 1)}
