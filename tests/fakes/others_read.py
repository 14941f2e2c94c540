"""Folders for servers and tests that act as somebody else, whatever the umask and temporary folder of a run are."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.state.db.daemon import is_passable
from cluster.state.db.postgres_account import COPIES


@contextmanager
def folder_for_others(prefix: str) -> Iterator[Path]:
    """A folder that everybody may enter, and meanwhile a umask by which everybody reads what this process writes.

    The run's temporary folder lets nobody else in on a careful machine; then it lies where somebody else may go.
    """
    before = os.umask(0o022)
    place = Path(tempfile.mkdtemp(prefix=prefix, dir=_passable_folder()))
    try:
        place.chmod(0o755)
        yield place
    finally:
        os.umask(before)
        shutil.rmtree(place, ignore_errors=True)


def _passable_folder() -> Path:
    for folder in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        if is_passable(folder / "any"):
            return folder
    COPIES.mkdir(parents=True, exist_ok=True)
    return COPIES
