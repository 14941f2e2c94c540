"""The deep examination of a test's databases and folder."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from redis.asyncio import Redis

from cluster.state.db.postgres import Database
from configs.sections_blobs import BlobSettings
from configs.settings import load_settings
from serve_apps.integrity.deep_examination import DeepOptions, ExaminedPlaces, examine_deeply
from serve_apps.integrity.integrity_finding import IntegrityReport


class ExaminedInstance:
    """What a doctor is given: the databases of a test, and a folder."""

    def __init__(self, app_dsn: str, admin_dsn: str, redis_url: str, state: Path) -> None:
        self.app_dsn, self.admin_dsn, self.redis_url, self.state = app_dsn, admin_dsn, redis_url, state
        self.told: list[str] = []

    @asynccontextmanager
    async def places(self, owner: str | None) -> AsyncIterator[ExaminedPlaces]:
        pool = Database(self.app_dsn, size=1, timeout=10)
        await pool.open()
        redis = Redis.from_url(self.redis_url)
        try:
            with httpx.Client() as client:
                yield ExaminedPlaces(owner, pool, redis, client)
        finally:
            await redis.aclose()
            await pool.close()

    async def examine(
        self,
        owner: str | None = "",
        *,
        blobs: BlobSettings | None = None,
        later: timedelta = timedelta(),
        **options: Any,
    ) -> IntegrityReport:
        """One examination, as if it were so much later."""
        settings = load_settings({"AOS_STATE_DIR": str(self.state)})
        settings = settings if blobs is None else settings.model_copy(update={"blobs": blobs})
        asked, now = DeepOptions(**options), datetime.now(UTC) + later
        async with self.places(self.admin_dsn if owner == "" else owner) as places:
            return await examine_deeply(settings, places, asked, now, self.told.append)


def found_in(report: IntegrityReport) -> Counter[tuple[str, str]]:
    """What is there after it, by check and place."""
    counted: Counter[tuple[str, str]] = Counter()
    for one in report.findings:
        counted[one.check, one.place] += one.left
    return +counted
