"""Texts to the token windows of a sentence model, by its own tokenizer."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

OVERLAP = 16
POLICY = "windows of equal length, 16 tokens of overlap, token-weighted mean"
Window = Sequence[int]


class SentenceTokens:
    """Cuts texts into windows that a model can read whole."""

    def __init__(self, tokenizer: "Tokenizer", window: int) -> None:
        """`window` is how many tokens the model reads, its special tokens included."""
        self._tokenizer, self._window = tokenizer, window
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._before, self._after = self._special_tokens()

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text between the model's special tokens, in as many windows as it takes."""
        room = self._window - len(self._before) - len(self._after)
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        cut = (cut_windows(encoding.ids, room, OVERLAP) for encoding in found)
        return [[[*self._before, *part, *self._after] for part in parts] for parts in cut]

    def _special_tokens(self) -> tuple[list[int], list[int]]:
        bare = self._tokenizer.encode("a", add_special_tokens=False).ids
        full = self._tokenizer.encode("a", add_special_tokens=True).ids
        at = next(n for n in range(len(full)) if full[n : n + len(bare)] == bare)
        return full[:at], full[at + len(bare) :]


def cut_windows(tokens: Sequence[int], room: int, overlap: int) -> list[Sequence[int]]:
    """Windows of nearly equal length, at most `room` tokens; a short last window would say little about the tail."""
    if len(tokens) <= room:
        return [tokens]
    overlap = min(overlap, room // 2)
    count = ceil((len(tokens) - overlap) / (room - overlap))
    step = (len(tokens) - overlap) / count
    starts = [round(n * step) for n in range(count)]
    return [tokens[start : min(start + ceil(step) + overlap, start + room)] for start in starts]
