"""How large a batch may be: as large as suits the model, but short while questions come that would wait for it."""

from collections.abc import Callable

from cluster.models.ports import Lane

LEAST = 256
"""Tokens; below this a pass through a model costs more than its tokens do."""
QUIET_SECONDS = 10.0
"""After so long without a question, bulk work has the model to itself again."""
_SHARE = 0.2
"""Of the newest batch in the running mean of the speed."""


class Pace:
    """The budget of the next batch in tokens, padding included, from how long the last ones took."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        """Nothing is known yet.

        Args:
            most: tokens a batch may ever have.
            seconds: how long a bulk batch may make a question wait.
            clock: seconds that only grow.
        """
        self._most, self._seconds, self._clock = most, seconds, clock
        self._speed: float | None = None
        self._asked = float("-inf")

    def asked(self) -> None:
        """Somebody asks a question, and others may follow."""
        self._asked = self._clock()

    def budget(self, lane: Lane) -> int:
        """Tokens for the next batch of this lane."""
        if lane is Lane.QUESTION or self._clock() - self._asked > QUIET_SECONDS:
            return self._most
        if self._speed is None:
            return LEAST
        return max(LEAST, min(self._most, int(self._speed * self._seconds)))

    def took(self, tokens: int, seconds: float) -> None:
        """A batch is done; small ones say little about the speed of large ones and are left out."""
        if tokens < LEAST // 2 or seconds <= 0:
            return
        speed = tokens / seconds
        self._speed = speed if self._speed is None else (1 - _SHARE) * self._speed + _SHARE * speed
