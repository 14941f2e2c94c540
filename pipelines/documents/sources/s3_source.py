"""A bucket of S3-compatible storage as a source: every object below a prefix is an item."""

import re
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any, Final

import obstore
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from pipelines.documents.sources.housekeeping import housekeeping_kind
from pipelines.documents.sources.source_port import (
    ItemGone,
    ListingPage,
    Source,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceItem,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_PAGE: Final = 1000
_BLOCK: Final = 1 << 22
_SECONDS: Final = timedelta(seconds=30)
_REGION: Final = re.compile(r"[a-z0-9-]{1,64}")
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_NO_ACCESS: Final = ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")
_ABSENT: Final = (NotFoundError, FileNotFoundError)  # obstore raises the latter
# What obstore raises where an answer, or a key that was listed once, is none that Python or it can hold.
_GARBAGE: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError)
_REFUSED: Final = (PermissionDeniedError, UnauthenticatedError)


class S3Source:
    """Ids are keys. An object that was copied elsewhere and deleted has the same ETag and size, and so was moved."""

    def __init__(self, store: Any, prefix: str) -> None:
        """`store`: obstore's, at the root of the bucket."""
        self._store, self._prefix = store, prefix

    async def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """Always everything: S3 keeps no list of changes."""
        try:
            async for found in obstore.list(self._store, prefix=self._prefix or None, chunk_size=_PAGE):
                yield ListingPage(items=[_item_of(one) for one in found if _is_read(one["path"])])
        except (BaseError, *_GARBAGE) as error:
            raise _classify_error(error, f"bucket listing below {self._prefix or '/'}") from error

    async def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """See `Source`."""
        span: Any = {"offset": start} if length is None else (start, start + length)
        options: Any = {"range": span} if start or length is not None else {}
        try:
            found = await obstore.get_async(self._store, item.id, options=options)
            async for block in found.stream(min_chunk_size=_BLOCK):
                yield bytes(block)
        except _ABSENT as error:
            raise ItemGone(item.path) from error
        except BaseError as error:
            raise _classify_error(error, item.path) from error
        except _GARBAGE as error:
            raise SourceRefused(f"{item.path}: it cannot be asked for, or its answer makes no sense") from error

    def local_path(self, item: SourceItem) -> None:
        """None: its bytes are fetched."""

    async def close(self) -> None:
        """The store closes what it has opened."""


def _item_of(found: Mapping[str, Any]) -> SourceItem:
    tag, size = found.get("e_tag"), int(found["size"])
    when = found["last_modified"].isoformat()
    mark = str(tag).strip('"') if tag else ""
    # An ETag is the same for the same bytes, so an object that was only written again is not read again.
    version = f"{mark}-{size}" if mark else f"{when}-{size}"
    return SourceItem(found["path"], version, found["path"], size, f"{mark}-{size}" if mark and size else None)


def _is_read(key: str) -> bool:
    """Folders that consoles make as empty objects, and what programs keep for themselves, are no documents."""
    return not key.endswith("/") and not any(housekeeping_kind(part) for part in key.split("/") if part)


def _classify_error(error: Exception, what: str) -> Exception:
    """S3's errors as ours. Their words hold URLs and request ids, and no secret; of others the first line is kept."""
    found = _CODE.search(str(error))
    code = found.group(1) if found else ""
    if isinstance(error, _REFUSED) or code in _NO_ACCESS or "403 Forbidden" in str(error):
        return SourceRefused(f"{what}: access was refused{f' ({code})' if code else ''}")
    if isinstance(error, _ABSENT) or code == "NoSuchBucket":
        return SourceRefused(f"{what}: there is no such bucket")
    return SourceAway(f"{what}: {str(error).partition(chr(10))[0][:300] or type(error).__name__}")


def _provider_of(secret: Mapping[str, str]) -> Any:
    def credential() -> dict[str, Any]:
        keys = {name: secret[name] for name in ("access_key_id", "secret_access_key")}
        return {**keys, "token": secret.get("session_token"), "expires_at": None}

    return credential


async def _open_s3(opening: SourceOpening, dependencies: SourceDependencies) -> Source:
    settings, secret = opening.settings, opening.secret
    endpoint = settings.get("endpoint")
    if endpoint is not None:
        endpoint = await dependencies.check_endpoint(str(endpoint))
    key, password = secret.get("access_key_id"), secret.get("secret_access_key")
    if secret and not (key and password):
        raise SourceInvalid(
            "the credential has no access_key_id and secret_access_key",
            fix="Store one of type custom with these two fields: aos credentials add.",
        )
    # obstore follows redirects. Without `allow_http` it follows them to TLS alone: not to where clouds keep their
    # metadata, but still to an inner host that has a certificate for its name.
    plain = endpoint is not None and endpoint.startswith("http://")
    region = settings.get("region") or "us-east-1"
    if not _REGION.fullmatch(region):  # it is part of a host's name: nothing else may come in by it
        raise SourceInvalid("a region has small letters, digits and hyphens alone")
    store = S3Store(
        settings["bucket"],
        # Whatever the environment of this process says of AWS is of its operator, and no tenant's: all is named here.
        endpoint=endpoint or f"https://s3.{region}.amazonaws.com",
        virtual_hosted_style_request=False,
        region=region,
        skip_signature=not key,
        credential_provider=_provider_of(secret) if key else None,
        client_options={"timeout": _SECONDS * 10, "connect_timeout": _SECONDS, "allow_http": plain},
        retry_config={"max_retries": 4, "retry_timeout": _SECONDS * 2},
    )
    return S3Source(store, str(settings.get("prefix") or "").strip("/"))


KIND: Final = SourceKind(
    name="s3",
    title="S3-compatible storage",
    settings={
        "bucket*": "The bucket.",
        "prefix": "Only objects below this folder.",
        "region": "The region; us-east-1 where none is named.",
        "endpoint": "URL of the service; Amazon's where none is named.",
    },
    open=_open_s3,
    takes_credential=True,
)
