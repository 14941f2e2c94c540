"""The beginning of an upload in parts: what would be refused at its end is refused before a byte was sent."""

from datetime import timedelta
from typing import Final, Literal
from uuid import uuid4

from cluster.basics.errors import TooLarge
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.rules import LimitedResource
from pipelines.documents.store.uploads.upload_sessions import UploadSession, part_size_of
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies
from serve_apps.http.routes.documents.accept_upload import UploadOptions, require_pages
from serve_apps.http.routes.documents.uploads import clean_name
from serve_apps.http.routes.uploads.upload_shapes import PartAddresses

SIGNED_SECONDS: Final = 3600  # an address is whoever's has it; a new one is there for the asking
ADDRESSES: Final = 1000  # of one answer: an upload of any size begins as fast


async def begin_upload(
    parts: AppDependencies,
    me: WorkspaceMember,
    *,
    protocol: Literal["parts", "tus"],
    filename: str,
    total: int,
    content_type: str,
    file_hash: str | None,
    options: UploadOptions,
) -> UploadSession:
    """Announce it.

    Raises Invalid, TooLarge: such a file is not taken; RateLimited, OverQuota, TooManyUploads: not now.
    """
    require_size(parts, total)
    name, now, settings = clean_name(filename), parts.clock(), parts.uploads
    await parts.limits.require_left(caller_of(me), me.scope, LimitedResource.PAGES)
    await require_pages(parts, me)
    session = UploadSession(
        str(uuid4()),
        str(me.user),
        protocol,
        name,
        content_type,
        total,
        part_size_of(total, settings.part_bytes),
        now,
        now + timedelta(seconds=settings.session_seconds),
        file_hash,
        options.as_json(),
    )
    async with parts.audited(me, "upload.initiate", session.id, {"filename": name, "bytes": total}) as tx:
        others = await parts.upload_sessions.add(tx, me.scope, session, settings.sessions)
        # What is under way counts: it is metered at its end, and would take room until then without a limit.
        await parts.limits.require_left(caller_of(me), me.scope, LimitedResource.UPLOAD_BYTES, total + others, tx)
    return session


def require_size(parts: AppDependencies, total: int) -> None:
    """Raises TooLarge: no file may have so many bytes."""
    most = min(parts.uploads.max_bytes, parts.read.max_file_bytes)
    if total > most:
        raise TooLarge(
            f"the file is larger than {most} bytes ({most / 2**30:.1f} GiB)",
            fix="An administrator can raise AOS_UPLOADS_MAX_BYTES and AOS_READ_MAX_FILE_BYTES.",
        )


async def part_addresses(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, first: int = 1, count: int = ADDRESSES
) -> tuple[PartAddresses, bool]:
    """Where parts go from `first` on, and whether these are addresses of the storage."""
    last = min(session.part_count, first + count - 1)
    numbers = range(first, last + 1)
    seconds = min(SIGNED_SECONDS, (session.expires_at - parts.clock()).total_seconds())
    signed = await parts.part_store.sign(me.tenant, me.workspace, session.id, numbers, seconds)
    urls = signed if signed is not None else [f"/api/uploads/{session.id}/parts/{number}" for number in numbers]
    following = last + 1 if last < session.part_count else None
    return PartAddresses(first_part=first, part_urls=urls, next_part=following), signed is not None
