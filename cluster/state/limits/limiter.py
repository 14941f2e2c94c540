"""The one place that decides over limits: requests, streams, jobs, and what is metered over a period."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from redis.asyncio import Redis

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction
from cluster.state.limits.limit_errors import RateLimited
from cluster.state.limits.request_counts import KEPT_REFUSALS, REST_SECONDS, LimitState, RequestCounts
from cluster.state.limits.rule_store import RateLimitStore, RuleBook
from cluster.state.limits.rules import (
    AT_ONCE,
    METERED,
    LimitedCaller,
    LimitedResource,
    LimitRule,
    LimitWindow,
    SubjectKind,
    find_rule,
    period_end,
)
from cluster.state.limits.stream_leases import StreamLeases
from cluster.state.limits.usage import UsageLedger
from cluster.state.metrics_store import MetricsStore
from configs.sections_limits import LimitSettings

REFUSED, LOCAL = "aos.limits.refused", "aos.limits.local"  # instruments
BUSY_SECONDS: Final = 5.0  # after which a place of those that are taken may be free: nobody knows
RENEWALS: Final = 3  # while a lease holds


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A limit that holds for somebody, and how much of it is used."""

    rule: LimitRule
    used: Decimal
    reset: float  # seconds until there is more; 0 where that is not a matter of time


