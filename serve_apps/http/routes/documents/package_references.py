"""The documents of a package on their way in: the same way as uploads, and what is there already stays as it is."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import PurePosixPath
from typing import Literal

from fastapi import UploadFile

from cluster.basics.errors import DiskFull, NotFound
from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import JobId, JobLane, JobLease, WorkUnit
from pipelines.documents.document import DocumentId, FailureReason, document_id
from pipelines.documents.ingest.job_plan import SURVEY
from pipelines.documents.store.blobs import Location
from pipelines.documents.store.library import NewUpload, StoredBytes
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.problems import FileRefused
from serve_apps.http.routes.documents.uploads import clean_name, store_upload

Change = Literal["new", "changed", "unchanged", "arriving"]


@dataclass(frozen=True, slots=True)
class PackageReference:
    """A document of a package; `location` and `kind` are of bytes that were stored for it, where some were."""

    path: str  # below `references/`
    origin: str
    document: DocumentId
    change: Change  # `arriving` where these bytes came before and their job has not ended
    location: Location | None = None
    kind: str = ""
    job: str | None = None  # what reads it, where something does already


def origins_of(name: str) -> str:
    """Origin prefix of a package's documents; no upload of its own can have it, for `/` is in none."""
    return f"upload:skill/{name}/"


async def store_references(
    parts: AppDependencies, me: WorkspaceMember, name: str, files: Mapping[str, bytes]
) -> list[PackageReference]:
    """Compare with what the workspace has, and keep the bytes of what is new; where one is refused, of none.

    Raises FileUnsupported, FileRefused: one cannot be read; its path and the reason are named.
    """
    origins = {path: origins_of(name) + path for path in files}
    held = await parts.library.held(me.scope, list(origins.values()))
    found: list[PackageReference] = []
    try:
        for path, content in files.items():
            id_ = document_id(me.workspace, origins[path])
            change, job = await asyncio.to_thread(_detect_change, parts, held.get(origins[path]), content)
            one = PackageReference(path, origins[path], id_, change, job=job)
            found.append(await _store_reference(parts, me, one, content) if change in ("new", "changed") else one)
    except (DiskFull, FileRefused):
        await delete_references(parts, found)
        raise
    return found


async def delete_references(parts: AppDependencies, references: Sequence[PackageReference]) -> None:
    """Remove the bytes that `store_references` kept: nothing was accepted."""
    for one in references:
        if one.location:
            await asyncio.to_thread(parts.blobs.delete, one.location)


async def enqueue_references(
    parts: AppDependencies,
    tx: Transaction,
    me: WorkspaceMember,
    name: str,
    references: Sequence[PackageReference],
    agent: str | None,
) -> JobId | None:
    """Announce, link and enqueue them in the caller's transaction; the job, or that which reads them already."""
    files: list[dict[str, str]] = []
    for one in references:
        if one.location is None:
            continue
        filename = _reference_filename(one.path)
        upload = NewUpload(one.document, one.origin, one.location, filename, one.kind, tags=(f"skill:{name}",))
        files.append({"origin": one.origin, "filename": filename, "location": one.location})
        await parts.library.announce(tx, me.scope, upload)
        await parts.links.auto_link(tx, me.scope, one.document)
    if agent is not None and references:
        await parts.links.link(tx, me.scope, agent, [one.document for one in references])
    if not files:
        return next((JobId(one.job) for one in references if one.job is not None), None)
    payload = {"files": files, "agent_id": agent, "description": "", "tags": [f"skill:{name}"], "readers": []}
    await parts.limits.require_job(tx, caller_of(me))
    job = await parts.jobs.enqueue(tx, me.scope, "upload", JobLane.SMALL, payload)
    units = [WorkUnit(one["origin"], one["origin"], payload=one) for one in files]
    await parts.jobs.expect(tx, JobLease(job.job, me.scope, fence=0), SURVEY, units)  # as an upload does
    return job.job


async def read_back(parts: AppDependencies, me: WorkspaceMember, name: str, most: int) -> dict[str, bytes]:
    """The documents of a skill as they are now, by their path below `references/`."""
    prefix = origins_of(name)
    rows = await parts.library.below(me.scope, prefix, most)
    return {
        row["origin"].removeprefix(prefix): await asyncio.to_thread(_read_bytes, parts, row["location"]) for row in rows
    }


async def _store_reference(
    parts: AppDependencies, me: WorkspaceMember, one: PackageReference, content: bytes
) -> PackageReference:
    if not content:
        raise FileRefused(FailureReason.EMPTY, f"references/{one.path} has no bytes")
    try:
        kept = await store_upload(parts.blobs, me, UploadFile(BytesIO(content)), _reference_filename(one.path))
    except FileRefused as error:
        raise type(error)(error.reason, f"references/{one.path}: {error.detail}", fix=error.hint) from error
    return replace(one, location=kept.location, kind=kept.kind)


def _detect_change(parts: AppDependencies, held: StoredBytes | None, content: bytes) -> tuple[Change, str | None]:
    if held is None:
        return "new", None
    if held.arriving is not None:
        try:
            same = _read_bytes(parts, held.arriving) == content
        except (NotFound, FileNotFoundError):
            same = False
        return ("arriving", held.job) if same else ("changed", None)
    return ("unchanged" if held.file_hash == sha256(content).hexdigest() else "changed"), None


def _read_bytes(parts: AppDependencies, location: str) -> bytes:
    with parts.blobs.open_local(Location(location)) as path:
        return path.read_bytes()


def _reference_filename(path: str) -> str:
    return clean_name(PurePosixPath(path).name)
