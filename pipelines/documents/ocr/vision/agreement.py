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
# Of numbers, which are compared digit by digit: one that is off by a digit is another number. Where OCR is sure (of the
# page, or of the word that a number is) it is believed before the model; one in ten may be a stamp or a page number.
LEAST_NUMBERS, LEAST_SURE_NUMBERS = 0.5, 0.9
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
    numbers: float  # of the model's numbers that OCR has, too; 1 where it has none
    length: float  # the model's text by OCR's
    compared: int  # words of OCR that there were to compare with
    unfounded: float = 0.0  # share of the model's stretches of words of which OCR has next to nothing
    closeness: float = 1.0  # how like the words in common are, letter by letter
    clear: bool = False  # whether OCR is sure of what it read
    sure_numbers: float = 1.0  # of the numbers that OCR is sure of: those that the model has, too; 1 where it has none

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
        if self.numbers < (LEAST_SURE_NUMBERS if self.clear else LEAST_NUMBERS):
            return f"only {self.numbers:.0%} of its numbers stand on the page as OCR read it"
        if self.sure_numbers < LEAST_SURE_NUMBERS:
            return f"only {self.sure_numbers:.0%} of the numbers that OCR is sure of are in it"
        return ""


def measure_agreement(words: Sequence[Word], text: str) -> Agreement:
    """Compare a model's text with the words that OCR read; which of them are sure decides what counts."""
    length = len("".join(text.split())) / max(1, sum(len(word.text) for word in words))
    ours = _compared_tokens(" ".join(word.text for word in words if word.confidence >= SEEN))
    if not SHORTEST <= length <= LONGEST:  # refused for that: a text without end is not compared word by word
        return Agreement(0.0, 0.0, 0.0, length, len(ours))
    theirs, every = _compared_tokens(text), _compared_tokens(" ".join(word.text for word in words))
    numbers, known = _numbers_in(text), _numbers_in(" ".join(word.text for word in words))
    sure_numbers = _numbers_in(" ".join(word.text for word in words if word.confidence >= CLEAR))
    told = _similarities(theirs, every)
    alike = [one for one in _similarities(ours, theirs) if one]
    return Agreement(
        recall=len(alike) / max(1, len(ours)),
        precision=sum(map(bool, told)) / max(1, len(told)),
        numbers=_share_within(numbers, known),
        length=length,
        compared=len(ours),
        unfounded=_unfounded_share(told),
        closeness=sum(alike) / max(1, len(alike)),
        clear=sum(word.confidence for word in words) / max(1, len(words)) >= CLEAR,
        sure_numbers=_share_within(sure_numbers, numbers),
    )


def count_comparable(words: Sequence[Word]) -> int:
    """How many words of OCR there are to compare a model's text with; with fewer than FEW none is believed."""
    return len(_compared_tokens(" ".join(word.text for word in words if word.confidence >= SEEN)))


def _numbers_in(text: str) -> frozenset[str]:
    """Numbers of two digits and more; dots and commas, which OCR confuses, are one."""
    return frozenset(re.sub(r"\D", ".", found) for found in _NUMBER.findall(text))


def _share_within(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some) if some else 1.0


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


def _unfounded_share(told: Sequence[float]) -> float:
    starts = range(0, max(1, len(told) - STRETCH // 2), STRETCH)
    shares = sorted(sum(map(bool, stretch)) / len(stretch) for at in starts if (stretch := told[at : at + STRETCH]))
    if not shares:
        return 0.0
    usual = median(shares[len(shares) // 2 :])
    return sum(share < FOUNDED * usual for share in shares) / len(shares)


def _similarities(tokens: Sequence[str], among: Sequence[str]) -> list[float]:
    """For each token how like the likest of the others is, 0 to 1; 0 where none is alike."""
    exact, choices = set(among), [token for token in dict.fromkeys(among) if not _has_digit(token)]
    likest = {token: 1.0 if token in exact else _likest(token, choices) for token in set(tokens)}
    return [likest[token] for token in tokens]


def _likest(token: str, choices: Sequence[str]) -> float:
    if len(token) < _LETTERS or _has_digit(token):  # of a number or a pair of signs every sign counts
        return 0.0
    found = process.extractOne(token, choices, scorer=Levenshtein.normalized_similarity, score_cutoff=ALIKE)
    return float(found[1]) if found else 0.0


def _has_digit(token: str) -> bool:
    return any(map(str.isdigit, token))
