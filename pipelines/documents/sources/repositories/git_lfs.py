"""Large files of a repository (Git LFS): a pointer is told from text, and its content fetched by the batch API."""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

import httpx

from cluster.basics.errors import Forbidden, Unavailable
from pipelines.documents.sources.checked_http import (
    CONNECTION,
    PACKING,
    CheckedHost,
    check_host_of,
    network_fault,
    read_whole,
    tls_context,
)
from pipelines.documents.sources.repositories.git_fetch import classify_http_error
from pipelines.documents.sources.source_port import SourceAway, SourceDependencies, SourceInvalid, SourceRefused

_POINTER: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n"
)
_POINTER_BYTES: Final = 1024  # a pointer is smaller, says the specification
_REPLY_BYTES: Final = 1 << 20
_JSON: Final = "application/vnd.git-lfs+json"


@dataclass(frozen=True, slots=True)
class LfsPointer:
    """What stands in a repository in place of a large file: SHA-256 in hex, and bytes."""

    oid: str
    size: int


def lfs_pointer(blob: bytes) -> LfsPointer | None:
    """The pointer that a blob is; None where it is a file as any other."""
    found = _POINTER.fullmatch(blob) if len(blob) < _POINTER_BYTES else None
    return None if found is None else LfsPointer(found[1].decode(), int(found[2]))


@dataclass(frozen=True, slots=True)
class LfsServer:
    """The LFS of a repository: below its own URL; contents may lie on other hosts, which are checked, too."""

    repository: str
    dependencies: SourceDependencies
    auth: tuple[str, str] | None = None

    async def read(self, pointer: LfsPointer, path: str) -> AsyncIterator[bytes]:
        """The content. Raises SourceRefused: it does not come, or is another; SourceAway."""
        href, headers = await self._action(pointer, path)
        host = await self._checked(href, path)
        own = host.holds(self.repository) and not any(name.lower() == "authorization" for name in headers)
        digest, size = hashlib.sha256(), 0
        try:
            async with (
                _client(self.auth if own else None) as client,
                client.stream(
                    "GET",
                    host.address_of(href),
                    headers={**headers, **host.headers, "Accept-Encoding": "identity"},
                    extensions=dict(host.extensions),
                ) as answer,
            ):
                _check_status(answer.status_code, path)
                async for block in answer.aiter_raw():
                    size += len(block)
                    digest.update(block)
                    if size > pointer.size:
                        break
                    yield block
        except httpx.HTTPError as error:
            raise classify_http_error(error) from error
        except (httpx.InvalidURL, UnicodeError) as error:  # the link or the headers that the server told
            raise SourceRefused(f"{path}: the LFS server makes no sense") from error
        if size != pointer.size or digest.hexdigest() != pointer.oid:
            raise SourceRefused(f"{path}: the LFS server gives other bytes than the repository names")

    async def _checked(self, url: str, path: str) -> CheckedHost:
        """Where the server leads may be forbidden or have no address now: a fault of this one item, not of its job."""
        try:
            return await check_host_of(url, self.dependencies)
        except (Forbidden, SourceInvalid, Unavailable) as error:
            raise network_fault(error, path) or error from error

    async def _action(self, pointer: LfsPointer, path: str) -> tuple[str, Mapping[str, str]]:
        """Where the content lies, and headers to ask for it with."""
        base = self.repository.rstrip("/")
        url = f"{base if base.endswith('.git') else base + '.git'}/info/lfs/objects/batch"
        host = await self._checked(url, path)
        wanted = {
            "operation": "download",
            "transfers": ["basic"],
            "hash_algo": "sha256",
            "objects": [{"oid": pointer.oid, "size": pointer.size}],
        }
        headers = {**host.headers, **PACKING, "Accept": _JSON, "Content-Type": _JSON}
        try:
            async with (
                _client(self.auth) as client,
                client.stream(
                    "POST",
                    host.address_of(url),
                    headers=headers,
                    content=json.dumps(wanted),
                    extensions=dict(host.extensions),
                ) as answer,
            ):
                _check_status(answer.status_code, path)
                body = await read_whole(answer, _REPLY_BYTES)
            if body is None:
                raise SourceRefused(f"{path}: the LFS server says too much")
            found = json.loads(body)["objects"][0]
            if "error" in found:
                raise SourceRefused(f"{path}: the LFS server has not got it ({found['error'].get('code')})")
            action = found["actions"]["download"]
            return str(action["href"]), {str(k): str(v) for k, v in (action.get("header") or {}).items()}
        except httpx.HTTPError as error:
            raise classify_http_error(error) from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise SourceRefused(f"{path}: the LFS server makes no sense") from error


def _client(auth: tuple[str, str] | None) -> httpx.AsyncClient:
    return httpx.AsyncClient(auth=auth, verify=tls_context(), **CONNECTION)


def _check_status(status: int, path: str) -> None:
    if status == 429 or status >= 500:
        raise SourceAway(f"{path}: the LFS server answers {status}")
    if status != 200:
        raise SourceRefused(f"{path}: it is in LFS, whose server answers {status}")
