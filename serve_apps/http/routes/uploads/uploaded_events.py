"""Events that come in: somebody else has put a document where this product can read it."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from serve_apps.events.uploaded_event import DocumentUploaded
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.auth.permissions import BUILD
from serve_apps.http.fields import RequestBody

router = APIRouter(route_class=GuardedRoute, tags=["documents"])


class DocumentUploadedBody(RequestBody, DocumentUploaded):
    """A document lies where it can be read. `document_key` is a key of the workspace's blobs below a folder
    (`incoming/a.pdf`), or `file:` and a path below NFS_BASE_PATH, which is for operators. The same `event_id` (by
    itself `job_id`) is the same event. `user_id`, where it is given, is yours; `hash` is the SHA-256 of the bytes.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True, allow_inf_nan=False)


class EventTaken(BaseModel):
    """An event that was taken; `duplicate` where it was taken before, or the workspace has the same bytes."""

    event_id: str
    document_id: str
    job_id: UUID | None
    status: Literal["queued", "duplicate"]


@router.post("/api/events/document-uploaded", status_code=202, dependencies=[BUILD])
async def document_uploaded(body: DocumentUploadedBody, me: Me, parts: Its, response: Response) -> EventTaken:
    """Let a document be read that lies there already. 202 with a job; 200 where nothing is left to do."""
    require_same_scope(me, None, None, body.user_id)
    taken = await parts.uploaded_events.take(me, body)
    response.status_code = 202 if taken.status == "queued" else 200
    job = None if taken.job is None else UUID(taken.job)
    return EventTaken(event_id=taken.event, document_id=taken.document, job_id=job, status=taken.status)
