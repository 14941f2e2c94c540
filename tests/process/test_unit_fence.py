"""A run of unit tests alone fails where anything imported Ray or another library that takes seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("slow", "named"), [(None, ""), ("ray", "Ray"), ("gradio", "Gradio"), ("anthropic", "Anthropic's library")]
)
def test_a_unit_run_that_imports_what_is_slow_fails(slow: str | None, named: str) -> None:
    plugins = ("-p", slow) if slow else ()
    command = [sys.executable, "-m", "pytest", *plugins, "tests/unit/test_commands.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == (1 if slow else 0), done.stdout + done.stderr
    assert (f"import no {named}" in done.stdout) is (slow is not None)
    assert "1 passed" in done.stdout
