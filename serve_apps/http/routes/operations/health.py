"""Health endpoint of the gateway: liveness, and on request the parts that it depends on."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from cluster.basics.errors import Transient
from serve_apps.http.auth.guard import GuardedRoute, Its
from serve_apps.http.auth.permissions import PUBLIC

router = APIRouter(route_class=GuardedRoute, tags=["health"])

PROBE_SECONDS = 3


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
        async with asyncio.timeout(PROBE_SECONDS), parts.database.transaction() as tx:
            await tx.one("select 1")
            behind = [row for row in await parts.exporter.cursors.lag() if row["sink"] in parts.exporter.sinks]
        told = {"postgres": "ok"}
    except (Transient, TimeoutError) as error:
        response.status_code = 503
        return Health(status="degraded", parts={"postgres": str(error) or f"no answer within {PROBE_SECONDS} s"})
    for row in behind:
        is_late = row["seconds"] > parts.exporter.settings.lag_seconds
        late = f"{row['entries']} entries, {row['seconds']:.0f} s behind"
        told[f"audit sink {row['sink']}"] = late if is_late else "ok"
    return Health(status="ok" if set(told.values()) == {"ok"} else "degraded", parts=told)
