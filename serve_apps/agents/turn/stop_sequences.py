"""Stop sequences of a client: cut an answer before the first of them, also while it streams."""

from collections.abc import Sequence


class StopSequences:
    """Cuts a text that arrives in pieces before the first stop sequence; none of that sequence is ever shown.

    The agent may call its model several times, and not every answer comes from one: so the cut is made on what is
    shown, whatever made it. What the model writes behind it is paid for and not shown.
    """

    def __init__(self, sequences: Sequence[str] = ()) -> None:
        """Empty sequences end nothing."""
        self._sequences = tuple(one for one in sequences if one)
        self._held = ""
        self.ended = False

    def feed(self, text: str) -> str:
        """Text of this piece, and of what was held back before, that can be shown now."""
        if self.ended:
            return ""
        text, self._held = self._held + text, ""
        begun = len(text) - max((_suffix_overlap(text, one) for one in self._sequences), default=0)
        # One that is whole may begin behind another that may yet become whole: the first of them ends the text.
        if (end := self._end(text)) is not None and end <= begun:
            self.ended = True
            return text[:end]
        self._held = text[begun:]
        return text[:begun]

    def flush(self) -> str:
        """Text held back because it could have begun a stop sequence, once nothing more comes."""
        held, self._held = self._held, ""
        end = self._end(held)
        self.ended = self.ended or end is not None
        return held[:end]

    def _end(self, text: str) -> int | None:
        """Offset at which the first stop sequence begins."""
        return min((at for one in self._sequences if (at := text.find(one)) >= 0), default=None)

    def cut(self, text: str) -> str:
        """A whole text, cut; pieces that were fed before do not count."""
        fresh = StopSequences(self._sequences)
        shown = fresh.feed(text) + fresh.flush()
        self.ended = self.ended or fresh.ended
        return shown


def _suffix_overlap(text: str, sequence: str) -> int:
    """Number of characters at the end of the text that begin the sequence."""
    for length in range(min(len(text), len(sequence) - 1), 0, -1):
        if text.endswith(sequence[:length]):
            return length
    return 0
