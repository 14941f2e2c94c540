"""Parts of an export: the files of some documents, with a note of what they were made from for a later run."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from cluster.state.db.postgres import Row
from cluster.state.signed_receipts import ForgedReceipt, ReceiptSigner, verify_receipt
from pipelines.documents.export.parquet_tables import cell_rows
from pipelines.documents.facts.page_table import table_from_json
from pipelines.documents.portable.blob_files import BlobCopier, has_bytes
from pipelines.documents.portable.datasets import DOCUMENT_DATASETS
from pipelines.documents.portable.export_manifest import FileFacts, blob_path, write_json
from pipelines.documents.portable.parquet_files import DatasetFile, read_rows

NOTES: Final = ".export"  # a folder of what a later run has to know
_FORMAT: Final = "aos-workspace-part"
_HASH: Final = re.compile(r"[0-9a-f]{64}")
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
    signer: ReceiptSigner
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
        signed = self.signer.sign(body | {"format": _FORMAT})
        write_json(self.folder / NOTES / f"{self.number}.json", signed)
        self.step(f"part {self.number}")
        return made


def read_notes(folder: Path, signer: ReceiptSigner) -> list[PartNote]:
    """Parts that an earlier run has finished; one that is to be written again has no digest.

    Whoever may write to the folder could change a file and its note: without this installation's signature neither is
    believed, or the next manifest would sign what somebody else has written.
    """
    found = list[PartNote]()
    for path in sorted((folder / NOTES).glob("[0-9]*.json")):
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            verify_receipt(body, signer.public)
        except (ValueError, ForgedReceipt):
            return found
        if body["format"] != _FORMAT or body["number"] != f"{len(found) + 1:06}":
            return found
        files = {name: FileFacts.model_validate(facts) for name, facts in body["files"].items()}
        plain = {name: body[name] for name in ("number", "after", "until", "digest", "counts")}
        note = PartNote(**plain, missing=tuple(body["missing"]), files=files)
        found.append(note if _is_whole(folder, note) else replace(note, digest=""))
    return found


def _is_whole(folder: Path, note: PartNote) -> bool:
    """Every file and all bytes are as they were written; bytes that were missing may be there by now."""
    return (
        not note.missing
        and all(has_bytes(folder / name, facts.sha256) for name, facts in note.files.items())
        and all(has_bytes(blob_path(folder, one), one) for one in _hashes_of(folder, note.number))
    )


def _hashes_of(folder: Path, number: str) -> Iterator[str]:
    """The bytes that a part has brought."""
    path = folder / "versions" / f"{number}.parquet"
    if path.is_file():
        for row in read_rows(path, DOCUMENT_DATASETS["versions"], ["file_hash", "has_bytes"]):
            if row["has_bytes"]:
                yield row["file_hash"]


def remove_leftovers(folder: Path, files: Collection[str], notes: Sequence[PartNote]) -> None:
    """Delete what earlier runs wrote and this export does not name: documents that are gone are gone here, too."""
    numbers = [note.number for note in notes]
    for name in (*DOCUMENT_DATASETS, "workspace"):
        for path in list((folder / name).glob("*")):
            if f"{name}/{path.name}" not in files:
                path.unlink()
    for path in list((folder / NOTES).glob("[0-9]*")):
        if path.name not in [f"{number}.json" for number in numbers]:
            path.unlink()
    for digit in "0123456789abcdef":  # a sixteenth of the hashes in memory at a time
        kept = {bytes.fromhex(one) for number in numbers for one in _hashes_of(folder, number) if one[0] == digit}
        for path in list((folder / "blobs").glob(f"{digit}?/*")):
            if not _HASH.fullmatch(path.name) or bytes.fromhex(path.name) not in kept:
                path.unlink()


def _word_rows(page: Row, words: list[list[Any]]) -> Iterator[Row]:
    keys = {name: page[name] for name in ("document_id", "version_id", "page")}
    for ordinal, (start, text, x0, y0, x1, y1, sure) in enumerate(words):
        place = {"x0": x0, "y0": y0, "x1": x1, "y1": y1, "confidence": sure}
        yield {**keys, "ordinal": ordinal, "start": start, "text": text, **place}


def _cells_of(row: Row) -> Iterator[Row]:
    keys = {name: row[name] for name in ("document_id", "version_id")}
    for cell in cell_rows(table_from_json(json.loads(row["content"])), row["ordinal"]):
        yield keys | cell
