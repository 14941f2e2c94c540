"""Members that came out of a container, and what its document says of those that did not."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from pipelines.documents.document import Caveat, CaveatKind, Unreadable
from pipelines.documents.sources.sniff import Kind

CONTAINERS: Final = frozenset({Kind.ZIP, Kind.TAR, Kind.EMAIL, Kind.MSG})
_ARCHIVES: Final = (Kind.ZIP, Kind.TAR)
_SHOWN: Final = 5
_ADVICE: Final = "; unpack it, and upload or scan by itself what you need of it"


@dataclass(frozen=True, slots=True)
class UnpackedMember:
    """A member whose bytes lie in a file of their own."""

    path: str  # within its container, with `/`
    staged: str  # where its bytes are for now
    file_hash: str  # SHA-256 in hex
    size: int  # bytes

    @property
    def filename(self) -> str:
        """The name people call it by."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True)
class UnpackedMembers:
    """Members of a container; `whole` is false where some could not be taken, so that nothing says what is gone."""

    members: tuple[UnpackedMember, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    whole: bool = True


NOTHING_UNPACKED: Final = UnpackedMembers()
"""Of a file that is no container."""


def unread_members(kind: Kind, names: Sequence[str]) -> Caveat | None:
    """What is said of members that were not taken, each with its reason; None where there are none."""
    if not names:
        return None
    more = f"; and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return Caveat(_mark(kind), f"not read: {'; '.join(names[:_SHOWN])}{more}{_ADVICE}", len(names), whole=True)


def failed_unpacking(kind: Kind, error: Unreadable) -> UnpackedMembers:
    """The result where members could not be looked at; what is known of them from before stays."""
    caveat = Caveat(_mark(kind), f"its members were not read: {error}{_ADVICE}", whole=True)
    return UnpackedMembers(caveats=(caveat,), whole=False)


def _mark(kind: Kind) -> CaveatKind:
    return CaveatKind.PARTS_SKIPPED if kind in _ARCHIVES else CaveatKind.ATTACHMENTS_UNREAD