@dataclass(frozen=True, slots=True)
class Limiter:
    """Rules of tenants before defaults of the settings; exactly one of them holds for a caller and a resource.

    Attributes:
        clock: the moment, with a time zone.
        over: credentials that were refused a moment ago.
    """

    settings: LimitSettings
    store: RateLimitStore
    book: RuleBook
    counts: RequestCounts
    leases: StreamLeases
    usage: UsageLedger
    figures: MetricsStore
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    over: dict[tuple[str, str | None, LimitedResource], tuple[float, RateLimited]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        database: Database,
        redis: Redis | None,
        settings: LimitSettings,
        figures: MetricsStore,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> "Limiter":
        """Nothing is asked yet. Without `redis` this process counts alone."""
        store = RateLimitStore(database)
        return cls(
            settings,
            store,
            RuleBook(store, settings.cache_seconds, time.monotonic),
            RequestCounts(redis, settings.wait_seconds),
            StreamLeases(redis, settings.wait_seconds, settings.lease_seconds),
            UsageLedger(database, clock),
            figures,
            clock,
        )

    async def rule(
        self, caller: LimitedCaller, resource: LimitedResource, tx: Transaction | None = None
    ) -> LimitRule | None:
        """The rule that holds; None without a limit. `tx` is the transaction that asks, if one does."""
        if not self.settings.enabled:
            return None
        return find_rule(await self.book.rules(caller.tenant, tx), caller, resource, self.settings)

    async def admit(self, caller: LimitedCaller, resource: LimitedResource) -> LimitState | None:
        """Count a request; how its limit stands, None without one. Raises RateLimited: there is no room for it."""
        if not self.settings.enabled:
            return None
        rule = await self.rule(caller, resource)
        state = None if rule is None else await self._count(rule)
        if most := self.settings.tenant_requests:
            whole = LimitedResource.REQUESTS, SubjectKind.TENANT, caller.tenant
            await self._count(LimitRule(*whole, Decimal(most), LimitWindow.MINUTE, "ceiling"))
        return state

    async def admit_address(self, address: str) -> None:
        """Count a request for which nobody is signed in. Raises RateLimited: too many from this address."""
        most = self.settings.sign_in if self.settings.enabled else 0
        if most:
            await self._count(LimitRule(LimitedResource.SIGN_IN, None, address, Decimal(most), LimitWindow.MINUTE))

    def refuse_known(self, credential: str, workspace: str | None, resource: LimitedResource) -> None:
        """Refuse a credential again that was refused within the last second, before anybody looks whose it is.

        Raises RateLimited.
        """
        known = self.over.get((credential, workspace, resource))
        if known is not None and known[0] > time.monotonic():
            raise self.refusal(known[1].rule, known[1].seconds, local=known[1].local)

    def remember(self, credential: str, workspace: str | None, resource: LimitedResource, refused: RateLimited) -> None:
        """Keep for a second that a credential's limit is used up."""
        key = credential, workspace, resource
        self.over.pop(key, None)
        self.over[key] = (time.monotonic() + min(REST_SECONDS, refused.seconds), refused)
        while len(self.over) > KEPT_REFUSALS:
            self.over.pop(next(iter(self.over)))

    async def require_left(
        self,
        caller: LimitedCaller,
        scope: Scope,
        resource: LimitedResource,
        amount: int = 0,
        tx: Transaction | None = None,
    ) -> LimitState | None:
        """Look whether something metered is left in this period, and `amount` of it where that is known before.

        Raises RateLimited: it is used up, or would be.
        """
        rule = await self.rule(caller, resource, tx)
        if rule is None:
            return None
        used = await self.usage.used(scope, rule, tx)
        reset = self._period_left(rule)
        if used + amount > rule.amount or used >= rule.amount:
            raise self.refusal(rule, reset)
        return LimitState(rule, True, int(rule.amount - used), reset)

    async def require_model_use(self, caller: LimitedCaller, scope: Scope) -> None:
        """Look whether tokens and money for models are left. Raises RateLimited: they are used up."""
        await self.require_left(caller, scope, LimitedResource.TOKENS)
        await self.require_left(caller, scope, LimitedResource.USD)

    async def take(
        self, tx: Transaction, caller: LimitedCaller, scope: Scope, resource: LimitedResource, amount: int
    ) -> None:
        """Count what the transaction uses of something metered, with or without a limit: one may be made later.

        Raises RateLimited: it is more than is left, and nothing is used.
        """
        if not self.settings.enabled:
            return
        await self.usage.add(tx, caller, resource, amount)
        rule = await self.rule(caller, resource, tx)
        if rule is not None and await self.usage.used(scope, rule, tx) > rule.amount:
            raise self.refusal(rule, self._period_left(rule))

    async def require_job(self, tx: Transaction, caller: LimitedCaller, added: int = 0) -> None:
        """Hold a place for a job that the transaction adds, or has `added`.

        Raises RateLimited: as many as may wait or run already.
        """
        rule = await self.rule(caller, LimitedResource.JOBS, tx)
        if rule is not None and await self.usage.hold_jobs(tx, rule) - added >= rule.amount:
            raise self.refusal(rule, BUSY_SECONDS)

    @asynccontextmanager
    async def stream(self, caller: LimitedCaller) -> AsyncIterator[None]:
        """A place for a stream, for as long as the block runs. Raises RateLimited: all are taken."""
        rule = await self.rule(caller, LimitedResource.STREAMS)
        if rule is None:
            yield
            return
        lease, local = await self.leases.take(rule)
        if local:
            self.figures.add(LOCAL, 1, {"resource": rule.resource})
        if lease is None:
            raise self.refusal(rule, BUSY_SECONDS, local=local)
        renewing = asyncio.create_task(self._renew(rule, lease))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.shield(self.leases.give_back(rule, lease))

    async def uses(self, caller: LimitedCaller, scope: Scope) -> list[LimitUse]:
        """Every limit that holds for a caller, and how much of it is used."""
        found = [await self.rule(caller, resource) for resource in LimitedResource]
        return [await self.use_of(scope, rule) for rule in found if rule is not None]

    async def use_of(self, scope: Scope, rule: LimitRule) -> LimitUse:
        """How much of a limit is used; `scope` is of its tenant."""
        if rule.resource in METERED:
            return LimitUse(rule, await self.usage.used(scope, rule), self._period_left(rule))
        if rule.resource in AT_ONCE:
            jobs = rule.resource is LimitedResource.JOBS
            at_once = await self.usage.open_jobs(scope, rule) if jobs else await self.leases.held(rule)
            return LimitUse(rule, Decimal(at_once), 0.0)
        state = await self.counts.look(rule)
        return LimitUse(rule, rule.amount - state.left, state.reset)

    def defaults(self) -> dict[str, int]:
        """Of the resources for which the settings have one: so much a minute, or at a time, for each caller."""
        if not self.settings.enabled:
            return {}
        return {one: most for one in LimitedResource if (most := int(getattr(self.settings, one, 0)))}

    def refusal(self, rule: LimitRule, seconds: float, *, local: bool = False) -> RateLimited:
        """The error, which is counted; its labels name nobody."""
        self.figures.add(REFUSED, 1, {"resource": rule.resource, "subject": rule.subject_kind})
        return RateLimited(rule, seconds, local=local)

    async def _count(self, rule: LimitRule) -> LimitState:
        state = await self.counts.hit(rule)
        if state.local:
            self.figures.add(LOCAL, 1, {"resource": rule.resource})
        if not state.allowed:
            raise self.refusal(rule, state.reset, local=state.local)
        return state

    async def _renew(self, rule: LimitRule, lease: str) -> None:
        while True:
            await asyncio.sleep(self.settings.lease_seconds / RENEWALS)
            await self.leases.renew(rule, lease)

    def _period_left(self, rule: LimitRule) -> float:
        now = self.clock()
        return (period_end(rule.window, now) - now).total_seconds()
