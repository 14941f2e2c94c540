"""Response shapes of a search: passages, documents, a packed context, and the explanation of the ranking."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from pipelines.documents.document import PageBox, PlacedCaveat
from pipelines.documents.privacy.answer_masks import AnswerMask
from pipelines.documents.store.page_codec import placed_to_json
from serve_apps.http.response_shapes import PlacedCaveatShape, copy_fields
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.search.query import SearchHit, SearchResults
from serve_apps.retrieval.tables.chart import Chart, ChartKind

PREVIEW_CHUNKS = 6
PREVIEW_CHARACTERS = 2_000
EXPLAINED = 200  # candidates that are listed

Boxes = list[tuple[int, float, float, float, float]]


class MetricsShape(BaseModel):
    """Quality of a chunk: Shannon `entropy` of its characters in bits; `coherence` with the chunks beside it by Jaccard
    similarity of keywords; `density` of its sentences' vectors, null where none were made; `importance` of the three
    with its place. All but entropy are 0 to 1.
    """

    entropy: float
    coherence: float
    density: float | None
    importance: float


class HitShape(BaseModel):
    """A passage: `spans` are [page, start, end] in page texts, `boxes` [page, x0, y0, x1, y1] in page fractions.

    `caveats` say what its pages do not hold as text, or may have wrong. `metrics` are of the chunk that was found. With
    a `parent` (its number in the document) text, spans, boxes and pages are those of the parent of that chunk.
    """

    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    doc_type: str
    page: int
    page_end: int
    chunk_index: int
    text: str
    headings: list[str]
    spans: list[tuple[int, int, int]]
    boxes: Boxes
    ocr_confidence: float | None
    engine: str
    score: float
    scores: dict[str, float]
    caveats: list[PlacedCaveatShape]
    metrics: MetricsShape | None
    parent: int | None
    classification: str | None
    url: str


class CitationShape(BaseModel):
    """Citation of a sentence's source; `quote` is the page's text at [start, end), character for character.

    `caveats` say what the page does not hold as text, or may have wrong.
    """

    n: int
    chunk_id: str
    document_id: str
    version_id: str
    filename: str
    page: int
    quote: str
    start: int
    end: int
    ocr_confidence: float | None
    caveats: list[PlacedCaveatShape]
    boxes: Boxes
    url: str


class ChartShape(BaseModel):
    """A measure over a label as (label, value), and the same as a Vega-Lite 5 specification with its data.

    `POST /api/tables/picture` draws it.
    """

    kind: ChartKind
    label: str
    measure: str
    points: list[tuple[str, float]]
    vega_lite: dict[str, Any]


class DocumentFound(BaseModel):
    """A document among the results: the score of its best passage, and its passages' texts in one preview."""

    document_id: str
    filename: str
    doc_type: str
    score: float
    pages: list[int]
    chunks: int
    preview: str
    url: str


class PackedShape(BaseModel):
    """A context within a budget of tokens, chosen for relevance, quality and diversity."""

    query: str
    chunks: list[HitShape]
    formatted_context: str
    total_tokens: int
    counted_with: str
    sources: list[str]
    diversity_score: float
    information_gain: float


class StageShape(BaseModel):
    """Stage of a search: what it ran with, or why it was skipped, and how many chunks were left after it."""

    name: str
    on: bool
    detail: str
    kept: int | None


class CandidateShape(BaseModel):
    """A chunk that a leg found: its place in the end, and rank and score of every stage that saw it."""

    place: int
    chunk_id: str
    document_id: str
    scores: dict[str, float]


class CacheShape(BaseModel):
    """Cache decision: `hit`, `miss` or `bypass`, and why."""

    outcome: str
    reason: str
    similarity: float | None
    age_seconds: float | None
    question: str | None
    shared: bool


class Explained(BaseModel):
    """Explanation of the results: stages, filters, cache decision, timings and candidates."""

    strategy: str
    stages: list[StageShape]
    variations: list[str]
    filters: dict[str, str | list[str] | None]
    min_similarity: float | None
    agent_id: str | None
    generation: int | None
    cache: CacheShape | None
    timings_ms: dict[str, float]
    candidates: list[CandidateShape]


class Found(BaseModel):
    """Passages, best first, and how they were found; `fallback` says what was left out and why.

    `documents`, `packed` and `explain` are there where they were asked for.
    """

    query: str
    total_results: int
    execution_time_ms: float
    keyword_engine: str
    vector: str
    rerank: str
    generation: int | None
    fallback: str | None
    timings_ms: dict[str, float]
    results: list[HitShape]
    documents: list[DocumentFound] | None = None
    packed: PackedShape | None = None
    explain: Explained | None = None
    personal_data: dict[str, dict[str, int]] = {}


