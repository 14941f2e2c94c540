"""Tries the next index before readers use it: it has to find its own passages, and what golden questions expect."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import AosError
from cluster.basics.retry import MODEL_WAITS, call_with_retries
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import OtherEmbedder, VectorSpace, select_embedder, vector_space_of
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.db.postgres import Database, Row, load_queries
from configs.sections_retrieval import GateSettings
from pipelines.documents.index.gate_verdict import (
    LEAST_ITEMS,
    ChunkNeighbour,
    GateReport,
    RecallMeasure,
    Verdict,
    depth_of,
    digest_of,
    documents_found,
    judge_report,
    part_of,
    rank_of,
)

DEPTH = 60  # passages looked at
TEXTS_A_CALL = 64
KEYS = 50  # of questions that fell, in a report
Vectors = NDArray[np.float32]
Found = tuple[float, float]  # of a question: recall of the first ten documents, reciprocal rank
_Item = tuple[str, str]  # a passage's id, and a part of its text, which should lead back to it
_Asked = tuple[Row, Vectors, Vectors]  # a golden question, and its vectors for the next index and for the live one


@dataclass(frozen=True, slots=True)
class _Side:
    """A generation, and who makes the vectors of what it is asked."""

    generation: int
    made: VectorSpace
    embedder: Embedder


class IndexGate:
    """Asks by meaning only, and measures every vector: a generation changes those, and words would hide bad ones."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        settings: GateSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._database, self._embedder, self._settings = database, embedder, settings
        self._sleep, self._clock = sleep, clock
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def check(self, scope: Scope, generation: int, live: int | None, *, force: bool = False) -> dict[str, Any]:
        """Run the gate and return its report as JSON: the fields of `GateReport`, `reasons` and `verdict`.

        Args:
            generation: complete, and not live yet.
            force: let it pass whatever is found; the report says so.

        Raises:
            Transient: the embedder stays away, or Postgres does.
            OtherEmbedder: the generation was made with another one than there is now.
        """
        begun = self._clock()
        report = await self._build_report(scope, generation, live)
        reasons = judge_report(report, self._settings)
        verdict: Verdict = "passed" if not reasons else "forced" if force else "refused"
        return report.as_json(reasons, verdict, (self._clock() - begun) * 1000)

    async def _build_report(self, scope: Scope, generation: int, live: int | None) -> GateReport:
        ours = (await self._read_rows(scope, "side", generation=generation))[0]
        theirs = (await self._read_rows(scope, "side", generation=live))[0] if live is not None else None
        now = await self._open_side(ours)
        before, alone = await self._live_side(theirs)
        at = depth_of(ours["chunks"])
        items = await self._known_items(scope, now, before, at)
        last = await self._read_rows(scope, "last_report", generation=live) if live is not None else []
        known = {one["name"]: one for row in last if row["report"] for one in row["report"]["golden"]}
        golden = await self._golden_recalls(scope, now, before, known)
        expected = theirs["documents"] if theirs is not None else 0
        return GateReport(generation, live, expected, ours["documents"], at, items, tuple(golden), alone)

    async def _open_side(self, generation: Row) -> _Side:
        made = vector_space_of(generation)
        select = partial(select_embedder, self._embedder, made)
        embedder = await call_with_retries(select, waits=MODEL_WAITS, sleep=self._sleep)
        return _Side(generation["id"], made, embedder)

    async def _live_side(self, live: Row | None) -> tuple[_Side | None, str | None]:
        """The live generation's side, if what embedded it answers, too; else why nothing is compared with it."""
        if live is None:
            return None, None
        try:
            side = await self._open_side(live)
            await self._embed_texts(side.embedder, ["Is anybody there?"])
        except OtherEmbedder as error:
            return None, error.detail
        except AosError as error:  # one that is gone for good must not hold up the next index
            return None, f"what made the live index, {live['embedder']}, does not answer: {error}"
        return side, None

    async def _known_items(self, scope: Scope, ours: _Side, theirs: _Side | None, at: int) -> RecallMeasure | None:
        wanted = self._settings.questions
        rows = await self._read_rows(scope, "sample", generation=ours.generation, limit=wanted * 2) if wanted else []
        items = [(row["id"], part) for row in rows if (part := part_of(row["text"])) is not None][:wanted]
        if len(items) < LEAST_ITEMS:
            return None
        now, before = await self._embed_both(ours, theirs, [part for _, part in items])
        found = await self._item_recall(scope, ours, items, now, at)
        if theirs is None:
            return found
        return replace(found, before=(await self._item_recall(scope, theirs, items, before, at)).recall)

    async def _item_recall(
        self, scope: Scope, side: _Side, items: Sequence[_Item], vectors: Sequence[Vectors], at: int
    ) -> RecallMeasure:
        asked = zip(items, vectors, strict=True)
        ranks = [await self._item_rank(scope, side.generation, *item, vector) for item, vector in asked]
        recall = _mean_value([float(rank is not None and rank <= at) for rank in ranks])
        mrr = _mean_value([1 / rank if rank else 0.0 for rank in ranks])
        return RecallMeasure("known items", len(ranks), recall, mrr, least=self._settings.floor)

    async def _item_rank(self, scope: Scope, generation: int, chunk: str, part: str, vector: Vectors) -> int | None:
        near = await self._nearest_chunks(scope, generation, vector)
        asked = {"generation": generation, "chunk": chunk, "vector": _vector_literal(vector)}
        own = await self._read_rows(scope, "own", **asked)
        return rank_of(own[0]["score"] if own else None, chunk, part, near)

    async def _golden_recalls(
        self, scope: Scope, now: _Side, before: _Side | None, known: Mapping[str, Mapping[str, Any]]
    ) -> list[RecallMeasure]:
        rows = await self._read_rows(scope, "golden")
        vectors = await self._embed_both(now, before, [row["question"] for row in rows])
        sets: dict[str, list[_Asked]] = {}
        for row, new, old in zip(rows, *vectors, strict=True):
            sets.setdefault(row["name"], []).append((row, new, old))
        found = []
        for name, asked in sets.items():
            there = [one for one in asked if one[0]["documents"]]
            digest = digest_of([row for row, *_ in there])
            ours = await self._golden_results(scope, now, [(row, vector) for row, vector, _ in there])
            theirs = None
            if before is not None:
                theirs = await self._golden_results(scope, before, [(row, vector) for row, _, vector in there])
            same = known.get(name, {}).get("digest") == digest
            found.append(
                RecallMeasure(
                    name,
                    len(there),
                    _mean_value([one for one, _ in ours]),
                    _mean_value([one for _, one in ours]),
                    before=_mean_value([one for one, _ in theirs]) if theirs is not None and there else None,
                    baseline=known[name]["recall"] if same and there else None,
                    least=asked[0][0]["least_recall"] if there else None,
                    skipped=len(asked) - len(there),
                    digest=digest,
                    fell=_fallen_questions(there, ours, theirs),
                )
            )
        return found

    async def _golden_results(self, scope: Scope, side: _Side, asked: Sequence[tuple[Row, Vectors]]) -> list[Found]:
        return [
            documents_found(await self._nearest_chunks(scope, side.generation, vector), row["documents"])
            for row, vector in asked
        ]

    async def _nearest_chunks(self, scope: Scope, generation: int, vector: Vectors) -> list[ChunkNeighbour]:
        asked = {"generation": generation, "vector": _vector_literal(vector), "depth": DEPTH}
        rows = await self._read_rows(scope, "nearest", **asked)
        return [ChunkNeighbour(row["chunk_id"], row["document_id"], row["score"], row["text"]) for row in rows]

    async def _embed_both(
        self, ours: _Side, theirs: _Side | None, texts: Sequence[str]
    ) -> tuple[list[Vectors], list[Vectors]]:
        """Vectors of the texts for either side; where there is no other, or it has the same embedder, the same ones."""
        now = await self._embed_texts(ours.embedder, texts)
        if theirs is None or theirs.made == ours.made:
            return now, now
        return now, await self._embed_texts(theirs.embedder, texts)

    async def _embed_texts(self, embedder: Embedder, texts: Sequence[str]) -> list[Vectors]:
        found: list[Vectors] = []
        for start in range(0, len(texts), TEXTS_A_CALL):
            some = texts[start : start + TEXTS_A_CALL]
            call = partial(embedder.embed, some, EmbeddingLane.BULK)
            found.extend(await call_with_retries(call, waits=MODEL_WAITS, sleep=self._sleep))
        return found

    async def _read_rows(self, scope: Scope, name: str, **values: Any) -> list[Row]:
        return await self._database.read(scope, self._sql[name], **scope.keys, **values)


def _fallen_questions(
    asked: Sequence[_Asked], ours: Sequence[Found], theirs: Sequence[Found] | None
) -> tuple[str, ...]:
    """Keys of the questions that hold the set back, as many as a report has room for."""
    demanded = bool(asked) and asked[0][0]["least_recall"] is not None
    wanted = [1.0] * len(asked) if theirs is None or demanded else [recall for recall, _ in theirs]
    both = zip(asked, ours, wanted, strict=True)
    return tuple(row["key"] for (row, *_), (recall, _), least in both if recall < least - 1e-9)[:KEYS]


def _mean_value(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _vector_literal(vector: Vectors) -> str:
    """As pgvector reads it; a number that is none becomes 0, so that a broken embedder is found out and not refused."""
    return dumps(np.nan_to_num(np.asarray(vector, np.float32), nan=0.0, posinf=0.0, neginf=0.0).tolist())
