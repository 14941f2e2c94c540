"""Intake of tus: bytes that come in order are kept as parts as they come, so that a cut loses next to nothing."""

from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from typing import Final

from cluster.basics.errors import NotFound, TooLarge
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.store.uploads.upload_sessions import MOST_PARTS, OffsetMismatch, UploadPart, UploadSession
from serve_apps.agents.streams.cancellation import run_to_completion
from serve_apps.http.deps import AppDependencies
from serve_apps.http.routes.uploads.part_intake import PartCut, WrongChecksum, delete_unnoted, put_bytes, require_bytes

MOST_PIECES: Final = 2 * MOST_PARTS  # of one upload; so many rows it may have


class ChecksumMismatch(WrongChecksum):
    """The bytes are not those of the checksum; none of them was kept."""

    code, status = "checksum_mismatch", 460


class PiecesTooSmall(TooLarge):
    """In pieces of this size the file would never be complete."""

    code = "pieces_too_small"


class BodyPieces:
    """A body in pieces of at most so many bytes; one that breaks off ends, and says so afterwards."""

    def __init__(self, blocks: AsyncIterator[bytes]) -> None:
        """Nothing is read yet."""
        self._blocks, self._left = blocks, b""
        self.cut: PartCut | None = None
        self.state, self.size = sha256(), 0  # of the piece that was read last

    async def more(self) -> bool:
        """Whether there is another piece."""
        if not self._left:
            try:
                self._left = await anext(self._blocks, b"")
            except PartCut as error:
                self.cut = error
        return bool(self._left)

    async def piece(self, most: int) -> AsyncIterator[bytes]:
        """The blocks of the next one."""
        self.state, self.size = sha256(), 0
        while self.size < most and await self.more():
            block, self._left = self._left[: most - self.size], self._left[most - self.size :]
            self.size += len(block)
            self.state.update(block)
            yield block


class _Whole:
    """Passes blocks on and hashes all of them."""

    def __init__(self, blocks: AsyncIterator[bytes], room: int) -> None:
        self._blocks, self._room, self.state = blocks, room, sha256()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self._blocks:
            self._room -= len(block)
            if self._room < 0:
                raise TooLarge("more bytes came than the upload was announced with")
            self.state.update(block)
            yield block


def smallest_piece(left: int, count: int) -> int:
    """Bytes of a piece with which `left` bytes can still come after so many. Raises PiecesTooSmall: none could."""
    if left == 0:
        return 0
    if count >= MOST_PIECES:
        told = "Begin another upload, and send larger ones."
        raise PiecesTooSmall(f"the upload came in {count} pieces", fix=told)
    return -(-left // (MOST_PIECES - count))


async def append_bytes(
    parts: AppDependencies,
    me: WorkspaceMember,
    session: UploadSession,
    offset: int,
    blocks: AsyncIterator[bytes],
    expected: str | None = None,
    announced: int | None = None,
) -> int:
    """Take what comes at an offset; where the upload stands then. With a checksum all of it counts, or nothing.

    `announced`: how many bytes that are, where it is known.

    Raises OffsetMismatch, ChecksumMismatch, TooLarge, PiecesTooSmall, UploadEnded, UploadBusy, DiskFull, RateLimited;
    PartCut: what came before the cut is kept.
    """
    session.require_open(parts.clock())
    count, here = await parts.upload_sessions.arrived(me.scope, session.id)
    if offset != here:
        raise OffsetMismatch(f"it stands at {here}, not at {offset}")
    smallest = smallest_piece(session.total_bytes - offset, count)
    if announced is not None and announced < smallest:
        raise PiecesTooSmall(f"{announced} bytes came", fix=f"Send at least {smallest} bytes with each request.")
    await require_bytes(parts, me, 1)
    whole = _Whole(blocks, session.total_bytes - offset)
    body, taken = BodyPieces(aiter(whole)), list[UploadPart]()
    try:
        while await body.more():
            most = max(session.part_bytes, smallest_piece(session.total_bytes - here, count))
            location = await put_bytes(parts, me, session, body.piece(most))
            taken.append(UploadPart(count + 1, location, body.size, body.state.hexdigest()))
            count, here = count + 1, here + body.size
            if expected is None:
                offset = await _note(parts, me, session, offset, taken)
        if expected is not None:
            if body.cut is not None:
                raise body.cut
            if whole.state.hexdigest() != expected:
                raise ChecksumMismatch(f"the bytes have {whole.state.hexdigest()}")
            offset = await _note(parts, me, session, offset, taken)
    finally:
        if taken:  # those whose note failed, or was not confirmed
            await run_to_completion(delete_unnoted(parts, me, session, [part.location for part in taken]))
    if body.cut is not None:
        raise body.cut
    return offset


async def _note(
    parts: AppDependencies, me: WorkspaceMember, session: UploadSession, offset: int, taken: list[UploadPart]
) -> int:
    """Write down what was stored, which is then nobody's to remove."""
    lives = timedelta(seconds=parts.uploads.session_seconds)
    while taken:
        part = taken[0]
        await parts.upload_sessions.append_part(me.scope, session.id, part, offset, parts.clock(), lives)
        taken.pop(0)
        offset += part.size
    return offset


def require_tus(session: UploadSession) -> UploadSession:
    """The session. Raises NotFound: it is of the other protocol."""
    if session.protocol != "tus":
        raise NotFound(f"upload {session.id}")
    return session
