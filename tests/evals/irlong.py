"""Retrieval sets of long questions, made by rule of other sets: letters with several questions, halves of abstracts."""

import random
import re
from collections import defaultdict

from tests.evals.irdata import Set, Text

ASKED = 3  # questions in a letter
LEAST_SENTENCES = 6  # of an abstract that is cut in half
MOST_QUESTIONS = 300

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_OPENINGS = (
    "Dear colleagues, I have been asked to look into something and hope you can help me before the end of the week.",
    "Hello, we talked about this on the phone yesterday, and I promised to write it down so that nothing is forgotten.",
    "Good morning, my manager would like a short report on the following points, and I do not know where to begin.",
    "Hi all, a customer has written to us twice about this now and is waiting for a reply, so I pass it on to you.",
)
_CLOSINGS = (
    "I would be grateful for any pointer to the right document. Kind regards",
    "Thank you very much in advance for your time, and please tell me if anything is unclear.",
    "If it is easier for you to call me, I am in the office until four. Best wishes",
    "It is not urgent, but I would like to close the matter this month. Many thanks",
)


def letters_of(base: Set) -> Set:
    """A letter asks three questions that one document answers, between a greeting and thanks; documents as they are."""
    chance, asked = random.Random(base.name), defaultdict(list)
    for question, grades in base.answers.items():
        for document in grades:
            asked[document].append(base.questions[question])
    letters = {
        f"letter {document}": " ".join(
            [chance.choice(_OPENINGS), *chance.sample(texts, ASKED), chance.choice(_CLOSINGS)]
        )
        for document, texts in asked.items()
        if len(texts) >= ASKED
    }
    kept = sorted(letters)[:: -(-len(letters) // MOST_QUESTIONS)]
    answers = {letter: {letter.removeprefix("letter "): 1} for letter in kept}
    return Set(f"letters of {base.name}", base.documents, {letter: letters[letter] for letter in kept}, answers)


def halves_of(base: Set) -> Set:
    """Every other sentence of an abstract asks for the document that has the rest; the other documents stay whole."""
    cut = {text.id: _SENTENCE_END.split(text.text) for text in base.documents}
    long = sorted(one for one, sentences in cut.items() if len(sentences) >= LEAST_SENTENCES)
    kept = set(long[:: -(-len(long) // MOST_QUESTIONS)])
    documents = [Text(text.id, "", " ".join(cut[text.id][::2])) if text.id in kept else text for text in base.documents]
    questions = {f"half {one}": " ".join(cut[one][1::2]) for one in sorted(kept)}
    return Set(f"halves of {base.name}", documents, questions, {f"half {one}": {one: 1} for one in sorted(kept)})


def has_abstracts(base: Set) -> bool:
    """Whether most documents have sentences enough to be cut in half."""
    long = sum(len(_SENTENCE_END.split(text.text)) >= LEAST_SENTENCES for text in base.documents)
    return 2 * long > len(base.documents)
