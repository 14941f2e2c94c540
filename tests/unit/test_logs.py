"""What replicas log reaches its file within seconds, although Serve keeps a thousand lines."""

import logging
import logging.handlers
import threading
from pathlib import Path

from cluster import logs


def test_a_warning_does_not_wait_for_a_thousand_others(tmp_path: Path) -> None:
    """As Serve sets a replica's log up where RAY_SERVE_THROUGHPUT_OPTIMIZED is set."""
    path = tmp_path / "replica.log"
    target = logging.FileHandler(path)
    kept = logging.handlers.MemoryHandler(1000, logging.ERROR, target)
    logger = logging.getLogger(logs.SERVE)
    logger.addHandler(kept)
    try:
        logger.warning("the disk is nearly full")
        assert path.read_text() == "", "it would wait"
        flusher = threading.Event()
        thread = threading.Thread(target=logs.flush_forever, args=(0.01, flusher.wait), daemon=True)
        thread.start()
        for _ in range(500):
            if path.read_text():
                break
            flusher.wait(0.01)
        flusher.set()
        thread.join(5)
        assert "nearly full" in path.read_text() and not thread.is_alive()
    finally:
        logger.removeHandler(kept)
        target.close()
