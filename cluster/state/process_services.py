"""Background services of every long-running program: its metrics, and its settings' newest snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass

from redis.asyncio import Redis

from cluster.state.db.postgres import Database
from cluster.state.metrics_store import MetricsStore
from cluster.state.settings.settings_rows import SettingsRows
from cluster.state.settings.snapshots import SettingsSnapshots, SettingsWatcher
from cluster.state.vault import Vault


@dataclass(frozen=True, slots=True)
class ProcessServices:
    """The counts of one process, the settings that are rows and those that it has, and the watcher that swaps these."""

    figures: MetricsStore
    rows: SettingsRows
    snapshots: SettingsSnapshots
    watch: SettingsWatcher

    @classmethod
    def of(
        cls,
        database: Database,
        vault: Vault,
        redis: Redis | None,
        snapshots: SettingsSnapshots,
        environment: Mapping[str, str] | None = None,
    ) -> "ProcessServices":
        """Nothing runs before `open`. `environment` is the process' own unless given."""
        rows = SettingsRows(database, vault, environment)
        return cls(MetricsStore(redis), rows, snapshots, SettingsWatcher(snapshots, rows))

    async def open(self) -> None:
        """Begin to count together with the other processes, and to take up changed settings; the database is open."""
        await self.figures.open()
        await self.watch.open()

    async def close(self) -> None:
        """End, with every figure in its place."""
        await self.watch.close()
        await self.figures.close()
