"""Folders for servers and tests that act as somebody else, whatever the umask and temporary folder of a run are."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def folder_for_others(prefix: str) -> Iterator[Path]:
    """A folder that everybody may enter, and meanwhile a umask by which everybody reads what this process writes.

    Not within the run's own temporary folder: that of a careful machine lets nobody else in.
    """
    before = os.umask(0o022)
    place = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    try:
        place.chmod(0o755)
        yield place
    finally:
        os.umask(before)
        shutil.rmtree(place, ignore_errors=True)
