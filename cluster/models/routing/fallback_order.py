"""The fallback order of an agent's connections for a task, and the reason for each one's place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.errors import Invalid
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.routing.tasks import SIMPLE, Task


class Routing(BaseModel):
    """`llm_routing` of an agent's config; connections are named by id or by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    primary_connection_id: str | None = None
    fallback_chain: tuple[str, ...] = ()
    task_routing: dict[Task, str] = Field(default_factory=dict)
    cost_aware: bool = False
    max_fallback_attempts: int = Field(3, ge=0)


@dataclass(frozen=True, slots=True)
class RouteStop:
    """A connection that will be asked, if those before it fail; `reason` says what put it here."""

    connection: ModelConnection
    reason: str


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """The way of one call."""

    stops: tuple[RouteStop, ...]  # in the order of asking; empty where there is nothing to ask
    skipped: tuple[tuple[str, str], ...] = ()  # what the agent names and is not asked, as (id or name, why)


@dataclass(frozen=True, slots=True)
class CallRequirements:
    """A call's requirements of its connection."""

    task: Task  # its kind
    tools: bool = False  # whether tools are offered natively
    thrifty: bool = False  # the budget is nearly spent: cost decides for every task, not only for simple ones


def routing_of(config: Mapping[str, Any]) -> Routing:
    """The routing of an agent's config. Raises Invalid: a key, task or value that is none; the detail names each."""
    try:
        return Routing.model_validate(config.get("llm_routing") or {})
    except ValidationError as error:
        problems = (f"llm_routing.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise Invalid("; ".join(problems)) from None


def plan_route(
    routing: Routing, wanted: CallRequirements, known: Sequence[ModelConnection], default: str | None, most: int = 3
) -> ModelRoute:
    """Order the connections: the task's own, the cheapest (cost_aware), the primary, the chain, the system's default.

    The first is asked, and at most min(`max_fallback_attempts`, `most`) more; the system's default is the last
    of these, unless the agent itself asks it first. No connection stands twice. Where tools are offered and some of
    these connections take them natively, the others are left out: they would never hear of the tools. `known` has every
    connection of the workspace; `default` is the id or the name of the system's.
    """
    names: dict[str, ModelConnection] = {connection.name: connection for connection in reversed(known)}
    found = names | {connection.id: connection for connection in known}  # no name can pass for another's id
    last = found.get(default) if default is not None else None
    stops: list[RouteStop] = []
    skipped: list[tuple[str, str]] = []
    for ref, reason in _named_connections(routing, wanted, found, last):
        connection = found.get(ref)
        if connection is None:
            skipped.append((ref, f"{reason}: there is no such connection"))
        elif not connection.enabled:
            skipped.append((connection.name, f"{reason}: it is disabled"))
        elif all(stop.connection.id != connection.id for stop in stops):
            stops.append(RouteStop(connection, reason))
    if wanted.tools and (able := [stop for stop in stops if stop.connection.supports_tools]):
        skipped += [(stop.connection.name, f"{stop.reason}: takes no tools") for stop in stops if stop not in able]
        stops = able
    return _limit_route(stops, skipped, last, 1 + min(routing.max_fallback_attempts, most))


def _named_connections(
    routing: Routing, wanted: CallRequirements, found: Mapping[str, ModelConnection], last: ModelConnection | None
) -> Iterator[tuple[str, str]]:
    """Every (id or name, reason) that is to be asked, in order; one may come twice."""
    own = routing.task_routing.get(wanted.task)
    if own is not None:
        yield own, f"task_routing.{wanted.task}"
    if routing.cost_aware and own is None and (wanted.thrifty or wanted.task in SIMPLE):
        yield from _cheapest_connection(routing, wanted, found, last)
    if routing.primary_connection_id is not None:
        yield routing.primary_connection_id, "primary_connection_id"
    for place, ref in enumerate(routing.fallback_chain):
        connection = found.get(ref)
        if connection is None or last is None or connection.id != last.id:
            yield ref, f"fallback_chain[{place}]"
    if last is not None:
        yield last.id, "system default"


def _cheapest_connection(
    routing: Routing, wanted: CallRequirements, found: Mapping[str, ModelConnection], last: ModelConnection | None
) -> Iterator[tuple[str, str]]:
    """The cheapest of the connections that the agent names anyway: cost never sends data to another provider."""
    refs = (routing.primary_connection_id, *routing.fallback_chain, last.id if last is not None else None)
    able = [c for ref in refs if ref is not None and (c := found.get(ref)) is not None and c.enabled]
    if wanted.tools:
        able = [connection for connection in able if connection.supports_tools] or able
    if able:
        best = min(able, key=_total_price)  # the first named wins a tie
        why = "the budget is nearly spent" if wanted.thrifty else f"{wanted.task} is simple"
        price = f"{best.price_in:g} + {best.price_out:g} USD" if _total_price(best) else "0 USD, no price is known"
        yield best.id, f"cost_aware: {why}, cheapest at {price} a million tokens"


def _total_price(connection: ModelConnection) -> float:
    """USD for a million tokens in and out; what has no price counts as 0."""
    return connection.price_in + connection.price_out


def _limit_route(
    stops: list[RouteStop], skipped: list[tuple[str, str]], last: ModelConnection | None, most: int
) -> ModelRoute:
    """The first `most`, the system's default among them as the last."""
    kept, rest = stops[:most], stops[most:]
    if most > 1 and rest and last is not None and rest[-1].connection.id == last.id:
        rest = [kept.pop(), *rest[:-1]]
        kept.append(stops[-1])
    over = [(stop.connection.name, f"{stop.reason}: beyond {most - 1} fallbacks") for stop in rest]
    return ModelRoute(tuple(kept), tuple(skipped + over))
