"""Questions that lean on what was said before them: read together with it."""

import re
from collections.abc import Sequence

LAST = 2  # messages that a follow-up is read with
LONGEST = 300  # characters of each
BRIEF = 3  # words that carry a meaning; a question with no more of them says too little by itself
MOST = 14  # words; a longer question names what it is about

_LEANS = re.compile(
    r"^\W*(and|but|so|also|then|or|what about|how about|what else|why(?: not)?\W*$|how so|anything else|more\b|same)\b"
    r"|\b(it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|former|latter|"
    r"the same|above|previous|both|either|one)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"^\W*(?:and|what about|how about|und|was ist mit)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+", re.UNICODE)
_FUNCTION_WORDS = """a an and any are as at be but by can could did do does for from had has have how i if in is it its
me my of on or our please should so tell than that the their them then there these they this those to was we were what
when where which who whose why will with would you your"""
_EMPTY = frozenset(_FUNCTION_WORDS.split())


def expand_question(question: str, history: Sequence[str]) -> str:
    """The question, led in by the last two messages where it cannot stand alone; without history as it is."""
    said = [" ".join(text.split())[-LONGEST:] for text in history if text.strip()][-LAST:]
    if not question or not said or not is_follow_up(question):
        return question
    return "\n".join([*said, question])


def asks_further(message: str) -> bool:
    """True for a follow-up that is a question: it ends as one, or begins with "and", "what about" and their like."""
    return is_follow_up(message) and ("?" in message or _GOES_ON.match(message) is not None)


def is_follow_up(question: str) -> bool:
    """True for a question that needs what was said before: it points back, or has next to no words of its own."""
    words = [word.lower() for word in _WORD.findall(question)]
    own = [word for word in words if word not in _EMPTY]
    return len(own) <= 1 or (len(words) <= MOST and len(own) <= 2 * BRIEF and bool(_LEANS.search(question)))
