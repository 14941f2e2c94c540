"""Shannon entropy of text, over its characters, in bits; also of text that grows."""

from collections import Counter
from math import log2


class EntropySum:
    """Entropy of a text that grows: H = log2 n - (sum of c log2 c) / n, so a character costs the same however many."""

    def __init__(self) -> None:
        """Empty."""
        self._counts: Counter[str] = Counter()
        self._length, self._sum = 0, 0.0

    def add(self, text: str) -> None:
        """Count the characters of `text`."""
        for char, more in Counter(text).items():
            count = self._counts[char]
            self._counts[char] = count + more
            self._sum += _weigh_count(count + more) - _weigh_count(count)
        self._length += len(text)

    @property
    def bits(self) -> float:
        """Entropy so far; 0 where there is nothing, and where it is one character again and again."""
        return max(0.0, log2(self._length) - self._sum / self._length) if self._length else 0.0


def shannon_entropy(text: str) -> float:
    """H = -Σ p log2 p of the characters of a text (Shannon 1948)."""
    total = EntropySum()
    total.add(text)
    return total.bits


def _weigh_count(count: int) -> float:
    return count * log2(count) if count else 0.0
