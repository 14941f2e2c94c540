"""Skills that ask a container engine for one of a few operations, by the name in their options."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from cluster.basics.errors import Invalid
from skills.docker.docker_process import EngineUnset, ask_engine
from skills.framework.command_template import TRUSTED
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, Risk, options_of

PRUNES = ("containers", "images", "networks", "volumes")
MOST_LINES, MOST_GRACE = 10_000, 300
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")  # a name or an id; the library would let `/` through
_WRITES = frozenset({"restart", "stop"})
_TAKES: Mapping[str, frozenset[str]] = MappingProxyType(
    dict.fromkeys(("inspect", "stats"), frozenset({"container"}))
    | dict.fromkeys(("restart", "stop"), frozenset({"container", "grace"}))
    | {"containers": frozenset({"all"}), "images": frozenset()}
    | {"logs": frozenset({"container", "lines"}), "prune": frozenset({"what"})}
)


class DockerOptions(BaseModel):
    """Options of a Docker skill: its operation."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    operation: Literal["containers", "logs", "inspect", "images", "stats", "restart", "stop", "prune"]


class DockerSkill:
    """One operation of the engine that the settings name."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where operation, parameters, risk and roles do not fit together."""
        self._operation = options_of(manifest, DockerOptions).operation
        _check_manifest(manifest, self._operation)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._url = manifest, ground.settings.docker_url
        self._most = ground.settings.result_bytes * 3 // 4

    async def run(self, call: ToolInvocation) -> Any:
        """The engine's answer, cut to the fields and bytes that are kept.

        Raises:
            EngineUnset: the settings name no engine.
            Invalid: an argument is not what the operation takes.
            AosError: those of `apart.ask`.
        """
        if not self._url:
            raise EngineUnset
        given = self._manifest.defaults | dict(call.arguments)
        _check_arguments(given, self._operation)
        reads = self._manifest.risk is Risk.READ
        return await ask_engine(self._url, self._operation, given, self._manifest.seconds, self._most, reads)


build = DockerSkill


def _check_manifest(manifest: Manifest, operation: str) -> None:
    if manifest.credential is not None:
        raise BadManifest(f"{manifest.name}: skills of type docker have no credential")
    if not set(manifest.permissions) <= TRUSTED:
        raise BadManifest(f"{manifest.name}: an engine is for operators and admins; it holds everybody's containers")
    if unknown := set(manifest.parameters.get("properties", {})) - _TAKES[operation]:
        raise BadManifest(f"{manifest.name}: {operation} does not take {', '.join(sorted(unknown))}")
    if operation in _WRITES and manifest.risk is Risk.READ:
        raise BadManifest(f"{manifest.name}: {operation} changes something; its risk is write or destructive")
    if operation == "prune" and manifest.risk is not Risk.DESTRUCTIVE:
        raise BadManifest(f"{manifest.name}: what prune removes does not come back; its risk is destructive")


def _check_arguments(given: Mapping[str, Any], operation: str) -> None:
    if unknown := set(given) - _TAKES[operation]:
        raise Invalid(f"{operation} does not take {', '.join(sorted(unknown))}")
    if "container" in _TAKES[operation]:
        container = given.get("container")
        if not isinstance(container, str) or not _NAME.fullmatch(container):
            raise Invalid("container is no name and no id of one")
    if operation == "prune" and given.get("what") not in PRUNES:
        raise Invalid(f"what is one of {', '.join(PRUNES)}")
    for name, most in (("lines", MOST_LINES), ("grace", MOST_GRACE)):
        value = given.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise Invalid(f"{name} is a whole number up to {most:,}")
