"""The fence around unit tests holds."""

import os
import socket
import subprocess
import sys

import pytest


def test_a_unit_test_cannot_start_a_process() -> None:
    with pytest.raises(AssertionError, match="tests/process"):
        subprocess.run([sys.executable, "-c", ""], check=True)
    with pytest.raises(AssertionError, match="tests/process"):
        os.posix_spawn("/bin/true", ["true"], {})


def test_a_unit_test_cannot_open_a_connection() -> None:
    with socket.socket() as one, pytest.raises(AssertionError, match="tests/wire"):
        one.bind(("127.0.0.1", 0))
    with socket.socket() as one, pytest.raises(AssertionError, match="tests/wire"):
        one.connect(("127.0.0.1", 9))
