"""A small disk for a state directory alone, where this account may mount one: only such a disk is filled on purpose."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 4 * 2**30  # bytes: Postgres' log alone may take two GiB


@contextmanager
def own_disk(size: int = SIZE) -> Iterator[Path | None]:
    """The mounted folder; None where mounting is not allowed."""
    with tempfile.TemporaryDirectory(
        prefix="d-"
    ) as place:  # short: Ray's sockets fit into it, and so its logs are there
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", place]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            yield None
            return
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)
