"""Stored page text to chunks and vectors as Ray Data; also every re-index, which therefore never reads a file."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from cluster import handles
from cluster.basics.scope import Scope
from cluster.models.ports import EmbeddingLane
from cluster.state.db.embedded import resolve_endpoints
from cluster.state.db.postgres import Database
from configs.sections import ReadSettings
from configs.settings import load_settings
from pipelines import rows
from pipelines.documents.document import VersionId
from pipelines.documents.index.chunk_and_embed import VersionIndexer, chunk_token_ends
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.read import be_a_reader, stream_through_actors

SLOWEST_CALL = 4 * 3600.0  # sixteen books of a thousand pages each, on a laptop
VERSIONS_A_CALL = 8  # embedded in one call: one-page files fill the embedder's batches, and little is lost by a stop


class _Index:
    """Loads pages under the job's scope, splits them, and embeds through the Serve embedder in the low lane."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        settings = load_settings(rows=given)
        be_a_reader(settings)
        self._loop = asyncio.Runner()
        self._database = Database(resolve_endpoints(settings).postgres, size=1, timeout=settings.postgres.pool_timeout)
        self._loop.run(self._database.open())
        embedder = handles.build_embedder(settings)
        store, tokens = DocumentStore(self._database), chunk_token_ends(settings.chunk, settings.embedding)
        self._indexer = VersionIndexer(store, embedder, settings.chunk, EmbeddingLane.BULK, tokens=tokens)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        for row in batch.to_pylist():
            scope = Scope.of_worker(row["tenant"], row["workspace"])
            versions = [VersionId(version) for version in row["versions"]]
            indexed = self._loop.run(self._indexer.index(scope, versions))
            yield pa.Table.from_pylist([rows.of_indexed(one) for one in indexed])


def index_versions(
    scope: Scope, versions: Sequence[VersionId], settings: ReadSettings, given: Mapping[str, Any] | None = None
) -> Iterator[list[IndexedVersion]]:
    """Split and embed versions on the cluster; one list a call to the embedder. `given` are rows of the settings."""
    groups = [
        {**scope.keys, "versions": list(versions[start : start + VERSIONS_A_CALL])}
        for start in range(0, len(versions), VERSIONS_A_CALL)
    ]
    for table in stream_through_actors(groups, _Index, settings, quiet_seconds=SLOWEST_CALL, given=given):
        yield [rows.to_indexed(row) for row in table.to_pylist()]
