"""Replays by the handful: each walks a whole turn again, beside the turns that people wait for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cluster.basics.errors import Overloaded
from cluster.basics.scope import Scope
from serve_apps.http.ports import ReplaysPort

MOST = 2  # at a time, in one process


class FewReplays:
    """`ReplaysPort`, so many at a time; one more is refused at once, as nobody waits for it but who asked."""

    def __init__(self, replays: ReplaysPort, most: int = MOST) -> None:
        """Limit concurrent replays; one instance a process."""
        self._replays, self._most, self._walking = replays, most, 0

    async def unmasked_answer(self, scope: Scope, run: str) -> str | None:
        """See `ReplaysPort`. Raises Overloaded as `replay`."""
        with self._place():
            return await self._replays.unmasked_answer(scope, run)

    async def replay(
        self, scope: Scope, run: str, *, model: str | None = None, prompt: str | None = None
    ) -> Mapping[str, Any]:
        """See `ReplaysPort`. Raises Overloaded: so many are under way."""
        with self._place():
            return await self._replays.replay(scope, run, model=model, prompt=prompt)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._walking >= self._most:
            raise Overloaded(f"{self._walking} replays are under way here")
        self._walking += 1
        try:
            yield
        finally:
            self._walking -= 1
