"""Stored page text to chunks and vectors as Ray Data; also every re-index, which therefore never reads a file."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import ray
from ray.exceptions import RayError

from cluster import handles
from cluster.basics.scope import Scope
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.db.embedded import resolve_endpoints, timeline_fence
from cluster.state.db.postgres import Database
from configs.sections import ReadSettings, Settings
from configs.settings import load_settings
from pipelines import rows
from pipelines.documents.document import VersionId
from pipelines.documents.index.chunk_and_embed import VersionIndexer, chunk_token_ends
from pipelines.documents.index.generations import IndexedVersion
from pipelines.documents.store.document_writes import DocumentStore
from pipelines.read import BEHIND, be_a_reader, classified, stream_through_actors

SLOWEST_CALL = 4 * 3600.0  # sixteen books of a thousand pages each, on a laptop
VERSIONS_A_CALL = 8  # embedded in one call: one-page files fill the embedder's batches, and little is lost by a stop


class _Index:
    """Loads pages under the job's scope, splits them, and embeds through the Serve embedder in the low lane."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        settings = load_settings(rows=given)
        be_a_reader(settings)
        self._loop = asyncio.Runner()
        dsn, fence = resolve_endpoints(settings).postgres, timeline_fence(settings)
        self._database = Database(dsn, size=1, timeout=settings.postgres.pool_timeout, fence=fence)
        self._loop.run(self._database.open())
        store, tokens = DocumentStore(self._database), chunk_token_ends(settings.chunk, settings.embedding)
        self._indexer = VersionIndexer(
            store, self._embedder(settings), settings.chunk, EmbeddingLane.BULK, tokens=tokens
        )

    def _embedder(self, settings: Settings) -> Embedder:
        return handles.build_embedder(settings)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        for row in batch.to_pylist():
            yield pa.Table.from_pylist(self.index_group(row))

    def index_group(self, row: rows.Row) -> list[rows.Row]:
        """Versions of one workspace."""
        scope = Scope.of_worker(row["tenant"], row["workspace"])
        versions = [VersionId(version) for version in row["versions"]]
        apart = bool(row.get("apart"))  # a worker from before an update does not say it
        return [rows.of_indexed(one, apart=apart) for one in self._loop.run(self._indexer.index(scope, versions))]


def index_versions(
    scope: Scope, versions: Sequence[VersionId], settings: ReadSettings, given: Mapping[str, Any] | None = None
) -> Iterator[list[IndexedVersion]]:
    """Split and embed versions on the cluster; one list a call to the embedder. `given` are rows of the settings."""
    groups = _groups(scope, versions)
    for table in stream_through_actors(groups, _Index, settings, quiet_seconds=SLOWEST_CALL, given=given):
        yield [rows.to_indexed(row) for row in table.to_pylist()]


def _groups(scope: Scope, versions: Sequence[VersionId]) -> list[rows.Row]:
    return [
        {**scope.keys, "versions": list(versions[start : start + VERSIONS_A_CALL]), "apart": True}
        for start in range(0, len(versions), VERSIONS_A_CALL)
    ]


class IndexBeside:
    """Indexes while a Dataset reads, by an actor of its own that begins at the first call.

    A second Dataset would have half of the cluster, and readers would end for it. The CPU that it takes is the one that
    readers leave to Ray Data.
    """

    def __init__(
        self, settings: ReadSettings, given: Mapping[str, Any] | None = None, work: type[Any] = _Index
    ) -> None:
        self._settings, self._given, self._work = settings, given, work
        self._actor: Any = None

    async def index(self, scope: Scope, versions: Sequence[VersionId]) -> AsyncIterator[list[IndexedVersion]]:
        """As in Stages. Raises AosError as a Dataset does: what is left is indexed another time."""
        if self._actor is None:
            self._actor = await asyncio.to_thread(self._begin)
        try:
            for group in _groups(scope, versions):
                found = await asyncio.wrap_future(self._actor.index_group.remote(group).future())
                yield [rows.to_indexed(row) for row in found]
        except RayError as error:
            raise classified(error) from error

    def _begin(self) -> Any:
        kind = ray.remote(self._work).options(
            num_cpus=self._settings.reader_cpus, runtime_env={"py_executable": BEHIND} if self._settings.idle else None
        )
        return kind.remote(dict(self._given) if self._given else None)

    async def close(self) -> None:
        """Gives its CPU and memory back."""
        if self._actor is not None:
            actor, self._actor = self._actor, None
            await asyncio.to_thread(ray.kill, actor)
