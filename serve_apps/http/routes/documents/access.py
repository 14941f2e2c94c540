"""Readers of documents: who may see one, changed later, and why somebody does not see it."""

import asyncio
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from cluster.basics.errors import NotFound
from cluster.basics.scope import Role, Scope
from cluster.state.identity.identity import WorkspaceMember
from configs.sections import ReadSettings
from pipelines.documents.sources.files import confine_path
from pipelines.documents.store.folder_readers import FolderReaders
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER, AUDIT, OPERATE
from serve_apps.http.fields import DocumentInPath, Email, Name, RequestBody, Text, storable_text
from serve_apps.http.routes.documents.uploads import check_readers, named_groups
from serve_apps.http.routes.scans.scan_paths import base_of

router = APIRouter(route_class=GuardedRoute, tags=["documents"])

MOST_READERS = 200
Reader = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=300), AfterValidator(storable_text)
]


class ReadersRequest(RequestBody):
    """Who may see it from now on: `user:<email>`, `group:<name>`, `role:<role>`; nobody named is the workspace."""

    readers: Annotated[list[Reader], Field(max_length=MOST_READERS)]


class DocumentReaders(BaseModel):
    """Readers of a document; empty for everybody of the workspace."""

    document_id: str
    readers: list[str]
    members_changed: Annotated[int, Field(description="Files of this archive or letter that follow it.")] = 0


class ClassificationRequest(RequestBody):
    """The class of data that the document is of; null: as the rules say."""

    classification: Name | None


class DocumentClassification(BaseModel):
    """The class of a document, null for none; `classified_by` is null while nobody has looked yet."""

    document_id: str
    classification: str | None
    classified_by: Literal["policy", "hand"] | None


class FolderReadersRequest(ReadersRequest):
    """Readers of what lies in a folder below NFS_BASE_PATH, absolute or relative to it."""

    path: Annotated[Text, Field(max_length=4_096)]
    dry_run: bool = False


class FolderWithReaders(BaseModel):
    """A folder, and how many documents have its readers from there."""

    folder: str
    readers: list[str]
    documents: int


class FoldersWithReaders(BaseModel):
    """All of the workspace."""

    items: list[FolderWithReaders]


class ChangedFolderReaders(BaseModel):
    """What a change came to; with `dry_run` what it would."""

    folder: str
    readers: list[str]
    documents_changed: int
    dry_run: bool


class AccessExplanation(BaseModel):
    """Whether somebody may see a document, and by what."""

    document_id: str
    email: str
    may_see: bool
    user_id: UUID | None
    readers: list[str]
    principals: Annotated[list[str], Field(description="What they are here, as readers are named.")]
    matching: Annotated[list[str], Field(description="Which of these lets them in.")]
    why: str
    fix: str | None


@router.put("/api/documents/{document_id}/readers", dependencies=[OPERATE])
async def change_readers(document_id: DocumentInPath, body: ReadersRequest, me: Me, parts: Its) -> DocumentReaders:
    """Change who may see a document with what came out of it: in search, answers, caches and exports, at once.

    An operator changes documents that they see, an administrator every one. 409 for a file of an archive or letter:
    it has the readers of what it came out of.
    """
    readers = check_readers(body.readers)
    await parts.groups.require_names(me.scope, named_groups(readers))
    if me.role is not Role.ADMIN:
        await parts.library.require(me.scope, document_id)
    worker = _as_worker(me)
    async with parts.database.transaction(worker) as tx:
        before, members = await parts.library.change_readers(tx, worker, document_id, readers)
        detail = {"before": before, "after": readers, "members": members}
        await parts.audit.record(tx, me.scope, "document.readers", document_id, detail=detail)
    return DocumentReaders(document_id=document_id, readers=readers, members_changed=members)


@router.put("/api/documents/{document_id}/classification", dependencies=[OPERATE])
async def change_classification(
    document_id: DocumentInPath, body: ClassificationRequest, me: Me, parts: Its
) -> DocumentClassification:
    """Give a document a class by hand, at once and without reading it again; null lets the rules decide anew.

    A class is a label: who may see the document is decided by its readers.
    """
    await parts.library.require(me.scope, document_id)
    worker, classes = _as_worker(me), parts.governance.classes
    async with parts.database.transaction(worker) as tx:
        before = await classes.set(tx, worker, document_id, body.classification)
        detail = {"before": before, "after": body.classification}
        await parts.audit.record(tx, me.scope, "document.classification", document_id, detail=detail)
    if body.classification is None:
        await classes.sweep(worker, 1)
    found = await classes.show(worker, document_id)
    return DocumentClassification(document_id=document_id, classification=found.name, classified_by=found.by)


