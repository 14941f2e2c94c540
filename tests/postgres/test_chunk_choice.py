"""A chunking strategy for a workspace and for a document: chosen over HTTP, used by the worker, set back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import Conflict
from cluster.basics.scope import Role, Scope
from cluster.models.ports import EmbeddingLane
from cluster.state.work.jobs import JobLane
from configs.sections import ChunkSettings
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.chunk.split import chunker_fingerprint
from pipelines.documents.document import Chunk, Span, VersionId
from pipelines.documents.index.generations import GenerationMoved, IndexedVersion, WriteTarget
from pipelines.documents.store.chunk_strategies import ChunkStrategies, with_strategy
from serve_apps.http.routes.documents.passages import hit_shape
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.fakes.chunking import letter_vectors
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench, LetterEmbedder, new_workspace

TEXT = " ".join(f"Pump number {n} moves water through valve {n}. Taxes for year {n} are due in May." for n in range(30))
METHODS = """
    select d.filename, array_agg(distinct c.metadata->>'chunking_method') as methods, count(*) as chunks
    from document_chunks c join documents d on d.id = c.document_id join workspaces w on w.id = c.workspace_id
    join generations g on g.id = w.generation_id and g.chunker = c.chunker
    group by d.filename order by d.filename"""


async def send(client: httpx.AsyncClient, worker: Bench, name: str, **form: str) -> dict[str, Any]:
    sent = await client.post("/api/documents/upload", files={"file": (name, f"{name}. {TEXT}".encode())}, data=form)
    assert sent.status_code == 202, sent.text
    await worker.run(JobLane.SMALL)
    found: dict[str, Any] = sent.json()
    return found


def methods(admin_dsn: str) -> dict[str, list[str]]:
    """What cut the chunks of each document in the live index."""
    with psycopg.connect(admin_dsn) as connection:
        return {name: found for name, found, _ in connection.execute(METHODS).fetchall()}


async def test_a_document_may_be_cut_by_a_strategy_of_its_own(
    office: Office, operator: httpx.AsyncClient, worker: Bench, admin_dsn: str
) -> None:
    """CH-14, CH-06 to CH-10: in the index that is there; by the upload, or later, when it is processed again."""
    await send(operator, worker, "plain.txt")
    own = await send(operator, worker, "own.txt", chunking_strategy="TOPIC_COHERENCE")
    assert methods(admin_dsn) == {"plain.txt": ["semantic"], "own.txt": ["topic_coherence"]}
    again = await operator.post(
        f"/api/documents/{own['document_id']}/process", json={"chunking_strategy": "hierarchical"}
    )
    assert again.status_code == 202, again.text
    await worker.run(JobLane.SMALL)
    assert methods(admin_dsn) == {"plain.txt": ["semantic"], "own.txt": ["hierarchical"]}
    pipeline = SearchPipeline(worker.database, worker.embedder, None, SearchSettings(), RerankSettings())
    scope = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    found = [hit_shape(hit) for hit in (await pipeline.run(scope, SearchQuery("valve 17", limit=30))).hits]
    parents = {hit.filename: hit.parent for hit in found}
    assert parents["plain.txt"] is None and parents["own.txt"] is not None
    assert all(hit.metrics and 0 <= hit.metrics.importance <= 1 for hit in found)
    wrong = await operator.post(
        "/api/documents/upload", files={"file": ("x.txt", b"x")}, data={"chunking_strategy": "by_moon"}
    )
    assert wrong.status_code == 422


async def test_a_workspace_may_have_a_strategy_of_its_own(
    api: Api, office: Office, operator: httpx.AsyncClient, worker: Bench, admin_dsn: str
) -> None:
    """CH-14: a re-index names it; what comes later is cut so, too; a document's own stays."""
    await send(operator, worker, "plain.txt")
    await send(operator, worker, "own.txt", chunking_strategy="hierarchical")
    params = {"strategy": "INFORMATION_DENSITY", "force": "true"}
    started = (await operator.post("/api/documents/reindex-all", params=params)).json()
    assert started["chunk_strategy_used"] == "information_density"
    await worker.run()
    assert (await operator.get(f"/api/jobs/{started['job_id']}")).json()["state"] == "completed"
    await send(operator, worker, "late.txt")
    expected = {"plain.txt": ["information_density"], "late.txt": ["information_density"], "own.txt": ["hierarchical"]}
    assert methods(admin_dsn) == expected
    told = (await operator.get("/api/generations")).json()
    live = next(row for row in told["items"] if row["role"] == "live")
    configured = told["configured"]
    assert (configured["chunk_strategy"], configured["chunker"]) == ("information_density", live["chunker"])
    shown = (await operator.get("/api/documents/chunking")).json()
    assert shown == {"strategy": "information_density", "default": "semantic"}
    refused = await operator.post("/api/documents/reindex-all", params={"strategy": "adaptive", "agent_id": "nobody"})
    assert refused.status_code in (404, 422)
    assert (await operator.get("/api/documents/chunking")).json() == shown
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.put("/api/documents/chunking", json={"strategy": None})).status_code == 403


