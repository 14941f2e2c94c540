"""Puts the parts of synchronised sources together from settings."""

from datetime import UTC, datetime
from typing import Final

from cluster.state.db.postgres import Database
from cluster.state.vault import Vault
from cluster.state.work.jobs import JobLedger
from configs.sections import ReadSettings, Settings
from configs.sections_sources import SourceSettings
from pipelines.documents.sources.source_port import SourceBounds
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.sync.rights_pass import RightsPasses
from pipelines.documents.sync.source_opener import EndpointGuard, SourceOpener
from pipelines.documents.sync.source_store import SourceStore
from pipelines.documents.sync.source_sync import FetchLimits, SourceSync
from pipelines.documents.sync.sync_planner import ListingBounds, SyncPlanner
from pipelines.documents.sync.synced_documents import SyncedDocuments

_SURVEY: Final = "survey"  # where what was fetched goes on, see `pipelines.documents.ingest.job_plan`


def source_opener(settings: Settings, database: Database, vault: Vault) -> SourceOpener:
    """Opens what settings allow; what sources can fetch again is kept below the state folder."""
    own, base, cache = settings.sources, settings.read.nfs_base_path, settings.state_dir / "sources"
    bounds = SourceBounds(own.git_pack_bytes, own.web_rate, own.cache_bytes)
    guard = EndpointGuard(own.allow)
    return SourceOpener(database, vault, base, guard, settle_seconds=own.settle_seconds, cache=cache, bounds=bounds)


def source_sync(settings: Settings, database: Database, vault: Vault, blobs: BlobStore) -> SourceSync:
    """What a worker's jobs synchronise with."""
    opener = source_opener(settings, database, vault)
    return build_sync(database, opener, blobs, settings.read, settings.sources, JobLedger(database))


def build_sync(
    database: Database,
    opener: SourceOpener,
    blobs: BlobStore,
    read: ReadSettings,
    sources: SourceSettings,
    jobs: JobLedger,
) -> SourceSync:
    """The same with an opener and a ledger that are there."""
    store = SourceStore(database)
    limits, documents = FetchLimits(read.max_file_bytes), SyncedDocuments(database)
    passes, bounds = RightsPasses(database, documents), ListingBounds(sources.most_items, sources.quiet_seconds)
    planner = SyncPlanner(jobs, store, passes, opener, lambda: datetime.now(UTC), bounds)
    return SourceSync(jobs, store, documents, passes, opener, planner, blobs, limits, _SURVEY)
