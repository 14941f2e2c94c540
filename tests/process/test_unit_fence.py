"""A run of unit tests alone fails where anything imported Ray."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("plugins", "code"), [((), 0), (("-p", "ray"), 1)])
def test_a_unit_run_that_imports_ray_fails(plugins: tuple[str, ...], code: int) -> None:
    command = [sys.executable, "-m", "pytest", *plugins, "tests/unit/test_commands.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("import no Ray" in done.stdout) is (code == 1)
    assert "1 passed" in done.stdout
