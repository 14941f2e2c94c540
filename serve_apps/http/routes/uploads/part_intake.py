"""Intake of parts: bytes go to the store as they come, counted and hashed, and are noted when all of them are there."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from hashlib import sha256

from fastapi import Request
from starlette.requests import ClientDisconnect

from cluster.basics.cleanup import async_cleanup_on_error
from cluster.basics.errors import AosError, Invalid, NotFound, Permanent, TooLarge
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.limits.rules import LimitedResource
from pipelines.documents.store.blobs import Location
from pipelines.documents.store.uploads.upload_sessions import UploadEnded, UploadPart, UploadSession
from serve_apps.agents.streams.cancellation import run_to_completion
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.deps import AppDependencies

log = logging.getLogger("aos.uploads")


class PartCut(Permanent):
    """The part broke off before its end; nothing of it was kept."""

    code, status = "part_cut", 400
    fix = "Send it again."


class WrongChecksum(Permanent):
    """The bytes are not those of the checksum."""

    code, status = "wrong_checksum", 422
    fix = "Send them again."


class MissingPart(Permanent):
    """This part is not there."""

    code, status = "missing_part", 409
    fix = "Send it to its address first (PUT)."


async def body_of(request: Request) -> AsyncIterator[bytes]:
    """The request's bytes as they come. Raises PartCut: whoever sends them has gone."""
    try:
        async for block in request.stream():
            if block:
                yield block
    except ClientDisconnect as error:
        raise PartCut("the connection broke") from error


class CheckedBody:
    """Bytes on their way to the store; where they are too many, too few or others, the store keeps none."""

    def __init__(self, blocks: AsyncIterator[bytes], size: int, expected: str | None) -> None:
        """`expected`: SHA-256 in hex, where that was told."""
        self._blocks, self._size, self._expected = blocks, size, expected
        self._state, self._count = sha256(), 0

    @property
    def sha256(self) -> str:
        """Of what has passed, in hex."""
        return self._state.hexdigest()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The blocks. Raises TooLarge, PartCut, WrongChecksum."""
        async for block in self._blocks:
            self._count += len(block)
            if self._count > self._size:
                raise TooLarge(f"this part has {self._size} bytes; more came")
            self._state.update(block)
            yield block
        if self._count != self._size:
            raise PartCut(f"{self._count} of {self._size} bytes came")
        if self._expected is not None and self.sha256 != self._expected:
            raise WrongChecksum(f"the bytes have {self.sha256}")


async def take_part(
    parts: AppDependencies,
    me: WorkspaceMember,
    session: UploadSession,
    number: int,
    blocks: AsyncIterator[bytes],
    expected: str | None = None,
) -> UploadPart:
    """Store and note a part; who sends it twice replaces it.

    Raises NotFound, UploadEnded, UploadBusy, TooLarge, PartCut, WrongChecksum, DiskFull, RateLimited: what was there
    before stays.
    """
    session.require_open(parts.clock())
    size = session.part_size(number)
    await require_bytes(parts, me, size)
    body = CheckedBody(blocks, size, expected)
    location = await put_bytes(parts, me, session, aiter(body))
    part = UploadPart(number, location, size, body.sha256)
    async with async_cleanup_on_error(lambda: run_to_completion(delete_unnoted(parts, me, session, [location]))):
        await _note(parts, me, session, part)
    return part


async def delete_unnoted(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, locations: Sequence[Location]
) -> None:
    """Remove bytes of which no part knows; a note that was not confirmed may have been taken, and has them then."""
    try:
        noted = await parts.upload_sessions.noted(me.scope, session.id, locations)
    except AosError as error:  # nobody knows: they go with the upload
        log.warning("uploads: bytes of %s stay: %s", session.id, error)
        return
    for location in locations:
        if location not in noted:
            try:
                await asyncio.to_thread(parts.part_store.delete, location)
            except (AosError, OSError) as error:  # as above
                log.warning("uploads: bytes of %s stay: %s", session.id, error)


async def put_bytes(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, blocks: AsyncIterator[bytes]
) -> Location:
    """Store bytes of an upload. Raises UploadEnded: it was ended meanwhile, and its bytes were removed under this."""
    try:
        return await parts.part_store.put(me.tenant, me.workspace, session.id, blocks)
    except FileNotFoundError as error:
        raise UploadEnded(f"upload {session.id}") from error


def require_parts(session: UploadSession) -> UploadSession:
    """The session. Raises NotFound: it is of the other protocol."""
    if session.protocol != "parts":
        raise NotFound(f"upload {session.id}")
    return session


async def require_bytes(parts: AppDependencies, me: WorkspaceMember, size: int) -> None:
    """Raises RateLimited: no more bytes may be uploaded in this period; what has arrived stays for a later one."""
    await parts.limits.require_left(caller_of(me), me.scope, LimitedResource.UPLOAD_BYTES, size)


async def take_receipt(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, number: int, size: int, checksum: str
) -> UploadPart:
    """Note a part that was sent to its signed address; one that came through here is compared.

    Raises MissingPart, WrongChecksum, Invalid, NotFound, UploadEnded, UploadBusy.
    """
    session.require_open(parts.clock())
    wanted = session.part_size(number)
    if size != wanted:
        raise Invalid(f"part {number} has {wanted} bytes, not {size}")
    known = await parts.upload_sessions.part(me.scope, session.id, number)
    if known is not None and known.sha256 == checksum:
        return known
    location = parts.part_store.signed_location(me.tenant, me.workspace, session.id, number)
    there = await asyncio.to_thread(parts.blobs.size, location)
    if there is None and known is not None:
        raise WrongChecksum(f"part {number} has {known.sha256}")
    if there is None:
        raise MissingPart(f"part {number}")
    if there != wanted:  # the address bounds no length: what is not as announced does not stay
        await asyncio.to_thread(parts.part_store.delete, location)
        raise MissingPart(f"part {number} had {there} bytes and not {wanted}, and was removed")
    part = UploadPart(number, location, wanted, checksum)
    await _note(parts, me, session, part)
    return part


async def _note(parts: AppDependencies, me: WorkspaceMember, session: UploadSession, part: UploadPart) -> None:
    lives = timedelta(seconds=parts.uploads.session_seconds)
    former = await parts.upload_sessions.put_part(me.scope, session.id, part, parts.clock(), lives)
    if former is not None:
        await asyncio.to_thread(parts.part_store.delete, former)
