"""Where a client wants an answer to end: the text before the first of its stop sequences, also while it streams."""

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
        """What of this piece, and of what was held back before, can be shown now."""
        if self.ended:
            return ""
        text, self._held = self._held + text, ""
        found = [at for one in self._sequences if (at := text.find(one)) >= 0]
        if found:
            self.ended = True
            return text[: min(found)]
        keep = max((_overlap(text, one) for one in self._sequences), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """What was held back because it could have begun a stop sequence, once nothing more comes."""
        held, self._held = self._held, ""
        return held

    def cut(self, text: str) -> str:
        """A whole text, cut; pieces that were fed before do not count."""
        fresh = StopSequences(self._sequences)
        shown = fresh.feed(text) + fresh.flush()
        self.ended = self.ended or fresh.ended
        return shown


def _overlap(text: str, sequence: str) -> int:
    """How many characters at the end of the text begin the sequence."""
    for length in range(min(len(text), len(sequence) - 1), 0, -1):
        if text.endswith(sequence[:length]):
            return length
    return 0
