"""Background tasks behind turns: at most one a session, all of them stopped together."""

import asyncio
from collections.abc import Coroutine, Set


class SessionTasks:
    """Starts work that no turn waits for; work that is stopped is done with a later turn."""

    def __init__(self) -> None:
        """Nothing is begun yet."""
        self._running: dict[str, asyncio.Task[None]] = {}

    @property
    def running(self) -> Set[str]:
        """Sessions that something is done for."""
        return self._running.keys()

    def start(self, session: str, work: Coroutine[object, object, None]) -> None:
        """Begin at once and return; the caller has looked that nothing runs for this session."""
        task = asyncio.get_running_loop().create_task(work)
        self._running[session] = task
        task.add_done_callback(lambda _: self._running.pop(session, None))

    async def close(self) -> None:
        """Stop all that runs, and wait until it has ended."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
