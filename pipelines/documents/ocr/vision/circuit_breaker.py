"""Circuit breaker: after failures in a row nobody is asked for a while, then one call tries whether it works again."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class CircuitBreaker:
    """Closed until `failures` calls in a row have failed, then open for `rest_seconds`, then half open for one call."""

    failures: int
    rest_seconds: float
    clock: Callable[[], float]
    _failed: int = field(default=0, init=False)
    _opened: float | None = field(default=None, init=False)
    _trial: bool = field(default=False, init=False)  # whether the one call of the half-open state is under way

    @property
    def state(self) -> str:
        """`closed`, `open` or `half_open`."""
        if self._opened is None:
            return "closed"
        return "open" if self.clock() - self._opened < self.rest_seconds else "half_open"

    def admit(self) -> bool:
        """True where a call may be made; whoever makes it tells how it ended."""
        if self.state == "half_open" and not self._trial:
            self._trial = True
            return True
        return self.state == "closed"

    def record_success(self) -> None:
        """Close it."""
        self._failed, self._opened, self._trial = 0, None, False

    def record_failure(self) -> None:
        """Count a failure; one in the half-open state opens it again."""
        self._failed += 1
        if self._trial or self._failed >= self.failures:
            self._opened = self.clock()
        self._trial = False

    def release(self) -> None:
        """Let another call be the trial: this one was given up for a reason that says nothing of the other side."""
        self._trial = False
