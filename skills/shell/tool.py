"""Skills that start a program here: one that settings, and for free commands a credential, allow by path (AU-07)."""

from typing import Any

from skills.framework.contract import Call
from skills.framework.dependencies import Ground
from skills.framework.manifest import Manifest, Risk, options_of
from skills.framework.program_output import Limits
from skills.shell.command import ShellOptions, allow, argv, check, grant
from skills.shell.process import run


class Started:
    """One program of this machine."""

    def __init__(self, manifest: Manifest, ground: Ground) -> None:
        """Raises BadManifest where options, parameters, risk and roles do not fit together."""
        self._how = options_of(manifest, ShellOptions)
        check(manifest, self._how)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._credentials, self._allowed = manifest, ground.credentials, ground.settings.shell_allow
        # An eighth is left for standard error, and as much for what JSON adds.
        self._limits = Limits(manifest.seconds, ground.settings.result_bytes * 3 // 4, manifest.risk is Risk.READ)

    async def run(self, call: Call) -> Any:
        """Output and exit status of the program; one that fails is a result, not an error.

        Raises:
            Invalid: an argument cannot stand in a command.
            ProgramNotAllowed, ProgramNotGranted: settings or credential do not name the program.
            AosError: those of `Credentials.open` and `process.run`.
        """
        elements = argv(self._manifest, self._how, call.arguments)
        allow(elements[0], self._allowed)
        if self._manifest.credential is not None:
            grant(elements[0], await self._credentials.open(call, self._manifest))
        return await run(elements, self._limits)


def build(manifest: Manifest, ground: Ground) -> Started:
    """See `Build`."""
    return Started(manifest, ground)
