"""Health checks of every part of the system, all at once and each within its time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.console.findings import StatusColour
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.connections.probe import ProbeFailure
from cluster.state.work.jobs import JobLane as Queue
from serve_apps.http.deps import AppDependencies
from serve_apps.http.operator_deps import Probe, ServeDeployment

SECONDS = 8.0  # the longest for any part
STUCK_SECONDS = 600.0  # a job that waits longer, while nothing runs in its lane, is not taken up

Kind = Literal["state", "cluster", "serve", "queue", "model"]
Light = Literal["green", "amber", "grey", "red"]
_LIGHTS: dict[StatusColour, Light] = {
    StatusColour.GREEN: "green",
    StatusColour.YELLOW: "amber",
    StatusColour.RED: "red",
}


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One part: green works, amber works with something to know, red does not, grey is not in use."""

    part: str
    kind: Kind
    colour: Light
    detail: str
    fix: str = ""
    ms: int = 0
    deployment: ServeDeployment | None = None


Look = Callable[[], Awaitable[Sequence[PartHealth]]]


async def run_health_checks(parts: AppDependencies, scope: Scope) -> list[PartHealth]:
    """Every part, in a stable order; none is waited for longer than `SECONDS`."""
    cluster = parts.operating.cluster
    looks: list[tuple[str, Kind, Look]] = [("database", "state", lambda: _check_pool(parts))]
    for name, probe in cluster.probes().items():
        kind: Kind = "cluster" if name in ("ray", "supervisor") else "state"
        looks.append((name, kind, _probe_check(parts, probe, kind)))
    looks += [
        ("vector store", "state", lambda: _check_vector_store(parts, scope)),
        ("serve", "serve", lambda: _check_serve(parts)),
        ("worker queue", "queue", lambda: _check_queues(parts)),
        ("models", "model", lambda: _check_models(parts, scope)),
    ]
    found = await asyncio.gather(*(_check_within(part, kind, one) for part, kind, one in looks))
    return [vital for several in found for vital in several]


def worst_colour(vitals: Sequence[PartHealth]) -> Light:
    """The colour of all together; what is not in use does not count."""
    colours = {vital.colour for vital in vitals}
    return "red" if "red" in colours else "amber" if "amber" in colours else "green"


async def _check_within(part: str, kind: Kind, one: Look, seconds: float = SECONDS) -> Sequence[PartHealth]:
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            found = await one()
    except TimeoutError:
        found = [PartHealth(part, kind, "red", f"no answer within {seconds:g} s")]
    except AosError as error:
        found = [PartHealth(part, kind, "red", str(error), error.hint)]
    took = round((time.monotonic() - began) * 1000)
    return [vital if vital.ms else replace(vital, ms=took) for vital in found]


def _probe_check(parts: AppDependencies, probe: Probe, kind: Kind) -> Look:
    async def run() -> list[PartHealth]:
        found = await parts.operating.blocking(probe)
        return [PartHealth(f.part, kind, _LIGHTS[f.colour], f.detail, f.fix, f.milliseconds) for f in found]

    return run


async def _check_pool(parts: AppDependencies) -> list[PartHealth]:
    async with parts.database.transaction() as tx:
        await tx.one("select 1")
    return [PartHealth("database", "state", "green", "the API's own connections answer")]


async def _check_vector_store(parts: AppDependencies, scope: Scope) -> list[PartHealth]:
    row = await parts.operating.system.store(scope)
    if row is None or row["generation"] is None:
        return [PartHealth("vector store", "state", "grey", "nothing is indexed in this workspace yet")]
    detail = f"generation {row['generation']}: {row['chunks']:,} chunks, {row['embedder']}, {row['dimension']} numbers"
    return [PartHealth("vector store", "state", "green", detail)]


async def _check_serve(parts: AppDependencies) -> list[PartHealth]:
    found = await parts.operating.blocking(parts.operating.cluster.deployments)
    return [_deployment_health(one) for one in found]


def _deployment_health(one: ServeDeployment) -> PartHealth:
    bad = one.status in ("DEPLOY_FAILED", "UNHEALTHY") or (one.running == 0 and one.wanted > 0)
    colour: Light = "red" if bad else "amber" if one.status != "RUNNING" or one.running < one.wanted else "green"
    load = "" if one.queued is None else f", {one.queued} waiting"
    detail = f"{one.status.lower()}, {one.running} of {one.wanted} replicas{load} {one.message}".strip()
    fix = "" if colour != "red" else "`aos doctor`, and the log of the replica, say why."
    return PartHealth(f"{one.application} {one.name}", "serve", colour, detail, fix, deployment=one)


async def _check_queues(parts: AppDependencies) -> list[PartHealth]:
    lanes = {lane.name: lane for lane in await parts.operating.system.lanes()}
    found = []
    for name in map(str, Queue):
        lane = lanes.get(name)
        if lane is None:
            found.append(PartHealth(f"queue {name}", "queue", "green", "empty"))
            continue
        stuck = lane.waiting > 0 and lane.running == 0 and lane.oldest > STUCK_SECONDS
        detail = f"{lane.waiting} waiting, {lane.running} running" + (f", oldest {lane.oldest:.0f} s" if stuck else "")
        fix = "Look at the deployment `worker Worker`." if stuck else ""
        found.append(PartHealth(f"queue {name}", "queue", "red" if stuck else "green", detail, fix))
    return found


async def _check_models(parts: AppDependencies, scope: Scope) -> list[PartHealth]:
    known, default = await parts.connections.offered(scope)
    if not known:
        why = "no connection to a language model: answers are extractive, agents need one"
        return [PartHealth("models", "model", "grey", why, "`aos connections add`, or set LLM_BASE_URL.")]

    async def one(connection: ModelConnection) -> Sequence[PartHealth]:
        name = f"model {connection.name}"
        if not connection.enabled:
            return [PartHealth(name, "model", "grey", "switched off")]
        found = await parts.switchboard.test(scope, connection)
        asked = ", asked where an agent names none" if connection.id == default else ""
        if found.ok:
            unlisted = found.model_listed is False
            detail = f"{found.endpoint} answers{asked}" + (f"; it does not list {connection.model}" if unlisted else "")
            return [PartHealth(name, "model", "amber" if unlisted else "green", detail, ms=round(found.ms))]
        busy = found.reason in (ProbeFailure.BUSY, ProbeFailure.SERVER_ERROR)
        detail = f"{found.reason}: {found.detail}{asked}"
        return [PartHealth(name, "model", "amber" if busy else "red", detail, ms=round(found.ms))]

    each = await asyncio.gather(*(_check_within(f"model {c.name}", "model", partial(one, c)) for c in known))
    return [vital for several in each for vital in several]
