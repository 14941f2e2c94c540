"""A keeper of backups, stepped until something is so."""

import time
from collections.abc import Callable

from cluster.state.backup.keeper import BackupKeeper


def step_until(keeper: BackupKeeper, what: Callable[[], bool], seconds: float = 60) -> None:
    """As the supervisor's child steps it, only more often."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        keeper.step()
        time.sleep(0.1)
