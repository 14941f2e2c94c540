"""A skill written in Python: `def run(payload) -> dict`, carried out in the sandbox and nowhere else."""

import logging
from typing import Any

from pydantic import BaseModel, ConfigDict

from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import ScriptRunner, SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, options_of

_log = logging.getLogger("aos.skills")
_LONGEST = 2_000  # characters of what it printed that a log line shows


class ScriptOptions(BaseModel):
    """None: what a script may do is for the sandbox's settings to say."""

    model_config = ConfigDict(extra="forbid")


class ScriptSkill:
    """Calls `run` with the arguments as its payload; what it prints goes to the log."""

    def __init__(self, manifest: Manifest, scripts: ScriptRunner) -> None:
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._scripts = manifest, scripts

    async def run(self, call: ToolInvocation) -> Any:
        """The dict that `run` returned. Raises AosError: as `ScriptRunner.run`."""
        manifest = self._manifest
        outcome = await self._scripts.run(manifest.code, call.arguments, seconds=manifest.seconds)
        if printed := f"{outcome.stdout}{outcome.stderr}".strip():
            _log.debug("skill %s version %d printed: %s", manifest.name, manifest.version, printed[:_LONGEST])
        return dict(outcome.value)


def build(manifest: Manifest, ground: SkillDependencies) -> ScriptSkill:
    """See `Build`."""
    options_of(manifest, ScriptOptions)
    if not manifest.code.strip():
        raise BadManifest(f"{manifest.name} is of type python and has no code")
    return ScriptSkill(manifest, ground.scripts)
