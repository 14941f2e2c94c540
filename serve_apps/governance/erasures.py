"""Erasure with a receipt: asked for, carried out step by step, looked for afterwards, and signed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis

from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.signed_receipts import ReceiptSigner, verify_receipt
from pipelines.documents.store.blobs import BlobStore
from serve_apps.governance.document_eraser import DocumentEraser
from serve_apps.governance.erasure_case import Erasure, ErasureStore, ErasureTarget, SubjectKind
from serve_apps.governance.marks import MarkFinder
from serve_apps.governance.person_eraser import PersonEraser
from serve_apps.governance.probe import ErasureProbe, ProbeReport
from serve_apps.governance.record_sweep import RecordSweep
from serve_apps.governance.redis_places import RedisPlaces

FORM = 1  # of receipts
ENTRIES_AT_ONCE = 100


class OwnAccount(Conflict):
    """Nobody erases the account that they are signed in with."""

    code = "own_account"
    fix = "Another tenant administrator asks for it."


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What is asked for: ids of documents of the scope's workspace, or of accounts of its tenant, and why."""

    kind: SubjectKind
    subjects: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ReplayedErasure:
    """An earlier erasure, and the one that erased again what had come back; None where nothing had."""

    earlier: str
    again: str | None
    subjects: int


class DataErasure:
    """Whatever is interrupted is finished by asking for the same again. Holds refuse it: see `LegalHold`."""

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        redis: Redis | None,
        signer: ReceiptSigner,
        clock: Callable[[], datetime],
    ) -> None:
        """`clock` gives the moment, with a time zone."""
        self._db, self._blobs, self._signer, self._clock = database, blobs, signer, clock
        self.store, self._audit = ErasureStore(database), AuditLog(database)
        self._redis, finder = RedisPlaces(redis), MarkFinder(signer.marks_key)
        sweep = RecordSweep(database, finder)
        self._documents = DocumentEraser(database, finder, sweep, self.store)
        self._people = PersonEraser(database, finder, sweep, self.store, self._redis)
        self._probe = ErasureProbe(database, finder, sweep, self._documents, self._people, self._redis, blobs)

    @property
    def public_key(self) -> str:
        """The key that receipts are checked with."""
        return self._signer.public

    async def plan(self, scope: Scope, asked: ErasureRequest) -> ErasureTarget:
        """What would go; nothing does. Raises NotFound, LegalHold, OwnAccount, StillWorking."""
        if asked.kind is SubjectKind.PERSON and scope.user in asked.subjects:
            raise OwnAccount
        if asked.kind is SubjectKind.PERSON:
            return await self._people.gather(_as_system(scope), asked.subjects)
        target = await self._documents.gather(_as_system(scope), asked.subjects)
        await self._documents.require_free(_as_system(scope), target, self._clock())
        return target

    async def run(self, scope: Scope, asked: ErasureRequest) -> Erasure:
        """Erase, look for it, and sign what was done. One that has ended is told again: its reply may have been lost.

        Raises:
            NotFound: there is no such document or account.
            LegalHold: some of it is held; nothing went.
            StillWorking: a job or a run has to do with it.
            RedisAway: what Redis remembers could not be erased; asked for again, it goes on there.
        """
        case = await self.store.unfinished(scope, asked.kind, asked.subjects)
        if case is None:
            try:
                case = await self._begin(scope, asked)
            except NotFound:
                ended = await self._told_again(scope, asked)
                if ended is None:
                    raise
                return ended
        inside = Scope.of_worker(TenantId(case.tenant), WorkspaceId(case.workspace))
        await self._eraser(case.kind).erase(inside, case)
        await self._erase_outside(inside, case)
        rows = await self._probe.find_audit_entries(inside, case.marks)
        for at in range(0, len(rows), ENTRIES_AT_ONCE):  # nobody else writes to the trail meanwhile
            async with self._db.transaction(inside) as tx:
                batch = rows[at : at + ENTRIES_AT_ONCE]
                await self.store.count(tx, case.id, {"audit": await self._probe.redact_audit_entries(tx, case, batch)})
        report = await self._probe.look(inside, case)
        return await self._finish(scope, await self.store.show(scope, case.id), report)

    async def _told_again(self, scope: Scope, asked: ErasureRequest) -> Erasure | None:
        """The ended one of the same subjects, none of which is there; whatever is there is erased anew."""
        ended = await self.store.ended(scope, asked.kind, asked.subjects)
        if ended is None:
            return None
        there = await self._eraser(asked.kind).back(_as_system(scope), asked.subjects, datetime.max.replace(tzinfo=UTC))
        return None if there else ended

    async def look(self, scope: Scope, erasure: str) -> ProbeReport:
        """Look again for what an erasure erased. Raises NotFound."""
        case = await self.store.show(scope, erasure)
        return await self._probe.look(Scope.of_worker(TenantId(case.tenant), WorkspaceId(case.workspace)), case)

    async def replay(self, scope: Scope, receipts: Sequence[Mapping[str, Any]]) -> list[ReplayedErasure]:
        """Erase again what came back, as after an older backup was put back: of erasures on record, and of receipts.

        Raises ForgedReceipt: this instance has not signed one of them. Invalid: one is of another tenant.
        """
        known: dict[str, tuple[str, datetime, ErasureRequest]] = {}
        for receipt in receipts:
            verify_receipt(receipt, self._signer.public)
            if receipt["tenant"] != scope.tenant:
                raise Invalid(f"receipt {receipt['id']} is of another tenant")
            subjects = tuple({str(one.get("document") or one.get("person")) for one in receipt["content"]})
            subjects = tuple(sorted({*subjects, *receipt["subjects"]}))
            asked = ErasureRequest(SubjectKind(receipt["kind"]), subjects, f"replay of {receipt['id']}")
            known[receipt["id"]] = (receipt["workspace"], datetime.fromisoformat(receipt["asked_at"]), asked)
        for case in await self.store.all_done(scope):
            subjects = case.documents if case.kind is SubjectKind.DOCUMENT else case.subjects
            asked = ErasureRequest(case.kind, subjects, f"replay of {case.id}")
            known[case.id] = (case.workspace, case.asked_at, asked)
        return [await self._replay_one(scope, id_, *one) for id_, one in known.items()]

    async def _replay_one(
        self, scope: Scope, earlier: str, workspace: str, at: datetime, asked: ErasureRequest
    ) -> ReplayedErasure:
        inside = Scope(scope.tenant, WorkspaceId(workspace), scope.principals, scope.user, scope.role)
        back = await self._eraser(asked.kind).back(_as_system(inside), asked.subjects, at)
        if not back:
            return ReplayedErasure(earlier, None, 0)
        again = await self.run(inside, ErasureRequest(asked.kind, tuple(sorted(back)), asked.reason))
        return ReplayedErasure(earlier, again.id, len(back))

    async def _begin(self, scope: Scope, asked: ErasureRequest) -> Erasure:
        target = await self.plan(scope, asked)
        id_ = str(uuid4())
        case = {"id": id_, "kind": asked.kind, "subjects": sorted(asked.subjects), "reason": asked.reason}
        begun = Erasure(
            id_,
            scope.tenant,
            scope.workspace,
            asked.kind,
            tuple(sorted(asked.subjects)),
            asked.reason,
            str(scope.user),
            self._clock(),
            target.content,
            target.marks,
            target.files,
            {},
            None,
            None,
        )
        async with self._db.transaction(scope) as tx:
            await self.store.begin(tx, scope, {**case, "user": scope.user, "at": begun.asked_at}, target)
            detail = {"kind": asked.kind, "subjects": len(asked.subjects)}
            await self._audit.record(tx, scope, "erasure.begin", id_, detail=detail)
        return begun

    async def _erase_outside(self, inside: Scope, case: Erasure) -> None:
        went = 0
        for location in await self._probe.files(inside, case):
            await asyncio.to_thread(self._blobs.delete, location)
            went += 1
        homes = [inside] if case.kind is SubjectKind.DOCUMENT else await self._people.workspaces(inside)
        keys = 0
        for home in homes:
            keys += await self._redis.forget(home.tenant, home.workspace)
        async with self._db.transaction(inside) as tx:
            await self.store.count(tx, case.id, {"files": went, "redis": keys})

    async def _finish(self, scope: Scope, case: Erasure, report: ProbeReport) -> Erasure:
        if case.receipt is not None:  # somebody else asked for the same at the same time, and was faster
            return case
        at = self._clock()
        receipt = self._signer.sign(
            {
                "form": FORM,
                "id": case.id,
                "tenant": case.tenant,
                "workspace": case.workspace,
                "kind": str(case.kind),
                "subjects": list(case.subjects),
                "content": list(case.content),
                "reason": case.reason,
                "asked_by": case.asked_by,
                "asked_at": case.asked_at.isoformat(),
                "finished_at": at.isoformat(),
                "erased": dict(case.counts),
                "probe": {"finds": report.finds, "places": dict(report.places), "searched": dict(report.searched)},
            }
        )
        async with self._db.transaction(scope) as tx:
            await self.store.finish(tx, case.id, receipt, at)
            detail = {"kind": case.kind, "finds": report.finds, "key": receipt["key"]["id"]}
            await self._audit.record(tx, scope, "erasure.finish", case.id, detail=detail)
        return await self.store.show(scope, case.id)

    def _eraser(self, kind: SubjectKind) -> DocumentEraser | PersonEraser:
        return self._documents if kind is SubjectKind.DOCUMENT else self._people


def _as_system(scope: Scope) -> Scope:
    return Scope.of_worker(scope.tenant, scope.workspace)
