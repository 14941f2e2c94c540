"""Background services of every long-running program: its metrics, and its settings' newest snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass

from redis.asyncio import Redis

from cluster.state.db.postgres import Database
from cluster.state.metrics_store import Figures
from cluster.state.settings.settings_rows import SettingsRows
from cluster.state.settings.snapshots import Snapshots, Watch
from cluster.state.vault import Vault


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Attributes:
    figures: what this process counts.
    rows: the settings that are rows.
    snapshots: the settings as this process has them.
    watch: swaps the snapshot.
    """

    figures: Figures
    rows: SettingsRows
    snapshots: Snapshots
    watch: Watch

    @classmethod
    def of(
        cls,
        database: Database,
        vault: Vault,
        redis: Redis | None,
        snapshots: Snapshots,
        environment: Mapping[str, str] | None = None,
    ) -> "Upkeep":
        """Nothing runs before `open`. `environment` is the process' own unless given."""
        rows = SettingsRows(database, vault, environment)
        return cls(Figures(redis), rows, snapshots, Watch(snapshots, rows))

    async def open(self) -> None:
        """Begin to count together with the other processes, and to take up changed settings; the database is open."""
        await self.figures.open()
        await self.watch.open()

    async def close(self) -> None:
        """End, with every figure in its place."""
        await self.watch.close()
        await self.figures.close()
