"""Texts of chunks: passages of real ones in four languages, cut and mixed by the number of a document."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.large.synthetic import language_of
from tests.evals import irdata
from tests.evals.many_languages import LanguageSet

STEMMERS = {"en": "english", "de": "german", "es": "spanish", "ru": "russian"}
QUESTIONS_A_LANGUAGE = 200


class RealTexts:
    """Real passages and questions by language."""

    def __init__(self, passages: Mapping[str, Sequence[str]], questions: Mapping[str, Sequence[str]]) -> None:
        """Both by the codes of STEMMERS; none of the lists is empty."""
        self._passages, self._questions = passages, questions

    @classmethod
    def read(cls, folder: Path) -> "RealTexts":
        """The retrieval sets below `ir` (English) and XQuAD's paragraphs; raises FileNotFoundError without them."""
        sets = [irdata.load(path) for path in sorted((folder / "ir").iterdir()) if path.is_dir()]
        passages = {"en": [f"{text.title}\n{text.text}" for data in sets for text in data.documents]}
        questions = {"en": [text for data in sets for text in data.questions.values()]}
        for code in STEMMERS.keys() - {"en"}:
            found = LanguageSet.read(folder / "xquad", code, QUESTIONS_A_LANGUAGE)
            passages[code] = list(found.paragraphs.values())
            questions[code] = [question.text for question in found.questions]
        return cls(passages, questions)

    def chunks(self, number: int, count: int) -> list[str]:
        """So many texts of about 120 words for a document, with a name of its own, which no other document has."""
        chance = random.Random(number)
        texts = self._passages[language_of(number)]
        name = f"{chance.choice('BCDFGKLMNPRST')}{chance.choice('aeiou')}rn{number:x}"
        return [f"{_mix(chance, texts)} {name}" for _ in range(count)]

    def questions(self, code: str, count: int) -> list[str]:
        """Some questions of a language, the same each time; fewer where there are no more."""
        pool = sorted(self._questions[code])
        return random.Random(11).sample(pool, min(count, len(pool)))


def _mix(chance: random.Random, texts: Sequence[str]) -> str:
    first, second = chance.choice(texts), chance.choice(texts)
    cut = chance.randint(200, 500)
    return f"{first[:cut]} {second[cut : cut + 400] or second[:400]}"
