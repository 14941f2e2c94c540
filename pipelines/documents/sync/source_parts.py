"""Parts that sources are defined, looked at and started with."""

from dataclasses import dataclass
from datetime import UTC, datetime

from redis.asyncio import Redis

from cluster.state.db.postgres import Database
from cluster.state.work.jobs import JobLedger
from configs.sections_sources import SourceSettings
from pipelines.documents.sync.folder_browser import FolderBrowser
from pipelines.documents.sync.source_clock import SourceClock
from pipelines.documents.sync.source_edits import SourceEditor
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_store import SourceStore
from pipelines.documents.sync.source_trial import SourceTrials
from pipelines.documents.sync.source_watcher import SourceWatcher
from pipelines.documents.sync.start_sync import SyncStarter
from pipelines.documents.sync.synced_documents import SyncedDocuments


@dataclass(frozen=True, slots=True)
class SourceParts:
    """What the API needs of sources; the work itself is a worker's."""

    store: SourceStore
    opener: SourceOpener
    starter: SyncStarter
    editor: SourceEditor
    trials: SourceTrials
    browser: FolderBrowser

    @classmethod
    def over(cls, database: Database, opener: SourceOpener, redis: Redis | None = None) -> "SourceParts":
        """Over a database and an opener; with `redis` folders that were browsed are remembered for a while."""
        store = SourceStore(database)
        starter = SyncStarter(JobLedger(database), store)
        browser = FolderBrowser(opener, redis)
        return cls(store, opener, starter, SourceEditor(store), SourceTrials(opener), browser)

    def clock(self, database: Database) -> SourceClock:
        """What starts their syncs, and hides what nobody has confirmed for too long."""
        return SourceClock(database, self.store, SyncedDocuments(database), self.starter, lambda: datetime.now(UTC))

    def going(self, database: Database, settings: SourceSettings) -> tuple[SourceClock, SourceWatcher]:
        """What starts their syncs by itself: the clock, and changes in them."""
        return self.clock(database), SourceWatcher(database, self.opener, self.starter, settings)
