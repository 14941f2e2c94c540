"""A document once more: cut and embed its stored text, or read its file again with an encoding that a person set."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from cluster.basics.errors import Conflict
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import JobLane
from pipelines.documents.store.encoding import AUTO, canonical_encoding
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.auth.permissions import BUILD
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import DocumentInPath, IdempotencyKey, RequestBody, Text
from serve_apps.http.response_shapes import Started
from serve_apps.http.routes.documents.uploads import start_job

router = APIRouter(route_class=GuardedRoute, tags=["documents"])


class Processing(Started):
    """A document whose text will be cut and embedded again."""

    document_id: str


class Reading(RequestBody):
    """Options for reading a document again: `encoding` is Python's name of one, or `auto` to detect it."""

    encoding: Annotated[Text | None, Field(max_length=40)] = None


@router.post("/api/documents/{document_id}/process", status_code=202, dependencies=[BUILD])
@router.post("/api/documents/{document_id}/reprocess", status_code=202, dependencies=[BUILD])
async def process(
    document_id: DocumentInPath, me: Me, parts: Its, body: Reading | None = None, idempotency_key: IdempotencyKey = None
) -> Processing:
    """Cut and embed one document's stored text again; its file is not read. 409 where no text is stored yet.

    With an `encoding` its file is read again, and decoded so from now on, whenever it is read; 422 where there is none
    of that name.
    """
    if body is not None:
        require_same_scope(me, body.tenant_id, body.workspace_id)
    row = await parts.library.require(me.scope, document_id)
    if body is not None and body.encoding is not None and row["version_id"] is not None:
        return await _read_again(parts, me, row, body.encoding, idempotency_key)
    if row["current_version"] is None:
        raise Conflict(
            f"document {document_id} has no text yet: it is {row['status']}",
            fix="Wait for its job, or retry that; where the file could not be read, upload or scan it again.",
        )
    job = await start_job(parts, me, "process", JobLane.SMALL, {"document_id": document_id}, idempotency_key)
    return Processing(job_id=job.job_id, fresh=job.fresh, document_id=document_id)


async def _read_again(
    parts: AppDependencies, me: WorkspaceMember, row: Row, encoding: str, key: str | None
) -> Processing:
    """The encoding and the job that reads with it, both or neither; it looks at a document and links it to nobody."""
    name = None if encoding == AUTO else canonical_encoding(encoding)
    document, told = row["id"], {"document_id": row["id"], "encoding": name}
    file = {field: row[field] for field in ("origin", "filename", "location")}
    payload = {**told, "files": [file], "refresh": True}
    async with parts.database.transaction(me.scope) as tx:
        job = await parts.jobs.enqueue(tx, me.scope, "process", JobLane.SMALL, payload, key)
        if job.fresh:
            await parts.library.set_encoding(tx, me.scope, document, name)
            await parts.audit.record(tx, me.scope, "job.process", job.job, detail=told)
    return Processing(job_id=UUID(job.job), fresh=job.fresh, document_id=document)
