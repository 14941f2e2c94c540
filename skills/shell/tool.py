"""Skills that start a program here: one that settings, and for free commands a credential, allow by path."""

from typing import Any

from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest, Risk, options_of
from skills.framework.program_output import ProgramLimits
from skills.shell.command import ShellOptions, build_argv, check_allowed, check_granted, check_shell_skill
from skills.shell.process import run_program


class ShellSkill:
    """One program of this machine."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where options, parameters, risk and roles do not fit together."""
        self._how = options_of(manifest, ShellOptions)
        check_shell_skill(manifest, self._how)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._credentials, self._allowed = manifest, ground.credentials, ground.settings.shell_allow
        # An eighth is left for standard error, and as much for what JSON adds.
        most = ground.settings.result_bytes * 3 // 4
        self._limits = ProgramLimits(manifest.seconds, most, manifest.risk is Risk.READ)

    async def run(self, call: ToolInvocation) -> Any:
        """Output and exit status of the program; one that fails is a result, not an error.

        Raises:
            Invalid: an argument cannot stand in a command.
            ProgramNotAllowed, ProgramNotGranted: settings or credential do not name the program.
            AosError: those of `CredentialOpener.open` and `process.run`.
        """
        elements = build_argv(self._manifest, self._how, call.arguments)
        check_allowed(elements[0], self._allowed)
        if self._manifest.credential is not None:
            check_granted(elements[0], await self._credentials.open(call, self._manifest))
        return await run_program(elements, self._limits)


build = ShellSkill
