"""Tools on offer in a turn: those of its agent, and those that its client runs itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.models.chat.openai_requests import REQUIRED
from cluster.models.messages import ToolSpec
from serve_apps.agents.intake.toolset import attached_names
from serve_apps.agents.turn_ports import Turn
from skills.framework.builtin import BASE
from skills.framework.catalogue import ToolCatalog

CHARACTERS = 1_000  # of a description that a client gives
_ANY = frozenset({"", "auto", REQUIRED})


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """Tools by who runs them; a client's tool hides one of ours of the same name."""

    own: ToolCatalog
    client: tuple[ToolSpec, ...] = ()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """All, as the model is told."""
        return (*self.own.specs(), *self.client)

    @property
    def client_names(self) -> frozenset[str]:
        """A call of one of these ends the turn: the client runs it."""
        return frozenset(spec.name for spec in self.client)


def offer_tools(turn: Turn, catalog: ToolCatalog) -> ToolOffer:
    """Filters all tools by the agent's `tools` and the turn's `tools` and `tool_choice`.

    An agent that lists no tools has all of them; skills that it was given need not be listed. `tool_choice`:
    `none` leaves nothing, a function's name, bare or as OpenAI writes it, only that one; that it has to be called, and
    `required`, is `demanded_tool`.
    """
    chosen = _chosen_names(turn.options.get("tool_choice"))
    client = tuple(spec for spec in map(_client_spec, turn.options.get("tools") or ()) if spec is not None)
    hidden = {spec.name for spec in client}
    listed = turn.agent.config.get("tools")
    own = {tool.spec.name for tool in catalog} - hidden
    own -= set(BASE) - set(turn.base_tools) - attached_names(turn.agent.config)
    if listed is not None:
        own &= _tool_names(listed) | attached_names(turn.agent.config)
    if chosen is not None:
        own &= chosen
        client = tuple(spec for spec in client if spec.name in chosen)
    return ToolOffer(catalog.only(own), client)


def demanded_tool(turn: Turn) -> str | None:
    """`required`, or the name of the tool that the turn's `tool_choice` demands a call of; None where it does not."""
    choice = turn.options.get("tool_choice")
    return REQUIRED if choice == REQUIRED else next(iter(_chosen_names(choice) or ()), None)


def _tool_names(listed: Sequence[Any]) -> set[str]:
    return {entry for entry in listed if isinstance(entry, str)}


def _chosen_names(choice: Any) -> set[str] | None:
    """Names that are left; None for all."""
    if choice == "none":
        return set()
    if isinstance(choice, Mapping):
        function = choice.get("function", choice)
        name = function.get("name") if isinstance(function, Mapping) else None
        return {name} if isinstance(name, str) else None
    return {choice} if isinstance(choice, str) and choice not in _ANY else None


def _client_spec(given: Any) -> ToolSpec | None:
    """A client's tool, as OpenAI writes it or plain."""
    function = given.get("function", given) if isinstance(given, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    parameters = function.get("parameters")
    schema = parameters if isinstance(parameters, Mapping) and parameters else {"type": "object", "properties": {}}
    return ToolSpec(function["name"], str(function.get("description") or "")[:CHARACTERS], schema)
