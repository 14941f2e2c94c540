"""tus 1.0 for standard clients: core, creation, expiration, checksum and termination (tus.io/protocols)."""

import asyncio
from base64 import b64decode
from binascii import Error as NoBase64
from datetime import UTC
from email.utils import format_datetime
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response

from cluster.basics.errors import Invalid, Permanent
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.store.uploads.upload_sessions import UploadSession, UploadState
from serve_apps.agents.streams.cancellation import run_to_completion
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD, PUBLIC
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import storable_text
from serve_apps.http.routes.documents.accept_upload import check_options, split_tags
from serve_apps.http.routes.uploads.checksums import tus_checksum_of
from serve_apps.http.routes.uploads.part_intake import body_of
from serve_apps.http.routes.uploads.tus_intake import append_bytes, require_tus
from serve_apps.http.routes.uploads.upload_begin import begin_upload
from serve_apps.http.routes.uploads.upload_completion import complete_upload

router = APIRouter(route_class=GuardedRoute, tags=["uploads"])

VERSION: Final = "1.0.0"
EXTENSIONS: Final = "creation,expiration,checksum,termination"
BODY: Final = "application/offset+octet-stream"
PATH: Final = "/api/uploads/tus"
# What browsers of other origins may send and see.
REQUEST_HEADERS: Final = ("Tus-Resumable", "Upload-Length", "Upload-Metadata", "Upload-Offset", "Upload-Checksum")
ANSWER_HEADERS: Final = (
    *("Location", "Tus-Resumable", "Tus-Version", "Tus-Extension", "Tus-Max-Size", "Upload-Offset", "Upload-Length"),
    *("Upload-Expires", "AOS-Document-Id", "AOS-Job-Id", "AOS-Status"),
)
BYTES: Final = {"requestBody": {"required": True, "content": {BODY: {"schema": {"format": "binary"}}}}}
Version = Annotated[str, Header(max_length=20, description="1.0.0")]
Whole = Annotated[int, Header(ge=0, le=2**50)]


class OtherTusVersion(Permanent):
    """This server speaks tus 1.0.0."""

    code, status = "tus_version", 412


class NoTusBody(Permanent):
    """The bytes have to come as application/offset+octet-stream."""

    code, status = "unsupported_media", 415


@router.options(PATH, status_code=204, dependencies=[PUBLIC], include_in_schema=False)
async def tus_options(parts: Its) -> Response:
    """What this server can do."""
    told = {"Tus-Version": VERSION, "Tus-Extension": EXTENSIONS, "Tus-Checksum-Algorithm": "sha256"}
    return _answer(204, {**told, "Tus-Max-Size": str(min(parts.uploads.max_bytes, parts.read.max_file_bytes))})


@router.post(PATH, status_code=201, dependencies=[BUILD], response_class=Response)
async def tus_create(
    me: Me,
    parts: Its,
    upload_length: Whole,
    tus_resumable: Version = "",
    upload_metadata: Annotated[
        str, Header(max_length=20_000, description="filename, filetype, tags, readers, agent_id, description: base64.")
    ] = "",
) -> Response:
    """Announce a file; `Location` is where its bytes go (PATCH)."""
    _require_version(tus_resumable)
    told = _metadata_of(upload_metadata)
    if upload_length == 0:
        raise Invalid("the file has no bytes")
    options = await check_options(
        parts,
        me,
        readers=split_tags(told.get("readers", "")),
        agent_id=told.get("agent_id") or None,
        languages=told.get("languages", "")[:300],
        tags=split_tags(told.get("tags", "")),
        description=told.get("description", "")[:2_000],
    )
    session = await begin_upload(
        parts,
        me,
        protocol="tus",
        filename=told.get("filename") or told.get("name", ""),
        total=upload_length,
        content_type=(told.get("filetype") or told.get("type", ""))[:200],
        file_hash=None,
        options=options,
    )
    return _answer(201, {"Location": f"{PATH}/{session.id}", **_expiry(session)})


