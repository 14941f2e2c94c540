"""Containers made by tests, and a reader that opens them in this process and counts what it reads."""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from zlib import crc32

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Page
from pipelines.documents.extract.containers.unpacked import UnpackedMembers
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind
from tests.fakes import files
from tests.fakes.reading import FileSurvey, FormFeedReader


def zip_bytes(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP; the same parts give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return made.getvalue()


def mail_bytes(text: str, attachments: Mapping[str, bytes], enclosed: bytes | None = None) -> bytes:
    """A letter with files attached to it, and another letter enclosed."""
    from email import message_from_bytes, policy

    message = EmailMessage()
    message["From"], message["Subject"] = "a@x.example", text[:20]
    message.set_content(text)
    for name, content in attachments.items():
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    if enclosed is not None:
        message.add_attachment(message_from_bytes(enclosed, policy=policy.default))
    if message.is_multipart():
        message.set_boundary(f"B{crc32(text.encode()):x}")  # the same letter gives the same bytes
    return message.as_bytes()


@dataclass
class OpeningReader(FormFeedReader):
    """Reads files as the product does, without a child."""

    limits: ReadSettings = field(default_factory=ReadSettings)
    surveys: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._worker = ExtractionWorker(self.limits, OcrSettings(), files.transcriber)

    def survey(
        self, path: Path, filename: str | None = None, *, encoding: str | None = None, language: str | None = None
    ) -> FileSurvey:
        self.surveys[filename or path.name] += 1
        kind, pages = self._worker.survey(path, filename, encoding, language)
        return FileSurvey(kind, hash_file(path), path.stat().st_size, pages)

    def unpack(
        self, path: Path, kind: Kind, folder: Path | None, *, encoding: str | None = None, language: str | None = None
    ) -> UnpackedMembers:
        return self._worker.unpack(path, kind, folder, encoding, language)

    def read(
        self,
        path: Path,
        kind: Kind,
        numbers: Sequence[int],
        *,
        encoding: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        for number in numbers:
            self.readings[path.name, number] += 1
            yield self._worker.page(path, kind, number, encoding, language)
