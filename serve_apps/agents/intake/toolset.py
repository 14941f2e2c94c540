"""The skills that an agent was given, frozen into its turns; without them it has what every agent has (B-11)."""

from collections.abc import Mapping
from typing import Any

from cluster.models.messages import ToolSpec
from cluster.state.work.run_queries import RunRecording
from cluster.state.work.run_record import StepState
from serve_apps.agents.turn_ports import AgentSnapshot
from skills.delegate.tool import DelegateTool, ScopedSkill, SkillExecutor
from skills.framework.builtin import shipped_skill
from skills.framework.catalogue import ToolCatalog
from skills.framework.execution_scope import ExecutionScope
from skills.framework.frozen_skill import freeze_skill, thaw_skill
from skills.framework.manifest import Kind, Manifest
from skills.framework.skill_guard import SkillGuard
from skills.framework.skill_store import AttachedSkill

DELEGATE = "delegate"
AGENT = "agent"  # the kind of the steps that look up who is delegated to
CALLS = "calls_per_tool"  # of a config: more calls of one tool are not made, nor one twice
KEY = "attached"  # of an agent's config; nothing that comes in from outside may set it

_ELSEWHERE = frozenset({Kind.INTERNAL, Kind.DELEGATE})  # in the prompt, or bound to the turn
_INHERITED = ("llm_routing", "temperature", "max_tokens", "budget_usd", "timeout_seconds", "credentials")


def freeze_skills(config: Mapping[str, Any], skills: list[AttachedSkill]) -> dict[str, Any]:
    """An agent's config with its skills as they are now; one that is gone is left out."""
    own = {name: value for name, value in config.items() if name != KEY}
    given = [freeze_skill(one.stored.manifest) for one in skills if one.stored is not None]
    return {**own, KEY: given} if given else own


def attached_skills(config: Mapping[str, Any]) -> tuple[Manifest, ...]:
    """The skills that were frozen into a config.

    Raises BadManifest: by a version of this program that described skills otherwise.
    """
    return tuple(thaw_skill(one) for one in config.get(KEY) or ())


def attached_names(config: Mapping[str, Any]) -> set[str]:
    """Names of the skills that were frozen into a config."""
    return {str(one["front"]["name"]) for one in config.get(KEY) or ()}


def recorded_specs(recording: RunRecording) -> tuple[ToolSpec, ...]:
    """Tool specs of the skills attached to a recorded run's agents, delegated ones included, as models saw them."""
    return tuple(one.spec for one in recorded_skills(recording))


def recorded_skills(recording: RunRecording) -> tuple[Manifest, ...]:
    """Skills that models could call, of a recorded run's agents, delegated ones included."""
    found = (step for step in recording.steps if step.kind == AGENT and step.state is StepState.DONE)
    configs = [recording.input["agent"]["config"], *(step.reply["ok"]["config"] for step in found)]
    return tuple(one for config in configs for one in attached_skills(config) if one.kind is not Kind.INTERNAL)


def add_skills(tools: ToolCatalog, fence: SkillGuard | None, config: Mapping[str, Any]) -> ToolCatalog:
    """Adds the agent's attached skills to the common tools; internal skills belong to the prompt, never callable."""
    if fence is None:
        return tools
    given = (one for one in attached_skills(config) if one.kind not in _ELSEWHERE and one.name not in tools)
    return tools.plus(*(fence.around(one) for one in given))


def add_delegation(tools: ToolCatalog, config: Mapping[str, Any], bound: SkillExecutor) -> ToolCatalog:
    """Delegation as well, and the skills that a model carries out; both belong to the turn that `bound` is bound to."""
    given = (one for one in attached_skills(config) if one.kind is Kind.DELEGATE and one.name not in tools)
    return tools.plus(DelegateTool(shipped_skill(DELEGATE).spec, bound), *(ScopedSkill(one, bound) for one in given))


def narrow_agent(own: AgentSnapshot, skill: Manifest, scope: ExecutionScope) -> AgentSnapshot:
    """Agent that carries a delegated skill out: its text as prompt, its tools limited to those the agent has.

    Its spending, documents and credentials are the agent's.
    """
    kept = {name: own.config[name] for name in _INHERITED if name in own.config}
    if scope.model is not None:
        kept["llm_routing"] = {"primary_connection_id": scope.model}
    # As `offer` reads it: without a list it has all of them, and what is attached need not be listed.
    listed, attached_too = own.config.get("tools"), attached_names(own.config)
    tools = [name for name in scope.tools if listed is None or name in listed or name in attached_too]
    held = [one for one in own.config.get(KEY) or () if one["front"]["name"] in tools]
    limits = {"max_iterations": scope.max_turns, CALLS: scope.calls_per_tool}
    config = {**kept, **limits, "tools": tools, KEY: held}
    return AgentSnapshot(own.id, skill.name, skill.text, skill.description, config)
