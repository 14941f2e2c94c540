"""Languages that the rules of reading know: they judge questions in these, and are left out in others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pipelines.documents.chunk.language import (
    CODES,
    DEFAULT,
    PLAIN,
    SURE,
    question_stemmers,
    rank_languages,
    stemmer_of,
)

Rule = Literal["names", "words", "claims", "conflicts", "meaning"]
RULES: Final[tuple[Rule, ...]] = ("names", "words", "claims", "conflicts", "meaning")
# Languages that begin names with a capital, and hardly anything else, and leave their endings as they are.
_NAMING: Final = frozenset(
    {"catalan", "danish", "dutch", "english", "french", "indonesian", "italian", "norwegian", "portuguese", "spanish"}
    | {"swedish"}
)


@dataclass(frozen=True, slots=True)
class RuleLanguage:
    """The language of a question, by its stemmer; `simple` for those without one."""

    stemmer: str = DEFAULT

    @property
    def code(self) -> str | None:
        """ISO 639-1 code; None where no stemmer tells which it is."""
        return CODES.get(self.stemmer)

    @property
    def judged_by(self) -> tuple[Rule, ...]:
        """The rules that know it: stop words, endings and negations are those of English."""
        if self.stemmer == DEFAULT:
            return RULES
        return ("names",) if self.stemmer in _NAMING else ()

    def has(self, rule: Rule) -> bool:
        """True where a rule judges."""
        return rule in self.judged_by


ENGLISH: Final = RuleLanguage()


def text_language(text: str) -> RuleLanguage:
    """The language of a text that tells it by itself; English otherwise."""
    code, likely = rank_languages(text)[0]
    return RuleLanguage(stemmer_of(code) if likely >= SURE else DEFAULT)


def rule_language(question: str, stemmers: Sequence[str]) -> RuleLanguage:
    """The language of a question that is put to chunks with these stemmers."""
    present = list(dict.fromkeys(stemmers))
    sure, named = question_stemmers(question, present)
    # A fixed language may be `simple` for English words, too.
    return RuleLanguage(sure or (named[0] if named[0] != PLAIN else DEFAULT))
