"""A secret that is made once and kept in a file that only its owner can read; of replicas that race one wins."""

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def kept_secret(path: Path, make: Callable[[], str]) -> str:
    """The text of the file; where there is none, `make`'s becomes it, in a folder made where that is missing."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(make())
        try:
            with contextlib.suppress(FileExistsError):  # another replica was faster: then its secret counts
                os.link(unfinished, path)
        finally:
            unfinished.unlink()
    return path.read_text(encoding="utf-8")
