"""Classification by itself: documents that are new, or whose rules are others, are given their class soon."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import psycopg

from cluster.basics.errors import AosError
from pipelines.documents.privacy.document_classes import DocumentClasses

log = logging.getLogger("aos.classification")

LOOK_SECONDS: Final = 5.0
EVERY: Final = timedelta(seconds=30)


class ClassificationProcess:
    """Looks through one tenant at a time; of all replicas one takes a tenant."""

    def __init__(self, classes: DocumentClasses, clock: Callable[[], datetime]) -> None:
        """`clock` gives the moment, with a time zone."""
        self._classes, self._clock = classes, clock
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """From now on turns are taken here too."""
        self._task = asyncio.create_task(self._take_turns())

    async def close(self) -> None:
        """Stop; a document that is not settled is looked at again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def turn(self) -> str | None:
        """Take the turn of the tenant that waits the longest; None where there is none."""
        tenant = await self._classes.claim(self._clock(), EVERY)
        if tenant is not None:
            await self._classes.sweep_tenant(tenant)
        return tenant

    async def _take_turns(self) -> None:
        while True:
            try:
                while await self.turn() is not None:
                    pass
            except (AosError, psycopg.Error) as error:  # the tenant's next turn tries again; the others have theirs
                log.warning("classification: %s: %s", type(error).__name__, error)
            await asyncio.sleep(LOOK_SECONDS)
