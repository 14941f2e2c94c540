"""Limits of the kernel on watches, in a process with limits of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMITED = """
import sys
from pathlib import Path
from pipelines.documents.sources.folder_events import EventWatch, WatchLimitReached, list_watched_folders
try:
    EventWatch(Path(sys.argv[1]), list_watched_folders(Path(sys.argv[1]), 100))
except WatchLimitReached as error:
    print(error.detail)
"""


@pytest.mark.parametrize(("limit", "at"), [("watches", 3), ("instances", 0)])
def test_the_limit_of_the_kernel_is_noticed_though_the_library_says_nothing(
    tmp_path: Path, limit: str, at: int
) -> None:
    """In a user namespace of its own, which has limits of its own."""
    for n in range(5):
        (tmp_path / f"f{n}").mkdir()
    narrow = f'echo {at} > /proc/sys/user/max_inotify_{limit} || exit 77; exec "$0" -c "$1" "$2"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", narrow, sys.executable, LIMITED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    if done.returncode in (1, 77) and not done.stdout and "Traceback" not in done.stderr:
        pytest.skip(f"no user namespace can be made here: {done.stderr.strip()[:200]}")
    assert f"fs.inotify.max_user_{limit}" in done.stdout, done.stderr
