"""Documents with schemas and labels, and how their labels are compared: leaf by leaf, arrays without order."""

import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Page
from pipelines.documents.extract.reader import DocumentReader

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "evals"
Json = Any


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document as it was read, what is wanted of it, and the verified values."""

    name: str
    kind: str
    pages: tuple[Page, ...]
    schema: Json
    labels: Json

    @property
    def has_boxes(self) -> bool:
        """True where its format has a geometry."""
        return any(page.words for page in self.pages)


def read_labelled(folder: Path, kept: Path | None = None) -> list[LabelledDocument]:
    """All documents of a folder, read as uploads are; `kept` is a file that holds the pages of an earlier run."""
    paths = sorted((folder / "documents").iterdir())
    known: dict[str, tuple[str, tuple[Page, ...]]] = {}
    if kept is not None and kept.exists():
        known = pickle.loads(kept.read_bytes())
    with DocumentReader(ReadSettings(), OcrSettings(strategy="tesseract")) as reader:
        for path in paths:
            if path.name not in known:
                survey = reader.survey(path)
                pages = tuple(reader.read(path, survey.kind, range(1, survey.pages + 1)))
                known[path.name] = (str(survey.kind), pages)
    if kept is not None:
        kept.write_bytes(pickle.dumps(known))
    return [
        LabelledDocument(
            path.name,
            known[path.name][0],
            known[path.name][1],
            json.loads((folder / "schemas" / f"{path.stem}.json").read_text("utf-8")),
            json.loads((folder / "labels" / f"{path.stem}.json").read_text("utf-8")),
        )
        for path in paths
    ]


def leaf_values(value: Json) -> Iterator[Json]:
    """The values of a result that are not null."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaf_values(inner)
    elif value is not None:
        yield value


def count_right(truth: Json, given: Json) -> int:
    """How many values of the truth that are not null a result has; items of arrays are paired greedily."""
    if isinstance(truth, dict):
        return sum(
            count_right(value, given.get(name) if isinstance(given, dict) else None) for name, value in truth.items()
        )
    if isinstance(truth, list):
        return _count_items(truth, given if isinstance(given, list) else [])
    return int(truth is not None and given is not None and plain_value(truth) == plain_value(given))


def _count_items(truth: list[Json], given: list[Json]) -> int:
    pairs = ((count_right(one, other), -at, -n) for at, one in enumerate(truth) for n, other in enumerate(given))
    left, right, total = set[int](), set[int](), 0
    for count, at, n in sorted(pairs, reverse=True):
        if count and at not in left and n not in right:
            left.add(at)
            right.add(n)
            total += count
    return total


def plain_value(value: Json) -> float | str:
    """A number as a float, a text in lower case without blanks and punctuation."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return float(value)
    except ValueError:
        return re.sub(r"[\W_]+", "", str(value).lower())
