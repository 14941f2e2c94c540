"""Chunks are searched and their parents are read; metrics of chunks are stored and shown."""

from pathlib import Path

import pytest

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from configs.sections import ChunkSettings, ChunkStrategy
from configs.sections_retrieval import PackSettings, RerankSettings, SearchSettings
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import ContextBudget, SearchQuery, SearchResults
from tests.fakes.ledger import Bench

CHAPTER = "\n\n".join(
    f"# Chapter {n}\n\n"
    + " ".join(f"Pump {n} part {m} moves water through valve number {n * 100 + m}." for m in range(24))
    for n in range(6)
)


def write_manual(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "manual.txt").write_text(text)


async def build(ledger: Bench, scope: Scope, folder: Path, strategy: ChunkStrategy, text: str = CHAPTER) -> None:
    """A folder with one document, indexed."""
    write_manual(folder, text)
    ledger.chunk = ChunkSettings(strategy=strategy)
    await ledger.scan(scope, folder)


async def ask(ledger: Bench, scope: Scope, question: str, **more: object) -> SearchResults:
    pipeline = SearchPipeline(ledger.database, ledger.embedder, None, SearchSettings(), RerankSettings())
    return await pipeline.run(scope, SearchQuery(question, **more))  # type: ignore[arg-type]


async def test_a_parent_is_read_in_place_of_its_chunk(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """CH-09, CH-15: the passage is the parent's text, once, with its spans and titles; the chunk's id stays."""
    await build(ledger, scope, tmp_path / "library", "hierarchical")
    results = await ask(ledger, scope, "valve number 305", limit=4)
    stored = {row["id"]: row for row in await ledger.rows(scope, "select * from document_chunks")}
    (text,) = [row["text"] for row in await ledger.rows(scope, "select text from pages")]
    first = results.hits[0]
    assert "valve number 305" in stored[first.chunk_id]["text"] and "valve number 305" in first.text
    assert len(first.text) > 2 * len(stored[first.chunk_id]["text"]) and len(first.text) <= 1000
    assert first.text == "\n".join(text[span.start : span.end] for span in first.spans)
    assert first.headings == ("Chapter 3",) and first.parent is not None and first.page == 1
    parents = [(hit.version_id, hit.parent) for hit in results.hits]
    assert len(parents) == 4 == len(set(parents)), "a parent comes once, and others fill the list"
    again = await SearchPipeline(ledger.database, ledger.embedder, None, SearchSettings(), RerankSettings()).load_hits(
        scope, [first.chunk_id]
    )
    assert again[0].text == first.text


async def test_parents_are_packed(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """CH-15: into the context that a model reads."""
    await build(ledger, scope, tmp_path / "library", "hierarchical")
    packed = (await ask(ledger, scope, "valve number 305", budget=ContextBudget())).packed
    assert packed and "valve number 305" in packed.formatted_context
    assert all(hit.parent is not None for hit in packed.chunks)
    assert len({hit.parent for hit in packed.chunks}) == len(packed.chunks)


async def test_a_chunk_whose_pages_were_read_again_shows_its_own_text(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """CH-09: until it is cut again the parent's place in the page is another text; no chunk is merged with another."""
    await build(ledger, scope, tmp_path / "library", "hierarchical")
    before = (await ask(ledger, scope, "valve number 305", limit=8)).hits
    await ledger.rows(scope, "update pages set text = 'Another page. ' || text returning id")
    await ledger.rows(scope, "update document_versions set reads = reads + 1 returning id")
    stored = {row["id"]: row["text"] for row in await ledger.rows(scope, "select * from document_chunks")}
    hits = (await ask(ledger, scope, "valve number 305", limit=8)).hits
    assert len(hits) == 8 == len(before) and hits[0].chunk_id == before[0].chunk_id
    assert all(hit.parent is None and hit.text == stored[hit.chunk_id] for hit in hits)
    await ledger.rows(scope, "update documents set has_embeddings = false returning id")
    await ledger.enqueue(scope, "embed", {"agent_id": None})
    await ledger.run()
    assert all(hit.parent is not None for hit in (await ask(ledger, scope, "valve number 305")).hits)


async def test_a_parent_shows_nothing_to_who_may_not_see_its_document(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """X-28, CH-09: rows of pages are behind the same wall as chunks."""
    await build(ledger, scope, tmp_path / "library", "hierarchical")
    found = (await ask(ledger, scope, "valve number 305")).hits
    await ledger.rows(scope, "update documents set readers = array['user:x'] returning id")
    await ledger.rows(scope, "update document_chunks set readers = array['user:x'] returning id")
    await ledger.rows(scope, "update embeddings set readers = array['user:x'] returning chunk_id")
    stranger = Scope(TenantId(scope.tenant), WorkspaceId(scope.workspace), ("user:y",))
    pipeline = SearchPipeline(ledger.database, ledger.embedder, None, SearchSettings(), RerankSettings())
    assert await pipeline.load_hits(stranger, [hit.chunk_id for hit in found]) == ()
    assert (await ask(ledger, stranger, "valve number 305")).hits == ()


@pytest.mark.parametrize("strategy", ["semantic", "semantic_similarity", "adaptive"])
async def test_metrics_are_stored_and_come_with_a_passage(
    ledger: Bench, scope: Scope, tmp_path: Path, strategy: ChunkStrategy
) -> None:
    """CH-05, CH-11 to CH-13: with the name of what cut the chunk."""
    await build(ledger, scope, tmp_path / "library", strategy)
    (hit, *_) = (await ask(ledger, scope, "valve number 305")).hits
    assert (
        hit.metrics and hit.metrics.entropy > 3 and 0 < hit.metrics.coherence <= 1 and 0 < hit.metrics.importance <= 1
    )
    assert (hit.metrics.density is None) is (strategy == "semantic") and hit.parent is None
    rows = await ledger.rows(scope, "select metadata from document_chunks")
    assert all(row["metadata"]["chunking_method"].startswith(strategy) for row in rows)
    assert all(0 <= row["metadata"]["metrics"]["importance"] <= 1 for row in rows)


async def test_metrics_follow_the_chunks_around(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """CH-12: a chunk whose text stays has new neighbours once the pages around it were read again."""
    parts = [
        f"# Part {'abc'[n]}\n\n" + f"Topic{'abcdef'[n] * 4} sentences speak about pumps again. " * 6 for n in range(3)
    ]
    await build(ledger, scope, tmp_path / "library", "semantic", "\f".join(parts))
    query = "select id, text, metadata->'metrics'->>'coherence' as coherence from document_chunks order by chunk_index"
    before = await ledger.rows(scope, query)
    changed = parts[2].replace("pumps", "taxes")
    await ledger.rows(scope, "update pages set text = %(text)s where number = 3 returning id", text=changed)
    await ledger.rows(scope, "update document_versions set reads = reads + 1 returning id")
    await ledger.rows(scope, "update documents set has_embeddings = false returning id")
    await ledger.enqueue(scope, "embed", {"agent_id": None})
    await ledger.run()
    after = await ledger.rows(scope, query)
    assert [row["id"] for row in after[:2]] == [row["id"] for row in before[:2]]
    assert after[1]["coherence"] != before[1]["coherence"] and after[0]["coherence"] == before[0]["coherence"]


async def test_chunks_from_before_there_were_metrics_are_not_written_again(
    ledger: Bench, scope: Scope, tmp_path: Path
) -> None:
    """CH-12: an update does not make a re-index rewrite the whole index; a cut with parents is written."""
    await build(ledger, scope, tmp_path / "library", "semantic")
    await ledger.rows(scope, "update document_chunks set metadata = metadata - 'metrics' returning id")
    query = "select id, xmin::text as written, metadata from document_chunks order by chunk_index"
    before = await ledger.rows(scope, query)
    await ledger.enqueue(scope, "reindex", {"agent_id": None, "force": True})
    await ledger.run()
    assert await ledger.rows(scope, query) == before and before
    await ledger.rows(
        scope, "update documents set chunk_strategy = 'hierarchical', has_embeddings = false returning id"
    )
    await ledger.enqueue(scope, "embed", {"agent_id": None})
    await ledger.run()
    assert all("parent" in row["metadata"] for row in await ledger.rows(scope, query))


async def test_another_strategy_is_another_generation(ledger: Bench, scope: Scope, tmp_path: Path) -> None:
    """CH-06 to CH-10, X-01: as any change of the chunker; the one before stays for a way back."""
    await build(ledger, scope, tmp_path / "library", "semantic")
    ledger.chunk = ChunkSettings(strategy="topic_coherence")
    await ledger.enqueue(scope, "reindex", {"agent_id": None, "force": True})
    await ledger.run()
    methods = await ledger.rows(
        scope,
        "select distinct c.metadata->>'chunking_method' as method from document_chunks c join workspaces w"
        " on w.id = c.workspace_id join generations g on g.id = w.generation_id where g.chunker = c.chunker",
    )
    assert methods == [{"method": "topic_coherence"}]
    async with ledger.database.transaction(scope) as tx:
        await ledger.switchover.back(tx, scope)
    (hit, *_) = (await ask(ledger, scope, "valve number 305")).hits
    assert hit.metrics is not None and len(hit.text) > 600


def test_packing_leaves_importance_out_unless_it_is_set() -> None:
    """CH-15: `pack.importance` is the share by which what is unimportant counts less."""
    assert PackSettings().importance == 0
