"""Files of this machine sent to a server elsewhere: large ones in parts, which go on where a cut has ended them."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from cluster.basics.errors import Invalid, Unavailable
from cluster.console.api import JSON, ApiClient, ApiUnavailable

WHOLE: Final = 8 * 2**20  # bytes up to which a file goes in one piece
ATTEMPTS: Final = 6  # of one part, with seconds between them that grow
LOOK_SECONDS: Final = 2.0  # between two looks at an upload that is being put together
HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
BLOCK: Final = 1 << 20
PAGE: Final = 100


class UploadCut(Unavailable):
    """The upload was cut off."""

    code = "upload_cut"
    fix = "Run it again: what has arrived is not sent a second time."


@dataclass(frozen=True, slots=True)
class UploadChoices:
    """What is said of all files: the agent they are linked to, and the languages of their scans."""

    agent: str | None = None
    languages: str | None = None

    @property
    def fields(self) -> JSON:
        """As the API takes them."""
        named = {"agent_id": self.agent, "languages": self.languages}
        return {name: value for name, value in named.items() if value}


def is_elsewhere(url: str) -> bool:
    """Whether the server is another machine, which cannot read this one's files."""
    return (urlsplit(url).hostname or "") not in HERE


def files_below(path: Path) -> Iterator[Path]:
    """The file, or every file of the folder in order; hidden ones are passed over. Raises Invalid: nothing is there."""
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise Invalid(f"{path} is neither a file nor a folder here")
    for folder, inside, names in os.walk(path):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        yield from (
            Path(folder, name) for name in sorted(names) if not name.startswith(".") and Path(folder, name).is_file()
        )


class FileUploader:
    """Sends files by one client."""

    def __init__(
        self, api: ApiClient, choices: UploadChoices, tell: Callable[[str], None], *, whole: int = WHOLE
    ) -> None:
        """`tell` hears how far a large file is; up to `whole` bytes a file goes in one piece."""
        self._api, self._choices, self._tell, self._whole = api, choices, tell, whole

    def send(self, path: Path) -> JSON:
        """`{document_id, job_id, status}`. Raises ApiRefusal: the server does not take it; UploadCut."""
        size = path.stat().st_size
        if size <= self._whole:
            with path.open("rb") as file:
                named = dict(self._choices.fields)
                query = {"agent_id": named.pop("agent_id")} if "agent_id" in named else {}
                sent = self._api.request(
                    "POST", "/api/documents/upload", files={"file": (path.name, file)}, data=named, params=query
                )
            return {name: sent[name] for name in ("document_id", "job_id", "status")}
        digest = _hash(path)
        upload = self._begun(path.name, size, digest) or self._begin(path.name, size, digest)
        self._send_parts(path, upload)
        done = self._complete(upload, digest)
        job = done["ingestion_job_id"]
        return {"document_id": done["document_id"], "job_id": job, "status": "queued" if job else "duplicate"}

    def _begun(self, name: str, size: int, digest: str) -> str | None:
        """An upload of the same bytes that was cut off."""
        skip, total = 0, 1
        while skip < total:
            page = self._api.request("GET", "/api/uploads", params={"skip": skip, "limit": PAGE})
            for one in page["items"]:
                same = (one["document_name"], one["total_size_bytes"], one["file_hash"]) == (name, size, digest)
                if same and one["protocol"] == "parts" and one["state"] in ("open", "failed", "completing"):
                    self._tell(f"{name}: goes on")
                    return str(one["upload_session_id"])
            skip, total = skip + PAGE, page["total"]
        return None

    def _begin(self, name: str, size: int, digest: str) -> str:
        body = {"document_name": name, "total_size_bytes": size, "file_hash": digest, **self._choices.fields}
        return str(self._api.request("POST", "/api/uploads", json=body)["upload_session_id"])

    def _send_parts(self, path: Path, upload: str) -> None:
        status = self._status(upload)
        missing, size, total = status["missing"], status["chunk_size"], status["total_chunks"]
        with path.open("rb") as file:
            for count, number in enumerate(missing, total - len(missing) + 1):
                file.seek((number - 1) * size)
                self._send_part(upload, number, file.read(size))
                self._tell(f"{path.name}: {count} of {total} parts")

    def _send_part(self, upload: str, number: int, data: bytes) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._put(upload, number, data)
                return
            except (ApiUnavailable, Unavailable, httpx.TransportError) as error:
                if attempt == ATTEMPTS:
                    raise UploadCut(f"part {number} could not be sent: {error}") from error
                self._api.sleep(min(30.0, 2.0**attempt))

    def _put(self, upload: str, number: int, data: bytes) -> None:
        """By the address that the server has for it now: those of a storage run out."""
        where = self._api.request("GET", f"/api/uploads/{upload}/parts", params={"first": number, "count": 1})
        url = where["part_urls"][0]
        if url.startswith("/"):
            self._api.request("PUT", url, content=data)
            return
        with httpx.stream("PUT", url, content=data, timeout=httpx.Timeout(300, connect=10)) as answer:
            if not answer.is_success:  # what it says besides is left unread
                raise Unavailable(f"the storage answers {answer.status_code}")
        told = {"upload_session_id": upload, "chunk_number": number, "size": len(data)}
        told["chunk_hash"] = hashlib.sha256(data).hexdigest()
        self._api.request("POST", "/v1/documents/chunk-received", json=told)

    def _complete(self, upload: str, digest: str) -> JSON:
        """A long file is put together for longer than anybody waits for an answer: then its status is asked for."""
        try:
            return self._api.request("POST", f"/api/uploads/{upload}/complete", json={"file_hash": digest})
        except (ApiUnavailable, Unavailable):
            status = self._status(upload)
            while status["state"] == "completing":
                self._api.sleep(LOOK_SECONDS)
                status = self._status(upload)
            if status["state"] != "completed":
                raise
            return status

    def _status(self, upload: str) -> JSON:
        return self._api.request("GET", f"/api/uploads/{upload}")


def _hash(path: Path) -> str:
    state: Any = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            state.update(block)
    return str(state.hexdigest())
