"""Python imports this by itself where its folder is in PYTHONPATH: Ray's dashboard then begins as our workers do."""

import cluster.worker_start  # noqa: F401
