"""Golden questions as people write them, YAML or JSON lines, and as values."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from cluster.basics.errors import Invalid

MOST_QUESTIONS = 5_000  # of a set
Format = Literal["yaml", "jsonl"]

Key = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500, pattern=r"^[^\x00]+$")]
Long = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000, pattern=r"^[^\x00]+$")]


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question and what is known of its answer."""

    key: str  # its author's name for it; unique in its set
    question: str
    documents: tuple[str, ...] = ()  # ids or filenames of what answers it
    passages: tuple[str, ...] = ()  # texts that stand in a passage which answers it
    answers: tuple[str, ...] = ()  # any of these is right
    answerable: bool = True  # False where the documents do not answer it, and an abstention is right


class QuestionForm(BaseModel):
    """A question as it comes in: `answer` is one of `answers`, `unanswerable: true` says `answerable: false`."""

    model_config = ConfigDict(extra="forbid")

    key: Annotated[Key | None, Field(validation_alias=AliasChoices("key", "id"))] = None
    question: Long
    documents: Annotated[list[Short], Field(max_length=50)] = []
    passages: Annotated[list[Long], Field(max_length=20)] = []
    answers: Annotated[list[Long], Field(max_length=20)] = []
    answer: Long | None = None
    answerable: bool | None = None
    unanswerable: bool = False

    @model_validator(mode="after")
    def _expects_something(self) -> "QuestionForm":
        known = bool(self.documents or self.passages or self.answers or self.answer)
        if self.unanswerable and self.answerable:
            raise ValueError("it is answerable or it is not")
        if (self.unanswerable or self.answerable is False) == known:
            raise ValueError("give documents, passages or answers, or else unanswerable: true")
        return self

    def value(self) -> GoldenQuestion:
        """The same, inside; without a key it has one made of its text, so that importing it again changes it."""
        key = self.key or sha256(self.question.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        answers = dict.fromkeys([*([self.answer] if self.answer else []), *self.answers])
        answerable = not self.unanswerable and self.answerable is not False
        documents, passages = tuple(self.documents), tuple(self.passages)
        return GoldenQuestion(key, self.question, documents, passages, tuple(answers), answerable)


def parse_questions(text: str, written: Format) -> list[GoldenQuestion]:
    """Questions from a file's text: a YAML list (or a mapping with `questions`), or an object a line.

    Raises Invalid, naming the entry and what is wrong with it; two with one key; too many.
    """
    found: dict[str, GoldenQuestion] = {}
    for number, entry in _parse_entries(text, written):
        one = parse_question(entry, f"entry {number}: ")
        if one.key in found:
            raise Invalid(f"entry {number}: there is another one with the key {one.key}")
        found[one.key] = one
    if len(found) > MOST_QUESTIONS:
        raise Invalid(f"{len(found)} questions; a set has at most {MOST_QUESTIONS}")
    return list(found.values())


def parse_question(entry: object, prefix: str = "") -> GoldenQuestion:
    """One question from JSON; raises Invalid, saying what is wrong, behind the prefix."""
    try:
        return QuestionForm.model_validate(entry).value()
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise Invalid(f"{prefix}{where + ': ' if where else ''}{problem['msg']}") from None


def serialise_questions(questions: Sequence[GoldenQuestion], written: Format) -> str:
    """Serialise questions to YAML or JSON lines, as `parse_questions` reads them."""
    told = [{name: value for name, value in asdict(one).items() if value not in ((), True)} for one in questions]
    rows = [{name: list(v) if isinstance(v, tuple) else v for name, v in one.items()} for one in told]
    if written == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return yaml.safe_dump(rows, allow_unicode=True, sort_keys=False) if rows else "[]\n"


def _parse_entries(text: str, written: Format) -> Iterable[tuple[int, Any]]:
    if written == "jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise Invalid(f"line {number} is no JSON: {error}") from None
        return
    try:
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Invalid(f"this is no YAML: {error}") from None
    if isinstance(loaded, dict):
        loaded = loaded.get("questions")
    if not isinstance(loaded, list):
        raise Invalid(
            "there is no list of questions", fix="Write `- question: ...` entries, or `questions:` above them."
        )
    yield from enumerate(loaded, 1)
