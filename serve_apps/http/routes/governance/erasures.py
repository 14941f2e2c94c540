"""Erasures: documents and people go for good, with a signed receipt; looked for again, and again after a backup."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from cluster.state.signed_receipts import key_id
from serve_apps.governance.erasure_case import Erasure, NoReceiptYet, SubjectKind
from serve_apps.governance.erasures import ErasureRequest
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, TENANT
from serve_apps.http.fields import JsonObject, Limit, RequestBody, Skip, Text

router = APIRouter(route_class=GuardedRoute, tags=["governance"])

MOST = 500
Subject = Annotated[Text, Field(min_length=1, max_length=64)]
DryRun = Annotated[bool, Query(description="Only count what would go.")]


class ErasureBody(RequestBody):
    """Documents of the workspace, or people of the tenant, by their ids. Asked for again, one cut off goes on."""

    kind: SubjectKind
    ids: Annotated[list[Subject], Field(min_length=1, max_length=MOST)]
    reason: Annotated[Text, Field(min_length=1, max_length=500, description="On record for good: no names.")]


class ErasureView(BaseModel):
    """One erasure. `counts` are rows by place; `finds` is what the probe found afterwards, null before it has ended.

    `gone` of `expected` documents or people went so far, those that came out of an archive included.
    """

    id: UUID | None
    kind: SubjectKind
    subjects: list[str]
    reason: str
    asked_by: UUID | None
    asked_at: datetime | None
    counts: dict[str, int]
    expected: int
    gone: int
    done: bool
    finished_at: datetime | None
    finds: int | None


class ErasureList(BaseModel):
    """A page of them, the newest first."""

    items: list[ErasureView]
    total: int


class ReceiptKey(BaseModel):
    """The public key that receipts are checked with."""

    id: str
    algorithm: str
    public: str


class ProbeView(BaseModel):
    """Where something of an erasure is found now; empty where nothing is."""

    finds: int
    places: dict[str, int]
    searched: dict[str, int]


class ReplayBody(RequestBody):
    """Receipts of erasures that a backup from before them does not know."""

    receipts: Annotated[list[JsonObject], Field(max_length=MOST, default_factory=list)]


class Replayed(BaseModel):
    """An erasure, and the one that erased again what had come back; null where nothing had."""

    earlier: UUID
    again: UUID | None
    subjects: int


class ReplayedList(BaseModel):
    """Every erasure that was looked at."""

    items: list[Replayed]


@router.post("/api/erasures", dependencies=[TENANT])
async def erase(body: ErasureBody, me: Me, parts: Its, dry_run: DryRun = False) -> ErasureView:
    """Erase documents or people for good, and sign a receipt. What is held refuses it: 409, and whom to ask."""
    asked = ErasureRequest(body.kind, tuple(sorted(set(body.ids))), body.reason)
    if dry_run:
        target = await parts.erasures.plan(me.scope, asked)
        return ErasureView(
            id=None,
            kind=asked.kind,
            subjects=list(target.subjects),
            reason=asked.reason,
            asked_by=None,
            asked_at=None,
            counts={place: count for place, count in target.counts.items() if count},
            expected=len(target.subjects),
            gone=0,
            done=False,
            finished_at=None,
            finds=None,
        )
    return _view(await parts.erasures.run(me.scope, asked))


@router.get("/api/erasures", dependencies=[AUDIT])
async def erasures(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> ErasureList:
    """List the tenant's erasures."""
    rows, total = await parts.erasures.store.page(me.scope, skip, limit)
    return ErasureList(items=[ErasureView(**row, done=row["state"] == "done") for row in rows], total=total)


@router.get("/api/erasures/key", dependencies=[AUDIT])
async def receipt_key(_: Me, parts: Its) -> ReceiptKey:
    """The public key of this instance: keep it apart from the receipts."""
    public = parts.erasures.public_key
    return ReceiptKey(id=key_id(public), algorithm="Ed25519", public=public)


@router.post("/api/erasures/replay", dependencies=[TENANT])
async def replay(body: ReplayBody, me: Me, parts: Its) -> ReplayedList:
    """Erase again what an older backup brought back: of erasures on record, and of receipts that are given."""
    found = await parts.erasures.replay(me.scope, body.receipts)
    return ReplayedList(items=[Replayed.model_validate(one, from_attributes=True) for one in found])


@router.get("/api/erasures/{erasure_id}/receipt", dependencies=[AUDIT])
async def receipt(erasure_id: UUID, me: Me, parts: Its) -> dict[str, Any]:
    """The signed receipt: what went from where, by whom, when and why; ids and hashes, no content."""
    case = await parts.erasures.store.show(me.scope, str(erasure_id))
    if case.receipt is None:
        raise NoReceiptYet(case.id)
    return dict(case.receipt)


@router.post("/api/erasures/{erasure_id}/probe", dependencies=[AUDIT])
async def probe(erasure_id: UUID, me: Me, parts: Its) -> ProbeView:
    """Look again, everywhere, for what was erased."""
    found = await parts.erasures.look(me.scope, str(erasure_id))
    return ProbeView(finds=found.finds, places=dict(found.places), searched=dict(found.searched))


def _view(case: Erasure) -> ErasureView:
    return ErasureView(
        id=UUID(case.id),
        kind=case.kind,
        subjects=list(case.subjects),
        reason=case.reason,
        asked_by=UUID(case.asked_by),
        asked_at=case.asked_at,
        counts=dict(case.counts),
        expected=len(case.documents),
        gone=case.gone,
        done=case.receipt is not None,
        finished_at=case.finished_at,
        finds=None if case.receipt is None else case.receipt["probe"]["finds"],
    )
