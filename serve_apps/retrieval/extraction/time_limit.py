"""Time limit of an extraction's rules: they ask between their steps, and say what was not looked for."""

import math
import time
from typing import Final

NOT_IN_TIME: Final = "was not looked for, as time ran out"


class RulesOutOfTime(Exception):
    """The rules took longer than they may."""


class TimeLimit:
    """Seconds from now on that rules may take."""

    def __init__(self, seconds: float) -> None:
        """A thread cannot be ended from outside: what runs in one has to ask."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """True from its end on."""
        return time.monotonic() >= self._end

    def check_time(self) -> None:
        """Raises RulesOutOfTime: it is over."""
        if self.is_over:
            raise RulesOutOfTime


UNLIMITED: Final = TimeLimit(math.inf)