@router.get("/api/documents/folder-readers", dependencies=[ADMINISTER])
async def folder_readers(me: Me, parts: Its) -> FoldersWithReaders:
    """List the folders whose documents have readers from there."""
    rows = await FolderReaders(parts.database).all_of(_as_worker(me))
    return FoldersWithReaders(items=[FolderWithReaders(**row) for row in rows])


@router.put("/api/documents/folder-readers", dependencies=[ADMINISTER])
async def change_folder_readers(body: FolderReadersRequest, me: Me, parts: Its) -> ChangedFolderReaders:
    """Change who may see what scans find in a folder below NFS_BASE_PATH, documents that are there already included.

    The nearest folder that has readers decides; nobody named takes a folder's own away. Documents whose readers were
    given by hand keep them. With `dry_run` nothing changes, and the answer says how many documents would.

    New documents follow at once, those that are there some hundred at a time: all do when the answer comes, and where
    none comes, the same request goes on. The trail has the change with how many documents there were to change.

    Links: a document is where the scan found it. A folder's readers also hold for where it leads, if that has none of
    its own, and for folders that lead into it when this is called and have documents by then. For a link that is made,
    or first scanned, later they do NOT: give the link readers of its own, or call this again after the scan. A link to
    a single file has the readers of the folder that the link lies in.
    """
    readers = check_readers(body.readers)
    await parts.groups.require_names(me.scope, named_groups(readers))
    folder = await asyncio.to_thread(confine_folder, parts.read, body.path)
    worker = _as_worker(me)
    store = FolderReaders(parts.database)
    rule = await store.rule(worker, folder, readers)
    changed = await store.count(worker, rule)
    if not body.dry_run:
        async with parts.database.transaction(worker) as tx:
            await store.keep(tx, worker, rule)
            detail = {"readers": readers, "documents": changed}
            await parts.audit.record(tx, me.scope, "folder.readers", rule.folder, detail=detail)
        changed = await store.apply(worker, rule)
    return ChangedFolderReaders(folder=rule.folder, readers=readers, documents_changed=changed, dry_run=body.dry_run)


def confine_folder(read: ReadSettings, path: str) -> Path:
    """A path below NFS_BASE_PATH, which need not be there (any more), by the names a scan of that has: links stay.

    Raises:
        Invalid: there is no NFS_BASE_PATH.
        Forbidden: the path, or where its links lead, lies outside.
        NotFound: its links lead in a circle, or it cannot be looked at.
    """
    base = base_of(read)
    try:
        resolved, root = confine_path(base, path), base.resolve()
    except (OSError, RuntimeError) as error:
        raise NotFound("that path cannot be followed", fix="GET /api/documents/folders lists them.") from error
    written = base / path
    for start in (base, root):
        if ".." not in written.parts and written.is_relative_to(start):
            return root / written.relative_to(start)
    return resolved  # `..` after a link is not the folder around it


@router.get("/api/documents/{document_id}/access", dependencies=[AUDIT])
async def explain_access(
    document_id: DocumentInPath, me: Me, parts: Its, email: Annotated[Email, Query(description="Of whom it is asked.")]
) -> AccessExplanation:
    """Why somebody does or does not see a document of this workspace."""
    row = await parts.library.require(_as_worker(me), document_id)
    known = await parts.identity.credentials(email)
    user = known.user if known is not None and known.tenant == me.tenant else None
    member = None if user is None else await parts.identity.member(me.tenant, user, me.workspace)
    readers, principals = list(row["readers"]), list(member.scope.principals) if member else []
    matching = [one for one in principals if one in readers]
    return AccessExplanation(
        document_id=document_id,
        email=email,
        may_see=member is not None and (not readers or bool(matching)),
        user_id=None if user is None else UUID(user),
        readers=readers,
        principals=principals,
        matching=matching,
        **_reason(user is not None, member, readers, matching),
    )


def _as_worker(me: WorkspaceMember) -> Scope:
    """A document that somebody may not see has readers all the same."""
    return Scope.of_worker(me.scope.tenant, me.scope.workspace)


def _reason(
    known: bool, member: WorkspaceMember | None, readers: list[str], matching: list[str]
) -> dict[str, str | None]:
    if not known:
        return {"why": "nobody of this tenant has this address", "fix": "Add them: POST /api/users."}
    if member is None:
        fix = "PATCH /api/users/{user_id} with a role makes them a member; with disabled=false they may sign in again."
        return {"why": "they are disabled, or no member of this workspace", "fix": fix}
    if not readers:
        return {"why": "everybody of the workspace may see it", "fix": None}
    if matching:
        return {"why": f"its readers name {', '.join(matching)}", "fix": None}
    fix = "Add them to one of its groups, or change its readers: PUT /api/documents/{document_id}/readers."
    return {"why": f"its readers are {', '.join(readers)}, and they are none of these", "fix": fix}
