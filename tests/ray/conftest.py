"""One small Ray cluster for the whole session; nothing listens off loopback that we start."""

import os
import socket
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A local Ray with 8 logical CPUs, a declared GPU, and Serve; yields the URL of its HTTP proxy."""
    # Read by Ray when it is imported, or by the processes that it starts.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ["RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S"] = "0.1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    # For the actors alone: they read their settings from what Ray's daemons inherit here, and from no database.
    for_workers = {
        "OCR_STRATEGY": "tesseract",
        "OCR_DPI": "150",
        "NFS_BASE_PATH": "/",
        "AOS_STATE_DIR": str(tmp_path_factory.mktemp("state")),
    }
    os.environ |= for_workers
    ray.init(
        address="local",  # never join what else runs on this machine
        num_cpus=8,
        num_gpus=1,  # declared, not there: Ray only counts it
        include_dashboard=False,
        namespace="aos-tests",
        log_to_driver=False,
        object_store_memory=200 * 2**20,
        configure_logging=False,
    )
    for name in for_workers:
        del os.environ[name]
    serve.start(http_options=HTTPOptions(host="127.0.0.1", port=port))
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        serve.shutdown()
        ray.shutdown()
