"""DocumentUploadedEvent, by which others say that a document lies where this product can read it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.errors import Permanent
from cluster.basics.storable import is_storable
from configs.sections import ChunkStrategy

MOST_METADATA: Final = 32_000  # characters of JSON
EVENT_TYPES = Literal["DocumentUploadedEvent", "document.uploaded"]


class EventRefused(Permanent):
    """This event is not taken."""

    code, status = "event_refused", 422
    fix = "Mend what is said and send it under another event_id; the same id means the same event."


def _storable(text: str) -> str:
    if "\0" in text or not is_storable(text):
        raise ValueError("must be valid Unicode without NUL characters")
    return text


def _file_name(text: str) -> str:
    if set(text) & set("/\\") or not text.isprintable() or text.strip() in ("", ".", ".."):
        raise ValueError("must be the name of a file, without a folder")
    return _storable(text)


def _small(value: dict[str, Any]) -> dict[str, Any]:
    if len(_storable(json.dumps(value))) > MOST_METADATA or "\\u0000" in json.dumps(value):
        raise ValueError(f"must have no NUL characters, and at most {MOST_METADATA} characters as JSON")
    return value


Word = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_storable)]


class DocumentUploaded(BaseModel):
    """The event. `document_key` is a key of the blob store below a folder of its own (`incoming/a.pdf`), or
    `file:/path` below the folder that may be scanned. `event_id` (by itself `job_id`) is one event, however often it
    is sent. `hash` is the SHA-256 of the bytes, in hex.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    event_type: EVENT_TYPES = "DocumentUploadedEvent"
    event_id: Word | None = None
    job_id: Word
    document_key: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_storable)]
    user_id: Word | None = None
    course_id: Annotated[str, Field(min_length=1, max_length=150), AfterValidator(_storable)] | None = None
    name: Annotated[
        str | None,
        Field(min_length=1, max_length=255, validation_alias=AliasChoices("name", "document_name")),
        AfterValidator(lambda name: name if name is None else _file_name(name)),
    ] = None
    type: Word | None = Field(None, validation_alias=AliasChoices("type", "content_type"))
    size: int | None = Field(None, ge=0, le=2**50, validation_alias=AliasChoices("size", "total_size_bytes"))
    strategy: ChunkStrategy | None = Field(None, validation_alias=AliasChoices("strategy", "chunking_strategy"))
    hash: str | None = Field(
        None, pattern=r"^(sha256:)?[0-9a-fA-F]{64}$", validation_alias=AliasChoices("hash", "file_hash")
    )
    metadata: Annotated[dict[str, Any], AfterValidator(_small)] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        """What is taken once."""
        return self.event_id or self.job_id

    @property
    def sha256(self) -> str | None:
        """The hash in lower case, without what says how it was made."""
        return None if self.hash is None else self.hash.removeprefix("sha256:").lower()

    @property
    def fingerprint(self) -> str:
        """Of all that it says: another event under the same id has another one."""
        said = json.dumps(self.model_dump(mode="json", exclude_none=True), sort_keys=True)
        return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class TakenEvent:
    """An event that was taken: `duplicate` where it was taken before or its bytes are known, else `queued`."""

    event: str
    document: str
    job: str | None
    status: Literal["queued", "duplicate"]


def parse_event(text: str | bytes) -> DocumentUploaded:
    """From JSON. Raises EventRefused: it is none, with what is wrong."""
    try:
        return DocumentUploaded.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(str(part) for part in first["loc"])
        raise EventRefused(f"{at or 'the event'}: {first['msg']}") from None


def parse_fields(fields: Mapping[bytes, bytes]) -> DocumentUploaded:
    """From an entry of a stream: JSON in its field `event`, or a field for each of the event's, `metadata` as JSON.

    Raises EventRefused: as `parse_event`.
    """
    if b"event" in fields:
        return parse_event(fields[b"event"])
    try:
        said: dict[str, Any] = {name.decode(): value.decode() for name, value in fields.items()}
        if "metadata" in said:
            said["metadata"] = json.loads(said["metadata"])
        return parse_event(json.dumps(said))
    except (ValueError, RecursionError) as error:
        raise EventRefused(f"the entry cannot be read: {error}") from None
