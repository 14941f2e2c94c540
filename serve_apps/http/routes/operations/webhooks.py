"""Webhooks: where this workspace's events go out to, what became of each, and sending again."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime, BaseModel, Field

from cluster.basics.errors import Forbidden, Invalid
from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import WorkspaceMember, least_role
from cluster.state.webhooks.topics import FAMILIES, TOPICS, check_topics
from cluster.state.webhooks.webhook_store import NewWebhook, ReplayRequest, WebhookChange
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import ADMINISTER
from serve_apps.http.fields import Limit, Name, RequestBody, Skip, Text

router = APIRouter(route_class=GuardedRoute, tags=["webhooks"])

MOST_OVERLAP_HOURS = 24 * 30
Address = Annotated[Text, Field(min_length=1, max_length=2_000, examples=["https://hooks.example.com/aos"])]
Topics = Annotated[list[Name], Field(min_length=1, max_length=50, description=", ".join(("*", *FAMILIES, *TOPICS)))]
DeliveryState = Literal["pending", "delivered", "dead", "withheld"]


class WebhookRequest(RequestBody):
    """A webhook. It tells what its owner may see, or with `role` what a member with nothing but that role may."""

    name: Name
    url: Address
    topics: Topics
    role: Role | None = None


class WebhookPatch(RequestBody):
    """Changes to a webhook. Only its owner gives it another address or other topics; it tells what they may see."""

    name: Name | None = None
    url: Address | None = None
    topics: Topics | None = None
    enabled: bool | None = None


class WebhookShape(BaseModel):
    """A webhook. After `failures` in a row it rests until `next_at`; `secrets` are valid now."""

    id: UUID
    name: str
    url: str
    topics: list[str]
    owner: str | None
    role: Role | None
    enabled: bool
    disabled_why: str | None
    failures: int
    error: str | None
    succeeded_at: datetime | None
    next_at: datetime | None
    secrets: int
    pending: int
    dead: int
    created_at: datetime
    updated_at: datetime


class NewWebhookShape(WebhookShape):
    """A webhook that was made, with its secret, which is not shown again."""

    secret: str


class WebhookList(BaseModel):
    """The workspace's webhooks by name."""

    items: list[WebhookShape]
    total: int


class SecretRequest(RequestBody):
    """Another secret; the one before signs beside it for so long, and then no more."""

    overlap_hours: Annotated[float, Field(ge=0, le=MOST_OVERLAP_HOURS, allow_inf_nan=False)] = 24


class SecretShape(BaseModel):
    """The secret, which is not shown again, and how many are valid now."""

    webhook_id: UUID
    secret: str
    secrets: int


class DeliveryShape(BaseModel):
    """What became of an event. `status` is the receiver's last answer; `data` is what it is told: ids and states."""

    event_id: str
    topic: str
    subject: str
    data: dict[str, Any]
    created_at: datetime
    state: DeliveryState
    attempts: int
    status: int | None
    error: str | None
    replays: int
    ended_at: datetime | None
    next_at: datetime | None


class DeliveryList(BaseModel):
    """A page of deliveries, latest first, of what this reader may see."""

    items: list[DeliveryShape]
    total: int


class ReplayOrder(RequestBody):
    """What to send again: one event, or all since a moment; with `failed_only` what was given up, of it or of all."""

    event_id: Annotated[Text, Field(max_length=64)] | None = None
    since: AwareDatetime | None = None
    failed_only: bool = False


class ReplayStarted(BaseModel):
    """So many deliveries are to be sent again."""

    webhook_id: UUID
    replayed: int


class Pinged(BaseModel):
    """How the receiver took a test message."""

    webhook_id: UUID
    accepted: bool
    status: int | None
    error: str | None


@router.get("/api/webhooks", dependencies=[ADMINISTER])
async def webhooks(me: Me, parts: Its, skip: Skip = 0, limit: Limit = 100) -> WebhookList:
    """The workspace's webhooks, how each stands, and how much it still lacks."""
    rows, total = await parts.webhooks.store.page(me.scope, skip, limit)
    return WebhookList(items=[WebhookShape(**row) for row in rows], total=total)


@router.post("/api/webhooks", status_code=201, dependencies=[ADMINISTER])
async def add_webhook(body: WebhookRequest, me: Me, parts: Its) -> NewWebhookShape:
    """Send events to an address from now on. The answer has the secret, once."""
    if body.role is not None and least_role(body.role, me.role) is not body.role:
        raise Forbidden(f"a webhook of yours cannot see as {body.role}; your role here is {me.role}")
    new = NewWebhook(body.name, body.url, check_topics(body.topics), body.role)
    host = await parts.webhooks.client.check_reachable(body.url)
    async with parts.database.transaction(me.scope) as tx:
        id_, secret = await parts.webhooks.store.add(tx, me.scope, new)
        detail = {"name": body.name, "host": host, "topics": list(new.topics), "role": body.role}
        await parts.audit.record(tx, me.scope, "webhook.add", id_, detail=detail)
        row = await parts.webhooks.store.require(tx, me.scope, id_)
    return NewWebhookShape(**row, secret=secret)


@router.get("/api/webhooks/{webhook_id}", dependencies=[ADMINISTER])
async def webhook(webhook_id: UUID, me: Me, parts: Its) -> WebhookShape:
    """One webhook."""
    return WebhookShape(**await parts.webhooks.store.show(me.scope, str(webhook_id)))


