"""Folders in which exports are written, and the end of those that a killed process left behind."""

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Final

PREFIX: Final = "aos-export-"
ABANDONED_SECONDS: Final = 86_400.0  # no export takes as long


def make_export_folder(now: float) -> Path:
    """A new folder for one export, which its maker removes; ours that nobody used for a day go, too.

    Args:
        now: seconds since 1970.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    for other in folder.parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another process was quicker, or it is somebody else's
            if now - other.lstat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(other)
    return folder
