"""Parts of an export: the files of some documents, with a note of what they were made from for a later run."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from cluster.state.db.postgres import Row
from pipelines.documents.export.parquet_tables import cell_rows
from pipelines.documents.facts.page_table import table_from_json
from pipelines.documents.portable.blob_files import BlobCopier
from pipelines.documents.portable.datasets import DOCUMENT_DATASETS
from pipelines.documents.portable.export_manifest import FileFacts, write_json
from pipelines.documents.portable.parquet_files import DatasetFile

NOTES: Final = ".export"  # a folder of what a later run has to know
_WITH_PAGES: Final = ("words",)
_WITH_TABLES: Final = ("cells",)
QUERIED: Final = tuple(name for name in DOCUMENT_DATASETS if name not in (*_WITH_PAGES, *_WITH_TABLES))


@dataclass(frozen=True, slots=True)
class PartNote:
    """What a part holds, and what it was made from.

    Attributes:
        after, until: its documents have ids between these, the last one included.
        digest: of the row versions that it was made from.
        missing: names of documents whose bytes were not there, or others than were read.
    """

    number: str
    after: str
    until: str
    digest: str
    files: Mapping[str, FileFacts]
    counts: Mapping[str, int]
    missing: tuple[str, ...] = ()


@dataclass
class PartWriter:
    """Writes the rows of one part; every file is there whole, and the note comes last."""

    folder: Path
    number: str
    copier: BlobCopier
    step: Callable[[str], None]
    _files: dict[str, FileFacts] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def open(self, dataset: str) -> list[DatasetFile]:
        """The file of a dataset, with the one that is made from the same rows."""
        beside = {"pages": _WITH_PAGES, "tables": _WITH_TABLES}.get(dataset, ())
        names = [dataset, *beside]
        return [DatasetFile(self.folder, f"{one}/{self.number}.parquet", DOCUMENT_DATASETS[one]) for one in names]

    def add(self, dataset: str, files: list[DatasetFile], row: Row) -> None:
        """Write a row of a query."""
        if dataset == "versions":
            row["has_bytes"] = self.copier.copy(row.pop("location"), row["file_hash"], row.pop("filename"))
        elif dataset == "vectors":
            row["embedding"] = np.fromstring(row["embedding"].strip("[]"), np.float32, sep=",")
        elif dataset == "pages":
            for word in _word_rows(row, row.pop("words")):
                files[1].add(word)
        elif dataset == "tables":
            for cell in _cells_of(row):
                files[1].add(cell)
        files[0].add(row)

    def finish(self, files: list[DatasetFile]) -> None:
        """Put the files in their places."""
        for file in files:
            facts = file.finish()
            self.step(file.name)
            self._counts[file.name.partition("/")[0]] = file.rows
            if facts is not None:
                self._files[file.name] = facts

    def note(self, after: str, until: str, digest: str) -> PartNote:
        """Write down that the part is there."""
        made = PartNote(self.number, after, until, digest, self._files, self._counts, tuple(self.copier.missing))
        body = asdict(made) | {"files": {name: facts.model_dump() for name, facts in self._files.items()}}
        write_json(self.folder / NOTES / f"{self.number}.json", body)
        self.step(f"part {self.number}")
        return made


def read_notes(folder: Path) -> list[PartNote]:
    """Parts that an earlier run has finished; one of which a file is not there any more has no digest."""
    found = list[PartNote]()
    for path in sorted((folder / NOTES).glob("[0-9]*.json")):
        body = json.loads(path.read_text(encoding="utf-8"))
        files = {name: FileFacts.model_validate(facts) for name, facts in body.pop("files").items()}
        note = PartNote(**body | {"missing": tuple(body["missing"])}, files=files)
        whole = all(_is_there(folder / name, facts) for name, facts in files.items())
        found.append(note if whole else replace(note, digest=""))
    return found


def _is_there(path: Path, facts: FileFacts) -> bool:
    return path.is_file() and path.stat().st_size == facts.bytes


def _word_rows(page: Row, words: list[list[Any]]) -> Iterator[Row]:
    keys = {name: page[name] for name in ("document_id", "version_id", "page")}
    for ordinal, (start, text, x0, y0, x1, y1, sure) in enumerate(words):
        place = {"x0": x0, "y0": y0, "x1": x1, "y1": y1, "confidence": sure}
        yield {**keys, "ordinal": ordinal, "start": start, "text": text, **place}


def _cells_of(row: Row) -> Iterator[Row]:
    keys = {name: row[name] for name in ("document_id", "version_id")}
    for cell in cell_rows(table_from_json(json.loads(row["content"])), row["ordinal"]):
        yield keys | cell
