"""Upload handling before a worker sees the file: named, hashed, sniffed, stored."""

import asyncio
import math
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from fastapi import UploadFile

from cluster.basics.errors import Invalid, TooLarge
from cluster.state.db.postgres import Transaction
from cluster.state.identity.groups import is_group_name
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.rules import LimitedResource
from cluster.state.work.jobs import EnqueuedJob, JobId, JobLane
from pipelines.documents.document import FailureReason, Unreadable, fingerprint_parts
from pipelines.documents.sources.sniff import sniff_kind
from pipelines.documents.store.blobs import BlobStore, Location, local_file
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.problems import FileRefused, file_refusal
from serve_apps.http.response_shapes import Started
from serve_apps.http.streams.sse import ENDS

BLOCK = 1 << 20
LOOK_SECONDS = 0.1  # between two looks at a job that somebody waits for
GROUP_START = "group:"
PERSON_OR_ROLE = re.compile(r"user:[^@\s]+@[^@\s]+|role:(viewer|developer|operator|admin)")


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """Bytes that were kept; `kind` is what they are."""

    location: Location
    kind: str


def clean_name(given: str | None) -> str:
    """The last part of the name somebody's browser sent, without what no file name should hold.

    Raises Invalid: nothing is left, or it is longer than 255 characters.
    """
    last = PurePosixPath((given or "").replace("\\", "/")).name
    # Control and format characters and lone surrogates go; among them are those that make a name read backwards.
    name = "".join(char for char in last if unicodedata.category(char) not in ("Cc", "Cf", "Cs")).strip()
    if not name or name in (".", ".."):
        raise Invalid("the file has no name")
    if len(name) > 255:
        raise Invalid("the file's name is longer than 255 characters")
    return unicodedata.normalize("NFC", name)


def as_reader(entry: str) -> str:
    """An entry of `team_access` as `readers` has it: an address or a role may stand alone there."""
    if ":" in entry:
        return entry
    return f"user:{entry}" if "@" in entry else f"role:{entry}"


def named_readers(readers: Sequence[str], member: WorkspaceMember) -> tuple[str, ...]:
    """Readers of the upload: those named and the one who sends it; empty means the workspace.

    Raises Invalid: see `check_readers`.
    """
    return tuple(sorted({*check_readers(readers), f"user:{member.email}"})) if readers else ()


def check_readers(readers: Sequence[str]) -> list[str]:
    """Readers in lower case, each once, in order.

    Raises Invalid: an entry is none of `user:<email>`, `group:<name>` and `role:<role>`.
    """
    for reader in readers:
        if not _is_reader(reader.lower()):
            fix = "Name readers as user:<email>, group:<name> or role:<role>."
            raise Invalid(f"reader {reader[:80]!r}", fix=fix)
    return sorted({reader.lower() for reader in readers})


def _is_reader(reader: str) -> bool:
    if reader.startswith(GROUP_START):
        return is_group_name(reader.removeprefix(GROUP_START))
    return PERSON_OR_ROLE.fullmatch(reader) is not None and reader.isprintable()


def named_groups(readers: Sequence[str]) -> list[str]:
    """Names of the groups among readers."""
    return [reader.removeprefix(GROUP_START) for reader in readers if reader.startswith(GROUP_START)]


def origin_of(filename: str, readers: Sequence[str]) -> str:
    """Origin that identifies the document in its workspace.

    Uploads for few readers have names of their own: who cannot see a document must not be able to replace it by
    sending a file that is named like it.
    """
    return f"upload:{fingerprint_parts(*readers)}/{filename}" if readers else f"upload:{filename}"


async def hash_upload(file: UploadFile, most: int) -> str:
    """SHA-256 of the bytes in hex; the file stands at its beginning afterwards.

    Raises:
        TooLarge: more than `most` bytes.
        FileRefused: no bytes.
    """
    state, size = sha256(), 0
    while block := await file.read(BLOCK):
        size += len(block)
        if size > most:
            raise TooLarge(
                f"the file is larger than {most} bytes ({most / 2**20:.1f} MiB)",
                fix="Split it, scan it from a folder, or ask an administrator to raise AOS_HTTP_MAX_UPLOAD_BYTES.",
            )
        await asyncio.to_thread(state.update, block)
    if size == 0:
        raise FileRefused(FailureReason.EMPTY, "the file has no bytes")
    await file.seek(0)
    return state.hexdigest()


async def store_upload(blobs: BlobStore, member: WorkspaceMember, file: UploadFile, filename: str) -> StoredUpload:
    """Keep the bytes if they are of a kind that can be read; nothing stays behind otherwise.

    Raises FileUnsupported, FileRefused: with the reason.
    """
    location = await blobs.put(member.tenant, member.workspace, _file_blocks(file))
    kind = None
    try:
        kind = await sniff_stored(blobs, location, filename)
    finally:
        if kind is None:
            await asyncio.to_thread(blobs.delete, location)
    return StoredUpload(location, kind)


async def sniff_stored(blobs: BlobStore, location: Location, filename: str) -> str:
    """The kind of stored bytes. Raises FileUnsupported, FileRefused: they cannot be read, with the reason."""
    try:
        async with local_file(blobs, location) as path:
            return str(await asyncio.to_thread(sniff_kind, path, filename))
    except Unreadable as error:
        raise file_refusal(error) from error


async def _file_blocks(file: UploadFile) -> AsyncIterator[bytes]:
    while block := await file.read(BLOCK):
        yield block


async def start_job(
    parts: AppDependencies,
    me: WorkspaceMember,
    kind: str,
    lane: JobLane,
    payload: Mapping[str, Any],
    key: str | None,
    also: Callable[[Transaction], Awaitable[None]] | None = None,
) -> Started:
    """Add a job, and write down who did; the same key is the same job. `also` is done with a new one, or neither is."""
    if kind == "scan":
        await parts.limits.require_left(caller_of(me), me.scope, LimitedResource.PAGES)
    async with parts.database.transaction(me.scope) as tx:
        job: EnqueuedJob = await parts.jobs.enqueue(tx, me.scope, kind, lane, payload, key)
        if job.fresh:
            # With the job that was just added: one more than may wait or run undoes it.
            await parts.limits.require_job(tx, caller_of(me), added=1)
            if also is not None:
                await also(tx)
            await parts.audit.record(tx, me.scope, f"job.{kind}", job.job, detail=payload)
        if job.fresh and kind == "reindex" and payload["agent_id"] is None:
            await parts.job_queries.supersede(tx, me.scope, job.job)
    return Started(job_id=UUID(job.job), fresh=job.fresh)


async def wait_for_job(parts: AppDependencies, me: WorkspaceMember, job: JobId, seconds: float) -> str:
    """The job's state once it has ended, or what it is when the time is up."""
    for _ in range(math.ceil(seconds / LOOK_SECONDS)):
        if (state := (await parts.job_queries.show(me.scope, job))["state"]) in ENDS:
            return str(state)
        await asyncio.sleep(LOOK_SECONDS)
    return str((await parts.job_queries.show(me.scope, job))["state"])
