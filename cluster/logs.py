"""What our own modules log: from one level on, to standard error, which Serve keeps in a replica's file."""

import logging

from cluster.state.snapshots import Snapshots
from configs.sections import Settings

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


def follow(snapshots: Snapshots) -> Snapshots:
    """As `set_up`, now and with every new snapshot; the same snapshots."""
    set_up(snapshots.now)
    snapshots.told(set_up)
    return snapshots
