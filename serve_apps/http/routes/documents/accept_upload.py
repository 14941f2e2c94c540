"""Acceptance of an upload whose bytes are stored: the document becomes visible and gets its job, all or nothing."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cluster.basics.errors import Invalid
from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.rules import LimitedResource
from cluster.state.work.jobs import JobId, JobLane, JobLease, WorkUnit
from configs.sections import ChunkStrategy
from pipelines.documents.document import document_id
from pipelines.documents.ingest.job_plan import SURVEY
from pipelines.documents.store.chunk_strategies import ChunkStrategies
from pipelines.documents.store.library import NewUpload
from pipelines.documents.store.page_quota import OverQuota, pages_left
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import split_comma_list
from serve_apps.http.routes.documents.uploads import StoredUpload, as_reader, named_groups, named_readers, origin_of
from serve_apps.http.routes.scans.scan_languages import check_languages


@dataclass(frozen=True, slots=True)
class UploadOptions:
    """What whoever sends a file says of it. `languages` are of its scans, `readers` of the document."""

    readers: tuple[str, ...] = ()
    agent: str | None = None
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    chunk_strategy: ChunkStrategy | None = None

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "UploadOptions":
        """The inverse."""
        lists = {name: tuple(stored.get(name) or ()) for name in ("readers", "languages", "tags")}
        return cls(**{**stored, **lists})


async def check_options(
    parts: AppDependencies,
    me: WorkspaceMember,
    *,
    readers: Sequence[str] = (),
    team_access: Sequence[str] = (),
    agent_id: str | None = None,
    languages: str = "",
    tags: Sequence[str] = (),
    description: str = "",
    chunk_strategy: ChunkStrategy | None = None,
) -> UploadOptions:
    """The options as they can be done here.

    Raises Invalid, LanguageNotInstalled; NotFound: there is no such agent or group.
    """
    read_in = await check_languages(parts.ocr, languages)
    seen_by = named_readers([*readers, *map(as_reader, team_access)], me)
    await parts.groups.require_names(me.scope, named_groups(seen_by))
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    return UploadOptions(seen_by, agent, tuple(read_in), tuple(tags), description, chunk_strategy)


def split_tags(text: str) -> list[str]:
    """The parts of a comma-separated list. Raises Invalid."""
    try:
        return split_comma_list(text)
    except ValueError as error:
        raise Invalid(str(error)) from error


async def require_pages(parts: AppDependencies, me: WorkspaceMember) -> None:
    """Raises OverQuota: the tenant has all pages that it may have."""
    if not await pages_left(parts.database, me.scope, parts.read.tenant_pages):
        raise OverQuota(f"this tenant has all of the {parts.read.tenant_pages} pages that it may have")


def describe_upload(me: WorkspaceMember, filename: str, stored: StoredUpload, options: UploadOptions) -> NewUpload:
    """The document that stored bytes become."""
    origin = origin_of(filename, options.readers)
    about = (options.readers, options.tags, options.description, options.chunk_strategy)
    return NewUpload(document_id(me.workspace, origin), origin, stored.location, filename, stored.kind, *about)


async def accept_upload(
    parts: AppDependencies,
    me: WorkspaceMember,
    new: NewUpload,
    options: UploadOptions,
    size: int,
    also: Callable[[Transaction, JobId], Awaitable[None]] | None = None,
) -> JobId:
    """Announce it, link it and add its job; `also` is done with it, or nothing is.

    Raises DiskFull, NotFound, Overloaded, RateLimited: nothing was accepted, and nothing needs the bytes.
    """
    file = {"origin": new.origin, "filename": new.filename, "location": new.location}
    payload: dict[str, Any] = {"files": [file], "agent_id": options.agent, "description": new.description}
    payload |= {"tags": list(new.tags), "readers": list(new.readers)}
    payload |= {"ocr": list(options.languages)} if options.languages else {}
    async with parts.audited(me, "document.upload", new.document, {"filename": new.filename}) as tx:
        await parts.limits.take(tx, caller_of(me), me.scope, LimitedResource.UPLOAD_BYTES, size)
        await parts.limits.require_job(tx, caller_of(me))
        await parts.library.announce(tx, me.scope, new)
        if new.chunk_strategy is not None:
            await ChunkStrategies(parts.database).change_document(tx, me.scope, new.document, new.chunk_strategy)
        await parts.links.auto_link(tx, me.scope, new.document)
        if options.agent is not None:
            await parts.links.link(tx, me.scope, options.agent, [new.document])
        job = await parts.jobs.enqueue(tx, me.scope, "upload", JobLane.SMALL, payload)
        # The unit that the plan would write: a job that ends before it is planned still names its document.
        waiting = JobLease(job.job, me.scope, fence=0)
        await parts.jobs.expect(tx, waiting, SURVEY, [WorkUnit(new.origin, new.origin, payload=file)])
        if also is not None:
            await also(tx, job.job)
    return job.job
