"""A reader of text files whose pages end in form feeds; pages may be told to fail, and every reading is counted."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.documents.document import Failure, Page, Reason, Unreadable
from pipelines.documents.reader import Survey
from pipelines.documents.sources.files import Kind, hash_file


class WorkerKilled(BaseException):
    """Stands for kill -9: nothing catches it."""


@dataclass
class FormFeedReader:
    """`fail_word` on a page makes it fail for good, `FLAKY` the first time; `die_before` ends the worker at a page."""

    readings: Counter[tuple[str, int]] = field(default_factory=Counter)
    die_before: Callable[[str, int], bool] = lambda name, number: False
    fail_word: str = "FAIL"
    languages: tuple[str, ...] = ()

    def use(self, languages: tuple[str, ...]) -> None:
        self.languages = languages

    def survey(self, path: Path, filename: str | None = None) -> Survey:
        text = path.read_text()
        if text == "":
            raise Unreadable(Reason.EMPTY)
        return Survey(Kind.TEXT, hash_file(path), path.stat().st_size, text.count("\f") + 1)

    def read(self, path: Path, kind: Kind, numbers: Sequence[int]) -> Iterator[Page]:
        pages = path.read_text().split("\f")
        for number in numbers:
            if self.die_before(path.name, number):
                raise WorkerKilled
            self.readings[path.name, number] += 1
            text = pages[number - 1]
            if self.fail_word in text:
                yield Page(number, "", failure=Failure("read", Reason.CORRUPT, "told to fail"))
            elif "FLAKY" in text and self.readings[path.name, number] == 1:
                yield Page(number, "", failure=Failure("read", Reason.TIMEOUT, "told to wait", retryable=True))
            else:
                yield Page(number, text, ms=1)
