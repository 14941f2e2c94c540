"""A reader of text files whose pages end in form feeds; pages may be told to fail, and every reading is counted."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipelines.documents.document import Caveat, CaveatKind, Failure, FailureReason, Page, Unreadable
from pipelines.documents.extract.containers.unpacked import UnpackedMembers
from pipelines.documents.extract.reader import FileSurvey
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind


class WorkerKilled(BaseException):
    """Stands for kill -9: nothing catches it."""


CAVEATS = {
    "PICTURE": Caveat(CaveatKind.PICTURES_UNREAD, "a picture was not read"),
    "DOUBT": Caveat(CaveatKind.TABLE_UNSURE, "the columns of a table are guessed"),
    "HIDDEN": Caveat(CaveatKind.HIDDEN_CONTENT, "a hidden row is in the text"),
    "GARBLED": Caveat(CaveatKind.ENCODING_UNSURE, "the encoding is guessed", whole=True),
}


@dataclass
class FormFeedReader:
    """`fail_word` on a page makes it fail for good, `FLAKY` the first time; `die_before` ends the worker at a page.

    `PICTURE`, `DOUBT` and `HIDDEN` on a page give it a caveat of each weight, and `GARBLED` one of the whole document.
    """

    readings: Counter[tuple[str, int]] = field(default_factory=Counter)
    die_before: Callable[[str, int], bool] = lambda name, number: False
    fail_word: str = "FAIL"
    caveats: Mapping[str, Caveat] = field(default_factory=lambda: CAVEATS)
    most_pages: int | None = None
    guess: str = "utf-8"
    told: list[tuple[str | None, str | None]] = field(default_factory=list)
    languages: tuple[str, ...] = ()
    strategy: str | None = None

    def use(self, languages: tuple[str, ...], strategy: str | None = None) -> None:
        self.languages, self.strategy = languages, strategy

    def survey(
        self, path: Path, filename: str | None = None, *, encoding: str | None = None, language: str | None = None
    ) -> FileSurvey:
        self.told.append((encoding, language))
        text = path.read_text(encoding or self.guess)
        if text == "":
            raise Unreadable(FailureReason.EMPTY)
        pages = text.count("\f") + 1
        return FileSurvey(Kind.TEXT, hash_file(path), path.stat().st_size, min(pages, self.most_pages or pages))

    def unpack(
        self, path: Path, kind: Kind, folder: Path | None, *, encoding: str | None = None, language: str | None = None
    ) -> UnpackedMembers:
        return UnpackedMembers()

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        pages = path.read_text(encoding or self.guess).split("\f")
        for number in numbers:
            if self.die_before(path.name, number):
                raise WorkerKilled
            self.readings[path.name, number] += 1
            text = pages[number - 1]
            if self.fail_word in text:
                yield Page(number, "", failure=Failure("read", FailureReason.CORRUPT, "told to fail"))
            elif "FLAKY" in text and self.readings[path.name, number] == 1:
                yield Page(number, "", failure=Failure("read", FailureReason.TIMEOUT, "told to wait", retryable=True))
            else:
                yield Page(number, text, ms=1, caveats=self._caveats_in(text))

    def _caveats_in(self, text: str) -> tuple[Caveat, ...]:
        return tuple(replace(one, count=text.count(word)) for word, one in self.caveats.items() if word in text)
