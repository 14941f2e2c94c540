"""Restarts that an administrator asks for: the supervisor replaces the replicas one after the other."""

import asyncio
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cluster.state.settings.restart_requests import RestartRecord
from configs.keys import APPLICATIONS, Part
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import SYSTEM, SYSTEM_STATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody
from serve_apps.http.response_shapes import copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["admin"])

COMMAND = "aos down && aos up"
LOOKS, PAUSE = 12, 0.5  # how often and in which steps we look whether a supervisor took it up
HARD = f"everything has to be started anew, which ends what runs: `{COMMAND}` where it was started"
NOBODY = f"no supervisor has taken it up; where none runs: `{COMMAND}`"


class RestartRequest(RequestBody):
    """Parts to restart; left out, those with a pending restart after changed settings."""

    parts: Annotated[list[Part] | None, Field(max_length=len(Part))] = None


class RestartShape(BaseModel):
    """One that was asked for; `error` says why it did not succeed."""

    id: int
    parts: list[Part]
    asked_at: datetime
    taken_at: datetime | None
    done_at: datetime | None
    error: str | None


class Hint(BaseModel):
    """State of a restart. `command` is what a person has to run, where the supervisor cannot do it."""

    restart: RestartShape | None
    state: Annotated[str, Field(description="rolling, asked, by_hand or nothing.")]
    detail: str
    command: str | None


class RestartList(BaseModel):
    """The newest first."""

    items: list[RestartShape]


@router.post("/api/admin/restart-hint", status_code=202, dependencies=[SYSTEM])
async def restart_hint(me: Me, parts: Its, body: RestartRequest | None = None) -> Hint:
    """Restart parts, replica by replica; requests that have begun are ended by the old ones.

    Without a body, or without `parts` in it, those that changed settings wait for.
    """
    chosen = None if body is None else body.parts
    wanted = await _parts_to_restart(me, parts) if chosen is None else list(dict.fromkeys(chosen))
    rolling = tuple(part for part in wanted if part in APPLICATIONS)
    by_hand = Part.WHOLE in wanted
    if not wanted:
        return Hint(restart=None, state="nothing", detail="nothing waits for a restart", command=None)
    asked: RestartRecord | None = None
    async with parts.database.transaction(me.scope) as tx:
        id_ = await parts.operating.restarts.ask(tx, me.scope, rolling) if rolling else None
        await parts.audit.record(tx, me.scope, "restart.ask", str(id_ or Part.WHOLE), detail={"parts": sorted(wanted)})
    if id_ is not None:
        asked = await _await_pickup(me, parts, id_)
    taken = asked is not None and asked.taken_at is not None
    details = [f"{', '.join(rolling)}: replica by replica" if taken else NOBODY] if rolling else []
    return Hint(
        restart=None if asked is None else copy_fields(RestartShape, asked),
        state="rolling" if taken else "asked" if rolling else "by_hand",
        detail="; ".join([*details, *([HARD] if by_hand else [])]),
        command=COMMAND if by_hand or not taken else None,
    )


@router.get("/api/admin/restarts", dependencies=[SYSTEM_STATE])
async def restarts(me: Me, parts: Its) -> RestartList:
    """List recent restart requests with their outcomes."""
    rows = await parts.operating.restarts.page(me.scope)
    return RestartList(items=[copy_fields(RestartShape, one) for one in rows])


async def _parts_to_restart(me: Me, parts: AppDependencies) -> list[Part]:
    async with parts.database.transaction(me.scope) as tx:
        return [Part(need.part) for need in await parts.operating.upkeep.rows.needs(tx)]


async def _await_pickup(me: Me, parts: AppDependencies, id_: int) -> RestartRecord:
    """The restart once a supervisor has it, else as it is after some seconds."""
    for _ in range(LOOKS):
        found = await parts.operating.restarts.show(me.scope, id_)
        if found.taken_at is not None:
            return found
        await asyncio.sleep(PAUSE)
    return found