@router.head(PATH + "/{upload_id}", dependencies=[BUILD], response_class=Response, include_in_schema=False)
async def tus_offset(upload_id: UUID, me: Me, parts: Its, tus_resumable: Version = "") -> Response:
    """Where the upload stands. One that has all its bytes, but whose end was cut off, is completed."""
    session = require_tus(await parts.upload_sessions.require(me.scope, str(upload_id)))
    _require_version(tus_resumable)
    offset = await _offset_of(parts, me, session)
    told = {} if offset < session.total_bytes else await _complete(parts, me, session)
    about = {"Upload-Offset": str(offset), "Upload-Length": str(session.total_bytes), "Cache-Control": "no-store"}
    return _answer(200, {**about, **_expiry(session), **told})


@router.patch(
    PATH + "/{upload_id}", status_code=204, dependencies=[BUILD], response_class=Response, openapi_extra=BYTES
)
async def tus_append(
    upload_id: UUID,
    request: Request,
    me: Me,
    parts: Its,
    upload_offset: Annotated[int | None, Header(ge=0, le=2**50)] = None,
    tus_resumable: Version = "",
    upload_checksum: Annotated[str | None, Header(max_length=200, description="`sha256 <base64>`")] = None,
) -> Response:
    """Send bytes from an offset on; with the last of them it becomes a document, which the answer's head names."""
    session = require_tus(await parts.upload_sessions.require(me.scope, str(upload_id)))
    _require_version(tus_resumable)
    if request.headers.get("content-type", "").partition(";")[0].strip() != BODY:
        raise NoTusBody
    if upload_offset is None:
        raise Invalid("Upload-Offset is missing")
    expected = None if upload_checksum is None else tus_checksum_of(upload_checksum)
    if session.state is UploadState.COMPLETED:
        return _answer(204, {"Upload-Offset": str(session.total_bytes), **await _complete(parts, me, session)})
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdecimal() else None
    offset = await append_bytes(parts, me, session, upload_offset, body_of(request), expected, announced)
    session = await parts.upload_sessions.require(me.scope, session.id)
    told = {} if offset < session.total_bytes else await _complete(parts, me, session)
    return _answer(204, {"Upload-Offset": str(offset), **_expiry(session), **told})


@router.delete(PATH + "/{upload_id}", status_code=204, dependencies=[BUILD], response_class=Response)
async def tus_terminate(upload_id: UUID, me: Me, parts: Its, tus_resumable: Version = "") -> Response:
    """End an upload; what has arrived is removed. A document that it became stays."""
    require_tus(await parts.upload_sessions.require(me.scope, str(upload_id)))
    _require_version(tus_resumable)
    async with parts.audited(me, "upload.abort", str(upload_id)) as tx:
        ended = await parts.upload_sessions.abort(tx, me.scope, str(upload_id), parts.clock())
    if ended:
        drop = asyncio.to_thread(parts.part_store.drop, me.tenant, me.workspace, str(upload_id))
        await run_to_completion(drop)
    return _answer(204, {})


async def _offset_of(parts: AppDependencies, me: WorkspaceMember, session: UploadSession) -> int:
    if session.state is UploadState.COMPLETED:
        return session.total_bytes
    session.require_alive(parts.clock())
    return (await parts.upload_sessions.arrived(me.scope, session.id))[1]


async def _complete(parts: AppDependencies, me: WorkspaceMember, session: UploadSession) -> dict[str, str]:
    done = await complete_upload(parts, me, session)
    told = {"AOS-Document-Id": done.document_id, "AOS-Status": done.status}
    return told | ({} if done.ingestion_job_id is None else {"AOS-Job-Id": str(done.ingestion_job_id)})


def _require_version(given: str) -> None:
    if given != VERSION:
        raise OtherTusVersion(f"Tus-Resumable is {given[:20]!r}")


def _metadata_of(header: str) -> dict[str, str]:
    """Keys with values in base64, comma-separated. Raises Invalid."""
    found = {}
    for entry in filter(None, (one.strip() for one in header.split(","))):
        key, _, value = entry.partition(" ")
        try:
            found[key] = storable_text(b64decode(value.strip(), validate=True).decode())
        except (NoBase64, ValueError) as error:
            raise Invalid(f"Upload-Metadata: {key[:50]!r} is no text in base64") from error
    return found


def _expiry(session: UploadSession) -> dict[str, str]:
    return {"Upload-Expires": format_datetime(session.expires_at.astimezone(UTC), usegmt=True)}


def _answer(status: int, headers: dict[str, str]) -> Response:
    return Response(status_code=status, headers={"Tus-Resumable": VERSION, **headers})
