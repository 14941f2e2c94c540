"""Logging of our own modules: from one level on, to standard error, which Serve keeps in a replica's file."""

import logging
import threading
from collections.abc import Callable

from cluster.state.settings.snapshots import SettingsSnapshots
from configs.sections import Settings

SERVE = "ray.serve"
FLUSH_SECONDS = 2.0
FLUSHER = "log-flusher"
OURS = ("aos", "cluster", "pipelines", "serve_apps")


def set_up(settings: Settings) -> None:
    """Let `log_level` take effect in this process; the libraries' loggers stay as they are."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for name in OURS:
        logger = logging.getLogger(name)
        logger.setLevel(settings.log_level)
        logger.handlers[:] = [handler]
        logger.propagate = False
    if not any(thread.name == FLUSHER for thread in threading.enumerate()):
        waiting = FLUSH_SECONDS, threading.Event().wait
        threading.Thread(target=flush_forever, args=waiting, name=FLUSHER, daemon=True).start()


def flush_forever(seconds: float, over: Callable[[float], bool]) -> None:
    """Let what is logged reach its file within seconds.

    Serve keeps a thousand lines of a replica before it writes them, or until an error is logged: a warning waited for
    hours (`RAY_SERVE_REQUEST_PATH_LOG_BUFFER_SIZE`, 1000 where RAY_SERVE_THROUGHPUT_OPTIMIZED is set). With a buffer
    of one, each request would write to a disk. `over` waits, and is True at the end.
    """
    while not over(seconds):
        for handler in logging.getLogger(SERVE).handlers:
            handler.flush()


def follow_log_level(snapshots: SettingsSnapshots) -> SettingsSnapshots:
    """As `set_up`, now and with every new snapshot; the same snapshots."""
    set_up(snapshots.now)
    snapshots.told(set_up)
    return snapshots
