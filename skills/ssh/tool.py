"""Skills over SSH: a command line from the manifest, a machine from the credential, a key that is known."""

from typing import Any

from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, CredentialType, Manifest, Risk, options_of
from skills.framework.program_output import ProgramLimits
from skills.ssh.command import HOST, SshOptions, check_ssh_skill, command_elements, command_line
from skills.ssh.machine import chosen_machine
from skills.ssh.session import run_command


class SshSkill:
    """One command on a machine of the credential."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where options, parameters, risk and roles do not fit together."""
        if manifest.credential is not CredentialType.SSH:
            raise BadManifest(f"{manifest.name}: skills of type ssh have `credential: ssh`")
        self._how = options_of(manifest, SshOptions)
        check_ssh_skill(manifest, self._how)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._credentials = manifest, ground.credentials
        # An eighth is left for standard error, and as much for what JSON adds.
        most = ground.settings.result_bytes * 3 // 4
        self._limits = ProgramLimits(manifest.seconds, most, manifest.risk is Risk.READ)

    async def run(self, call: ToolInvocation) -> Any:
        """Output and exit status of the command; a command that fails is a result, not an error.

        Raises:
            Invalid: an argument cannot stand in a command.
            HostMissing, HostNotListed: the credential is not for this machine.
            AosError: those of `CredentialOpener.open` and `session.run`; none quotes a secret.
        """
        text = command_line(command_elements(self._manifest, self._how, call.arguments), self._manifest.seconds)
        secret = await self._credentials.open(call, self._manifest)
        return await run_command(chosen_machine(secret, call.arguments.get(HOST)), secret, text, self._limits)


build = SshSkill
