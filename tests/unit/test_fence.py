"""The fence around unit tests holds."""

import os
import subprocess
import sys

import pytest


def test_a_unit_test_cannot_start_a_process() -> None:
    with pytest.raises(AssertionError, match="tests/process"):
        subprocess.run([sys.executable, "-c", ""], check=True)
    with pytest.raises(AssertionError, match="tests/process"):
        os.posix_spawn("/bin/true", ["true"], {})
