"""`make` on RHEL and its like, played by a PATH with `dnf` and without `apt-get`."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("system", "sudo dnf install -y tesseract tesseract-langpack-eng bubblewrap libseccomp"),
        ("browser", "sudo dnf install -y chromium"),
    ],
)
def test_where_there_is_dnf_and_no_apt_the_line_to_run_is_printed(target: str, said: str, tmp_path: Path) -> None:
    """Nothing is installed by it, and it says that nobody has tried these names."""
    ran = tmp_path / "ran"
    for name in ("make", "date", "id", "grep", "awk"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    for name in ("dnf", "sudo"):
        (tmp_path / name).write_text(f"#!/bin/bash\necho {name} >> {ran}\n")
        (tmp_path / name).chmod(0o755)
    command = [str(shutil.which("make")), "-C", str(ROOT), target]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and said in done.stdout and "not tried" in done.stdout, done.stdout + done.stderr
    assert "apt-get" not in done.stdout and not ran.exists()
