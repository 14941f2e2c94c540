"""Agreement of a model's transcription with what OCR read on the same picture: words, numbers and length in common."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from pipelines.documents.document import Word
from pipelines.documents.ocr.compose import is_unspaced

# Chosen on English, French and Russian prose whose letters were replaced at random: with a tenth of them wrong the same
# text came to .83 to .98 of its words, with a fifth to .59 to .93, with a third to .41 to .78; another text on the
# same matter to .02 to .42, the most where every letter was right.
LEAST, LEAST_OF_CLEAR = 0.4, 0.6
CLEAR: Final = 0.8  # mean confidence of OCR from which on the model has to say much the same
ALIKE: Final = 0.67  # of a word's letters: a word as long as four may have one wrong
LEAST_NUMBERS: Final = 0.5
SHORTEST, LONGEST = 0.5, 2.0  # of the length as OCR read it
# A stretch of the model's text of which OCR has less than half of what it has of the better stretches was made up, or
# OCR is blind there. With up to a third of its letters wrong none of 192 texts came to more than a fifth of such
# stretches; of 192 to which two thirds of another on the same matter were added 191 did, of 192 half replaced 185.
STRETCH, FOUNDED, MOST_UNFOUNDED = 12, 0.5, 0.2
MOST: Final = 0.99  # confidence
FEW: Final = 5  # words of OCR: with fewer there is nothing to compare
SEEN: Final = 0.3  # confidence of a word that says something about the page
_LETTERS = 4  # of a word: shorter ones stand in every text
_TOKEN = re.compile(r"\w+")
_NUMBER = re.compile(r"\d(?:[\d.,:/-]*\d)")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Comparison of two readings of a picture; shares from 0 to 1."""

    recall: float  # of OCR's words that the model has, too
    precision: float  # of the model's words that OCR has, too
    numbers: float  # of the model's numbers that OCR has, too; 1 where it has fewer than two
    length: float  # the model's text by OCR's
    compared: int  # words of OCR that there were to compare with
    unfounded: float = 0.0  # share of the model's stretches of words of which OCR has next to nothing
    closeness: float = 1.0  # how like the words in common are, letter by letter
    clear: bool = False  # whether OCR is sure of what it read

    @property
    def score(self) -> float:
        """Harmonic mean of both shares of words, by how like they are: the confidence that the reading is given."""
        both = self.recall + self.precision
        # Two readers who agree may still both be wrong: only a text that was never a picture is certain.
        return min(MOST, self.closeness * 2 * self.recall * self.precision / both) if both else 0.0

    @property
    def objection(self) -> str:
        """Why the model is not believed; "" where it is."""
        if self.compared < FEW:
            return "OCR read too few words to compare it with"
        if not SHORTEST <= self.length <= LONGEST:
            return f"it is {self.length:.1f} times as long as what OCR read"
        if min(self.recall, self.precision) < (LEAST_OF_CLEAR if self.clear else LEAST):
            return f"only {self.recall:.0%} of OCR's words are in it, and {self.precision:.0%} of its words in OCR's"
        if self.unfounded > MOST_UNFOUNDED:
            return f"for {self.unfounded:.0%} of its text OCR has no word on the page"
        if self.numbers < LEAST_NUMBERS:
            return f"only {self.numbers:.0%} of its numbers stand on the page as OCR read it"
        return ""


def measure_agreement(words: Sequence[Word], text: str) -> Agreement:
    """Compare a model's text with the words that OCR read; which of them are sure decides what counts."""
    seen = [word.text for word in words if word.confidence >= SEEN]
    ours, theirs = _compared_tokens(" ".join(seen)), _compared_tokens(text)
    every = _compared_tokens(" ".join(word.text for word in words))
    numbers = list(dict.fromkeys(_NUMBER.findall(text)))
    known = _NUMBER.findall(" ".join(word.text for word in words))
    length = len("".join(text.split())) / max(1, sum(len(word.text) for word in words))
    shared = _share_found(numbers, known) if len(numbers) > 1 else 1.0
    sure = sum(word.confidence for word in words) / max(1, len(words))
    told = _similarities(theirs, every)
    alike = [one for one in _similarities(ours, theirs) if one]
    return Agreement(
        recall=len(alike) / max(1, len(ours)),
        precision=sum(map(bool, told)) / max(1, len(told)),
        numbers=shared,
        length=length,
        compared=len(ours),
        unfounded=_unfounded_share(told),
        closeness=sum(alike) / max(1, len(alike)),
        clear=sure >= CLEAR,
    )


def _compared_tokens(text: str) -> list[str]:
    """Words long enough to say something, without case and marks; pairs of signs where no blanks are written."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for token in _TOKEN.findall(folded):
        if any(map(is_unspaced, token)):
            found += [token[at : at + 2] for at in range(len(token) - 1)]
        elif len(token) >= _LETTERS:
            found.append(token)
    return found


def _share_found(tokens: Sequence[str], among: Sequence[str]) -> float:
    return sum(map(bool, _similarities(tokens, among))) / max(1, len(tokens))


def _unfounded_share(told: Sequence[float]) -> float:
    starts = range(0, max(1, len(told) - STRETCH // 2), STRETCH)
    shares = sorted(sum(map(bool, stretch)) / len(stretch) for at in starts if (stretch := told[at : at + STRETCH]))
    if not shares:
        return 0.0
    usual = median(shares[len(shares) // 2 :])
    return sum(share < FOUNDED * usual for share in shares) / len(shares)


def _similarities(tokens: Sequence[str], among: Sequence[str]) -> list[float]:
    """For each token how like the likest of the others is, 0 to 1; 0 where none is alike."""
    exact, choices = set(among), list(dict.fromkeys(among))
    return [1.0 if token in exact else _likest(token, choices) for token in tokens]


def _likest(token: str, choices: Sequence[str]) -> float:
    if len(token) < _LETTERS:  # of a number or a pair of signs every sign counts
        return 0.0
    found = process.extractOne(token, choices, scorer=Levenshtein.normalized_similarity, score_cutoff=ALIKE)
    return float(found[1]) if found else 0.0