async def test_a_strategy_that_was_tried_is_set_back_without_a_new_index(
    api: Api, operator: httpx.AsyncClient, worker: Bench, admin_dsn: str
) -> None:
    """X-01: after a rollback, or where the gate refused; until then new documents are refused."""
    await send(operator, worker, "plain.txt")
    changed = await operator.put("/api/documents/chunking", json={"strategy": "adaptive"})
    assert changed.json() == {"strategy": "adaptive", "default": "semantic"}
    sent = await operator.post("/api/documents/upload", files={"file": ("new.txt", TEXT.encode())})
    assert sent.status_code == 202
    with pytest.raises(Conflict, match="another embedder or chunker") as refused:
        await worker.run(JobLane.SMALL)
    assert "PUT /api/documents/chunking" in refused.value.hint
    await operator.put("/api/documents/chunking", json={"strategy": None})
    await send(operator, worker, "later.txt")
    assert methods(admin_dsn)["later.txt"] == ["semantic"]
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute(
            "select detail from audit where action = 'documents.chunking' order by seq"
        ).fetchall()
    assert [row[0] for row in rows] == [{"strategy": "adaptive"}, {"strategy": None}]


async def test_a_workspaces_strategy_is_nobody_elses(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    other = await new_workspace(admin_dsn)
    strategies = ChunkStrategies(ledger.database)
    async with ledger.database.transaction(scope) as tx:
        await strategies.change_workspace(tx, scope, "hierarchical")
    assert await strategies.of_workspace(scope) == "hierarchical" and await strategies.of_workspace(other) is None
    async with ledger.database.transaction(other) as tx:
        await strategies.change_workspace(tx, scope, "adaptive")
    assert await strategies.of_workspace(scope) == "hierarchical"


KEPT = """
    select m.generation_id, m.embedded, m.chunks,
           (select count(*) from embeddings e join document_chunks c on c.id = e.chunk_id
            where e.generation_id = m.generation_id and c.version_id = m.version_id) as vectors
    from indexed_versions m order by 1"""


class LevelEmbedder(LetterEmbedder):
    """Another model, by which all sentences are alike."""

    name = "level"

    async def embed(self, texts: Sequence[str], lane: EmbeddingLane = EmbeddingLane.QUESTION) -> NDArray[np.float32]:
        return letter_vectors(["a"] * len(texts))


async def build_held(ledger: Bench, scope: Scope) -> None:
    await ledger.enqueue(scope, "reindex", {"agent_id": None, "hold": True, "force": True})
    await ledger.run()


async def test_a_new_embedder_leaves_the_cut_of_the_one_before_to_its_readers(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """CH-06, X-01: what compares vectors cuts otherwise by others; generations of one chunker share their chunks."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "plain.txt").write_text(TEXT)
    ledger.chunk = ChunkSettings(strategy="semantic_similarity", similarity=0.999, minimum=60)
    await ledger.scan(scope, tmp_path / "library")
    (before,) = await ledger.rows(scope, KEPT)
    ledger.embedder = LevelEmbedder()
    await build_held(ledger, scope)
    kept, made = await ledger.rows(scope, KEPT)
    assert kept == before and kept["vectors"] == kept["chunks"] > made["chunks"] == made["vectors"] and made["embedded"]


async def test_a_generation_that_is_held_knows_what_another_cut_of_a_document_took_from_it(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """CH-14: no document is without vectors and said to be embedded, whichever generation readers use next."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "plain.txt").write_text(TEXT)
    await ledger.scan(scope, tmp_path / "library")
    await build_held(ledger, scope)
    ((document,),) = [row.values() for row in await ledger.rows(scope, "select id from documents")]
    async with ledger.database.transaction(scope) as tx:
        await ChunkStrategies(ledger.database).change_document(tx, scope, document, "topic_coherence")
    await ledger.enqueue(scope, "process", {"document_id": document})
    await ledger.run()
    live, held = await ledger.rows(scope, KEPT)
    assert live["embedded"] and live["vectors"] == live["chunks"]
    assert held["vectors"] == 0 and not held["embedded"]
    async with ledger.database.transaction(scope) as tx:
        await ledger.switchover.forward(tx, scope, held["generation_id"], force=False)
    assert await ledger.rows(scope, "select has_embeddings from documents") == [{"has_embeddings": False}]
    await ledger.enqueue(scope, "embed", {"agent_id": None})
    await ledger.run()
    _, now = await ledger.rows(scope, KEPT)
    assert now["embedded"] and now["vectors"] == now["chunks"] > 0


async def test_chunks_that_another_chunker_cut_meanwhile_are_not_written(ledger: Bench, scope: Scope) -> None:
    """CH-06 to CH-10: the strategy was changed between the cut and the write; the job looks again."""
    target = await ledger.generations.target(scope, await ledger.recipe())
    other = chunker_fingerprint(with_strategy(ledger.chunk, "adaptive"))
    indexed = IndexedVersion(VersionId("v"), (Chunk(0, "x", (Span(1, 0, 1),)),), None, chunker=other)
    async with ledger.database.transaction(scope) as tx:
        with pytest.raises(GenerationMoved, match="chunker"):
            await ledger.generations.write(tx, scope, indexed, target)
        old = WriteTarget(target.generation, target.chunker, words_only=True)
        assert await ledger.generations.write(tx, scope, indexed, old)
