"""Questions with evidence over files in five formats, and questions with and without an answer in a paragraph."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMATS = ("md", "pdf", "html", "docx", "pptx")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a company; `files` are the stems of those that answer, `evidence` what they say."""

    id: str
    company: str
    kind: str
    text: str
    files: frozenset[str]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Squad:
    """A question; `paragraph` is where its answer would be, `answers` are empty where nothing answers it."""

    text: str
    paragraph: str
    answers: tuple[str, ...]


def questions(folder: Path) -> list[Asked]:
    """Those of which at least one evidence file exists."""
    found = []
    for row in _rows(folder / "questions.jsonl"):
        there = [one for one in row["evidence"] if one["file_exists"]]
        if there:
            files = frozenset(plain(Path(one["file"]).stem) for one in there)
            texts = tuple(one["text"] for one in there)
            found.append(Asked(row["id"], plain(row["enterprise"]), row["type"], row["question"], files, texts))
    return found


def companies(folder: Path) -> dict[str, Path]:
    """The folder of each company in one format."""
    return {plain(path.name): path for path in sorted(folder.iterdir()) if path.is_dir()}


def squad(folder: Path) -> list[Squad]:
    """SQuAD 2.0's development questions."""
    return [Squad(row["question"], row["context_id"], tuple(row["answers"])) for row in _rows(folder / "qa.jsonl")]


def paragraphs(folder: Path) -> dict[str, str]:
    """Their paragraphs by id, each with its title."""
    return {row["_id"]: f"# {row['title']}\n\n{row['text']}\n" for row in _rows(folder / "corpus.jsonl")}


def spread(rows: Sequence[Any], count: int) -> list[Any]:
    """So many of the rows at even distances; all where there are no more."""
    return [rows[at * len(rows) // count] for at in range(min(count, len(rows)))]


def plain(name: str) -> str:
    """Letters and digits in lower case: the same name in every format."""
    return re.sub(r"[\W_]+", "", name.casefold())


def words(text: str) -> list[str]:
    """As answers are compared in SQuAD: lower case, without articles and punctuation."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in ("a", "an", "the")]


def token_f1(answer: str, gold: str) -> float:
    """F1 of the words that both have."""
    said, wanted = words(answer), words(gold)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def contained(answer: str, gold: str) -> float:
    """The share of the gold words that the answer has."""
    said, wanted = Counter(words(answer)), Counter(words(gold))
    return sum((said & wanted).values()) / max(1, wanted.total())


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
