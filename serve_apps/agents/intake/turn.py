"""A turn frozen to JSON and back: what a run is resumed and replayed from."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.canonical_json import normalize_json
from serve_apps.agents.durable.message_codec import message_from_json, message_to_json
from serve_apps.agents.turn_ports import AgentId, AgentSnapshot, RunId, SessionId, Turn, TurnPath

# What every agent had before turns kept it.
_FORMER_BASE: Final = (
    *("search_knowledge", "semantic_search", "search_graph"),
    *("calculator", "get_time", "http_get", "delegate", "request_user_input"),
)


def dump_turn(turn: Turn) -> dict[str, Any]:
    """JSON that holds everything that decides what happens, the user's rights included."""
    history = [message_to_json(message) for message in turn.history]
    frozen: dict[str, Any] = normalize_json({**asdict(turn), "history": history})
    return frozen


def load_turn(frozen: Any) -> Turn:
    """The turn, equal to the one that was frozen."""
    found = normalize_json(frozen)  # jsonb keeps an order of keys of its own, and prompts may show it
    return Turn(
        run=RunId(found["run"]),
        scope=load_scope(found["scope"]),
        session=SessionId(found["session"]),
        agent=AgentSnapshot(**found["agent"]),
        message=found["message"],
        history=tuple(message_from_json(message) for message in found["history"]),
        memory=found["memory"],
        path=TurnPath(found["path"]),
        options=found["options"],
        depth=found["depth"],
        ancestors=tuple(AgentId(ancestor) for ancestor in found["ancestors"]),
        base_tools=tuple(found.get("base_tools", _FORMER_BASE)),
    )


def dump_scope(scope: Scope) -> dict[str, Any]:
    """A scope as JSON; whoever reads it back trusts the writer."""
    return asdict(scope)


def load_scope(found: Mapping[str, Any]) -> Scope:
    """The inverse."""
    user = None if found["user"] is None else UserId(found["user"])
    tenant, workspace = TenantId(found["tenant"]), WorkspaceId(found["workspace"])
    return Scope(tenant, workspace, tuple(found["principals"]), user, Role(found["role"]), found.get("credential"))
