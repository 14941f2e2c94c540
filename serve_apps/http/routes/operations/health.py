"""Health endpoint of the gateway: liveness, and on request the parts that it depends on."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from cluster.basics.errors import Transient, Unavailable
from cluster.state.audit_export.exporter import AuditExporter
from cluster.state.db.postgres import Row
from serve_apps.http.auth.guard import GuardedRoute, Its
from serve_apps.http.auth.permissions import PUBLIC

router = APIRouter(route_class=GuardedRoute, tags=["health"])

PROBE_SECONDS = 3


class Checked(Protocol):
    """What goes on by itself in this process."""

    def check(self) -> None:
        """Raises Unavailable where it has ended, with the reason."""


class Health(BaseModel):
    """`parts` names what was probed: `ok`, or what is wrong."""

    status: str
    parts: dict[str, str] = {}


@router.get("/health", dependencies=[PUBLIC])
async def health(parts: Its, response: Response, deep: Annotated[bool, Query()] = False) -> Health:
    """Cheap, and never touches Postgres; with `deep=1` it does, and answers 503 where that fails.

    A collector of the audit trail that is far behind is named, and degrades; requests are served all the same.
    """
    if not deep:
        return Health(status="ok")
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            lags = await parts.exporter.cursors.lag()
    except (Transient, TimeoutError) as error:
        response.status_code = 503
        return Health(status="degraded", parts={"postgres": str(error) or f"no answer within {PROBE_SECONDS} s"})
    return _health_of_export(parts.exporter, lags, {"webhooks": parts.webhooks, "event stream": parts.event_stream})


def _health_of_export(exporter: AuditExporter, lags: Sequence[Row], others: Mapping[str, Checked]) -> Health:
    told = {"postgres": "ok"}
    for name, runs in {"audit export": exporter, **others}.items():
        try:
            runs.check()
        except Unavailable as error:
            told[name] = error.detail
    for row in lags:
        if row["sink"] not in exporter.sinks:
            continue  # nobody sends there any more
        is_late = row["seconds"] > exporter.settings.lag_seconds
        late = f"{row['entries']} entries, {row['seconds']:.0f} s behind"
        told[f"audit sink {row['sink']}"] = late if is_late else "ok"
    return Health(status="ok" if set(told.values()) == {"ok"} else "degraded", parts=told)
