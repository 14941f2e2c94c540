"""Tests that need a small process: the kernel counts a parent's memory as the most that its children ever had.

`wait4` tells a child's `ru_maxrss`, and of a program that was just started that is at least what its parent held then
(`exec_mmap` in fs/exec.c). A run of thousands of tests holds more than these children may have.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = "AOS_TEST_APART"


def apart(test: Callable[..., None]) -> Callable[..., None]:
    """The test in a pytest of its own."""

    @functools.wraps(test)
    def run(**given: Any) -> None:
        if os.environ.get(HERE):
            test(**given)
            return
        place = f"{Path(sys.modules[test.__module__].__file__ or '')}::{test.__name__}"
        command = [sys.executable, "-m", "pytest", "-q", place]
        done = subprocess.run(command, env=os.environ | {HERE: "1"}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:]

    return run
