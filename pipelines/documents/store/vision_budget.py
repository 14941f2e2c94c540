"""Budget of pages that a multimodal model is asked about, counted for each job and each day of a workspace."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction, load_queries
from configs.sections_reading import VisionSettings

SQL = load_queries(Path(__file__).with_suffix(".sql"))


class StoredVisionBudget:
    """Counts in Postgres: all workers share it, and a restart forgets nothing."""

    def __init__(self, database: Database, settings: VisionSettings, now: Callable[[], datetime]) -> None:
        """`now` is in UTC, whose days are counted."""
        self._database, self._settings, self._now = database, settings, now

    async def take(self, scope: Scope, job: str, pixels: int) -> str:
        """Take one page; why there is none left, or "" where it was taken."""
        named = {**scope.keys, "job": job, "day": self._now().date()}
        async with self._database.transaction(scope) as tx:
            await tx.one(SQL["hold"], workspace=scope.workspace)
            used = await tx.one(SQL["used"], **named) or {"today": 0, "of_job": 0}
            if used["of_job"] >= self._settings.pages_per_job:
                return f"the model has looked at the {used['of_job']} pages that it may of one job"
            if used["today"] >= self._settings.pages_per_day:
                return f"the model has looked at the {used['today']} pages that it may in one day"
            await tx.run(SQL["take"], **named, pixels=pixels)
        return ""


async def renew_job_budget(tx: Transaction, scope: Scope, job: str) -> None:
    """Let a job that somebody has done again look at as many pages as a new one; the days keep what was spent."""
    await tx.run(SQL["renew_job"], **scope.keys, job=job)
