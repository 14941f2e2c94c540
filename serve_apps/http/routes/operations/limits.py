"""Rate limits and quotas: the rules of a tenant with what is used of them, and those that hold for whoever asks."""

from decimal import Decimal
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cluster.state.limits.limiter import LimitUse
from cluster.state.limits.rules import LimitedResource, LimitRule, LimitWindow, SubjectKind, check_rule
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import AUDIT, READ, TENANT
from serve_apps.http.auth.request_limits import caller_of
from serve_apps.http.fields import RequestBody

router = APIRouter(route_class=GuardedRoute, tags=["accounts"])


class LimitShape(BaseModel):
    """A limit: of `resource` its subject may have `amount` altogether in a `window`, and has `used` so much.

    A `caller` has a default of the settings for themselves. `reset_seconds`: until there is more.
    """

    subject_kind: str
    subject: str
    name: str
    resource: str
    amount: float
    window: str
    used: float
    reset_seconds: float


class LimitList(BaseModel):
    """Rules of the tenant, and the defaults that hold for every caller without one."""

    items: list[LimitShape]
    defaults: dict[str, int]


class OwnLimits(BaseModel):
    """Limits that hold for whoever asks, and who that is."""

    tenant_id: UUID
    workspace_id: UUID
    user_id: UUID
    items: list[LimitShape]


class LimitRequest(RequestBody):
    """How much may be used in a window. What is metered has minute, hour, day or month; streams and jobs `at_once`."""

    amount: Annotated[Decimal, Field(ge=0, max_digits=21, decimal_places=6)]
    window: LimitWindow


@router.get("/api/limits", dependencies=[AUDIT])
async def limits(me: Me, parts: Its) -> LimitList:
    """List the tenant's rules with what is used of each, and the defaults."""
    stored = await parts.limits.store.rules(me.scope)
    items = [_limit_shape(await parts.limits.use_of(me.scope, one.rule), one.name) for one in stored]
    return LimitList(items=items, defaults=parts.limits.defaults())


@router.get("/api/limits/mine", dependencies=[READ])
async def my_limits(me: Me, parts: Its) -> OwnLimits:
    """The limits that hold for you, and what is used of them."""
    items = [_limit_shape(use, "") for use in await parts.limits.uses(caller_of(me), me.scope)]
    who = {"tenant_id": UUID(me.tenant), "workspace_id": UUID(me.workspace), "user_id": UUID(me.user)}
    return OwnLimits(**who, items=items)


@router.put("/api/limits/{subject_kind}/{subject}/{resource}", status_code=204, dependencies=[TENANT])
async def put_limit(
    subject_kind: SubjectKind, subject: UUID, resource: LimitedResource, body: LimitRequest, me: Me, parts: Its
) -> None:
    """Limit what a key, user, group, workspace or the tenant may use; the most specific rule holds.

    It holds on every replica within five seconds. 0 lets nothing through.
    """
    check_rule(subject_kind, resource, body.amount, body.window)
    rule = LimitRule(resource, subject_kind, str(subject), body.amount, body.window)
    told = {"resource": resource, "amount": f"{body.amount.normalize():f}", "window": body.window}
    async with parts.audited(me, "limit.set", f"{subject_kind} {subject}", told) as tx:
        await parts.limits.store.put(tx, me.scope, rule)
    parts.limits.book.forget(me.tenant)


@router.delete("/api/limits/{subject_kind}/{subject}/{resource}", status_code=204, dependencies=[TENANT])
async def delete_limit(subject_kind: SubjectKind, subject: UUID, resource: LimitedResource, me: Me, parts: Its) -> None:
    """Take a rule away: what is less specific holds then, or the default."""
    async with parts.audited(me, "limit.remove", f"{subject_kind} {subject}", {"resource": resource}) as tx:
        await parts.limits.store.remove(tx, me.scope, subject_kind, str(subject), resource)
    parts.limits.book.forget(me.tenant)


def _limit_shape(use: LimitUse, name: str) -> LimitShape:
    rule = use.rule
    return LimitShape(
        subject_kind=rule.subject_kind,
        subject=rule.subject,
        name=name or rule.name,
        resource=rule.resource,
        amount=float(rule.amount),
        window=rule.window,
        used=float(use.used),
        reset_seconds=round(use.reset, 1),
    )
