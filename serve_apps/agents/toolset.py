"""The skills that an agent was given, frozen into its turns; without them it has what every agent has (B-11)."""

from collections.abc import Mapping
from typing import Any

from cluster.models.messages import ToolSpec
from cluster.state.run import StepState
from cluster.state.run_desk import Recording
from skills.catalog import Catalog
from skills.fence import Fence
from skills.manifest import Kind, Manifest
from skills.store import Attached, freeze, thaw

DELEGATE = "delegate"
AGENT = "agent"  # the kind of the steps that look up who is delegated to
KEY = "attached"  # of an agent's config; nothing that comes in from outside may set it


def frozen(config: Mapping[str, Any], skills: list[Attached]) -> dict[str, Any]:
    """An agent's config with its skills as they are now; one that is gone is left out."""
    own = {name: value for name, value in config.items() if name != KEY}
    given = [freeze(one.stored.manifest) for one in skills if one.stored is not None]
    return {**own, KEY: given} if given else own


def attached(config: Mapping[str, Any]) -> tuple[Manifest, ...]:
    """The skills that were frozen into a config.

    Raises:
        BadManifest: by a version of this program that described skills otherwise.
    """
    return tuple(thaw(one) for one in config.get(KEY) or ())


def given(config: Mapping[str, Any]) -> set[str]:
    """Names of the skills that were frozen into a config."""
    return {str(one["front"]["name"]) for one in config.get(KEY) or ()}


def recorded(recording: Recording) -> tuple[ToolSpec, ...]:
    """What models were told of the skills that the agents of a run were given, those delegated to included."""
    found = (step for step in recording.steps if step.kind == AGENT and step.state is StepState.DONE)
    configs = [recording.input["agent"]["config"], *(step.reply["ok"]["config"] for step in found)]
    return tuple(one.spec for config in configs for one in attached(config) if one.kind is not Kind.INTERNAL)


def equipped(tools: Catalog, fence: Fence | None, config: Mapping[str, Any]) -> Catalog:
    """What every agent has, and what this one was given; internal skills are part of the prompt, never callable."""
    if fence is None:
        return tools
    given = (one for one in attached(config) if one.kind is not Kind.INTERNAL and one.name not in tools)
    return tools.plus(*(fence.around(one) for one in given))
