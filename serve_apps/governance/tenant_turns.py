"""Turns of tenants: what is overdue of each is done in the background, one tenant after the other."""

import asyncio
import logging
from abc import ABC, abstractmethod

import psycopg

from cluster.basics.errors import AosError


class TenantTurns(ABC):
    """A task of this process; of all replicas one takes a tenant's turn."""

    def __init__(self, log: logging.Logger, pause: float) -> None:
        """`pause` in seconds, once no tenant is due."""
        self._log, self._pause = log, pause
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """From now on turns are taken here too."""
        self._task = asyncio.create_task(self._take_turns())

    async def close(self) -> None:
        """Stop; what a turn has not done is left to the tenant's next one."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @abstractmethod
    async def turn(self) -> str | None:
        """Take the turn of the tenant that is the longest overdue, and tell which; None where there is none."""

    async def _take_turns(self) -> None:
        while True:
            try:
                while await self.turn() is not None:
                    pass
            except (AosError, psycopg.Error) as error:  # the tenant's next turn tries again; the others have theirs
                self._log.warning("%s: %s", type(error).__name__, error)
            await asyncio.sleep(self._pause)
