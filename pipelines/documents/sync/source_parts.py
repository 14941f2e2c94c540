"""Parts that sources are defined, looked at and started with."""

from dataclasses import dataclass
from datetime import UTC, datetime

from cluster.state.db.postgres import Database
from cluster.state.work.jobs import JobLedger
from configs.sections_sources import SourceSettings
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

    @classmethod
    def over(cls, database: Database, opener: SourceOpener) -> "SourceParts":
        """Over a database and an opener."""
        store = SourceStore(database)
        starter = SyncStarter(JobLedger(database), store)
        return cls(store, opener, starter, SourceEditor(store), SourceTrials(opener))

    def clock(self, database: Database) -> SourceClock:
        """What starts their syncs, and hides what nobody has confirmed for too long."""
        return SourceClock(database, self.store, SyncedDocuments(database), self.starter, lambda: datetime.now(UTC))

    def going(self, database: Database, settings: SourceSettings) -> tuple[SourceClock, SourceWatcher]:
        """What starts their syncs by itself: the clock, and changes in them."""
        return self.clock(database), SourceWatcher(database, self.opener, self.starter, settings)
