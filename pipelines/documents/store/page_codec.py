"""Pages and chunks as JSON values: the one form they have in Postgres, in Arrow rows and over HTTP."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from json import dumps, loads
from typing import Any, TypeVar, cast, overload

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
Item = TypeVar("Item")


class EncodedItems(Sequence[Item]):
    """Words of a page or boxes of a chunk as they travel and are stored; decoded once somebody looks at one of them.

    Most pass through a worker as they are, and are most of what would be decoded, and encoded again.

    Attributes:
        encoded: JSON as `encode_words` or `encode_boxes` gives it.
    """

    def __init__(self, encoded: str, decode: Callable[[Json], tuple[Item, ...]]) -> None:
        self.encoded, self._decode = encoded, decode

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        return self._decode(loads(self.encoded))

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return self.encoded != "[]"

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __add__(self, others: tuple[Item, ...]) -> tuple[Item, ...]:
        return self._items + tuple(others)

    def __radd__(self, others: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(others) + self._items

    def __eq__(self, other: object) -> bool:
        if isinstance(other, EncodedItems):
            return self.encoded == other.encoded or self._items == other._items
        return self._items == other

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


def _encode(items: Sequence[Item], to_json: Callable[[Sequence[Item]], list[Json]]) -> str:
    return items.encoded if isinstance(items, EncodedItems) else dumps(to_json(items))


def encode_words(words: Sequence[Word]) -> str:
    """JSON text of words as they are stored."""
    return _encode(words, _storable_words)


def decode_words(encoded: str) -> tuple[Word, ...]:
    """The inverse, up to four decimals, once somebody looks; what it gives is as good as a tuple."""
    return cast(tuple[Word, ...], EncodedItems(encoded, words_from_json))


def encode_boxes(boxes: Sequence[PageBox]) -> str:
    """JSON text of a chunk's boxes as they are stored."""
    return _encode(boxes, _boxes_to_json)


def _decode_boxes(encoded: str) -> tuple[PageBox, ...]:
    return cast(tuple[PageBox, ...], EncodedItems(encoded, _boxes_from_json))


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
    return page_head_to_json(page) | {"words": _storable_words(page.words)}


def _storable_words(words: Sequence[Word]) -> list[Json]:
    return [[s, _storable_string(t), *rest] for s, t, *rest in words_to_json(words)]


def page_head_to_json(page: Page) -> dict[str, Json]:
    """A page as it is stored, without its words."""
    plain = {name: getattr(page, name) for name in ("number", "engine", "confidence", "ms")}
    return plain | {
        "text": _storable_string(page.text),
        "attempts": [asdict(one) | {"confidence": round(one.confidence, 4)} for one in page.attempts],
        "failure": failure_to_json(page.failure),
        "caveats": caveats_to_json(page.caveats),
    }


def page_from_json(row: Mapping[str, Json]) -> Page:
    """The inverse."""
    return page_of_head(row, words_from_json(row["words"]))


def page_of_head(row: Mapping[str, Json], words: tuple[Word, ...]) -> Page:
    """A page without its words, and the words."""
    attempts = tuple(EngineAttempt(**attempt) for attempt in row["attempts"])
    made: dict[str, Any] = {"words": words, "attempts": attempts}
    made |= {"failure": failure_from_json(row["failure"]), "caveats": caveats_from_json(row["caveats"])}
    return Page(**{**row, **made})


def chunk_to_json(chunk: Chunk) -> dict[str, Json]:
    """A chunk as it is stored."""
    return chunk_head_to_json(chunk) | {"boxes": _boxes_to_json(chunk.boxes)}


def chunk_head_to_json(chunk: Chunk) -> dict[str, Json]:
    """A chunk as it travels and is stored, without its boxes."""
    spans = [[s.page, s.start, s.end] for s in chunk.spans]
    plain = {"ordinal": chunk.ordinal, "text": chunk.text, "headings": list(chunk.headings), "method": chunk.method}
    metrics = None if chunk.metrics is None else asdict(chunk.metrics)
    return plain | {"spans": spans, "metrics": metrics, "parent": _parent_to_json(chunk.parent)}


def chunk_of_head(row: Mapping[str, Json], boxes: str) -> Chunk:
    """The inverse, with boxes as `encode_boxes` gives them."""
    spans = tuple(Span(*span) for span in row["spans"])
    # Those of a process from before an update, which had neither.
    metrics = ChunkMetrics(**found) if (found := row.get("metrics")) else None
    parent = _parent_from_json(found) if (found := row.get("parent")) else None
    told = (row["ordinal"], row["text"], spans, tuple(row["headings"]), row["method"])
    return Chunk(*told, _decode_boxes(boxes), metrics, parent)


def _boxes_to_json(boxes: Sequence[PageBox]) -> list[Json]:
    return [[b.page, *box_to_json(b.box)] for b in boxes]


def _boxes_from_json(rows: Sequence[Json]) -> tuple[PageBox, ...]:
    return tuple(PageBox(page, Box(*edges)) for page, *edges in rows)


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
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
