"""Captured program output, cut to its beginning, and the limits of a program."""

from dataclasses import dataclass

PIECE = 65_536  # bytes that are read at once


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """Limits of a program: time and output."""

    seconds: float  # in all; on another machine connecting is included
    bytes: int  # of what it prints that is kept; standard error has an eighth of it
    reads: bool  # it changes nothing: it may be killed when there is enough of it, and be repeated


@dataclass(slots=True)
class OutputHead:
    """The beginning of a stream, and whether there was more."""

    most: int
    data: bytearray
    cut: bool = False

    @classmethod
    def of(cls, most: int) -> "OutputHead":
        """Nothing yet, of at most so many bytes."""
        return cls(most, bytearray())

    def take(self, piece: bytes) -> bool:
        """Keep what there is room for; True the first time that there is too much."""
        room = self.most - len(self.data)
        self.data += piece[:room]
        first = len(piece) > room and not self.cut
        self.cut = self.cut or first
        return first

    @property
    def text(self) -> str:
        """As UTF-8, with a mark where it is none."""
        return self.data.decode("utf-8", "replace")
