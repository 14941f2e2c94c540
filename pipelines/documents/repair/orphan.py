"""Orphans of uploads, and the port to each place where they lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class OrphanKind(StrEnum):
    """The sort of what was left behind."""

    UPLOAD_PARTS = "upload_parts"  # of an upload that no row knows of
    OVERSIZED_PART = "oversized_part"  # larger than its upload announced, by a signed address
    STAGED_FOLDER = "staged_folder"  # files on their way in, of a worker that was killed
    UNFINISHED_FILE = "unfinished_file"  # written half
    MULTIPART_UPLOAD = "multipart_upload"  # pieces in a bucket that became no object
    CACHED_COPY = "cached_copy"  # on this machine, of what is in a bucket


@dataclass(frozen=True, slots=True)
class Orphan:
    """Something nobody will ask for again: where it lies, its bytes, and when somebody wrote to it last."""

    kind: OrphanKind
    place: str
    size: int
    since: datetime


class OrphanPlace(Protocol):
    """Port to a place with orphans of one sort."""

    kind: OrphanKind

    async def find(self, before: datetime) -> Sequence[Orphan]:
        """Those to which nothing came since a moment. Raises AosError: it cannot be looked at."""

    async def remove(self, orphan: Orphan, before: datetime) -> bool:
        """Remove one of those; False where it is none any more, as somebody uses it again or was faster."""
