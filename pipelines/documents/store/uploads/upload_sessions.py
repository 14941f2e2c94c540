"""Upload sessions: files announced in parts, which parts have arrived, and who puts them together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound, Permanent, Transient
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction
from pipelines.documents.store.blobs import Location

MOST_PARTS: Final = 10_000
CLAIM_SECONDS: Final = 120.0  # after which somebody else may put together what a killed process had begun
NAMED: Final = 20  # parts by number in a message


class UploadState(StrEnum):
    """`failed` could not be completed as it was, and goes on when another part comes."""

    OPEN = "open"
    COMPLETING = "completing"
    FAILED = "failed"
    COMPLETED = "completed"
    ABORTED = "aborted"


class UploadEnded(Permanent):
    """This upload has ended: it was aborted, is complete, or nothing came for too long."""

    code, status = "upload_ended", 410
    fix = "Begin another one."


class UploadBusy(Transient):
    """The upload is being put together."""

    code, status = "upload_busy", 409
    fix = "Ask for its status in a moment."


class OffsetMismatch(Conflict):
    """The upload does not stand at this offset."""

    code = "offset_mismatch"
    fix = "Ask for the offset (HEAD) and go on there."


class TooManyUploads(Transient):
    """As many uploads are under way as may be at a time."""

    code, status = "too_many_uploads", 429
    fix = "Complete or abort one; GET /api/uploads lists them."


class ClaimLost(Conflict):
    """Another process puts this upload together now."""

    code = "claim_lost"


@dataclass(frozen=True, slots=True)
class UploadPart:
    """A part that has arrived: where its bytes are, how many, and their SHA-256 in hex."""

    number: int
    location: Location
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class UploadSession:
    """A file that comes in parts of `part_bytes`, the last one with what is left; `options` are of its document."""

    id: str
    user_id: str
    protocol: Literal["parts", "tus"]
    filename: str
    content_type: str
    total_bytes: int
    part_bytes: int
    created_at: datetime
    expires_at: datetime
    file_hash: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    state: UploadState = UploadState.OPEN
    reason: str = ""
    document_id: str | None = None
    job_id: str | None = None
    claimed_until: datetime | None = None

    @property
    def part_count(self) -> int:
        """How many parts there are in all."""
        return -(-self.total_bytes // self.part_bytes)

    def part_size(self, number: int) -> int:
        """Bytes of a part. Raises NotFound: there is no such part."""
        if not 1 <= number <= self.part_count:
            raise NotFound(f"part {number}", fix=f"This upload has the parts 1 to {self.part_count}.")
        return min(self.part_bytes, self.total_bytes - (number - 1) * self.part_bytes)

    def missing(self, parts: Iterable[UploadPart]) -> list[int]:
        """Numbers of the parts that have not arrived with all their bytes."""
        here = {one.number for one in parts if one.number <= self.part_count and one.size == self.part_size(one.number)}
        return [number for number in range(1, self.part_count + 1) if number not in here]

    def require_alive(self, now: datetime) -> None:
        """Raises UploadEnded."""
        if self.state in (UploadState.COMPLETED, UploadState.ABORTED):
            raise UploadEnded(f"upload {self.id} is {self.state}")
        if self.expires_at <= now:
            raise UploadEnded(f"upload {self.id} has expired")

    def require_open(self, now: datetime) -> None:
        """Raises UploadEnded, UploadBusy: no part can come any more, or just now."""
        self.require_alive(now)
        if self.claimed_until is not None and self.claimed_until > now:
            raise UploadBusy(f"upload {self.id}")


@dataclass(frozen=True, slots=True)
class UploadClaim:
    """The right to put an upload together; `whole` is the name that its bytes get."""

    id: str
    whole: str


def part_size_of(total: int, wanted: int) -> int:
    """Bytes of a part: those wanted, or so many that there are 10,000 parts at most."""
    return max(wanted, -(-total // MOST_PARTS))


def missing_text(numbers: list[int]) -> str:
    """How missing parts are told: `Missing chunks: [2, 5]`."""
    more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
    return f"Missing chunks: {numbers[:NAMED]}{more}"


class UploadSessions(SqlStore, queries="upload_sessions.sql"):
    """Rows of one person's uploads; somebody else's are not there."""

    async def add(self, tx: Transaction, scope: Scope, new: UploadSession, most: int) -> int:
        """Announce one; how many bytes the person's others may still become. Nobody else adds one of theirs meanwhile.

        Raises TooManyUploads: the person has `most` that have not ended.
        """
        keys = {**scope.keys, "user": new.user_id}
        await tx.only(self._sql["lock"], user=new.user_id)
        held = await tx.only(self._sql["count_open"], **keys, now=new.created_at)
        if held["open"] >= most:
            raise TooManyUploads(f"{held['open']} uploads have not ended")
        named = {name: getattr(new, name) for name in ("id", "protocol", "filename", "content_type", "total_bytes")}
        named |= {name: getattr(new, name) for name in ("part_bytes", "file_hash", "created_at", "expires_at")}
        await tx.run(self._sql["add"], **keys, **named, options=Jsonb(dict(new.options)))
        return int(held["bytes"])

    async def require(self, scope: Scope, id_: str) -> UploadSession:
        """One's own. Raises NotFound."""
        rows = await self._db.read(scope, self._sql["show"], id=id_, **_own(scope))
        if not rows:
            raise NotFound(f"upload {id_}")
        return _session(rows[0])

    async def mine(self, scope: Scope, now: datetime, skip: int, limit: int) -> tuple[list[UploadSession], int]:
        """One's own that have not run out, newest first, and how many there are."""
        async with self._db.transaction(scope) as tx:
            rows, total = await tx.page(
                self._sql["mine"], self._sql["count_mine"], skip=skip, limit=limit, now=now, **_own(scope)
            )
        return [_session(row) for row in rows], total

    async def parts(self, scope: Scope, id_: str) -> list[UploadPart]:
        """Those that have arrived, in order."""
        return [_part(row) for row in await self._db.read(scope, self._sql["parts"], id=id_, **scope.keys)]

    async def part(self, scope: Scope, id_: str, number: int) -> UploadPart | None:
        """One of them."""
        rows = await self._db.read(scope, self._sql["part"], id=id_, number=number, **scope.keys)
        return _part(rows[0]) if rows else None

    async def arrived(self, scope: Scope, id_: str) -> tuple[int, int]:
        """How many parts and bytes have arrived."""
        (row,) = await self._db.read(scope, self._sql["arrived"], id=id_, **scope.keys)
        return int(row["parts"]), int(row["bytes"])

    async def put_part(
        self, scope: Scope, id_: str, part: UploadPart, now: datetime, lives: timedelta
    ) -> Location | None:
        """A part has arrived; where the bytes are that it replaces.

        Raises NotFound, UploadEnded, UploadBusy: nothing was noted.
        """
        async with self._db.transaction(scope) as tx:
            await self._hold_open(tx, scope, id_, now)
            return await self._put(tx, scope, id_, part, now + lives)

    async def append_part(
        self, scope: Scope, id_: str, part: UploadPart, offset: int, now: datetime, lives: timedelta
    ) -> None:
        """The next bytes of a file that comes in order, which go at `offset`; `number` is given here.

        Raises OffsetMismatch: others came meanwhile; NotFound, UploadEnded, UploadBusy. Nothing was noted.
        """
        async with self._db.transaction(scope) as tx:
            await self._hold_open(tx, scope, id_, now)
            here = await tx.only(self._sql["arrived"], id=id_, **scope.keys)
            if here["bytes"] != offset:
                raise OffsetMismatch(f"it stands at {here['bytes']}, not at {offset}")
            last = UploadPart(int(here["last"]) + 1, part.location, part.size, part.sha256)
            await self._put(tx, scope, id_, last, now + lives)

    async def noted(self, scope: Scope, id_: str, locations: Iterable[Location]) -> set[Location]:
        """Which of these bytes a part has; a change that is still on its way is waited for."""
        async with self._db.transaction(scope) as tx:
            await tx.one(self._sql["hold"], id=id_, **_own(scope))
            rows = await tx.all(self._sql["noted"], id=id_, locations=list(locations), **scope.keys)
        return {Location(row["location"]) for row in rows}

    async def drop_part(self, scope: Scope, session: UploadSession, part: UploadPart) -> list[Location]:
        """Forget a part whose bytes are not what they were said to be; where the bytes are that nobody needs now.

        Of a file that comes in order all that follows goes too: it stands where the hole begins.
        """
        query = "drop_from" if session.protocol == "tus" else "drop_part"
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql[query], id=session.id, location=part.location, **scope.keys)
        return [Location(row["location"]) for row in rows]

    async def claim(self, scope: Scope, id_: str, now: datetime) -> UploadClaim:
        """Put it together from now on. Raises UploadBusy: somebody does, or it has ended."""
        claim = UploadClaim(str(uuid4()), f"{UUID(id_).hex}-{uuid4().hex[:8]}")
        until = now + timedelta(seconds=CLAIM_SECONDS)
        named = {"id": id_, "claim": claim.id, "whole": claim.whole, "until": until, "now": now}
        async with self._db.transaction(scope) as tx:
            if not await tx.run(self._sql["claim"], **named, **_own(scope)):
                raise UploadBusy(f"upload {id_}")
        return claim

    async def renew(self, scope: Scope, id_: str, claim: UploadClaim, now: datetime) -> None:
        """Keep the claim for another while. Raises ClaimLost."""
        until = now + timedelta(seconds=CLAIM_SECONDS)
        async with self._db.transaction(scope) as tx:
            if not await tx.run(self._sql["renew"], id=id_, claim=claim.id, until=until, **scope.keys):
                raise ClaimLost(f"upload {id_}")

    async def release(self, scope: Scope, id_: str, claim: UploadClaim, reason: str = "") -> None:
        """Let go: as it was, or with a reason why it could not be completed."""
        state = UploadState.FAILED if reason else UploadState.OPEN
        async with self._db.transaction(scope) as tx:
            await tx.run(self._sql["release"], id=id_, claim=claim.id, state=state, reason=reason[:500], **scope.keys)

    async def finish(
        self, tx: Transaction, scope: Scope, id_: str, claim: UploadClaim, document: str, job: str | None
    ) -> None:
        """In the transaction that accepts the document. Raises ClaimLost: it is undone."""
        # A duplicate has no use for the whole: its name stays, so that the sweep finds it where this process ends here.
        used = None if job is None else claim.whole
        named = {"id": id_, "claim": claim.id, "whole": used, "document": document, "job": job}
        if not await tx.run(self._sql["finish"], **named, **scope.keys):
            raise ClaimLost(f"upload {id_}")
        await tx.run(self._sql["forget_parts"], id=id_, **scope.keys)

    async def abort(self, tx: Transaction, scope: Scope, id_: str, now: datetime) -> bool:
        """End it; false where it had ended. Raises NotFound, UploadBusy."""
        row = await tx.required(f"upload {id_}", self._sql["hold"], id=id_, **_own(scope))
        if row["claimed_until"] is not None and row["claimed_until"] > now:
            raise UploadBusy(f"upload {id_}")
        ended = await tx.run(self._sql["abort"], id=id_, **_own(scope))
        await tx.run(self._sql["forget_parts"], id=id_, **scope.keys)
        return bool(ended)

    async def ended(self, now: datetime, most: int) -> list[tuple[str, Scope]]:
        """Uploads that have run out, in all tenants, each with the scope to clear it away in."""
        async with self._db.transaction() as tx:
            rows = await tx.all(self._sql["ended"], now=now, most=most)
        return [(row["id"], Scope.of_worker(row["tenant_id"], row["workspace_id"])) for row in rows]

    async def hold_ended(self, tx: Transaction, scope: Scope, id_: str, now: datetime) -> list[str] | None:
        """Hold one of those; the names of wholes that no document has. None where somebody else holds it."""
        row = await tx.one(self._sql["hold_ended"], id=id_, now=now, **scope.keys)
        return None if row is None else list(row["wholes"])

    async def remove(self, tx: Transaction, scope: Scope, id_: str) -> None:
        """The row, with those of its parts."""
        await tx.run(self._sql["remove"], id=id_, **scope.keys)

    async def sizes(self, scope: Scope, ids: list[str]) -> dict[str, tuple[int, int]]:
        """Bytes of each of these uploads of the workspace, and of its parts."""
        rows = await self._db.read(scope, self._sql["sizes"], ids=ids, **scope.keys)
        return {row["id"]: (row["total_bytes"], row["part_bytes"]) for row in rows}

    async def known(self, scope: Scope, ids: list[str]) -> set[str]:
        """Which of these uploads of the workspace there are."""
        return {row["id"] for row in await self._db.read(scope, self._sql["known"], ids=ids, **scope.keys)}

    async def _hold_open(self, tx: Transaction, scope: Scope, id_: str, now: datetime) -> None:
        row = await tx.required(f"upload {id_}", self._sql["hold"], id=id_, **_own(scope))
        _session(row).require_open(now)

    async def _put(
        self, tx: Transaction, scope: Scope, id_: str, part: UploadPart, expires: datetime
    ) -> Location | None:
        named = {"number": part.number, "location": part.location, "size": part.size, "sha256": part.sha256}
        former = await tx.one(self._sql["put_part"], id=id_, **named, **scope.keys)
        await tx.run(self._sql["touch"], id=id_, expires_at=expires, **scope.keys)
        return None if former is None or former["location"] == part.location else Location(former["location"])


def _own(scope: Scope) -> dict[str, Any]:
    return {**scope.keys, "user": scope.user}


def _session(row: Row) -> UploadSession:
    texts = {name: None if row[name] is None else str(row[name]) for name in ("id", "user_id", "document_id", "job_id")}
    others = (
        "protocol",
        "filename",
        "content_type",
        "total_bytes",
        "part_bytes",
        "created_at",
        "expires_at",
        "claimed_until",
    )
    kept = {name: row[name] for name in (*others, "file_hash", "options", "reason")}
    return UploadSession(**texts, **kept, state=UploadState(row["state"]))  # type: ignore[arg-type]


def _part(row: Row) -> UploadPart:
    return UploadPart(row["number"], Location(row["location"]), row["size"], row["sha256"])
