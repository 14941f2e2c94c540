"""Serve's part of Ray's dashboard, all that is asked of it here, in one process instead of three.

Ray's dashboard runs each of its modules in a process of its own, forked by a third one, and asks it once a second
whether it lives: 110 MB, and half of what all of it computes. Here the one module that is used answers by itself.
"""

import argparse
import asyncio
from collections.abc import Sequence

from ray import ray_constants
from ray._raylet import GcsClient  # type: ignore[attr-defined]

import cluster.worker_start  # noqa: F401  # before Ray Serve

LOG = "dashboard.log"  # where Ray's own writes
LOG_BYTES, LOG_FILES = 2**24, 2


def parse_words(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Of the options of Ray's dashboard those that are used here; the others are let pass."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("host", "gcs-address", "cluster-id-hex", "temp-dir", "session-dir", "log-dir"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", required=True, type=int)
    return parser.parse_known_args(words)[0]


def announce(given: argparse.Namespace) -> None:
    """Tell `ray start`, which begins the raylet once it has read it, and whoever else looks for Ray's dashboard."""
    GcsClient(address=given.gcs_address, cluster_id=given.cluster_id_hex).internal_kv_put(
        ray_constants.DASHBOARD_ADDRESS.encode(),
        f"{given.host}:{given.port}".encode(),
        True,
        ray_constants.KV_NAMESPACE_DASHBOARD,
    )


def main() -> None:
    """Answer until a signal ends it, or Ray's GCS is no more: Ray ends its own drivers."""
    given = parse_words()
    announce(given)
    # The rest is loaded while the raylet begins: a second, for which `ray start` would wait.
    from ray._private.ray_logging import setup_component_logger
    from ray.dashboard.subprocesses.module import SubprocessModuleConfig

    from cluster.ray_daemons.serve_routes import answer_forever

    form = {"logging_level": ray_constants.LOGGER_LEVEL, "logging_format": ray_constants.LOGGER_FORMAT}
    setup_component_logger(log_dir=given.log_dir, filename=LOG, max_bytes=LOG_BYTES, backup_count=LOG_FILES, **form)
    config = SubprocessModuleConfig(
        cluster_id_hex=given.cluster_id_hex,
        gcs_address=given.gcs_address,
        session_name=given.session_dir.rpartition("/")[2],
        temp_dir=given.temp_dir,
        session_dir=given.session_dir,
        log_dir=given.log_dir,
        logging_filename=LOG,
        logging_rotate_bytes=LOG_BYTES,
        logging_rotate_backup_count=LOG_FILES,
        socket_dir="",  # nobody answers there
        **form,
    )
    asyncio.run(answer_forever(config, given.host, given.port))


if __name__ == "__main__":
    main()
