"""A language of its own: words that are as common as Zipf says, and documents that are about something."""

import random

WORDS = 3_000
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "pra", "ste", "tri", "vol", "zan")


class Language:
    """Words as a language has them: few are common (Zipf), each document leans on some of its own."""

    def __init__(self) -> None:
        self.chance = random.Random(11)
        self.words = ["".join(self.chance.choices(SYLLABLES, k=3)) + "x" * (n % 3) for n in range(WORDS)]
        self.weights = [1 / rank for rank in range(1, WORDS + 1)]

    def document(self) -> str:
        topic = self.chance.choices(self.words, k=6)
        length = self.chance.randint(30, 250)
        own = self.chance.choices(topic, k=length // 5)
        return " ".join(self.chance.choices(self.words, self.weights, k=length) + own)

    def question(self, about: str, size: tuple[int, int]) -> str:
        """Words of a document and some more; in a long one many are said twice."""
        length = self.chance.randint(*size)
        others = self.chance.choices(self.words, self.weights, k=2)
        return " ".join(self.chance.choices(about.split(), k=length) + others)
