"""Pages and chunks as JSON values: the one form they have in Postgres, in Arrow rows and over HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pipelines.documents.document import (
    Box,
    Caveat,
    CaveatKind,
    CaveatWeight,
    Chunk,
    ChunkMetrics,
    EngineAttempt,
    Failure,
    FailureReason,
    Page,
    PageBox,
    ParentPassage,
    PlacedCaveat,
    Span,
    Word,
)

Json = Any


def words_to_json(words: Sequence[Word]) -> list[Json]:
    """`[start, text, x0, y0, x1, y1, confidence]` a word, four decimals."""
    return [[w.start, w.text, *box_to_json(w.box), round(w.confidence, 4)] for w in words]


def words_from_json(rows: Sequence[Json]) -> tuple[Word, ...]:
    """The inverse, up to four decimals."""
    return tuple(Word(text, start, Box(x0, y0, x1, y1), conf) for start, text, x0, y0, x1, y1, conf in rows)


def failure_to_json(failure: Failure | None) -> dict[str, Json] | None:
    """Stage, reason, detail, retryable."""
    return None if failure is None else asdict(failure) | {"detail": _storable_string(failure.detail)}


def failure_from_json(row: Mapping[str, Json] | None) -> Failure | None:
    """The inverse."""
    return None if row is None else Failure(**{**row, "reason": FailureReason(row["reason"])})


def caveats_to_json(caveats: Sequence[Caveat]) -> list[Json]:
    """Kind, weight (so that SQL need not know the kinds), detail, count, and `whole` where it is of the document."""
    return [
        {
            "kind": str(c.kind),
            "weight": str(c.kind.weight),
            "detail": _storable_string(c.detail),
            "count": c.count,
            **({"whole": True} if c.whole else {}),
        }
        for c in caveats
    ]


def caveats_from_json(rows: Sequence[Mapping[str, Json]]) -> tuple[Caveat, ...]:
    """The inverse."""
    return tuple(Caveat(CaveatKind(row["kind"]), row["detail"], row["count"], bool(row.get("whole"))) for row in rows)


def placed_from_json(rows: Sequence[Mapping[str, Json]]) -> tuple[PlacedCaveat, ...]:
    """Caveats of a passage, as `caveats_of` in the database gives them."""
    return tuple(
        PlacedCaveat(CaveatKind(r["kind"]), CaveatWeight(r["weight"]), r["detail"], r["count"], r["page"]) for r in rows
    )


def placed_to_json(caveats: Sequence[PlacedCaveat]) -> list[dict[str, Json]]:
    """The inverse."""
    return [asdict(caveat) for caveat in caveats]


def page_to_json(page: Page) -> dict[str, Json]:
    """A page as it is stored."""
    plain = {name: getattr(page, name) for name in ("number", "engine", "confidence", "ms")}
    return plain | {
        "text": _storable_string(page.text),
        "words": [[s, _storable_string(t), *rest] for s, t, *rest in words_to_json(page.words)],
        "attempts": [asdict(one) | {"confidence": round(one.confidence, 4)} for one in page.attempts],
        "failure": failure_to_json(page.failure),
        "caveats": caveats_to_json(page.caveats),
    }


def page_from_json(row: Mapping[str, Json]) -> Page:
    """The inverse."""
    attempts = tuple(EngineAttempt(**attempt) for attempt in row["attempts"])
    made: dict[str, Any] = {"words": words_from_json(row["words"]), "attempts": attempts}
    made |= {"failure": failure_from_json(row["failure"]), "caveats": caveats_from_json(row["caveats"])}
    return Page(**{**row, **made})


def chunk_to_json(chunk: Chunk) -> dict[str, Json]:
    """A chunk as it travels and is stored."""
    spans = [[s.page, s.start, s.end] for s in chunk.spans]
    boxes = [[b.page, *box_to_json(b.box)] for b in chunk.boxes]
    plain = {"ordinal": chunk.ordinal, "text": chunk.text, "headings": list(chunk.headings), "method": chunk.method}
    metrics = None if chunk.metrics is None else asdict(chunk.metrics)
    return plain | {"spans": spans, "boxes": boxes, "metrics": metrics, "parent": _parent_to_json(chunk.parent)}


def chunk_from_json(row: Mapping[str, Json]) -> Chunk:
    """The inverse."""
    spans = tuple(Span(*span) for span in row["spans"])
    boxes = tuple(PageBox(page, Box(*edges)) for page, *edges in row["boxes"])
    # Those of a process from before an update, which had neither.
    metrics = ChunkMetrics(**found) if (found := row.get("metrics")) else None
    parent = _parent_from_json(found) if (found := row.get("parent")) else None
    return Chunk(row["ordinal"], row["text"], spans, tuple(row["headings"]), row["method"], boxes, metrics, parent)


def _parent_to_json(parent: ParentPassage | None) -> dict[str, Json] | None:
    return None if parent is None else asdict(parent) | {"spans": [[s.page, s.start, s.end] for s in parent.spans]}


def _parent_from_json(row: Mapping[str, Json]) -> ParentPassage:
    return ParentPassage(**{**row, "spans": tuple(Span(*span) for span in row["spans"])})


def search_text(chunk: Chunk) -> str:
    """The indexed text of a chunk, for keyword index and embedder: the titles above the passage, then the passage."""
    above = [heading for heading in chunk.headings if heading not in chunk.text]
    return "\n".join([*above, chunk.text])


def box_to_json(box: Box) -> list[float]:
    """`[x0, y0, x1, y1]`, four decimals."""
    return [round(edge, 4) for edge in (box.x0, box.y0, box.x1, box.y1)]


def _storable_string(text: str) -> str:
    """Postgres text holds neither NUL nor lone surrogates; each becomes one replacement character, so offsets stay."""
    unstorable = "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text)
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode() if unstorable else text
