"""`read.readers: auto` follows nodes that come and go; every page is read once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ray
ROOT = Path(__file__).parents[2]


def came_of_changes() -> dict[str, int]:
    """A cluster of its own: the one of this session stays as it is."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "tests.ray.growing_cluster"]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_readers_follow_nodes_that_come_and_go() -> None:
    """Two nodes of two CPUs, then one of four more, which is killed in the middle of a batch."""
    found = came_of_changes()
    assert (found["few"], found["many"], found["fewer"]) == (3, 7, 3)
    assert 3 < found["readers"] <= 7
    assert found["pages"] == found["distinct"] == 120
