"""Readers that sleep for as long as a page takes, as actors of a real Dataset, and what a job runs them with."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from cluster.models.ports import Embedder
from configs.sections import ReadSettings, Settings
from pipelines import read, rows
from pipelines.documents.document import Box, Page, Word
from pipelines.documents.extract.containers.unpacked import UnpackedMembers
from pipelines.documents.extract.reader import FileSurvey
from pipelines.documents.ingest.slices import PageSlice, ReadPage, read_slice
from pipelines.documents.ingest.stages import in_thread
from pipelines.documents.sources.sniff import Kind
from pipelines.index import IndexBeside, _Index
from tests.fakes.ledger import Bench, LetterEmbedder

PAGE_SECONDS = 0.5
WORDS_A_PAGE = 400
VOCABULARY = ("harbour", "bridge", "winter", "ledger", "copper", "valley", "signal", "engine", "garden", "letter")


def write_documents(folder: Path, documents: int, pages: int) -> int:
    """Write files of so many pages, which end in form feeds, and return how many pages that is."""
    folder.mkdir(parents=True)
    for number in range(documents):
        (folder / f"document-{number:05}.txt").write_text(f"{number}" + "\f" * (pages - 1))
    return documents * pages


@cache
def words_of_a_page() -> tuple[str, tuple[Word, ...]]:
    """Four hundred words in sentences, with boxes, as a page of a report has them."""
    text, words = "", []
    for n in range(WORDS_A_PAGE):
        word = VOCABULARY[n * 7 % len(VOCABULARY)] + ("." if n % 12 == 11 else "")
        x, y = 0.1 + 0.08 * (n % 10), 0.05 + 0.9 * (n // 10) / 40
        words.append(Word(word, len(text), Box(round(x, 4), round(y, 4), round(x + 0.07, 4), round(y + 0.015, 4))))
        text += word + ("\n\n" if n % 60 == 59 else " ")
    return text.strip(), tuple(words)


class SleepingReader:
    """Takes its time over each page, and tells in the last line which process it is."""

    def survey(self, path: Path, filename: str | None = None, **told: str | None) -> FileSurvey:
        raise NotImplementedError

    def unpack(self, path: Path, kind: Kind, folder: Path | None, **told: str | None) -> UnpackedMembers:
        raise NotImplementedError

    def use(self, languages: tuple[str, ...], strategy: str | None = None) -> None:
        """It reads no letters."""

    def read(self, path: Path, kind: Kind, numbers: Sequence[int], **told: str | None) -> Iterator[Page]:
        text, words = words_of_a_page()
        for number in numbers:
            time.sleep(PAGE_SECONDS)
            yield Page(number, f"{text}\n\nPage {number}, reader {os.getpid()}", words, ms=round(1000 * PAGE_SECONDS))


class SleepingRead:
    """The actor: as pipelines.read has it, with another reader."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._reader = SleepingReader()

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        for row in batch.to_pylist():
            yield pa.Table.from_pylist([rows.of_read(page) for page in read_slice(self._reader, rows.to_slice(row))])


class LetterIndex(_Index):
    """Cuts as any index does; its vectors are counts of letters."""

    def _embedder(self, settings: Settings) -> Embedder:
        return LetterEmbedder()


class Pool:
    """Stages of a job: surveys here, readings by so many actors, indexing as the runner has it.

    Attributes:
        all_at_work: each of them has read a slice of the second batch, whose slices are cut by the pace of the first,
            and one more slice has come: what each read before that is written.
        between_batches: seconds from the last page of the first batch to the first slice of the second.
    """

    def __init__(self, ledger: Bench, readers: int, cpus: float) -> None:
        """The ledger's jobs use it from now on."""
        self._readers, self._seen, self._pages, self._batches = readers, set[str](), 0, 0
        self._last = time.monotonic()  # when pages came
        self.all_at_work = asyncio.Event()
        self.between_batches: float | None = None
        self._reached: list[tuple[int, asyncio.Event]] = []
        self._settings = ReadSettings(readers=readers, reader_cpus=cpus, idle=False)
        here = ledger.here()
        self.survey, self.index = here.survey, here.index
        ledger.stages, ledger.read, ledger.readers = self, self._settings, lambda _: readers
        ledger.beside = IndexBeside(self._settings, work=LetterIndex)

    def reached(self, pages: int) -> asyncio.Event:
        """Set once so many pages are read."""
        self._reached.append((pages, asyncio.Event()))
        return self._reached[-1][1]

    async def read(self, slices: Sequence[PageSlice]) -> AsyncIterator[list[ReadPage]]:
        """As DatasetStages."""
        self._batches += 1
        self._seen.clear()
        async for pages in in_thread(read.read_slices(slices, self._settings, work=SleepingRead)):
            if self._batches == 2 and self.between_batches is None:
                self.between_batches = time.monotonic() - self._last
            if self._batches > 1 and len(self._seen) >= self._readers:
                self.all_at_work.set()
            self._seen.update(page.page.text.rpartition(" ")[2] for page in pages)
            self._pages, self._last = self._pages + len(pages), time.monotonic()
            for count, event in self._reached:
                if self._pages >= count:
                    event.set()
            yield pages
