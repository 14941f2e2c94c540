"""Files that stay in place, opened only where they lie below the folder that may be read."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cluster.basics.errors import TooLarge
from pipelines.documents.document import FailureReason, Unreadable

_OUTSIDE: Final = "it leads out of the folder that may be read (NFS_BASE_PATH)"
_LINKED: Final = "a part of its path is a link that was none when it was listed; synchronise or scan its folder again"


class InPlaceFiles:
    """Paths are judged when they are opened: since they were listed, a file or a folder of them may have become a link
    that leads to any file of this machine, or to what other readers own. What is listed is kept by paths without links.
    """

    def __init__(self, base: Path | None) -> None:
        """`base` is the folder that may be read (NFS_BASE_PATH). Without one nothing new is listed, and what was listed
        when there was one is read where no part of its path is a link.
        """
        self._base = base

    @contextmanager
    def open(self, path: Path, most: int | None = None) -> Iterator[Path]:
        """The file by its real path, in which no part is a link.

        Readers are given a path, as engines open it again by themselves: whoever swaps a folder of the real path
        between this look and theirs is not noticed. A link that is swapped later leads nobody anywhere.

        Raises:
            Unreadable: a part of the path is a link, or it is a pipe or a device.
            TooLarge: it has more than `most` bytes.
            OSError: it is gone, or cannot be opened.
        """
        real, size = self._look(path)
        if most is not None and size > most:
            raise TooLarge(f"the file has {size} bytes; {most} are the most")
        yield real

    def size(self, path: Path) -> int | None:
        """How many bytes are there; None where nothing is that may be read."""
        try:
            return self._look(path)[1]
        except (OSError, Unreadable):
            return None

    def _look(self, path: Path) -> tuple[Path, int]:
        """The real path and the size of what was opened by it. Links above the base are the administrator's."""
        base, real = path if self._base is None else _resolve(self._base), _resolve(path)
        # Looked at before it is opened, too: opening alone does something to some devices.
        if not real.is_relative_to(base):
            raise _refusal(_OUTSIDE)
        if self._base is not None and path.is_relative_to(self._base):
            path = base / path.relative_to(self._base)
        if real != path:
            raise _refusal(_LINKED)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW  # a pipe must not wait for a writer
        descriptor = os.open(real, flags)
        try:
            opened, facts = Path(f"/proc/self/fd/{descriptor}").readlink(), os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if opened != real:
            raise _refusal(_LINKED)
        if stat.S_ISDIR(facts.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(facts.st_mode):
            raise _refusal("it is a pipe or a device")
        return real, facts.st_size


def _refusal(why: str) -> Unreadable:
    return Unreadable(FailureReason.CHANGED, why)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except RuntimeError as error:  # links that lead in a circle, before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
