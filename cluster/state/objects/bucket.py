"""A bucket of S3-compatible storage: objects by key, below the prefix that the settings name."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from cluster.basics.errors import Unavailable
from configs.sections_blobs import BlobSettings

BLOCK: Final = 1 << 20
PIECE: Final = 5 << 20  # S3 takes no smaller piece of a multipart upload, but the last
PIECES_AT_ONCE: Final = 2  # what an upload holds in memory is this many pieces, and one that fills
DELETED_AT_ONCE: Final = 1000
# The last is of a whole body.
_CLIENT: Final[dict[str, Any]] = {"connect_timeout": "5s", "read_timeout": "60s", "timeout": "6h"}
_RETRY: Final[dict[str, Any]] = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
NO_BUCKET: Final = "NoSuchBucket"
_FIX: Final = "See to the bucket, its endpoint and the keys (AOS_BLOBS_URL, AOS_BLOBS_ENDPOINT, AOS_BLOBS_ACCESS_KEY)."


class StorageUnavailable(Unavailable):
    """The object storage cannot be reached, or refuses."""

    code = "storage_unavailable"
    fix = _FIX


class ObjectChanged(Unavailable):
    """The object was replaced while it was read."""

    code = "object_changed"
    fix = "Ask again, once whoever writes it has ended."


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """An object: its key below the prefix, its bytes, when it was written, and the ETag of what it holds now."""

    key: str
    size: int
    modified: datetime
    tag: str = ""

    @property
    def mtime_ns(self) -> int:
        """The moment as files have it: the same on every node."""
        return round(self.modified.timestamp()) * 10**9


class Bucket:
    """Objects by key. Methods without `async` block; each raises StorageUnavailable where the storage fails."""

    def __init__(self, store: Any, signer: Any, name: str) -> None:
        """`store` is obstore's, `signer` too: it knows the storage by the address that clients have for it."""
        self._store, self._signer, self._name = store, signer, name

    @classmethod
    def of(cls, settings: BlobSettings) -> "Bucket":
        """The bucket of `blobs.url`; nothing is asked yet."""
        from obstore.store import S3Store  # 15 MB that only those have in memory who use it

        parts = urlsplit(settings.url or "")
        given: dict[str, Any] = {"region": settings.region, "checksum_algorithm": "SHA256"}
        if settings.access_key and settings.secret_key:
            given |= {"access_key_id": settings.access_key, "secret_access_key": settings.secret_key}

        def at(endpoint: str | None) -> Any:
            where = {} if endpoint is None else {"endpoint": endpoint}
            client: Any = _CLIENT | ({"allow_http": True} if (endpoint or "").startswith("http:") else {})
            prefix, retry = parts.path.strip("/") or None, cast(Any, _RETRY)
            more: dict[str, Any] = {**given, **where}
            return S3Store(parts.netloc, prefix=prefix, client_options=client, retry_config=retry, **more)

        store = at(settings.endpoint)
        signer = at(settings.public_endpoint) if settings.public_endpoint else store
        return cls(store, signer, parts.netloc)

    async def put(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Write an object whole or not at all; what `chunks` raises, it raises, and the pieces sent are taken back."""
        import obstore

        with self._named(missing=False):
            await obstore.put_async(
                self._store, key, chunks, chunk_size=PIECE, max_concurrency=PIECES_AT_ONCE, use_multipart=True
            )

    def put_blocks(self, key: str, blocks: Iterator[bytes]) -> None:
        """As `put`, from where one may block."""
        import obstore

        with self._named(missing=False):
            obstore.put(self._store, key, blocks, chunk_size=PIECE, max_concurrency=PIECES_AT_ONCE, use_multipart=True)

    async def read(self, key: str) -> AsyncIterator[bytes]:
        """Its bytes in blocks. Raises FileNotFoundError."""
        import obstore

        with self._named():
            found = await obstore.get_async(self._store, key)
            async for block in found.stream(min_chunk_size=BLOCK):
                yield bytes(block)

    def blocks(self, key: str) -> Iterator[bytes]:
        """Its bytes in blocks. Raises FileNotFoundError."""
        import obstore

        with self._named():
            for block in obstore.get(self._store, key).stream(min_chunk_size=BLOCK):
                yield bytes(block)

    def fetch(self, key: str, target: Path) -> ObjectFacts:
        """Write its bytes into a file. Raises FileNotFoundError: there is no such object."""
        import obstore

        with self._named():
            found = obstore.get(self._store, key)
            with target.open("wb") as file:
                for block in found.stream(min_chunk_size=BLOCK):
                    file.write(block)
            return ObjectFacts(key, int(found.meta["size"]), found.meta["last_modified"])

    def fetch_as(self, facts: ObjectFacts, target: Path) -> None:
        """Write into a file what `facts` told of, and no byte more (RFC 9110: If-Match).

        Raises ObjectChanged: another thing is there by now; FileNotFoundError: there is no such object.
        """
        import obstore
        from obstore.exceptions import PreconditionError

        try:
            with self._named():
                found = obstore.get(self._store, facts.key, options={"if_match": facts.tag} if facts.tag else None)
                written = 0
                with target.open("wb") as file:
                    for block in found.stream(min_chunk_size=BLOCK):
                        written += len(block)
                        if written > facts.size:
                            break
                        file.write(block)
        except StorageUnavailable as error:
            if isinstance(error.__cause__, PreconditionError):
                raise ObjectChanged(facts.key) from error
            raise
        if written != facts.size:  # also of a storage that knows no If-Match
            raise ObjectChanged(facts.key)

    def facts(self, key: str) -> ObjectFacts | None:
        """The object's, None where there is none."""
        import obstore

        try:
            with self._named():
                meta = obstore.head(self._store, key)
        except FileNotFoundError:
            return None
        return ObjectFacts(key, int(meta["size"]), meta["last_modified"], str(meta.get("e_tag") or ""))

    def below(self, prefix: str = "") -> Iterator[ObjectFacts]:
        """Every object whose key begins with a prefix of whole names, `a/b` meaning `a/b/…`."""
        import obstore

        with self._named(missing=False):
            for some in obstore.list(self._store, prefix=prefix or None):
                for one in some:
                    yield ObjectFacts(str(one["path"]), int(one["size"]), one["last_modified"])

    def folders(self, prefix: str = "") -> list[str]:
        """The names below a prefix that have objects below them, with the prefix."""
        import obstore

        with self._named(missing=False):
            found = obstore.list_with_delimiter(self._store, prefix=prefix or None)
        return [str(one) for one in found["common_prefixes"]]

    def copy(self, source: str, target: str) -> None:
        """Copy within the bucket. Raises FileNotFoundError."""
        import obstore

        with self._named():
            obstore.copy(self._store, source, target)

    def delete(self, keys: Iterator[str] | Sequence[str]) -> int:
        """Remove objects, those that are there; how many were named."""
        import obstore

        left, count = iter(keys), 0
        while some := list(islice(left, DELETED_AT_ONCE)):
            with self._named():
                obstore.delete(self._store, some)
            count += len(some)
        return count

    def delete_below(self, prefix: str) -> int:
        """Remove every object below a prefix; how many there were."""
        return self.delete(one.key for one in self.below(prefix))

    async def sign_puts(self, keys: Sequence[str], seconds: float) -> list[str]:
        """Addresses to which anybody may PUT each object for so long, of any length: obstore signs no header."""
        import obstore

        with self._named():
            return list(await obstore.sign_async(self._signer, "PUT", list(keys), timedelta(seconds=seconds)))

    @contextmanager
    def _named(self, missing: bool = True) -> Iterator[None]:
        """Errors of the storage by our names. `missing`: whether an object may be what is not found, not the bucket."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            if missing and NO_BUCKET not in str(error):
                raise FileNotFoundError(2, "No such object", str(error).splitlines()[0][:200]) from error
            raise StorageUnavailable(f"there is no bucket {self._name}") from error
        except BaseError as error:
            raise StorageUnavailable(f"bucket {self._name}: {str(error).splitlines()[0][:300]}") from error
