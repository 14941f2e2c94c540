"""`aos` as a program of its own, asked for JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def run_aos(state: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Its exit code, and what it printed: of an error the error."""
    done = subprocess.run(
        [sys.executable, "-m", "cluster.cli", *words, "--json"],
        cwd=ROOT,
        env=os.environ | {"AOS_STATE_DIR": str(state), "AOS_ENV_FILE": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or done.stderr)
