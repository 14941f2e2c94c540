"""Agents' spend on models by calendar month (UTC), and the budgets that end it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from cluster.basics.errors import Invalid, NotFound
from cluster.basics.scope import Scope
from cluster.models.messages import TokenUsage
from cluster.models.model_errors import OverBudget
from cluster.state.db.postgres import Database, Row, load_queries
from cluster.state.limits.limit_errors import RateLimited
from cluster.state.limits.limiter import Limiter
from cluster.state.limits.rules import LimitedCaller

NEARLY = Decimal("0.8")  # from this part of a budget on, cost decides for every task of a cost-aware agent


@dataclass(frozen=True, slots=True)
class MonthlySpend:
    """Money of this month in USD; a budget of None has no limit."""

    agent: Decimal  # what it has spent
    tenant: Decimal  # the same of all its workspaces
    agent_budget: Decimal | None  # what may be spent
    tenant_budget: Decimal | None

    @property
    def nearly(self) -> bool:
        """Four fifths of a budget are gone."""
        return any(budget is not None and spent >= budget * NEARLY for spent, budget, _ in self._budget_pairs())

    def check(self) -> None:
        """Refuse to spend more; 0 allows no call. Raises OverBudget: which budget is spent, and what to raise."""
        for spent, budget, whose in self._budget_pairs():
            if budget is not None and spent >= budget:
                fix = f"Raise budget_usd of the {whose}, or wait for the first of the month (UTC)."
                raise OverBudget(f"the {whose} has spent {spent:.4f} of {budget:.2f} USD this month", fix=fix)

    def _budget_pairs(self) -> tuple[tuple[Decimal, Decimal | None, str], ...]:
        return (self.agent, self.agent_budget, "agent"), (self.tenant, self.tenant_budget, "tenant")


class SpendStore:
    """The table `spend`: a row for each agent and month."""

    def __init__(self, database: Database, clock: Callable[[], datetime], limits: Limiter | None = None) -> None:
        """`clock` says now, with a time zone; `limits` are of what callers may use in a period, None for none."""
        self._db, self._clock, self._limits = database, clock, limits
        self._sql = load_queries(Path(__file__).with_name("spend.sql"))

    async def state(self, scope: Scope, agent: str, config: Mapping[str, Any]) -> MonthlySpend:
        """This month's spend beside the budgets of agent and tenant. Raises Invalid: the agent's is no amount.

        Raises OverBudget: whoever asks has used up their tokens or their money for this period.
        """
        budget = budget_of(config)
        if self._limits is not None:
            try:
                await self._limits.require_model_use(LimitedCaller.of_scope(scope), scope)
            except RateLimited as spent:  # no connection that is asked next would have more of it
                raise OverBudget(spent.detail, fix=spent.hint) from spent
        (row,) = await self._db.read(scope, self._sql["spent"], **self._agent_values(scope, agent))
        return MonthlySpend(row["agent_usd"], row["tenant_usd"], budget, row["tenant_budget"])

    async def add(self, scope: Scope, agent: str, usage: TokenUsage, cost_usd: float) -> None:
        """Count one reply, in a transaction of its own. Raises NotFound: the agent is not of this scope."""
        tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        values = self._agent_values(scope, agent) | tokens | {"cost": Decimal(repr(cost_usd))}
        async with self._db.transaction(scope) as tx:
            if not await tx.run(self._sql["add"], **values):
                raise NotFound(f"agent {agent}")
            used = {name: values[name] for name in ("workspace", "prompt_tokens", "completion_tokens", "cost")}
            await tx.run(self._sql["use"], **used, user=scope.user, now=self._clock())

    async def by_agent(self, scope: Scope) -> list[Row]:
        """This month's calls, tokens and cost of the workspace's agents, the dearest first."""
        return await self._db.read(scope, self._sql["by_agent"], **scope.keys, month=self._current_month())

    def _agent_values(self, scope: Scope, agent: str) -> dict[str, Any]:
        return {**scope.keys, "agent": agent, "month": self._current_month()}

    def _current_month(self) -> date:
        return self._clock().astimezone(UTC).date().replace(day=1)


def budget_of(config: Mapping[str, Any]) -> Decimal | None:
    """The agent's own budget in USD a month; None without. Raises Invalid: `budget_usd` is no amount of 0 or more."""
    value = config.get("budget_usd")
    if value is None:
        return None
    try:
        budget = Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        budget = Decimal("NaN")
    if not budget.is_finite() or budget < 0:
        raise Invalid("budget_usd must be an amount of 0 or more")
    return budget