def masked_response(found: Found, mask: AnswerMask) -> Found:
    """Passages as the policies show them, each by the class of its document; a context by the classes of all."""
    results, counts = [], Counter[str]()
    for hit in found.results:
        one = mask.of_source(hit.classification)
        shown = one.json(hit.model_dump(mode="json", exclude={"text"}))
        results.append(HitShape.model_validate(shown | {"text": one.text(hit.text, counted=True)}))
        counts.update(one.masked)
    mask.note_sources([{"classification": hit.classification} for hit in found.results])
    told: dict[str, Any] = {"results": results, "personal_data": {"masked": dict(counts)} if counts else {}}
    if found.documents is not None:
        told["documents"] = [
            one.model_copy(update={"preview": mask.text(one.preview), "filename": mask.json(one.filename, "filename")})
            for one in found.documents
        ]
    if found.packed is not None:
        told["packed"] = PackedShape.model_validate(mask.json(found.packed.model_dump(mode="json"), unknown=True))
    return found.model_copy(update=told)


def search_response(asked: str, results: SearchResults, *, grouped: bool = False) -> Found:
    """Results as they are sent; `asked` is the question as it came."""
    packed = results.packed
    return copy_fields(
        Found,
        results,
        query=asked,
        total_results=results.total,
        execution_time_ms=results.timings_ms.get("total", sum(results.timings_ms.values())),
        results=[hit_shape(hit) for hit in results.hits],
        documents=by_document(results.hits) if grouped else None,
        packed=packed and copy_fields(PackedShape, packed, chunks=[hit_shape(hit) for hit in packed.chunks]),
        explain=explain_results(results) if results.query.explain else None,
    )


def hit_shape(hit: SearchHit) -> HitShape:
    """A passage as it is sent."""
    boxes, caveats = box_coordinates(hit.boxes), caveat_shapes(hit.caveats)
    spans = [(span.page, span.start, span.end) for span in hit.spans]
    metrics = hit.metrics and MetricsShape(**asdict(hit.metrics))
    return copy_fields(HitShape, hit, spans=spans, boxes=boxes, caveats=caveats, metrics=metrics, url=_page_url(hit))


def by_document(hits: Sequence[SearchHit]) -> list[DocumentFound]:
    """Documents in the order of their best passages; the preview has its passages in theirs."""
    groups: dict[str, list[SearchHit]] = {}
    for hit in hits:
        groups.setdefault(hit.document_id, []).append(hit)
    return [
        DocumentFound(
            document_id=document,
            filename=own[0].filename,
            doc_type=own[0].doc_type,
            score=own[0].score,
            pages=sorted({hit.page for hit in own}),
            chunks=len(own),
            preview="\n\n".join(hit.text for hit in own[:PREVIEW_CHUNKS])[:PREVIEW_CHARACTERS],
            url=_page_url(own[0]),
        )
        for document, own in groups.items()
    ]


def explain_results(results: SearchResults) -> Explained:
    """Everything that was noted on the way."""
    query, decision = results.query, results.cache
    return copy_fields(
        Explained,
        query,
        stages=[copy_fields(StageShape, stage) for stage in results.stages],
        variations=results.variations,
        filters={name: _json_value(value) for name, value in asdict(query.filters).items()},
        generation=results.generation,
        cache=copy_fields(CacheShape, decision) if decision is not None else None,
        timings_ms=results.timings_ms,
        candidates=[
            copy_fields(CandidateShape, one, place=place) for place, one in enumerate(results.considered[:EXPLAINED], 1)
        ],
    )


def box_coordinates(places: Sequence[PageBox]) -> Boxes:
    """Rectangles as they are sent."""
    return [(one.page, one.box.x0, one.box.y0, one.box.x1, one.box.y1) for one in places]


def caveat_shapes(caveats: Sequence[PlacedCaveat]) -> list[PlacedCaveatShape]:
    """Caveats as they are sent."""
    return [PlacedCaveatShape(**one) for one in placed_to_json(caveats)]


def _json_value(value: Any) -> str | list[str] | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _page_url(hit: SearchHit) -> str:
    return f"/api/documents/{hit.document_id}/pages/{hit.page}"


def citation_shape(cited: Citation) -> CitationShape:
    """A citation as it is shown."""
    boxes, caveats = box_coordinates(cited.boxes), caveat_shapes(cited.caveats)
    return copy_fields(CitationShape, cited, boxes=boxes, caveats=caveats)


def chart_shape(chart: Chart) -> ChartShape:
    """A chart as it is shown."""
    return copy_fields(ChartShape, chart, points=list(chart.points), vega_lite=chart.specification())
