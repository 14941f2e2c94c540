"""The shapes of uploads in parts: requests, and what is answered."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from pipelines.documents.store.uploads.upload_sessions import UploadPart, UploadSession
from serve_apps.http.fields import MOST_AGENT, MOST_TAGS, ChunkStrategyField, Name, RequestBody, Text, storable_text

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]
PartNumber = Annotated[int, Field(ge=1, le=1_000_000)]
Entries = Annotated[list[Name], Field(max_length=MOST_TAGS)]
Bytes = Annotated[int, Field(ge=1, le=2**50)]


class UploadInitiation(RequestBody):
    """A file that is to come in parts, and what is said of it, as with an upload in one piece.

    `file_hash` is the SHA-256 of the whole file in hex, which is compared at the end.
    """

    document_name: Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(storable_text)]
    total_size_bytes: Bytes
    content_type: Annotated[Text, Field(max_length=200)] = ""
    chunking_strategy: ChunkStrategyField | None = None
    file_hash: Sha256 | None = None
    agent_id: Annotated[Text | None, Field(max_length=MOST_AGENT)] = None
    readers: Entries = Field(default_factory=list)
    team_access: Entries = Field(default_factory=list)
    tags: Entries = Field(default_factory=list)
    description: Annotated[Text, Field(max_length=2_000)] = ""
    languages: Annotated[Text, Field(max_length=300)] = ""


class PartAddresses(BaseModel):
    """Where parts go (PUT), from `first_part` on; `next_part` is the first of those that are not told here."""

    first_part: int
    part_urls: list[str]
    next_part: int | None


class UploadInitiated(PartAddresses):
    """An upload that may begin. Each part has `chunk_size` bytes, the last one what is left.

    An address with a host is the storage's own: what was sent there is told with `chunk-received`. `signed` is true
    then. `expires_in`: seconds for which the addresses are good; `GET /api/uploads/{id}/parts` has new ones, until the
    upload ends at `expires_at`.
    """

    upload_session_id: UUID
    chunk_size: int
    total_chunks: int
    expires_in: int
    expires_at: datetime
    signed: bool


class PartReceipt(RequestBody):
    """A part that was sent to its address: `chunk_hash` is the SHA-256 of its bytes in hex."""

    upload_session_id: UUID
    chunk_number: PartNumber
    chunk_hash: Sha256
    size: Bytes


class PartAccepted(BaseModel):
    """A part that is there, and how many are."""

    upload_session_id: UUID
    chunk_number: int
    chunk_hash: str
    size: int
    received: int
    total_chunks: int


class UploadCompletion(RequestBody):
    """The end of an upload: what there are of parts, and the SHA-256 of the whole file, where that is known."""

    upload_session_id: UUID
    total_chunks: PartNumber | None = None
    file_hash: Sha256 | None = None


class WholeUploadHash(RequestBody):
    """As in UploadCompletion."""

    total_chunks: PartNumber | None = None
    file_hash: Sha256 | None = None


class UploadCompleted(BaseModel):
    """A document: `queued` with its job, or `duplicate` where the workspace has the same bytes, and then without."""

    upload_session_id: UUID
    document_id: str
    document_key: str | None
    ingestion_job_id: UUID | None
    status: str


class UploadStatus(BaseModel):
    """An upload as it stands. `reason` says why it could not be completed; another part lets it go on.

    `received` and `missing` are numbers of parts; an upload by tus has none, and stands at `received_bytes`.
    """

    upload_session_id: UUID
    protocol: str
    state: str
    reason: str
    document_name: str
    total_size_bytes: int
    file_hash: str | None
    chunk_size: int
    total_chunks: int
    received: list[int]
    missing: list[int]
    received_bytes: int
    created_at: datetime
    expires_at: datetime
    document_id: str | None
    ingestion_job_id: UUID | None


class UploadLine(BaseModel):
    """An upload in a list."""

    upload_session_id: UUID
    protocol: str
    state: str
    document_name: str
    total_size_bytes: int
    file_hash: str | None
    created_at: datetime
    expires_at: datetime


class UploadLines(BaseModel):
    """A page of one's own uploads, newest first."""

    items: list[UploadLine]
    total: int
    skip: int
    limit: int


def line_of(session: UploadSession) -> UploadLine:
    """As in a list."""
    same = {name: getattr(session, name) for name in ("protocol", "file_hash", "created_at", "expires_at")}
    return UploadLine(
        upload_session_id=UUID(session.id),
        state=session.state,
        document_name=session.filename,
        total_size_bytes=session.total_bytes,
        **same,
    )


def status_of(session: UploadSession, parts: list[UploadPart]) -> UploadStatus:
    """As it stands with these parts."""
    ended = session.document_id is not None
    by_number = session.protocol == "parts" and not ended
    missing = session.missing(parts) if by_number else []
    gone = set(missing)
    received = [n for n in range(1, session.part_count + 1) if n not in gone] if by_number else []
    return UploadStatus(
        **line_of(session).model_dump(),
        reason=session.reason,
        chunk_size=session.part_bytes,
        total_chunks=session.part_count,
        received=received,
        missing=missing,
        received_bytes=session.total_bytes if ended else sum(one.size for one in parts),
        document_id=session.document_id,
        ingestion_job_id=None if session.job_id is None else UUID(session.job_id),
    )
