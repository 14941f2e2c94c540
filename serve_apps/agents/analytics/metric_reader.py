"""Runs a metric's template under a scope, and looks whether the result can be believed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from statistics import median
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database
from serve_apps.agents.analytics.metric_catalogue import TIMES, MetricCatalogue
from serve_apps.agents.analytics.query_plan import MetricPlan, is_series
from serve_apps.agents.memory.redis_memo import RedisMemo

TTL_SECONDS = 30  # a figure may be so old; ours, as the sources give none


@dataclass(frozen=True, slots=True)
class MetricResult:
    """Result of a metric query."""

    total: float | None  # over the whole range; None where there is nothing to take a mean of
    groups: tuple[tuple[str, float], ...] = ()  # (name, value); points in time in their order, others largest first
    more: bool = False  # there are more groups than these
    cached: str = "fresh"  # `hit`, `miss`, `fresh` (Redis was passed over), or `off: ` and why

    @property
    def data(self) -> Mapping[str, Any]:
        """As a journal keeps it."""
        return {"total": self.total, "groups": [list(g) for g in self.groups], "more": self.more, "cached": self.cached}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "MetricResult":
        """From a journal."""
        groups = tuple((str(name), float(value)) for name, value in data["groups"])
        return cls(data["total"], groups, bool(data["more"]), str(data["cached"]))


class MetricReader:
    """Reads figures from the product's own tables."""

    def __init__(self, database: Database, catalogue: MetricCatalogue, memo: RedisMemo) -> None:
        """`memo` may be one without Redis."""
        self._db, self._catalogue, self._memo = database, catalogue, memo

    async def read(self, scope: Scope, asked: MetricPlan, *, fresh: bool = False) -> MetricResult:
        """Run the plan's template; a `fresh` one never comes from Redis. Raises Unavailable, Overloaded of Postgres."""
        key = _cache_key(scope, asked, self._catalogue.fingerprint)
        if not fresh:
            found = await self._memo.get(key)
            if found.state == "hit":
                return MetricResult.of(found.value | {"cached": "hit"})
        figures = await self._query_metric(scope, asked)
        await self._memo.put(key, figures.data)
        return MetricResult(figures.total, figures.groups, figures.more, "fresh" if fresh else found.state)

    async def _query_metric(self, scope: Scope, asked: MetricPlan) -> MetricResult:
        sql, rows = self._catalogue.metrics[asked.metric].sql, self._catalogue.rows
        since, until = asked.when.moments
        # Row-level security is the second wall; the templates' own conditions are the first.
        values: dict[str, Any] = {**scope.keys, "since": since, "until": until, "state": asked.state}
        values |= {"times": list(TIMES), "limit": rows + 1}
        async with self._db.transaction(scope) as tx:
            whole = await tx.one(sql, by=None, **values)
            split = await tx.all(sql, by=asked.by, **values) if asked.by else []
        groups = [(str(row["part"]), float(row["value"])) for row in split[:rows] if row["value"] is not None]
        if is_series(asked):
            groups.reverse()  # the query gives the latest first, so that a long series loses its beginning
        total = whole["value"] if whole else None
        return MetricResult(None if total is None else float(total), tuple(groups), len(split) > rows)


def find_anomaly(figures: MetricResult, asked: MetricPlan, catalogue: MetricCatalogue) -> str | None:
    """Anomaly that makes a result worth a second query: empty, or one point far above the others."""
    if not figures.total:
        return "empty"
    values = [value for _, value in figures.groups]
    if is_series(asked) and len(values) >= catalogue.spike_points:
        name, highest = max(figures.groups, key=lambda group: group[1])
        usual = median(values)
        if usual > 0 and highest >= catalogue.spike * usual:
            return f"spike at {name}"
    return None


def _cache_key(scope: Scope, asked: MetricPlan, fingerprint: str) -> str:
    """Readers see different documents, so their principals belong to the key."""
    who = [scope.tenant, scope.workspace, sorted(scope.principals)]
    return sha256(json.dumps([who, dict(asked.request), fingerprint]).encode()).hexdigest()