@router.patch("/api/webhooks/{webhook_id}", dependencies=[ADMINISTER])
async def change_webhook(webhook_id: UUID, body: WebhookPatch, me: Me, parts: Its) -> WebhookShape:
    """Rename it, switch it off or on; its owner also moves it or has it tell of other things."""
    row = await parts.webhooks.store.show(me.scope, str(webhook_id))
    if body.url is not None or body.topics is not None:
        _require_owner(row, me)
    host = None if body.url is None else await parts.webhooks.client.check_reachable(body.url)
    topics = None if body.topics is None else check_topics(body.topics)
    change = WebhookChange(body.name, body.url, topics, body.enabled)
    detail = {"changed": sorted(body.model_fields_set - {"tenant_id", "workspace_id"}), "host": host}
    async with parts.audited(me, "webhook.change", str(webhook_id), detail) as tx:
        await parts.webhooks.store.change(tx, me.scope, str(webhook_id), change)
        row = await parts.webhooks.store.require(tx, me.scope, str(webhook_id))
    return WebhookShape(**row)


@router.delete("/api/webhooks/{webhook_id}", status_code=204, dependencies=[ADMINISTER])
async def delete_webhook(webhook_id: UUID, me: Me, parts: Its) -> Response:
    """Send nothing more to it; what it was still to be sent is forgotten."""
    async with parts.database.transaction(me.scope) as tx:
        name = await parts.webhooks.store.remove(tx, me.scope, str(webhook_id))
        await parts.audit.record(tx, me.scope, "webhook.delete", str(webhook_id), detail={"name": name})
    return Response(status_code=204)


@router.post("/api/webhooks/{webhook_id}/secret", dependencies=[ADMINISTER])
async def rotate_secret(webhook_id: UUID, body: SecretRequest, me: Me, parts: Its) -> SecretShape:
    """Another secret, shown once. Both sign until the one before runs out; with 0 hours it ends now."""
    detail = {"overlap_hours": body.overlap_hours}
    async with parts.audited(me, "webhook.secret", str(webhook_id), detail) as tx:
        overlap = body.overlap_hours * 3600
        secret = await parts.webhooks.store.rotate_secret(tx, me.scope, str(webhook_id), overlap)
        row = await parts.webhooks.store.require(tx, me.scope, str(webhook_id))
    return SecretShape(webhook_id=webhook_id, secret=secret, secrets=row["secrets"])


@router.get("/api/webhooks/{webhook_id}/deliveries", dependencies=[ADMINISTER])
async def deliveries(
    webhook_id: UUID,
    me: Me,
    parts: Its,
    state: Annotated[DeliveryState | None, Query()] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> DeliveryList:
    """What was sent or is to be, latest first."""
    rows, total = await parts.webhooks.store.deliveries(me.scope, str(webhook_id), state, skip, limit)
    return DeliveryList(items=[_delivery(row) for row in rows], total=total)


@router.post("/api/webhooks/{webhook_id}/replay", status_code=202, dependencies=[ADMINISTER])
async def replay(webhook_id: UUID, body: ReplayOrder, me: Me, parts: Its) -> ReplayStarted:
    """Send again what has ended, under the ids that it had: one event, or all since a moment, in their order.

    With nothing but `failed_only` it is all that was given up.
    """
    named = (body.event_id is not None) + (body.since is not None)
    if named > 1 or not (named or body.failed_only):
        raise Invalid("what is to be sent again?", fix="Name event_id, or since, or failed_only alone.")
    event = None if body.event_id is None else body.event_id.removeprefix("evt_")
    wanted = ReplayRequest(event, body.since, body.failed_only)
    async with parts.database.transaction(me.scope) as tx:
        count = await parts.webhooks.store.replay(tx, me.scope, str(webhook_id), wanted)
        said = {"event": body.event_id, "since": str(body.since or ""), "failed_only": body.failed_only}
        detail = {**said, "replayed": count}
        await parts.audit.record(tx, me.scope, "webhook.replay", str(webhook_id), detail=detail)
    parts.webhooks.wake()
    return ReplayStarted(webhook_id=webhook_id, replayed=count)


@router.post("/api/webhooks/{webhook_id}/ping", dependencies=[ADMINISTER])
async def ping(webhook_id: UUID, me: Me, parts: Its) -> Pinged:
    """Send a test message (`webhook.ping`) now, and tell how it was taken."""
    row = await parts.webhooks.store.show(me.scope, str(webhook_id))
    outcome = await parts.webhooks.ping(me.scope, row)
    accepted, error = outcome.accepted, outcome.error or None
    async with parts.audited(me, "webhook.ping", str(webhook_id), {"accepted": accepted, "error": error}):
        pass
    return Pinged(webhook_id=webhook_id, accepted=accepted, status=outcome.status, error=error)


def _delivery(row: Row) -> DeliveryShape:
    return DeliveryShape(**{**row, "event_id": f"evt_{row['event_id']}", "data": row["payload"]})


def _require_owner(row: Row, me: WorkspaceMember) -> None:
    """What it tells is what its owner may see: nobody else says where that goes. Raises Forbidden."""
    if str(row["owner_id"]) != me.user:
        raise Forbidden(
            f"it tells what {row['owner']} may see", fix="Make one of your own, or let its owner change it."
        )
