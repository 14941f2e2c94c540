"""A run of unit tests alone fails where anything imported Ray or another library that takes seconds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("slow", "named"), [(None, ""), ("ray", "Ray"), ("gradio", "Gradio"), ("anthropic", "Anthropic's library")]
)
def test_a_unit_run_that_imports_what_is_slow_fails(slow: str | None, named: str, tmp_path: Path) -> None:
    if slow:
        (tmp_path / f"{slow}.py").touch()  # something of that name: the real one takes seconds
    plugins = ("-p", slow) if slow else ()
    command = [sys.executable, "-m", "pytest", *plugins, "tests/unit/test_commands.py"]
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == (1 if slow else 0), done.stdout + done.stderr
    assert (f"import no {named}" in done.stdout) is (slow is not None)
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE)
