"""Uploads in parts: announced, sent in any order and again after a cut, completed into a document."""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response

from cluster.basics.errors import Invalid
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.agents.streams.cancellation import run_to_completion
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import BUILD
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Limit, Skip
from serve_apps.http.routes.documents.accept_upload import check_options
from serve_apps.http.routes.uploads.checksums import digest_of
from serve_apps.http.routes.uploads.part_intake import body_of, require_parts, take_part, take_receipt
from serve_apps.http.routes.uploads.upload_begin import ADDRESSES, SIGNED_SECONDS, begin_upload, part_addresses
from serve_apps.http.routes.uploads.upload_completion import complete_upload
from serve_apps.http.routes.uploads.upload_shapes import (
    PartAccepted,
    PartAddresses,
    PartReceipt,
    UploadCompleted,
    UploadCompletion,
    UploadInitiated,
    UploadInitiation,
    UploadLines,
    UploadStatus,
    WholeUploadHash,
    line_of,
    status_of,
)

router = APIRouter(route_class=GuardedRoute, tags=["uploads"])

BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"format": "binary"}}}}}


@router.post("/v1/documents/initiate-upload", status_code=201, dependencies=[BUILD])
@router.post("/api/uploads", status_code=201, dependencies=[BUILD])
async def initiate_upload(body: UploadInitiation, me: Me, parts: Its) -> UploadInitiated:
    """Announce a file. Its parts go to the addresses in the answer (PUT), in any order, each as often as it takes."""
    options = await check_options(
        parts,
        me,
        readers=body.readers,
        team_access=body.team_access,
        agent_id=body.agent_id,
        languages=body.languages,
        tags=body.tags,
        description=body.description,
        chunk_strategy=body.chunking_strategy,
    )
    session = await begin_upload(
        parts,
        me,
        protocol="parts",
        filename=body.document_name,
        total=body.total_size_bytes,
        content_type=body.content_type,
        file_hash=body.file_hash,
        options=options,
    )
    addresses, signed = await part_addresses(parts, me, session)
    return UploadInitiated(
        **addresses.model_dump(),
        upload_session_id=UUID(session.id),
        chunk_size=session.part_bytes,
        total_chunks=session.part_count,
        expires_in=min(SIGNED_SECONDS, parts.uploads.session_seconds) if signed else parts.uploads.session_seconds,
        expires_at=session.expires_at,
        signed=signed,
    )


@router.post("/v1/documents/chunk-received", dependencies=[BUILD])
async def chunk_received(body: PartReceipt, me: Me, parts: Its) -> PartAccepted:
    """Tell that a part was sent to its address. One that came through here is compared with what was sent."""
    session = require_parts(await parts.upload_sessions.require(me.scope, str(body.upload_session_id)))
    part = await take_receipt(parts, me, session, body.chunk_number, body.size, body.chunk_hash)
    received, _ = await parts.upload_sessions.arrived(me.scope, session.id)
    return PartAccepted(
        upload_session_id=body.upload_session_id,
        chunk_number=part.number,
        chunk_hash=part.sha256,
        size=part.size,
        received=received,
        total_chunks=session.part_count,
    )


@router.post("/v1/documents/complete-upload", status_code=202, dependencies=[BUILD])
async def complete_document(body: UploadCompletion, me: Me, parts: Its) -> UploadCompleted:
    """Compare the parts and the checksums, and let the document be read; 409 names the parts that are missing."""
    return await _complete(parts, me, body.upload_session_id, body.total_chunks, body.file_hash)


@router.get("/api/uploads", dependencies=[BUILD])
async def uploads(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> UploadLines:
    """One's own uploads that have not run out, newest first."""
    found, total = await parts.upload_sessions.mine(me.scope, parts.clock(), skip, limit)
    return UploadLines(items=[line_of(one) for one in found], total=total, skip=skip, limit=limit)


@router.get("/api/uploads/{upload_id}", dependencies=[BUILD])
async def upload_status(upload_id: UUID, me: Me, parts: Its) -> UploadStatus:
    """What has arrived, what is missing, and until when the upload waits for it."""
    session = await parts.upload_sessions.require(me.scope, str(upload_id))
    return status_of(session, await parts.upload_sessions.parts(me.scope, session.id))


@router.get("/api/uploads/{upload_id}/parts", dependencies=[BUILD])
async def upload_addresses(
    upload_id: UUID,
    me: Me,
    parts: Its,
    first: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    count: Annotated[int, Query(ge=1, le=ADDRESSES)] = ADDRESSES,
) -> PartAddresses:
    """Where parts go from `first` on; addresses of the storage are signed anew."""
    session = require_parts(await parts.upload_sessions.require(me.scope, str(upload_id)))
    session.require_alive(parts.clock())
    addresses, _ = await part_addresses(parts, me, session, first, count)
    return addresses


@router.put("/api/uploads/{upload_id}/parts/{number}", dependencies=[BUILD], openapi_extra=BYTES)
async def put_part(
    upload_id: UUID,
    number: int,
    request: Request,
    me: Me,
    parts: Its,
    content_digest: Annotated[
        str | None, Header(max_length=500, description="`sha-256=:base64:` of the bytes (RFC 9530), which is compared.")
    ] = None,
    content_range: Annotated[
        str | None, Header(max_length=100, description="`bytes first-last/total`, where they belong in the file.")
    ] = None,
) -> PartAccepted:
    """Send a part: its bytes and nothing else. Sent again, it replaces what came before."""
    session = require_parts(await parts.upload_sessions.require(me.scope, str(upload_id)))
    size = session.part_size(number)
    start = (number - 1) * session.part_bytes
    whole = f"bytes {start}-{start + size - 1}/"
    if content_range is not None and content_range not in (f"{whole}{session.total_bytes}", f"{whole}*"):
        raise Invalid(f"part {number} is {whole}{session.total_bytes}, not {content_range}")
    expected = None if content_digest is None else digest_of(content_digest)
    part = await take_part(parts, me, session, number, body_of(request), expected)
    received, _ = await parts.upload_sessions.arrived(me.scope, session.id)
    return PartAccepted(
        upload_session_id=upload_id,
        chunk_number=part.number,
        chunk_hash=part.sha256,
        size=part.size,
        received=received,
        total_chunks=session.part_count,
    )


@router.post("/api/uploads/{upload_id}/complete", status_code=202, dependencies=[BUILD])
async def complete(upload_id: UUID, body: WholeUploadHash, me: Me, parts: Its) -> UploadCompleted:
    """As /v1/documents/complete-upload."""
    return await _complete(parts, me, upload_id, body.total_chunks, body.file_hash)


@router.delete("/api/uploads/{upload_id}", status_code=204, dependencies=[BUILD])
async def abort(upload_id: UUID, me: Me, parts: Its) -> Response:
    """End an upload; what has arrived is removed. A document that it became stays."""
    async with parts.audited(me, "upload.abort", str(upload_id)) as tx:
        ended = await parts.upload_sessions.abort(tx, me.scope, str(upload_id), parts.clock())
    if ended:
        drop = asyncio.to_thread(parts.part_store.drop, me.tenant, me.workspace, str(upload_id))
        await run_to_completion(drop)
    return Response(status_code=204)


async def _complete(
    parts: AppDependencies, me: WorkspaceMember, upload_id: UUID, total_parts: int | None, file_hash: str | None
) -> UploadCompleted:
    session = await parts.upload_sessions.require(me.scope, str(upload_id))
    return await complete_upload(parts, me, session, total_parts=total_parts, file_hash=file_hash)
