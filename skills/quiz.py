"""Quizzes: questions with the facts that an answer has to say and the document that says them; parsed and scored.

track: infrastructure
pass_mark: 0.8                       # optional
questions:
  - question: How soon is a severity 1 incident acknowledged?
    facts: ["15 minutes", ["on call engineer", "engineer on call"]]   # a list in place of a text: any of them does
    source: incident-response.md     # a file of references/, by its path or its name
    page: 1                          # optional
    passage: A severity 1 incident is acknowledged within 15 minutes by the engineer on call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from cluster.basics.errors import NotFound, Permanent
from skills.marking import fact_tokens, says

MOST_QUESTIONS = 200
PACKS = "packs"  # folders of this package, each with a quiz.yaml


class BadQuiz(Permanent):
    """This is no quiz."""

    code = "bad_quiz"
    fix = "questions: [{question, facts: [text or list of texts], source, passage}], see skills/quiz.py."


class Track(StrEnum):
    """Tracks that an agent can study; for `integration` one brings documents and quiz of one's own."""

    PRESALES = "presales"
    FINANCE = "finance"
    INFRASTRUCTURE = "infrastructure"
    LEGAL = "legal"
    INTEGRATION = "integration"


class MissReason(StrEnum):
    """Reasons for a missed fact."""

    NOT_RETRIEVED = "not_retrieved"  # no passage of the source that says it was found
    NOT_SAID = "not_said"  # it was found, and the answer does not say it
    WRONG_SOURCE = "wrong_source"  # the answer says it and cites something else, or nothing


Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class QuizQuestion(BaseModel):
    """A question; each of `facts` is a text, or several of which any does; `passage` stands in `source` as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]
    facts: Annotated[
        tuple[Said | Annotated[tuple[Said, ...], Field(min_length=1, max_length=20)], ...],
        Field(min_length=1, max_length=20),
    ]
    source: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    passage: Annotated[str, StringConstraints(max_length=4_000)] = ""
    page: Annotated[int | None, Field(ge=1)] = None

    def expected(self) -> tuple[tuple[str, ...], ...]:
        """Each fact with its other forms."""
        return tuple((fact,) if isinstance(fact, str) else fact for fact in self.facts)


class Quiz(BaseModel):
    """Questions of a track; without a `pass_mark` the setting holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    track: Track
    questions: Annotated[tuple[QuizQuestion, ...], Field(min_length=1, max_length=MOST_QUESTIONS)]
    pass_mark: Annotated[float | None, Field(gt=0, le=1)] = None


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A place in a document: file name, page from 1, and its text."""

    file: str
    page: int
    text: str


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """An answer, the passages it cites, and those it was made from."""

    text: str
    cited: tuple[SourcePassage, ...] = ()
    retrieved: tuple[SourcePassage, ...] = ()
    mode: str = ""


@dataclass(frozen=True, slots=True)
class MissedFact:
    """A fact, in its first form, and why it does not count."""

    fact: str
    why: MissReason


@dataclass(frozen=True, slots=True)
class QuestionScore:
    """Score of a question: `found` of `expected` facts, said with the right source."""

    question: QuizQuestion
    answer: ExamAnswer
    found: int
    expected: int
    right_source: bool
    missed: tuple[MissedFact, ...]


@dataclass(frozen=True, slots=True)
class QuizResult:
    """The share of all expected facts that were found, 0 to 1, and whether that is enough."""

    score: float
    pass_mark: float
    passed: bool
    marks: tuple[QuestionScore, ...]


def parse_quiz(content: bytes | str) -> Quiz:
    """From YAML. Raises BadQuiz: it is none; the detail says where."""
    try:
        return quiz_of(yaml.safe_load(content))
    except yaml.YAMLError as error:
        raise BadQuiz(str(error)) from error


def quiz_of(value: Any) -> Quiz:
    """From JSON. Raises BadQuiz: it is none, or a fact has neither words nor numbers."""
    try:
        quiz = Quiz.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadQuiz(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    for question in quiz.questions:
        for fact in (form for forms in question.expected() for form in forms):
            if not fact_tokens(fact):
                raise BadQuiz(f"{question.question}: {fact!r} has neither words nor numbers")
    return quiz


def mark_answer(question: QuizQuestion, answer: ExamAnswer) -> QuestionScore:
    """Judge one answer. A fact counts where the answer says it and cites the document that the question names."""
    right = any(_is_source(question, one) for one in answer.cited)
    missed = []
    for forms in question.expected():
        said = any(says(answer.text, form) for form in forms)
        if not (said and right):
            there = any(_same_file(question, one) and _says_any(one.text, forms) for one in answer.retrieved)
            why = MissReason.WRONG_SOURCE if said else MissReason.NOT_SAID if there else MissReason.NOT_RETRIEVED
            missed.append(MissedFact(forms[0], why))
    expected = len(question.facts)
    return QuestionScore(question, answer, expected - len(missed), expected, right, tuple(missed))


def quiz_result(marks: Sequence[QuestionScore], pass_mark: float) -> QuizResult:
    """All marks together; every fact weighs the same."""
    expected = sum(one.expected for one in marks)
    score = sum(one.found for one in marks) / expected if expected else 0.0
    return QuizResult(score, pass_mark, bool(marks) and score >= pass_mark, tuple(marks))


def shipped_quiz(track: Track) -> Quiz:
    """The quiz of the pack that ships for a track. Raises NotFound: none does."""
    found = _shipped_quizzes().get(track)
    if found is None:
        raise NotFound(f"no quiz ships for the track {track}", fix="Send a quiz of your own.")
    return found


@cache
def _shipped_quizzes() -> dict[Track, Quiz]:
    folder = Path(str(files("skills"))) / PACKS
    quizzes = [parse_quiz(path.read_bytes()) for path in sorted(folder.glob("*/quiz.yaml"))]
    return {quiz.track: quiz for quiz in quizzes}


def _says_any(text: str, forms: Sequence[str]) -> bool:
    return any(says(text, form) for form in forms)


def _same_file(question: QuizQuestion, passage: SourcePassage) -> bool:
    """By name, as a document of a package is called by its file's name."""
    return PurePosixPath(question.source).name.casefold() == PurePosixPath(passage.file).name.casefold()


def _is_source(question: QuizQuestion, passage: SourcePassage) -> bool:
    return _same_file(question, passage) and question.page in (None, passage.page)
