"""Cache entries as bytes and back: what was worked out, beside what it rests on; what cannot be read is nothing."""

from typing import Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from serve_apps.retrieval.search.query import SearchResults

MOST_CHUNKS = 50
LONGEST_CHUNK = 4_000  # characters

T = TypeVar("T")


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class EntryHeader:
    """Identity and corpus version of an entry; it stands before the value, in a line of its own."""

    identity: str  # of the place that it belongs to
    version: int  # of the corpus
    question: str  # as it was asked
    at: float  # when it was worked out, seconds since the epoch
    summary: str = ""  # the answer's text, empty for passages


_HEADER = TypeAdapter(EntryHeader)


class EntryCodec(Generic[T]):
    """Entries of one sort."""

    def __init__(self, form: type[T]) -> None:
        """`form` is the dataclass of the values."""
        self._form: TypeAdapter[T] = TypeAdapter(form)

    def packed(self, header: EntryHeader, value: T) -> bytes:
        """As it is kept."""
        return _HEADER.dump_json(header) + b"\n" + self._form.dump_json(value)

    def header(self, raw: bytes) -> EntryHeader | None:
        """Header of an entry; None where these bytes are no entry."""
        try:
            return _HEADER.validate_json(raw.partition(b"\n")[0])
        except ValidationError:
            return None

    def value(self, raw: bytes) -> T | None:
        """Cached value of an entry; None where these bytes are no entry."""
        try:
            return self._form.validate_json(raw.partition(b"\n")[2])
        except ValidationError:
            return None


def too_large(results: SearchResults) -> str | None:
    """Reason not to cache results; None where they are. Parts of them would be another answer."""
    if len(results.hits) > MOST_CHUNKS:
        return f"more than {MOST_CHUNKS} passages"
    if any(len(hit.text) > LONGEST_CHUNK for hit in results.hits):
        return f"a passage of more than {LONGEST_CHUNK} characters"
    return None
